/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that make machine code share: direct.c makes blocks, preamble.c the code around them, probes.c their
 * probes, watch.c what observers compare, staying.c and strips.c loops.  struct emitter has the function whose code is
 * being written.
 */
#ifndef PEET_EMITTER_H
#define PEET_EMITTER_H

#include "jit/direct.h"
#include "jit/forms.h"

/* Registers while the code runs: rbx the run, rbp at the record, r14 followed registers, r13 the time less
 * the bound, so that adding to it carries when that is reached, r12 instructions, r15 stamp, edi the
 * last block, r8 the function's table, r9 keys, r10 used, r11 hints; rax, rcx, rdx and rsi are scratch. */
static const struct peet__form_registers registers = {RBP, R14, RCX};

enum {
    CHAIN = 4,       /* blocks without a record that a block may fall into; */
    SURE_CHAIN = 24, /* and that it does fall into */
    BLOCK_EXTRA_BYTES = 800,
    VALUE_BYTES = 96,
    PROBE_BYTES = 480,
    WATCH_BYTES = 96,
    GUARD_BYTES = 512,
    COUNT_BYTES = 320,
    LOOP_BYTES = 64,
    GUARDS = PEET__DIRECT_OBSERVERS * (2 * PEET_DIRECT_GUARDS + 1),
    STUBS = (SURE_CHAIN + CHAIN + 2) * (4 * PEET_DIRECT_LOOKS + GUARDS)
};
#define RUN(field) ((int32_t)offsetof(struct peet_direct_run, field))

enum why { STUB_MISS, STUB_OTHER, STUB_UNITS, STUB_WATCH, STUB_ASK, STUB_MARK, STUB_SHOW, STUB_REPORT };

/* An out-of-line stub: code for a rare case, away from the block's own code. The case is a miss, a line without the
 * right that is needed, or an observer that wants to see the block. */
struct stub {
    uint8_t *from;     /* after the jump */
    uint8_t *back;     /* where to go on */
    uint32_t argument; /* STUB_MISS, STUB_OTHER, STUB_UNITS, STUB_ASK, STUB_MARK: which of emitter.requested */
    int32_t tail;      /* if the block cannot be taken: it is to come as a tail; -1: as a record */
    uint8_t why;
    uint8_t probe; /* STUB_SHOW: a loop?  STUB_UNITS, STUB_MISS: which probe (1: its line is in rsi, else in rax) */
    uint8_t span;  /* STUB_OTHER: so many bytes from rax on may lie in one line after all; 0: they do not; */
    uint8_t *same; /* then that is where to go on */
    const struct peet__direct_site *site; /* STUB_ASK, STUB_MARK: of whom */
    uint32_t index;                       /* STUB_SHOW: of which block */
};

/* What the machine wants of a block. */
struct requested {
    struct peet_direct_block d;
    uint32_t index;
    uint32_t stamps;       /* by so much the stamp has gone forward after its probes */
    const uint8_t *values; /* the code that stores its values; NULL: not written yet */
    uint8_t *back;         /* there the table's other() comes back to; */
    const uint8_t *other;  /* the code that calls it; NULL: not written yet */
};

struct emitter {
    struct peet__function *f;
    struct peet__direct *direct;
    struct peet__direct_function *compiled;
    struct peet__emit e;
    /* run-time addresses */
    const uint8_t *leave, *sync, *strange, *miss, *other, *loop, *ask, *mark, *show, *report, *learn;
    struct stub stub[STUBS];
    uint32_t nstubs;
    struct requested requested[SURE_CHAIN + CHAIN + 3]; /* a record's blocks */
    uint32_t nrequested;
};

static inline struct stub *add_stub(struct emitter *m, uint8_t *from, uint32_t argument, int32_t tail, enum why why)
{
    struct stub *c = &m->stub[m->nstubs++];
    *c = (struct stub){.from = from, .argument = argument, .tail = tail, .why = (uint8_t)why};
    return c;
}

/* Where an out-of-line stub is needed for a jump out of a block of which nothing has happened yet. */
static inline void unless(struct emitter *m, unsigned condition, int32_t tail)
{
    if (tail < 0)
        jump_if(&m->e, condition, m->leave);
    else
        add_stub(m, jump_ahead(&m->e, condition), 0, tail, STUB_WATCH);
}

/* Where a probe's references begin. */
static inline struct peet__form begin_of(const struct peet__block *c, const struct peet_direct_look *probe)
{
    struct peet__form a = c->addresses[probe->value];
    a.disp -= probe->before;
    return a;
}

/* What is left of a record is a block without one. */
static inline void tail_is(struct emitter *m, uint32_t index)
{
    CODE(&m->e, "\x48\xc7\x83"); /* mov qword [rbx + disp32], imm32 */
    word32(&m->e, (uint32_t)RUN(tail));
    word32(&m->e, index);
    jump(&m->e, m->leave);
}

/* The block cannot be taken; nothing of it has happened: it is to come as a tail, or else as a record. */
static inline void go_before(struct emitter *m, int32_t tail)
{
    if (tail >= 0)
        tail_is(m, (uint32_t)tail);
    else
        jump(&m->e, m->leave);
}

static inline void peet__direct_last_is(struct peet__emit *e, uint32_t index)
{
    byte(e, 0xbf); /* mov edi, imm32 */
    word32(e, index);
}

/* Where blocks are counted. */
static inline int32_t count_of(uint32_t index)
{
    return 8 * (int32_t)(index + 1);
}

/** Sets the flags.  Returns: the condition under which the limit may have come */
static inline unsigned see_time(struct peet__emit *e)
{
    compare_constant(e, R13, -1);
    return IF_EQUAL;
}

/** Adds a block's time, after everything else of the block.  Returns: the condition under which the limit may have
 * come */
static inline unsigned take_time(struct peet__emit *e, const struct peet_direct_block *block)
{
    if (block->varies) {
        constant(e, RAX, (uint64_t)(uintptr_t)block->varies);
        memory(e, 0x03, R13, RAX, 0); /* add r13, [rax] */
        return IF_BELOW;
    }
    if (block->time == 0)
        return see_time(e);
    add_constant(e, R13, block->time);
    return IF_BELOW;
}

/* probes.c */
/** rax or rsi, an address, becomes the line; ecx where it is.  Returns: after the jump that is taken if it is not
 * there */
uint8_t *peet__direct_probe(struct emitter *m, unsigned reg, const struct peet_direct_look *probe);
/** All probes of a block; @tail: as in struct stub. */
void peet__direct_emit_probes(struct emitter *m, struct requested *w, int32_t tail);
/** The out-of-line stub of a STUB_MISS: rax or rsi is a line that has to be looked for. */
void peet__direct_emit_miss(struct emitter *m, const struct stub *c);
/** That of a STUB_OTHER: some line is not where it was hoped for, or some probe in two of them; then the block is the
 * table's other()'s. */
/** A write is not allowed by its line's key: the code that looks whether all that it writes is noted. */
void peet__direct_emit_units(struct emitter *m, const struct stub *c);
void peet__direct_emit_other(struct emitter *m, const struct stub *c);

/** The line at ecx is used by the block's reference @last, + 1.  @later: perhaps another one was even later */
void peet__direct_use(struct peet__emit *e, uint32_t last, int later);
/** peet__direct_log() - the use of a frame becomes an entry of the log at rsi.  @found: where in the run the frame is; 0: it
 * is in rcx.  Changes rcx and rdx */
void peet__direct_log(struct peet__emit *e, uint32_t entry, int32_t found);

/* staying.c */
/** rcx becomes so many times run.turns. */
void peet__direct_turns_times(struct peet__emit *e, int32_t by);
enum { STAYING_PROBES = 4 };
/** Can a loop be looked through at once, where all of its probes stay in their lines? */
int peet__direct_can_stay(const struct emitter *m, const struct requested *w);
/** All iterations of such a loop, run.turns of them, if each probe stays in its line, and is there; then stamps and
 * time have gone forward.
 *  @out_else: [2 * STAYING_PROBES + 2] after jumps that are taken if not; nothing has happened then.  Returns: how many
 */
uint32_t peet__direct_emit_staying(struct emitter *m, const struct requested *w, uint8_t **out_else);

/* strips.c */
/** Can a loop be taken in strips? */
int peet__direct_can_strip(const struct emitter *m, const struct requested *w);
/** The run.rest iterations of such a loop; the code is left where it cannot go on. */
void peet__direct_emit_strips(struct emitter *m, struct requested *w);

/* counted.c */
/** Sets when executions of a block are shown. */
void peet__direct_when_shown(struct peet_direct_counted *c, const struct peet_block *block, int is_trace);
/** The first thing of a block or loop: counting begins with its time.  @waits: time may go by before it is counted */
void peet__direct_count_from(struct emitter *m, uint32_t index, int waits);
/** The execution, or run.turns iterations of a loop, cannot be refused any more; no register has moved.  It is shown if
 * that is due, and counted.  @time: the block's, which is to go by; 0 for a loop, whose time has gone by */
void peet__direct_count(struct emitter *m, uint32_t index, int is_loop, int waits, uint64_t time);
/** The out-of-line stub of a STUB_SHOW or STUB_REPORT. */
void peet__direct_emit_show(struct emitter *m, const struct stub *c);

/* links.c */
/** The site of a link: straight to the code of the block that comes next, if it is a usual one; else on behind the site.
 * Changes rcx, rdx and rsi */
void peet__direct_emit_link(struct emitter *m);

/* together.c */
/** A path of foreign code in one go; the emitter's first @n requests are its blocks, @one_by_one is the code that takes
 * them one by one.  Returns: the code; NULL: there is none, for the path is not to be taken so */
const uint8_t *peet__direct_emit_together(struct emitter *m, uint32_t n, const uint8_t *one_by_one);

/* watch.c */
/** Do the block's values keep to all guards, and is none of its executions due?  The first thing of a block.  @tail: as
 * in struct stub */
void peet__direct_see(struct emitter *m, const struct requested *w, int32_t tail);
/** All lines are there: has one of the values a mark?  Machine code says so, and goes on.  @strides: of run->turns
 * iterations, whose references are in the lines of the first one's; NULL: it is one execution */
void peet__direct_see_marks(struct emitter *m, const struct requested *w, const int64_t *strides);
/** The same as peet__direct_tally() for run->turns iterations. */
void peet__direct_tally_strip(struct emitter *m, uint32_t index);
/** May observers take a loop's iterations for executions like others, and does machine code know for which? */
int peet__direct_can_see_strips(const struct emitter *m, const struct requested *w);
/** rsi becomes no more iterations than observers let machine code execute. */
void peet__direct_stop_strip(struct emitter *m, const struct requested *w);
/** Does the last one of run->turns iterations keep to all guards, as the first one does?  @out_else: after jumps that are taken if not.
 * Returns: how many */
uint32_t peet__direct_see_last(struct emitter *m, const struct requested *w, uint8_t **out_else);
/** Calls code that stores the block's values in run->values; @w: of the emitter. */
void peet__direct_store_values(struct emitter *m, struct requested *w);
/** May iterations of the loop be executed without being shown to any observer? */
int peet__direct_can_see_iterations(const struct emitter *m, uint32_t index);
/** May they be taken?  The first thing of a loop without probes. */
void peet__direct_see_iterations(struct emitter *m, uint32_t index);
/** After all probes: for guards that want it, the code counts where the values were. */
void peet__direct_tally(struct emitter *m, uint32_t index);
/** The out-of-line stub of a STUB_ASK, up to the answer, which is 0 in the flags. */
void peet__direct_emit_ask(struct emitter *m, const struct stub *c);
/** That of a STUB_MARK. */
void peet__direct_emit_mark(struct emitter *m, const struct stub *c);
/** Which observers see iterations of the block?  A bit each. */
uint32_t peet__direct_watchers(const struct emitter *m, uint32_t index);
/** What observers of the loop are to see. */
void peet__direct_show_values(struct emitter *m, uint32_t index);

#endif
