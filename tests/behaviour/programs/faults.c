/* SPDX-License-Identifier: Apache-2.0 */
/* Faults caught: SIGSEGV, SIGFPE, SIGILL with siglongjmp, repeatedly; on the normal and on an alternative stack; the page made writable by the handler. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static sigjmp_buf back;
static volatile sig_atomic_t count[65];
static char *page;

static void leave(int signal)
{
    count[signal]++;
    siglongjmp(back, signal);
}

static void repair(int signal, siginfo_t *info, void *context)
{
    (void)context;
    count[signal] += 100;
    if ((char *)info->si_addr < page || (char *)info->si_addr >= page + 4096 || mprotect(page, 4096, PROT_READ | PROT_WRITE))
        _Exit(9);
}

__attribute__((noinline)) static int divide(int a, volatile int *b)
{
    return a / *b;
}

int main(void)
{
    struct sigaction action;
    volatile long sum = 0;
    static volatile int zero;
    memset(&action, 0, sizeof action);
    action.sa_handler = leave;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    for (volatile int i = 0; i < 30; i++) {
        int s = sigsetjmp(back, 1);
        if (s) {
            sum += s;
            continue;
        }
        if (i % 3 == 0)
            sum += *(volatile int *)(long)(i * 4);
        else if (i % 3 == 1)
            sum += divide(i, &zero);
        else
            __asm__ volatile("ud2");
        sum += 1000000;
    }
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(back, 1) == 0)
            *(volatile char *)8 = 1;
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    action.sa_sigaction = repair;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 4096; i += 64)
        page[i] = (char)i;
    printf("%ld %d %d %d %d\n", (long)sum, (int)count[SIGSEGV], (int)count[SIGFPE], (int)count[SIGILL], page[128]);
    return 0;
}
