/* SPDX-License-Identifier: Apache-2.0 */
/* References to lines that are near: all widths at once. */
#include "surface_parts.h"

void peet__sim_near_plain(struct peet__sim_batch *b)
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
    const __m256i after = _mm256_sllv_epi32(two, _mm256_and_si256(place, _mm256_set1_epi32(GROUP - 1)));
    const __m256i in_group =
        _mm256_madd_epi16(_mm256_maddubs_epi16(counts(_mm256_and_si256(group, after)), _mm256_set1_epi8(1)),
            _mm256_set1_epi16(1));
    const __m256i n = _mm256_add_epi32(in_group, _mm256_and_si256(k->lives, older));
    const __m256i same =
        _mm256_cmpeq_epi32(was, _mm256_permutevar8x32_epi32(was, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7)));

    k->live = _mm256_or_si256(_mm256_andnot_si256(_mm256_sllv_epi32(one, place), k->live), k->bit);
    k->before = _mm256_andnot_si256(_mm256_sllv_epi32(one, place_before), k->before);
    k->bit = _mm256_add_epi32(k->bit, k->bit);
    k->lives = _mm256_sub_epi32(k->lives, older);
    _mm256_store_si256((__m256i *)(void *)b->was[i], was);
    b->far[i] = (uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(far));
    return _mm256_or_si256(_mm256_andnot_si256(far, n), _mm256_andnot_si256(same, _mm256_set1_epi32(OTHER)));
}

V3 void peet__sim_near_v3(struct peet__sim_batch *b)
{
    __m256i *live = (__m256i *)(void *)b->live;
    struct peet__sim_newest k = {live[1], live[0], _mm256_set1_epi32((int)(1u << b->slot % GROUP)),
        _mm256_madd_epi16(_mm256_maddubs_epi16(counts(live[1]), _mm256_set1_epi8(1)), _mm256_set1_epi16(1))};
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
