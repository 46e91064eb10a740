/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a program recorded on the computer's own processors (real.c) shares with the process that writes its
 * trace (cli/record_writer.c).  Nothing here needs a lock:
 *
 *   1. A block belongs to the stack of free ones, to one thread, to the queue of full ones, or to the writer.
 *   2. A thread fills its block with words and says, slice by slice, how far it is whole (`nslices`, written last).  Its
 *      control page lies here, too: if the program is killed, words behind the last slice go up to the cursor.  Both move on
 *      when what is behind them is there, the cursor behind the slice: an event is in its slice or not there.
 *   3. A thread's blocks come into the queue in the order in which it has filled them.  The queue has a place for each
 *      block there is, so that it is never full.
 *   4. Nothing is overwritten: a thread that finds no free block waits for the writer.
 *   5. A thread keeps its block, which so stays in its cache, and packs what it has written into another one, parcel
 *      behind parcel (parcel.c).  When that one, its *crate*, is full, it is handed over.  A thread's parcels are numbered,
 *      and so are blocks that are handed over as they were written: so the writer knows, after a kill, what it has
 *      already.  If more than a quarter of the blocks are kept, blocks are handed over as they were
 *      written.
 *   6. Memory that nobody has used yet costs more than to wait for the writer: threads wait when there is much for him.
 */
#ifndef PEET_PLAIN_SHARED_H
#define PEET_PLAIN_SHARED_H

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <peet/raw.h>

#define PEET__REAL_SETTING "PEET_REAL_FD"
#define PEET__REAL_MAGIC 0x314c414552544550u

enum {
    PEET__REAL_WORDS = 16384,                    /* a block is closed at the first check behind so many */
    PEET__REAL_SLACK = 2 * PEET_RAW_SLACK_WORDS, /* ... and has room for more */
    PEET__REAL_CRATE = 128 * 1024,               /* bytes of parcels, with which a crate is full */
    PEET__REAL_MORE = 35840,                     /* words of room that packing never fills, but asks for */
    PEET__REAL_SLICES = 1024,                    /* and is closed when it has so many slices */
    PEET__REAL_PARCEL = 1024,                    /* fewer words are not worth a crate */
    PEET__REAL_CALL = 4,  /* so many full blocks are worth a call of the writer; half of what is much for him is, too */
    PEET__REAL_SHARE = 8, /* an eighth of the blocks is much for the writer */
    PEET__REAL_THREADS = 4096, /* that are recorded; further ones run unrecorded, and are counted */
    PEET__REAL_IMAGES = 256,
    PEET__REAL_PLACES = 1 << 14, /* objects whose addresses fall together share an order */
};

/** How far a block is whole, and when it was. */
struct peet__real_slice {
    uint32_t end;    /* in words of the block */
    uint32_t why;    /* enum peet_slice_why of trace/recording.h */
    uint64_t result; /* of the event before it */
    uint64_t tick;   /* of the time stamp counter, without what recording has cost */
};

struct peet__real_block {
    uint32_t thread;
    _Atomic uint32_t nslices;
    uint32_t last;             /* the thread has ended with it */
    uint32_t populated;        /* bytes of it from its first page on that are there */
    uint64_t number;           /* how many parcels and blocks the thread has filled before */
    _Atomic uint32_t nparcels; /* not 0: it is a crate; parcels lie from `slices` on, */
    uint32_t used;             /* in so many bytes */
    struct peet__real_slice slices[PEET__REAL_SLICES];
    uint64_t words[PEET__REAL_WORDS + PEET__REAL_SLACK];
    uint64_t more[PEET__REAL_MORE]; /* so that there is room for whatever words are packed into */
};

/** What a thread has written between two calls of the stub, packed: literals and codes lie behind the slices. */
struct peet__real_parcel {
    uint64_t number;                            /* as of a block */
    uint32_t bytes;                             /* to the next parcel, */
    uint32_t words, ncodes, nliterals, nslices; /* and of what is in it */
    uint32_t last;                              /* the thread has ended with it */
    struct peet__real_slice slices[];
};

/** The place of a crate's next parcel. */
static inline struct peet__real_parcel *peet__real_parcel(const struct peet__real_block *b, size_t used)
{
    return (struct peet__real_parcel *)((uintptr_t)b->slices + used);
}

/** Bytes of a crate for parcels. */
#define PEET__REAL_ROOM (sizeof(struct peet__real_block) - offsetof(struct peet__real_block, slices))

/** A thread that is recorded; number 0 is the main one. */
struct peet__real_thread_info {
    uint64_t parent, ordinal, fs_base, stack_lo, stack_hi, function, argument;
    uint32_t block, crate; /* that it fills, and 1; 0: none */
    _Atomic uint32_t known;
    uint64_t words;        /* where the words of its block are in the program, */
    uint64_t paused;       /* and how far they go if a handler of a signal runs there: else its control page says so */
    uint64_t waited_ticks; /* for a free block */
    uint64_t overhead_ticks;
};

struct peet__real_image {
    char path[PATH_MAX];
    uint64_t bias, lo, hi, tls_offset, late;
};

/** The order of what happened to the synchronisation objects of one place. */
struct peet__real_place {
    _Atomic uint64_t number;
    _Atomic uint64_t left, left_corrected; /* ticks: when it was left last, and the same without what recording cost */
    uint64_t unused;
};

struct peet__real_shared {
    uint64_t magic, bytes;
    uint32_t nblocks;
    pid_t writer;
    _Atomic uint32_t attached;        /* a program has begun to record */
    _Atomic uint32_t stopped;         /* and has stopped: the writer was gone */
    _Atomic uint64_t free;            /* first free block and 1, below a count of changes */
    _Atomic uint32_t freed, starving; /* a bell, and who listens */
    _Atomic uint32_t kept;            /* blocks that threads write */
    uint32_t small;                   /* words are to take little room, whatever it costs */
    _Atomic uint64_t nfull, written;  /* blocks that were ever full, and that the writer is done with */
    _Atomic uint32_t filled, writer_waits;
    _Atomic uint32_t nthreads;
    _Atomic uint32_t nimages, images_told;
    _Atomic uint64_t unrecorded_threads, handlers;
    uint64_t word_millicycles;  /* what recording a word costs, as measured at the beginning */
    uint64_t event_millicycles; /* ... and an event's record, beyond what is measured each time */
    uint64_t first_tick, last_tick;
    _Atomic int exited, status;
    char replaced_by[PATH_MAX]; /* a program, in the place of the one that was recorded; empty: none */
    struct peet__real_thread_info threads[PEET__REAL_THREADS];
    struct peet__real_image images[PEET__REAL_IMAGES];
    struct peet__real_place places[PEET__REAL_PLACES];
};

/* Behind it: _Atomic uint32_t next[nblocks], _Atomic uint32_t full[nblocks], and from a page on the control pages of threads and the
 * blocks. */

static inline _Atomic uint32_t *peet__real_next(struct peet__real_shared *s)
{
    return (_Atomic uint32_t *)(s + 1);
}

/** The queue of full blocks, a ring: entry i % nblocks of the i-th is its number and 1 as soon as it is there. */
static inline _Atomic uint32_t *peet__real_full(struct peet__real_shared *s)
{
    return peet__real_next(s) + s->nblocks;
}

static inline uint64_t peet__real_controls_offset(uint32_t nblocks)
{
    return (sizeof(struct peet__real_shared) + 2 * sizeof(uint32_t) * (uint64_t)nblocks + 4095) & ~(uint64_t)4095;
}

static inline uint64_t peet__real_blocks_offset(uint32_t nblocks)
{
    return peet__real_controls_offset(nblocks) + (uint64_t)PEET__REAL_THREADS * PEET_CONTROL_BYTES;
}

/** A thread's control page. */
static inline void *peet__real_control(struct peet__real_shared *s, uint32_t thread)
{
    return (char *)s + peet__real_controls_offset(s->nblocks) + (uint64_t)thread * PEET_CONTROL_BYTES;
}

static inline struct peet__real_block *peet__real_block(struct peet__real_shared *s, uint32_t i)
{
    return (struct peet__real_block *)((char *)s + peet__real_blocks_offset(s->nblocks)) + i;
}

/** So many full blocks are much for the writer. */
static inline uint64_t peet__real_much(const struct peet__real_shared *s)
{
    return s->nblocks / PEET__REAL_SHARE > 2 ? s->nblocks / PEET__REAL_SHARE : 2;
}

/** Full blocks that the writer is not done with. */
static inline uint64_t peet__real_waiting(struct peet__real_shared *s)
{
    const uint64_t written = atomic_load(&s->written); /* first: there are never more than full ones */

    return atomic_load(&s->nfull) - written;
}

/** Put a block on the stack of free ones. */
static inline void peet__real_give(struct peet__real_shared *s, uint32_t i)
{
    uint64_t old = atomic_load(&s->free), new;

    do {
        atomic_store(&peet__real_next(s)[i], (uint32_t)old);
        new = ((old >> 32) + 1) << 32 | (i + 1);
    } while (!atomic_compare_exchange_weak(&s->free, &old, new));
}

/** Take one.  Returns: its number, or UINT32_MAX: there is none */
static inline uint32_t peet__real_take(struct peet__real_shared *s)
{
    uint64_t old = atomic_load(&s->free), new;

    do {
        if (!(uint32_t)old)
            return UINT32_MAX;
        new = ((old >> 32) + 1) << 32 | atomic_load(&peet__real_next(s)[(uint32_t)old - 1]);
    } while (!atomic_compare_exchange_weak(&s->free, &old, new));
    return (uint32_t)old - 1;
}

#endif
