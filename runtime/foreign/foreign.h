/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign code: code of the subject's process that peetcc has not compiled.  This is the seam between the runtime,
 * which knows the two worlds, and the translator (in the host's library), which makes code that records.
 *
 *     recorded code ──call──▶ original entry: jmp stub ──▶ stub: which world?
 *                                                           ├─ the host's: the displaced instructions,
 *                                                           │  and on in the original
 *                                                           └─ the subject's: the translated block, which
 *                                                              records, and so on
 *
 * INVARIANTS
 *   1. Originals stay whole but for entries and return points, which are jumps to stubs that ask for the world.
 *   2. In the subject's world foreign code runs from the cache only.  Return addresses on the stack are the originals'.
 *   3. Translated code keeps all registers and flags but at calls and returns, where the calling convention frees
 *      the flags.
 *   4. With several contexts alive, the C library is not left for another one but where it calls recorded code, or
 *      the runtime's functions that wait, or reads the time stamp counter: it may hold what its own locks protect, and
 *      those do nothing in a process of one thread.  The record grows meanwhile.  Other foreign code gives way where the
 *      ring is full, as recorded code does.
 *   5. Behind a system call, and rdtsc, nothing is spilled, and the cursor is in its place: handlers of signals run there.
 *   6. What translated code spills lies at fixed places below 2 GiB: one thread of the kernel runs all contexts.
 */
#ifndef PEET_FOREIGN_H
#define PEET_FOREIGN_H

/* Fixed places, within reach of a sign-extended 32-bit displacement; mapped when foreign code is recorded. */
#define PEET_FOREIGN_LOW 0x7fa00000
#define PEET_FOREIGN_STATE_BYTES 0x10000
/* Tables of places: entries of two words, by the lower 16 bits of the original address. */
#define PEET_FOREIGN_TABLE_BYTES 0x100000
#define PEET_FOREIGN_JUMPS (PEET_FOREIGN_LOW + PEET_FOREIGN_STATE_BYTES)
#define PEET_FOREIGN_RETURNS (PEET_FOREIGN_JUMPS + PEET_FOREIGN_TABLE_BYTES)
#define PEET_FOREIGN_END (PEET_FOREIGN_RETURNS + PEET_FOREIGN_TABLE_BYTES)

/* Offsets in the state, for code. */
#define PEET_FOREIGN_SPILL 0 /* 8 words */
#define PEET_FOREIGN_TO 64
#define PEET_FOREIGN_TARGET 72
#define PEET_FOREIGN_KIND 80
#define PEET_FOREIGN_LINK 88
#define PEET_FOREIGN_MISS_JUMP 96
#define PEET_FOREIGN_MISS_RETURN 104
#define PEET_FOREIGN_SUBJECT_SP 112
#define PEET_FOREIGN_STACK 120
#define PEET_FOREIGN_NATIVE_RETURN 128
#define PEET_FOREIGN_ON 136
#define PEET_FOREIGN_YIELD 144
#define PEET_FOREIGN_CPUID 152
#define PEET_FOREIGN_MAPS 160

/* The words that begin records of foreign blocks: numbers at which no code of a program lies.  Their distance is that
 * of places in code that the decoder finds fast (schema/direct.h). */
#define PEET_FOREIGN_WORD_STEP 4
#define PEET_FOREIGN_WORDS 0x70000000
#define PEET_FOREIGN_WORDS_END 0x7f000000

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct peet_foreign_state {
    uint64_t spill[8];
    uint64_t to;     /* where the code at hand jumps to */
    uint64_t target; /* of a miss: the original address */
    uint64_t kind;   /* enum peet_foreign_kind */
    uint64_t link;   /* of a miss by a direct jump: its number, else 0 */
    /* where code goes that finds nothing in the table: rdx the target; rcx and rdx in spill[0] and [1] */
    uint64_t miss_jump, miss_return;
    uint64_t subject_sp, stack; /* of the translator */
    uint64_t native_return; /* code that returns to where no translation is: the stack pointer is behind the address */
    uint64_t on;            /* the subject's world: 1 */
    uint64_t yield;         /* the stub of a full ring (foreign code's own) */
    uint64_t cpuid;         /* the stub that stands for the instruction */
    uint64_t maps;          /* the stub before mmap() */
};
_Static_assert(offsetof(struct peet_foreign_state, to) == PEET_FOREIGN_TO &&
        offsetof(struct peet_foreign_state, target) == PEET_FOREIGN_TARGET &&
        offsetof(struct peet_foreign_state, kind) == PEET_FOREIGN_KIND &&
        offsetof(struct peet_foreign_state, link) == PEET_FOREIGN_LINK &&
        offsetof(struct peet_foreign_state, miss_jump) == PEET_FOREIGN_MISS_JUMP &&
        offsetof(struct peet_foreign_state, miss_return) == PEET_FOREIGN_MISS_RETURN &&
        offsetof(struct peet_foreign_state, subject_sp) == PEET_FOREIGN_SUBJECT_SP &&
        offsetof(struct peet_foreign_state, stack) == PEET_FOREIGN_STACK &&
        offsetof(struct peet_foreign_state, native_return) == PEET_FOREIGN_NATIVE_RETURN &&
        offsetof(struct peet_foreign_state, on) == PEET_FOREIGN_ON &&
        offsetof(struct peet_foreign_state, yield) == PEET_FOREIGN_YIELD &&
        offsetof(struct peet_foreign_state, cpuid) == PEET_FOREIGN_CPUID &&
        offsetof(struct peet_foreign_state, maps) == PEET_FOREIGN_MAPS,
    "code knows this");
#define peet__foreign_state ((volatile struct peet_foreign_state *)PEET_FOREIGN_LOW)

/** A place that is known; who jumps there has rcx and rdx in spill[0] and [1]. */
struct peet_foreign_place {
    uint64_t key;  /* the original address, negated */
    uint64_t code; /* that gets both back and goes on with the translation */
};
_Static_assert(sizeof(struct peet_foreign_place) << 16 == PEET_FOREIGN_TABLE_BYTES, "code knows this");

enum peet_foreign_kind { PEET_FOREIGN_JUMP, PEET_FOREIGN_RETURN };

/** find() - host's world, on the translator's stack: where to go on for an original address
 *  @link: of a direct jump, which may be made to go there itself next time; 0: none */
typedef uint64_t peet_foreign_find(uint64_t target, enum peet_foreign_kind kind, uint64_t link);

/** improve() - host's world, in the middle of translated code, at the check of a record's room: what is translated may be
 * translated anew
 *  @pc: of the check, in the cache
 *  Returns: whether another context may act there: the code is not the C library's (invariant 4) */
typedef int peet_foreign_improve(uint64_t pc);

/**
 * peet_rt_foreign_prepare() - map the fixed places; before the first resume
 * @out_world: offset of the word from the thread pointer that says in which world the thread is
 * Returns: 0, PEET_ENOMEM: a place is taken
 */
int peet_rt_foreign_prepare(peet_foreign_find *find, peet_foreign_improve *improve, int64_t *out_world);
/**
 * peet_rt_foreign_begin() - from now on contexts run in the subject's world
 * @is_foreign: whether code is foreign; what the runtime itself calls of it is not recorded
 * @is_translated: whether a place lies in the cache; called by handlers of signals, too
 * Returns: 0, PEET_ENOMEM
 */
int peet_rt_foreign_begin(int (*is_foreign)(uint64_t pc), int (*is_translated)(uint64_t pc));

/**
 * peet_rt_foreign_watch() - @changed is called whenever objects have been loaded or unloaded, in the host's world: mapped ones
 * before they are relocated and their constructors run, unmapped ones afterwards
 * @of_subject: it was the subject's doing
 * Returns: 0, PEET_EUNSUPPORTED: this dynamic linker does not tell
 */
int peet_rt_foreign_watch(void (*changed)(int of_subject));

/* allocator.c */
enum { PEET_FOREIGN_ALLOCATOR_ENTRIES = 7 };
/**
 * peet_rt_foreign_allocator() - from now on the subject allocates from a copy of the C library; before
 * peet_rt_foreign_begin()
 * @out_path, @out_base: of the copy, which no list of loaded objects shows; the path is the linker's
 * @out_entries: its functions that are called
 * Returns: 0, PEET_EUNSUPPORTED: this C library is another kind
 */
int peet_rt_foreign_allocator(const char **out_path, uint64_t *out_base,
    const void *out_entries[PEET_FOREIGN_ALLOCATOR_ENTRIES]);
/** Is it one of the copy's functions in whose place the runtime's are? */
int peet_rt_foreign_allocator_replaces(uint64_t pc);
/** Where to go in place of a function of the C library that is about the allocator (mallopt() and its like), or that may
 *  wait for other contexts (read() within a stream); else pc. */
uint64_t peet_rt_foreign_instead(uint64_t pc);
#endif

#endif
