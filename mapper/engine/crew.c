/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Followers in processes of their own: the crew.  Each is a copy of this process from before the program's first block, in which
 * one follower is called, and nothing else.  A thread would change what the C library does in the program.
 *
 *   1. The queue is a ring of segments in shared memory.  `said` counts the segments that the leader has filled, each
 *      follower's `done` those that it has done; said - done <= QUEUE_SEGMENTS.
 *   2. Whoever waits for a count is woken when it moves; that is seldom, since a segment is long.
 *   3. A follower gets the messages that it would get in the leader's process, in their order, and so has the same results.
 *
 * Called by queue.c; the host makes the crew (mapper.h).
 */
#include "engine/queue.h"
#include "base/stats.h"
#include "engine/follow.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 64 << 20, WHY_BYTES = 900, WAIT_MS = 100 };

/** Of one follower; its process writes it. */
struct member {
    _Alignas(64) _Atomic uint32_t done;
    _Atomic uint32_t failed;
    char why[WHY_BYTES];
    char text[TEXT_BYTES]; /* its statistics; untouched pages cost nothing */
};

struct shared {
    _Alignas(64) _Atomic uint32_t said;
    size_t n[QUEUE_SEGMENTS]; /* words of each segment */
    uint64_t words[QUEUE_SEGMENTS][QUEUE_WORDS];
    struct member members[];
};

struct peet_crew {
    struct shared *shared;
    pid_t parent;
    unsigned n;
    int finished; /* the processes end when they have answered */
    struct {
        struct peet_map_module *module;
        pid_t pid; /* 0: it has ended */
    } members[];
};

/* ---------------------------------------------------------------------------------------- waiting */

static void wait_while(_Atomic uint32_t *count, uint32_t is)
{
    const struct timespec some = {.tv_nsec = WAIT_MS * 1000000L};

    syscall(SYS_futex, count, FUTEX_WAIT, is, &some, NULL, 0);
}

static void move(_Atomic uint32_t *count)
{
    atomic_fetch_add(count, 1);
    syscall(SYS_futex, count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---------------------------------------------------------------------------------------- a follower's process */

static struct member *me; /* in the process of a follower */
static int answered;      /* ... what was asked for last */

static void say_failure(const struct peet_map_module *m)
{
    if (!m->failed || atomic_load(&me->failed))
        return;
    snprintf(me->why, sizeof me->why, "%s", m->failed);
    atomic_store(&me->failed, 1);
}

static __attribute__((noreturn)) void serve(struct peet_crew *crew, unsigned i)
{
    struct shared *s = crew->shared;
    struct peet_map_module *m = crew->members[i].module;

    prctl(PR_SET_NAME, "peet-follower");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    me = &s->members[i];
    for (;;) {
        const uint32_t done = atomic_load(&me->done);

        if (atomic_load(&s->said) == done) {
            if (getppid() != crew->parent)
                _exit(1);
            wait_while(&s->said, done);
            continue;
        }
        peet__queue_deliver(m, s->words[done % QUEUE_SEGMENTS], s->n[done % QUEUE_SEGMENTS]);
        say_failure(m);
        move(&me->done);
        if (answered) /* nobody will ask again */
            _exit(0);
    }
}

void peet__crew_answer(struct peet_map_module *m)
{
    json_t *root = json_object();
    size_t n = TEXT_BYTES;

    if (m->follow && !m->failed)
        peet__follow_close(m);
    if (root && !peet__map_module_json(m->map, m, root))
        n = json_dumpb(root, me->text, TEXT_BYTES - 1, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (n < TEXT_BYTES)
        me->text[n] = 0;
    else
        peet__map_module_fail(m, "its statistics are too long");
    answered = m->finished || m->failed;
    json_decref(root);
}

/* ---------------------------------------------------------------------------------------- the leader's process */

/** Has the process ended?  Then its follower has failed. */
static int is_gone(struct peet_crew *crew, unsigned i)
{
    int status;

    if (!crew->members[i].pid)
        return 1;
    if (waitpid(crew->members[i].pid, &status, WNOHANG | __WALL) != crew->members[i].pid)
        return 0;
    crew->members[i].pid = 0;
    if (!crew->members[i].module->failed)
        peet__map_module_fail(crew->members[i].module, "its process has ended: %s",
            WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "without a reason");
    return 1;
}

/** Until a follower has done all but @left of the segments. */
static void wait_for(struct peet_crew *crew, unsigned i, uint32_t left)
{
    struct member *member = &crew->shared->members[i];
    const uint32_t said = atomic_load(&crew->shared->said);
    uint32_t done;

    while (crew->members[i].pid && said - (done = atomic_load(&member->done)) > left) {
        wait_while(&member->done, done);
        if (atomic_load(&member->done) == done && is_gone(crew, i))
            return;
    }
    if (atomic_load(&member->failed) && !crew->members[i].module->failed)
        peet__map_module_fail(crew->members[i].module, "%s", member->why);
}

void peet__crew_publish(struct peet_map *map, int all)
{
    struct peet_queue *q = map->queue;
    struct peet_crew *crew = q->crew;
    struct shared *s = crew->shared;

    if (getpid() != crew->parent) /* a child of the program */
        return;
    if (q->n) {
        s->n[atomic_load(&s->said) % QUEUE_SEGMENTS] = q->n;
        move(&s->said);
        q->n = 0;
    }
    for (unsigned i = 0; i < crew->n; i++) {
        wait_for(crew, i, all ? 0 : QUEUE_SEGMENTS - 1);
        if (all && crew->finished && crew->members[i].pid) {
            waitpid(crew->members[i].pid, NULL, __WALL);
            crew->members[i].pid = 0;
        }
    }
    q->words = s->words[atomic_load(&s->said) % QUEUE_SEGMENTS];
}

void peet__crew_finish(struct peet_map *map)
{
    map->queue->crew->finished = 1;
}

json_t *peet__crew_stats(struct peet_map *map, const struct peet_map_module *m)
{
    struct peet_crew *crew = map->queue->crew;

    for (unsigned i = 0; i < crew->n; i++)
        if (crew->members[i].module == m)
            return json_loads(crew->shared->members[i].text, 0, NULL);
    return NULL;
}

void peet__crew_free(struct peet_map *map)
{
    struct peet_crew *crew = map->queue->crew;

    for (unsigned i = 0; i < crew->n && getpid() == crew->parent; i++)
        if (crew->members[i].pid) {
            kill(crew->members[i].pid, SIGKILL);
            waitpid(crew->members[i].pid, NULL, __WALL);
        }
    munmap(crew->shared, sizeof *crew->shared + crew->n * sizeof(struct member));
    free(crew);
    map->queue->crew = NULL;
    map->queue->words = NULL;
}

/** Processes of the followers, with all signals blocked.  Returns: 0, or -1 */
static int start(struct peet_crew *crew, int64_t (*fork_apart)(void))
{
    sigset_t all, before;
    int err = 0;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < crew->n && !err; i++) {
        const int64_t pid = fork_apart();

        if (!pid)
            serve(crew, i);
        err = pid < 0 ? -1 : 0;
        crew->members[i].pid = pid > 0 ? (pid_t)pid : 0;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}

int peet_map_start_crew(struct peet_map *map, uint32_t nblocks, int64_t (*fork_apart)(void))
{
    struct peet_queue *q = map->queue;
    struct peet_crew *crew;
    unsigned n = 0;

    for (unsigned i = 0; i < map->nobservers; i++)
        n += map->observers[i]->queued;
    if (!q || !n)
        return 0;
    crew = calloc(1, sizeof *crew + n * sizeof crew->members[0]);
    if (!crew)
        return -1;
    crew->parent = getpid();
    crew->shared = mmap(NULL, sizeof *crew->shared + n * sizeof(struct member), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (crew->shared == MAP_FAILED) {
        free(crew);
        return -1;
    }
    for (unsigned i = 0; i < map->nobservers; i++)
        if (map->observers[i]->queued)
            crew->members[crew->n++].module = map->observers[i];
    free(q->words);
    q->words = crew->shared->words[0];
    q->crew = crew;
    q->known = nblocks;
    if (start(crew, fork_apart)) {
        peet__crew_free(map);
        return -1;
    }
    for (unsigned i = 0; i < crew->n; i++)
        crew->members[i].module->away = 1;
    return 0;
}
