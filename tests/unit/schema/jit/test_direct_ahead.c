/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks taken ahead of their turn by a machine that logs what it does: whatever is undone, waited for and gone on
 * with, its lines must be in the end what they are when each block comes as an event.  A block whose turn was to come
 * is given to the machine again, as it was, and nobody looks for its lines once more.
 *
 *     test_schema_direct_ahead PROGRAM...
 */
#include "walks.h"

enum { FRAMES = 64, LOG_USES = 200 };

struct lines {
    uint64_t keys[FRAMES], used[FRAMES], stamp, time;
};
static struct lines reference, machine;
static uint64_t addresses[3], lent_keys[FRAMES]; /* of the block that waits; what was there before lines were lent */
static uint32_t waiting_id;
static int lent;
static unsigned nlent, nasked, nwaits, nundone, nhits;

typedef void use_fn(struct peet_direct_run *run, struct lines *s, const struct peet_direct_look *look, uint64_t line);

static int has_line(const struct lines *s, const struct peet_direct_look *look, uint64_t line)
{
    return (s->keys[line % FRAMES] | look->either) == (line << 2 | 3);
}

static void use_line(struct peet_direct_run *run, struct lines *s, const struct peet_direct_look *look, uint64_t line)
{
    if (!has_line(s, look, line)) {
        s->keys[line % FRAMES] = line << 2 | (look->either ? 2 : 3);
        s->time += wait_of(line);
    }
    if (run != NULL)
        *run->log++ = (struct peet_direct_use){line % FRAMES, s->used[line % FRAMES]};
    s->used[line % FRAMES] = s->stamp + look->last;
}

/* All lines of a block, in order; @begins: of its probes. */
static void use_block(struct peet_direct_run *run, struct lines *s, const struct peet_direct_block *d,
    const uint64_t *begins, use_fn *use)
{
    for (uint32_t k = 0; k < d->nlooks; k++) {
        const uint64_t first = begins[k] >> SHIFT, second = (begins[k] + d->looks[k].span - 1) >> SHIFT;
        use(run, s, &d->looks[k], first);
        if (second != first)
            use(run, s, &d->looks[k], second);
    }
}

static void event_in_lines(struct lines *s, const struct peet_block_event *event)
{
    struct peet_direct_block d = {0};
    uint64_t begins[3];
    if (ask(NULL, event->block, NULL, &d) != 0)
        d.nlooks = 0;
    for (uint32_t k = 0; k < d.nlooks; k++)
        begins[k] = event->values[k] - 8 * k;
    use_block(NULL, s, &d, begins, use_line);
    s->stamp += event->block->nrefs;
    s->time += time_of(event->block);
}

static int absent;

static void look_for(struct peet_direct_run *run, struct lines *s, const struct peet_direct_look *look, uint64_t line)
{
    (void)run;
    absent |= !has_line(s, look, line);
}

static void lend(struct peet_direct_run *run, struct lines *s, const struct peet_direct_look *look, uint64_t line)
{
    (void)run, (void)look;
    s->keys[line % FRAMES] = line << 2 | 3;
}

static int other_ahead(struct peet_direct_run *run, uint32_t id)
{
    struct peet_direct_block d;
    CU_ASSERT_FATAL(ask(NULL, known[id], NULL, &d) == 0);
    if (lent) { /* what waited comes first, just as it was */
        memcpy(machine.keys, lent_keys, sizeof lent_keys);
        CU_ASSERT(id == waiting_id && memcmp(addresses, run->addresses, d.nlooks * sizeof addresses[0]) == 0);
        CU_ASSERT(run->time < run->until);
        lent = 0;
        nasked++;
    }
    absent = 0;
    use_block(NULL, &machine, &d, run->addresses, look_for);
    machine.stamp = run->stamp;
    machine.time = run->time;
    if (run->time < run->until) {
        use_block(run, &machine, &d, run->addresses, use_line);
        run->time = machine.time;
        run->table->done(run, time_of(known[id]), known[id]->nrefs, 0, 0);
        return 0;
    }
    if (!absent && run->log < run->log_end) {
        use_block(run, &machine, &d, run->addresses, use_line);
        nhits++;
        return 0;
    }
    memcpy(addresses, run->addresses, sizeof addresses);
    waiting_id = id;
    run->limit = 0;
    run->waits = 1;
    return -1;
}

static int table_ahead(void *self, struct peet_direct_table *out)
{
    (void)self;
    *out = (struct peet_direct_table){.hint_mask = FRAMES - 1, .line_shift = SHIFT, .other = other_ahead, .logged = 1};
    return 0;
}

static int ask_ahead(void *self, const struct peet_block *block, const uint64_t *values, struct peet_direct_block *out)
{
    if (ask(self, block, values, out) != 0)
        return -1;
    out->whole = 1;
    return 0;
}

static void sink(void *arg, struct peet_direct_run *run, const struct peet_block_event *event)
{
    (void)arg;
    CU_ASSERT(run->time < run->until && !lent);
    if (strcmp(event->block->function->image, "peet") == 0)
        return;
    machine.stamp = run->stamp;
    machine.time = run->time;
    event_in_lines(&machine, event);
    run->stamp = machine.stamp;
    run->time = machine.time;
}

static void undone(void *arg, const struct peet_block *block, const uint64_t *values, uint64_t times)
{
    (void)arg, (void)block, (void)values;
    nundone += (unsigned)times;
}

static void go_back(struct peet_decode_state *s, const uint64_t **at, const uint64_t *end, struct peet_direct_run *run)
{
    peet_decode_undo(s, at, end, undone, NULL);
    while (run->log != run->log_begin) {
        run->log--;
        machine.used[run->log->frame] = run->log->used;
    }
    run->time = run->checkpoint.time;
    run->stamp = run->checkpoint.stamp;
}

/* Sometimes lines that are waited for seem to be there: that is not asked any more. */
static void wait_for_turn(void)
{
    struct peet_direct_block d;
    nwaits++;
    if (number(2) != 0 || ask(NULL, known[waiting_id], NULL, &d) != 0)
        return;
    memcpy(lent_keys, machine.keys, sizeof lent_keys);
    use_block(NULL, &machine, &d, addresses, lend);
    lent = 1;
    nlent++;
}

static void run_reference(struct peet_program *p, const uint64_t *at, const uint64_t *end)
{
    struct peet_decode_state *s;
    struct peet_event event;
    struct peet_error error = {0};
    int kind;
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &s) == 0);
    while ((kind = peet_decode_next(s, &at, end, 1, &event, &error)) > 0)
        if (kind == PEET_EVENT_BLOCK)
            event_in_lines(&reference, &event.block);
    peet_decode_state_free(s);
}

/* @half: the words up to there come first */
static void run_ahead(struct peet_program *p, const uint64_t *at, const uint64_t *half, const uint64_t *all,
    struct peet_direct_run *run)
{
    const uint64_t *end = half;
    struct peet_decode_state *s;
    struct peet_event event;
    struct peet_error error = {0};
    int kind = 1;
    CU_ASSERT_FATAL(peet_decode_state_new(p, 3, 0x7000, &s) == 0);
    while (kind > 0) {
        run->until = run->time + 1 + number(number(30) == 0 ? 1ull << 40 : 200);
        run->limit = run->until + number(4) * number(4000);
        run->waits = 0;
        if (!peet_decode_direct(s, &at, end, run, sink, NULL, NULL)) {
            CU_ASSERT(!lent);
            kind = peet_decode_next(s, &at, end, 1, &event, &error);
            if (kind == PEET_EVENT_BLOCK)
                sink(NULL, run, &event.block);
            if (kind == 0 && end != all) {
                kind = 1;
                end = all;
            }
            continue;
        }
        CU_ASSERT(!lent);
        if (!run->final && number(3) == 0)
            go_back(s, &at, end, run);
        else if (run->waits && number(8) == 0)
            end = all;
        else if (run->waits)
            wait_for_turn();
    }
    CU_ASSERT(kind == 0 && at == all);
    machine.stamp = run->stamp;
    machine.time = run->time;
    peet_decode_state_free(s);
}

static void test_ahead(void)
{
#ifdef __x86_64__
    static const struct peet_direct ahead = {.table = table_ahead, .block = ask_ahead};
    static uint64_t words[WORDS + 1];
    static uint32_t hints[FRAMES];
    static struct peet_direct_use log[LOG_USES + 2 * PEET_DIRECT_LOOKS];
    for (uint32_t i = 0; i < FRAMES; i++)
        hints[i] = i;
    for (int i = 0; i < 2 * npaths; i++) {
        struct peet_direct_run run = {.hints = hints,
            .keys = machine.keys,
            .used = machine.used,
            .runs_ahead = 1,
            .log_begin = log,
            .log = log,
            .log_end = log + LOG_USES};
        struct peet_program *p;
        struct peet_error error = {0};
        memset(known, 0, sizeof known);
        memset(&machine, 0, sizeof machine);
        memset(&reference, 0, sizeof reference);
        gentle = i % 2;
        CU_ASSERT_FATAL(peet_program_new(&p) == 0);
        CU_ASSERT_FATAL(peet_program_add_image(p, paths[i / 2], 0x10000000, &error) > 0);
        CU_ASSERT_FATAL(peet_program_set_direct(p, &ahead, NULL) == 0);
        for (unsigned round = 0; round < 10 * ROUNDS; round++) {
            reach = 1ull << (6 + round % 8);
            const uint64_t *const half = walk(p, words, words + WORDS / 2),
                                  *const all = walk(p, words + (half - words), words + WORDS);
            run_reference(p, words, all);
            run_ahead(p, words, half, all, &run);
            CU_ASSERT(memcmp(&machine, &reference, sizeof machine) == 0);
        }
        peet_program_free(p);
    }
    reach = 1 << 20;
    CU_ASSERT(nwaits > 10000 && nlent == nasked && nasked > 5000 && nundone > 10000 && nhits > 500);
    printf("%u blocks waited, %u were given again as they were, %u undone, %u hits in two lines ", nwaits, nasked,
        nundone, nhits);
#endif
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {{"blocks ahead of their turn", test_ahead}, CU_TEST_INFO_NULL};

    paths = argv + 1;
    npaths = argc - 1;
    return run_suite("schema: blocks ahead of their turn", tests);
}
