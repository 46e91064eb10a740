/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86, references one after the other.  With core=simple: one instruction a cycle, and whatever its references take
 * beyond a first-level hit, stores too: sequential consistency as Lamport meant it.  No branch is predicted, nothing
 * overlaps.  With latency=off nothing stalls either, and time is a count of instructions, as on other machines without
 * latencies: so that protocols can be compared reference by reference.  And with sampled timing between windows
 * (sampling.h): nobody waits, but caches and predictors change.
 */
#include "simple.h"
#include "core_refs.h"

static void spend(struct x86_thread *t, enum x86_category why, uint64_t cycles)
{
    if (cycles)
        x86_core_spend(t, why, cycles);
}

/** One access in one line. */
static void touch(struct x86_thread *t, struct x86_access *a)
{
    struct x86 *x = t->cpu->x;
    uint64_t now = t->frontier - (t->sampling ? (uint64_t)t->sampling->lead : 0),
             hit = a->kind == X86_STORE ? 0 : x->load_cycles, extra, part;
    struct x86_outcome out;

    if (!x->memory ||
        (a->kind != X86_FETCH && a->kind != X86_PREFETCH &&
            x86_memory_hit_at(x->memory, a->core, x86_memory_pc(a->block, a->ref), a->address, a->size_bytes,
                (enum x86_access_kind)a->kind, now, &extra)))
        return;
    x86_memory_access(x->memory, a, now, &out);
    if (a->kind == X86_PREFETCH)
        return;
    if (t->sampling) { /* nobody waits for it now */
        x86_sampling_missed(t, a, &out, now, t->frontier);
        return;
    }
    if (a->kind == X86_FETCH) {
        if (out.served == X86_L1 && !out.tlb_cycles)
            return;
        spend(t, CPI_TLB, out.tlb_cycles);
        spend(t, CPI_FETCH, out.done_cycles - now - out.tlb_cycles);
        return;
    }
    extra = out.done_cycles > now + hit ? out.done_cycles - now - hit : 0;
    part = less(extra, out.tlb_cycles);
    spend(t, CPI_TLB, part);
    extra -= part;
    part = less(extra, out.coherence_cycles);
    spend(t, CPI_COHERENCE, part);
    spend(t, (enum x86_category)x86_category_of[out.served], extra - part);
}

/** A location, line by line. */
static void location(struct x86_thread *t, struct x86_access *a, uint64_t address, uint64_t size_bytes)
{
    uint64_t end, within = t->cpu->x->line_bytes - 1, last = address + size_bytes - 1;

    do { /* a prefetch may name the last byte of all */
        end = less(last, address | within);
        a->address = address;
        a->size_bytes = (uint32_t)(end + 1 - address);
        touch(t, a);
        address = end + 1;
    } while (end != last);
}

static void reference(struct x86_thread *t, const struct peet_block *block, uint32_t number, const uint64_t *values)
{
    struct x86_access access = {.core = t->cpu->number, .hw = t->hw, .ref = number, .block = block}, *a = &access;
    const struct peet_ref *ref = &block->refs[number];
    static const uint8_t kinds[] = {[PEET_REF_LOAD] = X86_LOAD,
        [PEET_REF_STORE] = X86_STORE,
        [PEET_REF_MODIFY] = X86_LOAD,
        [PEET_REF_PREFETCH] = X86_PREFETCH};
    uint64_t size = ref->size_bytes ? ref->size_bytes : 1;
    int locked = ref->kind == PEET_REF_MODIFY && ref->flags & PEET_REF_ATOMIC;

    for (struct peet_ref_iter it = peet_ref_begin(ref, values); it.count; it.count--, it.address += (uint64_t)it.step) {
        a->kind = locked ? X86_MODIFY : kinds[ref->kind];
        a->locked = (uint8_t)locked;
        location(t, a, it.address, size);
        t->loads_n += ref->kind == PEET_REF_LOAD || ref->kind == PEET_REF_MODIFY;
        t->stores_n += ref->kind == PEET_REF_STORE || ref->kind == PEET_REF_MODIFY;
        if (ref->kind == PEET_REF_MODIFY && !locked) {
            a->kind = X86_STORE;
            location(t, a, it.address, size);
        }
    }
}

/** A line of code that the front end does not have at hand. */
static void fetch(struct x86_thread *t, const struct peet_block *block)
{
    struct x86 *x = t->cpu->x;
    uint64_t line = block->pc / x->line_bytes,
             last = (block->pc + (block->code_bytes ? block->code_bytes - 1 : 0)) / x->line_bytes;

    for (; line <= last; line++) {
        struct x86_access a = {.address = line * x->line_bytes,
            .size_bytes = x->line_bytes,
            .core = t->cpu->number,
            .hw = t->hw,
            .kind = X86_FETCH,
            .block = block};

        if (t->fetched[line % 8] == line)
            continue;
        t->fetched[line % 8] = line;
        touch(t, &a);
    }
}

void x86_simple_block(struct x86_thread *t, const struct x86_code *code, const uint64_t *values)
{
    struct x86 *x = t->cpu->x;
    const struct peet_block *block = code->block;

    if (code->nops)
        t->place = code->ops[0].place;
    fetch(t, block);
    for (uint32_t i = 0; i < code->nops; i++) {
        const struct x86_op *op = &code->ops[i];

        t->place = op->place;
        for (uint32_t k = op->first_ref; k < op->first_ref + op->nrefs; k++)
            reference(t, block, k, values);
        x86_core_spend(t, CPI_BASE, 1);
        x->stacks.places[t->place].instructions++;
        t->instructions++;
        t->uops += op->uops;
    }
}

void x86_simple_warm(struct x86_thread *t, const struct x86_code *code, const uint64_t *values, int fetches)
{
    const struct peet_block *block = code->block;
    const struct x86_op *last = &code->ops[code->nops - 1];
    struct x86_memory *m = t->cpu->x->memory;
    const uint64_t within = t->cpu->x->line_bytes - 1;
    const uint64_t now = t->frontier - (uint64_t)t->sampling->lead;
    struct wait nobody = {0};
    uint64_t done;

    if (fetches)
        x86_core_enter(t, code);
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct x86_code_ref *ref = &code->refs[i];
        const uint64_t address = values[ref->value], end = address + ref->size_bytes - 1;

        if (__builtin_expect(m && ref->plain && (address | within) == (end | within) &&
                    x86_memory_hit_at(m, t->cpu->number, ref->pc, address, ref->size_bytes,
                        (enum x86_access_kind)(ref->plain - 1), now, &done),
                1)) {
            t->loads_n += ref->plain == 1 + X86_LOAD;
            t->stores_n += ref->plain == 1 + X86_STORE;
        } else if (block->refs[i].flags & PEET_REF_RANGE && block->refs[i].kind <= PEET_REF_STORE) {
            x86_core_range(t, block->refs[i].kind == PEET_REF_LOAD ? X86_LOAD : X86_STORE, block, i, address,
                values[ref->value + 1] * ref->size_bytes, now, &nobody);
        } else {
            reference(t, block, i, values);
        }
    }
    t->place = last->place;
    t->instructions += code->nops;
    t->uops += code->uops;
    if (fetches && last->branch)
        x86_core_last_branch(t, last, block, t->frontier);
}
