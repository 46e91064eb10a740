/* SPDX-License-Identifier: Apache-2.0 */
/* The bus as a resource in time.  See calendar.h. */
#include "calendar.h"
#include <stdlib.h>
#include <string.h>

int peet__bus_calendar_init(struct calendar *cal, enum bus_arbitration arbitration, unsigned hws,
    uint64_t window_cycles, int apart)
{
    memset(cal, 0, sizeof *cal);
    cal->arbitration = arbitration;
    cal->unsorted = arbitration != ARBITRATION_FCFS;
    cal->hws = hws;
    cal->last_hw = hws - 1; /* round robin begins with 0 */
    peet_sim_windows_init(&cal->windows, window_cycles);
    cal->apart = apart;
    cal->room = apart ? CALENDAR_SLOTS_APART : CALENDAR_SLOTS;
    struct calendar_slot *const slots = malloc((2 * (size_t)cal->room + 1) * sizeof *slots);
    if (slots) {
        slots[0] = (struct calendar_slot){0};
        cal->slots = slots + 1;
    }
    cal->lost_cycles = calloc(hws, sizeof *cal->lost_cycles);
    cal->losers = calloc(hws, sizeof *cal->losers);
    cal->mark = calloc(hws, sizeof *cal->mark);
    return cal->slots && cal->lost_cycles && cal->losers && cal->mark ? 0 : -1;
}

void peet__bus_calendar_fini(struct calendar *cal)
{
    free(cal->slots ? cal->slots - 1 : NULL);
    free(cal->lost_cycles);
    free(cal->losers);
    free(cal->mark);
}

/* The first so many transactions are over, or will be when nothing can come before their ends any more. */
static void settle_first(struct calendar *cal, uint32_t n, uint64_t windows_end)
{
    const struct calendar_slot *s = cal->slots + cal->first, *const end = s + n;
    while (s != end) { /* those that follow each other without a pause are one to the windows */
        const uint64_t from = s->start;
        for (s++; s != end && s->start == s[-1].end; s++)
            ;
        cal->busy_cycles += s[-1].end - from;
        peet_sim_windows_add(&cal->windows, from, s[-1].end < windows_end ? s[-1].end : windows_end);
    }
    cal->last_hw = s[-1].hw;
    cal->final_until = s[-1].end > cal->final_until ? s[-1].end : cal->final_until;
    cal->first += n;
    cal->n -= n;
}

void peet__bus_calendar_settle(struct calendar *cal, uint64_t now)
{
    const struct calendar_slot *const slots = cal->slots + cal->first;
    uint32_t n = 0;
    while (n != cal->n && slots[n].end <= now)
        n++;
    if (n && !cal->apart)
        settle_first(cal, n, UINT64_MAX);
    if (!cal->n)
        cal->first = 0;
}

/* Both want the bus at the same time: does a (request time ta) go before b? */
static int goes_first(const struct calendar *cal, uint32_t a, uint64_t ta, uint32_t b, uint64_t tb, uint32_t last)
{
    if (a != b && cal->arbitration == ARBITRATION_FIXED)
        return a < b;
    if (a != b && cal->arbitration == ARBITRATION_RR)
        return (a + 2 * cal->hws - last - 1) % cal->hws < (b + 2 * cal->hws - last - 1) % cal->hws;
    return ta != tb ? ta < tb : a < b;
}

/* Move the transactions from @i on back, as far as @end (that of the one before them) makes them. */
static void push(struct calendar *cal, uint32_t i, uint64_t end)
{
    cal->marks++;
    cal->nlosers = 0;
    for (struct calendar_slot *s = cal->slots + cal->first + i; i < cal->n && s->start < end; i++, s++) {
        uint64_t delay = end - s->start;
        s->start += delay;
        s->end += delay;
        end = s->end;
        /* Delays shrink along the row: the first one of an owner is its loss, the others lie within it. */
        if (!s->posted && cal->mark[s->hw] != cal->marks) {
            cal->mark[s->hw] = cal->marks;
            cal->lost_cycles[s->hw] += delay;
            cal->losers[cal->nlosers++] = s->hw;
        }
    }
}

/* How many slots end by then: nothing of that can be in the way. */
static uint32_t ends_by(const struct calendar *cal, uint64_t time)
{
    const struct calendar_slot *const slots = cal->slots + cal->first;
    uint32_t low = 0, high = cal->n;
    if (high && slots[high - 1].end <= time)
        return high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (slots[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* First come, first served: each transaction begins when it is asked for, or when the one before it is over.  So there
 * is no gap before one that waits, and the place of another one follows from the times of the requests alone. */
static uint32_t place_in_order(const struct calendar *cal, unsigned hw, uint64_t time)
{
    const struct calendar_slot *const slots = cal->slots + cal->first;
    uint32_t low = 0, high = cal->n;
    while (low < high) { /* near the end, as a rule */
        const uint32_t middle = high - low > 8 ? low + (high - low) / 2 : high - 1;
        if (slots[middle].request < time || (slots[middle].request == time && slots[middle].hw <= hw))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The place of a transaction, and @inout_at, when it begins there; it is when the bus is free of what is settled. */
static uint32_t place_by_arbiter(const struct calendar *cal, unsigned hw, uint64_t time, uint64_t cycles,
    uint64_t *inout_at)
{
    uint64_t at = *inout_at;
    uint32_t i = ends_by(cal, at), last = i ? cal->slots[cal->first + i - 1].hw : cal->last_hw;
    for (; i < cal->n; i++) {
        const struct calendar_slot *s = &cal->slots[cal->first + i];
        if (s->end > at) {
            if (s->start >= at + cycles)
                break; /* fits before it */
            if (s->start >= at && s->start >= time) {
                /* It has not begun when the bus is free for us.  Had it asked by then? */
                if (s->request > at || goes_first(cal, hw, time, s->hw, s->request, last))
                    break;
            }
            at = s->end;
        }
        last = s->hw;
    }
    *inout_at = at;
    return i;
}

uint64_t peet__bus_calendar_request_any(struct calendar *cal, unsigned hw, uint64_t time, uint64_t cycles, int posted)
{
    if (cal->uniprocessor)
        return peet__bus_calendar_request_uniprocessor(cal, time, cycles);
    uint64_t at = time > cal->final_until ? time : cal->final_until;
    uint32_t i;
    if (!cycles) /* takes no time, and can be anywhere */
        cal->unsorted = 1;
    if (cal->unsorted) {
        i = place_by_arbiter(cal, hw, time, cycles, &at);
    } else {
        i = place_in_order(cal, hw, time);
        if (i && cal->slots[cal->first + i - 1].end > at)
            at = cal->slots[cal->first + i - 1].end;
    }
    if (cal->n == cal->room) {
        settle_first(cal, 1, UINT64_MAX);
        if (i)
            i--;
        else if (at < cal->final_until)
            at = cal->final_until;
    }
    if (cal->first >= CALENDAR_KEPT && cal->first >= cal->n) { /* keep to little memory; each slot moves O(1) times */
        memmove(cal->slots, cal->slots + cal->first, cal->n * sizeof *cal->slots);
        cal->first = 0;
    }
    struct calendar_slot *s = cal->slots + cal->first + i;
    for (struct calendar_slot *last = cal->slots + cal->first + cal->n; last != s; last--) /* few, as a rule */
        *last = last[-1];
    *s = (struct calendar_slot){time, at, at + cycles, hw, posted != 0};
    cal->n++;
    cal->transactions++;
    push(cal, i + 1, at + cycles);
    return at;
}

void peet__bus_calendar_finish(struct calendar *cal, uint64_t end)
{
    if (cal->uniprocessor && cal->open_from < end) {
        peet_sim_windows_add(&cal->windows, cal->open_from, cal->final_until < end ? cal->final_until : end);
        cal->open_from = cal->final_until;
    }
    if (cal->n)
        settle_first(cal, cal->n, end);
    peet_sim_windows_reach(&cal->windows, end);
}
