/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding by the batch, where machine code does most of it, against decoding block by block, which knows none: random
 * walks over the blocks of a real program's functions, with random words, cut into batches and words at random.  And
 * where the last record begins: asked at the end of each record, and in the midst of it, from each record before it.
 *
 *     test_schema_native PROGRAM...
 */
#include "decode/decode.h"
#include "program/parts.h"
#include "run_suite.h"

#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

enum { WORDS = 6000, EVENTS = 97, VALUES = 4096, ROUNDS = 12 };

static char **paths;
static int npaths;
static uint64_t seed = 88172645463325252u;

static uint64_t number(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % n;
}

/* Records of one function: one that says where it is, then any.  Silent loops turn a few times.  Returns: the end */
static uint64_t *walk(const struct peet__function *f, uint64_t *at, uint64_t *end)
{
    uint32_t syncs = 0, k;
    for (k = 0; k < f->nsegments; k++)
        syncs += f->code[k].sync;
    if (syncs == 0)
        return at;
    for (unsigned n = 0; at < end - 300; n++) {
        const int plain = n != 0 && number(12) != 0;
        uint64_t which = number(f->nsegments);
        for (k = (uint32_t)which;
            !(plain ? f->code[k].recorded && !f->code[k].loop : f->code[k].sync) || f->code[k].slot_words > 100;) {
            k = (k + 1) % f->nsegments;
            if (k == which)
                return at;
        }
        *at++ = plain ? 0xffffffff00000000u | (uint32_t)~k : f->start + f->sync_offset[k];
        for (uint32_t s = 0; s < f->code[k].slot_words; s++)
            *at++ = number(4) ? 0x10000 + number(1 << 20) : number(UINT64_MAX);
    }
    return at;
}

static void compare(struct peet_program *p, const uint64_t *words, const uint64_t *end, int want,
    uint64_t *inout_blocks)
{
    struct peet_decode_state *one, *many;
    struct peet_block_event events[EVENTS];
    static uint64_t values[VALUES];
    const uint64_t *at = words, *batch_at = words;
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &one) == 0);
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &many) == 0);
    for (;;) {
        struct peet_event event;
        struct peet_error error = {0};
        const unsigned room = 1 + (unsigned)number(EVENTS);
        unsigned n = peet_decode_batch(many, &batch_at, end, want, events, room, values, VALUES);
        CU_ASSERT_FATAL(n <= room);
        if (n == 0)
            break;
        for (unsigned k = 0; k < n; k++) {
            CU_ASSERT_FATAL(peet_decode_next(one, &at, end, want & PEET_DECODE_ADDRESSES, &event, &error) ==
                PEET_EVENT_BLOCK);
            CU_ASSERT_PTR_EQUAL_FATAL(events[k].block, event.block.block);
            CU_ASSERT_EQUAL(events[k].context, event.block.context);
            CU_ASSERT_EQUAL(events[k].turns, 1);
            CU_ASSERT_PTR_NULL(events[k].strides);
            CU_ASSERT_EQUAL_FATAL(events[k].values == NULL, event.block.values == NULL);
            if (events[k].values != NULL)
                CU_ASSERT_FATAL(memcmp(events[k].values, event.block.values,
                                    event.block.block->nvalues * sizeof *values) == 0);
        }
        *inout_blocks += n;
    }
    CU_ASSERT_PTR_EQUAL(at, batch_at);
    peet_decode_state_free(one);
    peet_decode_state_free(many);
}

static void test_walks(void)
{
    static uint64_t words[WORDS];
    uint64_t blocks = 0;
    unsigned code = 0;
    for (int i = 0; i < npaths; i++) {
        struct peet_program *p;
        struct peet_error error = {0};
        CU_ASSERT_FATAL(peet_program_new(&p) == 0);
        CU_ASSERT_FATAL(peet_program_add_image(p, paths[i], 0x10000000, &error) > 0);
        for (unsigned round = 0; round < ROUNDS; round++)
            for (unsigned k = 0; k < peet_program_nfunctions(p); k++) {
                uint64_t *end = walk(p->functions[k], words, words + WORDS);
                compare(p, words, end, number(3) ? PEET_DECODE_ADDRESSES : 0, &blocks);
            }
        for (unsigned k = 0; k < p->nfunctions; k++)
            code += p->functions[k]->native[1] != NULL;
        peet_program_free(p);
    }
    CU_ASSERT(blocks > 10000);
    printf("%llu blocks, %u functions with machine code ", (unsigned long long)blocks, code);
}

/* Where each record of a walk begins, as decoding goes; the last one is the end.  Returns: how many */
static unsigned places(struct peet_program *p, const uint64_t *words, const uint64_t *end, const uint64_t **out)
{
    struct peet_decode_state *state;
    struct peet_event event;
    struct peet_error error = {0};
    const uint64_t *at = words;
    unsigned n = 0;

    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &state) == 0);
    out[n++] = words;
    while (at != end && peet_decode_next(state, &at, end, 0, &event, &error) == PEET_EVENT_BLOCK)
        if (at != out[n - 1])
            out[n++] = at;
    peet_decode_state_free(state);
    return n;
}

static void test_last_record(void)
{
    static uint64_t words[WORDS];
    static const uint64_t *begins[WORDS];
    uint64_t asked = 0, cut = 0;

    for (int i = 0; i < npaths; i++) {
        struct peet_program *p;
        struct peet_error error = {0};

        CU_ASSERT_FATAL(peet_program_new(&p) == 0);
        CU_ASSERT_FATAL(peet_program_add_image(p, paths[i], 0x10000000, &error) > 0);
        for (unsigned k = 0; k < peet_program_nfunctions(p); k++) {
            uint64_t kept[2][PEET_DECODE_STATE_WORDS];
            const unsigned n = places(p, words, walk(p->functions[k], words, words + 400), begins);
            struct peet_decode_state *state;
            struct peet_event event;
            const uint64_t *at = words;

            CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &state) == 0);
            for (unsigned from = 0; from + 1 < n; from++) {
                const unsigned to = from + 1 + (unsigned)number(n - from - 1);
                const uint64_t *const end = begins[to] - (number(2) && begins[to] - begins[to - 1] > 1);
                const size_t before = peet_decode_state_save(state, kept[0], PEET_DECODE_STATE_WORDS);

                CU_ASSERT_FATAL(at == begins[from]);
                CU_ASSERT_PTR_EQUAL_FATAL(peet_decode_but_last(state, at, end), begins[to - 1]);
                CU_ASSERT_EQUAL_FATAL(peet_decode_state_save(state, kept[1], PEET_DECODE_STATE_WORDS), before);
                CU_ASSERT_FATAL(before > 0 && memcmp(kept[0], kept[1], before * sizeof **kept) == 0);
                asked++, cut += end != begins[to];
                while (at == begins[from] && at != begins[n - 1])
                    CU_ASSERT_FATAL(peet_decode_next(state, &at, begins[n - 1], 0, &event, &error) == PEET_EVENT_BLOCK);
            }
            CU_ASSERT_PTR_EQUAL(peet_decode_but_last(state, at, at), at);
            peet_decode_state_free(state);
        }
        peet_program_free(p);
    }
    CU_ASSERT(asked > 1000 && cut > 100);
    printf("%llu asked ", (unsigned long long)asked);
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"random walks", test_walks}, {"the last record", test_last_record}, CU_TEST_INFO_NULL};

    paths = argv + 1;
    npaths = argc - 1;
    return run_suite("schema: machine code", tests);
}
