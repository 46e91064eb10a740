/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chameleon programs: C that chases pointers through memory as a seed says (Weinberg and Snavely, "Chameleon", section
 * 5).  An element of 4 bytes holds the number of the next one, and what is loaded again before that.
 */
#include "locality.h"

#include <stdlib.h>
#include <string.h>

/* SPILLED: of a stretch, references to what compilers keep on the stack */
enum {
    STRETCH = 64,
    SPILLED = 10,
    SPILLED_WORDS = 5,
    AGAIN_BITS = 5,
    ELEMENT_SHIFT = AGAIN_BITS + 1,
    PER_LINE = 10,
    ROUNDS = 16
};

static const char head[] =
    "/*\n"
    " * A stand-in for the memory behaviour of another program, written by `peet locality bench`.  It chases pointers: every address is\n"
    " * what the last load brought.  It has no code and no data of the program that it stands for.\n"
    " *\n"
    " *     cc -O2 -pthread -o stand-in this-file.c\n"
    " *     ./stand-in [LOADS-OF-EACH-THREAD [THREADS]]\n"
    " */\n"
    "#include <pthread.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n\n";

static const char body[] =
    "/* share: of all references; stores: of an element that comes again, so many are stores; more: so many elements are stored to\n"
    " * after all that, too; all in 65536ths */\n"
    "struct phase { const uint32_t *order; uint32_t steps, words, copies, share, stores, more; };\n"
    "struct array { uint32_t *data; uint32_t first; };\n"
    "struct thread { struct array own[PHASES]; uint64_t loads; uint32_t sum; unsigned number; pthread_t id; };\n"
    "static struct array shared[PHASES];\n"
    "static const struct phase phases[PHASES];\n\n"
    "/* Element i holds the number of the element after it in the order, times 64, + 32 if that is one of the walk, + what is loaded again\n"
    " * after i.  The order's numbers are 64 * element, + 32 for one of the walk, + what is loaded again: n < 8: the element n times;\n"
    " * 8 + n: 8 + 3 * n times; 16 + n and 24 + n: the latest two or four, n + 1 times each. */\n"
    "static struct array fill(const struct phase *p)\n"
    "{\n"
    "    size_t bytes = ((size_t)p->words * p->copies * 4 + 4095) / 4096 * 4096;\n"
    "    struct array a = { aligned_alloc(4096, bytes), p->order[0] >> 6 };\n\n"
    "    if (!a.data) {\n"
    "        fputs(\"out of memory\\n\", stderr);\n"
    "        exit(1);\n"
    "    }\n"
    "    for (uint32_t r = 0; r < p->copies; r++)\n"
    "        for (uint32_t i = 0; i < p->steps; i++) {\n"
    "            uint32_t last = i + 1 == p->steps, after = p->order[last ? 0 : i + 1];\n"
    "            uint32_t next = (last ? (r + 1) % p->copies : r) * p->words + (after >> 6);\n\n"
    "            a.data[r * p->words + (p->order[i] >> 6)] = next << 6 | (after & 32) | (p->order[i] & 31);\n"
    "        }\n"
    "    return a;\n"
    "}\n\n"
    "#define AT(i) (*(volatile uint32_t *)&data[i])\n"
    "#if WRITES\n"
    "#define IS_OF(share) ((value >> 6) * 2654435761u >> 16 < (share))\n"
    "#define AGAIN /* what is stored changes nothing */ \\\n"
    "    if (stores) \\\n"
    "        AT(at) = value; \\\n"
    "    else \\\n"
    "        total += AT(at);\n"
    "#define BEFORE const int stores = IS_OF(p->stores);\n"
    "#define AFTER \\\n"
    "    if (IS_OF(p->more)) \\\n"
    "        AT(at) = value;\n"
    "#else\n"
    "#define AGAIN total += AT(at);\n"
    "#define BEFORE\n"
    "#define AFTER\n"
    "#endif\n"
    "#define AFTER_LOAD /* what comes again: this element, or by turns the latest two or four */ \\\n"
    "    { \\\n"
    "        BEFORE \\\n"
    "        loads--; \\\n"
    "        again = value & 7; \\\n"
    "        if (!(value & 16)) \\\n"
    "            for (again += value & 8 ? 8 + 2 * again : 0; again && loads; again--, loads--) { \\\n"
    "                AGAIN \\\n"
    "            } \\\n"
    "        else if (!(value & 8)) \\\n"
    "            for (again++; again && loads > 1; again--, loads -= 2) { \\\n"
    "                total += AT(at1); \\\n"
    "                AGAIN \\\n"
    "            } \\\n"
    "        else \\\n"
    "            for (again++; again && loads > 3; again--, loads -= 4) { \\\n"
    "                total += AT(at3), total += AT(at2), total += AT(at1); \\\n"
    "                AGAIN \\\n"
    "            } \\\n"
    "        AFTER \\\n"
    "        at3 = at2, at2 = at1, at1 = at, at = value >> 6; \\\n"
    "    }\n\n"
    "/* So many loads from here on.  Returns: the element where it ended */\n"
    "static uint32_t chase(const struct phase *p, uint32_t *data, uint32_t at, uint64_t loads, uint32_t *sum)\n"
    "{\n"
    "    uint32_t total = *sum, at1 = at, at2 = at, at3 = at, again;\n\n"
    "    while (loads) {\n"
    "        uint32_t value = AT(at);\n\n"
    "        AFTER_LOAD\n"
    "        while (loads && value & 32) { /* a load of its own for the walk: prefetchers tell instructions apart */\n"
    "            value = AT(at);\n"
    "            AFTER_LOAD\n"
    "        }\n"
    "    }\n"
    "    (void)p;\n"
    "    *sum = total;\n"
    "    return at;\n"
    "}\n\n"
    "static void *work(void *arg)\n"
    "{\n"
    "    struct thread *t = arg;\n\n"
    "    for (unsigned p = 0; p < PHASES; p++) {\n"
    "        const struct array a[2] = { t->own[p], shared[p] };\n"
    "        uint32_t mine = a[0].first, ours = a[1].first, sum = 0;\n"
    "        uint64_t left = t->loads / 65536 * phases[p].share + t->loads % 65536 * phases[p].share / 65536;\n\n"
    "        for (unsigned turn = t->number; left; turn++) {\n"
    "            uint64_t some = left < 64 ? left : 64;\n\n"
    "            if (!SHARING)\n"
    "                some = left;\n"
    "            const int is_ours = (int)(turn * 2654435761u >> 16) < SHARING;\n"
    "            const uint32_t at = chase(&phases[p], is_ours ? a[1].data : a[0].data, is_ours ? ours : mine, some, &sum);\n\n"
    "            if (is_ours)\n"
    "                ours = at;\n"
    "            else\n"
    "                mine = at;\n"
    "            left -= some;\n"
    "        }\n"
    "        t->sum += sum;\n"
    "    }\n"
    "    return 0;\n"
    "}\n\n"
    "/* Simulators that know PARSEC's region of interest can leave out how memory was filled (peet run --roi=only). */\n"
    "#if defined(__GNUC__)\n"
    "#define MARK __attribute__((noinline))\n"
    "#else\n"
    "#define MARK\n"
    "#endif\n"
    "static volatile int region;\n"
    "MARK void __parsec_roi_begin(void) { region = 1; }\n"
    "MARK void __parsec_roi_end(void) { region = 0; }\n\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    uint64_t loads = argc > 1 ? strtoull(argv[1], 0, 10) : LOADS;\n"
    "    unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], 0, 10) : THREADS;\n"
    "    struct thread *threads = calloc(n ? n : 1, sizeof *threads);\n"
    "    struct timespec begin, end;\n"
    "    uint32_t sum = 0;\n\n"
    "    if (!n || !threads)\n"
    "        return 1;\n"
    "    for (unsigned p = 0; p < PHASES; p++) {\n"
    "        if (SHARING)\n"
    "            shared[p] = fill(&phases[p]);\n"
    "        for (unsigned t = 0; t < n; t++)\n"
    "            threads[t].own[p] = fill(&phases[p]);\n"
    "    }\n"
    "    clock_gettime(CLOCK_MONOTONIC, &begin);\n"
    "    __parsec_roi_begin();\n"
    "    for (unsigned t = 0; t < n; t++) {\n"
    "        threads[t].loads = loads;\n"
    "        threads[t].number = t;\n"
    "        if (t && pthread_create(&threads[t].id, 0, work, &threads[t]) != 0) {\n"
    "            fputs(\"no thread\\n\", stderr);\n"
    "            return 1;\n"
    "        }\n"
    "    }\n"
    "    work(&threads[0]);\n"
    "    for (unsigned t = 1; t < n; t++)\n"
    "        pthread_join(threads[t].id, 0);\n"
    "    __parsec_roi_end();\n"
    "    clock_gettime(CLOCK_MONOTONIC, &end);\n"
    "    for (unsigned t = 0; t < n; t++)\n"
    "        sum += threads[t].sum;\n"
    "    printf(\"%llu loads by each of %u threads, %.3f ns for each, sum %u\\n\", (unsigned long long)loads, n,\n"
    "        ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / (double)(loads ? loads : 1), sum);\n"
    "    return 0;\n"
    "}\n";

/* What is loaded again after a step, as the program's numbers say it. */
static uint32_t again_code(const struct peet_cli_step *step)
{
    if (step->among > 1)
        return (step->among == 2 ? 16 : 24) + step->again / step->among - 1;
    return step->again < PEET_CLI_FEW_AGAIN ? step->again : 8 + (step->again - PEET_CLI_FEW_AGAIN) / 3;
}

double peet_cli_bench_stores(const struct peet_cli_seed *seed)
{
    uint64_t again = 0;
    for (size_t i = 0; i < seed->n; i++)
        again += seed->steps[i].again / (seed->steps[i].among > 1 ? seed->steps[i].among : 1);
    return (double)again / (double)seed->references;
}

/** A share in 65536ths, of at most all. */
static unsigned parts(double share)
{
    return (unsigned)(65536 * (share < 1 ? share : 1));
}

/** How often stores take the place of loads, and how often there is one more after a load, so that @writes of all references store. */
static void share_stores(const struct peet_cli_seed *seed, double writes, unsigned *out_stores, unsigned *out_more)
{
    const double place = peet_cli_bench_stores(seed),
                 loads = (double)seed->n / (double)seed->references; /* of elements for the first time */
    *out_stores = place > 0 ? parts(writes / place) : 0;
    *out_more = writes > place ? parts(writes < 1 ? (writes - place) / (1 - writes) / loads : 1) : 0;
}

int peet_cli_bench_write(FILE *out, const void *what)
{
    const struct peet_cli_bench *b = what;
    uint64_t loads = 0;
    double weights = 0;
    for (size_t p = 0; p < b->nphases; p++) {
        loads += ROUNDS * b->replicas[p] * b->seeds[p].references;
        weights += b->weights[p];
    }
    fputs(head, out);
    /* The order's numbers and the shares are of 65536. */
    fprintf(out, "enum { PHASES = %zu, THREADS = %u, SHARING = %u };\n#define WRITES %d\n#define LOADS %llu\n\n",
        b->nphases, b->threads, parts(b->sharing), b->writes > 0, (unsigned long long)loads);
    fputs(body, out);
    for (size_t p = 0; p < b->nphases; p++) {
        const struct peet_cli_seed *s = &b->seeds[p];
        fprintf(out,
            "\n/* %zu elements in %llu blocks of 512 bytes: 64 * element, + 32 for one of the walk, + what is loaded again */\nstatic const uint32_t order_%zu[] = {",
            s->n, (unsigned long long)s->blocks, p);
        for (size_t i = 0; i < s->n; i++)
            fprintf(out, "%s%u,", i % PER_LINE ? "" : "\n    ",
                s->steps[i].element << ELEMENT_SHIFT | s->steps[i].strided << AGAIN_BITS | again_code(&s->steps[i]));
        fputs("\n};\n", out);
    }
    fputs("\nstatic const struct phase phases[PHASES] = {\n", out);
    for (size_t p = 0; p < b->nphases; p++) {
        unsigned stores, more;
        share_stores(&b->seeds[p], b->writes, &stores, &more);
        fprintf(out, "    { order_%zu, %zu, %llu, %u, %u, %u, %u },\n", p, b->seeds[p].n,
            (unsigned long long)b->seeds[p].blocks * 128, b->replicas[p], (unsigned)(b->weights[p] / weights * 65536),
            stores, more);
    }
    fputs("};\n", out);
    return ferror(out);
}

/* One of a thread's two walks, where it is: through its own memory, and through that of all. */
struct walk {
    uint64_t first; /* address */
    unsigned copy;
    size_t step;
};

/* As the program's chase(): so many loads from here on. */
static void chase(struct walk *w, const struct peet_cli_seed *seed, unsigned replicas, uint64_t loads,
    struct peet_sim_surface *s, struct peet_sim_tally *out)
{
    while (loads) {
        const struct peet_cli_step *step = &seed->steps[w->step];
        const uint64_t copy = w->first + w->copy * seed->blocks * 512;
        peet_sim_surface_reference(s, copy + step->element * 4ull, out);
        loads--;
        for (uint32_t n = 0; n < step->again && loads; n++, loads--)
            peet_sim_surface_reference(s, copy + peet_cli_step_again(step, n) * 4ull, out);
        if (++w->step == seed->n) {
            w->step = 0;
            w->copy = (w->copy + 1) % replicas;
        }
    }
}

int peet_cli_bench_surface(const struct peet_cli_seed *seed, unsigned replicas, double sharing,
    struct peet_sim_tally *out, struct peet_error *error)
{
    struct peet_sim_surface *s = peet_sim_surface_new();
    struct walk mine = {0}, ours = {replicas * seed->blocks * 512, 0, 0};
    struct peet_sim_tally warm;
    const uint64_t stack = 2 * ours.first, once = replicas * seed->references, loads = sharing > 0 ? 2 * once : once;
    uint32_t turn = 0;
    memset(out, 0, sizeof(*out));
    for (unsigned round = 0; s && round < 2; round++) {
        if (round) {
            peet_sim_surface_flush(s);
            peet_sim_tally_settle(out);
            warm = *out;
        }
        for (uint64_t left = loads, some; left; left -= some) { /* as the program's work(), of its first thread */
            some = sharing > 0 && left > STRETCH ? STRETCH : left;
            for (unsigned i = 0; sharing > 0 && i < SPILLED; i++)
                peet_sim_surface_reference(s, stack + i % SPILLED_WORDS * 8, out);
            chase(turn++ * 2654435761u >> 16 < parts(sharing) ? &ours : &mine, seed, replicas, some, s, out);
        }
    }
    if (!s || peet_sim_surface_flush(s)) {
        peet_sim_surface_free(s);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    peet_sim_tally_settle(out);
    peet_sim_tally_add(out, &warm, -1);
    peet_sim_surface_free(s);
    return 0;
}
