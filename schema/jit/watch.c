/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for observers of blocks that are executed in machine code (struct peet_direct_observer): their guards in a
 * block's code, loop iterations that they are shown, and counts of executions that they are not shown.
 */
#include "jit/emitter.h"

#include <stdlib.h>
#include <string.h>

/* Does an observer compare something, or may it want to see the execution come as an event? */
static int is_watched(const struct peet_direct_watch *w)
{
    return w && !w->counted;
}

uint32_t peet__direct_watchers_of(const struct peet__direct *d, const struct peet__direct_function *compiled,
    uint32_t index)
{
    uint32_t mask = 0;
    for (uint32_t o = 0; o < d->nobservers; o++)
        mask |= is_watched(compiled->watches[(size_t)index * d->nobservers + o]) ? 1u << o : 0;
    return mask;
}

/* loop() of the table with observers. */
static int loop_and_show(struct peet_direct_run *run, uint32_t id, uint64_t iterations, const int64_t *strides)
{
    struct peet__direct *const d = peet__direct_of(run);
    const struct peet_block *const block = d->loop_block;
    const uint64_t began = run->began = run->time;
    if (d->loop(run, id, iterations, strides) != 0)
        return -1;
    if (!block)
        return 0;
    /* such iterations are not among those that `taken` of a watch says */
    peet__direct_function_of(run->blocks)->direct->told[block->index] -= iterations;
    if (d->holds && run->runs_ahead) {
        peet__direct_hold_loop(run, block, d->values, strides, iterations, began, (uint32_t)d->loop_observers);
    } else {
        const struct peet_block_event event = {block, d->values, run->context, iterations, strides};
        d->shown(d->shown_arg, run, &event, (uint32_t)d->loop_observers);
    }
    return 0;
}

int peet_program_add_observer(struct peet_program *p, const struct peet_direct_observer *ops, void *self)
{
    struct peet__direct *const d = p->direct;
    if (!d || d->nobservers == PEET__DIRECT_OBSERVERS)
        return PEET_ELIMIT;
    if (d->nobservers == 0 && d->table.loop) {
        d->loop = d->table.loop;
        d->table.loop = loop_and_show;
    }
    d->observers[d->nobservers].ops = ops;
    d->observers[d->nobservers++].self = self;
    return 0;
}

/* Counted executions have taken their time, beside what was waited. */
static void tell_cycles(const struct peet__direct *d, const struct peet__function *f, uint32_t index, uint64_t times)
{
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_counted *const c =
            peet__direct_counted_of(f->direct->watches[(size_t)index * d->nobservers + o]);
        if (c)
            c->cycles += times * c->each;
    }
}

void peet_program_direct_executed(struct peet_program *p, peet_program_executed *fn, void *arg)
{
    struct peet__direct *const d = p->direct;
    for (unsigned i = 0; i < p->nfunctions; i++) {
        struct peet__function *f = p->functions[i];
        if (f->direct)
            peet__direct_count_together(f);
        for (uint32_t k = 0; f->direct && k < f->nall; k++) {
            const uint64_t taken = *peet__direct_taken(f->direct, k), times = taken - f->direct->told[k];
            if (times == 0)
                continue;
            f->direct->told[k] = taken;
            tell_cycles(d, f, k, times);
            for (uint32_t o = 0; o < d->nobservers; o++)
                if (d->observers[o].ops->executed && !is_watched(f->direct->watches[k * d->nobservers + o]))
                    d->observers[o].ops->executed(d->observers[o].self, &f->blocks[k], times);
            fn(arg, &f->blocks[k], times, 0, 0);
        }
    }
    if (d)
        peet__direct_ranges_executed(d, fn, arg);
}

#ifdef __x86_64__

static struct peet_direct_watch **watches_of(const struct emitter *m, uint32_t index)
{
    return &m->compiled->watches[index * m->direct->nobservers];
}

/* A site of the block's code where an observer is asked, or told. */
static struct peet__direct_site *new_site(const struct emitter *m, uint32_t index, uint32_t observer, uint32_t guard)
{
    struct peet__direct_site *const site = peet__own(m->f, 1, sizeof *site);
    if (site)
        *site = (struct peet__direct_site){m->direct->observers[observer].ops, m->direct->observers[observer].self,
            &m->f->blocks[index], watches_of(m, index)[observer], guard, NULL};
    return site;
}

/* The out-of-line stub for the case that the condition is met.  An observer may say that all is well; else the block
 * is left, of which nothing has happened yet. */
static void ask_if(struct emitter *m, unsigned condition, const struct requested *w, uint32_t observer, uint32_t guard,
    int32_t tail)
{
    const struct peet_direct_observer *const ops = m->direct->observers[observer].ops;
    const int can = (guard == PEET__DIRECT_NO_GUARD ? ops->due != NULL : ops->moved != NULL) &&
        m->f->blocks[w->index].nvalues <= PEET__DIRECT_VALUES;
    struct peet__direct_site *site = can ? new_site(m, w->index, observer, guard) : NULL;
    struct stub *c;
    if (!site) {
        unless(m, condition, tail);
        return;
    }
    c = add_stub(m, jump_ahead(&m->e, condition), (uint32_t)(w - m->requested), tail, STUB_ASK);
    c->back = m->e.at;
    c->site = site;
}

int peet__direct_ask(struct peet_direct_run *run, const struct peet__direct_site *site)
{
    int refused;
    if (site->guard != PEET__DIRECT_NO_GUARD) {
        refused = site->ops->moved(site->self, site->block, site->watch, site->guard,
            run->values[site->watch->guards[site->guard].value]);
    } else {
        const struct peet_block_event event = {site->block, run->values, run->context, 1, NULL};
        refused = site->ops->due(site->self, &event, site->watch);
    }
    if (refused == 0 || !run->repeats)
        return refused;
    return peet__direct_refused(run, site->block);
}

void peet__direct_store_values(struct emitter *m, struct requested *w)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const code = &m->f->code[w->index];
    if (!w->values) {
        CODE(e, "\xe9\x00\x00\x00\x00"); /* jmp over it */
        uint8_t *const over = e->at;
        w->values = here(e);
        load(e, RSI, RBX, RUN(values));
        for (uint32_t k = 0; k < code->nvalues; k++) {
            compute(e, registers, &code->addresses[k]);
            store(e, RAX, RSI, (int32_t)(k * sizeof(uint64_t)));
        }
        byte(e, 0xc3); /* ret */
        aim(e, over);
    }
    call(e, w->values);
}

void peet__direct_emit_ask(struct emitter *m, const struct stub *c)
{
    struct peet__emit *const e = &m->e;
    peet__direct_store_values(m, &m->requested[c->argument]);
    constant(e, RSI, (uint64_t)(uintptr_t)c->site);
    call(e, m->ask);
    constant(e, RSI, (uint64_t)(uintptr_t)c->site->watch); /* as before; flags stay */
}

void peet__direct_emit_mark(struct emitter *m, const struct stub *c)
{
    struct peet__emit *const e = &m->e;
    peet__direct_store_values(m, &m->requested[c->argument]);
    constant(e, RSI, (uint64_t)(uintptr_t)c->site);
    call(e, m->mark);
    jump(e, e->run + (c->back - e->write));
}

/* Flags: rax, the guard's value, keeps to it if it is below.  rsi: the watch, in which the guard is @at */
static void compare_guard(struct peet__emit *e, const struct peet_direct_guard *guard, int32_t at)
{
    memory(e, 0x2b, RAX, RSI, at + (int32_t)offsetof(struct peet_direct_guard, base)); /* sub rax, [rsi + …] */
    if (guard->shift != 0) {
        CODE(e, "\x48\xc1\xc8"); /* ror rax, imm8 */
        byte(e, guard->shift);
    }
    memory(e, 0x3b, RAX, RSI, at + (int32_t)offsetof(struct peet_direct_guard, span)); /* cmp rax, [rsi + …] */
}

void peet__direct_see(struct emitter *m, const struct requested *w, int32_t tail)
{
    struct peet__emit *const e = &m->e;
    const uint32_t index = w->index;
    struct peet_direct_watch **const watches = watches_of(m, index);
    peet__direct_count_from(m, index, w->d.nlooks != 0);
    for (uint32_t o = 0; o < m->direct->nobservers; o++) {
        if (!is_watched(watches[o]))
            continue;
        constant(e, RSI, (uint64_t)(uintptr_t)watches[o]);
        for (uint32_t g = 0; g < watches[o]->nguards; g++) {
            const struct peet_direct_guard *const guard = &watches[o]->guards[g];
            const int32_t at = (int32_t)(offsetof(struct peet_direct_watch, guards) + g * sizeof *guard);
            compute(e, registers, &m->f->code[index].addresses[guard->value]);
            compare_guard(e, guard, at);
            ask_if(m, IF_AT_LEAST, w, o, g, tail);
        }
        load(e, RDX, R8, count_of(index));
        memory(e, 0x3b, RDX, RSI, offsetof(struct peet_direct_watch, until)); /* cmp rdx, [rsi + …] */
        ask_if(m, IF_AT_LEAST, w, o, PEET__DIRECT_NO_GUARD, tail);
    }
}

/* The marks of one observer: one is enough. */
static void see_marks_of(struct emitter *m, const struct requested *w, uint32_t observer, const int64_t *strides)
{
    struct peet__emit *const e = &m->e;
    const struct peet_direct_watch *const watch = watches_of(m, w->index)[observer];
    struct peet__direct_site *const site = new_site(m, w->index, observer, PEET__DIRECT_NO_GUARD);
    const uint32_t first = m->nstubs;
    if (!site)
        abort(); /* it would not be told */
    site->strides = strides;
    constant(e, RSI, (uint64_t)(uintptr_t)watch);
    for (uint32_t g = 0; g < watch->nguards; g++) {
        const struct peet_direct_guard *const guard = &watch->guards[g];
        const int32_t at = (int32_t)(offsetof(struct peet_direct_watch, guards) + g * sizeof *guard);
        load(e, RDX, RSI, at + (int32_t)offsetof(struct peet_direct_guard, marks));
        compute(e, registers, &m->f->code[w->index].addresses[guard->value]);
        memory(e, 0x2b, RAX, RSI,
            at + (int32_t)offsetof(struct peet_direct_guard, marks_base)); /* sub rax, [rsi + …] */
        CODE(e, "\x48\xc1\xe8");                                           /* shr rax, imm8 */
        byte(e, guard->marks_shift);
        CODE(e, "\x80\x3c\x02\x00"); /* cmp byte [rdx + rax], 0 */
        add_stub(m, jump_ahead(e, IF_NOT), (uint32_t)(w - m->requested), -1, STUB_MARK)->site = site;
    }
    for (uint32_t k = first; k < m->nstubs; k++)
        m->stub[k].back = e->at;
}

void peet__direct_see_marks(struct emitter *m, const struct requested *w, const int64_t *strides)
{
    struct peet_direct_watch **const watches = watches_of(m, w->index);
    for (uint32_t o = 0; o < m->direct->nobservers; o++)
        if (is_watched(watches[o]) && watches[o]->marked && m->direct->observers[o].ops->marked)
            see_marks_of(m, w, o, strides);
}

void peet__direct_tally_strip(struct emitter *m, uint32_t index)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[index];
    struct peet_direct_watch **const watches = watches_of(m, index);
    for (uint32_t o = 0; o < m->direct->nobservers; o++)
        for (uint32_t g = 0; is_watched(watches[o]) && g < watches[o]->nguards; g++) {
            const struct peet_direct_guard *const guard = &watches[o]->guards[g];
            if (!guard->tally)
                continue;
            compute(e, registers, &c->addresses[guard->value]);
            load(e, RCX, RBX, RUN(turns));
            constant(e, RSI, (uint64_t)(uintptr_t)guard->tally);
            const uint8_t *const again = here(e);
            CODE(e, "\x89\xc2\x81\xe2"); /* mov edx, eax; and edx, imm32 */
            word32(e, guard->tally_mask);
            CODE(e, "\x48\xff\x04\xd6\x05"); /* inc qword [rsi + rdx * 8]; add eax, imm32 */
            word32(e, (uint32_t)c->strides[guard->value]);
            CODE(e, "\x48\xff\xc9"); /* dec rcx */
            jump_if(e, IF_NOT, again);
        }
}

int peet__direct_can_see_strips(const struct emitter *m, const struct requested *w)
{
    const struct peet__block *const c = &m->f->code[w->index];
    struct peet_direct_watch **const watches = watches_of(m, w->index);
    const int is_seen = peet__direct_watchers(m, w->index) != 0;
    int can =
        !is_seen || (m->direct->holds && !m->direct->tells && m->compiled->counts[w->index] != PEET__ITERATIONS_SHOWN);
    for (uint32_t o = 0; can && o < m->direct->nobservers; o++) {
        const struct peet_direct_counted *const counted = peet__direct_counted_of(watches[o]);
        can = !counted || (m->direct->table.whole_cycles && !counted->always && !counted->stops);
    }
    for (uint32_t o = 0; can && o < m->direct->nobservers; o++)
        for (uint32_t g = 0; can && is_watched(watches[o]) && g < watches[o]->nguards; g++) {
            const struct peet_direct_guard *const guard = &watches[o]->guards[g];
            const int64_t stride = c->strides[guard->value];
            can =
                (stride & (int64_t)((1u << guard->shift) - 1)) == 0 && stride == (int32_t)stride && stride != INT32_MIN;
        }
    return can;
}

void peet__direct_stop_strip(struct emitter *m, const struct requested *w)
{
    struct peet__emit *const e = &m->e;
    struct peet_direct_watch **const watches = watches_of(m, w->index);
    for (uint32_t o = 0; o < m->direct->nobservers; o++) {
        if (!is_watched(watches[o]))
            continue;
        constant(e, RCX, (uint64_t)(uintptr_t)watches[o]);
        load(e, RDX, RCX, offsetof(struct peet_direct_watch, until));
        memory(e, 0x2b, RDX, R8, count_of(w->index)); /* sub rdx, [r8 + ...] */
        CODE(e, "\x48\x39\xf2\x48\x0f\x42\xf2");      /* cmp rdx, rsi; cmovb rsi, rdx */
    }
}

uint32_t peet__direct_see_last(struct emitter *m, const struct requested *w, uint8_t **out_else)
{
    struct peet__emit *const e = &m->e;
    const struct peet__block *const c = &m->f->code[w->index];
    struct peet_direct_watch **const watches = watches_of(m, w->index);
    uint32_t n = 0;
    for (uint32_t o = 0; o < m->direct->nobservers; o++) {
        if (!is_watched(watches[o]))
            continue;
        constant(e, RSI, (uint64_t)(uintptr_t)watches[o]);
        for (uint32_t g = 0; g < watches[o]->nguards; g++) {
            const struct peet_direct_guard *const guard = &watches[o]->guards[g];
            const int32_t at = (int32_t)(offsetof(struct peet_direct_watch, guards) + g * sizeof *guard),
                          stride = (int32_t)c->strides[guard->value];
            if (stride == 0)
                continue;
            struct peet__form a = c->addresses[guard->value];
            a.disp -= (uint64_t)(int64_t)stride;
            compute(e, registers, &a);
            peet__direct_turns_times(e, stride);
            CODE(e, "\x48\x01\xc8"); /* add rax, rcx */
            compare_guard(e, guard, at);
            out_else[n++] = jump_ahead(e, IF_AT_LEAST);
        }
    }
    return n;
}

int peet__direct_can_see_iterations(const struct emitter *m, uint32_t index)
{
    struct peet_direct_watch **const watches = watches_of(m, index);
    for (uint32_t o = 0; o < m->direct->nobservers; o++)
        if (is_watched(watches[o]) && (!watches[o]->turns || watches[o]->nguards != 0))
            return 0;
    return 1;
}

void peet__direct_see_iterations(struct emitter *m, uint32_t index)
{
    struct peet__emit *const e = &m->e;
    struct peet_direct_watch **const watches = watches_of(m, index);
    for (uint32_t o = 0; o < m->direct->nobservers; o++) {
        if (!is_watched(watches[o]))
            continue;
        constant(e, RSI, (uint64_t)(uintptr_t)watches[o]);
        load(e, RDX, R8, count_of(index));
        memory(e, 0x3b, RDX, RSI, offsetof(struct peet_direct_watch, until)); /* cmp rdx, [rsi + …] */
        jump_if(e, IF_AT_LEAST, m->leave);
    }
}

void peet__direct_tally(struct emitter *m, uint32_t index)
{
    struct peet__emit *const e = &m->e;
    struct peet_direct_watch **const watches = watches_of(m, index);
    for (uint32_t o = 0; o < m->direct->nobservers; o++)
        for (uint32_t g = 0; is_watched(watches[o]) && g < watches[o]->nguards; g++) {
            const struct peet_direct_guard *const guard = &watches[o]->guards[g];
            if (!guard->tally)
                continue;
            compute(e, registers, &m->f->code[index].addresses[guard->value]);
            byte(e, 0x25); /* and eax, imm32 */
            word32(e, guard->tally_mask);
            constant(e, RSI, (uint64_t)(uintptr_t)guard->tally);
            CODE(e, "\x48\xff\x04\xc6"); /* inc qword [rsi + rax * 8] */
        }
}

/* Executions of a block are counted for an observer.  Returns: 0, or -1: they cannot be */
static int begin_to_count(struct peet__direct *d, uint32_t o, const struct peet_direct_watch *w)
{
    if (!d->observers[o].ops->shown || w->nguards != 0)
        return -1;
    if (!d->observers[o].sums) { /* nothing has been counted so far */
        d->observers[o].sums = w->counted->sums;
        memset(w->counted->sums->of, 0, sizeof w->counted->sums->of);
        w->counted->sums->stop = 1;
    }
    return 0;
}

int peet__direct_ask_observers(struct peet__direct *d, struct peet__direct_function *compiled,
    const struct peet__function *f, uint32_t index, const uint64_t *values, uint64_t time)
{
    const struct peet_block *const block = &f->blocks[index];
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_watch *w = NULL;
        if (d->observers[o].ops->watch(d->observers[o].self, block, values, &w) != 0 ||
            (w && w->nguards > PEET_DIRECT_GUARDS))
            return -1;
        for (uint32_t g = 0; w && g < w->nguards; g++)
            if (w->guards[g].value >= block->nvalues)
                return -1;
        if (is_watched(w) && d->holds && block->nvalues > PEET__DIRECT_VALUES)
            return -1;
        if (w && w->counted) {
            if (begin_to_count(d, o, w) != 0)
                return -1;
            peet__direct_when_shown(w->counted, block, f->path_word != 0);
            w->counted->each = d->table.whole_cycles ? time >> d->table.clock_shift : 0;
        } else if (w) {
            w->taken = peet__direct_taken(compiled, index);
        }
        compiled->watches[(size_t)index * d->nobservers + o] = w;
    }
    compiled->asked[index] = 1;
    return 0;
}

void peet__direct_ask_of_range(struct peet__direct *d, struct peet__direct_range *r, const uint64_t *values)
{
    r->asked = 1;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        struct peet_direct_watch **const w = &r->watches[o];
        const struct peet_direct_observer *const ops = d->observers[o].ops;
        if (!ops->shown || ops->watch(d->observers[o].self, r->block, values, w) != 0 || !peet__direct_counted_of(*w) ||
            begin_to_count(d, o, *w) != 0)
            return;
        (*w)->counted->always = (*w)->counted->stops = 1; /* its function is called, and returns */
        (*w)->counted->each = 0;                          /* that depends on the elements */
    }
    r->counts = d->nobservers != 0;
}

/* Which observers see iterations of the block, or may want to? */
uint32_t peet__direct_watchers(const struct emitter *m, uint32_t index)
{
    return peet__direct_watchers_of(m->direct, m->compiled, index);
}

/* What observers of the loop are to see. */
void peet__direct_show_values(struct emitter *m, uint32_t index)
{
    struct peet__emit *const e = &m->e;
    struct peet__direct *const d = m->direct;
    const struct peet__block *const c = &m->f->code[index];
    const uint32_t mask = peet__direct_watchers(m, index);
    if (d->nobservers == 0)
        return;
    constant(e, RSI, (uint64_t)(uintptr_t)d);
    constant(e, RAX, mask != 0 ? (uint64_t)(uintptr_t)&m->f->blocks[index] : 0);
    store(e, RAX, RSI, offsetof(struct peet__direct, loop_block));
    constant(e, RAX, mask);
    store(e, RAX, RSI, offsetof(struct peet__direct, loop_observers));
    for (uint32_t k = 0; mask != 0 && k < c->nvalues; k++) {
        compute(e, registers, &c->addresses[k]);
        store(e, RAX, RSI, (int32_t)(offsetof(struct peet__direct, values) + k * sizeof d->values[0]));
    }
}

void peet__direct_came(struct peet_program *p, struct peet__function *f, uint32_t index)
{
    enum { LOOP = 8 };
    const struct peet__direct *const d = p->direct;
    struct peet__direct_function *const compiled = f->direct;
    int over = 0;
    if (!compiled || index >= f->nall)
        return;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_watch *w = compiled->watches[(size_t)index * d->nobservers + o];
        over |= w && w->over;
    }
    if (!over)
        return;
    compiled->stale += compiled->counts[index] == PEET__ITERATIONS_COUNTED ? LOOP : 1; /* all iterations come then */
    if (compiled->stale < compiled->patience)
        return;
    compiled->stale = 0;
    compiled->patience *= 2;               /* it changes less and less */
    (void)peet__direct_make(p->direct, f); /* else the old code does it: it leaves whatever is over */
}

#else

void peet__direct_came(struct peet_program *p, struct peet__function *f, uint32_t index)
{
    (void)p, (void)f, (void)index;
}

void peet__direct_ask_of_range(struct peet__direct *d, struct peet__direct_range *r, const uint64_t *values)
{
    (void)d, (void)values;
    r->asked = 1;
}

#endif
