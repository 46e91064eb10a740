/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers on a stack of their own, however the signal comes, and sets of signals that the kernel cannot read. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char memory[1 << 16];
static int again;

static int is_there(const void *at)
{
    return (const char *)at >= memory && (const char *)at < memory + sizeof memory;
}

static void handler(int signal)
{
    char here;
    stack_t stack;
    sigaltstack(NULL, &stack);
    printf("%d: there %d, flags %d\n", signal, is_there(&here), stack.ss_flags);
    if (again && again--) /* not from the beginning of the stack */
        raise(SIGUSR2);
}

static void informed(int signal, siginfo_t *info, void *context)
{
    printf("%d of %d, by %s, context %d\n", signal, info->si_signo, info->si_pid == getpid() ? "itself" : "another", context != NULL);
    handler(signal);
}

static const char *answer(long how, const void *set, long bytes)
{
    errno = 0;
    return syscall(SYS_rt_sigprocmask, how, set, NULL, bytes) == 0 ? "done" : strerror(errno);
}

int main(void)
{
    static unsigned long set;
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    again = 2;
    raise(SIGUSR1);
    action.sa_sigaction = informed;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    sigaction(SIGUSR1, &action, NULL);
    kill(getpid(), SIGUSR1);
    action.sa_handler = handler;
    action.sa_flags = 0;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    printf("%s, ", answer(-1, &set, 8));
    printf("%s, ", answer(-1, (void *)16, 8));
    printf("%s, ", answer(SIG_BLOCK, &set, 8));
    printf("%s, ", answer(SIG_BLOCK, &set, 128));
    printf("%s\n", answer(-1, NULL, 8));
    const int flags[] = {-1, SS_DISABLE | 4, SS_DISABLE};
    for (int k = 0; k < 3; k++) {
        const stack_t wrong = {.ss_sp = memory, .ss_size = sizeof memory, .ss_flags = flags[k]};
        errno = 0;
        const int result = sigaltstack(&wrong, NULL);
        printf("flags %d: %d %d\n", flags[k], result, errno == EINVAL);
    }
    return 0;
}
