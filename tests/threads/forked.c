/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that calls fork() goes on in the child as what it was: with its values, handlers and stack, to its end. */
#include "harness.h"

#include <stdatomic.h>
#include <sys/wait.h>

static int reports[2]; /* a pipe from the child */

static void report(char what)
{
    if (write(reports[1], &what, 1) != 1)
        _exit(99);
}

/* What the child has reported, and how it ended. */
static const char *heard(pid_t child)
{
    static char text[100];
    int status = 0;
    close(reports[1]);
    size_t n = 0;
    for (ssize_t got; n < sizeof text - 10 && (got = read(reports[0], text + n, sizeof text - 10 - n)) > 0;)
        n += (size_t)got;
    close(reports[0]);
    EQUAL(waitpid(child, &status, 0), child);
    snprintf(text + n, 10, " %d", WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
    return text;
}

#define SAYS(child, wanted) \
    do { \
        const char *said = heard(child); \
        if (strcmp(said, wanted) != 0) { \
            harness_failed = 1; \
            printf("  line %d: the child says '%s', not '%s'\n", __LINE__, said, wanted); \
        } \
    } while (0)

static pid_t child_of(void)
{
    fflush(stdout);
    if (pipe(reports) != 0)
        exit(2);
    return fork();
}

/* By main and by another thread. */
static void by_both(void *(*fn)(void *))
{
    fn(NULL);
    finish(start(fn, NULL));
}

static void at_exit(void)
{
    report('x');
}

static void destructor(void *value)
{
    report((char)(intptr_t)value);
}

static void cleanup(void *what)
{
    report(*(char *)what);
}

/* ------------------------------------------------------------------------------------- values of keys */

static pthread_key_t few[3], many[60];

static void *child_thread(void *arg)
{
    report(pthread_getspecific(few[0]) || pthread_getspecific(many[59]) ? '?' : 'n');
    pthread_setspecific(few[0], (void *)'d');
    return arg;
}

static void *values(void *arg)
{
    pthread_key_t later;
    pthread_setspecific(few[0], (void *)'a');
    pthread_setspecific(many[59], (void *)'b');
    pid_t child = child_of();
    if (child == 0) {
        report((char)(intptr_t)pthread_getspecific(few[0]));
        report((char)(intptr_t)pthread_getspecific(many[59]));
        pthread_setspecific(few[0], (void *)'c');
        report((char)(intptr_t)pthread_getspecific(few[0]));
        finish(start(child_thread, NULL));
        report((char)(intptr_t)pthread_getspecific(few[0]));
        pthread_key_create(&later, destructor);
        report(pthread_getspecific(later) ? '?' : 'l');
        pthread_setspecific(later, (void *)'m');
        report((char)(intptr_t)pthread_getspecific(later));
        _exit(harness_failed);
    }
    SAYS(child, "abcndclm 0");
    pthread_setspecific(few[0], NULL);
    pthread_setspecific(many[59], NULL);
    return arg;
}

CASE(keys_keep_their_values)
{
    pthread_key_create(&few[0], destructor);
    for (int i = 0; i < 60; i++)
        pthread_key_create(&many[i], NULL);
    by_both(values);
    for (int i = 0; i < 60; i++)
        pthread_key_delete(many[i]);
}

/* --------------------------------------------------------------------------------------------- ends */

static void *exits(void *arg)
{
    char outer = 'o';
    pthread_cleanup_push(cleanup, &outer);
    pid_t child = child_of();
    if (child == 0) {
        char inner = 'i';
        atexit(at_exit);
        pthread_setspecific(few[0], (void *)'k');
        pthread_cleanup_push(cleanup, &inner);
        pthread_exit(NULL);
        pthread_cleanup_pop(0);
    }
    SAYS(child, "iokx 0");
    pthread_cleanup_pop(0);
    return arg;
}

CASE(pthread_exit_ends_the_child)
{
    by_both(exits);
}

static pid_t returned;

static void *returns(void *arg)
{
    returned = child_of();
    if (returned == 0) {
        atexit(at_exit);
        pthread_setspecific(few[0], (void *)'r');
    }
    return arg;
}

CASE(return_ends_the_child)
{
    finish(start(returns, NULL));
    SAYS(returned, "rx 0");
}

static void *slow(void *arg)
{
    pause_ms(20);
    report('s');
    return arg;
}

static void *waits(void *arg)
{
    pid_t child = child_of();
    if (child == 0) {
        atexit(at_exit);
        start(slow, NULL);
        pthread_exit(NULL);
    }
    SAYS(child, "sx 0");
    return arg;
}

CASE(the_child_ends_with_its_last_thread)
{
    by_both(waits);
}

/* -------------------------------------------------------------------------------- what can be asked */

static void *asks(void *arg)
{
    pthread_t self = pthread_self();
    if (arg)
        pthread_setname_np(self, "of its own");
    pid_t child = child_of();
    if (child == 0) {
        pthread_attr_t attributes;
        char name[16] = "";
        char *low = NULL;
        size_t bytes = 0;
        report(pthread_equal(self, pthread_self()) ? 'e' : '?');
        if (pthread_getattr_np(self, &attributes) == 0)
            pthread_attr_getstack(&attributes, (void **)&low, &bytes);
        report((char *)&bytes > low && (char *)&bytes < low + bytes ? 's' : '?');
        pthread_getname_np(self, name, sizeof name);
        report(!arg || strcmp(name, "of its own") == 0 ? 'n' : '?');
        _exit(0);
    }
    SAYS(child, "esn 0");
    return arg;
}

CASE(stack_and_name)
{
    asks(NULL);
    finish(start(asks, few));
}

/* ----------------------------------------------------------------------------------------- locks */

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;

static void lock_it(void)
{
    pthread_rwlock_rdlock(&shared);
}

static void unlock_it(void)
{
    pthread_rwlock_unlock(&shared);
}

static void *forks(void *arg)
{
    pid_t child = child_of();
    if (child == 0) {
        report(pthread_rwlock_trywrlock(&shared) == 0 ? 'w' : '?');
        report(pthread_rwlock_tryrdlock(&shared) == 0 ? '?' : 'b');
        report(pthread_rwlock_unlock(&shared) == 0 ? 'u' : '?');
        report(pthread_rwlock_tryrdlock(&shared) == 0 ? 'r' : '?');
        _exit(0);
    }
    SAYS(child, "wbur 0");
    return arg;
}

CASE(handlers_lock_and_unlock)
{
    pthread_atfork(lock_it, unlock_it, unlock_it);
    by_both(forks);
}
