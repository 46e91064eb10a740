/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that makes pages writable as a loop meets them, and returns into the loop: what the handler records
 * and what the loop records must not overwrite each other. */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGES = 64, PAGE = 4096 };

static char *memory;
static int faults;
static long touched[PAGES];

static void unlock(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    char *at = memory + ((char *)info->si_addr - memory) / PAGE * PAGE;
    for (int i = 0; i < PAGES; i++) /* a loop of its own */
        touched[i] += at == memory + (long)i * PAGE;
    faults++;
    mprotect(at, PAGE, PROT_READ | PROT_WRITE);
}

int main(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = unlock;
    sigaction(SIGSEGV, &action, NULL);
    memory = mmap(NULL, (long)PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned random = 1;
    long stores = 0, sum = 0, once = 0;
    for (long i = 0; i < (long)PAGES * PAGE; i++) {
        random = random * 1103515245u + 12345;
        if (random & 0x10000) {
            memory[i] = (char)random;
            stores++;
        } else if (random & 0x8000)
            memory[i] += 3;
    }
    for (long i = 0; i < (long)PAGES * PAGE; i++)
        sum += memory[i];
    for (int i = 0; i < PAGES; i++)
        once += touched[i] == 1;
    printf("%d faults, %ld pages once, %ld stores, sum %ld\n", faults, once, stores, sum);
    return 0;
}
