/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parallel regions: forking, joining, teams and leagues.  A master keeps its team from region to region, so that thread
 * numbers and threadprivate variables persist: its *hot* workers wait for the next region in one barrier
 * (fork_gate), those beyond the present size sleep each on a semaphore (park).  A region costs a thread two
 * events: the barrier that begins it and the one that ends it.
 */
#include "openmp.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct omp_thread *pool; /* parked workers that belong to nobody */
static int nroots_with_teams;   /* roots that have workers: when the last ends, so does the pool */

/* ----------------------------------------------------------------------------------------------- members */

void peet__omp_member_begin(struct omp_member *member, struct omp_team *team, struct omp_task *parent, int tid)
{
    struct omp_task *task = member->implicit;
    memset(member, 0, sizeof(*member));
    if (!task || task->references > 1) { /* the old one goes with its last child */
        if (task)
            peet__omp_task_unref(task);
        task = peet__omp_alloc(sizeof(*task));
    } else {
        peet__omp_dependences_free(task);
        memset(task, 0, sizeof(*task));
    }
    task->references = 1;
    task->implicit = 1;
    task->flags = OMP_TASK_TIED;
    task->state = OMP_TASK_RUNNING;
    task->parent = parent; /* which outlives the region: no reference */
    task->team = team;
    task->icvs = team->icvs;
    if (parent) {
        task->final = parent->final;
        task->flags |= parent->flags & OMP_TASK_FINAL;
    }
    member->implicit = task;
    member->team = team;
    member->tid = tid;
}

/* As the ordinary library does: when a thread begins a region of another level or size than the last that was shown. */
static void show_affinity(struct omp_thread *thread)
{
    const struct omp_team *team = thread->member->team;
    if (!peet__omp_env.display_affinity || team->league ||
        (thread->shown_level == team->level && thread->shown_threads == team->n))
        return;
    thread->shown_level = team->level;
    thread->shown_threads = team->n;
    peet__omp_affinity_show();
}

/* A league's member is the initial thread of a team of its own, outside all regions. */
static void run_league(struct omp_thread *thread, struct omp_member *member);

void peet__omp_member_run(struct omp_thread *thread, struct omp_member *member)
{
    struct omp_member *outer_member = thread->member;
    struct omp_task *outer_task = thread->task;
    struct omp_team *team = member->team;
    int32_t gtid = thread->gtid, tid = member->tid;
    member->thread = thread;
    thread->member = member;
    thread->task = member->implicit;
    show_affinity(thread);
    if (team->league)
        run_league(thread, member);
    else
        peet__omp_invoke(team->microtask, &gtid, &tid, team->narguments, team->arguments);
    peet__omp_barrier(thread, 0);
    thread->member = outer_member;
    thread->task = outer_task;
}

void peet__omp_worker_run(struct omp_thread *thread)
{
    peet__omp_wait(&thread->park);
    while (thread->job) {
        struct omp_team *team = thread->job->team;
        int n = team->n;
        peet__float_control_set(team->control);
        peet__omp_member_run(thread, thread->job);
        /* From here on the master may be far ahead: what it wants is in this thread's own fields. */
        peet__omp_barrier_event(&team->fork_gate, n);
        if (thread->left != thread->leaves) {
            thread->left++;
            peet__omp_wait(&thread->park);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ teams */

static void make_room(struct omp_team *team, int n)
{
    if (n <= team->capacity)
        return;
    struct omp_member *members = peet__omp_alloc((size_t)n * sizeof(*members));
    for (int i = 0; i < team->capacity; i++)
        members[i].implicit = team->members[i].implicit;
    peet__omp_free(team->members);
    team->members = members;
    team->capacity = n;
}

static struct omp_team *team_new(int n)
{
    struct omp_team *team = peet__omp_alloc(sizeof(*team));
    team->hot = 1;
    make_room(team, n);
    return team;
}

/* The team of this master at its present depth of regions. */
static struct omp_team *hot_team(struct omp_thread *master)
{
    if (master->depth == master->nteams) {
        master->teams = peet__omp_realloc(master->teams, (size_t)(master->nteams + 1) * sizeof(*master->teams));
        master->teams[master->nteams++] = NULL;
    }
    if (!master->teams[master->depth]) {
        master->teams[master->depth] = team_new(1);
        if (master->root && master->depth == 0)
            nroots_with_teams++;
    }
    return master->teams[master->depth];
}

static struct omp_team *serial_team(struct omp_thread *thread)
{
    struct omp_team *team = thread->free_serial;
    if (!team)
        return team_new(1);
    thread->free_serial = team->next_free;
    return team;
}

/* Get the workers of a region of n.  Returns: how many threads there really are */
static int gather(struct omp_team *team, int n)
{
    if (n - 1 > team->nworkers)
        team->workers = peet__omp_realloc(team->workers, (size_t)n * sizeof(*team->workers));
    while (team->nworkers < n - 1) {
        struct omp_thread *worker = pool;
        if (worker)
            pool = worker->next_free;
        else
            worker = peet__omp_worker_new();
        if (!worker) {
            static int warned;
            if (!warned++)
                peet__omp_warn("no more threads can be made: a region of %d has %d", n, team->nworkers + 1);
            return team->nworkers + 1;
        }
        team->workers[++team->nworkers] = worker;
    }
    return n;
}

/* Put the region before the workers. */
static void release(struct omp_thread *master, struct omp_team *team)
{
    int hot = team->hot, n = team->n;
    for (int i = 1; i < n; i++) {
        team->workers[i]->job = &team->members[i];
        team->workers[i]->busy = master->busy;
    }
    for (int i = n; i < hot; i++)
        team->workers[i]->leaves++;
    team->hot = n;
    for (int i = hot; i < n; i++)
        peet__omp_post(&team->workers[i]->park, 1);
    if (hot > 1)
        peet__omp_barrier_event(&team->fork_gate, hot);
}

void peet__omp_teams_release(struct omp_thread *root)
{
    int had = root->nteams > 0 && root->teams[0];
    for (int d = 0; d < root->nteams; d++) {
        struct omp_team *team = root->teams[d];
        if (!team)
            continue;
        for (int i = 1; i < team->hot; i++)
            team->workers[i]->leaves++;
        if (team->hot > 1)
            peet__omp_barrier_event(&team->fork_gate, team->hot);
        team->hot = 1;
        for (int i = team->nworkers; i > 0; i--) {
            team->workers[i]->next_free = pool;
            pool = team->workers[i];
        }
        team->nworkers = 0;
    }
    if (!had || --nroots_with_teams > 0)
        return;
    while (pool) { /* nobody is left to need them: else the program would wait for them */
        struct omp_thread *worker = pool;
        pool = worker->next_free;
        peet__omp_teams_release(worker);
        worker->job = NULL;
        peet__omp_post(&worker->park, 1);
    }
}

/* ----------------------------------------------------------------------------------------------- regions */

static int wished(struct omp_thread *thread, int n)
{
    const struct omp_icvs *icvs = &thread->task->icvs;
    if (n <= 0)
        n = icvs->threads;
    if (thread->member->team->active_level >= icvs->max_active_levels || !peet_rt_simulated())
        return 1;
    if (icvs->dynamic && n > (int)peet_rt_processors())
        n = (int)peet_rt_processors();
    int room = icvs->thread_limit == INT_MAX ? n : icvs->thread_limit - *thread->busy;
    if (n > room)
        n = room;
    return n < 1 ? 1 : n;
}

static void begin_team(struct omp_thread *thread, struct omp_team *team, int n)
{
    struct omp_team *parent = thread->member->team;
    team->n = n;
    team->parent = parent;
    team->creator = thread->member;
    team->level = parent->level + 1;
    team->active_level = parent->active_level + (n > 1);
    team->nleagues = parent->nleagues;
    team->league_number = parent->league_number;
    team->league = 0;
    team->serial = 0;
    team->icvs = thread->task->icvs;
    int threads = peet__omp_threads_at(team->level);
    if (threads)
        team->icvs.threads = threads;
    if (thread->push_bind >= 0)
        team->icvs.proc_bind = thread->push_bind;
    team->tasking = peet__omp_tasking || peet__omp_env.cancellation;
    team->singles = 0;
    team->cancelled = 0;
    team->copyprivate = NULL;
    for (int i = 0; i < n; i++)
        peet__omp_member_begin(&team->members[i], team, thread->task, i);
}

/* @n: 0: as the control variables say */
static void fork_team(struct omp_thread *thread, int n, int league, omp_microtask *microtask, int narguments,
    void **arguments)
{
    n = league ? (peet_rt_simulated() ? n : 1) : wished(thread, n);
    int hot = n > 1, depth = thread->depth, *busy = thread->busy, asked = n;
    *busy += n - 1; /* before others of the contention group go on, as they may when workers are made */
    struct omp_team *team = hot ? hot_team(thread) : serial_team(thread);
    if (hot)
        n = gather(team, n);
    *busy -= asked - n;
    make_room(team, n);
    begin_team(thread, team, n);
    team->microtask = microtask;
    team->narguments = narguments;
    team->arguments = arguments;
    if (league) {
        team->league = 1;
        team->nleagues = n;
        team->level = team->parent->level;
        team->active_level = team->parent->active_level;
    }
    if (hot) {
        thread->depth++;
        team->control = peet__float_control_get();
        release(thread, team);
    }
    peet__omp_member_run(thread, &team->members[0]);
    if (hot) /* as libomp does */
        peet__float_control_set(team->control);
    peet__omp_loops_end(team);
    thread->depth = depth;
    *busy -= n - 1;
    if (!hot) {
        team->next_free = thread->free_serial;
        thread->free_serial = team;
    }
}

static void run_league(struct omp_thread *thread, struct omp_member *member)
{
    struct omp_team *league = member->team, *team = serial_team(thread);
    int *busy = thread->busy, own_busy = 0;
    int32_t gtid = thread->gtid, tid = 0;
    begin_team(thread, team, 1);
    team->parent = NULL; /* who asks for ancestors does not see beyond */
    team->level = 0;
    team->active_level = 0;
    team->nleagues = league->n;
    team->league_number = member->tid;
    thread->busy = &own_busy;
    thread->member = &team->members[0];
    thread->member->thread = thread;
    thread->task = thread->member->implicit;
    peet__omp_invoke(league->microtask, &gtid, &tid, league->narguments, league->arguments);
    peet__omp_barrier(thread, 0);
    peet__omp_loops_end(team);
    thread->member = member;
    thread->task = member->implicit;
    thread->busy = busy;
    team->next_free = thread->free_serial;
    thread->free_serial = team;
}

/* Clauses hold for one region. */
static int take_pushed(struct omp_thread *thread)
{
    int n = thread->push_threads;
    thread->push_threads = 0;
    return n;
}

ENTRY(void, __kmpc_fork_call, (struct omp_place * place, int32_t narguments, omp_microtask *microtask, ...))
{
    struct omp_thread *thread = peet__omp_self();
    void *few[32], **arguments = few;
    va_list list;
    if (narguments > (int)(sizeof few / sizeof *few))
        arguments = peet__omp_alloc((size_t)narguments * sizeof(*arguments));
    va_start(list, microtask);
    for (int i = 0; i < narguments; i++)
        arguments[i] = va_arg(list, void *);
    va_end(list);
    fork_team(thread, take_pushed(thread), 0, microtask, narguments, arguments);
    thread->push_bind = -1;
    if (arguments != few)
        peet__omp_free(arguments);
}

ENTRY(void, __kmpc_fork_call_if,
    (struct omp_place * place, int32_t narguments, omp_microtask *microtask, int32_t condition, void *argument))
{
    struct omp_thread *thread = peet__omp_self();
    int n = take_pushed(thread);
    fork_team(thread, condition ? n : 1, 0, microtask, argument ? narguments : 0, &argument);
    thread->push_bind = -1;
}

/* A microtask that has a function and what it is called with as its arguments. */
static void call_region(int32_t *gtid, int32_t *tid, ...)
{
    va_list list;
    va_start(list, tid);
    void (*fn)(void *) = (void (*)(void *))va_arg(list, void *);
    void *data = va_arg(list, void *);
    va_end(list);
    fn(data);
}

void peet__omp_region(void (*fn)(void *), void *data, int n, int bind)
{
    struct omp_thread *thread = peet__omp_self();
    void *arguments[] = {(void *)fn, data};
    thread->push_bind = bind ? bind : -1;
    fork_team(thread, n, 0, call_region, 2, arguments);
    thread->push_bind = -1;
}

ENTRY(void, __kmpc_serialized_parallel, (struct omp_place * place, int32_t gtid))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = serial_team(thread);
    take_pushed(thread);
    begin_team(thread, team, 1);
    team->serial = 1;
    team->saved_task = thread->task;
    thread->member = &team->members[0];
    thread->member->thread = thread;
    thread->task = thread->member->implicit;
    show_affinity(thread);
}

ENTRY(void, __kmpc_end_serialized_parallel, (struct omp_place * place, int32_t gtid))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    if (!team->serial)
        return;
    peet__omp_barrier(thread, 0);
    peet__omp_loops_end(team);
    thread->member = team->creator;
    thread->task = team->saved_task;
    thread->push_bind = -1;
    team->next_free = thread->free_serial;
    thread->free_serial = team;
}

ENTRY(void, __kmpc_push_num_threads, (struct omp_place * place, int32_t gtid, int32_t n))
{
    peet__omp_self()->push_threads = n;
}

ENTRY(void, __kmpc_push_num_threads_strict,
    (struct omp_place * place, int32_t gtid, int32_t n, int severity, const char *message))
{
    peet__omp_self()->push_threads = n;
}

ENTRY(void, __kmpc_push_num_threads_list, (struct omp_place * place, int32_t gtid, uint32_t length, int32_t *list))
{
    if (length > 0)
        peet__omp_self()->push_threads = list[0];
}

ENTRY(void, __kmpc_push_num_threads_list_strict,
    (struct omp_place * place, int32_t gtid, uint32_t length, int32_t *list, int severity, const char *message))
{
    if (length > 0)
        peet__omp_self()->push_threads = list[0];
}

ENTRY(void, __kmpc_pop_num_threads, (struct omp_place * place, int32_t gtid)) {}

ENTRY(void, __kmpc_push_proc_bind, (struct omp_place * place, int32_t gtid, int bind))
{
    peet__omp_self()->push_bind = bind;
}

/* ---------------------------------------------------------------------------------------------- leagues */

static void push_teams(int n, int limit)
{
    struct omp_thread *thread = peet__omp_self();
    thread->push_teams = n;
    thread->push_teams_limit = limit;
}

ENTRY(void, __kmpc_push_num_teams, (struct omp_place * place, int32_t gtid, int32_t n, int32_t limit))
{
    push_teams(n, limit);
}

ENTRY(void, __kmpc_push_num_teams_51,
    (struct omp_place * place, int32_t gtid, int32_t low, int32_t high, int32_t limit))
{
    push_teams(high > 0 ? high : low, limit);
}

ENTRY(void, __kmpc_set_thread_limit, (struct omp_place * place, int32_t gtid, int32_t limit))
{
    if (limit > 0)
        peet__omp_self()->task->icvs.thread_limit = limit;
}

ENTRY(void, __kmpc_fork_teams, (struct omp_place * place, int32_t narguments, omp_microtask *microtask, ...))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_icvs saved = thread->task->icvs, *icvs = &thread->task->icvs;
    int n = thread->push_teams > 0 ? thread->push_teams : peet__omp_env.teams > 0 ? peet__omp_env.teams : 1;
    int limit = thread->push_teams_limit > 0 ? thread->push_teams_limit : peet__omp_env.teams_thread_limit;
    void **arguments = peet__omp_alloc((size_t)(narguments + 1) * sizeof(*arguments));
    va_list list;
    va_start(list, microtask);
    for (int i = 0; i < narguments; i++)
        arguments[i] = va_arg(list, void *);
    va_end(list);
    thread->push_teams = thread->push_teams_limit = 0;
    if (limit > 0 && limit < icvs->thread_limit)
        icvs->thread_limit = limit;
    int each = limit > 0 ? limit : (int)peet_rt_processors() / n;
    if (each < 1)
        each = 1;
    if (icvs->threads > each)
        icvs->threads = each;
    fork_team(thread, n, 1, microtask, narguments, arguments);
    *icvs = saved;
    peet__omp_free(arguments);
}

/* ------------------------------------------------------------------------------------------------ queries */

ENTRY(int32_t, __kmpc_global_thread_num, (struct omp_place * place))
{
    return peet__omp_self()->gtid;
}

ENTRY(int32_t, __kmpc_bound_thread_num, (struct omp_place * place))
{
    return peet__omp_self()->member->tid;
}

ENTRY(int32_t, __kmpc_bound_num_threads, (struct omp_place * place))
{
    return peet__omp_self()->member->team->n;
}

ENTRY(int32_t, __kmpc_global_num_threads, (struct omp_place * place))
{
    return peet__omp_self()->member->team->n;
}

ENTRY(int32_t, __kmpc_in_parallel, (struct omp_place * place))
{
    return peet__omp_self()->member->team->active_level > 0;
}

ENTRY(int32_t, __kmpc_ok_to_fork, (struct omp_place * place))
{
    return 1;
}

ENTRY(void, __kmpc_begin, (struct omp_place * place, int32_t flags)) {}

ENTRY(void, __kmpc_end, (struct omp_place * place)) {}

ENTRY(int, __kmpc_invoke_task_func, (int gtid))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    int32_t number = thread->gtid, tid = thread->member->tid;
    if (team->microtask)
        peet__omp_invoke(team->microtask, &number, &tid, team->narguments, team->arguments);
    return 1;
}
