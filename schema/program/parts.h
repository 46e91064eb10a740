/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader builds and the decoder walks: images, functions, blocks with the little programs that
 * compute their addresses.  Internal to schema/.
 */
#ifndef PEET_PROGRAM_PARTS_H
#define PEET_PROGRAM_PARTS_H

#include "program/program.h"

#include <string.h>

/* Where a term of an address comes from: a tracked register (0..15), the thread pointer, zero, or a word
 * of the block's record; for machine code of a block whose record stands before it (struct peet__block.sure),
 * PEET__PAST + n: the n-th word back from that record's end. */
enum { PEET__FS = 16, PEET__ZERO = 17, PEET__SLOT = 18, PEET__PAST = 0x8000 };
/** All of them.  By halves, which compilers copy in place: a call of memcpy() may be the subject's. */
static inline void peet__copy_regs(uint64_t *to, const uint64_t *from)
{
    enum { HALF = PEET__SLOT / 2 };
    memcpy(to, from, HALF * sizeof *to);
    memcpy(to + HALF, from + HALF, (PEET__SLOT - HALF) * sizeof *to);
}

/** An address: a + b*mb + c*mc + disp, modulo 2^64; without a multiplier there is no such term. */
struct peet__form {
    uint64_t disp;
    uint16_t a, b, c;
    int32_t mb, mc;
};

enum peet__op { PEET__SUM1, PEET__SUM2, PEET__SUM3, PEET__MASK, PEET__LANE };

/** One word of an event's values. */
struct peet__value {
    struct peet__form form; /* SUM1..3; LANE: address without the lane's index */
    uint16_t slot;          /* MASK: slot word of the mask; LANE: first slot word of the index vector */
    uint8_t op;             /* enum peet__op */
    uint8_t lane, lanes;    /* MASK: bit (or all `lanes` bits if lane == 255); LANE: which index */
    uint8_t index_bytes;    /* LANE: 4 or 8, 0 no index vector */
    int32_t scale;          /* LANE */
};

struct peet__update {
    struct peet__form form;
    uint16_t reg, op;
};

/** Decoding side of a block; parallel to peet_function.blocks.  What the decoder's short way reads fills
 *  the first cache line. */
struct peet__block {
    const struct peet__form *addresses; /* nvalues of them; NULL if some value is none (a mask, a lane) */
    const struct peet__form *steps;     /* nupdates of them */
    const struct peet__update *updates;
    uint32_t nvalues, nupdates;
    uint32_t slot_words;
    int32_t tail;      /* block that is executed next unless the next record is `tail_taken`; -1 none */
    int32_t pad;       /* block of alignment padding that falls into this one; -1 none */
    int32_t pad_after; /* ... executed if this block was the last before */
    uint8_t plain;     /* nothing but addresses and steps: the short way of peet_decode_batch() */
    uint8_t recorded, sync;
    uint8_t loop; /* recorded once, behind its last turn: slot 0 is loop_reg then */
    uint8_t loop_reg;
    uint8_t
        sure; /* the tail comes whatever the next record says; its values are in terms of this block's record, too */
    uint8_t past;   /* a sure tail: its addresses are for machine code alone, see PEET__PAST */
    uint8_t moving; /* a loop whose strides are in registers when it begins (strides.h) */
    int32_t tail_taken;
    int64_t loop_step;      /* by which loop_reg moves each turn */
    const int64_t *strides; /* of a loop: by how much each value grows a turn; NULL if that is no constant */
    const struct peet__value *values;
    /* blocks whose records may come next, the likelier first, as far as the last instruction says; -1 none */
    int32_t next[2];
} __attribute__((aligned(64)));

struct peet__image;
struct peet__native;
struct peet__chunk;
struct peet__direct;
struct peet__direct_function;

/** A call by name, the last instruction of its segment. */
struct peet__call {
    uint32_t segment;
    const char *callee;
};

struct peet__function {
    struct peet_function pub;
    struct peet__image *image;
    struct peet_block *blocks; /* nall of them: nsegments, then padding */
    struct peet__block *code;
    uint32_t nsegments, nall;
    uint32_t first_id;     /* of its blocks, or of the next one's if it has none */
    uint32_t *sync_offset; /* per segment; UINT32_MAX if not sync */
    /* per segment: where the wait before its first access returns to; UINT32_MAX if none */
    uint32_t *turn_offset;
    uint64_t start; /* run-time address */
    uint32_t recorded_bytes;
    uint32_t most_align; /* of it and its blocks, in bytes */
    uint32_t align_log2, longest_nop, granularity, asm_statements;
    uint32_t plain_offset;    /* in its text section, as the plain program has it */
    struct peet__call *calls; /* ncalls of them */
    uint32_t ncalls;
    uint8_t new_section; /* the first of its section */
    /* of blocks of foreign code that were executed one behind the other, so that words of others come behind the last: the
     * word by which their record begins; else 0 */
    uint64_t path_word;
    const struct peet__native *native[2]; /* decoders in machine code, without and with values; NULL: not made */
    uint32_t native_hotness[2];           /* how often they were missed */
    struct peet__direct_function *direct; /* direct.c; NULL: not made */
    uint32_t direct_hotness;
    void **owned; /* allocations */
    uint32_t nowned;
};

struct peet__section {
    uint64_t address, size;
    const uint8_t *bytes;
};

struct peet__image {
    char *path;
    uint64_t bias;
    void *map;
    size_t map_bytes;
    uint64_t device, file, changed_ns; /* the file, when it was mapped */
    struct peet__section schema, *text;
    unsigned ntext;
    uint64_t section_start, section_at; /* while reading: text section of the last function, plain bytes so far */
    struct peet__function **functions;  /* by start */
    unsigned nfunctions;
    int unchecked; /* checksums are not looked at: for a fuzzer, which wants to get past them */
};

struct peet_program {
    struct peet__image **images;
    unsigned nimages;
    struct peet__function **functions; /* in order of discovery; index = pub.id */
    unsigned nfunctions, functions_room;
    uint32_t nblocks;
    uint64_t *pc_key;   /* open addressing: run-time pc of sync blocks and waits, 0 empty */
    uint64_t *pc_value; /* function id << 32 | segment */
    uint64_t pc_mask, pc_used;
    uint64_t replaced; /* so often another image has come where one had been */
    peet_program_rescan *rescan;
    void *rescan_arg;
    /* scratch of the event being delivered, and as much for what another context does again meanwhile */
    uint64_t *values;
    uint32_t values_capacity, slots_capacity; /* the most of any block */
    struct peet__chunk *native_chunks;        /* native.c */
    struct peet__direct *direct;              /* direct.c; NULL: no machine has asked for it */
    /* Whoever makes machine code for the program's functions frees it, too; NULL: there is none. */
    void (*native_free)(struct peet_program *program), (*direct_free)(struct peet_program *program);
    void (*direct_replaced)(struct peet_program *program); /* other code is where some was; NULL: nobody has looked */
    struct peet_program_gaps gaps;
    int granularity;
    struct peet__function **synthetics; /* by enum peet_synthetic, NULL: not asked for yet; they are among functions */
};

/* decode.c */
/** peet__program_place() - the block that starts at a run-time address.  Returns: 1, or 0: none */
int peet__program_place(const struct peet_program *program, uint64_t pc, struct peet__function **out_function,
    uint32_t *out_segment);

/** Where in the table of pcs to begin to look. */
static inline uint64_t peet__pc_slot(const struct peet_program *program, uint64_t pc)
{
    return (pc * 0x9e3779b97f4a7c15u >> 20) & program->pc_mask;
}

/* elf.c */
int peet__image_map(struct peet__image *image, const char *path, struct peet_error *error);
void peet__image_unmap(struct peet__image *image);
const uint8_t *peet__image_code(const struct peet__image *image, uint64_t address, size_t bytes);

/* build.c: what can be said of a block once and for all: its references by kind, its cost, whether they are simple */
void peet__summarise(struct peet_block *block);

/* program.c: one more function, whose first block is a sync block that this word begins; takes the function, if it
 * returns 0
 * @word: 0: the function has no blocks */
int peet__program_add_part(struct peet_program *program, struct peet__function *function, uint64_t word,
    struct peet_error *error);

/* reader.c: parse the record at offset; *inout_offset moves behind it */
/* program.c: read every record of a mapped image into the program; takes the image, even on failure */
int peet__program_read(struct peet_program *program, struct peet__image *image, struct peet_error *error);

int peet__function_read(struct peet__image *image, size_t *inout_offset, struct peet__function **out_function,
    struct peet_error *error);
void peet__function_free(struct peet__function *function);
void *peet__own(struct peet__function *function, size_t n, size_t size);

/* layout.c: offsets of the plain program */
struct peet__layout_insn {
    uint32_t offset, length;
    int32_t target;  /* jump that the assembler sizes: layout block, else -1 */
    uint8_t is_jump; /* 1 jmp, 2 jcc */
};
struct peet__layout_block {
    uint32_t align, max_padding, first_insn, ninsns, offset, padding;
};
/** @start: of the function in its section.  Returns: bytes; offsets are relative to the function */
uint32_t peet__layout(struct peet__layout_block *blocks, unsigned nblocks, struct peet__layout_insn *insns,
    uint32_t start);

/* x86.c: what the linker left of an instruction with a symbolic operand */
struct peet__x86_operand {
    int present; /* it still references memory */
    int rip;
    int64_t disp;
};
int peet__x86_operand(const uint8_t *code, size_t bytes, struct peet__x86_operand *out_operand);

enum peet__tls { PEET__TLS_CALL, PEET__TLS_CALL_GOT, PEET__TLS_IE, PEET__TLS_LE, PEET__TLS_LD_LE, PEET__TLS_UNKNOWN };
enum peet__tls peet__x86_tls(const uint8_t *code, size_t bytes, unsigned *out_first_length);

#endif
