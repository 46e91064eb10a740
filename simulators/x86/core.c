/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: the way of the instructions through a core.  See core.h for the principle; blocks come from module.c, the
 * memory system is memory.h's.  core_charge.c charges time to categories.
 */
#include "core_charge.h"
#include "core_front.h"
#include "core_refs.h"
#include "core_replay.h"

/* ------------------------------------------------------------------------------------------ front end */

/** Several threads: the first cycle with free slots; what is over goes into the next ones.  Returns: the cycle of the
 * first */
static __attribute__((noinline)) uint64_t shared_slots(struct x86_thread *t, uint64_t at, uint32_t uops)
{
    struct x86_cpu *c = t->cpu;
    uint32_t width = c->x->config.dispatch_uops, need = uops < width ? uops : width;
    uint64_t first = 0;

    for (;; at++) {
        uint64_t *cycle = &c->slot_cycles[at % X86_BUFFER_CYCLES];
        uint8_t *count = &c->slot_counts[at % X86_BUFFER_CYCLES];

        if (*cycle > at) /* long past */
            return at;
        if (*cycle < at) {
            *cycle = at;
            *count = 0;
        }
        if (!first && *count + need > width)
            continue;
        if (!first)
            first = at;
        if (*count + uops <= width) {
            *count += (uint8_t)uops;
            return first;
        }
        uops -= width - *count;
        *count = (uint8_t)width;
    }
}

/** References wait for room in their queues.  Returns: when there is */
static inline uint64_t queue_room(struct x86_thread *t, const struct x86_op *op, uint64_t at, uint64_t room)
{
    if (op->kind != OP_STORE)
        room = later(room, x86_queue_room(&t->loads, 1, t->loads_limit));
    if (op->kind != OP_LOAD) {
        uint64_t store = x86_queue_room(&t->stores, 1, t->stores_limit);

        if (__builtin_expect(store > room && store > at, 0)) {
            if (t->front.from > t->dispatch && t->front.from < store)
                empty_front(t); /* it has been filling since then */
            x86_core_hold_front(t, store, t->store_category);
            t->queue_from = store;
            room = store;
        }
    }
    return room;
}

/** Those schedulers are all full: the one that is not any more first.  Returns: when */
static __attribute__((noinline)) uint64_t bind_later(struct x86_cpu *c, uint64_t units, uint64_t at)
{
    const struct x86 *x = c->x;
    uint64_t first = UINT64_MAX;

    for (uint64_t left = units; left;) {
        const uint64_t unit = left & -left;
        unsigned q = 0;

        while (!(x->queues[q].units & unit))
            q++;
        const uint64_t room = x86_buffer_room(&c->buffers[x->queues[q].buffer], at);

        c->bound = room < first ? unit : c->bound;
        first = room < first ? room : first;
        left &= ~x->queues[q].units;
    }
    c->bound_buffer = &c->buffers[x->scheduler_of[__builtin_ctzll(c->bound)]];
    return first;
}

/** The unit that is chosen in turn, of those whose scheduler has room.  Returns: when it has */
static __attribute__((noinline)) uint64_t bind_turn(struct x86_cpu *c, uint64_t units, uint64_t group, uint64_t at)
{
    uint64_t last = c->units.recent & group, first = at, unit;

    c->bound = 0;
    for (uint64_t left = units; left; left &= ~unit, last = unit) {
        struct x86_buffer *b;

        unit = x86_units_behind(left, last);
        b = &c->buffers[c->x->scheduler_of[__builtin_ctzll(unit)]];
        x86_buffer_drain(b, at);
        if (b->used < b->size) {
            c->bound = unit;
            c->bound_buffer = b;
            break;
        }
    }
    if (!c->bound)
        first = bind_later(c, units, at);
    c->units.recent = (c->units.recent & ~group) | c->bound;
    return first;
}

static __attribute__((noinline)) void drain_far(struct x86_cpu *c, const struct x86_schedulers *s, uint64_t at)
{
    for (uint32_t i = 0; i < s->n; i++)
        x86_buffer_drain(&c->buffers[s->buffers[i]], at);
}

/** The scheduler that has most room.  Returns: when it has */
static __attribute__((noinline)) uint64_t bind_most(struct x86_cpu *c, const struct x86_schedulers *s, uint64_t at)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < s->n; i++)
        if (__builtin_expect(at > c->buffers[s->buffers[i]].drained + X86_BUFFER_NEAR, 0)) {
            drain_far(c, s, at);
            break;
        }
    for (uint32_t i = 0; i < s->n; i++) {
        struct x86_buffer *b = &c->buffers[s->buffers[i]];

        x86_buffer_drain_near(b, at);
        if (b->used < b->size && b->size - b->used > most) {
            most = b->size - b->used;
            c->bound = s->firsts[i];
            c->bound_buffer = b;
        }
    }
    return __builtin_expect(most != 0, 1) ? at : bind_later(c, s->units, at);
}

/**
 * Into which of the schedulers that belong to units an instruction goes. Units that are chosen in turn are asked in turn, and
 * those passed over whose scheduler is full; of others the scheduler with most room has it.  Returns: when it has room
 */
static inline uint64_t bind(struct x86_cpu *c, const struct x86_op *op, uint64_t at)
{
    const struct x86 *x = c->x;
    const struct x86_schedulers *s = &x->schedulers[op->schedulers];
    struct x86_buffer *b;
    uint64_t group, bound;

    if (!op->queued_turn)
        return bind_most(c, s, at);
    group = x->unit_groups[__builtin_ctzll(s->units)];
    bound = x86_units_behind(s->units, c->units.recent & group);
    b = &c->buffers[x->scheduler_of[__builtin_ctzll(bound)]];
    if (b->used >= b->size || c->slot_cycles) /* what another thread gives back is seen at once */
        return bind_turn(c, s->units, group, at);
    c->units.recent = (c->units.recent & ~group) | bound;
    c->bound = bound;
    c->bound_buffer = b;
    return at;
}

/** The cycle in which an instruction is dispatched.  @plain: it is OP_PLAIN */
static inline __attribute__((always_inline)) uint64_t dispatch(struct x86_thread *t, const struct x86_op *op, int plain)
{
    struct x86_cpu *c = t->cpu;
    const uint32_t width = c->x->config.dispatch_uops;
    uint32_t uops = op->uops, slots = t->slots + uops;
    uint64_t at = t->dispatch, room;
    unsigned next = slots > width || op->flags & OP_FIRST ? t->slots != 0 : 0;

    at += next;
    t->base += next;
    slots = next ? uops : slots;
    room = later(t->front.from, x86_queue_room(&t->window, uops, t->window_limit));
    if (!plain)
        room = queue_room(t, op, at, room);
    if (op->nbuffers) {
        room = x86_buffer_room(&c->buffers[op->buffers[0]], later(room, at));
        for (unsigned i = 1; i < op->nbuffers; i++)
            room = x86_buffer_room(&c->buffers[op->buffers[i]], room);
    }
    if (op->queued)
        room = bind(c, op, later(room, at));
    slots = room > at ? uops : slots;
    at = later(at, room);
    if (t->fetch_parts) {
        const uint64_t first = fetched(t, op, at);

        t->starved += first - at;
        slots = first > at ? uops : slots;
        at = first;
    }
    if (__builtin_expect(c->slot_cycles != NULL, 0)) {
        const uint64_t first = shared_slots(t, at, uops);

        t->base += first - at;
        t->slots = 0;
        return t->dispatch = first;
    }
    t->dispatch = at;
    while (__builtin_expect(slots > width, 0)) { /* a long one: it begins in a cycle of its own */
        slots -= width;
        t->dispatch++;
        t->base++;
    }
    t->slots = op->flags & OP_LAST ? width : slots;
    return at;
}

/* ------------------------------------------------------------------------------------------ references */

const uint8_t x86_category_of[X86_SERVED] = {
    [X86_L1] = CPI_L1,
    [X86_L2] = CPI_L2,
    [X86_L3] = CPI_L3,
    [X86_REMOTE] = CPI_COHERENCE,
    [X86_DRAM] = CPI_DRAM,
};

uint64_t x86_core_access_line(struct x86_thread *t, const struct x86_access *access, uint64_t now, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    struct x86_outcome out;
    uint64_t extra;

    x86_memory_access(x->memory, access, now, &out);
    extra = out.done_cycles > now + x->load_cycles ? out.done_cycles - now - x->load_cycles : 0;
    if (t->sampling)
        x86_sampling_missed(t, access, &out, now, t->frontier);
    if (w && extra > w->level + w->tlb + w->coherence) {
        w->tlb = less(out.tlb_cycles, extra);
        w->coherence = less(out.coherence_cycles, extra - w->tlb);
        w->level = extra - w->tlb - w->coherence;
        w->served = x86_category_of[out.served];
    }
    if (!w &&
        (out.done_cycles > now || out.served != X86_L1)) { /* hits do not come here, or all the same: memory_fast.h */
        t->store_category = x86_category_of[out.served];
        t->store_access = *access;
    }
    return out.done_cycles;
}

uint64_t x86_core_access_lines(struct x86_thread *t, struct x86_access *a, uint64_t now, struct wait *w)
{
    uint64_t done = now, end, within = t->cpu->x->line_bytes - 1, last = a->address + a->size_bytes - 1;
    int more;

    do { /* a prefetch may name the last byte of all */
        end = less(last, a->address | within);
        a->size_bytes = (uint32_t)(end + 1 - a->address);
        done = later(done, x86_core_access_line(t, a, now, w));
        more = end != last;
        a->address = end + 1;
    } while (more);
    return done;
}

/** A load that begins now.  Returns: when the data are there */
static inline uint64_t load(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w)
{
    if (__builtin_expect(t->replay != NULL, 1) && t->replay->recording)
        return x86_replay_load(t, block, ref, address, size_bytes, now, w);
    return load_now(t, block, ref, address, size_bytes, now, w);
}

/** Something other than a store is written, until this time: later stores follow it. */
static inline void write_until(struct x86_thread *t, uint64_t written)
{
    if (written > t->stores_written) {
        t->stores_written = written;
        t->writes = 1;
    }
}

/** A store that retires now, with data from `data` on; it is written in order. */
static inline void store(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t data, uint64_t registers, uint64_t now)
{
    const struct x86_config *config = &t->cpu->x->config;
    int recording = t->replay && t->replay->recording, same = 0;
    uint64_t written = recording ? x86_replay_store(t, block, ref, address, size_bytes, now, &same)
                                 : access(t, X86_STORE, block, ref, address, size_bytes, now, NULL);

    if (!recording)
        same = x86_store_joins(t, address, size_bytes);
    if (written > t->stores_written) {
        t->stores_written = written;
        t->writes = 1;
    } else if (t->writes++ >= (same ? config->stores_line : config->stores_cycle)) {
        t->stores_written++;
        t->writes = 1;
    }
    if (!recording || !x86_replay_stored(t->replay, data, registers, t->stores_written)) {
        t->stores_n++;
        x86_store_enter(t, t->cpu->x->codes[block->id].refs[ref].pc, address, size_bytes, data, registers,
            t->stores_written);
    }
    x86_queue_enter(&t->stores, t->stores_written);
}

uint64_t x86_core_range(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    uint64_t address, uint64_t bytes, uint64_t now, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    uint64_t done = now + bytes / x->config.string_bytes_cycle;

    if (!bytes)
        return now;
    for (uint64_t at = address, end = address + bytes; at < end;) {
        uint64_t next = less((at | (x->line_bytes - 1)) + 1, end);

        done = later(done,
            access(t, kind, block, ref, at, (uint32_t)(next - at), now + (at - address) / x->config.string_bytes_cycle,
                w));
        at = next;
    }
    return done;
}

static inline uint64_t range(struct x86_thread *t, uint8_t kind, const struct peet_block *block, uint32_t ref,
    const uint64_t *values, uint64_t now, struct wait *w)
{
    const struct peet_ref *r = &block->refs[ref];

    if (t->replay && t->replay->recording)
        return x86_replay_range(t, kind, block, ref, values, now, w);
    return x86_core_range(t, kind, block, ref, values[r->value],
        values[r->value + 1] * (r->size_bytes ? r->size_bytes : 1), now, w);
}

/** Does a reference happen that may not? */
static inline int happens(struct x86_thread *t, const struct peet_block *block, uint32_t ref, const uint64_t *values)
{
    if (!(block->refs[ref].flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)))
        return 1;
    if (t->replay && t->replay->recording)
        return x86_replay_happens(t, block, ref, values);
    return values[block->refs[ref].value + 1] != 0;
}

/** Nobody waits for it. */
static void prefetch(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now)
{
    struct wait nobody = {0};

    if (t->replay && t->replay->recording)
        x86_replay_prefetch(t, block, ref, address, size_bytes, now);
    else
        access(t, X86_PREFETCH, block, ref, address, size_bytes, now, &nobody);
}

/** Instructions with several references, ranges, or references that may not happen.  Returns: when it is done */
static __attribute__((noinline)) uint64_t several(struct x86_thread *t, const struct x86_op *op,
    const struct peet_block *block, const uint64_t *values, uint64_t issue, uint64_t data, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    uint64_t done = issue, begin = issue + (op->flags & OP_REP ? x->config.string_start_cycles : 0);

    for (uint32_t i = op->first_ref; i < op->first_ref + op->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];
        struct peet_ref_iter it = peet_ref_begin(ref, values);
        uint32_t size = ref->size_bytes ? ref->size_bytes : 1;

        if (ref->kind == PEET_REF_STORE || !happens(t, block, i, values))
            continue;
        if (ref->kind == PEET_REF_PREFETCH)
            prefetch(t, block, i, it.address, size, begin);
        else if (ref->flags & PEET_REF_RANGE)
            done = later(done, range(t, X86_LOAD, block, i, values, begin, w));
        else
            done = later(done, load(t, block, i, it.address, size, begin, w));
    }
    done = later(done, data) + op->latency;
    for (uint32_t i = op->first_ref; i < op->first_ref + op->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];
        struct peet_ref_iter it = peet_ref_begin(ref, values);
        uint32_t size = ref->size_bytes ? ref->size_bytes : 1;

        if ((ref->kind != PEET_REF_STORE && ref->kind != PEET_REF_MODIFY) || !happens(t, block, i, values))
            continue;
        if (ref->flags & PEET_REF_RANGE) {
            uint64_t written = range(t, X86_STORE, block, i, values, begin, w);

            write_until(t, written);
            done = later(done, written);
        } else {
            store(t, block, i, it.address, size, done, UINT64_MAX, later(done, t->frontier));
        }
    }
    return done;
}

uint64_t x86_core_locked(struct x86_thread *t, const struct peet_block *block, uint32_t ref, uint64_t address,
    uint32_t size_bytes, uint64_t now, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    uint64_t done = now, last = address + (size_bytes ? size_bytes - 1 : 0);

    t->loads_n++;
    t->stores_n++;
    for (; x->memory && address <= last; address = (address | (x->line_bytes - 1)) + 1) {
        struct x86_access a = {.address = address,
            .size_bytes = (uint32_t)(less(last, address | (x->line_bytes - 1)) + 1 - address),
            .core = t->cpu->number,
            .hw = t->hw,
            .kind = X86_MODIFY,
            .locked = 1,
            .ref = ref,
            .block = block};

        done = later(done, x86_core_access_line(t, &a, now, w));
    }
    return done;
}

/** Locked operations: all before them is done and written, nothing after them begins.  Returns: when it is done */
static __attribute__((noinline)) uint64_t locked(struct x86_thread *t, const struct x86_op *op,
    const struct peet_block *block, const uint64_t *values, struct wait *w)
{
    struct x86 *x = t->cpu->x;
    uint64_t begin = later(w->issue, later(t->stores_written, t->loads_done)), done = begin;

    for (uint32_t i = op->first_ref; i < op->first_ref + op->nrefs; i++) {
        const struct peet_ref *ref = &block->refs[i];

        if (!happens(t, block, i, values))
            continue;
        done = later(done,
            t->replay && t->replay->recording
                ? x86_replay_locked(t, block, i, values[ref->value], ref->size_bytes, begin, w)
                : x86_core_locked(t, block, i, values[ref->value], ref->size_bytes, begin, w));
    }
    if (done > begin && x->memory) /* locked_cycles are those of an operation that hits */
        done = done > begin + x->load_cycles ? done - x->load_cycles : begin;
    done += x->config.locked_cycles;
    write_until(t, done);
    t->barrier = done;
    w->fence = done - w->ready;
    return done;
}

static __attribute__((noinline)) uint64_t fence(struct x86_thread *t, const struct x86_op *op, struct wait *w)
{
    const struct x86_config *config = &t->cpu->x->config;
    uint64_t done = w->issue;

    switch (op->kind) {
    case OP_FENCE:
        done = later(done, later(t->stores_written, t->loads_done)) + config->fence_cycles;
        t->barrier = done;
        break;
    case OP_LOAD_FENCE:
        done = later(done, t->frontier) + op->latency;
        x86_core_hold_front(t, done, CPI_FENCE);
        break;
    case OP_STORE_FENCE: /* stores are written in order anyway */
        done += op->latency;
        break;
    case OP_PAUSE: /* what is older goes on */
        done += config->pause_cycles;
        x86_core_hold_front(t, done, CPI_FENCE);
        break;
    default:
        done = later(done, later(t->frontier, t->stores_written)) + config->serialize_cycles;
        x86_core_hold_front(t, done, CPI_FENCE);
    }
    w->fence = done - w->ready;
    return done;
}

/* ------------------------------------------------------------------------------------------ instructions */

/** Operands of instructions with many. */
static __attribute__((noinline)) uint64_t more_reads(const struct x86_thread *t, const struct x86_op *op,
    uint64_t ready, uint64_t *data)
{
    for (const struct x86_operand *o = &t->cpu->x->more[op->more], *end = o + op->nmore; o != end; o++)
        if (!o->written) {
            *data = later(*data, t->ready[o->reg]);
            if ((int64_t)t->ready[o->reg] - o->cycles > (int64_t)ready)
                ready = t->ready[o->reg] - (uint64_t)(int64_t)o->cycles;
        }
    return ready;
}

static inline uint64_t result(uint64_t begun, uint64_t issue, int cycles)
{
    return cycles >= 0 ? begun + (unsigned)cycles : issue + (unsigned)(-1 - cycles);
}

static __attribute__((noinline)) void more_writes(struct x86_thread *t, const struct x86_op *op, uint64_t begun,
    uint64_t issue)
{
    for (const struct x86_operand *o = &t->cpu->x->more[op->more], *end = o + op->nmore; o != end; o++)
        if (o->written)
            t->ready[o->reg] = result(begun, issue, o->cycles);
}

/** When the operands are there.  @out_data: those that are not of addresses, however late they may come */
static inline uint64_t operands(const struct x86_thread *t, const struct x86_op *op, uint64_t ready, uint64_t *out_data)
{
    uint64_t data = 0;

    if (op->flags & OP_DATA_ONLY) {
        *out_data = data = later(later(t->ready[op->data[0]], t->ready[op->data[1]]), t->ready[op->data[2]]);
        return later(ready, data);
    }
    for (unsigned i = 0; i < X86_ADDRESSES; i++)
        ready = later(ready, t->ready[op->addresses[i]]);
    if (op->flags & OP_ADDRESSES_ONLY) {
        *out_data = 0;
        return ready;
    }
    for (unsigned i = 0; i < X86_DATA; i++) {
        uint64_t at = t->ready[op->data[i]];
        int64_t wanted = (int64_t)at - op->advances[i]; /* may be before time began */

        data = later(data, at);
        ready = wanted > (int64_t)ready ? (uint64_t)wanted : ready;
    }
    *out_data = data;
    return __builtin_expect(op->nmore != 0, 0) ? more_reads(t, op, ready, out_data) : ready;
}

/** Beyond its registers, what an instruction does with memory.  Returns: when its results begin to be made */
static inline uint64_t references(struct x86_thread *t, const struct x86_op *op, const struct peet_block *block,
    const uint64_t *values, uint64_t data, struct wait *w)
{
    const struct peet_ref *ref = &block->refs[op->first_ref];
    const struct x86 *x = t->cpu->x;
    uint64_t done;

    switch (op->kind) {
    case OP_LOAD:
    case OP_MODIFY:
        done = load(t, block, op->first_ref, values[ref->value], ref->size_bytes, w->issue - x->address_lead, w);
        t->loads_done = later(t->loads_done, done);
        if (__builtin_expect(x->loads_before, 0))
            return later(done - 1 + op->load_extra, x->model_operands ? 0 : data);
        if (!w->hit) /* renamed: it has no time of its own */
            return op->kind == OP_LOAD ? done - op->latency : later(done, data);
        return later(done + op->load_extra, data);
    case OP_STORE:
        return w->issue;
    case OP_MEMORY:
        done = several(t, op, block, values, w->issue, data, w);
        t->loads_done = later(t->loads_done, done);
        return done - op->latency;
    case OP_LOCKED:
        return locked(t, op, block, values, w);
    default:
        return fence(t, op, w);
    }
}

/** How long after issue the first of an instruction's results is there, if what it loads is a hit. */
static uint64_t first_result(const struct x86_thread *t, const struct x86_op *op)
{
    const struct x86 *x = t->cpu->x;
    int load = op->kind != OP_PLAIN && op->kind != OP_STORE && !x->loads_before ? (int)x->load_cycles : 0,
        first = op->latency + load;

    for (unsigned i = 0; i < X86_WRITES; i++)
        if (op->writes[i] != X86_SINK) {
            int cycles = op->latencies[i] < 0 ? -1 - op->latencies[i] : op->latencies[i] + load;

            first = cycles < first ? cycles : first;
        }
    return (uint64_t)first;
}

/**
 * In program order.  A pipeline that has its loads before its operations (Bonnell's) is told in times of the latter:
 * loads begin so much earlier, and are done when they would begin to operate; addresses must be there when loads begin,
 * whoever makes them.
 */
static __attribute__((noinline)) uint64_t in_order(const struct x86_thread *t, const struct x86_op *op,
    const struct wait *w)
{
    const uint32_t lead = t->cpu->x->address_lead;
    uint64_t ready = later(later(w->ready, t->last_issue), w->dispatch + 1 + lead);

    if (op->kind != OP_PLAIN && t->cpu->x->loads_before) {
        ready = later(ready, t->barrier + lead);
        for (unsigned i = 0; i < X86_ADDRESSES; i++)
            ready = later(ready, t->ready[op->addresses[i]] + lead);
    }
    if (t->cpu->x->config.result_order == RESULTS_PROGRAM) {
        uint64_t first = first_result(t, op);

        ready = later(ready, t->frontier > first ? t->frontier - first : 0);
    }
    return ready;
}

/** The cycle of issue, in order: who could go to either of two units leaves the one to the next instruction that only
 * that will do for. */
static __attribute__((noinline)) uint64_t issue_in_order(struct x86_thread *t, const struct x86_op *op, uint64_t ready)
{
    struct x86_units *units = &t->cpu->units;
    const struct x86_use *uses;

    if (!op->nuses)
        return ready;
    uses = &t->cpu->x->uses[op->first_use];
    if (op->flags & OP_ONE_USE)
        return x86_units_issue_sparing(units, uses, ready, uses->spare ? 1ull << (uses->spare - 1) : 0);
    return op->flags & OP_SHORT_USES ? x86_units_issue_short(units, uses, op->nuses, ready)
                                     : x86_units_issue_all(units, uses, op->nuses, ready);
}

/** The cycle of issue, out of order. */
static inline __attribute__((always_inline)) uint64_t issue(struct x86_cpu *c, const struct x86_op *op, uint64_t ready)
{
    const struct x86 *x = c->x;
    const struct x86_use *uses = &x->uses[op->first_use];

    switch (op->issue) {
    case ISSUE_AT_ONCE:
        return ready;
    case ISSUE_FUSED:
        x86_units_take(&c->units, 0, ready);
        return ready;
    case ISSUE_BOUND:
        return x86_units_issue_bound(&c->units, c->bound, ready);
    case ISSUE_ONE:
        return x86_units_issue_one(&c->units, uses, ready);
    case ISSUE_SHORT:
        return x86_units_issue_short(&c->units, uses, op->nuses, ready);
    case ISSUE_ALL:
        return x86_units_issue_all(&c->units, uses, op->nuses, ready);
    default:
        return x86_units_issue_turn(&c->units, x->turn_units, x->unit_groups, uses, op->nuses, ready, op->queued_use,
            op->queued ? c->bound : 0);
    }
}

/** The frontier moves to `retire`. */
static __attribute__((noinline)) void charge(struct x86_thread *t, const struct x86_op *op,
    const struct peet_block *block, const uint64_t *values, const struct wait *w, uint64_t retire)
{
    const struct stalled stalled = x86_core_charge(t, op, w, retire);

    if (__builtin_expect((stalled.own | stalled.store) && t->cpu->x->env->reports >> PEET_MEMORY_STALL & 1, 0)) {
        x86_core_report_stall(t, block, values, op->first_ref, w, stalled);
        if (t->replay)
            t->replay->recording = 0; /* what is repeated reports no stalls */
    }
}

/** One instruction.  @plain: it is OP_PLAIN; @inorder: the core is; both known when this is compiled */
static inline __attribute__((always_inline)) void step(struct x86_thread *t, const struct x86_op *op,
    const struct peet_block *block, const uint64_t *values, int plain, int inorder)
{
    struct x86_cpu *c = t->cpu;
    struct x86 *x = c->x;
    struct wait w;
    uint64_t data, begun, done, retire;

    w.dispatch = dispatch(t, op, plain);
    w.fence = 0;
    w.ready = operands(t, op, w.dispatch + 1, &data);
    if (!plain) {
        w.hit = w.level = w.tlb = w.coherence = 0;
        w.served = CPI_L1;
        if (t->barrier > w.ready) {
            w.fence = t->barrier - w.ready;
            w.ready = t->barrier;
        }
    }
    if (inorder)
        w.ready = in_order(t, op, &w);
    w.issue = inorder ? issue_in_order(t, op, w.ready) : issue(c, op, w.ready);
    t->last_issue = w.issue;
    if (op->span && w.issue + op->span > c->units.horizon)
        c->units.horizon = w.issue + op->span;
    for (unsigned i = 0; i < op->nbuffers; i++)
        x86_buffer_enter(&c->buffers[op->buffers[i]], w.dispatch, w.issue);
    if (op->queued)
        x86_buffer_enter(c->bound_buffer, w.dispatch, w.issue);
    begun = !plain               ? references(t, op, block, values, data, &w)
        : op->flags & OP_NOTHING ? later(w.dispatch, data)
                                 : w.issue - op->early;
    done = begun + (op->kind <= OP_MEMORY ? op->latency : 0);
    for (unsigned i = 0; i < X86_WRITES; i++)
        t->ready[op->writes[i]] = result(begun, w.issue, op->latencies[i]);
    if (__builtin_expect(op->nmore != 0, 0))
        more_writes(t, op, begun, w.issue);

    retire = later(done, t->frontier);
    if (x->config.retire_uops) {
        t->retired = (retire > t->frontier ? 0 : t->retired) + op->uops;
        while (__builtin_expect(t->retired > x->config.retire_uops, 0)) {
            t->retired -= x->config.retire_uops;
            retire++;
        }
    }
    if (retire > t->frontier) {
        if (retire - t->frontier <= t->base && t->front.from != w.dispatch) { /* as fast as it was dispatched */
            struct x86_place *place = &x->stacks.places[op->place];
            uint64_t rest = retire - t->frontier;

            x86_core_put(t, place, CPI_BASE, &rest, rest);
            t->base = t->starved = 0;
            t->frontier = retire;
        } else {
            const struct wait waited = w; /* so that w itself can be kept in registers */

            charge(t, op, block, values, &waited, retire);
        }
    }
    x86_window_enter(&t->window, op->uops, retire);
    if (!plain) {
        if (op->kind != OP_STORE)
            x86_queue_enter(&t->loads, retire);
        if (op->kind == OP_STORE || op->kind == OP_MODIFY) {
            const struct peet_ref *ref = &block->refs[op->first_ref];

            store(t, block, op->first_ref, values[ref->value], ref->size_bytes, done,
                !op->renames               ? UINT64_MAX
                    : op->kind == OP_STORE ? later(data, w.dispatch)
                                           : done - op->latency + 1, /* what more there is of it stores */
                retire);
        }
    }
    if (op->branch)
        x86_core_last_branch(t, op, block, done);
}

void x86_core_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86 *x = t->cpu->x;
    const struct peet_block *block = code->block;
    const struct x86_op *op = code->ops, *end = op + code->nops;

    if (__builtin_expect(!code->nops, 0)) /* the last branch goes on to what follows */
        return;
    if (__builtin_expect(t->fetch_parts != 0, 0)) {
        t->taken = ends_fetch(t, block);
        t->late = 0;
    }
    x86_core_enter(t, code);
    if (t->replay) {
        if (x86_replay_block(t, code, values))
            return;
    } else if (x->config.threads == 1 && x86_core_held(t, code)) {
        x86_core_hold(t, code);
    }
    if (__builtin_expect(t->taken | t->late, 0))
        end_fetch(t);
    if (__builtin_expect(x->config.core == CORE_INORDER, 0)) {
        for (; op != end; op++)
            step(t, op, block, values, op->kind == OP_PLAIN, 1);
    } else {
        for (; op != end; op++)
            if (op->kind == OP_PLAIN)
                step(t, op, block, values, 1, 0);
            else
                step(t, op, block, values, 0, 0);
    }
    t->instructions += code->nops;
    if (op != code->ops)
        t->place = op[-1].place;
    if (t->replay)
        x86_replay_end(t, code);
}
