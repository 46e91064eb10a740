/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the decoder share: decode.c, which decodes, and direct.c, which enters machine code. */
#ifndef PEET_DECODE_STATE_H
#define PEET_DECODE_STATE_H

#include "decode/decode.h"
#include "jit/direct.h"
#include "program/parts.h"

struct frame { /* what a signal handler interrupts */
    struct peet__function *function;
    int32_t last, tail;
    uint64_t loop_left;
    uint64_t regs[PEET__FS];
};

/** A place between two blocks. */
struct place {
    const uint64_t *at;
    struct peet__function *function;
    int32_t last, tail;
    uint64_t loop_left;
};

struct peet_decode_state {
    /* registers, thread pointer, zero, then the words of the record being decoded */
    uint64_t *regs;
    uint32_t slots;                  /* room for so many words */
    struct peet__function *function; /* of the last record; NULL before the first */
    int32_t last;                    /* block last delivered in this activation; -1 */
    int32_t tail;                    /* block that is executed next unless the next record says otherwise; -1 */
    uint32_t context;
    uint64_t loop_left; /* iterations of the loop `last` that are still to be delivered */
    struct peet_program *program;
    uint64_t sync_pc;  /* one-entry cache of the pc table */
    uint64_t replaced; /* the program's, when that was filled */
    struct peet__function *sync_function;
    uint32_t sync_segment;
    struct frame *frames;
    unsigned nframes, cframes;
    struct place checkpoint;              /* to which peet_decode_undo() returns, */
    uint64_t checkpoint_regs[PEET__SLOT]; /* and the registers there; */
    int checkpoint_behind;                /* after the block that comes there */
    int at_checkpoint;                    /* nothing has happened since the checkpoint of a run that stays open */
    struct peet__direct_hw *counted;      /* what is counted of the hardware context that it runs ahead on; or NULL */
    struct peet_direct_run *waiting; /* whose code was left before a block whose turn was to come, just now; or NULL */
    /* how peet_decode_direct() was called last */
    const uint64_t **cursor, *end;
    peet_decode_sink *sink;
    void *arg;
};

/** Does a block without a record come next whatever the next record says? */
static inline int peet__decode_sure(const struct peet_decode_state *s)
{
    return s->tail >= 0 && s->function->code[s->last].sure;
}

/** peet__decode_make_room() - room for the longest record of the program, which grows when images are added; registers may
 * move.  Returns: 0 or PEET_ENOMEM */
int peet__decode_make_room(struct peet_decode_state *s, struct peet_error *error);
/** peet__decode_block() - the next block, without machine code
 *  @want: its values are wanted
 *  @may_rescan: code that no schema knows may be looked for
 *  @values: room for its values; NULL: the program's
 *  @out_abstract: set to 1 before an abstract event
 *  Returns: enum peet_event_kind, 0 at the end of the words and before an abstract event, or a negative error */
int peet__decode_block(struct peet_decode_state *s, const uint64_t **cursor, const uint64_t *end, int want,
    int may_rescan, uint64_t *values, struct peet_block_event *out, int *out_abstract, struct peet_error *error);
/** peet__decode_values() - @block's values, with the registers as they are; @out has room for nvalues */
void peet__decode_values(const struct peet_decode_state *s, const struct peet__block *block, uint64_t *out);
/** peet__decode_lookup_sync() - s->sync_function and s->sync_segment are those of the code at @pc.  Returns: whether
 *  some schema knows it */
int peet__decode_lookup_sync(struct peet_decode_state *s, uint64_t pc);
/** peet__decode_starts_loop() - is a loop's record at @at, with nothing before it?  Then its iterations are what comes
 * next,
 *  and the record's two words have been read */
int peet__decode_starts_loop(struct peet_decode_state *s, const uint64_t *at, const uint64_t *end);

#endif
