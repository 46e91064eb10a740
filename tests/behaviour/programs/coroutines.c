/* SPDX-License-Identifier: Apache-2.0 */
/* User-level coroutines: makecontext and swapcontext, generators on their own stacks. */
#include <stdio.h>
#include <stdlib.h>
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
    return 0;
}
