#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How a program ends that has threads, and the processes that it makes: as plainly, whichever thread does it.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >ends.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static __thread int mine = 5;
static const char *mode;
static int is(const char *m) { return strcmp(mode, m) == 0; }
static void at_end(void) { printf("atexit %d\n", mine); }
static int deep(int n) { volatile char frame[2000]; frame[n % 2000] = (char)n; return n < 0 ? 0 : deep(n + 1) + frame[n % 2000]; }
static int child(void *arg) { return 3; }
static int status_of(pid_t pid) { int status; waitpid(pid, &status, 0); return WEXITSTATUS(status); }

static void *act(void *arg)
{
    mine = is("main_first") ? 5 : 9; /* whoever ends last runs the handlers */
    if (is("exit")) exit(4);
    if (is("_exit")) _exit(4);
    if (is("quick_exit")) quick_exit(4);
    if (is("exit_group")) syscall(SYS_exit_group, 4);
    if (is("abort")) abort();
    if (is("segv")) *(volatile int *)8 = 1;
    if (is("deep")) return (void *)(long)deep(0);
    if (is("kill")) pthread_kill(pthread_self(), SIGTERM);
    if (is("stop")) pthread_exit(NULL);
    if (is("fork")) {
        pid_t pid = fork();
        if (pid == 0) {
            free(malloc(100));
            printf("child %d\n", ++mine);
            exit(7);
        }
        printf("status %d\n", status_of(pid));
    }
    if (is("fork_thread")) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t t;
            mode = "";
            exit(pthread_create(&t, NULL, act, NULL) == 0 && pthread_join(t, NULL) == 0 ? 8 : 1);
        }
        printf("status %d\n", status_of(pid));
    }
    if (is("system")) {
        char line[20], *argv[] = { "sh", "-c", "exit 9", NULL };
        pid_t pid;
        printf("%d\n", WEXITSTATUS(system("exit 6")));
        FILE *p = popen("echo hello", "r");
        if (fgets(line, sizeof line, p)) printf("%s", line);
        printf("%d\n", pclose(p));
        posix_spawnp(&pid, "sh", NULL, NULL, argv, environ);
        printf("%d\n", status_of(pid));
    }
    if (is("exec")) execlp("sh", "sh", "-c", "echo replaced; exit 5", NULL);
    if (is("clone_process")) {
        char *stack = malloc(65536);
        printf("%d\n", status_of(clone(child, stack + 65536, SIGCHLD, NULL)));
    }
    if (is("clone_thread")) {
        char *stack = malloc(65536);
        int result = clone(child, stack + 65536, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
        printf("%d %d\n", result, errno == ENOSYS);
    }
    return NULL;
}

/* Several end the process at the same time: one of them does. */
static void *act_too(void *arg)
{
    sleep(1);
    if (is("exit_several")) exit(4);
    if (is("return_several")) exit(2);
    if (is("_exit_several")) _exit(4);
    return NULL;
}

static void *forever(void *arg) { for (;;) sleep(1000); }

int main(int argc, char **argv)
{
    pthread_t t, u;
    mode = argv[1];
    atexit(at_end);
    pthread_create(&u, NULL, forever, NULL);
    pthread_create(&t, NULL, act, NULL);
    if (is("main_first")) {
        pthread_cancel(u);
        pthread_exit(NULL);
    }
    pthread_join(t, NULL);
    if (strstr(mode, "_several")) {
        for (int k = 0; k < 3; k++) pthread_create(&u, NULL, act_too, NULL);
        sleep(1);
        if (is("exit_several")) exit(4);
        if (is("_exit_several")) _exit(4);
    }
    if (!is("return_several")) printf("main %d\n", mine);
    return 2;
}
C
"$PEET_PLAIN_CC" -O1 -w -o plain ends.c -pthread || fail "the plain compiler refused it"
"$PEETCC" -O1 -w -o prog ends.c -pthread || fail "peetcc refused it"
for mode in exit _exit quick_exit exit_group abort segv deep kill stop fork fork_thread system exec clone_process main_first exit_several return_several \
    _exit_several; do
    (exec timeout 20 ./plain $mode >want 2>/dev/null) 2>/dev/null
    expected=$?
    (exec timeout 60 "$PEET" run --quiet -d out -- ./prog $mode >got 2>said) 2>/dev/null
    status=$?
    [ $status = $expected ] || { head -5 said; fail "$mode: status $status, plainly $expected"; }
    case $mode in
    *_several) [ -s out/stats.json ] || fail "$mode: no results" ;; # plainly, what is printed is a matter of luck
    *) cmp want got || fail "$mode: other output" ;;
    esac
    case $mode in
    abort) word='Aborted in context 2' ;;
    segv) word='Segmentation fault at address 0x8 in context 2' ;;
    deep) word='stack overflow: context 2 has used up its stack of 8388608 bytes' ;;
    kill) word='Terminated in context 2' ;;
    *) continue ;;
    esac
    grep -q "$word" said || { head -5 said; fail "$mode: the diagnosis lacks '$word'"; }
    [ $mode = deep ] || grep -q ' in act' said || { cat said; fail "$mode: the backtrace lacks the thread's function"; }
done
"$PEET" run --quiet -d out -- ./prog clone_thread >got 2>said
grep -q '^-1 1$' got || { cat got; fail "clone() of a thread is not refused"; }
grep -q 'clone() at 0x.* is refused' said || { cat said; fail "the refusal of clone() is not said"; }
exit 0
