/* SPDX-License-Identifier: Apache-2.0 */
/* All caches of a surface at once.  See surface.h for how. */
#include "surface.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
/** Where the processor can do it: 8 widths are one vector. */
#define V3 __attribute__((target("popcnt,bmi,bmi2,lzcnt,avx2")))
#endif
#define INLINE inline __attribute__((always_inline))
#define RARELY(x) __builtin_expect(!!(x), 0)

enum {
    WIDTHS = PEET_SIM_WIDTHS,
    MARKS = PEET_SIM_MARKS,
    GROUP = 32,
    FIRST_GROUP = 2,
    FIRST = FIRST_GROUP * GROUP,
    NEVER = 0,
    BEYOND = 1,
    NOWHERE = PEET_SIM_ZONES - 1, /* the zone of both */
    NEAREST = 8,                  /* of the first mark: 2^8 lines */
    DEEPEST = 1 << (PEET_SIM_DEPTHS - 1),
    FEWEST_SLOTS = 1 << 13,
    SPARE = 12, /* times as many slots as are live after renumbering */
    OTHER = 64,
    CACHE_LINE = 64,
    /* Groups of a width, and so many that widths are not in the same sets of a cache */
    ROW = PEET_SIM_SLOTS / GROUP + 3 * CACHE_LINE / 4,
};

/** A line of a word: which node of the word's record it is */
static INLINE unsigned node_of(unsigned width, unsigned leaf)
{
    return (1u << width) + (leaf >> (PEET_SIM_HALVINGS - width));
}

/** So many binary digits. */
static INLINE unsigned bits(uint32_t n)
{
    return n ? 32 - (unsigned)__builtin_clz(n) : 0;
}

/* --------------------------------------------------------------------------------------------------- zones */

/** So many lines a mark moves on at least; no two marks' stretches where slots are counted have a group in common. */
static INLINE uint32_t slack(unsigned mark)
{
    return mark < 2 ? 64 : 128;
}

static INLINE uint32_t lines_of(unsigned mark)
{
    return 1u << (mark + NEAREST);
}

/** What passes marks is counted in a field for each mark; a line from a zone passes those after it. */
enum { FIELD = 6 };
#define FIELDS(n) (((1ull << FIELD * (n)) - 1) / 63) /* 1 in each of the first n */
static const uint64_t passes[PEET_SIM_ZONES] = {0, FIELDS(1), FIELDS(1), FIELDS(2), FIELDS(2), FIELDS(3), FIELDS(3),
    FIELDS(4), FIELDS(4), FIELDS(5), FIELDS(5), FIELDS(6), FIELDS(6), FIELDS(7), FIELDS(7), FIELDS(8), FIELDS(8),
    FIELDS(9), FIELDS(9), FIELDS(9)};

static INLINE uint32_t passed(uint64_t came, unsigned mark)
{
    return (uint32_t)(came >> FIELD * mark) & 63;
}

static INLINE uint32_t *live_of(const struct peet_sim_surface *s, unsigned w)
{
    return s->live + w * ROW;
}

static INLINE uint8_t *zone_of(const struct peet_sim_surface *s, unsigned w)
{
    return s->zone + w * ROW;
}

static INLINE uint32_t ones(uint32_t word)
{
    return (uint32_t)__builtin_popcount(word);
}

/** Ones in these words. */
static INLINE uint32_t ones_in(const uint32_t *word, const uint32_t *end)
{
    uint32_t n = 0;

    for (uint64_t two; word + 1 < end; word += 2) {
        memcpy(&two, word, sizeof two);
        n += (uint32_t)__builtin_popcountll(two);
    }
    return word < end ? n + ones(*word) : n;
}

/** A mark beyond which too few lines are left.  @lines: after m->to, now */
static void move_mark(struct peet__sim_mark *m, unsigned mark, const uint32_t *live, uint8_t *zone)
{
    const uint32_t to = m->to, lines = m->lines;
    uint32_t g = to, n = lines;

    while (n < lines_of(mark) && g > m->from)
        n += ones(live[--g]);
    if (n >= lines_of(mark)) {
        memset(zone + m->from, (int)(2 * mark + 2), g - m->from);
        m->from = g;
    }
    for (g = to, n = lines; n > lines_of(mark) - slack(mark); g++)
        n -= ones(live[g]);
    memset(zone + to, (int)(2 * mark + 1), g - to);
    m->to = g;
    m->lines = n;
    m->counted += lines - n;
    if (m->slot / GROUP < m->from) {
        m->slot = g * GROUP - 1;
        m->counted = 0;
    }
}

/** A group begins: what came since the last one is summed up, and marks that it brings too near move on. */
static INLINE void sum_up(struct peet_sim_surface *s)
{
    for (unsigned w = 0; w < WIDTHS; w++) {
        uint64_t came = s->came[w];

        for (unsigned mark = 0; came; mark++, came >>= FIELD) {
            struct peet__sim_mark *m = &s->marks[w][mark];

            m->lines += (uint32_t)came & 63;
            if (m->lines > lines_of(mark) - GROUP)
                move_mark(m, mark, live_of(s, w), zone_of(s, w));
        }
        s->came[w] = 0;
    }
}

/** Of one width, all zones and marks, from the bitmap. */
static void set_marks(struct peet_sim_surface *s, unsigned w)
{
    const uint32_t *live = live_of(s, w);
    struct peet__sim_mark *marks = s->marks[w];
    uint32_t after = 0, g = s->next / GROUP + 1;
    unsigned zone = 0;

    s->came[w] = 0;
    memset(marks, 0, sizeof s->marks[w]);
    for (unsigned mark = 0; mark < MARKS; mark++)
        marks[mark].from = marks[mark].to = FIRST_GROUP;
    while (g-- > FIRST_GROUP) {
        const uint32_t lines = after + ones(live[g]);

        for (; zone < 2 * MARKS; zone++) {
            const unsigned mark = zone / 2;

            if (zone % 2 ? after < lines_of(mark) : lines <= lines_of(mark) - slack(mark))
                break;
            if (zone % 2) {
                marks[mark].from = g + 1;
            } else {
                marks[mark].to = g + 1;
                marks[mark].lines = after;
            }
        }
        zone_of(s, w)[g] = (uint8_t)zone;
        after = lines;
    }
    for (unsigned mark = 0; mark < MARKS; mark++) {
        if (mark >= (zone + 1) / 2)
            marks[mark].lines = after;
        marks[mark].slot = marks[mark].to * GROUP - 1;
    }
}

/** No slot is taken. */
static void begin(struct peet_sim_surface *s)
{
    const uint32_t groups = s->next / GROUP + 1;

    s->next = FIRST;
    s->most = GROUP;
    s->end = FEWEST_SLOTS;
    memset(s->lines, 0, sizeof s->lines);
    for (unsigned w = 0; w < WIDTHS; w++) {
        memset(live_of(s, w), 0, groups * sizeof *s->live);
        memset(zone_of(s, w), 0, groups);
        memset(zone_of(s, w), NOWHERE, FIRST_GROUP);
        set_marks(s, w);
    }
}

/* ---------------------------------------------------------------------------------------------- renumbering */

/** The oldest slot that may be of one of the newest 2^16 lines. */
static uint32_t oldest_kept(const struct peet_sim_surface *s, unsigned w)
{
    const uint32_t *live = live_of(s, w);
    uint32_t left = DEEPEST, g = (s->next - 1) / GROUP;

    for (; g >= FIRST_GROUP; g--) {
        uint32_t word = live[g], n = ones(word);

        if (n >= left) {
            while (n-- > left)
                word &= word - 1;
            return g * GROUP + (uint32_t)__builtin_ctz(word);
        }
        left -= n;
    }
    return 0;
}

/** The lines of a slot, a bit for each width, are nowhere. */
static void drop(struct peet_sim_surface *s, uint32_t word, unsigned widths)
{
    struct peet__sim_record *r = s->records_of[word >> 7];
    const unsigned leaf = word & 127;

    for (; widths; widths &= widths - 1) {
        const unsigned w = (unsigned)__builtin_ctz(widths), node = node_of(w, leaf);

        r->last[node] = BEYOND;
        if (w < PEET_SIM_HALVINGS) {
            r->half[node / 32] &= ~(1u << node % 32);
            r->half[node / 32] |= (leaf >> (PEET_SIM_HALVINGS - 1 - w) & 1) << node % 32;
        }
    }
}

/** Slots of a group, a bit for each, that are among the newest 2^16 lines of some width.  *out_any: all that are live */
static INLINE uint32_t kept_of(const struct peet_sim_surface *s, uint32_t group, const uint32_t *oldest,
    uint32_t *out_any)
{
    uint32_t kept = 0, any = 0;

    for (unsigned w = 0; w < WIDTHS; w++) {
        const uint32_t live = live_of(s, w)[group];
        const uint32_t older = oldest[w] > group * GROUP ? oldest[w] - group * GROUP : 0;

        any |= live;
        kept |= older < GROUP ? live & ~0u << older : 0;
    }
    *out_any = any;
    return kept;
}

/** Of a group, lines of slots that are not kept. */
static void drop_slots(struct peet_sim_surface *s, uint32_t group, uint32_t slots)
{
    for (; slots; slots &= slots - 1) {
        const unsigned bit = (unsigned)__builtin_ctz(slots);
        unsigned widths = 0;

        for (unsigned w = 0; w < WIDTHS; w++)
            widths |= (live_of(s, w)[group] >> bit & 1) << w;
        drop(s, s->word_of[group * GROUP + bit], widths);
    }
}

/** Slots of a group move to earlier ones, from @to on. */
static INLINE void move_slots(struct peet_sim_surface *s, uint32_t group, uint32_t slots, uint32_t to)
{
    struct {
        uint32_t to, leaf;
        struct peet__sim_record *record;
    } moved[GROUP];

    for (uint32_t left = slots; left; left &= left - 1, to++) {
        const unsigned bit = (unsigned)__builtin_ctz(left);
        const uint32_t word = s->word_of[group * GROUP + bit];

        moved[bit].to = to;
        moved[bit].leaf = word & 127;
        moved[bit].record = s->records_of[word >> 7];
        s->word_of[to] = word;
    }
    for (unsigned w = 0; w < WIDTHS; w++) {
        uint32_t *live = live_of(s, w), left = live[group] & slots;

        live[group] = 0;
        for (; left; left &= left - 1) {
            const unsigned bit = (unsigned)__builtin_ctz(left);
            const uint32_t slot = moved[bit].to;

            live[slot / GROUP] |= 1u << slot % GROUP;
            moved[bit].record->last[node_of(w, moved[bit].leaf)] = slot;
        }
    }
}

/** Slots are used up: invariant 5.  There is room for several times as many as are left, so that few are moved for a
 * reference; slots of a small working set stay in the processor's cache. */
static __attribute__((noinline)) void renumber(struct peet_sim_surface *s)
{
    const uint32_t groups = s->next / GROUP;
    uint32_t oldest[WIDTHS], to = FIRST;
    uint64_t end;

    for (unsigned w = 0; w < WIDTHS; w++)
        oldest[w] = oldest_kept(s, w);
    for (uint32_t g = FIRST_GROUP; g < groups; g++) {
        uint32_t any, kept = kept_of(s, g, oldest, &any);

        if (any & ~kept)
            drop_slots(s, g, any & ~kept);
        if (any)
            move_slots(s, g, kept, to);
        to += ones(kept);
    }
    for (unsigned w = 0; w < WIDTHS; w++)
        memset(zone_of(s, w) + to / GROUP, 0, groups - to / GROUP);
    end = (uint64_t)SPARE * to;
    s->next = to;
    s->end = end < FEWEST_SLOTS ? FEWEST_SLOTS
        : end > PEET_SIM_SLOTS  ? PEET_SIM_SLOTS
                                : (uint32_t)end & -(uint32_t)GROUP;
    for (unsigned w = 0; w < WIDTHS; w++)
        set_marks(s, w);
}

/* ------------------------------------------------------------------------------------------------ references */

/** References that are taken together: their slots are in one group. */
struct peet__sim_batch {
    uint8_t finding[GROUP][WIDTHS];
    uint32_t was[GROUP][WIDTHS]; /* their lines' slots */
    uint32_t live[2][WIDTHS];    /* of the group before, and of this one */
    uint8_t far[GROUP];          /* a bit for each width at which the line is not near */
    uint8_t leaf[GROUP];
    struct peet__sim_record *record[GROUP];
    uint32_t n, slot; /* slot: the first one's */
} __attribute__((aligned(CACHE_LINE)));

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

/** Finds the records of a batch.  Returns: 0, or -1 without memory */
static INLINE int pass_records(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    struct peet__sim_record *r = NULL;
    uint64_t last = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        const uint64_t address = s->addresses[i];
        const unsigned leaf = address >> 2 & 127;

        if (!r || (address ^ last) >> PEET_SIM_WIDEST_SHIFT) {
            r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
            if (RARELY(!r) || (RARELY(r->epoch != s->epoch) && new_record(s, r)))
                return -1;
        }
        last = address;
        for (unsigned w = 4; w < WIDTHS; w++) /* a record has many cache lines */
            __builtin_prefetch(&r->last[node_of(w, leaf)], 1);
        b->record[i] = r;
        b->leaf[i] = (uint8_t)leaf;
        s->word_of[b->slot + i] = r->last[0] << PEET_SIM_HALVINGS | leaf;
    }
    return 0;
}

/** Live slots after this one, before another group. */
static INLINE uint32_t between(const uint32_t *live, uint32_t slot, uint32_t group)
{
    return ones(live[slot / GROUP] & ~1u << slot % GROUP) + ones_in(live + slot / GROUP + 1, live + group);
}

/** All references of a batch have their slots; findings of the widths at which they are near. */
static void pass_near_plain(struct peet__sim_batch *b)
{
    const uint32_t first = b->slot / GROUP * GROUP - GROUP; /* the first near slot */

    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t slot = b->slot + i;

        b->far[i] = 0;
        for (unsigned w = 0; w < WIDTHS; w++) {
            uint32_t *last = &b->record[i]->last[node_of(w, b->leaf[i])], was = *last;

            b->was[i][w] = was;
            b->finding[i][w] = 0;
            *last = slot;
            if (was < first) {
                b->far[i] |= (uint8_t)(1u << w);
            } else {
                const uint32_t place = was - first, newer = ~1u << place % GROUP;

                b->finding[i][w] = (uint8_t)bits(place < GROUP ? ones(b->live[0][w] & newer) + ones(b->live[1][w])
                                                               : ones(b->live[1][w] & newer));
                b->live[place / GROUP][w] &= ~(1u << place % GROUP);
            }
            b->live[1][w] |= 1u << slot % GROUP;
        }
        for (unsigned w = 0; w < PEET_SIM_HALVINGS; w++)
            b->finding[i][w] |= b->was[i][w] != b->was[i][w + 1] ? OTHER : 0;
    }
}

#ifdef __x86_64__
/** Population counts of bytes. */
V3 static INLINE __m256i counts(__m256i x)
{
    const __m256i nibble = _mm256_set1_epi8(15),
                  of = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2,
                      3, 2, 3, 3, 4);

    return _mm256_add_epi8(_mm256_shuffle_epi8(of, _mm256_and_si256(x, nibble)),
        _mm256_shuffle_epi8(of, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)));
}

/** Of bytes: up to 63, how many binary digits they have; OTHER stays. */
V3 static INLINE __m256i digits(__m256i n)
{
    const __m256i low = _mm256_setr_epi8(0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4,
        4, 4, 4, 4, 4, 4);
    const __m256i high = _mm256_setr_epi8(0, 5, 6, 6, 0, 5, 6, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 6, 6, 0, 5, 6, 6, 0, 0,
        0, 0, 0, 0, 0, 0);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i a = _mm256_shuffle_epi8(low, _mm256_and_si256(n, nibble));
    const __m256i c = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(n, 4), nibble));

    return _mm256_or_si256(_mm256_max_epu8(a, c), _mm256_and_si256(n, _mm256_set1_epi8(OTHER)));
}

/** The slots of a word's lines; they are noted in this one now. */
V3 static INLINE __m256i exchange(struct peet__sim_record *r, unsigned leaf, uint32_t slot)
{
    uint32_t *last = r->last;
    const __m256i was = _mm256_setr_epi32((int)last[node_of(0, leaf)], (int)last[node_of(1, leaf)],
        (int)last[node_of(2, leaf)], (int)last[node_of(3, leaf)], (int)last[node_of(4, leaf)],
        (int)last[node_of(5, leaf)], (int)last[node_of(6, leaf)], (int)last[node_of(7, leaf)]);

    for (unsigned w = 0; w < WIDTHS; w++)
        last[node_of(w, leaf)] = slot;
    return was;
}

/** Bitmaps of the newest group, the one before it, and what is live in the former next. */
struct peet__sim_newest {
    __m256i live, before, bit;
};

/** A reference.  Returns: for each width, live slots after its line's, or 0 if it is not near; + OTHER */
V3 static INLINE __m256i near(struct peet__sim_newest *k, struct peet__sim_batch *b, uint32_t i, __m256i base)
{
    const __m256i one = _mm256_set1_epi32(1), two = _mm256_set1_epi32(-2);
    const __m256i was = exchange(b->record[i], b->leaf[i], b->slot + i);
    /* the slot's place in its group; shifts by less than 0 or more than 31 give 0 */
    const __m256i place = _mm256_sub_epi32(was, base), place_before = _mm256_add_epi32(place, _mm256_set1_epi32(GROUP));
    const __m256i after = _mm256_or_si256(_mm256_sllv_epi32(two, place), _mm256_srai_epi32(place, 31));
    const __m256i both = _mm256_add_epi8(counts(_mm256_and_si256(k->live, after)),
        counts(_mm256_and_si256(k->before, _mm256_sllv_epi32(two, place_before))));
    const __m256i n = _mm256_madd_epi16(_mm256_maddubs_epi16(both, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
    const __m256i far = _mm256_cmpgt_epi32(_mm256_set1_epi32(-GROUP), place);
    const __m256i same =
        _mm256_cmpeq_epi32(was, _mm256_permutevar8x32_epi32(was, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7)));

    k->live = _mm256_or_si256(_mm256_andnot_si256(_mm256_sllv_epi32(one, place), k->live), k->bit);
    k->before = _mm256_andnot_si256(_mm256_sllv_epi32(one, place_before), k->before);
    k->bit = _mm256_add_epi32(k->bit, k->bit);
    _mm256_store_si256((__m256i *)(void *)b->was[i], was);
    b->far[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(far));
    return _mm256_or_si256(_mm256_andnot_si256(far, n), _mm256_andnot_si256(same, _mm256_set1_epi32(OTHER)));
}

V3 static void pass_near_v3(struct peet__sim_batch *b)
{
    __m256i *live = (__m256i *)(void *)b->live;
    struct peet__sim_newest k = {live[1], live[0], _mm256_set1_epi32((int)(1u << b->slot % GROUP))};
    const __m256i base = _mm256_set1_epi32((int)(b->slot & -(uint32_t)GROUP)),
                  in_turn = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    uint32_t i = 0;

    for (; i + 4 <= b->n; i += 4) {
        const __m256i n0 = near(&k, b, i, base), n1 = near(&k, b, i + 1, base);
        const __m256i n01 = _mm256_packus_epi32(n0, n1);
        const __m256i n2 = near(&k, b, i + 2, base), n3 = near(&k, b, i + 3, base);
        const __m256i all = _mm256_packus_epi16(n01, _mm256_packus_epi32(n2, n3));

        _mm256_store_si256((__m256i *)(void *)b->finding[i], digits(_mm256_permutevar8x32_epi32(all, in_turn)));
    }
    for (; i < b->n; i++) {
        const __m256i n = near(&k, b, i, base), all = _mm256_packus_epi16(_mm256_packus_epi32(n, n), n);

        _mm_storel_epi64((__m128i *)(void *)b->finding[i],
            _mm256_castsi256_si128(digits(_mm256_permutevar8x32_epi32(all, in_turn))));
    }
    live[1] = k.live;
    live[0] = k.before;
}
#endif

/** Live slots after this one, up to a later one. */
static INLINE uint32_t span(const uint32_t *live, uint32_t slot, uint32_t last)
{
    return between(live, slot, last / GROUP + 1) - ones(live[last / GROUP] & ~1u << last % GROUP);
}

/** Where slots are counted: live ones after this one, before m->to.  The next count goes on from here. */
static INLINE uint32_t count_on(struct peet__sim_mark *m, const uint32_t *live, uint32_t slot)
{
    if (slot < m->slot)
        m->counted += span(live, slot, m->slot);
    else
        m->counted -= span(live, m->slot, slot);
    m->slot = slot;
    return m->counted;
}

/** What a line that is nowhere counts as. */
static INLINE unsigned nowhere(struct peet_sim_surface *s, unsigned w, uint32_t was)
{
    if (was != NEVER)
        return PEET_SIM_BEYOND;
    s->lines[w]++;
    return s->bursts ? PEET_SIM_UNSEEN + bits(s->lines[w] - 1) : PEET_SIM_COLD;
}

/** Of a line that is beyond the stack its record knows which half was referenced last.  Returns: OTHER or 0 */
static INLINE unsigned half_beyond(const struct peet__sim_batch *b, unsigned i, unsigned w)
{
    const unsigned node = node_of(w, b->leaf[i]), half = b->leaf[i] >> (PEET_SIM_HALVINGS - 1 - w) & 1;

    return (b->record[i]->half[node / 32] >> node % 32 & 1) != half ? OTHER : 0;
}

/**
 * The references of a batch whose line is not near at this width: their slots are not live any more.
 * @far: a bit for each; @newest: live slots in the newest two groups before the batch
 */
static INLINE void pass_far(struct peet_sim_surface *s, struct peet__sim_batch *b, unsigned w, uint32_t far,
    uint32_t newest)
{
    uint32_t *live = live_of(s, w);
    const uint8_t *zones = zone_of(s, w);
    uint64_t came = s->came[w];

    for (; far; far &= far - 1, newest++) {
        const unsigned i = (unsigned)__builtin_ctz(far), was = b->was[i][w], zone = zones[was / GROUP];
        unsigned bucket = NEAREST + zone / 2;

        if (!zone) {
            bucket = bits(between(live, was, b->slot / GROUP - 1) + newest);
        } else if (zone == NOWHERE) {
            bucket = nowhere(s, w, was);
            if (was == BEYOND && w < PEET_SIM_HALVINGS)
                bucket |= half_beyond(b, i, w);
        } else if (zone % 2) {
            struct peet__sim_mark *m = &s->marks[w][zone / 2];

            bucket = bits(count_on(m, live, was) + m->lines + passed(came, zone / 2));
        }
        live[was / GROUP] &= ~(1u << was % GROUP);
        came += passes[zone];
        b->finding[i][w] |= (uint8_t)bucket;
    }
    s->came[w] = came;
}

/** All that is not near. */
static INLINE void pass_all_far(struct peet_sim_surface *s, struct peet__sim_batch *b, const uint32_t *newest)
{
    uint32_t far[WIDTHS] = {0};

    for (uint32_t i = 0; i < b->n; i++)
        for (unsigned w = 0; w < WIDTHS; w++)
            far[w] |= (uint32_t)(b->far[i] >> w & 1) << i;
    for (unsigned w = 0; w < WIDTHS; w++)
        if (far[w])
            pass_far(s, b, w, far[w], newest[w]);
}

/** A batch goes through all passes.  Returns: 0, or -1 without memory */
static INLINE int pass_all(struct peet_sim_surface *s, struct peet__sim_batch *b,
    void (*pass_near)(struct peet__sim_batch *))
{
    const uint32_t group = b->slot / GROUP;
    uint32_t newest[WIDTHS];

    if (b->slot % GROUP == 0)
        sum_up(s);
    if (pass_records(s, b))
        return -1;
    for (unsigned w = 0; w < WIDTHS; w++) {
        b->live[0][w] = live_of(s, w)[group - 1];
        b->live[1][w] = live_of(s, w)[group];
        newest[w] = ones(b->live[0][w]) + ones(b->live[1][w]);
    }
    pass_near(b);
    for (unsigned w = 0; w < WIDTHS; w++) {
        live_of(s, w)[group - 1] = b->live[0][w];
        live_of(s, w)[group] = b->live[1][w];
    }
    pass_all_far(s, b, newest);
    return 0;
}

static int take_plain(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    return pass_all(s, b, pass_near_plain);
}

#ifdef __x86_64__
V3 static int take_v3(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    return pass_all(s, b, pass_near_v3);
}
#endif

/** All that wait are taken.  Returns: 0, or -1 without memory */
static int take(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    b->n = s->waiting;
    b->slot = s->next;
    s->next += s->waiting;
    s->waiting = 0;
    if (s->failed || s->take(s, b)) {
        s->failed = 1;
        return -1;
    }
    if (RARELY(s->next == s->end))
        renumber(s);
    s->most = GROUP - s->next % GROUP;
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t finding;

        memcpy(&finding, b->finding[i], sizeof finding);
        peet__sim_tally_note(s->tallies[i], finding);
    }
    return 0;
}

__attribute__((noinline)) int peet_sim_surface_flush(struct peet_sim_surface *s)
{
    struct peet__sim_batch b;

    return s->waiting ? take(s, &b) : s->failed ? -1 : 0;
}

int peet_sim_surface_find(struct peet_sim_surface *s, uint64_t address, struct peet_sim_tally *tally,
    struct peet_sim_found *out_found)
{
    struct peet__sim_batch b;

    memset(b.finding[0], 0, sizeof b.finding[0]); /* of the same word again */
    if (peet_sim_surface_flush(s))
        return -1;
    s->most = 2; /* it waits */
    if (peet_sim_surface_reference(s, address, tally) || (s->waiting && take(s, &b)))
        return -1;
    s->most = GROUP - s->next % GROUP;
    for (unsigned w = 0; w < WIDTHS; w++) {
        out_found->bucket[w] = b.finding[0][w] & (OTHER - 1);
        if (w < PEET_SIM_HALVINGS)
            out_found->same[w] = !(b.finding[0][w] & OTHER);
    }
    return 0;
}

/** A line that has a slot: without any change. */
static unsigned bucket_of(const struct peet_sim_surface *s, unsigned w, uint32_t slot)
{
    const unsigned zone = zone_of(s, w)[slot / GROUP];
    const struct peet__sim_mark *m = &s->marks[w][zone / 2];

    if (!zone)
        return bits(between(live_of(s, w), slot, s->next / GROUP + 1));
    if (zone % 2)
        return bits(between(live_of(s, w), slot, m->to) + m->lines + passed(s->came[w], zone / 2));
    return NEAREST + zone / 2;
}

void peet_sim_surface_where(struct peet_sim_surface *s, uint64_t address, unsigned last_width,
    uint8_t out[PEET_SIM_NODES])
{
    const struct peet__sim_record *r;
    int known;

    peet_sim_surface_flush(s);
    r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
    known = r && r->epoch == s->epoch;
    for (unsigned node = 1; node < 2u << last_width; node++) {
        const uint32_t last = known ? r->last[node] : NEVER;
        const unsigned width = 31 - (unsigned)__builtin_clz(node);

        out[node] = (uint8_t)(last == NEVER ? PEET_SIM_COLD
                : last == BEYOND            ? PEET_SIM_BEYOND
                                            : bucket_of(s, width, last));
    }
}

int peet_sim_surface_half(struct peet_sim_surface *s, uint64_t address, unsigned node)
{
    const struct peet__sim_record *r;

    peet_sim_surface_flush(s);
    r = peet_sim_linemap_get(&s->records, address >> PEET_SIM_WIDEST_SHIFT);
    if (!r || r->epoch != s->epoch || r->last[node] == NEVER)
        return -1;
    if (r->last[node] == BEYOND)
        return (int)(r->half[node / 32] >> node % 32 & 1);
    return r->last[2 * node + 1] == r->last[node];
}

/* ------------------------------------------------------------------------------------------------- surfaces */

void peet_sim_surface_forget(struct peet_sim_surface *s)
{
    peet_sim_surface_flush(s);
    begin(s);
    s->nrecords = 0;
    s->begun = 0;
    s->epoch++;
}

void peet__sim_surface_plain(struct peet_sim_surface *s)
{
    s->take = take_plain;
}

struct peet_sim_surface *peet_sim_surface_new(void)
{
    struct peet_sim_surface *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    peet_sim_linemap_init(&s->records, sizeof(struct peet__sim_record));
    s->live = calloc(WIDTHS * ROW, sizeof *s->live);
    s->zone = calloc(WIDTHS * ROW, sizeof *s->zone);
    s->word_of = malloc(PEET_SIM_SLOTS * sizeof *s->word_of);
    if (!s->live || !s->zone || !s->word_of) {
        peet_sim_surface_free(s);
        return NULL;
    }
    s->take = take_plain;
    s->epoch = 1;
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        s->take = take_v3;
#endif
    begin(s);
    return s;
}

void peet_sim_surface_free(struct peet_sim_surface *s)
{
    if (!s)
        return;
    free(s->live);
    free(s->zone);
    free(s->word_of);
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
    const uint32_t groups = s->next / GROUP + 1;
    struct peet_sim_surface *to = peet_sim_surface_new(), mine;

    if (!to)
        return NULL;
    mine = *to;
    memcpy(to, s, offsetof(struct peet_sim_surface, records));
    to->live = mine.live;
    to->zone = mine.zone;
    for (unsigned w = 0; w < WIDTHS; w++) {
        memcpy(live_of(to, w), live_of(s, w), groups * sizeof *s->live);
        memcpy(zone_of(to, w), zone_of(s, w), groups);
    }
    to->word_of = memcpy(mine.word_of, s->word_of, s->next * sizeof *s->word_of);
    to->records_of = calloc(s->room + 1, sizeof *to->records_of);
    if (!to->records_of || peet_sim_linemap_each(&s->records, copy_record, to)) {
        peet_sim_surface_free(to);
        return NULL;
    }
    return to;
}
