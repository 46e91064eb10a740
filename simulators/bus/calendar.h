/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has the bus when.  The bus carries one transaction at a time, without preemption.  Requests are
 * delivered in the order in which blocks are simulated, which is nearly but not exactly the order of
 * their times; the calendar therefore keeps the transactions that have not begun yet, so that a later
 * delivered request can still come before them if the arbiter would have let it.  See docs/bus.md.
 */
#ifndef PEET_BUS_CALENDAR_H
#define PEET_BUS_CALENDAR_H

#include <stdint.h>
#include "../common/windows.h"

enum bus_arbitration { ARBITRATION_FCFS, ARBITRATION_RR, ARBITRATION_FIXED };
#define BUS_ARBITRATION_NAMES "fcfs|rr|fixed"

/* Transactions kept at most; the oldest of more is final.  More of them where hardware contexts act far out of the
 * order of their times. */
enum { CALENDAR_SLOTS = 4096, CALENDAR_SLOTS_APART = 65536 };
/* Slots in use, settled ones before them among them, from which on requests are looked at more closely, and settled ones from
 * which on others move; and slots of which some are settled at once. */
enum { CALENDAR_FEW = 128, CALENDAR_KEPT = 64, CALENDAR_DUE = 8 };

struct calendar_slot {
    uint64_t request, start, end;
    uint32_t hw;
    uint32_t posted; /* nobody waits for it: a write-back */
};

struct calendar {
    enum bus_arbitration arbitration;
    unsigned hws;
    int uniprocessor;   /* one processor, which waits for its own: no transaction can be overtaken */
    int unsorted;       /* transactions are not (or not all) in the order of their requests, or have no places */
    uint64_t open_from; /* sole: busy from here to final_until, and not in the windows yet */
    uint32_t first, n;  /* slots[first .. first + n) in the order of their start */
    struct calendar_slot *slots; /* 2 * room, and one before them that is 0 */
    uint32_t room;
    int apart;            /* nothing is settled before there is no room */
    uint64_t began;       /* when the block began whose requests come now: none before it will come any more */
    uint64_t final_until; /* the bus is settled before this time */
    uint32_t last_hw;     /* owner of the last settled transaction */
    uint64_t busy_cycles, transactions;
    uint64_t *lost_cycles;     /* [hw] delay that overtaken transactions suffered; the reader sets it back to 0 */
    uint32_t *losers, nlosers; /* whose, by the latest request */
    uint64_t *mark, marks;     /* [hw] */
    struct peet_sim_windows windows;
};

/** @apart: requests come far out of the order of their times.  Returns: 0, or -1 without memory (fini is safe then) */
int peet__bus_calendar_init(struct calendar *cal, enum bus_arbitration arbitration, unsigned hws,
    uint64_t window_cycles, int apart);
void peet__bus_calendar_fini(struct calendar *cal);

/** peet__bus_calendar_settle() - no request before @now will come any more */
void peet__bus_calendar_settle(struct calendar *cal, uint64_t now);
/** The same, where it may be left for later: nothing overtakes what is over, in whatever order transactions are kept, unless
 * that is another one than that of their requests. */
static inline void peet__bus_calendar_settle_some(struct calendar *cal, uint64_t now)
{
    if (cal->n >= CALENDAR_DUE || cal->unsorted)
        peet__bus_calendar_settle(cal, now);
}

/** The slow half of peet__bus_calendar_request(). */
uint64_t peet__bus_calendar_request_any(struct calendar *cal, unsigned hw, uint64_t time, uint64_t cycles, int posted);
/**
 * peet__bus_calendar_request() - the bus for one transaction
 * @time: when it is asked for
 * @cycles: how long it lasts, > 0
 * Returns: when it starts
 *
 * Transactions that this one overtakes move back; what their owners lose by it is added to lost_cycles.
 */
static inline uint64_t peet__bus_calendar_request(struct calendar *cal, unsigned hw, uint64_t time, uint64_t cycles,
    int posted)
{
    const uint32_t end = cal->first + cal->n;
    /* one that is settled, or none, is over when this one is asked for */
    struct calendar_slot *const slot = &cal->slots[end], *const last = slot - 1;
    uint64_t at = time > cal->final_until ? time : cal->final_until;
    if (cal->unsorted || !cycles || end >= CALENDAR_FEW || last->request > time ||
        (last->request == time && last->hw > hw))
        return peet__bus_calendar_request_any(cal, hw, time, cycles, posted);
    at = last->end > at ? last->end : at; /* first come, first served, and nobody has come later */
    *slot = (struct calendar_slot){time, at, at + cycles, hw, posted != 0};
    cal->n++;
    cal->transactions++;
    cal->nlosers = 0;
    return at;
}

/**
 * peet__bus_calendar_request_uniprocessor() - the same, if the calendar is one processor's: a queue without places
 *
 * Its requests come in the order of time, none before its last one was over, and what it posted went first.
 */
static inline uint64_t peet__bus_calendar_request_uniprocessor(struct calendar *cal, uint64_t time, uint64_t cycles)
{
    uint64_t start = cal->final_until;
    if (time > start) {
        peet_sim_windows_add(&cal->windows, cal->open_from, start);
        cal->open_from = start = time;
    }
    cal->final_until = start + cycles;
    cal->busy_cycles += cycles;
    cal->transactions++;
    return start;
}

/** peet__bus_calendar_finish() - settle everything; the windows end at @end */
void peet__bus_calendar_finish(struct calendar *cal, uint64_t end);

#endif
