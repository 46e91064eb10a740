/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: what happens to a core's thread other than instructions: software contexts come and go, and time passes that
 * they wait or spend in another way.  Called by module.c and simple.c; instructions are core.c's.
 */
#include "core_refs.h"
#include "core_replay.h"

/** Queues are shared by the threads of a core that are at work now. */
static void share(struct x86_thread *t, uint64_t now)
{
    struct x86 *x = t->cpu->x;
    unsigned threads = x->config.threads, first = t->cpu->number * threads, active = 1;
    uint64_t others = 0;

    for (unsigned i = first; i < first + threads; i++) {
        const struct x86_thread *o = &x->threads[i];

        if (o == t || o->context == UINT32_MAX || o->frontier < now)
            continue;
        active++;
        for (uint64_t k = o->window.n; k && others < o->window.size; k--) {
            if (o->window.left[(k - 1) & o->window.mask] <= t->dispatch || o->window.n - k >= o->window.size)
                break;
            others++;
        }
    }
    t->fetch_parts = x->config.fetch_uops * X86_PARTS / active;
    if (x->config.smt == SMT_SHARED) {
        uint32_t least = t->window.size / threads / 2 + 1;

        t->window_limit = others + least < t->window.size ? t->window.size - (uint32_t)others : least;
        t->loads_limit = t->loads.size;
        t->stores_limit = t->stores.size;
    } else {
        t->window_limit = t->window.size / active ? t->window.size / active : 1;
        t->loads_limit = t->loads.size / active ? t->loads.size / active : 1;
        t->stores_limit = t->stores.size / active ? t->stores.size / active : 1;
    }
}

/** Its software context has gone: what it ran is booked. */
void x86_core_leave(struct x86_thread *t)
{
    struct x86_software *soft = t->context == UINT32_MAX ? NULL : x86_stacks_software(&t->cpu->x->stacks, t->context);

    if (soft) {
        for (unsigned i = 0; i < CPI_CATEGORIES; i++)
            soft->run[i] += t->cycles[i] - t->mark[i];
        soft->last = later(soft->last, t->frontier);
        soft->place = t->place;
    }
    memcpy(t->mark, t->cycles, sizeof t->mark);
    t->context = UINT32_MAX;
    t->last.op = NULL; /* which no node has in its state */
}

/** Another software context: nothing of the one before is in the registers. */
static __attribute__((noinline)) void change_context(struct x86_thread *t, uint32_t context)
{
    struct x86 *x = t->cpu->x;
    struct x86_software *soft;

    x86_core_leave(t);
    t->context = context;
    soft = x86_stacks_software(&x->stacks, context);
    t->place = 0;
    if (!soft || context >= X86_LISTED)
        return;
    if (soft->hw != t->hw && x->threads[soft->hw].context == context) /* it was taken away from there */
        x86_core_leave(&x->threads[soft->hw]);
    soft->hw = t->hw;
    t->place = soft->place;
}

/** Time passes in another way than by blocks. */
static void leave_configuration(struct x86_thread *t)
{
    if (t->replay)
        x86_replay_leave(t);
}

void x86_core_begin(struct x86_thread *t, uint32_t context, uint64_t now)
{
    int other = t->context != context;

    if (__builtin_expect(other, 0))
        change_context(t, context);
    if (__builtin_expect(now > t->frontier, 0)) {
        leave_configuration(t);
        if (t->sampling)
            t->sampling->far.until += now - t->frontier;
        uint64_t gap = now - t->frontier, mine = less(gap, other && t->gap == CPI_SYSTEM ? 0 : t->gap_most);

        /* What the context waits for is not what it runs: that lies behind the mark. */
        t->cycles[t->gap] += mine;
        t->cycles[CPI_IDLE] += gap - mine;
        t->mark[CPI_IDLE] += gap - mine;
        if (t->gap != CPI_SYSTEM)
            t->mark[t->gap] += mine;
        if (mine)
            t->cpu->x->stacks.places[t->place].cycles[t->gap] += mine;
        t->frontier = now;
        x86_core_hold_front(t, now, CPI_BASE);
        x86_core_restart(t, now);
    }
    t->gap = CPI_SYSTEM;
    t->gap_most = UINT64_MAX;
    if (t->cpu->slot_cycles)
        share(t, now);
}

void x86_core_spend(struct x86_thread *t, enum x86_category why, uint64_t cycles)
{
    leave_configuration(t);
    t->cycles[why] += cycles;
    t->cpu->x->stacks.places[t->place].cycles[why] += cycles;
    t->frontier += cycles;
    x86_core_hold_front(t, t->frontier, why);
    t->base = t->starved = 0;
}
