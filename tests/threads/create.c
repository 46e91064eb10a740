/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: creating, joining, detaching, ending, attributes, what can be asked of a thread. */
#include "harness.h"
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/sysinfo.h>

static void *give_back(void *arg)
{
    return arg;
}

static void *own_id(void *arg)
{
    return (void *)pthread_self();
}

CASE(result_of_return)
{
    EQUAL(finish(start(give_back, (void *)42)), 42);
}

static void *leave(void *arg)
{
    pthread_exit(arg);
}

CASE(result_of_exit)
{
    EQUAL(finish(start(leave, (void *)43)), 43);
}

static void deeper(int n, void *arg)
{
    volatile char room[100];
    room[0] = (char)n;
    if (n == 0)
        pthread_exit(arg);
    deeper(n - 1, arg);
    room[1] = room[0];
}

static void *leave_deep(void *arg)
{
    deeper(50, arg);
    return NULL;
}

CASE(exit_from_deep_within)
{
    EQUAL(finish(start(leave_deep, (void *)44)), 44);
}

CASE(join_without_result)
{
    OK(pthread_join(start(give_back, NULL), NULL));
}

CASE(identity_inside_and_outside)
{
    pthread_t t = start(own_id, NULL);
    CHECK(pthread_equal((pthread_t)finish(t), t));
}

CASE(identity_differs)
{
    pthread_t a = start(give_back, NULL), b = start(give_back, NULL);
    CHECK(!pthread_equal(a, b));
    CHECK(!pthread_equal(a, pthread_self()));
    finish(a);
    finish(b);
}

static pthread_t written;
static void *sees_id(void *arg)
{
    return (void *)(uintptr_t)(written == pthread_self());
}

CASE(id_is_written_before_the_thread_runs)
{
    for (int i = 0; i < 20; i++) {
        OK(pthread_create(&written, NULL, sees_id, NULL));
        EQUAL(finish(written), 1);
    }
}

CASE(many_in_turn)
{
    for (long i = 0; i < 200; i++)
        EQUAL(finish(start(give_back, (void *)i)), i);
}

CASE(many_at_once)
{
    enum { N = 100 };
    pthread_t t[N];
    for (long i = 0; i < N; i++)
        t[i] = start(give_back, (void *)(i * i));
    for (long i = N - 1; i >= 0; i--)
        EQUAL(finish(t[i]), i * i);
}

static void *tree(void *arg)
{
    long depth = (long)arg;
    if (depth == 0)
        return (void *)1;
    pthread_t a = start(tree, (void *)(depth - 1)), b = start(tree, (void *)(depth - 1));
    long sum = 1 + (long)finish(a);
    return (void *)(sum + (long)finish(b));
}

CASE(threads_make_threads)
{
    EQUAL(tree((void *)5), 63);
}

static void *join_it(void *arg)
{
    return finish(*(pthread_t *)arg);
}

CASE(joined_by_a_sibling)
{
    pthread_t a = start(give_back, (void *)7), b = start(join_it, &a);
    EQUAL(finish(b), 7);
}

CASE(join_itself)
{
    EQUAL(pthread_join(pthread_self(), NULL), EDEADLK);
}

static void *join_self(void *arg)
{
    return (void *)(long)pthread_join(pthread_self(), NULL);
}

CASE(join_itself_in_a_thread)
{
    EQUAL(finish(start(join_self, NULL)), EDEADLK);
}

static sem_t go;
static void *wait_go(void *arg)
{
    while (sem_wait(&go) != 0) {
    }
    return arg;
}

static sem_t said;
static void *wait_go_and_say(void *arg)
{
    sem_wait(&go);
    sem_post(&said);
    return NULL;
}

CASE(join_detached)
{
    pthread_t t;
    sem_init(&go, 0, 0);
    sem_init(&said, 0, 0);
    t = start(wait_go_and_say, NULL);
    OK(pthread_detach(t));
    EQUAL(pthread_join(t, NULL), EINVAL);
    sem_post(&go);
    sem_wait(&said);
}

CASE(detach_twice)
{
    sem_init(&go, 0, 0);
    sem_init(&said, 0, 0);
    pthread_t t = start(wait_go_and_say, NULL);
    OK(pthread_detach(t));
    EQUAL(pthread_detach(t), EINVAL);
    sem_post(&go);
    sem_wait(&said);
}

static void *say(void *arg)
{
    sem_post(&said);
    return NULL;
}

CASE(created_detached)
{
    pthread_attr_t attr;
    pthread_t t;
    sem_init(&said, 0, 0);
    pthread_attr_init(&attr);
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    OK(pthread_create(&t, &attr, say, NULL));
    OK(sem_wait(&said));
    pthread_attr_destroy(&attr);
}

static void *detach_self(void *arg)
{
    int err = pthread_detach(pthread_self());
    *(int *)arg = err;
    sem_post(&said);
    return NULL;
}

CASE(detaches_itself)
{
    static int err = -1;
    sem_init(&said, 0, 0);
    start(detach_self, &err);
    OK(sem_wait(&said));
    OK(err);
}

CASE(hundred_detached)
{
    sem_init(&said, 0, 0);
    for (int i = 0; i < 100; i++)
        pthread_detach(start(say, NULL));
    for (int i = 0; i < 100; i++)
        OK(sem_wait(&said));
}

CASE(detach_after_its_end)
{
    pthread_t t;
    sem_init(&said, 0, 0);
    t = start(say, NULL);
    sem_wait(&said);
    pause_ms(10);
    OK(pthread_detach(t));
}

CASE(join_after_its_end)
{
    pthread_t t = start(give_back, (void *)9);
    pause_ms(10);
    EQUAL(finish(t), 9);
}

CASE(tryjoin_of_a_running_thread)
{
    void *result = NULL;
    sem_init(&go, 0, 0);
    pthread_t t = start(wait_go, (void *)5);
    EQUAL(pthread_tryjoin_np(t, &result), EBUSY);
    sem_post(&go);
    EQUAL(finish(t), 5);
}

CASE(tryjoin_of_an_ended_thread)
{
    void *result = NULL;
    pthread_t t = start(give_back, (void *)5);
    int err = EBUSY;
    for (int i = 0; i < 500 && err == EBUSY; i++) { /* a busy machine may take long to begin it */
        pause_ms(20);
        err = pthread_tryjoin_np(t, &result);
    }
    EQUAL(err, 0);
    EQUAL(result, 5);
}

CASE(timedjoin_times_out)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 20);
    sem_init(&go, 0, 0);
    pthread_t t = start(wait_go, (void *)6);
    EQUAL(pthread_timedjoin_np(t, NULL, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_REALTIME, &until));
    sem_post(&go);
    EQUAL(finish(t), 6);
}

CASE(timedjoin_in_time)
{
    struct timespec until = in_ms(CLOCK_REALTIME, 5000);
    void *result = NULL;
    OK(pthread_timedjoin_np(start(give_back, (void *)6), &result, &until));
    EQUAL(result, 6);
}

CASE(timedjoin_in_the_past)
{
    struct timespec until = in_ms(CLOCK_REALTIME, -1000);
    sem_init(&go, 0, 0);
    pthread_t t = start(wait_go, NULL);
    EQUAL(pthread_timedjoin_np(t, NULL, &until), ETIMEDOUT);
    sem_post(&go);
    finish(t);
}

CASE(clockjoin_monotonic)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    sem_init(&go, 0, 0);
    pthread_t t = start(wait_go, (void *)8);
    EQUAL(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &until), ETIMEDOUT);
    CHECK(reached(CLOCK_MONOTONIC, &until));
    sem_post(&go);
    EQUAL(finish(t), 8);
}

CASE(clockjoin_of_an_unknown_clock)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    sem_init(&go, 0, 0);
    pthread_t t = start(wait_go, (void *)8);
    EQUAL(pthread_clockjoin_np(t, NULL, CLOCK_PROCESS_CPUTIME_ID, &until), EINVAL);
    sem_post(&go);
    finish(t);
}

/* ------------------------------------------------------------------------------------------- attributes */

static void *own_stack(void *arg)
{
    size_t *out = arg;
    pthread_attr_t attr;
    void *address = NULL;
    int here;
    OK(pthread_getattr_np(pthread_self(), &attr));
    OK(pthread_attr_getstack(&attr, &address, &out[1]));
    out[0] = (size_t)address;
    CHECK((size_t)&here >= out[0] && (size_t)&here < out[0] + out[1]);
    pthread_attr_destroy(&attr);
    return NULL;
}

CASE(own_stack_is_known)
{
    size_t stack[2];
    finish(start(own_stack, stack));
    CHECK(stack[1] >= PTHREAD_STACK_MIN);
}

CASE(main_stack_is_known)
{
    size_t stack[2];
    own_stack(stack);
}

CASE(stack_size_is_honoured)
{
    size_t stack[2];
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    OK(pthread_attr_setstacksize(&attr, 3 << 20));
    OK(pthread_create(&t, &attr, own_stack, stack));
    finish(t);
    CHECK(stack[1] >= (3 << 20) - 65536);
    pthread_attr_destroy(&attr);
}

static int fill(int n)
{
    volatile char room[4000];
    for (unsigned i = 0; i < sizeof room; i += 100)
        room[i] = (char)n;
    return n == 0 ? room[0] : fill(n - 1) + (room[100] == (char)n);
}

static void *use_much(void *arg)
{
    return (void *)(long)fill((int)(long)arg);
}

CASE(large_stack_can_be_used)
{
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    OK(pthread_attr_setstacksize(&attr, 64 << 20));
    OK(pthread_create(&t, &attr, use_much, (void *)12000));
    EQUAL(finish(t), 12000);
    pthread_attr_destroy(&attr);
}

CASE(default_stack_can_be_used)
{
    EQUAL(finish(start(use_much, (void *)1500)), 1500);
}

static void *address_of_local(void *arg)
{
    volatile int here = 1;
    return (void *)((uintptr_t)&here & ~(uintptr_t)here);
}

CASE(own_stack_memory)
{
    static char memory[1 << 18] __attribute__((aligned(4096)));
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    OK(pthread_attr_setstack(&attr, memory, sizeof memory));
    OK(pthread_create(&t, &attr, address_of_local, NULL));
    char *local = finish(t);
    CHECK(local >= memory && local < memory + sizeof memory);
    /* and once more, on the same */
    OK(pthread_create(&t, &attr, address_of_local, NULL));
    EQUAL(finish(t), local);
    pthread_attr_destroy(&attr);
}

CASE(stack_size_too_small)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    EQUAL(pthread_attr_setstacksize(&attr, 100), EINVAL);
    pthread_attr_destroy(&attr);
}

CASE(smallest_stack)
{
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    OK(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
    OK(pthread_create(&t, &attr, give_back, (void *)3));
    EQUAL(finish(t), 3);
    pthread_attr_destroy(&attr);
}

static void *own_detach_state(void *arg)
{
    pthread_attr_t attr;
    int state = -1;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getdetachstate(&attr, &state);
    pthread_attr_destroy(&attr);
    *(int *)arg = state;
    sem_post(&said);
    return NULL;
}

CASE(detach_state_can_be_asked)
{
    static int state;
    pthread_attr_t attr;
    pthread_t t;
    sem_init(&said, 0, 0);
    finish(start(own_detach_state, &state));
    EQUAL(state, PTHREAD_CREATE_JOINABLE);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    OK(pthread_create(&t, &attr, own_detach_state, &state));
    OK(sem_wait(&said));
    OK(sem_wait(&said));
    EQUAL(state, PTHREAD_CREATE_DETACHED);
    pthread_attr_destroy(&attr);
}

CASE(guard_size_is_remembered)
{
    pthread_attr_t attr, got;
    size_t guard = 0;
    pthread_t t;
    sem_init(&go, 0, 0);
    pthread_attr_init(&attr);
    OK(pthread_attr_setguardsize(&attr, 16384));
    OK(pthread_create(&t, &attr, wait_go, NULL));
    OK(pthread_getattr_np(t, &got));
    OK(pthread_attr_getguardsize(&got, &guard));
    EQUAL(guard, 16384);
    sem_post(&go);
    finish(t);
    pthread_attr_destroy(&got);
    pthread_attr_destroy(&attr);
}

/* ------------------------------------------------------------------------------- names, processors, clocks */

static void *name_self(void *arg)
{
    OK(pthread_setname_np(pthread_self(), "worker"));
    return NULL;
}

CASE(names)
{
    char name[16] = "";
    sem_init(&go, 0, 0);
    pthread_t t = start(wait_go, NULL);
    OK(pthread_setname_np(t, "fifteen letters"));
    OK(pthread_getname_np(t, name, sizeof name));
    OK(strcmp(name, "fifteen letters"));
    EQUAL(pthread_setname_np(t, "sixteen  letters"), ERANGE);
    EQUAL(pthread_getname_np(t, name, 15), ERANGE);
    sem_post(&go);
    finish(t);
    finish(start(name_self, NULL));
}

CASE(processors_agree)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    CHECK(n >= 1);
    EQUAL(get_nprocs(), n);
    CHECK(sched_getcpu() >= 0);
    CHECK(sysconf(_SC_NPROCESSORS_CONF) >= n);
}

CASE(affinity)
{
    cpu_set_t set, got;
    CPU_ZERO(&set);
    OK(pthread_getaffinity_np(pthread_self(), sizeof got, &got));
    CHECK(CPU_COUNT(&got) >= 1);
    int first = 0;
    while (!CPU_ISSET(first, &got))
        first++;
    CPU_SET(first, &set);
    OK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
    cpu_set_t one;
    OK(sched_getaffinity(0, sizeof one, &one));
    CHECK(CPU_EQUAL(&one, &set));
    OK(pthread_setaffinity_np(pthread_self(), sizeof got, &got));
    CPU_ZERO(&set);
    EQUAL(pthread_setaffinity_np(pthread_self(), sizeof set, &set), EINVAL);
}

CASE(cpu_clock)
{
    clockid_t clock;
    struct timespec a, b;
    OK(pthread_getcpuclockid(pthread_self(), &clock));
    OK(clock_gettime(clock, &a));
    for (volatile int i = 0; i < 100000; i++) {
    }
    OK(clock_gettime(clock, &b));
    CHECK(b.tv_sec > a.tv_sec || b.tv_nsec >= a.tv_nsec);
}

CASE(cpu_clock_of_another)
{
    clockid_t clock;
    struct timespec t;
    sem_init(&go, 0, 0);
    pthread_t other = start(wait_go, NULL);
    OK(pthread_getcpuclockid(other, &clock));
    OK(clock_gettime(clock, &t));
    sem_post(&go);
    finish(other);
}

CASE(concurrency)
{
    OK(pthread_getconcurrency());
    OK(pthread_setconcurrency(7));
    EQUAL(pthread_getconcurrency(), 7);
    OK(pthread_setconcurrency(0));
    EQUAL(pthread_setconcurrency(-1), EINVAL);
}

CASE(scheduling_parameters)
{
    int policy = -1;
    struct sched_param param = {.sched_priority = 99};
    OK(pthread_getschedparam(pthread_self(), &policy, &param));
    EQUAL(policy, SCHED_OTHER);
    EQUAL(param.sched_priority, 0);
    OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param));
    param.sched_priority = 1000;
    EQUAL(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param), EINVAL);
    EQUAL(pthread_setschedprio(pthread_self(), 1000), EINVAL);
    OK(pthread_setschedprio(pthread_self(), 0));
}

CASE(yield)
{
    for (int i = 0; i < 10; i++)
        OK(sched_yield());
}

static int flags[2];
static void *spin_for_the_other(void *arg)
{
    long me = (long)arg;
    for (int round = 1; round <= 20; round++) {
        __atomic_store_n(&flags[me], round, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&flags[1 - me], __ATOMIC_SEQ_CST) < round)
            sched_yield();
    }
    return (void *)(long)flags[1 - me];
}

CASE(spinning_on_each_other)
{
    flags[0] = flags[1] = 0;
    pthread_t a = start(spin_for_the_other, (void *)0), b = start(spin_for_the_other, (void *)1);
    CHECK((long)finish(a) >= 20);
    CHECK((long)finish(b) >= 20);
}
