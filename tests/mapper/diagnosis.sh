# SPDX-License-Identifier: Apache-2.0
# Deadlock, livelock, misuse of locks, threads that the program's end cuts off: reported, with names and places.
. "$(dirname "$0")/lib.sh"
cat >wrong.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER, third = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static pthread_cond_t never_signalled = PTHREAD_COND_INITIALIZER;
volatile int flag, go;
atomic_int done;
static void *crossed(void *arg)
{
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first); /* crossed */
    return arg;
}
static void *spins(void *arg)
{
    while (!flag)
        ; /* spins */
    return arg;
}
static void *takes_long(void *arg) /* looks like one who only spins, but counts */
{
    for (long i = 0; i < 50000 && !flag; i++)
        ;
    go = 1;
    return arg;
}
static void *unlocks(void *arg)
{
    pthread_mutex_unlock(&third); /* not ours */
    return arg;
}
static void *waits(void *arg)
{
    pthread_mutex_lock(&third);
    for (;;)
        pthread_cond_wait(&never_signalled, &third);
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t a, b;
    (void)argc;
    pthread_barrier_init(&both, NULL, 2);
    if (!strcmp(argv[1], "deadlock")) {
        pthread_create(&a, NULL, crossed, NULL);
        pthread_mutex_lock(&first);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&second);
    } else if (!strcmp(argv[1], "livelock")) {
        pthread_create(&a, NULL, spins, NULL);
        pthread_create(&b, NULL, spins, NULL);
        pthread_join(a, NULL);
    } else if (!strcmp(argv[1], "patience")) {
        pthread_create(&a, NULL, takes_long, NULL);
        pthread_create(&b, NULL, spins, NULL);
        while (!go)
            ;
        flag = 1;
        pthread_join(b, NULL);
        pthread_join(a, NULL);
        puts("patient");
    } else if (!strcmp(argv[1], "misuse")) {
        pthread_mutex_lock(&third);
        pthread_create(&a, NULL, unlocks, NULL);
        pthread_join(a, NULL);
        printf("%d\n", pthread_mutex_lock(&third));
        printf("%d\n", pthread_mutex_destroy(&third) != 0);
    } else {
        pthread_create(&a, NULL, waits, NULL);
        pthread_create(&b, NULL, waits, NULL);
        pthread_detach(b);
        pthread_barrier_init(&both, NULL, 1);
        while (pthread_mutex_trylock(&first) || argc++ < 1000)
            pthread_mutex_unlock(&first);
        return 5;
    }
    return 0;
}
END
# ends STATUS REASON ARG OPTIONS...: run it, its status and its reason
ends() {
    local status=0 expected=$1 reason=$2 arg=$3
    shift 3
    "$peet" run -q -d out "$@" -- ./wrong "$arg" >out.txt 2>err.txt || status=$?
    equal "status of $arg $*" $status "$expected"
    equal "end of $arg $*" "$(value out/stats.json end.reason)" "$reason"
}
says() {
    grep -q "$1" err.txt || { cat err.txt >&2; fail "the report does not say: $1"; }
}
for level in 0 2; do
    must "$peetcc" -g -O$level -pthread -w -o wrong wrong.c
    for cores in 1 2 5; do
        for model in none tas ttas ticket mcs; do
            ends 3 deadlock deadlock --cores $cores --lock-model $model
            says "context 0 waits for mutex second (0x[0-9a-f]*), which context 1 holds"
            says "context 1 waits for mutex first (0x[0-9a-f]*), which context 0 holds"
            says "in a circle, each waits for the next: contexts [01], [01],"
            says "in crossed (wrong.c:[0-9]*)"
        done
        ends 3 livelock livelock --cores $cores
        says "livelock: every context only spins: 2 of 3 do"
        says "in spins (wrong.c:[0-9]*)"
        says "context 0 waits for the end of context 1"
        ends 0 exit patience --cores $cores
        equal "output" "$(cat out.txt)" patient
        ends 0 exit misuse --cores $cores
        says "context 1 unlocks mutex third (0x[0-9a-f]*), which context 0 has locked"
        says "in unlocks (wrong.c:[0-9]*)"
        says "context 0 destroys mutex third (0x[0-9a-f]*) while it is locked"
        equal "results" "$(tr '\n' ' ' <out.txt)" "0 1 "
        ends 5 exit left --cores $cores
        if [ $cores -gt 2 ]; then
            "$peet" run -d out --cores $cores -- ./wrong left >out.txt 2>err.txt # --quiet does not say it
            says "while 1 other thread was not over"
            says "context 1 waited for condition variable never_signalled"
            equal "threads left" "$(value out/stats.json end.threads_left)" 1
        fi
    done
done

# Threads in step with each other do not keep one of them away from a lock for ever, and that is no livelock.
cat >apart.c <<'END'
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_ulong lock;
static int begun, made; /* by the lock */
static void wait_a_little(unsigned *tries)
{
    if (YIELDS && ++*tries >= 100)
        sched_yield();
    else if (PAUSES)
        __asm__ volatile("pause" ::: "memory");
}
static void acquire(unsigned long me)
{
    unsigned long nobody = 0;
    unsigned tries = 0;
    while (!atomic_compare_exchange_strong(&lock, &nobody, me)) {
        nobody = 0;
        wait_a_little(&tries);
    }
}
static void release(void)
{
    atomic_store_explicit(&lock, 0, memory_order_release);
}
static void *work(void *arg)
{
    const unsigned long me = (unsigned long)arg;
    unsigned tries = 0;
    acquire(me);
    while (!made) {
        const int first = !begun;
        begun = 1;
        release();
        for (volatile int i = 0; first && i < 100; i++)
            ;
        if (!first)
            wait_a_little(&tries);
        acquire(me);
        made |= first;
    }
    release();
    return 0;
}
int main(void)
{
    pthread_t threads[4];
    for (unsigned long i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
END
for waits in "1 1" "0 1" "1 0" "0 0"; do
    read -r yields pauses <<<"$waits"
    must "$peetcc" -O2 -DYIELDS=$yields -DPAUSES=$pauses -pthread apart.c -o apart
    for machine in x86 x86,preset=zen4 bus; do
        must timeout 100 "$peet" run -q --cores 4 --machine $machine -d out -- ./apart
    done
done

# Rounds in which something happens that is not in memory: a cancellation is looked for, or a register of the x87 counts. They come to their ends, and are
# gone as often as they are where an observer sees each of them.
cat >rounds.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
static atomic_int stop;
static volatile double work_done;
static void *until_cancelled(void *arg)
{
    while (!atomic_load(&stop))
        pthread_testcancel();
    return arg;
}
static void *counts(void *arg)
{
    long double n = 0;
    while (!atomic_load(&stop))
        n += 1;
    *(long *)arg = (long)n;
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    long n = 0;
    pthread_create(&thread, NULL, !strcmp(argv[argc - 1], "counts") ? counts : until_cancelled, &n);
    for (int i = 0; i < 100000; i++)
        work_done += i;
    if (strcmp(argv[argc - 1], "counts"))
        pthread_cancel(thread);
    else
        stop = 1;
    pthread_join(thread, NULL);
    printf("%ld\n", n);
    return 0;
}
END
must "$peetcc" -O2 -pthread rounds.c -o rounds
for machine in ideal bus; do
    for how in cancelled counts; do
        must timeout 100 "$peet" run -q --cores 2 --machine $machine -d out -- ./rounds $how >alone.txt
        must timeout 100 "$peet" run -q --cores 2 --machine $machine --observe hash -d seen -- ./rounds $how >seen.txt
        cmp -s alone.txt seen.txt || fail "$machine, $how: $(cat alone.txt), seen round by round $(cat seen.txt)"
        equal "instructions, $machine, $how" "$(value out/stats.json totals.instructions)" "$(value seen/stats.json totals.instructions)"
    done
done

# A futex is called one, by the name of its word: the report of a deadlock and stats.json know nothing of what it is made of.
cat >word.c <<'END'
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static unsigned word;
static void *wakes(void *arg)
{
    for (volatile int i = 0; i < 1000; i++)
        ;
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, wakes, 0);
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0);
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0); /* nobody is left to wake it */
    return 0;
}
END
must "$peetcc" -O2 -pthread word.c -o word
status=0
"$peet" run -q --cores 2 -d out -- ./word 2>err.txt || status=$?
equal "status of a futex that nobody wakes" $status 3
says "context 0 waits for futex word (0x[0-9a-f]*);"
equal "what was waited for" "$(value out/stats.json sync.contended.0.kind) $(value out/stats.json sync.contended.0.name)" "futex word"
