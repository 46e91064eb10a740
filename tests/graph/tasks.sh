# SPDX-License-Identifier: Apache-2.0
# OpenMP's tasks are tasks of the graph: work and span against closed forms, and the same whoever executes them, also in a team
# of one.  Likewise what has to wait: readers do not order each other, tries that fail order nothing, and what a semaphore gives
# orders whoever takes it, by whichever request.
export PEET_FOREIGN=ranges # the closed forms are those of the program alone
. "$(dirname "$0")/../lib.sh"
cat >tasks.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <omp.h>
/* 2000 rounds: the unit of all that follows */
__attribute__((noinline)) static void unit(void) { for (volatile long i = 0; i < 2000; i++) ; }
static void flat(void)
{
    for (int i = 0; i < 24; i++) {
        #pragma omp task
        unit();
    }
    #pragma omp taskwait
    unit();
}
static void tree(int level)
{
    unit();
    if (level == 0)
        return;
    #pragma omp task
    tree(level - 1);
    #pragma omp task
    tree(level - 1);
    #pragma omp taskwait
}
static void chain(void)
{
    int x;
    for (int i = 0; i < 10; i++) {
        #pragma omp task depend(inout: x)
        unit();
    }
    #pragma omp taskwait
}
static void wave(void)
{
    char at[6][10] = {{0}};
    for (int i = 1; i < 6; i++)
        for (int k = 1; k < 10; k++) {
            #pragma omp task depend(in: at[i - 1][k], at[i][k - 1]) depend(out: at[i][k])
            unit();
        }
    #pragma omp taskwait
}
static void exclude(void)
{
    int x;
    for (int i = 0; i < 6; i++) {
        #pragma omp task depend(mutexinoutset: x)
        unit();
    }
    #pragma omp taskwait
}
/* children's children belong to the group; what was made before it does not */
static void group(void)
{
    #pragma omp task
    { unit(); unit(); unit(); unit(); unit(); unit(); unit(); unit(); }
    #pragma omp taskgroup
    for (int i = 0; i < 4; i++) {
        #pragma omp task
        {
            #pragma omp task
            { unit(); unit(); }
            unit();
        }
    }
    unit();
    unit();
}
static void loop(void)
{
    #pragma omp taskloop grainsize(1)
    for (int i = 0; i < 16; i++)
        unit();
    unit();
}
/* the creator goes on at once; who waits at the barrier waits for all */
static void barrier(void)
{
    for (int i = 0; i < 8; i++) {
        #pragma omp task
        { unit(); unit(); unit(); }
    }
    unit();
}
static void undeferred(void)
{
    for (int i = 0; i < 5; i++) {
        #pragma omp task if(0)
        unit();
    }
}
static void detached(void)
{
    omp_event_handle_t event;
    #pragma omp task detach(event)
    unit();
    #pragma omp task
    { unit(); unit(); unit(); omp_fulfill_event(event); }
    #pragma omp taskwait
    unit();
}
int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";
    #pragma omp parallel
    #pragma omp single
    {
        if (!strcmp(shape, "flat")) flat();
        if (!strcmp(shape, "tree")) tree(4);
        if (!strcmp(shape, "chain")) chain();
        if (!strcmp(shape, "wave")) wave();
        if (!strcmp(shape, "exclude")) exclude();
        if (!strcmp(shape, "group")) group();
        if (!strcmp(shape, "loop")) loop();
        if (!strcmp(shape, "barrier")) barrier();
        if (!strcmp(shape, "undeferred")) undeferred();
        if (!strcmp(shape, "detached")) detached();
    }
    if (!strcmp(shape, "barrier"))
        unit();
    return 0;
}
C
cat >waits.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static sem_t here, there;
__attribute__((noinline)) static void unit(void) { for (volatile long i = 0; i < 2000; i++) ; }
static void *reads(void *arg) { pthread_rwlock_rdlock(&shared); unit(); pthread_rwlock_unlock(&shared); return arg; }
static void *tries_to_read(void *arg) { if (pthread_rwlock_tryrdlock(&shared)) abort(); unit(); pthread_rwlock_unlock(&shared); return arg; }
static void *writes(void *arg) { pthread_rwlock_wrlock(&shared); unit(); pthread_rwlock_unlock(&shared); return arg; }
/* a pool's semaphore: one of three may go in at once; the third takes it by a try */
static void *first(void *arg) { sem_wait(&there); unit(); sem_post(&here); return arg; }
static void *second(void *arg) { while (sem_trywait(&here)) continue; unit(); return arg; }
static void *holds(void *arg)
{
    pthread_mutex_lock(&twice);
    pthread_mutex_lock(&twice);
    unit();
    pthread_mutex_unlock(&twice);
    sem_post(&here);
    sem_wait(&there);
    unit();
    pthread_mutex_unlock(&twice);
    return arg;
}
static void *fails(void *arg)
{
    const struct timespec past = {1, 0};
    sem_wait(&here);
    if (pthread_mutex_trylock(&twice) != EBUSY || pthread_mutex_timedlock(&twice, &past) != ETIMEDOUT)
        abort();
    sem_post(&there);
    unit(), unit(), unit();
    return arg;
}
static void run(int n, void *(*const f[])(void *))
{
    pthread_t t[8];
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, f[i], NULL);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}
int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";
    sem_init(&here, 0, 0);
    sem_init(&there, 0, !strcmp(shape, "semaphores"));
    if (!strcmp(shape, "readers"))
        run(5, (void *(*const[])(void *)){reads, tries_to_read, reads, tries_to_read, reads});
    if (!strcmp(shape, "writers"))
        run(5, (void *(*const[])(void *)){reads, reads, writes, writes, reads});
    if (!strcmp(shape, "semaphores"))
        run(2, (void *(*const[])(void *)){first, second});
    if (!strcmp(shape, "fails"))
        run(2, (void *(*const[])(void *)){holds, fails});
    return 0;
}
C
must "$peetcc" -O1 -g -fopenmp -o tasks tasks.c
must "$peetcc" -O1 -g -pthread -o waits waits.c
shapes="flat tree chain wave exclude group loop barrier undeferred detached"
waits="readers writers semaphores fails"
for cores in 1 2 4 bus; do
    machine="ideal --cores $cores"
    [ $cores != bus ] || machine="bus --cores 3"
    for shape in $shapes; do
        for threads in 1 4; do
            # shellcheck disable=SC2086
            OMP_NUM_THREADS=$threads must timeout -k 1 60 "$peet" run -q --machine $machine --observe graph -d $shape.$threads.$cores -- ./tasks $shape
        done
    done
    for shape in $waits; do
        # shellcheck disable=SC2086
        must timeout -k 1 60 "$peet" run -q --machine $machine --observe graph -d $shape.$cores -- ./waits $shape
    done
done
must "$peet" report --dot tree.dot --pnml tree.pnml tree.4.4 >said.txt
grep -q 'task0/task1' tree.dot || fail "tasks have no names in $(head -5 tree.dot)"
python3 - <<'PY' || fail "the graphs are wrong"
import glob, json

def graph(folder):
    stats = json.load(open(folder + "/stats.json"))
    g = stats["graph"]
    assert g["work_instructions"] == stats["totals"]["instructions"], folder
    nodes, edges = g["node_list"], g["edge_list"]
    for locks in (False, True): # the spans again, by an independent walk
        before = {n["id"]: [e["from"] for e in edges if e["to"] == n["id"] and (locks or e["kind"] != "order")] for n in nodes}
        end, left = {}, [n["id"] for n in nodes]
        while left:
            later = [i for i in left if any(f not in end for f in before[i])]
            for i in left:
                if i not in later:
                    end[i] = max((end[f] for f in before[i]), default=0) + nodes[i]["instructions"]
            assert len(later) < len(left), "a circle"
            left = later
        assert max(end.values()) == g["span_with_locks_instructions" if locks else "span_instructions"], folder
    return g

unit = 2000 * 5  # about; found out below
flat = graph("flat.4.4")
unit = sorted(n["instructions"] for n in flat["node_list"])[-3]
def near(folder, what, found, units):
    assert abs(found - units * unit) < 0.06 * units * unit + 0.35 * unit, (folder, what, found / unit, units)

expected = {  # work, span, span with locks where that is certain
    "flat": (25, 2, None), "tree": (31, 5, None), "chain": (10, 10, 10), "wave": (45, 13, None), "exclude": (6, 1, 6),
    "group": (22, 8, None), "loop": (17, 2, None), "undeferred": (5, 5, 5), "detached": (5, 4, None)}
for shape, (work, span, locks) in expected.items():
    for threads in ("1", "4"):
        for cores in ("1", "2", "4", "bus"):
            folder = ".".join((shape, threads, cores))
            g = graph(folder)
            near(folder, "work", g["work_instructions"], work)
            near(folder, "span", g["span_instructions"], span)
            if locks:
                near(folder, "span with locks", g["span_with_locks_instructions"], locks)
for cores in ("1", "2", "4", "bus"):
    for threads in ("1", "4"):
        near("barrier", "span", graph("barrier.%s.%s" % (threads, cores))["span_instructions"], 4)
    g = graph("readers." + cores)
    near("readers", "span", g["span_instructions"], 1)
    near("readers", "span with locks", g["span_with_locks_instructions"], 1)
    g = graph("writers." + cores)
    near("writers", "span", g["span_instructions"], 1)
    # writers come one after the other; readers may share, before, between and behind them
    assert 2.9 * unit < g["span_with_locks_instructions"] < 5.4 * unit, (cores, g["span_with_locks_instructions"] / unit)
    g = graph("semaphores." + cores)
    assert 2 * unit < g["span_instructions"], cores # behind the post, not behind the semaphore's first value
    g = graph("fails." + cores)
    near("fails", "span with locks", g["span_with_locks_instructions"], 4) # what fails is not behind the unlock
PY
exit 0
