#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs recorded on the computer's own processors: as many instructions and references of each thread as in a simulated run, locks in the
# order in which they were taken, the same hash in each replay; kills, full disks, little memory.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export PEET_FOREIGN=ranges # peet record sees no libraries, so the run that it is held against sees none either
export OMP_NUM_THREADS=2
bench=$PEET_SOURCE/bench/threads

# contexts FILE: instructions of each context, and the references of all
contexts() {
    python3 - "$1" <<'END'
import json, sys
stats = json.load(open(sys.argv[1]))
print([(c["number"], c["instructions"]) for c in stats["contexts"]], {k: stats["totals"][k] for k in ("instructions", "reads", "writes", "modifies") if k in stats["totals"]})
END
}

# counted NAME ARGUMENTS: recorded, replayed; and simulated
counted() {
    local name=$1 flags=-pthread
    shift
    [ "$name" != mg ] || flags=-fopenmp
    must "$peetcc" -O2 -g $flags "$bench/$name.c" -o "$name" -lm
    must "$peet" record -q -b 8 -d "$name.real" -- ./"$name" "$@" >"$name.out1"
    must "$peet" trace check "$name.real"
    must "$peet" run -q --from "$name.real" -m ideal -n 2 -o counts -d "$name.replay"
    must "$peet" run -q -m ideal -n 2 -o counts -d "$name.sim" -- ./"$name" "$@" >"$name.out2"
    same "$name.out1" "$name.out2" "output of $name"
    contexts "$name.replay/stats.json" >"$name.counts1"
    contexts "$name.sim/stats.json" >"$name.counts2"
    same "$name.counts1" "$name.counts2" "counts of $name"
}
counted lu 2 64 16
# The simulated run and the real one do the same, allocations and synchronisation included.
must "$peet" run -q -m ideal -n 2 -o trace -d lu.kept -- ./lu 2 64 16 >lu.out3
for what in instructions calls events; do
    must "$peet" compare --what $what lu.real lu.kept >compared
    grep -q '^all: 100.00% similar; contexts without a counterpart: 0$' compared || fail "$what: $(cat compared)"
done
counted fft 2 8 5
counted radix 2 20000 5
counted ocean 2 64 20
counted water 3 64 4
counted mg 2 4 5

# main ends by pthread_exit(), after the thread; on a machine where it is the first it waits for what the thread does
cat >leaves.c <<'END'
#include <pthread.h>
#include <unistd.h>
static volatile int x;
static void *thread(void *arg)
{
    for (int i = 0; i < 10000; i++)
        x++;
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, thread, 0);
    pthread_detach(t);
    usleep(200000);
    pthread_exit(0);
}
END
must "$peetcc" -O1 -pthread -o leaves leaves.c
must "$peet" record -q -d leaves.real -- ./leaves
must "$peet" run -q --from leaves.real -m ideal -n 2 -d leaves.replay
[ "$(value leaves.replay/stats.json totals.writes)" -ge 10000 ] || fail "the replay has cut off a thread that had ended: $(value leaves.replay/stats.json totals.writes) writes"

# What orders threads: the program says in which order a lock was taken, and each replay has that order, on every machine.
must "$peetcc" -O2 -g -pthread "$here/real.c" -o real
must "$PEET_PLAIN_CC" -shared -fPIC -O1 -I"$PEET_PREFIX/include" -o events.so "$here/../parallel/events.c"
for try in 1 2 3; do
    status=0
    "$peet" record -q -d real.$try -- ./real >real.out 2>real.order || status=$?
    equal "status" $status 3
    equal "output" "$(cat real.out)" "45150 10 7 8 1 1 5"
    for machine in ideal bus; do
        status=0
        "$peet" run -q --from real.$try -m $machine -n 3 -o ./events.so -d real.run || status=$?
        equal "status of the replay" $status 3
        equal "cut" "$(value real.run/stats.json replay.cut)" false
        # the lock is the one that is taken most often; a thread takes it twice in a round if its try succeeds
        python3 - real.run/events.txt real.order <<'END' || fail "$machine: another order"
import collections, sys
events = [line.split() for line in open(sys.argv[1])]
wanted = [int(line) for line in open(sys.argv[2])]
locks = [(int(e[2]), e[5]) for e in events if len(e) > 5 and e[4] == "MUTEX_LOCK"]
grants = [(int(e[2]), e[5]) for e in events if len(e) > 6 and e[4] == "SYNC_GRANT"]
threads = sorted({k for k in wanted})
per = collections.Counter(object for _, object in locks)
object = per.most_common(1)[0][0]
taken = [context for context, o in locks if o == object]
# tries stand between: what the program wrote must be a part of what was taken, in this order
at = 0
for context in taken:
    if at < len(wanted) and context == wanted[at] + 1:
        at += 1
sys.exit(at != len(wanted))
END
    done
done
for replay in $(seq 20); do
    "$peet" run -q --from real.1 -m bus -n 3 -o hash -d again || true
    value again/stats.json hash.hash
done | sort -u >hashes
equal "hashes of twenty replays" "$(wc -l <hashes)" 1

# A kill: what was written can be read, and replayed as far as it goes.
cat >long.c <<'END'
#include <pthread.h>
static double a[2][1000];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long n;
static void *work(void *arg)
{
    for (long r = 0, k = (long)arg;; r++) {
        for (int i = 0; i < 1000; i++)
            a[k][i] = a[k][i] * 0.5 + (double)(r + i);
        if (r % 100 == 0) {
            pthread_mutex_lock(&lock);
            n++;
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)1);
    work((void *)0);
}
END
must "$peetcc" -O2 -pthread long.c -o long
"$peet" record -q -b 16 -d killed -- timeout 60 ./long 2>refused || true # a program that starts another one is refused
grep -q 'not built by peetcc' refused || fail "a foreign program: $(cat refused)"
"$peet" record -b 16 -d killed -- ./long 2>said &
run=$!
program=
for ((i = 0; i < 400 && ${#program} == 0; i++)); do
    program=$(cat /proc/$run/task/*/children 2>/dev/null)
    sleep 0.02
done
sleep 1
kill -KILL $program
status=0
wait $run || status=$?
equal "status of a killed program" $status 137
grep -qE 'ran [0-9]*\.[0-9]+ s' said && ! grep -q 'ran 0\.000 s' said || fail "how long a killed program ran: $(cat said)"
must "$peet" trace check killed
must "$peet" trace info killed >info
grep -q 'signal, status 137' info || fail "how it ended: $(cat info)"
must "$peet" run -q --from killed -m ideal -n 2 -d killed.replay
[ "$(value killed.replay/stats.json totals.instructions)" -gt 100000 ] || fail "nothing is left of a killed program"

# A folder has what was done last there: no results of another run beside the trace, no trace of a recording beside results.
printf 'int main(void) { return 0; }\n' >one.c
must "$peetcc" one.c -o one
must "$peet" run -q --observe timeline -d used -- ./one
must "$peet" record -q -d used -- ./one
equal "after a run" "$(ls -A used)" trace.peet
"$peet" record -q -d used -- /bin/true 2>said && fail "a foreign program"
must "$peet" trace check used
must "$peet" run -q -d used -- ./one
[ ! -e used/trace.peet ] || fail "a recording's trace beside a run's results"
must "$peet" record -q -d deep/er/folder -- ./one
"$peet" record -q -d none/of/these -- /bin/true 2>said && fail "a foreign program"
[ ! -e none ] || fail "a folder for nothing"

# Nothing is there twice, and nothing is missing before the end: each place that this program looks at follows from the one before.
cat >walk.c <<'END'
#include <stdint.h>
static uint32_t a[1 << 16];
int main(void)
{
    for (uint32_t x = 1;; x = (x * 5 + 1) & 0xffff)
        a[x]++;
}
END
must "$peetcc" -O2 walk.c -o walk
for try in 1 2 3; do
    "$peet" record -q -b 4 -d walked -- ./walk 2>said &
    run=$!
    program=
    for ((i = 0; i < 400 && ${#program} == 0; i++)); do
        program=$(cat /proc/$run/task/*/children 2>/dev/null)
        sleep 0.01
    done
    sleep 0.0$((2 * try))
    kill -KILL $program
    wait $run 2>/dev/null || true
    must "$peet" run -q --from walked -m ideal -d walked.replay
    last=$(value walked.replay/stats.json totals.instructions)
    must "$peet" trace print --skip $((last > 400000 ? last - 400000 : 0)) --limit 400000 walked >places
    python3 - <<'END' || fail "a place that does not follow from the one before it, after kill $try"
import re
places = [int(m, 16) for m in re.findall(r" M([0-9a-f]+),4$", open("places").read(), re.M)]
assert len(places) > 20000 or not places, len(places)
# the array's first byte: what makes the first step right, and then all of them
follows = lambda base: lambda a, b: (b - base) // 4 == ((a - base) // 4 * 5 + 1) % 65536
low = min(places, default=0)
bases = [base for base in range(low - 1024, low + 4, 4) if all(map(follows(base), places, places[1:]))]
assert not places or len(bases) == 1, bases
END
done

# Short programs that a signal ends, in whatever way: all that was executed up to then is in the trace.  Children of fork() leave
# nothing in it, and disturb nothing.
cat >brief.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) static void work(int n)
{
    for (int k = 0; k < n; k++)
        sum += k & 3;
}
static void *run(void *n) { return work((int)(long)n), NULL; }
static void in_handler(int signal)
{
    work(700);
    kill(getpid(), SIGKILL);
}
int main(int argc, char **argv)
{
    pthread_t thread;
    work(1000);
    for (int k = 0; k < 2; k++) {
        const pid_t child = fork();
        if (!child) {
            work(5000);
            pthread_create(&thread, NULL, run, (void *)3000);
            pthread_join(thread, NULL);
            if (k)
                abort();
            _exit(0);
        }
        waitpid(child, NULL, 0);
        work(1000);
    }
    if (!strcmp(argv[1], "thread")) {
        pthread_create(&thread, NULL, run, (void *)2000);
        pthread_join(thread, NULL);
    }
    if (!strcmp(argv[1], "handler"))
        signal(SIGSEGV, in_handler);
    if (!strcmp(argv[1], "abort"))
        abort();
    if (!strcmp(argv[1], "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(argv[1], "exit"))
        _exit(3);
    *(volatile int *)8 = 1;
    return 0;
}
END
must "$peetcc" -O1 -pthread -o brief brief.c
of_work() { "$PEET_PREFIX/tests/json-get" -r brief.run/stats.json counts.functions name instructions calls | awk '$1 == "work" { print $2, $3 }'; }
for how in exit segv abort kill handler thread; do
    rm -rf brief.peet
    ("$peet" record -q -d brief.peet -- ./brief $how) 2>/dev/null
    status=0
    "$peet" run -q --from brief.peet --observe counts -d brief.run || status=$?
    equal "status of the replay of what ended by $how" $status $([ $how = exit ] && echo 3 || echo 0)
    case $how in
    exit) expected=$(of_work) ;;
    thread) equal "calls of work in what ended by a signal, with a thread" "$(of_work | cut -d' ' -f2)" 4 ;;
    *) equal "instructions and calls of work in what ended by $how" "$(of_work)" "$expected" ;;
    esac
done
equal "calls of work in what ended by _exit" "${expected#* }" 3

# A full disk: the program goes on to its end, unrecorded; and the status says so.
sed 's/for (long r = 0, k = (long)arg;; r++)/for (long r = 0, k = (long)arg; r < 40000; r++)/' long.c >short.c
must "$peetcc" -O2 -pthread short.c -o short
"$peet" record -q -b 4 -d full -- ./short 2>said &
run=$!
sleep 0.3
prlimit --pid $run --fsize=20000 2>/dev/null || true
status=0
wait $run || status=$?
if [ $status -ne 0 ]; then
    equal "status with a full disk" $status 1
    grep -q 'cannot write the trace' said || fail "a full disk: $(cat said)"
fi
must "$peet" trace check full

# More threads at once than there are blocks, all of which wait for each other: it is said, and the program runs on to its end.
cat >crowd.c <<'END'
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t barrier;
static void *meet(void *arg)
{
    pthread_barrier_wait(&barrier);
    return arg;
}
int main(void)
{
    pthread_t thread[60];
    pthread_barrier_init(&barrier, NULL, 60);
    for (int i = 0; i < 60; i++)
        pthread_create(&thread[i], NULL, meet, NULL);
    for (int i = 0; i < 60; i++)
        pthread_join(thread[i], NULL);
    puts("all met");
    return 0;
}
END
must "$peetcc" -O1 -pthread -o crowd crowd.c
status=0
timeout 100 "$peet" record -q -b 1 -d crowded -- ./crowd >out 2>said || status=$?
equal "status with too few blocks" $status 1
equal "output with too few blocks" "$(cat out)" "all met"
grep -q 'say a larger --buffer' said || fail "too few blocks: $(cat said)"
must "$peet" trace check crowded
must "$peet" record -q -b 32 -d crowded -- ./crowd >out
exit 0
