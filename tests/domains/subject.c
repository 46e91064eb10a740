/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What views of memory must do, checked from inside: a context stores in one view, goes to another, and looks.  What it shall see follows
 * from runtime/domain.h.  Compiled by peetcc -fpeet-domains; every access to the volatile words below is one instruction.
 */
#define _GNU_SOURCE
#include "ask.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <peet/doall.h>

uint64_t peet_rt_event(unsigned type, unsigned nargs, const uint64_t *args);
enum { YIELD = 19 };

static uint64_t ask(uint64_t what, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t args[4] = {what, a, b, c};
    return peet_rt_event(YIELD, 4, args);
}
static void go(unsigned view)
{
    ask(ASK_GO, view, 0, 0);
}

static int failures;
#define CHECK(what)                                              \
    do {                                                         \
        if (!(what)) {                                           \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);   \
            failures++;                                          \
        }                                                        \
    } while (0)
#define AT(word) ((uint64_t)&(word))

/* Pages of their own. */
static struct page {
    volatile uint64_t x, y, rest[510];
} pages[8] __attribute__((aligned(4096)));
static struct page *const p = pages;

/* A store stays in its view until it is passed on. */
static void stores(void)
{
    go(1);
    p[0].x = 11;
    CHECK(p[0].x == 11);
    go(2);
    CHECK(p[0].x == 0);
    p[0].x = 22;
    go(0);
    CHECK(p[0].x == 0);
    CHECK(ask(ASK_READ, 1, AT(p[0].x), 0) == 11 && ask(ASK_READ, 2, AT(p[0].x), 0) == 22 && ask(ASK_READ, 3, AT(p[0].x), 0) == 0);
    CHECK(ask(ASK_COPIED, AT(p[0].x), 0, 0) == (1 << 1 | 1 << 2));
    CHECK(ask(ASK_COPIED, AT(p[1].x), 0, 0) == 0);
    /* main memory's stores are seen where the page is an alias */
    p[0].y = 5;
    p[1].y = 6;
    CHECK(ask(ASK_READ, 1, AT(p[0].y), 0) == 0 && ask(ASK_READ, 3, AT(p[0].y), 0) == 5);
    CHECK(ask(ASK_READ, 1, AT(p[1].y), 0) == 6);
    /* performed for some */
    ask(ASK_PERFORM, 1 | 1 << 2, AT(p[0].x), 33);
    CHECK(p[0].x == 33 && ask(ASK_READ, 1, AT(p[0].x), 0) == 11 && ask(ASK_READ, 2, AT(p[0].x), 0) == 33 && ask(ASK_READ, 3, AT(p[0].x), 0) == 0);
    /* forgotten: in part, and all */
    ask(ASK_REFRESH, 1, AT(p[0].x), 8);
    CHECK(ask(ASK_READ, 1, AT(p[0].x), 0) == 33 && ask(ASK_READ, 1, AT(p[0].y), 0) == 0);
    ask(ASK_REFRESH, 1, 0, ~0ul);
    CHECK(ask(ASK_READ, 1, AT(p[0].y), 0) == 5 && ask(ASK_PAGES, 1, 0, 0) == 0);
    ask(ASK_REFRESH, 2, 0, ~0ul);
    ask(ASK_REFRESH, 3, 0, ~0ul);
    CHECK(ask(ASK_COPIED, AT(p[0].x), 0, 0) == 0);
}

/* What is equal to main memory need not be a copy. */
static void tidy(void)
{
    go(1);
    p[2].x = 1;
    p[3].x = 2;
    go(0);
    p[2].x = 1;
    CHECK(ask(ASK_PAGES, 1, 0, 0) == 2);
    CHECK(ask(ASK_TIDY, 1, 0, 0) == 1 && ask(ASK_COPIED, AT(p[2].x), 0, 0) == 0 && ask(ASK_COPIED, AT(p[3].x), 0, 0) == 2);
    ask(ASK_REFRESH, 1, 0, ~0ul);
}

/* Differences are a view's own stores, whatever the others have performed meanwhile. */
static void differences(void)
{
    go(1);
    p[4].x = 0x0101010101010101;
    p[4].rest[509] = 1;
    p[5].y = 0x0202;
    go(2);
    p[4].y = 0x030303;
    go(0);
    CHECK(ask(ASK_DIFF, 1, 0, 0) == 8 + 1 + 2 && ask(ASK_DIFF, 2, 0, 0) == 3);
    CHECK(ask(ASK_COMMIT, 1, 0, 0) == 11); /* for main memory, and whoever has an alias */
    CHECK(p[4].x == 0x0101010101010101 && p[4].rest[509] == 1 && p[5].y == 0x0202);
    CHECK(ask(ASK_READ, 2, AT(p[4].x), 0) == 0 && ask(ASK_READ, 3, AT(p[4].x), 0) == 0x0101010101010101);
    CHECK(ask(ASK_DIFF, 1, 0, 0) == 0 && ask(ASK_DIFF, 2, 0, 0) == 3);
    CHECK(ask(ASK_COMMIT, 2, ~0ul, 0) == 3);
    CHECK(p[4].y == 0x030303 && ask(ASK_READ, 1, AT(p[4].y), 0) == 0x030303 && ask(ASK_READ, 1, AT(p[4].x), 0) == 0x0101010101010101);
    CHECK(ask(ASK_DIFF, 1, 0, 0) == 0 && ask(ASK_DIFF, 2, 0, 0) == 0);
    /* hidden even from an alias */
    go(1);
    p[6].x = 9;
    go(0);
    ask(ASK_COMMIT, 1, ~0ul, 1 << 3);
    CHECK(p[6].x == 9 && ask(ASK_READ, 3, AT(p[6].x), 0) == 0 && ask(ASK_READ, 2, AT(p[6].x), 0) == 9);
    CHECK(ask(ASK_DIFF, 3, 0, 0) == 0);
    for (unsigned v = 1; v < 4; v++)
        ask(ASK_REFRESH, v, 0, ~0ul);
}

/* Stacks, thread-local variables, arguments, the C library: one and the same everywhere. */
static __thread uint64_t local;
static void set(volatile uint64_t *word, uint64_t value)
{
    *word = value;
}
static void aliases(int argc, char **argv)
{
    volatile uint64_t here = 1;
    set(&here, 2);
    CHECK(here == 2);
    go(1);
    set(&here, 3);
    CHECK(here == 3);
    set(&local, 4);
    CHECK(local == 4 && argc > 0 && argv[0][0] && getenv("HOME"));
    go(2);
    CHECK(here == 3 && local == 4);
    go(0);
    CHECK(here == 3 && local == 4);
    CHECK(ask(ASK_CLASS, AT(here), 0, 0) == 1 && ask(ASK_CLASS, AT(local), 0, 0) == 1 && ask(ASK_CLASS, AT(p[0]), 0, 0) == 2);
    CHECK(ask(ASK_CLASS, (uint64_t)stdout, 0, 0) == 1 && ask(ASK_CLASS, 8, 0, 0) == 0);
}

/* Heap and mappings come and go in all views. */
static void growing(void)
{
    go(1);
    volatile uint64_t *heap = malloc(8 << 20);
    heap[0] = 1;
    heap[100000] = 2;
    CHECK(ask(ASK_CLASS, (uint64_t)heap, 0, 0) == 2);
    CHECK(ask(ASK_READ, 0, (uint64_t)heap, 0) != 1 && ask(ASK_READ, 1, (uint64_t)heap, 0) == 1);
    ask(ASK_COMMIT, 1, ~0ul, 0);
    CHECK(ask(ASK_READ, 0, (uint64_t)(heap + 100000), 0) == 2);
    free((void *)heap);
    volatile uint64_t *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map[5] == 0);
    map[5] = 6;
    map = mremap((void *)map, 1 << 20, 4 << 20, MREMAP_MAYMOVE);
    CHECK(map[5] == 6 && map[(4 << 20) / 8 - 1] == 0);
    CHECK(ask(ASK_READ, 2, (uint64_t)(map + 5), 0) == 6);
    CHECK(madvise((void *)map, 1 << 20, MADV_DONTNEED) == 0 && map[5] == 0);
    munmap((void *)map, 4 << 20);
    CHECK(ask(ASK_CLASS, (uint64_t)map, 0, 0) == 0);
    map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map[5] == 0 && map[100] == 0);
    FILE *self = fopen("/proc/self/exe", "rb");
    volatile char *elf = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(self), 0);
    CHECK(elf[1] == 'E' && elf[2] == 'L');
    elf[1] = 'x';
    CHECK(elf[1] == 'x');
    fclose(self);
    volatile char *low = sbrk(100000);
    low[0] = 'a';
    CHECK(low[0] == 'a');
    char *again = calloc(1, 64), *more;
    strcpy(again, "text");
    more = realloc(again, 1 << 20);
    CHECK(strcmp(more, "text") == 0 && more[2] == 'x');
    free(more);
    go(0);
}

/* Code that sees main memory: what the view has stored gets there, what it stores gets into the view. */
static char text[64] = "first";
static int (*volatile compare)(const char *, const char *) = strcmp; /* the C library's, whatever the compiler knows of it */
static char *(*volatile copy)(char *, const char *) = strcpy;
static void outside(void)
{
    go(1);
    text[0] = 'F';
    const uint64_t before = ask(ASK_OUTSIDE, 1, 0, 0);
    CHECK(compare(text, "First") == 0);
    CHECK(ask(ASK_OUTSIDE, 1, 0, 0) > before);
    CHECK(ask(ASK_READ, 2, AT(text), 0) == ask(ASK_READ, 1, AT(text), 0));
    text[6] = 'q';
    snprintf(text, sizeof text, "%d", 12345678);
    CHECK(text[0] == '1' && text[7] == '8');
    CHECK(memcmp(text, "12345678", 9) == 0);
    /* other views' copies get what was stored outside, and keep the rest */
    go(2);
    text[40] = 'z';
    go(1);
    copy(text, "anew");
    go(2);
    CHECK(text[0] == 'a' && text[40] == 'z');
    go(1);
    CHECK(text[40] == 0);
    long sum = 0;
    __asm__ volatile("addq %1, %0" : "+r"(sum) : "m"(p[7].x) : "memory");
    p[7].x = 77;
    __asm__ volatile("addq %1, %0\n\tmovq $78, %2" : "+r"(sum), "+m"(p[7].x), "=m"(p[7].y) : : "memory");
    CHECK(sum == 77 && p[7].y == 78);
    go(0);
}

/* Every kind of reference goes to the view. */
static struct wide {
    char bytes[256];
} from, to;
static uint64_t (*volatile function)(uint64_t);
static uint64_t twice(uint64_t x)
{
    return 2 * x;
}
typedef float vector __attribute__((vector_size(16)));
static volatile vector v4[4];
static _Atomic uint64_t counter;
static void references(void)
{
    go(1);
    for (unsigned i = 0; i < sizeof from; i++)
        ((volatile char *)from.bytes)[i] = (char)(i + 1);
    void *d = &to;
    const void *s = &from;
    size_t n = sizeof to;
    memset(&from.bytes[200], 0, 8);
    for (unsigned i = 200; i < 208; i++)
        ((volatile char *)from.bytes)[i] = (char)(i + 1);
    __builtin_memcpy_inline(d, s, sizeof to);
    CHECK(to.bytes[0] == 1 && to.bytes[255] == 0 && to.bytes[201] == (char)202);
    (void)n;
    function = twice;
    CHECK(function(4) == 8);
    v4[1] = (vector){1, 2, 3, 4};
    v4[2] = v4[1] + v4[1];
    CHECK(v4[2][3] == 8);
    counter += 5;
    uint64_t five = 5;
    CHECK(atomic_compare_exchange_strong(&counter, &five, 6) && counter == 6 && atomic_exchange(&counter, 9) == 6);
    go(0);
    CHECK(to.bytes[0] == 0);
    CHECK(v4[2][3] == 0);
    CHECK(counter == 0 && !function);
    CHECK(ask(ASK_READ, 1, AT(counter), 0) == 9);
    ask(ASK_REFRESH, 1, 0, ~0ul);
}

static volatile uint64_t cells[4 * 512] __attribute__((aligned(4096)));
static void iteration(long i, void *arg)
{
    (void)arg;
    go(1 + (unsigned)i % 3);
    cells[512 * i] = 100 + (uint64_t)i;
    ask(ASK_TURN, 0, 0, 0);
    for (int64_t k = 0; k < 3; k++)
        CHECK(cells[512 * k] == (k == i ? 100 + (uint64_t)k : 0));
}
static void contexts(void)
{
    peet_doall(0, 3, PEET_DOALL_DYNAMIC, 1, iteration, NULL);
    for (unsigned v = 1; v < 4; v++)
        ask(ASK_COMMIT, v, ~0ul, 0);
    for (uint64_t k = 0; k < 3; k++)
        CHECK(cells[512 * k] == 100 + k);
}

static void forks(void)
{
    p[0].x = 1;
    p[0].y = 3;
    ask(ASK_WRITE, 1, AT(p[0].x), 2);
    CHECK(ask(ASK_FORK, 1, AT(p[0].x), 0) == 1);
    CHECK(p[0].y == 3);
    go(1);
    p[1].x = 55;
    int status;
    pid_t child = fork();
    if (child == 0) { /* not simulated any more: plain memory */
        int ok = p[1].x == 55;
        p[1].x = 56;
        p[2].x = 57;
        text[0] = '!';
        _exit(ok ? 3 : 4);
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    CHECK(p[1].x == 55 && p[2].x != 57 && text[0] != '!');
    go(0);
    CHECK(p[1].x == 55);
    for (unsigned v = 1; v < 4; v++)
        ask(ASK_REFRESH, v, 0, ~0ul);
}

int main(int argc, char **argv)
{
    CHECK(ask(ASK_VIEWS, 0, 0, 0) == 4);
    stores();
    tidy();
    differences();
    aliases(argc, argv);
    growing();
    outside();
    references();
    contexts();
    forks();
    if (!failures)
        puts("all is as it shall be");
    return failures != 0;
}
