/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control page as the runtime sees it.  What compiled code uses is the contract of peet/raw.h;
 * the rest is the runtime's own.  Assembly refers to the offsets by number, hence the
 * assertions.
 */
#ifndef PEET_CONTROL_H
#define PEET_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <peet/raw.h>

struct peet__control {
    uint64_t *cursor;        /* next free word */
    uint64_t *limit;         /* a check at or past it calls the stub */
    void *stub;              /* peet__stub_plain or peet__stub_full */
    uint64_t *scratch_begin; /* where the plain stub puts the cursor back to */
    uint64_t *scratch_limit;
    void *turn; /* peet__stub_none or peet__stub_turn, and so on: see peet__control_hooks() */
    void *clock;
    void *mark;
    uint32_t concurrent; /* accesses wait for their turn */
    uint32_t viewed;     /* of domain_outside.c: see peet/raw.h */
    uint64_t view_offset, view_back;
    void *outside;
    uint32_t away;
    void *back;
    /* plain run: thread pointer of the thread that this page is for, others get a copy; 0: no thread does */
    uint64_t first_thread;
    /* What another copy of the runtime calls, in a namespace of the dynamic linker's own, so that it is not loaded; does not return.
     * NULL: that cannot be done */
    void (*refuse)(void);
    uint64_t magic; /* so that the page is known */
};

#define PEET__CONTROL_MAGIC 0x6c6f72746e6f6370 /* pcontrol */
#define PEET__CONTROL_SCRATCH_BEGIN 24
#define PEET__CONTROL_FIRST_THREAD 112

_Static_assert(offsetof(struct peet__control, cursor) == PEET_CONTROL_CURSOR, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, limit) == PEET_CONTROL_LIMIT, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, stub) == PEET_CONTROL_STUB, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, turn) == PEET_CONTROL_TURN, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, clock) == PEET_CONTROL_CLOCK, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, mark) == PEET_CONTROL_MARK, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, concurrent) == PEET_CONTROL_CONCURRENT, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, viewed) == PEET_CONTROL_VIEWED, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, view_offset) == PEET_CONTROL_VIEW_OFFSET, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, view_back) == PEET_CONTROL_VIEW_BACK, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, outside) == PEET_CONTROL_OUTSIDE, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, away) == PEET_CONTROL_AWAY, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, back) == PEET_CONTROL_RETURN, "contract with compiled code");
_Static_assert(offsetof(struct peet__control, first_thread) == PEET__CONTROL_FIRST_THREAD, "used by stub.S");
_Static_assert(offsetof(struct peet__control, scratch_begin) == PEET__CONTROL_SCRATCH_BEGIN, "used by stub.S");

/** The control page of the process; in a plain run that of its first thread.  Volatile: signal handlers and compiled
 * code change it. */
#define peet__ctl ((volatile struct peet__control *)PEET_CONTROL_ADDRESS)

/* The scratch ring of a plain run: small enough to stay in the cache; the room behind its limit is
 * what one check may leave unseen, many times over, since threads share the cursor unlocked until each
 * has a ring of its own (ring.c), and those of programs with views of memory always do. */
#define PEET__SCRATCH_BYTES (64 << 10)
#define PEET__SCRATCH_SLACK_BYTES (8 << 20)
/* Of the slack, before the ring's beginning: threads that have no ring of their own yet share the first one's cursor. One
 * may set it back between another's two steps, to make room for a record and to write it, which is then before it. */
#define PEET__SCRATCH_FRONT_BYTES (64 << 10)

/* Yield stubs, called by compiled code with an arbitrarily aligned stack (arch/x86_64/stub.S).  Both
 * preserve every register and flag. */
void peet__stub_plain(void);
void peet__stub_full(void);
void peet__stub_real(void); /* of a recording on the computer's own processors (plain/real.c) */

/** In a plain run, each thread but the first will have a control page and a ring of its own.  Called by the first
 * thread. */
void peet__ring_each_thread(void);

/* Hooks, called likewise: the plain run's does nothing, the others call the functions of arch/x86_64/hooks.c. */
void peet__stub_none(void);
void peet__stub_turn(void);
void peet__stub_clock(void);
void peet__stub_mark(void);
void peet__stub_outside(void);
void peet__stub_return(void);

/** From now on other copies of the runtime are refused by an error of the dynamic linker. */
void peet__refuse_others(void);

/** The hooks of a simulated run, or the plain run's again. */
void peet__control_hooks(int simulated);

#endif
