/* SPDX-License-Identifier: Apache-2.0 */
/* References to lines that are not near: zones and their marks. */
#include "surface_parts.h"

/** Groups before this one are nothing to the mark any more. */
static INLINE void set_from(struct peet__sim_mark *m, uint32_t group)
{
    m->from = group;
    if (m->slot / GROUP < group) {
        m->slot = m->to * GROUP - 1;
        m->counted = 0;
    }
}

/** A mark beyond which too few lines are left. */
static INLINE void move_mark(struct peet_sim_surface *s, unsigned w, unsigned mark)
{
    struct peet__sim_mark *m = &s->marks[w][mark];
    uint32_t g = m->to, n = s->after[mark][w];

    for (; n > lines_of(mark) - slack(mark); g++) {
        n -= ones(s->live[g][w]);
        *zone_of(s, w, g) = code_of(2 * mark + 1);
    }
    m->to = g;
    m->counted += s->after[mark][w] - n;
    s->after[mark][w] = n;
    if (mark && m[-1].from < g)
        set_from(m - 1, g);
}

/** A group begins: what came since the last one is summed up, and marks that it brings too near move on. */
static INLINE void sum_up(struct peet_sim_surface *s, uint32_t group)
{
    sum_groups(s, group);
    s->zone[group] = bytes * UNSURE;
    for (unsigned w = 0; w < WIDTHS; w++) {
        uint64_t came = s->came[w];

        for (unsigned mark = 0; came; mark++, came >>= FIELD) {
            s->after[mark][w] += (uint32_t)came & 63;
            if (s->after[mark][w] > lines_of(mark) - GROUP)
                move_mark(s, w, mark);
        }
        s->came[w] = 0;
    }
}

/** Live slots after this one, up to a later one. */
static INLINE uint32_t span(uint32_t (*live)[WIDTHS], unsigned w, uint32_t slot, uint32_t last)
{
    return between(live, w, slot, last / GROUP + 1) - ones(live[last / GROUP][w] & ~1u << last % GROUP);
}

/** Where slots are counted: live ones after this one, before m->to.  The next count goes on from here. */
static INLINE uint32_t count_on(struct peet__sim_mark *m, uint32_t (*live)[WIDTHS], unsigned w, uint32_t slot)
{
    if (slot < m->slot)
        m->counted += span(live, w, slot, m->slot);
    else
        m->counted -= span(live, w, m->slot, slot);
    m->slot = slot;
    return m->counted;
}

/** Of a line that is beyond the stack its record knows which half was referenced last.  Returns: OTHER or 0 */
static INLINE unsigned half_beyond(const struct peet__sim_batch *b, unsigned i, unsigned w)
{
    const unsigned half = b->leaf[i] >> (PEET_SIM_HALVINGS - 1 - w) & 1;
    unsigned bit;

    return (*half_of(b->record[i], node_of(w, b->leaf[i]), &bit) >> bit & 1) != half ? OTHER : 0;
}

/** What a line that is nowhere counts as, + OTHER. */
static INLINE unsigned nowhere(struct peet_sim_surface *s, const struct peet__sim_batch *b, unsigned i, unsigned w)
{
    if (b->was[i][w] == BEYOND)
        return PEET_SIM_BEYOND | (w < PEET_SIM_HALVINGS ? half_beyond(b, i, w) : 0);
    s->lines[w]++;
    return s->bursts ? PEET_SIM_UNSEEN + bits(s->lines[w] - 1) : PEET_SIM_COLD;
}

/** All up to m->slot is farther than the mark, and maybe more.  @lines: after that slot */
static INLINE void raise_from(struct peet_sim_surface *s, unsigned w, unsigned mark, uint32_t lines)
{
    struct peet__sim_mark *m = &s->marks[w][mark];
    const uint32_t at = m->slot / GROUP;
    uint32_t g = m->from, n = lines + ones(s->live[at][w] & ((2u << m->slot % GROUP) - 1));

    for (; g < at; g++)
        *zone_of(s, w, g) = code_of(2 * mark + 2);
    for (; g < m->to && n - ones(s->live[g][w]) >= lines_of(mark); g++) {
        n -= ones(s->live[g][w]);
        *zone_of(s, w, g) = code_of(2 * mark + 2);
    }
    set_from(m, g);
}

/** The bucket, + OTHER, of a line that is not in the newest zone. */
static INLINE unsigned bucket_far(struct peet_sim_surface *s, const struct peet__sim_batch *b, unsigned i, unsigned w,
    unsigned code)
{
    const unsigned mark = (code & (unsigned)~UNSURE) - 1;
    const uint32_t was = b->was[i][w];
    struct peet__sim_mark *m = &s->marks[w][mark];
    uint32_t lines;

    if (!(code & UNSURE))
        return NEAREST + code;
    if (was < FIRST)
        return nowhere(s, b, i, w);
    lines = s->after[mark][w] + passed(s->came[w], mark);
    if (was > m->slot && lines + m->counted < lines_of(mark)) { /* nearer than a slot that is near enough */
        m->counted--;
        return NEAREST + mark;
    }
    lines += count_on(m, s->live, w, was);
    if (lines < lines_of(mark))
        return NEAREST + mark;
    raise_from(s, w, mark, lines);
    return NEAREST + mark + 1;
}

/** Live slots of a width after this one, but for the newest two groups. */
static INLINE uint32_t newer_than(const struct peet_sim_surface *s, unsigned w, uint32_t slot)
{
    uint32_t sum = slot / GROUP / PEET_SIM_SUM + 1, end = sum * PEET_SIM_SUM, n;

    n = between(s->live, w, slot, end < s->summed ? end : s->summed);
    for (; sum * PEET_SIM_SUM < s->summed; sum++)
        n += s->sums[sum][w];
    return n;
}

void peet__sim_far_plain(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        for (unsigned far = b->far[i]; far; far &= far - 1) {
            const unsigned w = (unsigned)__builtin_ctz(far);
            const uint32_t was = b->was[i][w], group = was / GROUP;
            const unsigned code = *zone_of(s, w, group);

            b->finding[i][w] |=
                (uint8_t)(code == UNSURE ? bits(newer_than(s, w, was) + b->newest[w]) : bucket_far(s, b, i, w, code));
            s->live[group][w] &= ~(1u << was % GROUP);
            s->sums[group / PEET_SIM_SUM][w]--;
            s->came[w] += passes(code);
            b->newest[w]++;
        }
}

void peet__sim_far_begin_plain(struct peet_sim_surface *s, uint32_t group)
{
    sum_up(s, group);
}

#ifdef __x86_64__
/** A bit for each width as a vector. */
V3 static INLINE __m256i vector_of(unsigned widths)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)widths), bit), bit);
}

/** Live slots of each width after this one, but for the newest two groups.  Vectors are those that are stored
 * elsewhere: a load of two that were stored just now would have to wait. */
V3 static INLINE __m256i newer_v3(const struct peet_sim_surface *s, uint32_t slot)
{
    const uint32_t group = slot / GROUP, next = group / PEET_SIM_SUM + 1;
    const __m256i *at = (const __m256i *)(const void *)s->live[group],
                  *end = (const __m256i *)(const void *)
                             s->live[next * PEET_SIM_SUM < s->summed ? next * PEET_SIM_SUM : s->summed],
                  *sum = (const __m256i *)(const void *)s->sums[next],
                  *sum_end = (const __m256i *)(const void *)s->sums[(s->summed - 1) / PEET_SIM_SUM + 1];
    __m256i some = counts(_mm256_and_si256(*at++, _mm256_set1_epi32((int)(~1u << slot % GROUP)))), n;

    for (; at < end; at++) /* bytes are up to 8 times 8 */
        some = _mm256_add_epi8(some, counts(*at));
    for (n = sum_of_bytes(some); sum < sum_end; sum++)
        n = _mm256_add_epi32(n, *sum);
    return n;
}

V4 static INLINE __m256i newer_v4(const struct peet_sim_surface *s, uint32_t slot)
{
    const uint32_t group = slot / GROUP, next = group / PEET_SIM_SUM + 1;
    const __m256i *at = (const __m256i *)(const void *)s->live[group],
                  *end = (const __m256i *)(const void *)
                             s->live[next * PEET_SIM_SUM < s->summed ? next * PEET_SIM_SUM : s->summed],
                  *sum = (const __m256i *)(const void *)s->sums[next],
                  *sum_end = (const __m256i *)(const void *)s->sums[(s->summed - 1) / PEET_SIM_SUM + 1];
    __m256i n = _mm256_popcnt_epi32(_mm256_and_si256(*at++, _mm256_set1_epi32((int)(~1u << slot % GROUP))));

    for (; at < end; at++)
        n = _mm256_add_epi32(n, _mm256_popcnt_epi32(*at));
    for (; sum < sum_end; sum++)
        n = _mm256_add_epi32(n, *sum);
    return n;
}

/** Buckets of lines of the newest zone, a byte for each width.  @n: live slots after theirs, but for the newest two groups */
V3 static INLINE uint64_t newest_v3(__m256i n, const struct peet__sim_batch *b, unsigned widths)
{
    uint32_t lines[WIDTHS] __attribute__((aligned(32)));
    uint64_t found = 0;

    _mm256_store_si256((__m256i *)(void *)lines,
        _mm256_add_epi32(n, _mm256_load_si256((const __m256i *)(const void *)b->newest)));
    for (; widths; widths &= widths - 1)
        found |= (uint64_t)bits(lines[__builtin_ctz(widths)]) << 8 * __builtin_ctz(widths);
    return found;
}
V4 static INLINE uint64_t newest_v4(__m256i n, const struct peet__sim_batch *b, unsigned widths)
{
    const __m256i lines = _mm256_add_epi32(n, _mm256_load_si256((const __m256i *)(const void *)b->newest)),
                  found = _mm256_sub_epi32(_mm256_set1_epi32(32), _mm256_lzcnt_epi32(lines));

    return (uint64_t)_mm_cvtsi128_si64(_mm256_maskz_cvtepi32_epi8((__mmask8)widths, found));
}

typedef __m256i newer_all(const struct peet_sim_surface *s, uint32_t slot);
typedef uint64_t newest_all(__m256i n, const struct peet__sim_batch *b, unsigned widths);

/** Of a word's lines, if they are beyond the stack, those whose other half was referenced last: a bit for each width. */
V3 static INLINE unsigned halves_beyond(struct peet__sim_record *r, unsigned leaf)
{
    const unsigned in_top = 1u << 1 | 1u << (2 + leaf / 64) | 1u << (4 + leaf / 32) | 1u << (8 + leaf / 16),
                   in_row = 1u << 1 | 1u << (2 + leaf / 4 % 2) | 1u << (4 + leaf / 2 % 4) | 1u << (8 + leaf % 8);
    const unsigned last =
        _pext_u32(r->last[1][0] >> PEET_SIM_ROW, in_top) | _pext_u32(r->last[1 + leaf / 8][0], in_row) << TOP;
    unsigned now = leaf << 1; /* a byte, whose bits are turned round: the widest line's half is its lowest bit */

    now = (now & 0x0f) << 4 | now >> 4;
    now = (now & 0x33) << 2 | (now & 0xcc) >> 2;
    now = (now & 0x55) << 1 | (now & 0xaa) >> 1;
    return (last ^ now) & ((1u << PEET_SIM_HALVINGS) - 1);
}

/** Widths that have the same slot, some of which must be counted.  @codes: 0 at other widths.  Returns: buckets, + OTHER,
 * of those */
V3 static INLINE uint64_t count_far(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned i, uint32_t was,
    uint64_t codes, newer_all *newer, newest_all *newest)
{
    unsigned left = (unsigned)_pext_u64(codes, bytes * UNSURE),
             known = (unsigned)_pext_u64((codes & ~(bytes * UNSURE)) + bytes * (UNSURE - 1), bytes * UNSURE);
    uint64_t found = 0;

    if (was == NEVER && !s->bursts) {
        __m256i *lines = (__m256i *)(void *)s->lines;

        *lines = _mm256_sub_epi32(*lines, vector_of(left));
        return PEET_SIM_COLD * _pdep_u64(left, bytes);
    }
    if (was == BEYOND)
        return PEET_SIM_BEYOND * _pdep_u64(left, bytes) |
            OTHER * _pdep_u64(left & halves_beyond(b->record[i], b->leaf[i]), bytes);
    if (left & ~known) /* the newest zone */
        found = newest(newer(s, was), b, left & ~known);
    for (left &= known; left; left &= left - 1) {
        const unsigned w = (unsigned)__builtin_ctz(left);

        found |= (uint64_t)bucket_far(s, b, i, w, codes >> 8 * w & 255) << 8 * w;
    }
    return found;
}

typedef uint64_t count_all(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned i, uint32_t was,
    uint64_t codes);
V3 static __attribute__((noinline)) uint64_t count_v3(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned i,
    uint32_t was, uint64_t codes)
{
    return count_far(s, b, i, was, codes, newer_v3, newest_v3);
}
V4 static __attribute__((noinline)) uint64_t count_v4(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned i,
    uint32_t was, uint64_t codes)
{
    return count_far(s, b, i, was, codes, newer_v4, newest_v4);
}

/** Slots of some widths are not live any more. */
V3 static INLINE void clear_v3(__m256i *live, __m256i *sum, unsigned widths, uint32_t slot)
{
    const __m256i at = vector_of(widths), bit = _mm256_set1_epi32((int)(1u << slot % GROUP));

    *live = _mm256_andnot_si256(_mm256_and_si256(at, bit), *live);
    *sum = _mm256_add_epi32(*sum, at); /* less 1 */
}
V4 static INLINE void clear_v4(__m256i *live, __m256i *sum, unsigned widths, uint32_t slot)
{
    const __m256i bit = _mm256_set1_epi32((int)(1u << slot % GROUP));

    *live = _mm256_mask_andnot_epi32(*live, (__mmask8)widths, bit, *live);
    *sum = _mm256_mask_sub_epi32(*sum, (__mmask8)widths, *sum, _mm256_set1_epi32(1));
}

/** What came from zones, and how many are newest now.  Of all fields, as many as a code says count 1. */
V3 static INLINE void pass_v3(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned far, uint64_t codes)
{
    const __m128i less = _mm_cvtsi64_si128((long long)(bytes * FIELDS - FIELD * codes));
    const __m256i each = _mm256_set1_epi64x((long long)each_field);
    __m256i *low = (__m256i *)(void *)s->came, *high = low + 1, *newest = (__m256i *)(void *)b->newest;

    *low = _mm256_add_epi64(*low, _mm256_srlv_epi64(each, _mm256_cvtepu8_epi64(less)));
    *high = _mm256_add_epi64(*high, _mm256_srlv_epi64(each, _mm256_cvtepu8_epi64(_mm_srli_si128(less, 4))));
    *newest = _mm256_sub_epi32(*newest, vector_of(far));
}
V4 static INLINE void pass_v4(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned far, uint64_t codes)
{
    const __m128i less = _mm_cvtsi64_si128((long long)(bytes * FIELDS - FIELD * codes));
    const __m512i each = _mm512_set1_epi64((long long)each_field);
    __m256i *newest = (__m256i *)(void *)b->newest;

    _mm512_store_si512(s->came,
        _mm512_add_epi64(_mm512_load_si512(s->came), _mm512_srlv_epi64(each, _mm512_cvtepu8_epi64(less))));
    *newest = _mm256_mask_add_epi32(*newest, (__mmask8)far, *newest, _mm256_set1_epi32(1));
}

/** A reference that is far at some widths. */
V3 static INLINE void pass_far(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned i, count_all *count,
    void (*clear)(__m256i *, __m256i *, unsigned, uint32_t),
    void (*pass)(struct peet_sim_surface *, struct peet__sim_batch *, unsigned, uint64_t))
{
    const unsigned far = b->far[i], ends = b->others[i] | 0x80u; /* the last of widths that have the same slot */
    uint64_t codes = 0, counted = 0, finding, unsure;

    for (unsigned left = far; left;) {
        const unsigned first = (unsigned)__builtin_ctz(left), widths = _blsmsk_u32(ends & -1u << first) & left;
        const uint32_t was = b->was[i][first];
        const uint64_t mine = s->zone[was / GROUP] & _pdep_u64(widths, bytes) * 255;

        codes |= mine;
        left &= ~widths;
        if (mine & bytes * UNSURE)
            counted |= count(s, b, i, was, mine);
        clear((__m256i *)(void *)s->live[was / GROUP], (__m256i *)(void *)s->sums[was / GROUP / PEET_SIM_SUM], widths,
            was);
    }
    memcpy(&finding, b->finding[i], sizeof finding);
    unsure = codes & bytes * UNSURE;
    codes ^= unsure;
    finding |= codes + NEAREST * _pdep_u64(far, bytes);
    if (unsure)
        finding = (finding & ~(unsure / UNSURE * (OTHER - 1))) | counted;
    memcpy(b->finding[i], &finding, sizeof finding);
    pass(s, b, far, codes);
}

V3 void peet__sim_far_v3(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->far[i])
            pass_far(s, b, i, count_v3, clear_v3, pass_v3);
}

V4 void peet__sim_far_v4(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (b->far[i])
            pass_far(s, b, i, count_v4, clear_v4, pass_v4);
}

V3 void peet__sim_far_begin_v3(struct peet_sim_surface *s, uint32_t group)
{
    uint64_t came = 0;

    for (unsigned w = 0; w < WIDTHS; w++)
        came |= s->came[w];
    sum_groups(s, group);
    s->zone[group] = bytes * UNSURE;
    for (unsigned mark = 0; came; mark++, came >>= FIELD) {
        const __m256i *of = (const __m256i *)(const void *)s->came;
        const __m256i field = _mm256_set1_epi64x(63);
        const __m256i low = _mm256_and_si256(_mm256_srli_epi64(of[0], (int)(FIELD * mark)), field),
                      high = _mm256_and_si256(_mm256_srli_epi64(of[1], (int)(FIELD * mark)), field);
        const __m256i both = _mm256_permutevar8x32_epi32(_mm256_or_si256(low, _mm256_slli_epi64(high, 32)),
            _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
        __m256i *after = (__m256i *)(void *)s->after[mark];

        *after = _mm256_add_epi32(*after, both);
        for (unsigned full = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(*after,
                 _mm256_set1_epi32((int)lines_of(mark) - GROUP))));
            full; full &= full - 1)
            move_mark(s, (unsigned)__builtin_ctz(full), mark);
    }
    memset(s->came, 0, sizeof s->came);
}
#endif
