/* SPDX-License-Identifier: Apache-2.0 */
/* All caches of a surface at once.  See surface.h for how. */
#include "surface.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
/** Where the processor can do it: a list of 8 is one vector, population counts are one instruction. */
#define V3 __attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2")))
#endif

enum {
    FEWEST_SLOTS = 1 << 13,
    SPARE = 8, /* times as many slots as are live after renumbering */
    NEVER = 0,
    BEYOND = 1,
    FRONT = 2,
    FIRST = 3,
    FIRST_DEPTH = 4, /* of the first mark: 2^4 lines */
    MARKS = PEET_SIM_DEPTHS - FIRST_DEPTH,
    KEPT = (1 << (PEET_SIM_DEPTHS - 1)) - PEET_SIM_FRONT,
};

/* ------------------------------------------------------------------------------------------------ tallies */

void peet_sim_tally_settle(struct peet_sim_tally *t)
{
    for (unsigned n = 0; n <= PEET_SIM_WIDTHS; n++) {
        uint64_t times = t->top[n];

        t->references += times;
        for (unsigned w = 0; w < n; w++) {
            t->reuse[w][0] += times;
            if (w + 1 < n)
                t->same[w][0] += times;
        }
    }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
            t->reuse[w][k] += t->met[w][k][0] + t->met[w][k][1];
            if (w < PEET_SIM_HALVINGS && k < PEET_SIM_COLD)
                t->same[w][k] += t->met[w][k][0];
        }
    memset(t->top, 0, sizeof t->top);
    memset(t->met, 0, sizeof t->met);
}

void peet_sim_tally_add(struct peet_sim_tally *to, const struct peet_sim_tally *from, int sign)
{
    uint64_t s = (uint64_t)(int64_t)sign;

    to->references += s * from->references;
    for (unsigned n = 0; n <= PEET_SIM_WIDTHS; n++)
        to->top[n] += s * from->top[n];
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_MEETINGS; k++) {
            to->met[w][k][0] += s * from->met[w][k][0];
            to->met[w][k][1] += s * from->met[w][k][1];
        }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            to->reuse[w][k] += s * from->reuse[w][k];
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS - 1; k++)
            to->same[h][k] += s * from->same[h][k];
}

/* -------------------------------------------------------------------------------------------------- marks */

/** So many binary digits. */
static inline unsigned bits(uint32_t n)
{
    return n ? 32 - (unsigned)__builtin_clz(n) : 0;
}

/** So many lines behind the front are before the line of distance 2^(4 + mark). */
static inline int32_t back(unsigned mark)
{
    return (1 << (mark + FIRST_DEPTH)) - PEET_SIM_FRONT;
}

/** Narrow, so that few slots are between marks; wide, so that marks seldom move. */
static inline int32_t slack(unsigned mark)
{
    return mark ? mark < 3 ? 8 << mark : mark < 8 ? 64 : 1 << (mark - 1) : 7;
}

/** The @n-th bit that is set. */
static inline unsigned nth_plain(uint64_t word, int32_t n)
{
    while (--n > 0)
        word &= word - 1;
    return (unsigned)__builtin_ctzll(word);
}

#ifdef __x86_64__
V3 static inline unsigned nth_v3(uint64_t word, int32_t n)
{
    return (unsigned)__builtin_ctzll(_pdep_u64(1ull << (n - 1), word));
}
#endif

/**
 * Marks with nothing left move on, behind the next live slots.  Where `sure` was, there is the line of just the mark's
 * distance now.
 * @due: a bit for each
 */
static inline __attribute__((always_inline)) void move_marks(struct peet__sim_stack *s, unsigned due, int v3)
{
    for (; due; due &= due - 1) {
        unsigned mark = (unsigned)__builtin_ctz(due), i = (unsigned)s->sure[mark] / 64;
        uint64_t word = s->live[i] & ~0ull << s->sure[mark] % 64;
        int32_t n = slack(mark), here;

        while ((here = __builtin_popcountll(word)) < n) {
            n -= here;
            word = s->live[++i];
        }
        s->near[mark] = s->sure[mark];
        s->left[mark] = slack(mark);
#ifdef __x86_64__
        s->sure[mark] = (int32_t)(i * 64 + (v3 ? nth_v3(word, n) : nth_plain(word, n)) + 1);
#else
        s->sure[mark] = (int32_t)(i * 64 + nth_plain(word, n) + 1);
        (void)v3;
#endif
    }
}

static __attribute__((noinline)) void move_marks_plain(struct peet__sim_stack *s, unsigned due)
{
    move_marks(s, due, 0);
}

#ifdef __x86_64__
V3 static __attribute__((noinline)) void move_marks_v3(struct peet__sim_stack *s, unsigned due)
{
    move_marks(s, due, 1);
}
#endif

/** As they are if the first @n slots are live, and no other. */
static void set_marks(struct peet__sim_stack *s, int32_t n)
{
    for (unsigned i = 0; i < PEET_SIM_MARKS; i++) {
        int enough = i < MARKS && n >= back(i);

        s->near[i] = enough ? n - back(i) : i < MARKS ? 0 : INT32_MIN;
        s->sure[i] = enough ? n - back(i) + slack(i) : i < MARKS ? 0 : INT32_MIN;
        s->left[i] = enough ? slack(i) : i < MARKS ? back(i) - n : INT32_MAX;
    }
}

/** Live slots after this one, before another one. */
static inline int32_t between(const uint64_t *live, int32_t slot, int32_t end)
{
    uint32_t i = (uint32_t)slot / 64, last = (uint32_t)end / 64;
    uint64_t word = live[i] & (~1ull << slot % 64);
    int32_t n = 0;

    for (; i != last; word = live[++i])
        n += __builtin_popcountll(word);
    return n + __builtin_popcountll(word & ((1ull << end % 64) - 1));
}

/** A slot that is between the marks of a depth. */
static inline unsigned bucket_between(const struct peet__sim_stack *s, int32_t slot, unsigned mark, int32_t left)
{
    return FIRST_DEPTH + mark + (between(s->live, slot, s->sure[mark]) >= left);
}

/** Without any change.  @slot: live */
static unsigned bucket_of(const struct peet__sim_stack *s, int32_t slot)
{
    unsigned mark = 0;

    while (mark < MARKS && slot < s->near[mark])
        mark++;
    return mark < MARKS && slot < s->sure[mark] ? bucket_between(s, slot, mark, s->left[mark]) : FIRST_DEPTH + mark;
}

/** A line of this slot (negative: none) becomes the newest behind the front.  Returns: the slot's bucket; *out_due:
 * marks that have to move, a bit for each */
static inline unsigned pass_plain(struct peet__sim_stack *s, int32_t slot, unsigned *out_due)
{
    unsigned bucket = bucket_of(s, slot);

    *out_due = 0;
    for (unsigned i = 0; i < MARKS; i++) {
        s->left[i] -= slot < s->sure[i];
        *out_due |= (unsigned)(s->left[i] <= 0) << i;
    }
    return bucket;
}

/** Where in the front the line is; it is the newest afterwards.  Returns: PEET_SIM_FRONT if it was not there */
static inline unsigned find_plain(struct peet__sim_stack *s, uint32_t line)
{
    unsigned at = 0;

    while (at < PEET_SIM_FRONT && s->front[at] != line)
        at++;
    for (unsigned i = at < PEET_SIM_FRONT ? at : PEET_SIM_FRONT - 1; i; i--)
        s->front[i] = s->front[i - 1];
    s->front[0] = line;
    return at;
}

#ifdef __x86_64__
V3 static inline unsigned pass_v3(struct peet__sim_stack *s, int32_t slot, unsigned *out_due)
{
    __m256i *left = (__m256i *)(void *)s->left;
    const __m256i at = _mm256_set1_epi32(slot), *near = (const __m256i *)(const void *)s->near;
    const __m256i *sure = (const __m256i *)(const void *)s->sure, one = _mm256_set1_epi32(1);
    const __m256i near0 = _mm256_cmpgt_epi32(near[0], at), near1 = _mm256_cmpgt_epi32(near[1], at);
    const __m256i sure0 = _mm256_cmpgt_epi32(sure[0], at), sure1 = _mm256_cmpgt_epi32(sure[1], at);
    const __m256i left0 = _mm256_add_epi32(left[0], sure0), left1 = _mm256_add_epi32(left[1], sure1);
    /* two bits for each mark */
    const unsigned beyond = (unsigned)_mm256_movemask_epi8(_mm256_packs_epi32(near0, near1));
    const unsigned perhaps = (unsigned)_mm256_movemask_epi8(_mm256_packs_epi32(sure0, sure1));
    unsigned mark = (unsigned)_mm_popcnt_u32(beyond) / 2, bucket = FIRST_DEPTH + mark;

    if (__builtin_expect(beyond != perhaps && slot >= 0, 0))
        bucket = bucket_between(s, slot, mark, s->left[mark]);
    left[0] = left0;
    left[1] = left1;
    *out_due = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(one, left0))) |
        (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(one, left1))) << 8;
    return bucket;
}

static const uint32_t to_front[PEET_SIM_FRONT][PEET_SIM_FRONT] __attribute__((aligned(32))) = {
    {0, 1, 2, 3, 4, 5, 6, 7},
    {1, 0, 2, 3, 4, 5, 6, 7},
    {2, 0, 1, 3, 4, 5, 6, 7},
    {3, 0, 1, 2, 4, 5, 6, 7},
    {4, 0, 1, 2, 3, 5, 6, 7},
    {5, 0, 1, 2, 3, 4, 6, 7},
    {6, 0, 1, 2, 3, 4, 5, 7},
    {7, 0, 1, 2, 3, 4, 5, 6},
};

V3 static inline unsigned find_v3(struct peet__sim_stack *s, uint32_t line)
{
    __m256i *front = (__m256i *)(void *)s->front;
    const __m256i lines = *front, wanted = _mm256_set1_epi32((int)line);
    const unsigned is = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(lines, wanted)));
    const unsigned at = (unsigned)__builtin_ctz(is | 1u << (PEET_SIM_FRONT - 1));
    const __m256i *order = (const __m256i *)(const void *)to_front[at];

    *front = _mm256_blend_epi32(_mm256_permutevar8x32_epi32(lines, *order), wanted, 1);
    return is ? at : PEET_SIM_FRONT;
}
#endif

/* -------------------------------------------------------------------------------------------- one LRU stack */

static int stack_init(struct peet__sim_stack *s)
{
    memset(s, 0, sizeof *s);
    s->live = calloc(PEET_SIM_SLOTS / 64 + 1, sizeof *s->live);
    s->line = malloc(PEET_SIM_SLOTS * sizeof *s->line);
    s->end = FEWEST_SLOTS;
    set_marks(s, 0);
    return s->live && s->line ? 0 : -1;
}

static void stack_fini(struct peet__sim_stack *s)
{
    free(s->live);
    free(s->line);
}

/** Where it is noted when a line was referenced last. */
static inline uint32_t *last_of(const struct peet_sim_surface *s, unsigned width, uint32_t line)
{
    return &s->records_of[line >> width]->last[1u << width | (line & ((1u << width) - 1))];
}

/** The first @n slots are live, and no other. */
static void begin_slots(struct peet__sim_stack *s, uint32_t n)
{
    uint32_t words = (s->next + 63) / 64, end = SPARE * n;

    memset(s->live, 0, words * sizeof *s->live);
    memset(s->live, 0xff, n / 64 * sizeof *s->live);
    s->live[n / 64] = (1ull << n % 64) - 1;
    s->next = n;
    s->end = end < FEWEST_SLOTS ? FEWEST_SLOTS : end > PEET_SIM_SLOTS ? PEET_SIM_SLOTS : end;
    set_marks(s, (int32_t)n);
}

/** Slots are used up: invariant 6.  There is room for several times as many as are left, so that few are moved for a
 * reference; slots of a small working set stay in the processor's cache. */
static __attribute__((noinline)) void renumber(struct peet_sim_surface *surface, unsigned width)
{
    struct peet__sim_stack *s = &surface->stacks[width];
    uint32_t live = 0, drop, words = (s->next + 63) / 64, to = 0;

    for (uint32_t i = 0; i < words; i++)
        live += (uint32_t)__builtin_popcountll(s->live[i]);
    drop = live > KEPT ? live - KEPT : 0;
    for (uint32_t i = 0; i < words; i++)
        for (uint64_t word = s->live[i]; word; word &= word - 1) {
            uint32_t line = s->line[i * 64 + (uint32_t)__builtin_ctzll(word)];

            if (drop) {
                *last_of(surface, width, line) = BEYOND;
                drop--;
                continue;
            }
            *last_of(surface, width, line) = to + FIRST;
            s->line[to++] = line;
        }
    begin_slots(s, to);
}

/** What a line that is not in the stack counts as. */
static inline unsigned not_there(const struct peet_sim_surface *surface, struct peet__sim_stack *s, uint32_t was)
{
    if (was != NEVER)
        return PEET_SIM_BEYOND;
    s->lines++;
    return surface->bursts ? PEET_SIM_UNSEEN + bits(s->lines - 1) : PEET_SIM_COLD;
}

/** A line that was not in the front is there now, and @oldest, if it is one, has left it.  Returns: the line's bucket
 */
static inline __attribute__((always_inline)) unsigned pass(struct peet_sim_surface *surface, unsigned width,
    uint32_t *last, uint32_t oldest, int v3)
{
    struct peet__sim_stack *s = &surface->stacks[width];
    uint32_t was;
    int32_t slot;
    unsigned bucket, due;

    if (__builtin_expect(s->next == s->end, 0))
        renumber(surface, width);
    was = *last;
    *last = FRONT;
    if (__builtin_expect(!oldest, 0)) /* the front was not full: nothing is behind it */
        return not_there(surface, s, was);
    slot = (int32_t)was - FIRST;
#ifdef __x86_64__
    bucket = v3 ? pass_v3(s, slot, &due) : pass_plain(s, slot, &due);
#else
    bucket = pass_plain(s, slot, &due);
    (void)v3;
#endif
    if (slot >= 0)
        s->live[slot / 64] &= ~(1ull << slot % 64);
    else
        bucket = not_there(surface, s, was);
    s->live[s->next / 64] |= 1ull << s->next % 64;
    s->line[s->next] = oldest;
    *last_of(surface, width, oldest) = s->next + FIRST;
    s->next++;
    if (__builtin_expect(due, 0)) {
#ifdef __x86_64__
        if (v3)
            move_marks_v3(s, due);
        else
#endif
            move_marks_plain(s, due);
    }
    return bucket;
}

static __attribute__((noinline)) unsigned come_back_plain(struct peet_sim_surface *s, unsigned width, uint32_t *last,
    uint32_t oldest)
{
    return pass(s, width, last, oldest, 0);
}

#ifdef __x86_64__
V3 static __attribute__((noinline)) unsigned come_back_v3(struct peet_sim_surface *s, unsigned width, uint32_t *last,
    uint32_t oldest)
{
    return pass(s, width, last, oldest, 1);
}
#endif

/* ------------------------------------------------------------------------------------------------- surfaces */

/** Halves of nodes on the way to each word of a line, and the nodes themselves. */
static uint64_t way[128][2], nodes[128][2];

static void __attribute__((constructor)) prepare(void)
{
    for (unsigned leaf = 0; leaf < 128; leaf++)
        for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++) {
            unsigned node = 1u << h | leaf >> (7 - h);

            nodes[leaf][node / 64] |= 1ull << node % 64;
            way[leaf][node / 64] |= (uint64_t)(leaf >> (6 - h) & 1) << node % 64;
        }
}

/** Widths of which a reference finds its line on top: the highest bit in which addresses differ says it. */
static inline int on_top(const struct peet_sim_surface *s, uint64_t address)
{
    uint64_t x = address ^ s->last;
    int width;

    if (!s->begun || x >> PEET_SIM_WIDEST_SHIFT)
        return 0;
    width = 63 - __builtin_clzll(x | 2); /* 1: the same word */
    return PEET_SIM_WIDEST_SHIFT - width > PEET_SIM_WIDTHS ? PEET_SIM_WIDTHS : PEET_SIM_WIDEST_SHIFT - width;
}

/** The first reference to a record.  Returns: 0, or -1 without memory */
static __attribute__((noinline)) int new_record(struct peet_sim_surface *s, struct peet__sim_record *r)
{
    enum { MOST = 1 << (32 - PEET_SIM_HALVINGS) };

    if (s->nrecords + 1 >= s->room) {
        uint32_t room = s->room ? 2 * s->room : 256;
        struct peet__sim_record **more = room <= MOST ? realloc(s->records_of, room * sizeof *more) : NULL;

        if (!more)
            return -1;
        s->records_of = more;
        s->room = room;
    }
    s->blocks += !r->epoch;
    memset(r, 0, sizeof *r);
    s->records_of[++s->nrecords] = r;
    r->last[0] = s->nrecords;
    r->epoch = s->epoch;
    return 0;
}

static __attribute__((noinline)) int no_memory(struct peet_sim_surface *s)
{
    s->failed = 1;
    return -1;
}

#ifdef __x86_64__
V3 static inline unsigned low_bits_v3(uint64_t low, unsigned leaf)
{
    return (unsigned)_pext_u64(low, nodes[leaf][0]);
}
#endif

/** A bit for each halving: the reference is not in the half that was referenced last. */
static inline __attribute__((always_inline)) unsigned changed(struct peet__sim_record *r, unsigned leaf, int v3)
{
    uint64_t low = (r->half[0] ^ way[leaf][0]) & nodes[leaf][0], high = (r->half[1] ^ way[leaf][1]) & nodes[leaf][1];
    unsigned path = 0;

    r->half[0] ^= low;
    r->half[1] ^= high;
#ifdef __x86_64__
    if (v3)
        return low_bits_v3(low, leaf) | (unsigned)(high != 0) << 6;
#endif
    (void)v3;
    for (unsigned h = 0; h < PEET_SIM_HALVINGS - 1; h++)
        path |= (unsigned)(low >> (1u << h | leaf >> (7 - h)) & 1) << h;
    return path | (unsigned)(high != 0) << 6;
}

/** A reference at one width at which it is not on top.  @other: a bit for each halving, see changed() */
static inline __attribute__((always_inline)) void step(struct peet_sim_surface *s, struct peet__sim_record *r,
    const unsigned w, unsigned leaf, unsigned other, struct peet_sim_tally *tally, struct peet_sim_found *found, int v3)
{
    static const uint8_t bucket_in_front[PEET_SIM_FRONT] = {0, 1, 2, 2, 3, 3, 3, 3};
    struct peet__sim_stack *k = &s->stacks[w];
    const uint32_t line = r->last[0] << w | leaf >> (PEET_SIM_HALVINGS - w), oldest = k->front[PEET_SIM_FRONT - 1];
    uint32_t *last = &r->last[1u << w | leaf >> (PEET_SIM_HALVINGS - w)];
    unsigned at, bucket;

#ifdef __x86_64__
    at = v3 ? find_v3(k, line) : find_plain(k, line);
    if (__builtin_expect(at < PEET_SIM_FRONT, 1))
        bucket = bucket_in_front[at];
    else
        bucket = v3 ? come_back_v3(s, w, last, oldest) : come_back_plain(s, w, last, oldest);
#else
    at = find_plain(k, line);
    bucket = at < PEET_SIM_FRONT ? bucket_in_front[at] : come_back_plain(s, w, last, oldest);
    (void)v3;
#endif
    tally->met[w][bucket][other >> w & 1]++;
    if (found)
        found->bucket[w] = (uint8_t)bucket;
}

static inline __attribute__((always_inline)) int body(struct peet_sim_surface *s, uint64_t address,
    struct peet_sim_tally *tally, struct peet_sim_found *found, int v3)
{
    struct peet__sim_record *r = s->record;
    unsigned leaf = address >> 2 & 127, other;
    int top = on_top(s, address), w;

    if (!top) {
        r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
        if (__builtin_expect(!r, 0) || (__builtin_expect(r->epoch != s->epoch, 0) && new_record(s, r)))
            return no_memory(s);
        s->record = r;
    }
    s->last = address;
    s->begun = 1;
    other = changed(r, leaf, v3);
    tally->top[top]++;
    for (w = 0; found && w < top; w++)
        found->bucket[w] = 0;
    for (w = 0; found && w < PEET_SIM_HALVINGS; w++)
        found->same[w] = !(other >> w & 1);
    switch (top) { /* the code of each width is its own: numbers in it are constants */
    case 0:
        step(s, r, 0, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 1:
        step(s, r, 1, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 2:
        step(s, r, 2, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 3:
        step(s, r, 3, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 4:
        step(s, r, 4, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 5:
        step(s, r, 5, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 6:
        step(s, r, 6, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    case 7:
        step(s, r, 7, leaf, other, tally, found, v3);
        __attribute__((fallthrough));
    default:
        break;
    }
    return top;
}

static int touch_plain(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally)
{
    return body(s, address, tally, NULL, 0);
}

#ifdef __x86_64__
V3 static int touch_v3(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally)
{
    return body(s, address, tally, NULL, 1);
}
#endif

int peet_sim_surface_find(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally,
    struct peet_sim_found *out_found)
{
    return body(s, address, tally, out_found, 0) < 0 ? -1 : 0;
}

/** Of a line: the bucket in which a reference would find it. */
static unsigned where(const struct peet_sim_surface *s, unsigned width, uint32_t line, uint32_t last)
{
    const struct peet__sim_stack *k = &s->stacks[width];
    unsigned at = 0;

    if (last < FRONT)
        return last == NEVER ? PEET_SIM_COLD : PEET_SIM_BEYOND;
    if (last >= FIRST)
        return bucket_of(k, (int32_t)last - FIRST);
    while (at < PEET_SIM_FRONT - 1 && k->front[at] != line)
        at++;
    return bits(at);
}

void peet_sim_surface_where(struct peet_sim_surface *s, uint64_t address, unsigned last_width,
    uint8_t out[PEET_SIM_NODES])
{
    const struct peet__sim_record *r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);

    for (unsigned node = 1; node < 2u << last_width; node++) {
        unsigned width = 31 - (unsigned)__builtin_clz(node);

        out[node] = PEET_SIM_COLD;
        if (r && r->epoch == s->epoch)
            out[node] = (uint8_t)where(s, width, r->last[0] << width | (node ^ 1u << width), r->last[node]);
    }
}

void peet_sim_surface_forget(struct peet_sim_surface *s)
{
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        struct peet__sim_stack *k = &s->stacks[w];

        memset(k->front, 0, sizeof k->front);
        begin_slots(k, 0);
        k->lines = 0;
    }
    s->nrecords = 0;
    s->begun = 0;
    s->epoch++;
}

int peet_sim_surface_half(struct peet_sim_surface *s, uint64_t address, unsigned node)
{
    const struct peet__sim_record *r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);

    return !r || r->epoch != s->epoch || r->last[node] == NEVER ? -1 : (int)(r->half[node / 64] >> node % 64 & 1);
}

struct peet_sim_surface *peet_sim_surface_new(void)
{
    struct peet_sim_surface *s = aligned_alloc(_Alignof(struct peet_sim_surface), sizeof *s);
    int status = 0;

    if (!s)
        return NULL;
    memset(s, 0, sizeof *s);
    peet_sim_linemap_init(&s->records, sizeof(struct peet__sim_record));
    s->touch = touch_plain;
    s->epoch = 1;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        s->touch = touch_v3;
#endif
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        status |= stack_init(&s->stacks[w]);
    if (status) {
        peet_sim_surface_free(s);
        return NULL;
    }
    return s;
}

void peet_sim_surface_free(struct peet_sim_surface *s)
{
    if (!s)
        return;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++)
        stack_fini(&s->stacks[w]);
    peet_sim_linemap_fini(&s->records);
    free(s->records_of);
    free(s);
}

static int copy_record(void *arg, uint64_t line, void *record)
{
    struct peet_sim_surface *to = arg;
    const struct peet__sim_record *r = record;
    struct peet__sim_record *mine;

    if (r->epoch != to->epoch)
        return 0;
    mine = peet_sim_linemap_get(&to->records, line);
    if (!mine)
        return -1;
    *mine = *r;
    to->records_of[r->last[0]] = mine;
    return 0;
}

struct peet_sim_surface *peet_sim_surface_copy(const struct peet_sim_surface *s)
{
    struct peet_sim_surface *to = peet_sim_surface_new();

    if (to) {
        to->records_of = calloc(s->room + 1, sizeof *to->records_of);
        to->room = s->room;
        to->nrecords = s->nrecords;
        to->epoch = s->epoch;
        to->bursts = s->bursts;
    }
    if (!to || !to->records_of || peet_sim_linemap_each(&s->records, copy_record, to)) {
        peet_sim_surface_free(to);
        return NULL;
    }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        const struct peet__sim_stack *a = &s->stacks[w];
        struct peet__sim_stack *b = &to->stacks[w];
        uint64_t *live = b->live;
        uint32_t *line = b->line;

        *b = *a;
        b->live = memcpy(live, a->live, PEET_SIM_SLOTS / 64 * sizeof *live);
        b->line = memcpy(line, a->line, a->next * sizeof *line);
    }
    to->last = s->last;
    to->begun = s->begun;
    to->failed = s->failed;
    to->record = s->begun ? peet_sim_linemap_get(&to->records, s->last >> PEET_SIM_WIDEST_SHIFT) : NULL;
    return to;
}
