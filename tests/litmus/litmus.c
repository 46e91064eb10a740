/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The litmus tool.  Verbs:
 *   litmus generate TABLE          a C program that runs the test named by its argument, one thread for each of the test's; with a second argument
 *                                  threads return what they have loaded
 *   litmus list TABLE              the tests' names, with the number of their threads
 *   litmus allowed MODEL TABLE [TEST]   the outcomes that MODEL allows: test, tab, outcome
 *   litmus seen MODEL TABLE TEST    does the literature say that the test's condition is seen?
 *   litmus meets TABLE TEST        does one of the outcomes on standard input meet it?
 *   litmus reach MODEL TABLE [TEST]     the outcomes that the module's own buffers and queues reach: all their steps from all states
 *   litmus random FIRST COUNT      a table of small tests by chance; with a fourth word, of threads that end with loads, fences and locked operations
 *   litmus check TABLE             do both enumerators agree, and do they agree with the literature's verdicts?
 */
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct litmus_test tests[TESTS_MOST];
static const char names[] = "wxyz";

/* Accesses that the compiler keeps as they are: volatile is a plain access of the processor, the C11 orders are themselves. */
static void generate_op(const struct litmus_op *o)
{
    const char x = names[o->location];
    char to[16] = "";

    if (o->reg >= 0)
        sprintf(to, "r[%d] = ", o->reg);
    switch (o->kind) {
    case OP_LOAD:
        if (o->order == ' ')
            printf("    %s*(volatile int *)&%c;\n", to, x);
        else
            printf("    %satomic_load_explicit(&%c, memory_order_%s);\n", to, x, o->order == 'a' ? "acquire" : "seq_cst");
        break;
    case OP_STORE:
        if (o->order == ' ')
            printf("    *(volatile int *)&%c = %d;\n", x, o->value);
        else
            printf("    atomic_store_explicit(&%c, %d, memory_order_release);\n", x, o->value);
        break;
    case OP_XCHG:
        printf("    %satomic_exchange(&%c, %d);\n", to, x, o->value);
        break;
    case OP_ADD:
        printf("    %satomic_fetch_add(&%c, %d);\n", to, x, o->value);
        break;
    case OP_MFENCE:
        printf("    _mm_mfence();\n");
        break;
    case OP_SFENCE:
        printf("    _mm_sfence();\n");
        break;
    }
}

/*
 * Registers are private until the end of the thread.  Then they go to `result`; or they are returned, a byte each, so that a thread ends with its last
 * operation, be it a load, a fence or a locked one.
 */
static void generate_thread(const struct litmus_test *t, int number, int p, int returned)
{
    int n = 0;

    printf("static void *%c%d_%d(void *unused)\n{\n    int r[%d] = { 0 };\n\n    (void)unused;\n", "tu"[returned], number, p, REGISTERS_MOST);
    for (int i = 0; i < t->nops[p]; i++)
        generate_op(&t->ops[p][i]);
    for (int i = 0; i < t->nops[p] && !returned; i++)
        if (t->ops[p][i].reg >= 0)
            printf("    result[%d] = r[%d];\n", t->ops[p][i].reg, t->ops[p][i].reg);
    printf("    return (void *)(0ul");
    for (int i = 0; i < t->nops[p] && returned; i++)
        if (t->ops[p][i].reg >= 0)
            printf(" | (unsigned long)r[%d] << %d", t->ops[p][i].reg, 8 * n++);
    printf(");\n}\n");
}

static void generate(int n)
{
    printf("/* made from table.txt by `litmus generate` */\n#include <immintrin.h>\n#include <pthread.h>\n#include <stdatomic.h>\n"
           "#include <stdio.h>\n#include <string.h>\n\nstatic _Alignas(64) atomic_int w;\nstatic _Alignas(64) atomic_int x;\n"
           "static _Alignas(64) atomic_int y;\nstatic _Alignas(64) atomic_int z;\nstatic _Alignas(64) int result[%d];\n\n", REGISTERS_MOST);
    for (int k = 0; k < n; k++)
        for (int p = 0; p < tests[k].nthreads; p++)
            for (int returned = 0; returned < 2; returned++)
                generate_thread(&tests[k], k, p, returned);
    printf("static const struct test {\n    const char *name;\n    int nthreads, nregs, used;\n    void *(*threads[2][%d])(void *);\n    int regs[%d][%d];\n"
           "} tests[] = {\n", THREADS_MOST, THREADS_MOST, OPS_MOST + 1);
    for (int k = 0; k < n; k++) {
        printf("    { \"%s\", %d, %d, %u, { ", tests[k].name, tests[k].nthreads, tests[k].nregs, tests[k].used);
        for (int returned = 0; returned < 2; returned++) {
            printf("{ ");
            for (int p = 0; p < tests[k].nthreads; p++)
                printf("%c%d_%d, ", "tu"[returned], k, p);
            printf("}, ");
        }
        printf("}, { ");
        for (int p = 0; p < tests[k].nthreads; p++) {
            printf("{ ");
            for (int i = 0; i < tests[k].nops[p]; i++)
                if (tests[k].ops[p][i].reg >= 0)
                    printf("%d, ", tests[k].ops[p][i].reg);
            printf("-1 }, ");
        }
        printf("} },\n");
    }
    printf("};\n\nstatic void show(const struct test *t)\n{\n    const char *between = \"\";\n    int memory[] = { w, x, y, z };\n\n"
           "    for (int i = 0; i < t->nregs; i++, between = \" \")\n        printf(\"%%s%%d\", between, result[i]);\n"
           "    for (int i = 0; i < 4; i++)\n        if (t->used >> i & 1) {\n            printf(\"%%s%%c=%%d\", between, \"wxyz\"[i], memory[i]);\n"
           "            between = \" \";\n        }\n    printf(\"\\n\");\n}\n\n"
           "int main(int argc, char **argv)\n{\n    for (unsigned k = 0; argc > 1 && k < sizeof tests / sizeof *tests; k++)\n"
           "        if (!strcmp(tests[k].name, argv[1])) {\n            const int returned = argc > 2;\n            pthread_t threads[%d];\n            void *got;\n\n"
           "            for (int p = 0; p < tests[k].nthreads; p++)\n                pthread_create(&threads[p], NULL, tests[k].threads[returned][p], NULL);\n"
           "            for (int p = 0; p < tests[k].nthreads; p++) {\n                pthread_join(threads[p], &got);\n"
           "                for (int i = 0; returned && tests[k].regs[p][i] >= 0; i++)\n"
           "                    result[tests[k].regs[p][i]] = (int)((unsigned long)got >> 8 * i & 255);\n            }\n"
           "            show(&tests[k]);\n            return 0;\n        }\n    return 2;\n}\n", THREADS_MOST);
}

static void allowed_of(const struct litmus_test *t, enum litmus_model model, struct litmus_set *set)
{
    if (model <= LITMUS_PSO)
        litmus_machine(t, model, set);
    else
        litmus_axioms(t, model, set);
}

static void reached_by(const struct litmus_test *t, enum litmus_model model, struct litmus_set *set)
{
    litmus_reach(t, model, 32, set);
}

static int allowed(const char *model, int n, const char *only, void (*of)(const struct litmus_test *, enum litmus_model, struct litmus_set *))
{
    for (int m = 0; m < LITMUS_MODELS; m++) {
        if (strcmp(model, litmus_models[m]))
            continue;
        for (int k = 0; k < n; k++) {
            struct litmus_set set = { 0 };

            if (only && strcmp(only, tests[k].name))
                continue;
            of(&tests[k], (enum litmus_model)m, &set);
            for (size_t i = 0; i < set.n; i++)
                printf("%s\t%s\n", tests[k].name, set.texts[i]);
            litmus_free(&set);
        }
        return 0;
    }
    fprintf(stderr, "no model %s\n", model);
    return 2;
}

static const struct litmus_test *find(int n, const char *name)
{
    for (int k = 0; k < n; k++)
        if (!strcmp(tests[k].name, name))
            return &tests[k];
    fprintf(stderr, "no test %s\n", name);
    exit(2);
}

static int seen(const struct litmus_test *t, const char *model)
{
    char words[sizeof t->verdicts], *at = words, *word;
    size_t length = strlen(model);

    strcpy(words, t->verdicts);
    while ((word = strsep(&at, " ")) != NULL)
        if (!strncmp(word, model, length) && !strcmp(word + length, "+"))
            return 0;
    return 1;
}

static int meets(const struct litmus_test *t)
{
    char line[OUTCOME_BYTES];

    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (litmus_meets(t, line))
            return 0;
    }
    return 1;
}

static int same(const struct litmus_set *a, const struct litmus_set *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (!litmus_holds(b, a->texts[i]))
            return 0;
    return a->n == b->n;
}

static int check(int n)
{
    int bad = 0, verdicts = 0;

    for (int k = 0; k < n; k++) {
        struct litmus_test *t = &tests[k];
        struct litmus_set sets[LITMUS_MODELS] = { 0 };
        char words[sizeof t->verdicts], *at = words, *word;

        for (int m = 0; m < LITMUS_MODELS; m++)
            litmus_axioms(t, m, &sets[m]);
        for (int m = 0; m <= LITMUS_PSO; m++) {
            struct litmus_set other = { 0 };

            litmus_machine(t, m, &other);
            if (!same(&sets[m], &other) && ++bad)
                printf("%s: %s: the machine finds %zu outcomes, the axioms allow %zu\n", t->name, litmus_models[m], other.n, sets[m].n);
            litmus_free(&other);
        }
        strcpy(words, t->verdicts);
        while ((word = strsep(&at, " ")) != NULL) {
            size_t length = strlen(word);
            int m = 0, found = 0;

            while (m < LITMUS_MODELS && !(strlen(litmus_models[m]) == length - 1 && !strncmp(word, litmus_models[m], length - 1)))
                m++;
            if (length < 2 || m == LITMUS_MODELS || !strchr("+-", word[length - 1])) {
                printf("%s: '%s' is no verdict\n", t->name, word);
                bad++;
                continue;
            }
            for (size_t i = 0; i < sets[m].n; i++)
                found |= litmus_meets(t, sets[m].texts[i]);
            verdicts++;
            if (found != (word[length - 1] == '+') && ++bad)
                printf("%s: %s: the enumerators %s '%s'\n", t->name, word, found ? "allow" : "forbid", t->condition);
        }
        for (int m = 0; m < LITMUS_MODELS; m++)
            litmus_free(&sets[m]);
    }
    printf("%d tests, %d verdicts, %d differences\n", n, verdicts, bad);
    return bad != 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    const int third = !strcmp(verb, "allowed") || !strcmp(verb, "seen") || !strcmp(verb, "reach"), makes = !strcmp(verb, "random");
    int n = argc > 2 && makes ? 0 : argc > 2 + third ? litmus_read(argv[2 + third], tests) : 0;

    if (argc == 3 && !strcmp(verb, "generate"))
        generate(n);
    else if (argc == 3 && !strcmp(verb, "check"))
        return check(n);
    else if (argc >= 4 && !strcmp(verb, "allowed"))
        return allowed(argv[2], n, argv[4], allowed_of);
    else if (argc >= 4 && !strcmp(verb, "reach"))
        return allowed(argv[2], n, argv[4], reached_by);
    else if (argc >= 4 && makes)
        for (unsigned seed = (unsigned)atoi(argv[2]), count = (unsigned)atoi(argv[3]); count; count--) {
            (argc > 4 ? litmus_random_ends : litmus_random)(&tests[0], seed++);
            litmus_print(&tests[0]);
        }
    else if (argc == 5 && !strcmp(verb, "seen"))
        return seen(find(n, argv[4]), argv[2]);
    else if (argc == 4 && !strcmp(verb, "meets"))
        return meets(find(n, argv[3]));
    else if (argc == 3 && !strcmp(verb, "list"))
        for (int k = 0; k < n; k++)
            printf("%s %d\n", tests[k].name, tests[k].nthreads);
    else {
        fprintf(stderr, "usage: litmus generate|list|check TABLE, litmus allowed|reach MODEL TABLE [TEST], litmus random FIRST COUNT [ends], litmus seen MODEL TABLE TEST, litmus meets TABLE TEST\n");
        return 2;
    }
    return fflush(stdout) != 0;
}
