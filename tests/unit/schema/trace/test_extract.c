/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extractor on mixtures that are made here, where it is known whose each instruction is: processes whose threads'
 * stacks lie at the same virtual addresses, cores that switch between them, an operating system in between, threads
 * that are not marked, stacks that are used again.
 */
#include <peet/extract.h>
#include <peet/marker.h>

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 3, THREADS = 4, CORES = 4, STEPS = 400000, ALL = PROCESSES * THREADS, STACK = 1 << 20 };

/** A thread of the model, and what it is going to execute. */
struct model {
    unsigned process, number, place, life; /* its place in the process says where its stack is */
    int marked, found, thread;
    unsigned step;
    uint64_t pc, executed, extracted;
    uint64_t hash, seen;
};

static struct model threads[ALL];
static struct model *running[CORES];
static int in_kernel[CORES];
static unsigned found, by_thread[100000];

static uint64_t top_of(const struct model *t)
{
    return 0x7f0000000000u + (uint64_t)t->place * 2 * STACK + STACK;
}

/** Each process has pages of its own at the same addresses; the kernel's are the same in all. */
static uint64_t translate(void *arg, unsigned core, uint64_t address)
{
    const struct model *t = running[core];

    (void)arg;
    if (address >> 63)
        return address & 0xffffffff;
    return ((address >> 12) * 2654435761u % 1000003 * PROCESSES + t->process) << 12;
}

static uint64_t number(void *arg, unsigned core)
{
    (void)arg;
    return running[core]->number;
}

static void is_found(void *arg, unsigned thread, uint64_t its_number)
{
    (void)arg;
    CU_ASSERT_EQUAL_FATAL(thread, found);
    by_thread[thread] = (unsigned)(its_number % ALL);
    threads[its_number % ALL].found++;
    threads[its_number % ALL].thread = (int)thread;
    CU_ASSERT_EQUAL_FATAL(threads[its_number % ALL].number, its_number);
    found++;
}

static void extracted(void *arg, unsigned thread, const struct peet_extract_insn *insn)
{
    struct model *t = &threads[by_thread[thread]];

    (void)arg;
    t->extracted++;
    t->seen = (t->seen ^ insn->pc) * 0x9e3779b97f4a7c15u;
}

/** The next instruction of a thread: the pattern near its beginning, with what looks like it before and after. */
static void next_of(struct model *t, struct peet_extract_insn *i)
{
    static const uint8_t code[][3] = {{0x90}, {0x89, 0xf8}, {0x83, 0xc0, 0}, {0x83, 0xc0, 1}, {0x44, 0x89, 0xc0}};
    static const uint8_t lengths[] = {1, 2, 3, 3, 3};
    static const uint8_t begin[] = {0, 1, 2, 3, 0, 2, 2, 0, 4, 2, 2, 0}; /* the marker is at 8, 9, 10 */
    const unsigned which = t->step < sizeof begin ? begin[t->step] : (unsigned)rand() % 2 * 2;

    /* a marked thread executes the pattern; others only come near to it */
    i->bytes = code[t->step == 10 && !t->marked ? 3 : which];
    i->length = lengths[which];
    i->pc = t->pc;
    i->sp = top_of(t) - 64 - (t->step > 20 ? (unsigned)rand() % 60000 * 8 : t->step > 11 ? t->step * 8 : 0);
    t->pc += i->length;
    if (t->step > 30 && rand() % 8 == 0)
        t->pc = 0x400000 + (unsigned)rand() % 4096;
    t->step++;
}

static void begin(struct model *t)
{
    t->number += ALL;
    t->step = 0;
    t->found = 0;
    t->life = 500 + (unsigned)rand() % 20000;
    t->executed = t->extracted = t->hash = t->seen = 0;
    t->pc = 0x400000 + (unsigned)rand() % 4096;
}

static void end(struct model *t)
{
    CU_ASSERT_FATAL(!t->marked || t->step < 11 || t->found == 1);
    CU_ASSERT_FATAL(t->marked || t->found == 0);
    CU_ASSERT_EQUAL_FATAL(t->extracted, t->marked ? t->executed : 0);
    CU_ASSERT_EQUAL_FATAL(t->seen, t->marked ? t->hash : 0);
}

static void test_mixture(void)
{
    const struct peet_extract_ops ops = {translate, number, is_found, extracted};
    const struct peet_extract_config config = {.stack_bytes = STACK};
    struct peet_extract *x = peet_extract_new(&config, &ops, NULL);

    CU_ASSERT_FATAL(x != NULL);
    for (unsigned i = 0; i < ALL; i++) {
        threads[i] = (struct model){.process = i / THREADS, .place = i % THREADS, .number = i, .marked = i % 5 != 4};
        begin(&threads[i]);
    }
    for (unsigned c = 0; c < CORES; c++)
        running[c] = &threads[c * 3];
    for (int step = 0; step < STEPS; step++) {
        const unsigned core = (unsigned)rand() % CORES;
        struct peet_extract_insn i = {.core = core};
        static const uint8_t nop[] = {0x90}, add[] = {0x83, 0xc0, 0};
        struct model *t = running[core], *other = &threads[rand() % ALL];
        int got, taken = 0;

        in_kernel[core] = rand() % 10 == 0;
        for (unsigned c = 0; c < CORES; c++)
            taken |= running[c] == other;
        /* also inside the pattern, and to another core */
        if (in_kernel[core] && !taken && rand() % 4 == 0)
            t = running[core] = other;
        if (in_kernel[core]) {
            i.pc = 0xffffffff81000000u + (unsigned)rand() % 4096;
            i.bytes = rand() & 1 ? nop : add;
            i.length = rand() & 1 ? 1 : 3;
            i.bytes = i.length == 1 ? nop : add;
            i.sp = 0xffffc90000000000u + core * 0x4000 + 0x3000;
            CU_ASSERT_EQUAL_FATAL(peet_extract_step(x, &i), -1);
            continue;
        }
        if (t->step >= t->life) { /* another one on the same stack */
            end(t);
            begin(t);
        }
        next_of(t, &i);
        got = peet_extract_step(x, &i);
        if (t->marked && t->found && t->step > 11) {
            t->executed++;
            t->hash = (t->hash ^ i.pc) * 0x9e3779b97f4a7c15u;
            CU_ASSERT_EQUAL_FATAL(got, t->thread);
        } else if (!t->marked) {
            CU_ASSERT_EQUAL_FATAL(got, -1);
        } else { /* before its marker it is nobody, or what the thread before it on the stack was */
            t->extracted = t->seen = 0;
        }
    }
    CU_ASSERT_EQUAL(peet_extract_threads(x), found);
    CU_ASSERT(found > ALL);
    peet_extract_free(x);
}

/** The macro has the pattern: its machine code, found in a function of this program. */
__attribute__((noinline)) static int marked(uint32_t n)
{
    return peet_marker(n);
}

static uint64_t same(void *arg, unsigned core, uint64_t address)
{
    (void)arg;
    (void)core;
    return address;
}

static void test_macro(void)
{
    const struct peet_extract_ops ops = {.translate = same};
    struct peet_extract *x = peet_extract_new(NULL, &ops, NULL);
    static const uint8_t adds[] = {0x83, 0xc0, 0, 0x83, 0xc0, 0};
    const uint8_t *code = (const uint8_t *)(uintptr_t)marked, *at = memmem(code, 400, adds, sizeof adds);
    unsigned length;

    marked(7);
    CU_ASSERT_FATAL(at != NULL && x != NULL);
    length = at[-3] == 0x44 ? 3 : 2;
    for (unsigned k = 0, offset = 0; k < 3; k++) {
        const struct peet_extract_insn i = {
            .pc = 100 + offset, .bytes = at - length + offset, .length = k ? 3 : length, .sp = 0x10000};

        CU_ASSERT_EQUAL(peet_extract_threads(x), 0);
        peet_extract_step(x, &i);
        offset += i.length;
    }
    CU_ASSERT_EQUAL(peet_extract_threads(x), 1);
    peet_extract_free(x);
}

int main(void)
{
    CU_pSuite suite;
    unsigned failures;

    CU_initialize_registry();
    suite = CU_add_suite("extract", NULL, NULL);
    CU_add_test(suite, "mixture", test_mixture);
    CU_add_test(suite, "macro", test_macro);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
