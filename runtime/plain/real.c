/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording on the computer's own processors: `peet record`.  The program runs as it does without peet, on threads of
 * the kernel's.  Each of them writes its words into blocks of memory that it shares with the process that writes the
 * trace (shared.h).  Requests that order threads are noted with their place in that order (real.h).
 *
 * TIME.  A slice carries the time stamp counter at its end, less what recording has cost the thread so far: the time
 * spent in this file, which is measured, and a known cost for each word.  Who got a lock late because another one was
 * late must not count that as his own: as in event-based perturbation analysis (Malony, Reed and Wijshoff, IEEE TPDS
 * 3(4), 1992), the time at which a request is granted without recording follows from when it was made and when the
 * object was last left, both without recording.
 *
 *   1. Nothing here allocates or locks.  It may not be entered by handlers of signals: on a thread that runs one,
 *      nothing is recorded.
 *   2. `peet__real_self` is NULL as long as the thread has no block.  It then records into a scratch ring (ring.c).
 *   3. The thread's control page says how far its words go; a block's slices say how far they are whole.  Both are seen by
 *      who writes the trace (shared.h).
 */
#include "plain/parcel.h"
#include "plain/real.h"
#include "plain/real_images.h"
#include "plain/ring.h"
#include "plain/shared.h"
#include "arch/x86_64/gs.h"
#include "internal.h"
#include "trace/recording.h"
#include "views/domain_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <peet/module.h>

struct peet__real {
    struct peet__control *control;
    struct peet__real_block *block;
    struct peet__real_block *crate; /* of parcels; NULL: none yet */
    uint32_t index, crate_index, thread;
    uint32_t whole;    /* words of the block that are in its slices */
    uint32_t pauses;   /* handlers of signals that run, and the like */
    int leaves;        /* it ends by pthread_exit() */
    uint64_t *cursor;  /* of the block, while they do */
    uint64_t result;   /* of the last event */
    uint64_t overhead; /* ticks, */
    uint64_t words;    /* and words, */
    uint64_t notes;    /* and notes whose cost is not in it yet */
    uint64_t tick;     /* of the last slice */
    uint64_t asked, asked_corrected;
    uint64_t made;
    uint64_t filled; /* parcels, and blocks that were handed over as they are */
    struct peet__parcels *parcels;
};

_Thread_local struct peet__real *peet__real_self;
int peet__real_any;
static _Thread_local struct peet__real mine;
static struct peet__real_shared *shared;
static uint64_t static_tls;
static uint64_t note_millicycles; /* what a note costs beyond its words, as measured at the beginning */

void peet__real_stub(uint64_t *frame, const uint64_t *xmm);

static inline uint64_t ticks(void)
{
    return __builtin_ia32_rdtsc();
}

static void wake(_Atomic uint32_t *bell, const _Atomic uint32_t *listeners)
{
    atomic_fetch_add(bell, 1);
    if (atomic_load(listeners))
        peet__raw_syscall(SYS_futex, (long)bell, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* ------------------------------------------------------------------------------------------ blocks */

/** From now on the thread's words go to its scratch ring. */
static void leave_block(struct peet__real *r)
{
    r->control->cursor = r->control->scratch_begin;
    r->control->limit = r->control->scratch_limit;
}

static void set_limit(struct peet__real *r)
{
    r->control->limit = r->block->words + PEET__REAL_WORDS;
}

/** A block goes to the writer, who is called if there is enough for him or if this is a thread's last; by himself he
 * looks now and then. */
static void hand_over(uint32_t index, uint32_t last)
{
    const uint64_t n = atomic_fetch_add(&shared->nfull, 1);
    uint64_t waiting;

    atomic_store(&peet__real_full(shared)[n % shared->nblocks], index + 1);
    waiting = peet__real_waiting(shared);
    if (last || waiting >= PEET__REAL_CALL || 2 * waiting >= peet__real_much(shared))
        wake(&shared->filled, &shared->writer_waits);
}

/** The thread's parcels go to the writer. */
static void send_crate(struct peet__real *r, uint32_t last)
{
    if (!r->crate)
        return;
    if (atomic_load_explicit(&r->crate->nparcels, memory_order_relaxed))
        hand_over(r->crate_index, last);
    else
        peet__real_give(shared, r->crate_index);
    shared->threads[r->thread].crate = 0;
    r->crate = NULL;
    atomic_fetch_sub(&shared->kept, 1);
}

/** The thread has no block any more. */
static void let_go(struct peet__real *r)
{
    shared->threads[r->thread].block = 0;
    r->block = NULL;
    atomic_fetch_sub(&shared->kept, 1);
}

/** A free block, unless there is much for the writer.  Returns: its number, or UINT32_MAX */
static uint32_t free_block(void)
{
    return peet__real_waiting(shared) < peet__real_much(shared) ? peet__real_take(shared) : UINT32_MAX;
}

/** Wait until there is a free block.  Returns: its number, or UINT32_MAX: the writer is gone */
static uint32_t wait_for_block(struct peet__real *r)
{
    const struct timespec some = {.tv_nsec = 50000000};
    const uint64_t since = ticks();
    uint32_t i = UINT32_MAX;

    atomic_fetch_add(&shared->starving, 1);
    for (;;) {
        const uint32_t bell = atomic_load(&shared->freed);

        if (atomic_load(&shared->stopped) || (i = free_block()) != UINT32_MAX || getppid() != shared->writer)
            break;
        peet__raw_syscall(SYS_futex, (long)&shared->freed, FUTEX_WAIT, bell, (long)&some, 0, 0);
    }
    atomic_fetch_sub(&shared->starving, 1);
    shared->threads[r->thread].waited_ticks += ticks() - since;
    return i;
}

/** Begin a new block.  Returns: 0: there is none any more */
static int take_block(struct peet__real *r)
{
    uint32_t i = atomic_load(&shared->stopped) ? UINT32_MAX : free_block();

    if (i == UINT32_MAX)
        i = wait_for_block(r);
    if (i == UINT32_MAX) {
        atomic_store(&shared->stopped, 1);
        leave_block(r);
        peet__real_self = NULL;
        return 0;
    }
    r->index = i;
    atomic_fetch_add(&shared->kept, 1);
    r->block = peet__real_block(shared, i);
    peet__parcel_populate(r->block, offsetof(struct peet__real_block, more));
    r->block->thread = r->thread;
    r->block->last = 0;
    atomic_store(&r->block->nparcels, 0);
    r->block->number = r->filled;
    r->whole = 0;
    atomic_store(&r->block->nslices, 0);
    r->control->cursor = r->block->words;
    set_limit(r);
    shared->threads[r->thread].words = (uint64_t)r->block->words;
    atomic_signal_fence(memory_order_seq_cst);
    shared->threads[r->thread].block = i + 1;
    return 1;
}

/** What has been written since the last slice, and so many words behind the cursor, are one.  @now: when it was over */
static void end_slice_behind(struct peet__real *r, unsigned why, uint64_t now, unsigned words)
{
    struct peet__real_block *b = r->block;
    const uint32_t k = atomic_load_explicit(&b->nslices, memory_order_relaxed);
    const uint64_t at = (uint64_t)(r->control->cursor - b->words) + words;

    if (at > PEET__REAL_WORDS + PEET__REAL_SLACK || at < r->whole) { /* somebody without a ring of his own was here */
        set_limit(r);
    } else {
        r->words += at - r->whole;
        r->whole = (uint32_t)at;
    }
    r->overhead += (r->words * shared->word_millicycles + r->notes * note_millicycles) / 1000;
    r->words = r->notes = 0;
    if (now - r->overhead > r->tick && now > r->overhead)
        r->tick = now - r->overhead;
    b->slices[k] = (struct peet__real_slice){r->whole, why, r->result, r->tick};
    r->result = 0;
    atomic_store_explicit(&b->nslices, k + 1, memory_order_release);
    r->control->cursor = b->words + r->whole;
}

static void end_slice(struct peet__real *r, unsigned why, uint64_t now)
{
    end_slice_behind(r, why, now, 0);
}

/** A crate for what the thread has written, if it has none and if it may have one: waiting for a block might take for
 * ever where many are kept, since those who keep them may wait for this thread.  Returns: 1: it has one */
static int has_crate(struct peet__real *r)
{
    uint32_t i;

    if (r->crate)
        return 1;
    if (r->whole < PEET__REAL_PARCEL || (!r->parcels && !(r->parcels = peet__parcels_take(!shared->small))) ||
        4 * atomic_load(&shared->kept) > shared->nblocks)
        return 0;
    i = free_block();
    if (i == UINT32_MAX && (i = wait_for_block(r)) == UINT32_MAX)
        return 0;
    atomic_fetch_add(&shared->kept, 1);
    r->crate_index = i;
    r->crate = peet__real_block(shared, i);
    r->crate->thread = r->thread;
    r->crate->used = 0;
    atomic_store(&r->crate->nparcels, 0);
    shared->threads[r->thread].crate = i + 1;
    return 1;
}

/** What is in the block goes to the writer, packed if it can be.  Returns: 1: the block is empty, and the thread's own
 * as before; 0: the thread has none any more */
static int pass_on(struct peet__real *r)
{
    const uint32_t last = r->block->last;

    if (!has_crate(r)) {
        r->filled++;
        hand_over(r->index, last);
        let_go(r);
        return 0;
    }
    peet__parcel_fill(r->parcels, r->crate, r->block, r->whole);
    /* In this order: a kill in between leaves an empty block, or one that the writer finds packed already. */
    atomic_store(&r->block->nslices, 0);
    r->control->cursor = r->block->words;
    atomic_signal_fence(memory_order_seq_cst);
    r->block->number = ++r->filled;
    r->whole = 0;
    set_limit(r);
    if (last || r->crate->used >= PEET__REAL_CRATE)
        send_crate(r, last);
    return 1;
}

/** A check has found the limit, or there is no room for an event. */
static int next_block(struct peet__real *r, uint64_t now)
{
    end_slice(r, PEET_SLICE_FULL, now);
    return pass_on(r) || take_block(r);
}

/** What is done here between two readings of the clock does not count. */
static inline void spent(struct peet__real *r, uint64_t since)
{
    r->overhead += ticks() - since + shared->event_millicycles / 1000;
}

void peet__real_stub(uint64_t *frame, const uint64_t *xmm)
{
    const uint64_t now = ticks();
    struct peet__real *r = peet__real_self;

    (void)frame, (void)xmm;
    if (!r || r->pauses) {
        __asm__ volatile("movq %%gs:%c0, %%rax\n\tmovq %%rax, %%gs:%c1"
            :
            : "i"(PEET_CONTROL_ADDRESS + PEET__CONTROL_SCRATCH_BEGIN), "i"(PEET_CONTROL_ADDRESS + PEET_CONTROL_CURSOR)
            : "rax", "memory");
        return;
    }
    if (next_block(r, now))
        spent(r, now);
}

/* ------------------------------------------------------------------------------------------ events */

/** Room for a record, and for so many slices.  Returns: 0: the recording is over */
static int room(struct peet__real *r, unsigned words, unsigned slices, uint64_t now)
{
    if (r->control->cursor + words <= r->block->words + PEET__REAL_WORDS + PEET_RAW_SLACK_WORDS &&
        atomic_load_explicit(&r->block->nslices, memory_order_relaxed) + slices + 1 < PEET__REAL_SLICES)
        return 1;
    return next_block(r, now);
}

/** Returns: how many words it has */
static unsigned put_behind(const struct peet__real *r, unsigned type, unsigned nargs, const uint64_t *args)
{
    uint64_t *at = r->control->cursor;

    at[0] = PEET_RAW_ABSTRACT(type, nargs);
    for (unsigned i = 0; i < nargs; i++)
        at[1 + i] = args[i];
    return 1 + nargs;
}

static void put(struct peet__real *r, unsigned type, unsigned nargs, const uint64_t *args)
{
    r->control->cursor += put_behind(r, type, nargs, args);
}

/** What ends a slice is there with it. */
static void put_event(struct peet__real *r, unsigned type, unsigned nargs, const uint64_t *args, uint64_t now)
{
    end_slice_behind(r, PEET_SLICE_EVENT, now, put_behind(r, type, nargs, args));
}

static struct peet__real *recording(void)
{
    struct peet__real *r = peet__real_self;

    return r && !r->pauses ? r : NULL;
}

void peet_rt_real_note(unsigned type, unsigned nargs, const uint64_t *args)
{
    struct peet__real *r = recording();
    uint64_t now;

    if (!r)
        return;
    if (__builtin_expect(r->control->cursor + nargs + 1 < r->control->limit, 1)) {
        put(r, type, nargs, args); /* there are many: reading the clock twice takes longer than all this */
        r->notes++;
        return;
    }
    now = ticks();
    if (!room(r, nargs + 1, 0, now))
        return;
    put(r, type, nargs, args);
    /* compiled code counts its words from the last check of its own */
    if (r->control->cursor >= r->control->limit && !next_block(r, now))
        return;
    spent(r, now);
}

void peet_rt_real_event(unsigned type, unsigned nargs, const uint64_t *args)
{
    struct peet__real *r = recording();
    const uint64_t now = r ? ticks() : 0;

    if (!r || !room(r, nargs + 1, 1, now))
        return;
    put_event(r, type, nargs, args, now);
    spent(r, now);
}

void peet__real_note_block(const void *p, size_t bytes, uint64_t caller)
{
    peet_rt_real_note(PEET_ABSTRACT_ALLOC, 7,
        (const uint64_t[]){(uint64_t)p, bytes, caller, PEET_RT_HEAP, 0, 0, caller});
}

void peet__real_released(uint64_t p, unsigned what, uint64_t how, uint64_t caller)
{
    peet_rt_real_note(PEET_ABSTRACT_FREE, 4, (const uint64_t[]){p, caller, what, how});
}

static struct peet__real_place *place_of(uint64_t object, uint64_t *out_number)
{
    *out_number = (object >> 3) * 0x9e3779b97f4a7c15u >> 50;
    _Static_assert(PEET__REAL_PLACES == 1 << 14, "fourteen bits of the product");
    return &shared->places[*out_number];
}

void peet_rt_real_asks(void)
{
    struct peet__real *r = recording();
    const uint64_t now = r ? ticks() : 0;

    if (!r || !room(r, 0, 1, now))
        return;
    if ((uint64_t)(r->control->cursor - r->block->words) != r->whole)
        end_slice(r, PEET_SLICE_FULL, now);
    r->asked_corrected = now - r->overhead;
    spent(r, now);
    r->asked = ticks();
}

/** The thread has what it asked for, after somebody else had it perhaps: when would that have been? */
static void correct(struct peet__real *r, const struct peet__real_place *place, uint64_t now)
{
    const uint64_t left = atomic_load(&place->left), left_corrected = atomic_load(&place->left_corrected);
    uint64_t begun = r->asked, corrected = r->asked_corrected;

    if (!begun)
        return;
    if (left > begun && left < now) { /* it waited */
        begun = left;
        corrected = left_corrected > corrected ? left_corrected : corrected;
    }
    r->overhead = now - (corrected + (now - begun));
    r->asked = 0;
}

/** Which of the events on an object, by a number that counts them. */
struct rank {
    uint64_t place, number, object;
};

/** An event with its rank: nobody whose number is larger begins before it is over.
 * @result: of the event, for who asks; 0: none
 * Returns: 0: the recording is over */
static int ordered(struct peet__real *r, const struct rank *rank, unsigned type, unsigned nargs, const uint64_t *args,
    uint64_t result, uint64_t now)
{
    uint64_t order[] = {rank->place, rank->number, PEET_ORDER_BEGIN, rank->object, type};

    if (!room(r, 2 * 6 + nargs + 1, 3, now))
        return 0;
    put_event(r, PEET_ABSTRACT_ORDER, 5, order, now);
    if (nargs)
        put_event(r, type, nargs, args, now);
    r->result = result;
    order[2] = PEET_ORDER_END;
    put_event(r, PEET_ABSTRACT_ORDER, 5, order, now);
    return 1;
}

static void leaves(struct peet__real *r, struct peet__real_place *place, uint64_t now)
{
    atomic_store(&place->left_corrected, now - r->overhead);
    atomic_store(&place->left, now);
}

enum { AFTER_OTHERS = 1, BEFORE_OTHERS = 2 };

/** An event that takes its place in an object's order: the thread has come after others (it may have waited for their
 * recording), others come after it, or both. */
static void takes_place(unsigned type, unsigned nargs, const uint64_t *args, unsigned how)
{
    struct peet__real *r = recording();
    const uint64_t now = r ? ticks() : 0;
    struct rank rank = {.object = args[0]};
    struct peet__real_place *place;

    if (!r)
        return;
    place = place_of(args[0], &rank.place);
    rank.number = atomic_fetch_add(&place->number, 1);
    if (how & AFTER_OTHERS)
        correct(r, place, now);
    if (!ordered(r, &rank, type, nargs, args, 0, now))
        return;
    spent(r, now);
    if (how & BEFORE_OTHERS)
        leaves(r, place, ticks());
}

void peet_rt_real_granted(unsigned type, unsigned nargs, const uint64_t *args)
{
    takes_place(type, nargs, args, AFTER_OTHERS);
}

void peet_rt_real_lets(unsigned type, unsigned nargs, const uint64_t *args)
{
    takes_place(type, nargs, args, BEFORE_OTHERS);
}

void peet_rt_real_passes(uint64_t object, unsigned type)
{
    takes_place(type, 0, &object, AFTER_OTHERS | BEFORE_OTHERS);
}

void peet_rt_real_unlocks(unsigned type, unsigned nargs, const uint64_t *args)
{
    struct peet__real *r = recording();
    uint64_t at;

    if (!r)
        return;
    peet_rt_real_event(type, nargs, args);
    if (peet__real_self)
        leaves(r, place_of(args[0], &at), ticks());
}

/* ----------------------------------------------------------------------------------------- threads */

/** The calling thread's words become those of a thread of the trace. */
static int begin_thread(uint32_t number)
{
    struct peet__real *r = &mine;

    memset(r, 0, sizeof *r);
    r->thread = number;
    r->control = peet__ring_take();
    if (!r->control)
        return 0;
    peet__ring_share(r->control, peet__real_control(shared, number));
    if (!take_block(r))
        return 0;
    peet__real_self = r;
    peet__real_any = 1;
    return 1;
}

static void tell_thread(uint32_t number)
{
    struct peet__real_thread_info *info = &shared->threads[number];
    pthread_attr_t attr;
    void *stack = NULL;
    size_t bytes = 0;

    info->fs_base = peet__fs_base();
    if (number && pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &stack, &bytes);
        pthread_attr_destroy(&attr);
    }
    info->stack_lo = (uint64_t)stack;
    info->stack_hi = (uint64_t)stack + bytes;
    atomic_store(&info->known, 1);
}

/** What the thread has written goes to the writer now: it may wait for long, and without it nothing of those that it has
 * made can be replayed after a kill of the writer, or when the disk is full. */
static void pass_on_now(struct peet__real *r)
{
    if (!r->block || !r->whole)
        return;
    if (pass_on(r))
        send_crate(r, 0);
    else
        take_block(r);
}

/* Stands for all threads as an object. */
enum { THREADS = 8 };

uint32_t peet__real_create(uint64_t fn, uint64_t arg)
{
    struct peet__real *r = recording();
    struct peet__real_thread_info *info;
    uint32_t number;

    if (!r)
        return UINT32_MAX;
    if (atomic_load(&shared->nthreads) >= PEET__REAL_THREADS ||
        (number = atomic_fetch_add(&shared->nthreads, 1)) >= PEET__REAL_THREADS) {
        atomic_store(&shared->nthreads, PEET__REAL_THREADS);
        atomic_fetch_add(&shared->unrecorded_threads, 1);
        return UINT32_MAX;
    }
    info = &shared->threads[number];
    info->parent = r->thread;
    info->ordinal = r->made++;
    info->function = fn;
    info->argument = arg;
    return number;
}

void peet__real_created(uint32_t number, int made, int detached)
{
    struct peet__real *r = recording();
    const uint64_t now = r ? ticks() : 0;
    const struct peet__real_thread_info *info = &shared->threads[number];
    const uint64_t args[] = {info->function, info->argument, 0, 0, (uint64_t)(detached || !made), 0};
    const struct rank rank = {PEET__REAL_PLACES, number - 1, THREADS};

    if (!made)
        atomic_store(&shared->threads[number].known, 1);
    if (r && ordered(r, &rank, PEET_ABSTRACT_THREAD_CREATE, 6, args, number, now)) {
        pass_on_now(r);
        spent(r, now);
    }
}

void peet__real_thread_begins(uint32_t number)
{
    tell_thread(number);
    begin_thread(number);
}

void peet__real_thread_ends(void)
{
    struct peet__real *r = recording();
    const uint64_t now = r ? ticks() : 0;

    if (!r || !room(r, 0, 1, now))
        return;
    end_slice(r, PEET_SLICE_DONE, now);
    shared->threads[r->thread].overhead_ticks = r->overhead;
    r->block->last = 1;
    if (pass_on(r)) {
        const uint32_t own = r->index;

        let_go(r);
        peet__real_give(shared, own);
        wake(&shared->freed, &shared->starving);
    }
    peet__parcels_give(r->parcels);
    leave_block(r);
    peet__real_self = NULL;
}

int peet__real_pauses(int handler)
{
    struct peet__real *r = peet__real_self;

    if (!r)
        return 0;
    if (!r->pauses++) {
        r->cursor = r->control->cursor;
        shared->threads[r->thread].paused = (uint64_t)r->cursor;
        leave_block(r);
    }
    if (handler)
        atomic_fetch_add(&shared->handlers, 1);
    return 1;
}

void peet__real_goes_on(int paused)
{
    struct peet__real *r = peet__real_self;

    if (!paused || !r || --r->pauses)
        return;
    r->control->cursor = r->cursor;
    set_limit(r);
    shared->threads[r->thread].paused = 0;
}

/* --------------------------------------------------------------------------------- begin and end */

void peet__real_library_goes(void)
{
    if (recording())
        peet__real_images(shared, static_tls, 1);
}

struct peet__real_range peet__real_unseen[2];

/** The object that holds an address. */
struct sought {
    uint64_t address;
    struct peet__real_range *range;
};

static int find_unseen(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct sought *sought = arg;
    uint64_t lo = UINT64_MAX, hi = 0;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        lo = info->dlpi_addr + p->p_vaddr < lo ? info->dlpi_addr + p->p_vaddr : lo;
        hi = info->dlpi_addr + p->p_vaddr + p->p_memsz > hi ? info->dlpi_addr + p->p_vaddr + p->p_memsz : hi;
    }
    if (sought->address < lo || sought->address >= hi)
        return 0;
    *sought->range = (struct peet__real_range){lo, hi - lo};
    return 1;
}

void peet_rt_real_unseen(uint64_t address)
{
    dl_iterate_phdr(find_unseen, &(struct sought){address, &peet__real_unseen[0]});
}

int peet_rt_real_recorded(void)
{
    return shared != NULL;
}

/** What a word costs: records of two words, as compiled code writes them where it carries the cursor from one to the
 * next. */
static void calibrate(void)
{
    enum { RECORDS = 2000, TIMES = 20 };
    uint64_t least = UINT64_MAX, least_event = UINT64_MAX;

    for (int k = 0; k < TIMES; k++) {
        uint64_t *at = mine.control->scratch_begin, n = RECORDS, begun = ticks(), now;

        __asm__ volatile("1:\n\t"
                         "movq $-2, (%0)\n\t"
                         "movq %1, 8(%0)\n\t"
                         "leaq 16(%0), %0\n\t"
                         "movq %0, %%gs:%c2\n\t"
                         "decq %1\n\t"
                         "jnz 1b"
            : "+r"(at), "+r"(n)
            : "i"(PEET_CONTROL_ADDRESS + PEET_CONTROL_CURSOR)
            : "cc", "memory");
        now = ticks();
        least = now - begun < least ? now - begun : least;
        begun = ticks();
        now = ticks();
        least_event = now - begun < least_event ? now - begun : least_event;
    }
    mine.control->cursor = mine.control->scratch_begin;
    shared->word_millicycles = least * 1000 / (2 * RECORDS);
    shared->event_millicycles = least_event * 1000;
}

/** What a note costs, from some that are taken back. */
static void calibrate_notes(struct peet__real *r)
{
    enum { NOTES = 500, TIMES = 20 };
    const uint64_t args[4] = {0};
    uint64_t least = UINT64_MAX, words, begun, took;

    for (int k = 0; k < TIMES; k++) {
        begun = ticks();
        for (int i = 0; i < NOTES; i++)
            peet_rt_real_note(PEET_ABSTRACT_FREE, 4, args);
        took = ticks() - begun;
        least = took < least ? took : least;
        r->control->cursor = r->block->words;
    }
    words = (uint64_t)NOTES * 5 * shared->word_millicycles;
    note_millicycles = least * 1000 > words ? (least * 1000 - words) / NOTES : 0;
    r->notes = 0;
}

static int map_shared(const char *fd_text)
{
    const int fd = atoi(fd_text);
    struct stat st;
    void *at;

    if (fstat(fd, &st) || (size_t)st.st_size < sizeof *shared)
        return 0;
    at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return 0;
    shared = at;
    return shared->magic == PEET__REAL_MAGIC && shared->bytes == (uint64_t)st.st_size &&
        !atomic_exchange(&shared->attached, 1);
}

/** A child of fork() is not recorded. */
static void forked(void)
{
    struct peet__real *r = peet__real_self;

    peet__real_self = NULL;
    peet__ring_unshare();
    peet__ctl->stub = (void *)peet__stub_plain;
    if (r)
        leave_block(r);
}

static void last_handler(int status, void *arg)
{
    (void)arg;
    peet__real_program_ends(status, NULL);
}

static int is_viewed(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(int *)arg |= peet__object_is_viewed(info);
    return *(int *)arg;
}

void peet__real_begin(void)
{
    const char *fd = getenv(PEET__REAL_SETTING);
    void (*ask)(size_t *, size_t *) = (void (*)(size_t *, size_t *))dlsym(RTLD_DEFAULT, "_dl_get_tls_static_info");
    size_t align;
    int viewed = 0;

    if (!fd)
        return;
    if (!map_shared(fd)) /* of a program that has started this one, or used already */
        return;
    unsetenv(PEET__REAL_SETTING);
    dl_iterate_phdr(is_viewed, &viewed);
    if (viewed)
        peet__die(2, "a program compiled with -fpeet-domains cannot be recorded on the computer's own processors");
    peet__xsave_probe();
    peet__fsgsbase_probe();
    if (ask)
        ask(&static_tls, &align);
    dl_iterate_phdr(find_unseen, &(struct sought){getauxval(AT_BASE), &peet__real_unseen[1]});
    peet__real_images(shared, static_tls, 0);
    atomic_store(&shared->images_told, 1);
    peet__loader_begin();
    if (!(mine.control = peet__ring_take()))
        peet__die(1, "no memory to record the program");
    calibrate();
    peet__ctl->stub = (void *)peet__stub_real;
    pthread_atfork(NULL, NULL, forked);
    on_exit(last_handler, NULL);
    atomic_fetch_add(&shared->nthreads, 1);
    tell_thread(0);
    if (!begin_thread(0))
        return;
    calibrate_notes(&mine);
    shared->first_tick = ticks();
}

void peet_rt_real_leaves(void)
{
    mine.leaves = 1;
}

void peet__real_program_ends(int status, const char *other)
{
    struct peet__real *r = recording();
    const uint64_t arg = (uint64_t)(int64_t)status, all[] = {PEET_NEVER, PEET_NEVER};

    if (!r)
        return;
    peet__real_images(shared, static_tls, 1);
    if (r->leaves) /* what others do comes before, on a machine on which it takes longer, too */
        peet_rt_real_event(PEET_ABSTRACT_THREAD_JOIN, 2, all);
    peet_rt_real_event(PEET_ABSTRACT_PROGRAM_EXIT, 1, &arg);
    strncpy(shared->replaced_by, other ? other : "", sizeof shared->replaced_by - 1);
    atomic_store(&shared->status, status);
    shared->last_tick = ticks();
    atomic_store(&shared->exited, 1);
    peet__real_thread_ends();
}
