# SPDX-License-Identifier: Apache-2.0
# Signals: the subject's death is ours, and ours is the subject's.
. "$(dirname "$0")/lib.sh"
ulimit -c 0
cat >die.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *volatile nowhere;
__attribute__((noinline)) static void crash(void) { *(volatile int *)nowhere = 1; }
int main(int argc, char **argv)
{
    puts("before");
    fflush(stdout);
    if (strcmp(argv[1], "segv") == 0)
        crash();
    if (strcmp(argv[1], "abort") == 0)
        abort();
    raise(atoi(argv[1]));
    return 0;
}
END
must "$peetcc" -O1 -g -o die die.c
dies() {
    local status
    ("$peet" run -d results -- ./die "$1" >out.txt 2>err.txt) 2>/dev/null
    status=$?
    [ $status -eq $((128 + $2)) ] || fail "die $1: status $status, not 128+$2: $(cat err.txt)"
    [ "$(cat out.txt)" = before ] || fail "die $1: output"
    grep -q '^peet: ' err.txt || fail "die $1: nothing was said"
}
dies segv 11
grep -q 'SIGSEGV\|Segmentation\|signal 11' err.txt || fail "the crash is not named: $(cat err.txt)"
grep -q 'crash' err.txt || fail "no backtrace: $(cat err.txt)"
[ -f results/stats.json ] || fail "no results up to the crash"
dies abort 6
dies 15 15
dies 9 9

# Handlers of the subject's own; signals sent to peet reach it.
cat >handle.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void note(int number) { got = number; }
int main(void)
{
    signal(SIGTERM, note);
    signal(SIGINT, note);
    signal(SIGUSR1, note);
    puts("ready");
    fflush(stdout);
    for (long i = 0; !got; i++)
        if (i % 1000 == 0)
            usleep(1000);
    printf("signal %d\n", (int)got);
    return 7;
}
END
must "$peetcc" -O1 -o handle handle.c
# Not "&" in a script: the shell has background jobs ignore SIGINT.
set -m
for signal in TERM INT USR1; do
    rm -f out.txt # the shell in the background may be late in emptying it
    "$peet" run -q -d results -- ./handle >out.txt 2>err.txt &
    pid=$!
    for _ in $(seq 200); do grep -q -s ready out.txt && break; sleep 0.05; done
    kill -$signal $pid
    wait $pid
    status=$?
    [ $status -eq 7 ] || fail "SIG$signal: status $status: $(cat err.txt)"
    grep -q '^signal ' out.txt || fail "SIG$signal did not arrive: $(cat out.txt)"
done
# Without a handler, both end.
cat >wait.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) { puts("ready"); fflush(stdout); for (;;) pause(); }
END
must "$peetcc" -O1 -o wait wait.c
for signal in TERM KILL; do
    rm -f out.txt # the shell in the background may be late in emptying it
    "$peet" run -q -d results -- ./wait >out.txt 2>err.txt &
    pid=$!
    for _ in $(seq 200); do grep -q -s ready out.txt && break; sleep 0.05; done
    subject=$(pgrep -P $pid) || fail "no child"
    kill -$signal $pid
    wait $pid 2>/dev/null
    status=$?
    [ $status -gt 128 ] || fail "SIG$signal: status $status"
    for _ in $(seq 100); do kill -0 "$subject" 2>/dev/null || break; sleep 0.05; done
    kill -0 "$subject" 2>/dev/null && fail "SIG$signal left the subject running"
done

# A signal ends a run whose threads are in a loop that nothing stops, of some minutes here: results are those up to then, and
# nothing of an earlier run is left beside them.
cat >loop.c <<'END'
#include <pthread.h>
#include <stdio.h>
static void *loop(void *arg)
{
    volatile long sum = 0;
    for (long i = 0; i < 1000000000000; i++)
        sum += i;
    return arg;
}
int main(void)
{
    pthread_t threads[2];
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, loop, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o loop loop.c
for signal in TERM INT; do
    rm -f out.txt
    timeout -k 30 60 "$peet" run -q --cores 2 -d looped -- ./loop >out.txt 2>err.txt &
    pid=$!
    for _ in $(seq 200); do grep -q -s ready out.txt && break; sleep 0.05; done
    sleep 0.5
    kill -$signal $pid # timeout hands it on
    wait $pid 2>/dev/null
    status=$?
    [ $status -eq $((128 + $(kill -l $signal))) ] || fail "SIG$signal in a loop: status $status: $(cat err.txt)"
    grep -q 'the run was ended from outside' err.txt || fail "SIG$signal in a loop: $(cat err.txt)"
    grep -q '"signal_name"' looped/stats.json || fail "SIG$signal in a loop: no results"
    [ ! -e looped/.earlier ] || fail "SIG$signal in a loop: results of an earlier run are left"
done
exit 0
