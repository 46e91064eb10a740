/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers, implicit and explicit.  In a program without explicit tasks (and without cancellation) a barrier is the
 * mapper's BARRIER_WAIT and nothing else.  Otherwise those who wait must be able to run tasks that appear meanwhile,
 * and to leave when the region is cancelled: they sleep on the team's semaphore, and all pass BARRIER_WAIT together in
 * the end.  Which of the two it is, is settled when a region begins.
 */
#include "openmp.h"

void peet__omp_idle_wake_all(struct omp_team *team)
{
    int idle = team->idle;
    team->idle = 0;
    if (idle <= 0)
        return;
    peet__omp_note(PEET_TASK_WAKE, (uint64_t)&team->idle_gate, 0);
    peet__omp_post(&team->idle_gate, idle);
}

static void sleep_until_posted(struct omp_team *team)
{
    team->idle++;
    peet__omp_note(PEET_TASK_WAKE, (uint64_t)&team->idle_gate, 0);
    peet__omp_wait(&team->idle_gate);
}

/* What has been deferred, by a team of one or in a program that was not expected to have tasks: nobody passes on before
 * all that he could see is done, so that the last to come leaves none. */
static void run_all(struct omp_thread *thread, struct omp_team *team)
{
    peet__omp_order(&team->queued, team->changes);
    while (team->tasks > 0) {
        struct omp_task *task = peet__omp_task_take(thread, NULL);
        if (task)
            peet__omp_task_run(thread, task);
        else
            sleep_until_posted(team); /* detached ones, which others fulfil */
    }
}

/* When all have come and nobody has left. */
static void forget_work(struct omp_team *team, int flags)
{
    if ((flags & OMP_BARRIER_ENDS_WORK) && team->cancelled != OMP_CANCEL_PARALLEL)
        team->cancelled = OMP_CANCEL_NONE;
}

int peet__omp_barrier(struct omp_thread *thread, int flags)
{
    const int cancellable = flags & OMP_BARRIER_CANCELLABLE;
    struct omp_team *team = thread->member->team;
    int n = team->n;
    if (n == 1 || !team->tasking) {
        if (peet__omp_tasking && team->tasks > 0)
            run_all(thread, team);
        if (n == 1 && peet__omp_tasking)
            peet__omp_note(PEET_TASK_WAIT, thread->task->number, PEET_TASKS_EXECUTED);
        if (n > 1)
            peet__omp_barrier_event(&team->gate, n);
        else
            forget_work(team, flags);
        return 0;
    }
    peet__omp_order(&team->queued, ++team->changes);
    if (cancellable && team->cancelled == OMP_CANCEL_PARALLEL)
        return 1;
    uint64_t generation = team->generation;
    int *arrived = cancellable ? &team->arrived_cancellable : &team->arrived;
    ++*arrived;
    while (team->generation == generation) {
        if (*arrived == n && team->tasks == 0) {
            *arrived = 0;
            team->generation++;
            forget_work(team, flags);
            peet__omp_idle_wake_all(team);
            break;
        }
        struct omp_task *task = peet__omp_task_take(thread, NULL);
        if (task)
            peet__omp_task_run(thread, task);
        else
            sleep_until_posted(team);
        if (cancellable && team->cancelled == OMP_CANCEL_PARALLEL && team->generation == generation)
            return 1; /* whoever cancelled it has set the counter to 0: it is not used again in this region */
    }
    peet__omp_barrier_event(&team->gate, n);
    return 0;
}

ENTRY(void, __kmpc_barrier, (struct omp_place * place, int32_t gtid))
{
    peet__omp_barrier(peet__omp_self(), 0);
}

/* ----------------------------------------------------------------------------------------- cancellation */

ENTRY(int32_t, __kmpc_cancel, (struct omp_place * place, int32_t gtid, int32_t what))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    if (!peet__omp_env.cancellation)
        return 0;
    peet__omp_order(&team->queued, ++team->changes);
    if (what == OMP_CANCEL_TASKGROUP) {
        if (!thread->task->group)
            return 0;
        thread->task->group->cancelled = 1;
        return 1;
    }
    if (team->cancelled != OMP_CANCEL_NONE && team->cancelled != what)
        return 0;
    int first = team->cancelled == OMP_CANCEL_NONE;
    team->cancelled = what;
    if (what == OMP_CANCEL_PARALLEL && first) {
        team->arrived_cancellable = 0;
        peet__omp_idle_wake_all(team);
    }
    return 1;
}

ENTRY(int32_t, __kmpc_cancellationpoint, (struct omp_place * place, int32_t gtid, int32_t what))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    if (!peet__omp_env.cancellation)
        return 0;
    if (what == OMP_CANCEL_TASKGROUP) {
        peet__omp_order(&team->queued, team->changes);
        return thread->task->group && thread->task->group->cancelled;
    }
    peet__omp_order(&team->queued, team->changes);
    return team->cancelled == what;
}

ENTRY(int32_t, __kmpc_cancel_barrier, (struct omp_place * place, int32_t gtid))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    peet__omp_barrier(thread, OMP_BARRIER_CANCELLABLE);
    if (!peet__omp_env.cancellation)
        return 0;
    switch (team->cancelled) {
    case OMP_CANCEL_PARALLEL:
        return 1;
    case OMP_CANCEL_LOOP:
    case OMP_CANCEL_SECTIONS:
        /* All have seen it before it is forgotten, and it is forgotten before anybody can cancel anew. */
        peet__omp_barrier(thread, 0);
        team->cancelled = OMP_CANCEL_NONE;
        peet__omp_barrier(thread, 0);
        return 1;
    }
    return 0;
}

ENTRY(int, kmp_get_cancellation_status, (int what))
{
    return peet__omp_env.cancellation && peet__omp_self()->member->team->cancelled == what;
}

/* ------------------------------------------------------------------- barriers that one thread comes out of first */

ENTRY(int32_t, __kmpc_barrier_master, (struct omp_place * place, int32_t gtid))
{
    struct omp_thread *thread = peet__omp_self();
    peet__omp_barrier(thread, 0);
    if (thread->member->tid == 0)
        return 1;
    peet__omp_barrier(thread, 0);
    return 0;
}

ENTRY(void, __kmpc_end_barrier_master, (struct omp_place * place, int32_t gtid))
{
    peet__omp_barrier(peet__omp_self(), 0);
}

ENTRY(int32_t, __kmpc_barrier_master_nowait, (struct omp_place * place, int32_t gtid))
{
    struct omp_thread *thread = peet__omp_self();
    peet__omp_barrier(thread, 0);
    return thread->member->tid == 0;
}
