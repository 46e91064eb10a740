/* SPDX-License-Identifier: Apache-2.0 */
/* User-level coroutines: makecontext and swapcontext, generators on their own stacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static ucontext_t main_context, generators[4];
static long value;

static void generate(int which, int n)
{
    long a = which, b = 1;
    for (int i = 0; i < n; i++) {
        value = a;
        swapcontext(&generators[which], &main_context);
        long t = a + b;
        a = b;
        b = t % 1000003;
    }
    value = -which;
}

/* A small stack, of which libraries need little: nothing else is written below it. */
static void small(void)
{
    char text[64];
    for (int i = 0; i < 20000; i++)
        value = value * 31 + (long)strlen(strcpy(text, getenv("PATH") ? "x" : "yy")) + (rand() & 7);
}

static long dirt_below_small(void)
{
    enum { BELOW = 65536, BYTES = 8192 };
    static ucontext_t context;
    char *all = malloc(BELOW + BYTES);
    long clean = 0;
    memset(all, 0x5a, BELOW);
    getcontext(&context);
    context.uc_stack.ss_sp = all + BELOW;
    context.uc_stack.ss_size = BYTES;
    context.uc_link = &main_context;
    makecontext(&context, small, 0);
    swapcontext(&main_context, &context);
    while (clean < BELOW && all[clean] == 0x5a)
        clean++;
    free(all);
    return BELOW - clean;
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        getcontext(&generators[i]);
        generators[i].uc_stack.ss_sp = malloc(65536);
        generators[i].uc_stack.ss_size = 65536;
        generators[i].uc_link = &main_context;
        makecontext(&generators[i], (void (*)(void))generate, 2, i, 50 + i);
    }
    for (int round = 0; round < 50; round++)
        for (int i = 0; i < 4; i++) {
            swapcontext(&main_context, &generators[i]);
            sum = sum * 31 + value;
        }
    printf("%lx\n", (unsigned long)sum);
    printf("below: %ld\n", dirt_below_small());
    return 0;
}
