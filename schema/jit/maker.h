/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that make machine code share: direct.c makes blocks, looks.c their probes, watch.c what observers
 * compare, cuts.c blocks in two lines, staying.c loops, path_code.c traces of several blocks.  struct maker is the
 * function that is being made.
 */
#ifndef PEET_MAKER_H
#define PEET_MAKER_H

#include "jit/direct.h"
#include "jit/forms.h"

/* Registers while the code runs: rbx the run, rbp at the record, r14 followed registers, r13 the time less
 * the bound, so that adding to it carries when that is reached, r12 instructions, r15 stamp, edi the
 * last block, r8 the function's table, r9 keys, r10 used, r11 hints; rax, rcx, rdx and rsi are scratch. */
static const struct peet__form_registers registers = {RBP, R14, RCX};

enum {
    CHAIN = 4,
    BLOCK_EXTRA_BYTES = 800,
    VALUE_BYTES = 64,
    LOOK_BYTES = 384,
    WATCH_BYTES = 96,
    GUARD_BYTES = 256,
    COUNT_BYTES = 320,
    LOOP_BYTES = 64,
    GUARDS = PEET__DIRECT_OBSERVERS * (PEET_DIRECT_GUARDS + 1),
    COLD = (CHAIN + 2) * (4 * PEET_DIRECT_LOOKS + GUARDS)
};
#define RUN(field) ((int32_t)offsetof(struct peet_direct_run, field))

enum why { COLD_MISS, COLD_OTHER, COLD_WATCH, COLD_ASK, COLD_SHOW, COLD_REPORT };

/* Something rare that a block's code jumps to: a miss, lines that are not what was hoped for, or an observer that wants
 * to see the block. */
struct cold {
    uint8_t *from;     /* behind the jump */
    uint8_t *back;     /* where to go on */
    uint32_t argument; /* COLD_MISS, COLD_OTHER: which of maker.wanted */
    int32_t tail;      /* if the block cannot be taken: it is to come as a tail; -1: as a record */
    uint8_t why;
    uint8_t
        look; /* COLD_SHOW: is it a loop?  COLD_MISS: which of its looks; the second one's line is in rsi, all others' in rax */
    uint8_t span;  /* COLD_OTHER: so many bytes from rax on may lie in one line after all; 0: they do not; */
    uint8_t *same; /* then that is where to go on */
    const struct peet__direct_site *site; /* COLD_ASK: of whom; */
    uint32_t index;                       /* and of which block; COLD_SHOW, too */
};

/* What the machine wants of a block. */
struct wanted {
    struct peet_direct_block d;
    uint32_t index;
    uint32_t stamps;      /* by so much the stamp has gone forward behind its looks */
    uint8_t *back;        /* there the table's other() comes back to; */
    const uint8_t *other; /* the way to it; NULL: not made yet */
};

struct maker {
    struct peet__function *f;
    struct peet__direct *direct;
    struct peet__direct_function *made;
    struct peet__emit e;
    const uint8_t *leave, *sync, *strange, *miss, *other, *loop, *ask, *show, *report; /* run-time addresses */
    struct cold cold[COLD];
    uint32_t ncold;
    struct wanted wanted[CHAIN + 3]; /* a record's blocks */
    uint32_t nwanted;
};

static inline struct cold *add_cold(struct maker *m, uint8_t *from, uint32_t argument, int32_t tail, enum why why)
{
    struct cold *c = &m->cold[m->ncold++];
    *c = (struct cold){.from = from, .argument = argument, .tail = tail, .why = (uint8_t)why};
    return c;
}

/* Where a cold path is needed for a jump out of a block of which nothing has happened yet. */
static inline void unless(struct maker *m, unsigned condition, int32_t tail)
{
    if (tail < 0)
        jump_if(&m->e, condition, m->leave);
    else
        add_cold(m, jump_ahead(&m->e, condition), 0, tail, COLD_WATCH);
}

/* Where a look's references begin. */
static inline struct peet__address begin_of(const struct peet__block *c, const struct peet_direct_look *look)
{
    struct peet__address a = c->addresses[look->value];
    a.disp -= look->before;
    return a;
}

/* What is left of a record is a block without one. */
static inline void tail_is(struct maker *m, uint32_t index)
{
    CODE(&m->e, "\x48\xc7\x83"); /* mov qword [rbx + disp32], imm32 */
    word32(&m->e, (uint32_t)RUN(tail));
    word32(&m->e, index);
    jump(&m->e, m->leave);
}

/* The block cannot be taken; nothing of it has happened: it is to come as a tail, or else as a record. */
static inline void go_before(struct maker *m, int32_t tail)
{
    if (tail >= 0)
        tail_is(m, (uint32_t)tail);
    else
        jump(&m->e, m->leave);
}

/* Where blocks are counted. */
static inline int32_t count_of(uint32_t index)
{
    return 8 * (int32_t)(index + 1);
}

/* direct.c */
/** What the machine wants of a block.  Returns: 0, or -1: a call */
int peet__direct_want(struct peet__direct *direct, struct peet__function *f, uint32_t index,
    struct peet_direct_block *out);

/* looks.c */
/** rax or rsi, an address, becomes the line; ecx where it is.  Returns: behind the jump that is taken if it is not
 * there */
uint8_t *peet__direct_look_for(struct maker *m, unsigned reg, const struct peet_direct_look *look);
/** The block's k-th look with cuts: where both lines are, and by which stamps they are used.  @reg: the address, which
 * is among the run's, too;
 *  @missing: behind jumps that are taken if something is not there */
void peet__direct_look_for_both(struct maker *m, unsigned reg, const struct peet_direct_look *look, uint32_t k,
    uint8_t *missing[3]);
/** Both lines of such a look are used.  @stamps: r15 is to go on by so much before the block */
void peet__direct_use_both(struct peet__emit *e, uint32_t k, uint32_t stamps);
/** The flags say whether so many bytes from rax on are in one line: then equal. */
void peet__direct_see_line(struct maker *m, uint32_t span);
/** Are so many bytes likely to be naturally aligned: a whole word, something on the stack, an array's element? */
int peet__direct_likely_aligned(const struct peet__address *a, uint32_t span);
/** All looks of a block; @tail: as in struct cold. */
void peet__direct_make_looks(struct maker *m, struct wanted *w, int32_t tail);
/** The path of a COLD_MISS: rax or rsi is a line that has to be looked for. */
void peet__direct_make_miss(struct maker *m, const struct cold *c);
/** That of a COLD_OTHER: some line is not where it was hoped for, or some look in two of them; then the block is the
 * table's other()'s. */
void peet__direct_make_other(struct maker *m, const struct cold *c);

/** The line at ecx is used by the block's reference @last, + 1.  @later: perhaps another one was even later */
void peet__direct_use(struct peet__emit *e, uint32_t last, int later);

/* cuts.c */
/** The block, whose looks' addresses are among the run's, may be cut in a way that has a function: calls that. Returns:
 * behind the jump that is taken afterwards; what comes next is done if there is none */
uint8_t *peet__direct_call_cut(struct maker *m, const struct wanted *w);

/* staying.c */
enum { STAYING_LOOKS = 4 };
/** Can a loop be looked through at once, where all of its looks stay in their lines? */
int peet__direct_can_stay(const struct maker *m, const struct wanted *w);
/** All turns of such a loop, run.turns of them, if each look stays in its line, and is there; then stamps and time have
 * gone forward.
 *  @out_else: [2 * STAYING_LOOKS + 1] behind jumps that are taken if not; nothing has happened then.  Returns: how many
 */
uint32_t peet__direct_make_staying(struct maker *m, const struct wanted *w, uint8_t **out_else);

/* counted.c */
/** Sets when executions of a block are shown. */
void peet__direct_when_shown(struct peet_direct_counted *c, const struct peet_block *block);
/** The first thing of a block or loop: counting begins with its time. */
void peet__direct_count_from(struct maker *m, uint32_t index);
/** The execution, or so many turns of a loop as the run says, cannot be refused any more; no register has moved.  It is
 * shown if that is due, and counted.  @time: the block's, which is to go by; 0 for a loop, whose time has gone by */
void peet__direct_count(struct maker *m, uint32_t index, int is_loop, uint64_t time);
/** The path of a COLD_SHOW or COLD_REPORT. */
void peet__direct_make_show(struct maker *m, const struct cold *c);

/* watch.c */
/** Do the block's values keep to all guards, and is none of its executions due?  The first thing of a block.  @tail: as
 * in struct cold */
void peet__direct_see(struct maker *m, uint32_t index, int32_t tail);
/** Do all who look on let turns of a loop pass? */
int peet__direct_can_see_turns(const struct maker *m, uint32_t index);
/** May they be taken?  The first thing of a loop without looks. */
void peet__direct_see_turns(struct maker *m, uint32_t index);
/** Behind all looks: where values were is counted for those guards that want it. */
void peet__direct_tally(struct maker *m, uint32_t index);
/** The path of a COLD_ASK, up to the answer, which is 0 in the flags. */
void peet__direct_make_ask(struct maker *m, const struct cold *c);
/** What observers want of a block.  Returns: 0, or -1: to see it */
int peet__direct_ask_observers(struct maker *m, uint32_t index, const uint64_t *values);
/** Which observers see turns of the block?  A bit each. */
uint32_t peet__direct_watchers(const struct maker *m, uint32_t index);
/** What observers of the loop are to see. */
void peet__direct_show_values(struct maker *m, uint32_t index);

#endif
