/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans: for each block, the structures that its references were in last time.
 *
 * References of one block whose distance never changes (struct peet_ref, group) are one *cell*, as long as one object
 * holds them all.  An execution costs one comparison for each cell: is the address still in the range of the same
 * structure?  While it is, only the block's executions are counted.  When a cell goes to another structure, or at the
 * end, the counts of the block are multiplied out and booked to the old structure.
 *
 * Called by module.c when a comparison fails, and by peet's machine code, which makes the same comparisons (struct
 * peet_direct_watch).
 */
#include "dtrack.h"

#include <stdlib.h>
#include <string.h>

void dtrack__no_memory(struct dtrack *self)
{
    if (!self->failed)
        self->env->fail(self->env, "out of memory");
    self->failed = 1;
}

static __attribute__((noinline)) int more_tallies(struct dtrack *self, uint32_t data)
{
    uint32_t n = self->ntallies ? self->ntallies : 64;
    struct dtrack_tally *more;

    while (n <= data)
        n *= 2;
    more = self->failed ? NULL : realloc(self->tallies, n * sizeof *more);
    if (!more) {
        dtrack__no_memory(self);
        return -1;
    }
    memset(more + self->ntallies, 0, (n - self->ntallies) * sizeof *more);
    self->tallies = more;
    self->ntallies = n;
    return 0;
}

struct dtrack_tally *dtrack__tally(struct dtrack *self, uint32_t data)
{
    if (DTRACK_UNLIKELY(data >= self->ntallies)) {
        if (data == DTRACK_CODE)
            return &self->code;
        if (data == DTRACK_WALKS)
            return &self->walks;
        if (more_tallies(self, data))
            return &self->nowhere;
    }
    return &self->tallies[data];
}

static inline __attribute__((always_inline)) int is_known(const struct dtrack *self, const struct dtrack_found *f,
    uint64_t address)
{
    return address - f->lo < f->hi - f->lo &&
        (f->epoch == self->epoch || (!f->movable && f->epoch >= self->fixed_epoch));
}

/** The one to forget for it: large objects have one for each part of them. */
static inline __attribute__((always_inline)) struct dtrack_found *place_of(struct dtrack *self, uint64_t address,
    unsigned size)
{
    const unsigned part = size ? 4 + 4 * size : 6;

    return &self->found[size]
                       [(address >> part ^ address >> (part + DTRACK_FOUND_BITS)) & ((1u << DTRACK_FOUND_BITS) - 1)];
}

static __attribute__((noinline)) const struct dtrack_found *find(struct dtrack *self, uint64_t address)
{
    enum { SMALL_BYTES = 1 << 8, MEDIUM_BYTES = 1 << 12, LARGE_BYTES = 1 << 16 };
    struct peet_data_object object = {address, 0, 0};
    const struct peet_data *data = self->env->data_of(self->env, address, &object);
    struct dtrack_found found = {address, address + 1, data->id, self->epoch,
        data->kind != PEET_DATA_GLOBAL && data->kind != PEET_DATA_STACK, data->kind == PEET_DATA_REST};
    struct dtrack_found *f;

    if (address - object.address < object.bytes) {
        found.lo = object.address;
        found.hi = object.address + object.bytes;
    }
    self->found_size = (found.hi - found.lo >= SMALL_BYTES) + (found.hi - found.lo >= MEDIUM_BYTES) +
        (found.hi - found.lo >= LARGE_BYTES);
    f = place_of(self, address, self->found_size);
    *f = found;
    return f;
}

const struct dtrack_found *dtrack__find(struct dtrack *self, uint64_t address)
{
    unsigned size = self->found_size; /* of the last one, and often of this one */

    for (unsigned k = 0; k < DTRACK_FOUND_SIZES; k++, size = (size + 1) % DTRACK_FOUND_SIZES) {
        const struct dtrack_found *f = place_of(self, address, size);

        if (is_known(self, f, address)) {
            self->found_size = size;
            return f;
        }
    }
    return find(self, address);
}

/* ---------------------------------------------------------------------------------------------- making */

static __attribute__((noinline)) int more_plans(struct dtrack *self, uint32_t id)
{
    uint32_t n = self->nplans ? self->nplans : 1024;
    struct dtrack_plan *more;

    while (n <= id)
        n *= 2;
    more = self->failed ? NULL : realloc(self->plans, n * sizeof *more);
    if (!more) {
        dtrack__no_memory(self);
        return -1;
    }
    memset(more + self->nplans, 0, (n - self->nplans) * sizeof *more);
    self->plans = more;
    self->nplans = n;
    return 0;
}

struct dtrack_plan *dtrack__plan(struct dtrack *self, uint32_t id)
{
    if (DTRACK_UNLIKELY(id >= self->nplans) && more_plans(self, id))
        return NULL;
    return &self->plans[id];
}

static int by_offset(const void *a, const void *b)
{
    const struct dtrack_member *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->ref < y->ref ? -1 : x->ref > y->ref;
}

/** Joins a member's words to those of what begins at @from. */
static void join_words(struct dtrack_words *w, const struct dtrack_member *m, int64_t from, uint64_t word_bytes)
{
    enum { WORDS = 64 };
    const uint64_t at = (uint64_t)(m->offset - from), first = at / word_bytes,
                   last = (at + m->size_bytes - 1) / word_bytes, words = (2ull << ((last - first) & 63)) - 1;

    if (last >= WORDS || w->n > WORDS) {
        w->n = UINT8_MAX;
        return;
    }
    w->reads |= m->reads ? words << first : 0;
    w->writes |= m->writes ? words << first : 0;
    w->n = last + 1 > w->n ? (uint8_t)(last + 1) : w->n;
}

/** For sharing.c, whenever cells have changed. */
static void list_words(const struct dtrack *self, struct dtrack_plan *plan)
{
    const uint64_t word_bytes = dtrack__word_bytes(self);
    struct dtrack_words *of_ref;
    uint32_t n = 0;

    if (!self->sharing)
        return;
    of_ref = plan->words + plan->block->nrefs;
    memset(plan->words, 0, 2 * plan->block->nrefs * sizeof *plan->words);
    for (uint32_t c = 0; c < plan->ncells; c++) {
        const struct dtrack_cold *const cold = &plan->cold[c];
        const struct dtrack_member *const first = &plan->members[cold->first];
        struct dtrack_words *const all = &plan->words[c];

        all->value = plan->watch->guards[c].value;
        all->offset = (uint64_t)first->offset;
        all->n = 1;
        for (const struct dtrack_member *m = first; m < first + cold->n; m++) {
            struct dtrack_words *const one = &of_ref[m->ref];

            *one = (struct dtrack_words){.offset = (uint64_t)m->offset,
                .value = all->value,
                .ref = m->ref,
                .cell = (uint8_t)c,
                .n = 1,
                .size_bytes = m->size_bytes};
            join_words(one, m, m->offset, word_bytes);
            join_words(all, m, first->offset, word_bytes);
        }
    }
    for (uint32_t i = 0; i < plan->block->nrefs; i++)
        if (of_ref[i].size_bytes)
            of_ref[n++] = of_ref[i];
    plan->nmembers = (uint16_t)n;
}

/** The cell's counts and shape from its members. */
static void describe(const struct dtrack *self, const struct dtrack_member *members, struct peet_direct_guard *cell,
    struct dtrack_cold *cold)
{
    uint32_t align = 1;

    cold->reads = cold->writes = 0;
    cold->crossing = 0;
    for (unsigned i = cold->first; i < cold->first + cold->n; i++) {
        const struct dtrack_member *m = &members[i];

        cold->reads += m->reads;
        cold->writes += m->writes;
        if (m->size_bytes & (m->size_bytes - 1) || m->size_bytes > self->line_bytes)
            cold->crossing = 1;
        else if (m->size_bytes > align)
            align = m->size_bytes;
    }
    if (!self->line_bytes) {
        cold->crossing = 0;
        align = 1;
    }
    cell->shift = cold->crossing ? 0 : (uint8_t)__builtin_ctz(align);
    cell->span = 0;
}

/** Room for so many guards, and one more. */
static struct peet_direct_watch *new_watch(const struct dtrack *self, uint32_t n)
{
    struct peet_direct_watch *w =
        calloc(1, sizeof(struct peet_direct_watch) + (n + 1) * sizeof(struct peet_direct_guard));

    if (w && self->sharing) {
        w->marked = 1;
        for (uint32_t i = 0; i <= n; i++)
            w->guards[i].marks_shift = (uint8_t)self->line_shift;
    }
    return w;
}

static void replace_watch(struct dtrack *self, struct dtrack_plan *plan);

/** Some of the cell's references may lie in two lines: where they are is counted, if lines are not too long for that.
 */
static void start_tally(struct dtrack *self, struct dtrack_plan *plan, uint32_t c)
{
    enum { LONGEST = 256 };
    struct dtrack_cold *cold = &plan->cold[c];
    struct peet_direct_guard *g;

    if (!self->line_bytes || self->line_bytes > LONGEST)
        return;
    cold->tally = calloc(self->line_bytes, sizeof *cold->tally);
    if (!cold->tally) {
        dtrack__no_memory(self);
        return;
    }
    replace_watch(self, plan);
    g = &plan->watch->guards[c];
    g->tally = cold->tally;
    g->tally_mask = self->line_bytes - 1;
    g->shift = 0;
    plan->tallied = 1;
}

/** The references of a group become a cell. */
static int make(struct dtrack *self, struct dtrack_plan *plan, const struct peet_block *block, const uint64_t *values)
{
    uint32_t n = block->nrefs, used = 0, cells = 0, group[256] = {0}; /* cell + 1 of a group */
    uint32_t *of = malloc((n + 1) * sizeof *of);

    plan->block = block;
    plan->watch = new_watch(self, n);
    plan->cold = calloc(n + 1, sizeof *plan->cold);
    plan->members = calloc(n + 1, sizeof *plan->members);
    plan->words = self->sharing ? calloc(2 * n + 1, sizeof *plan->words) : NULL;
    if (!of || (self->sharing && !plan->words) || !plan->watch || !plan->cold || !plan->members) {
        free(of);
        dtrack__no_memory(self);
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct peet_ref *ref = &block->refs[i];

        of[i] = UINT32_MAX;
        if (ref->kind == PEET_REF_PREFETCH)
            continue;
        if (dtrack__is_irregular(ref)) {
            plan->nodd++;
            continue;
        }
        if (ref->group && group[ref->group]) {
            of[i] = group[ref->group] - 1;
            continue;
        }
        plan->watch->guards[cells].value = ref->value;
        of[i] = cells++;
        if (ref->group)
            group[ref->group] = cells;
    }
    for (uint32_t c = 0; c < cells; c++) {
        struct dtrack_cold *cold = &plan->cold[c];

        cold->first = (uint16_t)used;
        for (uint32_t i = 0; i < n; i++) {
            const struct peet_ref *ref = &block->refs[i];

            if (of[i] == c)
                plan->members[used++] = (struct dtrack_member){
                    (int64_t)(values[ref->value] - values[plan->watch->guards[c].value]), (uint16_t)i,
                    ref->size_bytes ? ref->size_bytes : 1, ref->kind != PEET_REF_STORE, ref->kind != PEET_REF_LOAD};
        }
        cold->n = (uint16_t)(used - cold->first);
        qsort(plan->members + cold->first, cold->n, sizeof *plan->members, by_offset);
        describe(self, plan->members, &plan->watch->guards[c], cold);
        if (cold->crossing)
            start_tally(self, plan, c);
    }
    plan->ncells = (uint16_t)cells;
    plan->watch->nguards = cells;
    list_words(self, plan);
    free(of);
    return 0;
}

/* ------------------------------------------------------------------------- executions that others take */

/** Room for one more element of an array.  Returns: 0, or -1 without memory */
static int one_more(struct dtrack *self, void **array, size_t n, size_t *room, size_t bytes)
{
    const size_t want = *room ? 2 * *room : 256;
    void *more;

    if (n < *room)
        return 0;
    more = realloc(*array, want * bytes);
    if (!more) {
        dtrack__no_memory(self);
        return -1;
    }
    *array = more;
    *room = want;
    return 0;
}

void dtrack__arm(struct dtrack *self, struct dtrack_plan *plan)
{
    struct peet_direct_watch *w = plan->watch;

    if (!w || !w->taken)
        return;
    if (plan->epoch != self->fixed_epoch || w->over) {
        w->until = 0;
        return;
    }
    if (!w->until) {
        if (one_more(self, (void **)&self->armed, self->narmed, &self->armed_room, sizeof *self->armed))
            return;
        self->armed[self->narmed++] = w;
    }
    w->until = *w->taken + (plan->next - plan->executions);
}

/** Nothing is known of where the cell is. */
static void forget(struct dtrack_plan *plan, uint32_t c)
{
    plan->cold[c].lo = plan->cold[c].hi = 0;
    plan->watch->guards[c].span = 0;
    plan->watch->guards[c].marks = NULL;
}

void dtrack__new_epoch(struct dtrack *self, int fixed)
{
    self->epoch++;
    while (self->nmovable) {
        const struct dtrack_movable *m = &self->movable[--self->nmovable];

        self->plans[m->plan].cold[m->cell].listed = 0;
        forget(&self->plans[m->plan], m->cell);
    }
    if (!fixed)
        return;
    self->fixed_epoch = self->epoch;
    while (self->narmed)
        self->armed[--self->narmed]->until = 0;
}

int dtrack__watch(struct dtrack *self, const struct peet_block *block, const uint64_t *values,
    struct peet_direct_watch **out_watch)
{
    struct dtrack_plan *plan;

    *out_watch = NULL;
    if (!block->nrefs)
        return 0;
    plan = dtrack__plan(self, block->id);
    if (!plan || self->failed || (!plan->watch && make(self, plan, block, values)) || plan->nodd)
        return -1;
    *out_watch = plan->watch;
    return 0;
}

/** The plan's guards are others from now on: code that goes by the old ones has to leave them. */
static void replace_watch(struct dtrack *self, struct dtrack_plan *plan)
{
    struct peet_direct_watch *w = plan->watch;
    struct dtrack_old_watch *old;

    if (!w->taken)
        return;
    dtrack__catch_up(plan);
    plan->watch = new_watch(self, plan->block->nrefs);
    old = malloc(sizeof *old);
    if (!old || !plan->watch) {
        free(old);
        free(plan->watch);
        plan->watch = w;
        dtrack__no_memory(self);
        return;
    }
    memcpy(plan->watch->guards, w->guards, w->nguards * sizeof *w->guards);
    plan->watch->nguards = w->nguards;
    w->over = 1;
    w->until = 0;
    *old = (struct dtrack_old_watch){self->old_watches, w};
    self->old_watches = old;
}

/* -------------------------------------------------------------------------------------------- counting */

/** Some members may lie in two lines: how many did so often at this place in a line? */
static void cross(struct dtrack *self, const struct dtrack_plan *plan, const struct dtrack_cold *cold, uint64_t value,
    uint64_t times)
{
    uint64_t reads = 0, writes = 0;

    for (unsigned i = cold->first; i < cold->first + cold->n; i++) {
        const struct dtrack_member *m = &plan->members[i];
        uint64_t more =
            (((value + (uint64_t)m->offset) & (self->line_bytes - 1)) + m->size_bytes - 1) >> self->line_shift;

        reads += more * m->reads;
        writes += more * m->writes;
    }
    if (reads + writes) {
        struct dtrack_tally *t = dtrack__tally(self, cold->data);

        t->reads += reads * times;
        t->writes += writes * times;
        t->misaligned += (reads + writes) * times;
    }
}

/** What the block's executions have counted in the structure where the cell was. */
static void book(struct dtrack *self, const struct dtrack_plan *plan, struct dtrack_cold *cold)
{
    uint64_t n = plan->executions - cold->since;
    struct dtrack_tally *t;
    struct dtrack_strides *s;

    cold->since = plan->executions;
    if (!n)
        return;
    for (uint64_t at = 0; cold->tally && at < self->line_bytes; at++)
        if (cold->tally[at]) {
            cross(self, plan, cold, at, cold->tally[at]);
            cold->tally[at] = 0;
        }
    t = dtrack__tally(self, cold->data);
    t->reads += n * cold->reads;
    t->writes += n * cold->writes;
    s = dtrack__strides(self, cold);
    if (s)
        s->accesses += n * (cold->reads + cold->writes);
}

void dtrack__settle(struct dtrack *self)
{
    for (uint32_t id = 0; id < self->nplans; id++) {
        dtrack__catch_up(&self->plans[id]);
        for (uint32_t c = 0; c < self->plans[id].ncells; c++)
            book(self, &self->plans[id], &self->plans[id].cold[c]);
    }
}

/** The members from @from on become a cell of their own, the last one of the plan. */
static void split(struct dtrack *self, struct dtrack_plan *plan, uint32_t c, uint32_t from)
{
    struct dtrack_cold *cold = &plan->cold[c], *rest = &plan->cold[plan->ncells];

    book(self, plan, cold);
    replace_watch(self, plan);
    *rest = (struct dtrack_cold){.since = plan->executions,
        .data = cold->data,
        .first = (uint16_t)from,
        .n = (uint16_t)(cold->first + cold->n - from)};
    plan->watch->guards[plan->ncells] = plan->watch->guards[c];
    cold->n = (uint16_t)(from - cold->first);
    describe(self, plan->members, &plan->watch->guards[c], cold);
    describe(self, plan->members, &plan->watch->guards[plan->ncells], rest);
    plan->watch->guards[plan->ncells].tally = NULL;
    if (cold->crossing && !cold->tally)
        start_tally(self, plan, c);
    if (rest->crossing)
        start_tally(self, plan, plan->ncells);
    plan->watch->nguards = ++plan->ncells;
    list_words(self, plan);
}

/** Is the cell's member so near to the first one that marks of the first one's line are enough? */
static int is_near(const struct dtrack *self, const struct dtrack_member *first, uint32_t n)
{
    return !self->sharing ||
        first[n].offset + first[n].size_bytes - first[0].offset <= (int64_t)DTRACK_REACH * self->line_bytes;
}

/** The cell's references are in an object of their own: which one, and for which values is that so? */
static void locate(struct dtrack *self, struct dtrack_plan *plan, uint32_t c, uint64_t value)
{
    struct dtrack_cold *cold = &plan->cold[c];
    const struct dtrack_member *first = &plan->members[cold->first];
    const uint64_t address = value + (uint64_t)first->offset;
    const struct dtrack_found *found = dtrack__find(self, address);
    const uint8_t *marks = NULL;
    uint64_t lo = found->lo, hi = found->hi, hint_lo, hint_hi;
    uint32_t n = 1;

    if (found->movable && !cold->listed &&
        !one_more(self, (void **)&self->movable, self->nmovable, &self->movable_room, sizeof *self->movable)) {
        self->movable[self->nmovable++] = (struct dtrack_movable){plan->block->id, c};
        cold->listed = 1;
    }
    if (found->data != cold->data) {
        book(self, plan, cold);
        cold->data = found->data;
    }
    if (self->sharing)
        marks = dtrack__region(self, address, &lo, &hi);
    hint_lo = lo;
    hint_hi = hi;
    if (found->rest) {
        lo = address;
        hi = address + 1;
    }
    while (n < cold->n && value + (uint64_t)first[n].offset - lo < hi - lo && is_near(self, first, n))
        n++;
    if (n < cold->n) {
        split(self, plan, c, cold->first + n);
        cold = &plan->cold[c];
        first = &plan->members[cold->first];
    }
    cold->lo = lo - (uint64_t)first->offset;
    cold->hi = hi - (uint64_t)first[cold->n - 1].offset;
    if (cold->hi - cold->lo > INT64_MAX) /* cannot be: hi lies behind the value */
        cold->hi = cold->lo = 0;
    cold->hint_lo = hint_lo - (uint64_t)first->offset;
    cold->hint_hi = hint_hi - (uint64_t)first[cold->n - 1].offset;
    plan->watch->guards[c].marks = marks;
    plan->watch->guards[c].marks_base = (address >> DTRACK_REGION_BITS << DTRACK_REGION_BITS) - (uint64_t)first->offset;
}

/** Set the hint, if the cell can have one at this value. */
static void hint(struct dtrack *self, struct dtrack_plan *plan, uint32_t c, uint64_t value)
{
    struct dtrack_cold *cold = &plan->cold[c];
    struct peet_direct_guard *cell;
    uint64_t align, over;

    plan->watch->guards[c].span = 0;
    for (unsigned i = cold->first; !cold->crossing && self->line_bytes && i < cold->first + cold->n; i++)
        if ((value + (uint64_t)plan->members[i].offset) & (plan->members[i].size_bytes - 1u))
            cold->crossing = 1; /* from now on: alignment is mostly the same each time */
    if (cold->crossing && !cold->tally)
        start_tally(self, plan, c);
    if (cold->crossing && !cold->tally)
        return;
    cell = &plan->watch->guards[c];
    align = 1ull << cell->shift;
    over = (value - cold->hint_lo) & (align - 1);
    cell->base = cold->hint_lo + over;
    cell->span = (cold->hint_hi - cell->base + align - 1) >> cell->shift;
}

/** One cell whose hint has failed. */
static void settle_cell(struct dtrack *self, struct dtrack_plan *plan, uint32_t c, const struct peet_block_event *event)
{
    const uint64_t value = event->values[plan->watch->guards[c].value];
    struct dtrack_cold *cold = &plan->cold[c];

    if (value - cold->lo >= cold->hi - cold->lo) {
        locate(self, plan, c, value);
        cold = &plan->cold[c];
        hint(self, plan, c, value);
    } else if (!cold->crossing || cold->tally) {
        hint(self, plan, c, value); /* another alignment */
    }
    if (!cold->tally && cold->crossing)
        cross(self, plan, cold, value, 1);
}

/** The objects that a block's ranges were in last: what a library copies from and to, in words and then in bytes. */
struct memo {
    const struct dtrack_found *found[2];
};

static const struct dtrack_found *find_memo(struct dtrack *self, uint64_t address, struct memo *memo)
{
    for (unsigned k = 0; k < 2; k++)
        if (memo->found[k] && address - memo->found[k]->lo < memo->found[k]->hi - memo->found[k]->lo)
            return memo->found[k];
    memo->found[1] = memo->found[0];
    return memo->found[0] = dtrack__find(self, address);
}

/** A range or a conditional reference: object by object. */
static inline void irregular(struct dtrack *self, unsigned hw, const struct peet_block_event *event, uint32_t i,
    struct memo *memo)
{
    const struct peet_ref *ref = &event->block->refs[i];
    struct peet_ref_iter it = peet_ref_begin(ref, event->values);
    const uint32_t size = ref->size_bytes ? ref->size_bytes : 1;
    const int reads = ref->kind != PEET_REF_STORE, writes = ref->kind != PEET_REF_LOAD;

    while (it.count && !self->failed) {
        const struct dtrack_found *found = find_memo(self, it.address, memo);
        uint64_t lo = found->lo, hi = found->hi, n = it.count, crossings;
        struct dtrack_tally *t = dtrack__tally(self, found->data);
        int watched = self->sharing && dtrack__sharing_clip(self, it.address, &lo, &hi);

        if (watched && found->rest)
            hi = it.address + 1;
        if (n > hi - it.address || n * size > hi - it.address) { /* nearly always it ends in the object */
            n = (hi - it.address + size - 1) / size;
            n = n < it.count ? n : it.count;
        }
        crossings = dtrack__crossings(self, it.address, it.step, n, size);
        t->reads += reads * (n + crossings);
        t->writes += writes * (n + crossings);
        t->misaligned += (uint64_t)(reads + writes) * crossings;
        if (watched)
            dtrack__sharing_touch(self, hw, event->block, i, it.address, (uint32_t)(n * size), reads, writes);
        it.address += n * size;
        it.count -= n;
    }
}

/** All of them. */
static void odds(struct dtrack *self, unsigned hw, const struct peet_block_event *event)
{
    struct memo memo = {{NULL}};

    for (uint32_t i = 0; i < event->block->nrefs; i++)
        if (dtrack__is_irregular(&event->block->refs[i]) && event->block->refs[i].kind != PEET_REF_PREFETCH)
            irregular(self, hw, event, i, &memo);
}

void dtrack__slow(struct dtrack *self, struct dtrack_plan *plan, unsigned hw, const struct peet_block_event *event)
{
    int marked = 0;

    if (self->failed)
        return;
    dtrack__catch_up(plan);
    if (plan->made != self->fixed_epoch) {
        if (!plan->watch && make(self, plan, event->block, event->values))
            return;
        plan->made = self->fixed_epoch;
        plan->epoch = plan->nodd ? 0 : self->fixed_epoch;
        for (uint32_t c = 0; c < plan->ncells; c++)
            forget(plan, c);
    }
    for (uint32_t c = 0; c < plan->ncells; c++) { /* there may become more */
        if (!dtrack__hit(&plan->watch->guards[c], event->values))
            settle_cell(self, plan, c, event);
        marked |= dtrack__is_marked(&plan->watch->guards[c], event->values);
    }
    if (marked)
        dtrack__sharing_touch_block(self, hw, plan, event->values);
    if (plan->nodd)
        odds(self, hw, event);
    if (plan->executions == plan->next)
        dtrack__sample(self, plan, event);
    plan->executions++;
    if (plan->tallied)
        dtrack__tally_values(plan, event->values);
    dtrack__arm(self, plan);
}

int dtrack__moved(struct dtrack *self, const struct peet_block *block, const struct peet_direct_watch *watch,
    uint32_t c, uint64_t value)
{
    struct dtrack_plan *plan = &self->plans[block->id];
    const struct peet_direct_guard *g = &watch->guards[c];

    if (plan->watch != watch || plan->epoch != self->fixed_epoch || self->failed)
        return -1;
    dtrack__catch_up(plan);
    if (value - plan->cold[c].lo >= plan->cold[c].hi - plan->cold[c].lo)
        locate(self, plan, c, value);
    hint(self, plan, c, value);
    value -= g->base;
    return plan->watch != watch || self->failed || (value >> g->shift | value << (-g->shift & 63)) >= g->span ? -1 : 0;
}

int dtrack__known(struct dtrack *self, unsigned hw, const struct peet_block *block, const uint64_t *values)
{
    enum { TRY = 4 };
    struct dtrack_plan *const plan = &self->plans[block->id]; /* it has a watch */
    int knows = 0;

    if (plan->luck < TRY) /* mostly there is something new */
        plan->luck++;
    else if (!(knows = dtrack__sharing_knows(self, hw, plan, values)))
        plan->luck = 0;
    return knows;
}

void dtrack__marked(struct dtrack *self, unsigned hw, const struct peet_block *block, const uint64_t *values)
{
    if (!self->failed)
        dtrack__sharing_touch_block(self, hw, &self->plans[block->id], values);
}

/** So many executions with this value were booked, or will be, to where the cell is now; they are taken back from where
 * they were. */
static void unbook(struct dtrack *self, struct dtrack_plan *plan, uint32_t c, uint64_t value, uint64_t times)
{
    struct dtrack_cold *cold = &plan->cold[c];
    const struct peet_direct_guard *g = &plan->watch->guards[c];
    const uint32_t now = cold->data;
    struct dtrack_strides *s;
    struct dtrack_tally *t;
    uint32_t data;

    if (value - cold->hint_lo < cold->hint_hi - cold->hint_lo)
        data = now;
    else
        data = dtrack__find(self, value + (uint64_t)plan->members[cold->first].offset)->data;
    if (data == now) {
        if (g->tally)
            g->tally[value & g->tally_mask] -= times;
        return;
    }
    cold->since -= times; /* they are not among those that are still to be booked */
    t = dtrack__tally(self, data);
    t->reads -= times * cold->reads;
    t->writes -= times * cold->writes;
    cold->data = data;
    if (g->tally)
        cross(self, plan, cold, value, -times);
    s = dtrack__strides(self, cold);
    if (s)
        s->accesses -= times * (cold->reads + cold->writes);
    cold->data = now;
}

void dtrack__undone(struct dtrack *self, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    struct dtrack_plan *plan = block->nrefs ? dtrack__plan(self, block->id) : NULL;

    if (!plan || !plan->watch || self->failed)
        return;
    dtrack__catch_up(plan);
    for (uint32_t c = 0; c < plan->ncells; c++)
        unbook(self, plan, c, values[plan->watch->guards[c].value], times);
    plan->executions -= times;
    dtrack__arm(self, plan);
}

int dtrack__due(struct dtrack *self, const struct peet_block_event *event, const struct peet_direct_watch *watch)
{
    struct dtrack_plan *plan = &self->plans[event->block->id];

    if (plan->watch != watch || plan->epoch != self->fixed_epoch || self->failed)
        return -1;
    dtrack__catch_up(plan);
    if (plan->executions == plan->next)
        dtrack__sample(self, plan, event);
    dtrack__arm(self, plan);
    return 0;
}

void dtrack__plans_fini(struct dtrack *self)
{
    for (uint32_t id = 0; id < self->nplans; id++) {
        struct dtrack_plan *plan = &self->plans[id];

        for (uint32_t c = 0; c < plan->ncells; c++)
            for (struct dtrack_strides *s = plan->cold[c].strides, *next; s; s = next) {
                next = s->next;
                free(s);
            }
        for (uint32_t c = 0; c < plan->ncells; c++)
            free(plan->cold[c].tally);
        free(plan->watch);
        free(plan->cold);
        free(plan->members);
        free(plan->words);
    }
    for (struct dtrack_old_watch *old = self->old_watches, *next; old; old = next) {
        next = old->next;
        free(old->watch);
        free(old);
    }
    free(self->armed);
    free(self->movable);
    free(self->plans);
    free(self->tallies);
}
