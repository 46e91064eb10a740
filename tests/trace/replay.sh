#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is replayed on the machine on which it was recorded has the same results, to the last number; on other machines the counts of the program.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
for program in threads openmp loops handlers; do
    flags=
    [ $program = openmp ] && flags=-fopenmp
    must "$peetcc" -O2 -g $flags "$here/$program.c" -o $program -lm -pthread
done
replayed threads_bus --machine bus -n 4 -o hash -o counts -o dtrack -- ./threads
replayed threads_x86 --machine x86 -n 2 -o hash -o dtrack -- ./threads
replayed threads_locks --machine bus -n 3 --lock-model mcs --policy rr --quantum 5000 -o hash -- ./threads
replayed openmp_bus --machine bus -n 4 -o hash -o dtrack -- ./openmp
replayed loops_bus --machine bus -n 3 -o hash -o counts -- ./loops
# Handlers of signals in two threads; children of fork() run, unrecorded, and are waited for.
replayed handlers_bus --machine bus -n 2 -o hash -- ./handlers
replayed children_x86 --machine x86 -n 2 -o hash -- ./handlers children
replayed one --machine ideal -o counts -- ./threads
# Names of objects in files that the trace does not hold: a library by another compiler, and peet's own.
cat >held.c <<'END'
#include <pthread.h>
static pthread_mutex_t held_by_all = PTHREAD_MUTEX_INITIALIZER;
void hold(void (*work)(void))
{
    pthread_mutex_lock(&held_by_all);
    work();
    pthread_mutex_unlock(&held_by_all);
}
END
cat >holds.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
void hold(void (*work)(void));
static void work(void)
{
    for (volatile int i = 0; i < 20000; i++)
        ;
}
static void *holds(void *arg)
{
    hold(work);
    return arg;
}
static void tick(int signal) { (void)signal; }
int main(void)
{
    const struct itimerval often = {{0, 20}, {0, 20}};
    pthread_t thread[3];
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, holds, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
END
must "$PEET_PLAIN_CC" -O1 -shared -fPIC -pthread -o libheld.so held.c
must "$peetcc" -O1 -pthread -o holds holds.c ./libheld.so
replayed held --machine bus -n 4 -- ./holds
for name in held_by_all timers_of_peet; do
    grep -q $name held.1 || fail "$name is not among the results"
done
# Arguments are bytes: quotes, a backslash, a line's end, what is no UTF-8.
bytes=$'a "b\\ \xff\n\xc3'
replayed bytes --machine ideal -o counts -- ./loops "$bytes"
must "$peet" record -d bytes.real -- ./loops "$bytes" >bytes.out
must "$peet" run -q --from bytes.real --machine ideal -d bytes.machine

# The hash is of every event with its time: what was recorded without it has the one that the program itself has.
must "$peet" run -q --machine bus -n 4 -o trace -d plain -- ./loops >plain.out
must "$peet" run -q --from plain -o hash -d hashed
must "$peet" run -q --machine bus -n 4 -o hash -d direct -- ./loops >direct.out
equal "hash of a replay" "$(value hashed/stats.json hash.hash)" "$(value direct/stats.json hash.hash)"

# Iterations go to any number of processors: as many of each, and as much work, as when the program runs there.
for cores in 1 2 7; do
    must "$peet" run -q --from plain --machine ideal -n $cores -o counts -d moved
    must "$peet" run -q --machine ideal -n $cores -o counts -d there -- ./loops >there.out
    for key in instructions reads writes iterations; do
        equal "$key on $cores" "$(value moved/stats.json totals.$key)" "$(value there/stats.json totals.$key)"
    done
    equal "time on $cores" "$(value moved/stats.json time.cycles)" "$(value there/stats.json time.cycles)"
done
# Threads keep their ways; a spinning one may have looked more often then than it would there.
must "$peet" run -q --from threads_bus.recorded --machine x86 -n 1 -d other
equal "instructions elsewhere" "$(value other/stats.json totals.instructions)" "$(value threads_bus.recorded/stats.json totals.instructions)"

# The program need not be there any more, nor be the same.
must "$peet" run -q --machine bus -n 2 -o hash -o dtrack -o trace -d gone -- ./threads >gone.out
mv threads moved.away
must "$peet" run -q --from gone/trace.peet -d came
equal "hash without the program" "$(value came/stats.json hash.hash)" "$(value gone/stats.json hash.hash)"

# What a signal has ended is ended by it in a replay, too, with its status.
cat >aborts.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *ends(void *arg) { abort(); return arg; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    return 0;
}
END
must "$peetcc" -O1 -pthread -o aborts aborts.c
"$peet" run -q -n 2 -o trace -d aborted -- ./aborts 2>/dev/null
equal "status of the run" $? 134
"$peet" run -q --from aborted -d aborted.again
equal "status of its replay" $? 134
for key in reason signal signal_name; do
    equal "$key of its end" "$(value aborted.again/stats.json end.$key)" "$(value aborted/stats.json end.$key)"
done
equal "instructions of what was aborted" "$(value aborted.again/stats.json totals.instructions)" "$(value aborted/stats.json totals.instructions)"

# A program that ends by executing another one: the replay says so, as the run did.
cat >replaced.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    puts("before");
    fflush(stdout);
    execl("/bin/true", "true", (char *)0);
    return 1;
}
END
must "$peetcc" -O2 -o replaced replaced.c
must "$peet" run -q -o trace -d replaced.run -- ./replaced
must "$peet" run -q --from replaced.run -d replaced.again
must "$peet" record -q -d replaced.real -- ./replaced
must "$peet" run -q --from replaced.real -d replaced.real_again
for results in replaced.run replaced.again replaced.real_again; do
    equal "end in $results" "$(value $results/stats.json end.reason) $(value $results/stats.json end.program)" "exec /bin/true"
done
for trace in replaced.run replaced.real; do
    must "$peet" trace info $trace >info
    grep -q 'end  *exec, of /bin/true' info || fail "info of $trace: $(cat info)"
done
exit 0
