# SPDX-License-Identifier: Apache-2.0
# A crash of the subject: what ran before it is counted, who crashed is named, the signal is passed on.
. "$(dirname "$0")/lib.sh"
cat >crash.c <<'END'
#include <peet/doall.h>
#include <stdlib.h>
static int *volatile nowhere;
static volatile long done[64];
__attribute__((noinline)) static void step(long i) { done[i & 63] = i; }
__attribute__((noinline)) static void fall(void) { *nowhere = 1; }
static void body(long i, void *arg)
{
    for (long k = 0; k < 100; k++)
        step(i);
    if (i == (long)arg)
        fall();
}
int main(int argc, char **argv)
{
    if (argc > 1) {
        peet_doall(0, 8, PEET_DOALL_STATIC, 0, body, (void *)5);
        return 0;
    }
    for (long i = 0; i < 1000; i++)
        step(i);
    fall();
    return 0;
}
END
must "$peetcc" -O1 -g -o crash crash.c
calls() {
    "$PEET_PREFIX/tests/json-get" -r "$1" counts.functions name calls | awk -v f="$2" '$1 == f { print $2 }'
}

status=0
"$peet" run -q --observe counts -d one -- ./crash 2>one.err || status=$?
equal "status" $status 139
equal "reason" "$(value one/stats.json end.reason)" signal
equal "signal" "$(value one/stats.json end.signal)" 11
equal "function" "$(value one/stats.json end.function)" fall
equal "frame 1" "$(value one/stats.json end.backtrace.1.function)" main
equal "calls before it" "$(calls one/stats.json step)" 1000
grep -q '^peet: .*#0 .* in fall' one.err || fail "no backtrace: $(cat one.err)"

status=0
"$peet" run -q --cores 4 --observe counts -d loop -- ./crash loop 2>loop.err || status=$?
equal "status" $status 139
equal "context" "$(value loop/stats.json end.context)" 6 # main is 0, iteration i is i + 1
equal "function" "$(value loop/stats.json end.function)" fall
# Four processors have two iterations each: when the third one's second crashes, nobody has more than two done.
n=$(calls loop/stats.json step)
[ "$n" -ge 200 ] && [ "$n" -le 800 ] || fail "$n calls of step()"

# Memory that a thread looks at again and again is taken away, or its file is cut off: the thread has failed, not peet; or its own handler says what comes then.
cat >gone.c <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static atomic_int *flag, saved;
static volatile double sum;
static sigjmp_buf back;
static void handler(int signal) { siglongjmp(back, signal); }
__attribute__((noinline)) static void *look(void *arg)
{
    if (!sigsetjmp(back, 1))
        while (!atomic_load(flag))
            __builtin_ia32_pause();
    else
        saved = 1;
    return arg;
}
static void work(void)
{
    for (int i = 0; i < 20000; i++)
        sum += i;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    const int how = atoi(argv[1]), file = fileno(tmpfile());
    if (ftruncate(file, 4096))
        return 1;
    flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, how == 1 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, how == 1 ? file : -1, 0);
    if (argc > 2) {
        signal(SIGSEGV, handler);
        signal(SIGBUS, handler);
    }
    pthread_create(&thread, NULL, look, NULL);
    work();
    if (how == 0 ? munmap(flag, 4096) : how == 1 ? ftruncate(file, 0) : mprotect(flag, 4096, PROT_NONE))
        return 1;
    work();
    pthread_join(thread, NULL);
    printf("saved %d\n", saved);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o gone gone.c
for how in 0 1 2; do
    status=0
    "$peet" run -q --machine ideal --cores 2 -d gone.out -- ./gone $how 2>gone.err || status=$?
    equal "status, memory gone by way $how" $status $((how == 1 ? 135 : 139))
    equal "function, memory gone by way $how" "$(value gone.out/stats.json end.function)" look
    equal "its handler, memory gone by way $how" "$("$peet" run -q --machine ideal --cores 2 -d gone.out -- ./gone $how handled)" "saved 1"
done
