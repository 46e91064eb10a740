/* SPDX-License-Identifier: Apache-2.0 */
/* References to lines that are near: all widths at once. */
#include "surface_parts.h"

void peet__sim_near_plain(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    const uint32_t group = b->slot / GROUP, first = (group - 1) * GROUP; /* the first near slot */
    uint32_t *before = s->live[group - 1], *live = s->live[group];

    for (unsigned w = 0; w < WIDTHS; w++)
        b->newest[w] = ones(before[w]) + ones(live[w]);
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t slot = b->slot + i;

        b->far[i] = b->others[i] = 0;
        for (unsigned w = 0; w < WIDTHS; w++) {
            uint32_t *last = last_of(b->record[i], w, b->leaf[i]), was = *last;

            b->was[i][w] = was;
            b->finding[i][w] = 0;
            *last = slot;
            if (was < first) {
                b->far[i] |= (uint8_t)(1u << w);
            } else {
                const uint32_t bit = 1u << was % GROUP, newer = -bit << 1;

                b->finding[i][w] = (uint8_t)bits(was / GROUP < group ? ones(before[w] & newer) + ones(live[w])
                                                                     : ones(live[w] & newer));
                s->live[was / GROUP][w] &= ~bit;
            }
            live[w] |= 1u << slot % GROUP;
        }
        for (unsigned w = 0; w < PEET_SIM_HALVINGS; w++) {
            const uint8_t other = b->was[i][w] != b->was[i][w + 1];

            b->others[i] |= (uint8_t)(other << w);
            b->finding[i][w] |= other ? OTHER : 0;
        }
    }
}

#ifdef __x86_64__
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
    uint32_t *top = r->last[0], *row = r->last[1 + leaf / 8];
    const unsigned n1 = 2 + (leaf >> 6), n2 = 4 + (leaf >> 5), n3 = 8 + (leaf >> 4), n5 = 2 + (leaf >> 2 & 1),
                   n6 = 4 + (leaf >> 1 & 3), n7 = 8 + (leaf & 7);
    const __m256i was = _mm256_setr_epi32((int)top[1], (int)top[n1], (int)top[n2], (int)top[n3], (int)row[1],
        (int)row[n5], (int)row[n6], (int)row[n7]);

    top[1] = top[n1] = top[n2] = top[n3] = row[1] = row[n5] = row[n6] = row[n7] = slot;
    return was;
}

/** Bitmaps of the newest group, the one before it, and what is live in the former next; how many are live in it. */
struct peet__sim_newest {
    __m256i live, before, bit, lives;
};

/** A reference.  Returns: for each width, live slots after its line's, or 0 if it is not near; + OTHER */
V3 static INLINE __m256i near(struct peet__sim_newest *k, struct peet__sim_batch *b, uint32_t i, __m256i base)
{
    const __m256i one = _mm256_set1_epi32(1), two = _mm256_set1_epi32(-2);
    const __m256i was = exchange(b->record[i], b->leaf[i], b->slot + i);
    /* the slot's place in its group; shifts by less than 0 or more than 31 give 0 */
    const __m256i place = _mm256_sub_epi32(was, base), place_before = _mm256_add_epi32(place, _mm256_set1_epi32(GROUP));
    const __m256i older = _mm256_srai_epi32(place, 31), far = _mm256_srai_epi32(place_before, 31);
    const __m256i group = _mm256_blendv_epi8(k->live, k->before, older);
    const __m256i newer = _mm256_sllv_epi32(two, _mm256_and_si256(place, _mm256_set1_epi32(GROUP - 1)));
    const __m256i in_group = sum_of_bytes(counts(_mm256_and_si256(group, newer)));
    const __m256i n = _mm256_add_epi32(in_group, _mm256_and_si256(k->lives, older));
    const __m256i same =
        _mm256_cmpeq_epi32(was, _mm256_permutevar8x32_epi32(was, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7)));

    k->live = _mm256_or_si256(_mm256_andnot_si256(_mm256_sllv_epi32(one, place), k->live), k->bit);
    k->before = _mm256_andnot_si256(_mm256_sllv_epi32(one, place_before), k->before);
    k->bit = _mm256_add_epi32(k->bit, k->bit);
    k->lives = _mm256_sub_epi32(k->lives, older);
    _mm256_store_si256((__m256i *)(void *)b->was[i], was);
    b->far[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(far));
    b->others[i] = (uint8_t)~_mm256_movemask_ps(_mm256_castsi256_ps(same));
    return _mm256_or_si256(_mm256_andnot_si256(far, n), _mm256_andnot_si256(same, _mm256_set1_epi32(OTHER)));
}

V3 void peet__sim_near_v3(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    __m256i *live = (__m256i *)(void *)s->live[b->slot / GROUP], *before = live - 1;
    struct peet__sim_newest k = {
        *live, *before, _mm256_set1_epi32((int)(1u << b->slot % GROUP)), sum_of_bytes(counts(*live))};
    const __m256i base = _mm256_set1_epi32((int)(b->slot & -(uint32_t)GROUP)),
                  in_turn = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    uint32_t i = 0;

    _mm256_store_si256((__m256i *)(void *)b->newest, _mm256_add_epi32(k.lives, sum_of_bytes(counts(k.before))));
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
    *live = k.live;
    *before = k.before;
}

/* The nodes of a word in the two rows of its record, rows being one array of 32: for widths a place in every other
 * field; and as bits, to be noted in. */
#define IN_TOP(n) {1, 0, 2 + (n) / 4, 0, 4 + (n) / 2, 0, 8 + (n)}
#define IN_ROW(n) {0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 18 + (n) / 4, 0, 20 + (n) / 2, 0, 24 + (n)}
#define EIGHT(of) {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)}
#define PLACES(n) (uint16_t)(1 << 1 | 1 << (2 + (n) / 4) | 1 << (4 + (n) / 2) | 1 << (8 + (n)))
static const int32_t in_top[8][PEET_SIM_ROW] __attribute__((aligned(CACHE_LINE))) = EIGHT(IN_TOP);
static const int32_t in_row[8][PEET_SIM_ROW] __attribute__((aligned(CACHE_LINE))) = EIGHT(IN_ROW);
static const uint16_t places[8] = EIGHT(PLACES);

/** Not only the fields that are new: a load that needs several stores has to wait until they are all done. */
V4 static INLINE void store_whole(uint32_t *row, __m512i values)
{
    __asm__("" : "+v"(values));
    _mm512_store_si512(row, values);
}

V4 void peet__sim_near_v4(struct peet_sim_surface *s, struct peet__sim_batch *b)
{
    const __m512i one = _mm512_set1_epi64(1), two = _mm512_set1_epi64(-2), digits_of_word = _mm512_set1_epi64(64);
    const __m512i base = _mm512_set1_epi64((b->slot / GROUP - 1) * GROUP);
    uint32_t *window = s->live[b->slot / GROUP - 1];
    const __m512i halves = _mm512_loadu_si512(window),
                  by_width = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15),
                  by_group = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    __m512i live = _mm512_permutexvar_epi32(by_width, halves),
            bit = _mm512_set1_epi64((long long)(1ull << (GROUP + b->slot % GROUP))),
            slot = _mm512_set1_epi32((int)b->slot);

    _mm256_store_si256((__m256i *)(void *)b->newest, _mm512_cvtepi64_epi32(_mm512_popcnt_epi64(live)));
    for (uint32_t i = 0; i < b->n; i++) {
        const unsigned leaf = b->leaf[i];
        uint32_t *top_row = b->record[i]->last[0], *row = b->record[i]->last[1 + leaf / 8];
        const __m512i top = _mm512_load_si512(top_row), low = _mm512_load_si512(row);
        const __m512i nodes =
            _mm512_or_si512(_mm512_load_si512(in_top[leaf / 16]), _mm512_load_si512(in_row[leaf % 8]));
        const __m512i was = _mm512_maskz_permutex2var_epi32(0x5555, top, nodes, low);
        const __m512i place = _mm512_sub_epi64(was, base); /* shifts by less than 0 give 0 */
        const __m512i n = _mm512_popcnt_epi64(_mm512_and_si512(live, _mm512_sllv_epi64(two, place)));
        const __mmask8 far = _mm512_movepi64_mask(place),
                       others = _mm512_cmpneq_epi64_mask(was, _mm512_alignr_epi64(was, was, 1));
        const __m512i bucket = _mm512_sub_epi64(digits_of_word, _mm512_lzcnt_epi64(n));

        store_whole(top_row, _mm512_mask_mov_epi32(top, places[leaf / 16], slot));
        store_whole(row, _mm512_mask_mov_epi32(low, places[leaf % 8], slot));
        live = _mm512_ternarylogic_epi64(live, _mm512_sllv_epi64(one, place), bit, 0xba); /* live & ~slot | bit */
        bit = _mm512_add_epi64(bit, bit);
        slot = _mm512_add_epi32(slot, _mm512_set1_epi32(1));
        _mm256_store_si256((__m256i *)(void *)b->was[i], _mm512_cvtepi64_epi32(was));
        b->far[i] = far;
        b->others[i] = others;
        _mm_storel_epi64((__m128i *)(void *)b->finding[i],
            _mm512_cvtepi64_epi8(_mm512_mask_or_epi64(bucket, others & 0x7f, bucket, digits_of_word)));
    }
    _mm512_storeu_si512(window, _mm512_permutexvar_epi32(by_group, live));
}
#endif
