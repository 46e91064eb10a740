/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks taken without events by a machine that finds most lines where they were last, and learns which looks often lie
 * in two: what the code leaves in its lines must be what is done here for each block's event.
 *
 *     test_schema_direct_lines PROGRAM...
 */
#include "walks.h"

enum { REFERENCE, DIRECT };

/* Each line has one frame that can be its own. */

enum { FRAMES = 64, LINE = 1 << SHIFT, SPANS = 6 };
struct lines {
    uint64_t keys[FRAMES], used[FRAMES], misses, stamp, time, reads, writes;
};
static struct lines lines[2];                      /* REFERENCE, DIRECT */
static uint64_t times[2][BLOCKS], instructions[2]; /* executions of blocks; DIRECT: those that came as events */
static uint8_t cut_lasts[SPANS][3][LINE][2], is_often[BLOCKS];
static int nothers[BLOCKS];
static unsigned nothers_all, noften;

static uint32_t span_kind(const struct peet_block *block, uint32_t k)
{
    return (block->id + k) % SPANS;
}

/* Looks that are not easy take longer. */
enum { MORE_TIME = 5, MORE_STAMPS = 2 };
static int is_cut(const struct peet_direct_look *look, uint64_t begin)
{
    return begin % LINE + look->span > LINE;
}
static int is_easy(uint64_t begin)
{
    return begin % 8 != 5;
}

static void make_cut_lasts(void)
{
    for (uint32_t kind = 0; kind < SPANS; kind++)
        for (unsigned k = 0; k < 3; k++)
            for (unsigned offset = 0; offset < LINE; offset++) {
                const int cut = offset + (1u << kind) > LINE, easy = is_easy(offset);
                cut_lasts[kind][k][offset][0] = (uint8_t)(!cut ? k + 1 : easy ? 1 + offset % (k + 1) : 0);
                cut_lasts[kind][k][offset][1] = (uint8_t)(!cut ? k + 1 : easy ? k + 1 - offset % (k + 1) : 0);
            }
}

static int ask_lines(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_block *out)
{
    int cuts = 0;
    if (ask(self, block, values, out) != 0)
        return -1;
    for (uint32_t k = 0; k < out->nlooks; k++) {
        out->looks[k].span = (uint16_t)(1u << span_kind(block, k));
        out->looks[k].later = k > 0;
        if (is_often[block->id] && out->looks[k].span > 1 && block->id % 3 != k)
            out->looks[k].cuts = cut_lasts[span_kind(block, k)][k];
        cuts |= out->looks[k].cuts != NULL;
    }
    out->whole |= cuts;
    return 0;
}

static void use_line(struct lines *s, const struct peet_direct_look *look, uint64_t line, uint32_t last)
{
    uint64_t *const key = &s->keys[line % FRAMES], *const used = &s->used[line % FRAMES];
    if ((*key | look->either) != (line << 2 | 3)) {
        *key = line << 2 | (look->either ? 2 : 3);
        s->time += wait_of(line);
        s->misses++;
    }
    *used = s->stamp + last > *used ? s->stamp + last : *used;
}

static void use_look(struct lines *s, const struct peet_block *block, const struct peet_direct_look *look, uint32_t k,
    uint64_t begin)
{
    const uint64_t first = begin >> SHIFT, second = (begin + look->span - 1) >> SHIFT;
    const uint8_t *const lasts = cut_lasts[span_kind(block, k)][k][begin % LINE];
    use_line(s, look, first, lasts[0] ? lasts[0] : look->last);
    if (second != first)
        use_line(s, look, second, lasts[1] ? lasts[1] : look->last);
}

/* @apart: how far looks begin before these addresses */
static void take_more(struct lines *s, const struct peet_direct_block *d, const uint64_t *addresses, uint64_t apart)
{
    for (uint32_t k = 0; k < d->nlooks; k++) {
        const uint64_t begin = addresses[k] - apart * k;
        if (!is_cut(&d->looks[k], begin) || is_easy(begin))
            continue;
        s->time += MORE_TIME;
        s->stamp += MORE_STAMPS;
    }
}

static void event_in_lines(struct lines *s, const struct peet_block_event *event)
{
    const struct peet_block *const block = event->block;
    struct peet_direct_block d = {0};
    if (ask_lines(NULL, block, NULL, &d) != 0)
        d.nlooks = 0;
    else
        for (uint32_t k = 0; k < d.nlooks; k++)
            use_look(s, block, &d.looks[k], k, event->values[k] - 8 * k);
    if (d.nlooks != 0)
        take_more(s, &d, event->values, 8);
    s->stamp += block->nrefs;
    s->time += time_of(block);
    times[s - lines][block->id]++;
    instructions[s - lines] += block->ninsns;
}

static void executed_in_lines(void *arg, const struct peet_block *block, uint64_t n, uint64_t reads, uint64_t writes)
{
    (void)arg, (void)reads, (void)writes;
    times[DIRECT][block->id] += n;
}

static struct peet_direct_miss miss_lines(struct peet_direct_run *run, uint32_t site, uint64_t line)
{
    CU_ASSERT(site % 4 != 0 || run->time < run->limit);
    lines[DIRECT].keys[line % FRAMES] = line << 2 | (site / 4 % 7 == 0 ? 2 : 3);
    lines[DIRECT].misses++;
    return (struct peet_direct_miss){line % FRAMES, wait_of(line)};
}

static int other_lines(struct peet_direct_run *run, uint32_t id)
{
    struct peet_direct_block d;
    CU_ASSERT(run->time < run->limit);
    CU_ASSERT_FATAL(ask_lines(NULL, known[id], NULL, &d) == 0);
    lines[DIRECT].stamp = run->stamp;
    lines[DIRECT].time = run->time;
    for (uint32_t k = 0; k < d.nlooks; k++)
        use_look(&lines[DIRECT], known[id], &d.looks[k], k, run->addresses[k]);
    take_more(&lines[DIRECT], &d, run->addresses, 0);
    run->stamp = lines[DIRECT].stamp;
    run->time = lines[DIRECT].time;
    nothers_all++;
    return ++nothers[id] % 4 == 0 ? nothers[id] : 0;
}

enum { INSN_TIME = 5, TOUCH_TIME = 3 };
static unsigned nranges, nranges_all;

/* Each element for itself, in its first byte's line. */
static void range_in_lines(struct lines *s, const struct peet_block *block, const uint64_t *values)
{
    for (uint32_t i = 0; i < block->nrefs; i++) {
        const struct peet_ref *const ref = &block->refs[i];
        for (uint64_t k = 0; k < values[ref->value + 1]; k++) {
            const struct peet_direct_look look = {.either = ref->kind == PEET_REF_LOAD};
            use_line(s, &look, (values[ref->value] + k * ref->size_bytes) >> SHIFT, 1);
            s->stamp++;
            s->time += TOUCH_TIME;
            *(ref->kind == PEET_REF_LOAD ? &s->reads : &s->writes) += 1;
        }
    }
    s->time += INSN_TIME * block->ninsns;
}

static void range_lines(struct peet_direct_run *run, const struct peet_block *block, const uint64_t *values)
{
    struct lines *const s = &lines[DIRECT];
    s->stamp = run->stamp;
    s->time = run->time;
    range_in_lines(s, block, values);
    run->stamp = s->stamp;
    run->time = s->time;
    nranges_all++;
}

static int table_lines(void *self, struct peet_direct_table *out)
{
    (void)self;
    *out = (struct peet_direct_table){.hint_mask = FRAMES - 1,
        .line_shift = SHIFT,
        .miss = miss_lines,
        .other = other_lines,
        .range = range_lines,
        .range_looks = 1,
        .insn_time = INSN_TIME,
        .touch_time = TOUCH_TIME,
        .range_misses = 1,
        .range_sites = {{0, 1}, {4, 5}}}; /* as miss_lines() takes them */
    return 0;
}

static int often(void *self, const struct peet_block *block)
{
    (void)self;
    noften += !is_often[block->id];
    is_often[block->id] = 1;
    return 0;
}

static void sink_lines(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    (void)arg;
    if (strcmp(event->block->function->image, "peet") == 0) {
        range_lines(run, event->block, event->values);
        return;
    }
    lines[DIRECT].stamp = run->stamp;
    lines[DIRECT].time = run->time;
    event_in_lines(&lines[DIRECT], event);
    run->stamp = lines[DIRECT].stamp;
    run->time = lines[DIRECT].time;
}

static void compare_lines(struct peet_program *p, const uint64_t *words, const uint64_t *end,
    struct peet_direct_run *run)
{
    struct peet_decode_state *one, *many;
    const uint64_t *at = words;
    struct peet_event event;
    struct peet_error error = {0};
    int kind;
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &one) == 0);
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &many) == 0);
    while ((kind = peet_decode_next(one, &at, end, 1, &event, &error)) > 0)
        if (kind == PEET_EVENT_BLOCK) {
            event_in_lines(&lines[REFERENCE], &event.block);
        } else if (event.abstract.args[3] != 0) {
            const uint64_t *const args = event.abstract.args;
            uint64_t values[8];
            peet_synthetic_values((unsigned)args[0], args[1], args[2], args[3], values);
            range_in_lines(&lines[REFERENCE], peet_program_synthetic(p, (unsigned)args[0]), values);
            nranges++;
        }
    at = words;
    do {
        do
            run->limit = number(2) ? UINT64_MAX : run->time + 1 + number(200);
        while (peet_decode_direct(many, &at, end, run, sink_lines, NULL, NULL));
        kind = peet_decode_next(many, &at, end, 1, &event, &error);
        if (kind == PEET_EVENT_BLOCK)
            sink_lines(NULL, run, &event.block);
        CU_ASSERT(kind != PEET_EVENT_ABSTRACT || event.abstract.args[3] == 0);
    } while (kind > 0);
    lines[DIRECT].stamp = run->stamp;
    lines[DIRECT].time = run->time;
    lines[DIRECT].reads += run->reads;
    lines[DIRECT].writes += run->writes;
    run->reads = run->writes = 0;
    CU_ASSERT(memcmp(&lines[DIRECT], &lines[REFERENCE], sizeof lines[0]) == 0);
    peet_decode_state_free(one);
    peet_decode_state_free(many);
}

#ifdef __x86_64__
/* A program whose blocks go to lines, and a machine that knows nothing of them yet. */
static struct peet_program *begin_program(const char *path)
{
    static const struct peet_direct with_lines = {.table = table_lines, .block = ask_lines, .often = often};
    struct peet_program *p;
    struct peet_error error = {0};
    memset(known, 0, sizeof known);
    memset(lines, 0, sizeof lines);
    memset(is_often, 0, sizeof is_often);
    memset(nothers, 0, sizeof nothers);
    CU_ASSERT_FATAL(peet_program_new(&p) == 0);
    CU_ASSERT_FATAL(peet_program_add_image(p, path, 0x10000000, &error) > 0);
    CU_ASSERT_FATAL(peet_program_set_direct(p, &with_lines, NULL) == 0);
    return p;
}
#endif

static void test_lines(void)
{
#ifdef __x86_64__
    static uint64_t words[WORDS];
    static uint32_t hints[FRAMES];
    for (uint32_t i = 0; i < FRAMES; i++)
        hints[i] = i;
    make_cut_lasts();
    for (int i = 0; i < npaths; i++) {
        struct peet_direct_run run = {.hints = hints, .keys = lines[DIRECT].keys, .used = lines[DIRECT].used};
        struct peet_program *const p = begin_program(paths[i]);
        for (unsigned round = 0; round < 2 * ROUNDS; round++) {
            reach = 1ull << (6 + round % 8);
            compare_lines(p, words, walk(p, words, words + WORDS), &run);
        }
        peet_program_free(p);
    }
    reach = 1 << 20;
    CU_ASSERT(nothers_all > 10000 && noften > 50 && nranges_all > 1000 && nranges - nranges_all > 1000);
    printf("%u blocks in two lines or not found, of %u that was said; %u ranges, %u of them the machine's ",
        nothers_all, noften, nranges, nranges_all);
#endif
}

/* A way that is taken again and again: now and then it begins anew before its end, and words are others each time. */
enum { STEPS = 40, WAYS = 6 };
static struct {
    const struct peet__function *f;
    uint32_t block;
    uint8_t plain;
} steps[STEPS];

static void choose_way(const struct peet_program *p)
{
    const struct peet__function *f = NULL;
    for (unsigned n = 0; n < STEPS;) {
        const int plain = n != 0 && number(16) != 0;
        if (!plain)
            do
                f = p->functions[number(p->nfunctions)];
            while (f->nsegments == 0);
        for (unsigned tries = 0; tries < 100; tries++) {
            const uint32_t k = (uint32_t)number(f->nsegments);
            const struct peet__block *const c = &f->code[k];
            if (c->loop || !c->plain || c->slot_words > 20 || !(plain ? c->recorded : c->sync))
                continue;
            steps[n].f = f;
            steps[n].block = k;
            steps[n++].plain = (uint8_t)plain;
            break;
        }
    }
}

static uint64_t *go_way(uint64_t *at, const uint64_t *end)
{
    while (at < end - STEPS * 21)
        for (unsigned n = 0; n < STEPS && (n == 0 || number(100) != 0); n++) {
            const struct peet__function *const f = steps[n].f;
            *at++ = steps[n].plain ? 0xffffffff00000000u | (uint32_t)~steps[n].block
                                   : f->start + f->sync_offset[steps[n].block];
            for (uint32_t s = 0; s < f->code[steps[n].block].slot_words; s++)
                *at++ = 0x10000 + 8 * number(reach / 8) + (number(30) == 0 ? number(8) : 0);
        }
    return at;
}

static void test_ways(void)
{
#ifdef __x86_64__
    static uint64_t words[WORDS + 1];
    static uint32_t hints[FRAMES];
    uint64_t taken = 0, missed = 0;
    gentle = 1;
    for (uint32_t i = 0; i < FRAMES; i++)
        hints[i] = i;
    for (int i = 0; i < npaths * WAYS; i++) {
        struct peet_direct_run run = {.hints = hints, .keys = lines[DIRECT].keys, .used = lines[DIRECT].used};
        struct peet_program *const p = begin_program(paths[i / WAYS]);
        memset(times, 0, sizeof times);
        memset(instructions, 0, sizeof instructions);
        choose_way(p);
        for (unsigned round = 0; round < 3 * ROUNDS; round++) {
            reach = 1ull << (8 + round % 8);
            compare_lines(p, words, go_way(words, words + WORDS), &run);
        }
        peet_program_direct_executed(p, executed_in_lines, NULL);
        CU_ASSERT(memcmp(times[DIRECT], times[REFERENCE], sizeof times[0]) == 0);
        CU_ASSERT(instructions[DIRECT] + run.instructions == instructions[REFERENCE]);
        taken += run.instructions;
        missed += lines[DIRECT].misses;
        peet_program_free(p);
    }
    reach = 1 << 20;
    gentle = 0;
    CU_ASSERT(taken > 10000 && missed > 1000);
#endif
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        {"lines that are found", test_lines}, {"ways that are taken often", test_ways}, CU_TEST_INFO_NULL};

    paths = argv + 1;
    npaths = argc - 1;
    return run_suite("schema: lines without events", tests);
}
