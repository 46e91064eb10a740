/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block, reference by reference. Most references hit, and such a hit changes nothing but the frame's stamp. That case
 * is here, inline; everything else goes to engine.c. The low bits of a frame's key say whether a read or a write has
 * permission, so that one comparison finds the line and checks its state.
 */
#include "ahead.h"
#include "groups.h"

#define ALWAYS static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* Its record says where the line is, if that is a hit with permission. */
static __attribute__((noinline)) uint32_t quick_by_record(const struct bus *b, struct cache *c, uint64_t line,
    uint64_t permission_mask)
{
    const uint32_t *const word = peet_sim_linemap_word(c->words, line), i = word ? *word ^ STACKDIST_FRAME : NO_FRAME;
    if (i >= b->lines || (c->keys[i] | permission_mask) != (KEY_OF(line) | PERMISSION))
        return NO_FRAME;
    c->predictor[peet__bus_hint(b, line)] = i;
    return i;
}

/* Sets of many ways are not searched: the predictor's entry is right or engine.c finds it.  Nor are others where the
 * line's record says where it is, but for sets of so few ways that searching takes less. */
uint32_t peet__bus_hit_in_set(const struct bus *b, struct cache *c, uint64_t line, uint64_t permission_mask)
{
    enum { FEW_WAYS = 2 };
    if (b->wide)
        return NO_FRAME;
    if (b->ways > FEW_WAYS && b->recent)
        return quick_by_record(b, c, line, permission_mask);
    const uint64_t want = KEY_OF(line) | PERMISSION;
    const uint32_t first = peet__bus_set_of(b, line) * b->ways, end = first + b->ways;
    for (uint32_t i = first; i < end; i++)
        if ((c->keys[i] | permission_mask) == want) {
            c->predictor[peet__bus_hint(b, line)] = i;
            return i;
        }
    return NO_FRAME;
}

/* A hit without consequences?  Then it is done. */
static int hit_any(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, int write)
{
    const uint32_t i = peet__bus_ahead_frame_for_good(b, c, line, write ? 0 : PERMISSION_WRITE, sectors);
    if (i == NO_FRAME)
        return 0;
    c->used[i] = ++c->stamp;
    if (c->plru)
        peet__bus_plru_used(b, c, i);
    return 1;
}

ALWAYS uint64_t touch_slow(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes,
    enum touch touch, uint64_t time)
{
    if (UNLIKELY(b->watched))
        return peet__bus_touch_watched(b, c, line, sectors, bytes, touch, time);
    return b->uniprocessor ? peet__bus_touch_uniprocessor(b, c, line, bytes, touch, time)
                           : b->touch(b, c, line, sectors, bytes, touch, time);
}

/* One read or write of a part of one line. */
static void touch_part(struct bus *b, struct cache *c, uint64_t line, uint64_t sectors, unsigned bytes, int write,
    uint32_t insn, struct walk *w)
{
    w->touches++;
    if (UNLIKELY(b->perfect_hits) && peet__bus_at_perfect(b))
        w->saved_cycles += b->hit_cycles - 1;
    if (!hit_any(b, c, line, sectors, write))
        w->stall_cycles +=
            touch_slow(b, c, line, sectors, bytes, write ? TOUCH_WRITE : TOUCH_READ, peet__bus_time_in(b, w, insn));
}

/* The part of a location that lies in one line: @bytes from @offset on. */
static void run_part(struct bus *b, struct cache *c, const struct peet_ref *ref, uint64_t line, unsigned offset,
    unsigned bytes, struct walk *w)
{
    uint64_t sectors = peet__bus_sectors(b, offset, bytes);
    /* Atomics ask for ownership at once. */
    int write = ref->kind == PEET_REF_STORE || (ref->kind == PEET_REF_MODIFY && ref->flags & PEET_REF_ATOMIC);
    if (UNLIKELY(b->watched))
        peet__bus_at(b, (uint32_t)(ref - b->site.block->refs), (line << b->line_shift) + offset, bytes);
    touch_part(b, c, line, sectors, bytes, write, ref->insn, w);
    if (ref->kind == PEET_REF_MODIFY)
        touch_part(b, c, line, sectors, bytes, !write, ref->insn, w);
}

/* One location: all lines that it lies in.  Returns: how many. */
static uint64_t touch_location(struct bus *b, struct cache *c, uint64_t address, unsigned size,
    const struct peet_ref *ref, struct walk *w)
{
    uint64_t n = 0;
    for (unsigned done = 0, bytes; done < size; done += bytes, n++) {
        uint64_t at = address + done;
        unsigned offset = (unsigned)(at & (b->line_bytes - 1));
        bytes = size - done < b->line_bytes - offset ? size - done : b->line_bytes - offset;
        run_part(b, c, ref, at >> b->line_shift, offset, bytes, w);
    }
    return n;
}

/* An element that lies in one line and is not found where it was last, of a processor alone: a way of one reference
 * (groups.c).  Returns: where it is */
static __attribute__((noinline)) uint32_t element_slow(struct bus *b, struct cache *c, uint64_t address, unsigned bytes,
    const struct peet_ref *ref, struct walk *w)
{
    const int write = ref->kind == PEET_REF_STORE;
    w->touches++;
    const struct line_access access =
        peet__bus_access_of_element(write, b->cpi * ref->insn + w->touches * b->hit_cycles * CPI_ONE, bytes);
    struct execution t = {
        .c = c, .start = w->start, .rest = w->cpi_rest, .stamp = c->stamp, .stalled = w->stall_cycles};
    const uint32_t i = b->go_slowly(b, &t, address, address >> b->line_shift, &access);
    c->used[i] = c->stamp = t.stamp + 1;
    w->stall_cycles = t.stalled;
    return i;
}

/* So many elements of a range, each right after the other: those that lie in one line are one probe, if it finds the
 * line, or the first has brought it, and time stamps by arithmetic.  Returns: how many lines they touched, each element
 * for itself */
ALWAYS uint64_t run_elements(struct bus *b, struct cache *c, uint64_t address, uint64_t count, unsigned size_shift,
    const struct peet_ref *ref, struct walk *w)
{
    const uint64_t permission_mask = ref->kind == PEET_REF_LOAD ? PERMISSION_WRITE : 0;
    const uint64_t before = w->touches;
    /* then what is not where it was last has moved, or nearly always is not there */
    const int alone = b->groupwise && !b->watched;
    do {
        const uint64_t line = address >> b->line_shift;
        const uint64_t here = (b->line_bytes - (address & (b->line_bytes - 1))) >> size_shift; /* wholly in this line */
        uint64_t done = here < count ? here : count, more = done;
        uint32_t i = c->predictor[peet__bus_hint(b, line)];
        if (UNLIKELY((c->keys[i] | permission_mask) != (KEY_OF(line) | PERMISSION) || !done)) {
            if (done && alone) {
                i = element_slow(b, c, address, 1u << size_shift, ref, w);
                more = (c->keys[i] | permission_mask) == (KEY_OF(line) | PERMISSION) ? done - 1 : 0;
                done = more + 1;
            } else if (!done ||
                (i = peet__bus_ahead_frame_for_good(b, c, line, permission_mask,
                     peet__bus_sectors(b, address & (b->line_bytes - 1), done << size_shift))) == NO_FRAME) {
                touch_location(b, c, address, 1u << size_shift, ref, w);
                more = 0;
                done = 1;
            }
        }
        if (LIKELY(more)) {
            c->used[i] = c->stamp += more;
            if (c->plru)
                peet__bus_plru_used(b, c, i);
            w->touches += more;
        }
        address += done << size_shift;
        count -= done;
    } while (count && LIKELY(!b->dead));
    return w->touches - before;
}

/* Can elements of this size be taken so? */
static inline int in_rows(const struct bus *b, const struct peet_ref *ref, unsigned size)
{
    return !(size & (size - 1)) && ref->kind != PEET_REF_MODIFY && !b->check && !b->perfect_hits;
}

void peet__bus_ranges(struct bus *b, struct cache *c, const struct peet_block *block, const uint64_t *values,
    struct walk *w)
{
    for (const struct peet_ref *ref = block->refs, *end = ref + block->nrefs; ref != end; ref++) {
        const uint64_t address = values[ref->value], count = values[ref->value + 1];
        if (count)
            *(ref->kind == PEET_REF_LOAD ? &c->stats.reads : &c->stats.writes) +=
                run_elements(b, c, address, count, (unsigned)__builtin_ctz(ref->size_bytes), ref, w);
    }
}

/* A reference of whatever shape.  Counts what the block's static counts leave out. */
static void run_ref(struct bus *b, struct cache *c, const struct peet_ref *ref, const uint64_t *values, struct walk *w)
{
    uint64_t n = 0, counted = !(ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL));
    unsigned size = ref->size_bytes ? ref->size_bytes : 1;
    if (ref->kind == PEET_REF_PREFETCH)
        return;
    struct peet_ref_iter it = peet_ref_begin(ref, values);
    if (it.count && it.step == size && in_rows(b, ref, size)) {
        n = run_elements(b, c, it.address, it.count, (unsigned)__builtin_ctz(size), ref, w);
    } else {
        for (; it.count && !b->dead; it.count--, it.address += (uint64_t)it.step)
            n += touch_location(b, c, it.address, size, ref, w);
    }
    if (ref->kind != PEET_REF_STORE)
        c->stats.reads += n - counted;
    if (ref->kind != PEET_REF_LOAD)
        c->stats.writes += n - counted;
}

static void run_any(struct bus *b, struct cache *c, const struct peet_block_event *event, struct walk *w)
{
    const struct peet_block *block = event->block;
    for (uint32_t i = 0; i < block->nrefs; i++)
        run_ref(b, c, &block->refs[i], event->values, w);
}

uint64_t peet__bus_slow_reference(struct bus *b, struct cache *c, const struct peet_ref *ref, uint64_t address,
    struct walk *w)
{
    const unsigned size = ref->size_bytes, offset = (unsigned)(address & (b->line_bytes - 1));
    /* no hit with permission: that is known */
    if (!b->perfect_hits && ref->kind != PEET_REF_MODIFY && size - 1 < b->line_bytes - offset) {
        w->touches++;
        if (UNLIKELY(b->watched))
            peet__bus_at(b, (uint32_t)(ref - b->site.block->refs), address, size);
        w->stall_cycles += touch_slow(b, c, address >> b->line_shift, peet__bus_sectors(b, offset, size), size,
            ref->kind == PEET_REF_STORE ? TOUCH_WRITE : TOUCH_READ, peet__bus_time_in(b, w, ref->insn));
        return 1;
    }
    return touch_location(b, c, address, size ? size : 1, ref, w);
}

/* A reference of run_simple() that is no hit with permission.  @touches: of the block before it.  Returns: in how many
 * lines it lies */
static __attribute__((noinline)) uint64_t run_slow(struct bus *b, struct cache *c, const struct peet_block_event *event,
    uint32_t i, uint64_t touches, struct walk *w)
{
    const struct peet_ref *refs = event->block->refs;
    if (event->block->modifies) /* they touch twice */
        for (uint32_t j = 0; j < i; j++)
            touches += refs[j].kind == PEET_REF_MODIFY;
    w->touches = touches;
    return peet__bus_slow_reference(b, c, &refs[i], event->values[i], w);
}

/* Blocks whose references are one location each, but for prefetches; @plru is a constant where this is inlined.  What
 * is the same for every hit is not counted here: it follows from the block. */
ALWAYS void run_simple(struct bus *b, struct cache *c, const struct peet_block_event *event, struct walk *w, int plru)
{
    const struct peet_block *block = event->block;
    const struct peet_ref *refs = block->refs;
    const uint64_t *values = event->values;
    const uint32_t n = block->nrefs;
    const uint64_t offset_mask = b->line_bytes - 1;
    uint64_t before = w->touches;
    for (uint32_t i = 0; i < n; i++) {
        /* touches nothing; the stamps after it are those of block templates all the same */
        if (UNLIKELY(refs[i].kind == PEET_REF_PREFETCH)) {
            c->stamp++;
            before--;
            continue;
        }
        uint64_t line = values[i] >> b->line_shift, offset = values[i] & offset_mask,
                 last = offset + refs[i].size_bytes - 1;
        uint32_t f = UNLIKELY(last > offset_mask)
            ? NO_FRAME
            : peet__bus_hit(b, c, line, refs[i].kind == PEET_REF_LOAD ? PERMISSION_WRITE : 0);
        if (UNLIKELY(f == NO_FRAME)) {
            uint64_t more = run_slow(b, c, event, i, before + i, w) - 1;
            if (more) { /* the block's counts have each reference once */
                c->stats.reads += refs[i].kind != PEET_REF_STORE ? more : 0;
                c->stats.writes += refs[i].kind != PEET_REF_LOAD ? more : 0;
                before += refs[i].kind == PEET_REF_MODIFY ? 2 * more : more;
            }
            continue;
        }
        c->used[f] = ++c->stamp;
        if (plru)
            peet__bus_plru_used(b, c, f);
    }
    w->touches = before + n + block->modifies;
}

#define RUN(run_name, plru) \
    static void run_name(struct bus *b, struct cache *c, const struct peet_block_event *event, struct walk *w) \
    { \
        if (event->block->flags & PEET_BLOCK_SIMPLE) \
            run_simple(b, c, event, w, plru); \
        else \
            run_any(b, c, event, w); \
    }
RUN(run_plain, 0)
RUN(run_plru, 1)

bus_run *peet__bus_run_for(const struct bus *b)
{
    if (b->check || b->perfect_hits)
        return run_any;
    return b->replacement == REPLACE_PLRU ? run_plru : run_plain;
}

void peet__bus_run_fetches(struct bus *b, struct cache *c, const struct peet_block *block, struct walk *w)
{
    if (!block->code_bytes)
        return;
    uint64_t line = block->pc >> b->line_shift, last = (block->pc + block->code_bytes - 1) >> b->line_shift;
    for (; line <= last && !b->dead; line++) {
        c->stats.fetches++;
        if (UNLIKELY(b->watched))
            peet__bus_at(b, 0, line << b->line_shift > block->pc ? line << b->line_shift : block->pc, 0);
        if (!hit_any(b, c, line, 0, 0))
            w->stall_cycles += touch_slow(b, c, line, 0, 0, TOUCH_FETCH, w->start + w->stall_cycles);
    }
}
