/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explicit tasks: making, queueing, running, completing.  Each member of a team has a queue; it takes its own latest
 * task first, and the oldest of others when it has none.  Tasks with a priority wait in a queue of the team.  Every
 * decision follows an event (peet__omp_order(), or the wake-up from a sleep), so that it is the simulated machine's.
 *
 * WHO SLEEPS.  Threads at a barrier sleep on the team's semaphore (idle_gate), any of them will do for a new task.
 * Threads that wait for certain tasks (taskwait, taskgroup, dependences) sleep each on its own (wake): they are woken
 * when what they wait for is complete, or for a task that they may run meanwhile.
 */
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_FULL = 256 }; /* a thread with so many tasks of its own runs new ones at once */

int peet__omp_tasking;
static uint64_t last_number;

/* --------------------------------------------------------------------------------------------- notes */

void peet__omp_note(enum peet_task_what what, uint64_t task, uint64_t other)
{
    const uint64_t args[] = {what, task, other};
    peet_rt_note(PEET_ABSTRACT_TASK, 3, args);
}

static void note(enum peet_task_what what, const struct omp_task *task)
{
    peet__omp_note(what, task->number, task->parent ? task->parent->number : 0);
}

/* Somebody will wait for this task alone. */
static void note_awaited(const struct omp_task *task)
{
    peet__omp_note(PEET_TASK_ORDER, task->number, 0);
}

/* ---------------------------------------------------------------------------------------- making, freeing */

struct omp_task *peet__omp_task_new(struct omp_thread *thread, int32_t flags, size_t bytes, size_t shareds,
    int32_t (*routine)(int32_t, struct omp_kmp_task *))
{
    size_t at = (bytes + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    size_t all = offsetof(struct omp_task, kmp) + at + shareds;
    struct omp_task *task = peet__omp_try_alloc(all);
    if (!task)
        peet__omp_die("out of memory for a task of %zu bytes", all);
    peet__omp_note(PEET_TASK_MEMORY, (uint64_t)&task->kmp, at + shareds);
    task->bytes = at + shareds;
    task->parent = thread->task;
    task->parent->references++;
    task->team = thread->member->team;
    task->member_of = task->group = thread->task->group;
    task->icvs = thread->task->icvs;
    task->references = 1;
    task->number = ++last_number;
    task->flags = flags;
    task->final = (flags & OMP_TASK_FINAL) || thread->task->final;
    if (task->final)
        task->flags |= OMP_TASK_FINAL;
    task->kmp.routine = routine;
    task->kmp.shareds = shareds ? (char *)&task->kmp + at : NULL;
    peet__omp_tasking = 1;
    return task;
}

void peet__omp_task_unref(struct omp_task *task)
{
    while (task && --task->references == 0) {
        struct omp_task *parent = task->parent;
        int implicit = task->implicit;
        peet__omp_dependences_free(task);
        peet__omp_free(task->mutexes);
        peet__omp_free(task);
        if (implicit)
            return;
        task = parent;
    }
}

void peet__omp_task_count(struct omp_task *task)
{
    task->deferred = 1;
    task->parent->children++;
    task->parent->had_children = 1;
    task->team->tasks++;
    if (task->member_of) {
        task->member_of->tasks++;
        task->member_of->had_tasks = 1;
    }
}

/* ---------------------------------------------------------------------------------------------- queues */

static void append(struct omp_queue *queue, struct omp_task *task)
{
    task->next = NULL;
    task->previous = queue->tail;
    *(queue->tail ? &queue->tail->next : &queue->head) = task;
    queue->tail = task;
    queue->length++;
}

static void unlink_task(struct omp_queue *queue, struct omp_task *task)
{
    *(task->previous ? &task->previous->next : &queue->head) = task->next;
    *(task->next ? &task->next->previous : &queue->tail) = task->previous;
    queue->length--;
}

static void insert_urgent(struct omp_queue *queue, struct omp_task *task)
{
    struct omp_task *before = queue->tail;
    while (before && before->priority < task->priority)
        before = before->previous;
    task->previous = before;
    task->next = before ? before->next : queue->head;
    *(before ? &before->next : &queue->head) = task;
    *(task->next ? &task->next->previous : &queue->tail) = task;
    queue->length++;
}

static int descends(const struct omp_task *task, const struct omp_task *from)
{
    while (task && task != from && !task->implicit)
        task = task->parent;
    return task == from;
}

/* The scheduling rule: a tied task may begin only where it descends from the tied task that waits there. */
static int allowed(const struct omp_task *task, const struct omp_task *constraint)
{
    return !constraint || !(task->flags & OMP_TASK_TIED) || descends(task, constraint);
}

const struct omp_task *peet__omp_constraint(const struct omp_thread *thread)
{
    const struct omp_task *task = thread->task;
    return task->implicit || !(task->flags & OMP_TASK_TIED) ? NULL : task;
}

static int take(struct omp_team *team, struct omp_queue *queue, struct omp_task *task,
    const struct omp_task *constraint)
{
    if (!allowed(task, constraint) || !peet__omp_mutexes_try(task))
        return 0;
    unlink_task(queue, task);
    team->queued--;
    team->changes++;
    return 1;
}

static struct omp_task *take_oldest(struct omp_team *team, struct omp_queue *queue, const struct omp_task *constraint)
{
    for (struct omp_task *task = queue->head; task; task = task->next)
        if (take(team, queue, task, constraint))
            return task;
    return NULL;
}

static struct omp_task *take_latest(struct omp_team *team, struct omp_queue *queue, const struct omp_task *constraint)
{
    for (struct omp_task *task = queue->tail; task; task = task->previous)
        if (take(team, queue, task, constraint))
            return task;
    return NULL;
}

struct omp_task *peet__omp_task_take(struct omp_thread *thread, const struct omp_task *constraint)
{
    struct omp_team *team = thread->member->team;
    if (team->queued == 0)
        return NULL;
    struct omp_task *task = take_oldest(team, &team->urgent, constraint);
    if (!task)
        task = take_latest(team, &thread->member->queue, constraint);
    for (int i = 1; !task && i < team->n; i++)
        task = take_oldest(team, &team->members[(thread->member->tid + i) % team->n].queue, constraint);
    return task;
}

/* ------------------------------------------------------------------------------------------- sleeping, waking */

void peet__omp_thread_wake(struct omp_thread *thread)
{
    if (!thread || !thread->waiting)
        return;
    struct omp_team *team = thread->member->team;
    struct omp_thread **at = &team->waiters;
    while (*at != thread)
        at = &(*at)->next_waiter;
    *at = thread->next_waiter;
    thread->waiting = 0;
    peet__omp_note(PEET_TASK_WAKE, (uint64_t)&thread->wake, 0);
    peet__omp_post(&thread->wake, 1);
}

static void sleep_until_woken(struct omp_thread *thread)
{
    struct omp_thread **at = &thread->member->team->waiters;
    while (*at)
        at = &(*at)->next_waiter;
    *at = thread;
    thread->next_waiter = NULL;
    thread->waiting = 1;
    peet__omp_note(PEET_TASK_WAKE, (uint64_t)&thread->wake, 0);
    peet__omp_wait(&thread->wake);
}

void peet__omp_tasks_notify(struct omp_team *team, const struct omp_task *task)
{
    if (team->idle > 0) {
        team->idle--;
        peet__omp_note(PEET_TASK_WAKE, (uint64_t)&team->idle_gate, 0);
        peet__omp_post(&team->idle_gate, 1);
        return;
    }
    for (struct omp_thread *thread = team->waiters; thread; thread = thread->next_waiter)
        if (!task || allowed(task, peet__omp_constraint(thread))) {
            peet__omp_thread_wake(thread);
            return;
        }
}

void peet__omp_task_wait(struct omp_thread *thread, const uint64_t *counter, struct omp_thread **waiter)
{
    struct omp_team *team = thread->member->team;
    int slept = 0;
    while (*counter > 0) {
        struct omp_task *task = peet__omp_task_take(thread, peet__omp_constraint(thread));
        if (task) {
            peet__omp_task_run(thread, task);
            slept = 0;
            continue;
        }
        *waiter = thread;
        sleep_until_woken(thread);
        *waiter = NULL;
        slept = 1;
    }
    if (slept && team->queued > 0) /* it may have been woken for a task that it now leaves to others */
        peet__omp_tasks_notify(team, NULL);
}

/* ------------------------------------------------------------------------------------------------- running */

void peet__omp_task_push(struct omp_thread *thread, struct omp_task *task)
{
    struct omp_team *team = task->team;
    struct omp_member *member = thread->member->team == team ? thread->member : &team->members[0];
    task->state = OMP_TASK_QUEUED;
    if (task->priority > 0)
        insert_urgent(&team->urgent, task);
    else
        append(&member->queue, task);
    team->queued++;
    team->changes++;
    peet__omp_tasks_notify(team, task);
}

/* All that waited for this task learns of its end.  Right after an event; ends right after one too. */
static void complete(struct omp_thread *thread, struct omp_task *task)
{
    struct omp_team *team = task->team;
    struct omp_taskgroup *group = task->member_of;
    struct omp_task *parent = task->parent;
    team->changes++;
    task->state = OMP_TASK_COMPLETE;
    peet__omp_depend_release(thread, task);
    if (task->deferred) {
        struct omp_thread *parents = NULL, *groups = NULL;
        int last;
        if (--parent->children == 0)
            parents = parent->waiter;
        if (group && --group->tasks == 0)
            groups = group->waiter;
        last =
            --team->tasks == 0 && (!team->tasking || team->arrived == team->n || team->arrived_cancellable == team->n);
        peet__omp_thread_wake(parents);
        if (groups != parents)
            peet__omp_thread_wake(groups);
        if (last) /* the barrier may be complete, and this thread is perhaps none of the team's */
            peet__omp_idle_wake_all(team);
    }
    peet__omp_thread_wake(task->event_waiter);
    peet__omp_task_unref(task);
}

/* The body has been left for the last time. */
static void ended(struct omp_thread *thread, struct omp_task *task)
{
    if (task->flags & OMP_TASK_DESTRUCTORS)
        task->kmp.data1.destructors(thread->gtid, &task->kmp);
    note(PEET_TASK_END, task);
    peet__omp_order(&task->team->queued, task->team->changes + 1);
    if (task->holds_mutexes)
        peet__omp_mutexes_release(task);
    task->state = OMP_TASK_ENDED;
    if ((task->flags & (OMP_TASK_DETACHABLE | OMP_TASK_PROXY)) && !task->fulfilled)
        return;
    complete(thread, task);
}

static int discarded(const struct omp_task *task)
{
    if (!peet__omp_env.cancellation)
        return 0;
    return (task->member_of && task->member_of->cancelled) || task->team->cancelled == OMP_CANCEL_PARALLEL;
}

void peet__omp_task_run(struct omp_thread *thread, struct omp_task *task)
{
    struct omp_task *outer = thread->task;
    const uint64_t number = task->number;
    const int alone = task->team->n == 1;
    task->state = OMP_TASK_RUNNING;
    if (alone)
        note_awaited(task);
    if (outer->number)
        note(PEET_TASK_SUSPEND, outer);
    thread->task = task;
    note(PEET_TASK_START, task);
    if (task->kmp.part > 0 || !discarded(task))
        task->kmp.routine(thread->gtid, &task->kmp);
    thread->task = outer;
    if (task->resubmitted) {
        task->resubmitted = 0;
        note(PEET_TASK_SUSPEND, task);
        peet__omp_order(&task->team->queued, task->team->changes + 1);
        peet__omp_task_push(thread, task);
    } else {
        ended(thread, task);
    }
    if (outer->number)
        note(PEET_TASK_START, outer);
    if (alone) /* no other thread can have executed it */
        peet__omp_note(PEET_TASK_TURN, outer->number, number);
}

void peet__omp_task_submit(struct omp_thread *thread, struct omp_task *task)
{
    struct omp_team *team = task->team;
    int full = thread->member->queue.length >= QUEUE_FULL && task->priority == 0;
    peet__omp_order(&team->queued, team->changes + 1);
    if ((task->final || team->n == 1 || full) && peet__omp_mutexes_try(task)) {
        team->changes++;
        peet__omp_task_run(thread, task);
    } else {
        peet__omp_task_push(thread, task);
    }
}

/* An undeferred task's creator goes on when it is complete.  The caller holds a reference, which ends here. */
static void wait_until_complete(struct omp_thread *thread, struct omp_task *task)
{
    while (task->state != OMP_TASK_COMPLETE) {
        struct omp_task *other = peet__omp_task_take(thread, peet__omp_constraint(thread));
        if (other) {
            peet__omp_task_run(thread, other);
            continue;
        }
        task->event_waiter = thread;
        sleep_until_woken(thread);
        task->event_waiter = NULL;
    }
    peet__omp_note(PEET_TASK_ORDER, thread->task->number, task->number);
    peet__omp_task_unref(task);
}

/* --------------------------------------------------------------------------------------- entry points */

#define PLACE struct omp_place *place, int32_t gtid

ENTRY(struct omp_kmp_task *, __kmpc_omp_task_alloc,
    (PLACE, int32_t flags, size_t bytes, size_t shareds, int32_t (*routine)(int32_t, struct omp_kmp_task *)))
{
    return &peet__omp_task_new(peet__omp_self(), flags & 0xffff, bytes, shareds, routine)->kmp;
}

ENTRY(struct omp_kmp_task *, __kmpc_omp_target_task_alloc,
    (PLACE, int32_t flags, size_t bytes, size_t shareds, int32_t (*routine)(int32_t, struct omp_kmp_task *),
        int64_t device))
{
    return &peet__omp_task_new(peet__omp_self(), flags & 0xffff, bytes, shareds, routine)->kmp;
}

/* Counted and with its priority, on its way to be run. */
static void count_new(struct omp_task *task)
{
    if ((task->flags & OMP_TASK_PRIORITY) && task->kmp.data2.priority > 0)
        task->priority = task->kmp.data2.priority < peet__omp_env.max_task_priority ? task->kmp.data2.priority
                                                                                    : peet__omp_env.max_task_priority;
    peet__omp_task_count(task);
    note(PEET_TASK_CREATE, task);
    if (task->final || task->flags & (OMP_TASK_DETACHABLE | OMP_TASK_PROXY))
        note_awaited(task);
}

ENTRY(int32_t, __kmpc_omp_task, (PLACE, struct omp_kmp_task *kmp))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *task = peet__omp_task_of(kmp);
    if (task->state != OMP_TASK_NEW) { /* an untied task asks to go on later, as it returns */
        task->resubmitted = 1;
        return 0;
    }
    count_new(task);
    task->references++;
    peet__omp_task_submit(thread, task);
    if (task->final)
        wait_until_complete(thread, task);
    else
        peet__omp_task_unref(task);
    return 0;
}

ENTRY(int32_t, __kmpc_omp_task_parts, (PLACE, struct omp_kmp_task *kmp))
{
    return peet__omp___kmpc_omp_task(place, gtid, kmp);
}

ENTRY(int32_t, __kmpc_omp_task_with_deps,
    (PLACE, struct omp_kmp_task *kmp, int32_t n, struct omp_dependence *list, int32_t nmore,
        struct omp_dependence *more))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *task = peet__omp_task_of(kmp);
    if (task->state != OMP_TASK_NEW) {
        task->resubmitted = 1;
        return 0;
    }
    if (n + nmore == 0)
        return peet__omp___kmpc_omp_task(place, gtid, kmp);
    peet__omp_order(&task->team->queued, task->team->changes + 1);
    count_new(task);
    task->state = OMP_TASK_QUEUED;
    task->references++;
    if (!peet__omp_depend(task, n, list, nmore, more))
        peet__omp_task_submit(thread, task);
    if (task->final)
        wait_until_complete(thread, task);
    else
        peet__omp_task_unref(task);
    return 0;
}

void peet__omp_task_undeferred(struct omp_thread *thread, struct omp_task *task)
{
    note(PEET_TASK_CREATE, task);
    note_awaited(task);
    task->references++;
    peet__omp_task_run(thread, task);
    wait_until_complete(thread, task);
}

ENTRY(void, __kmpc_omp_task_begin_if0, (PLACE, struct omp_kmp_task *kmp))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *task = peet__omp_task_of(kmp);
    task->state = OMP_TASK_RUNNING;
    note(PEET_TASK_CREATE, task);
    note_awaited(task);
    if (thread->task->number)
        note(PEET_TASK_SUSPEND, thread->task);
    note(PEET_TASK_START, task);
    thread->task = task;
}

ENTRY(void, __kmpc_omp_task_complete_if0, (PLACE, struct omp_kmp_task *kmp))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *task = peet__omp_task_of(kmp);
    while (task->resubmitted) { /* untied: the parts one after the other */
        task->resubmitted = 0;
        task->kmp.routine(gtid, kmp);
    }
    thread->task = task->parent;
    task->references++;
    ended(thread, task);
    if (thread->task->number)
        note(PEET_TASK_START, thread->task);
    wait_until_complete(thread, task);
}

ENTRY(int32_t, __kmpc_omp_taskwait, (PLACE))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *task = thread->task;
    if (!task->had_children)
        return 0;
    peet__omp_order(&task->team->queued, task->team->changes);
    if (task->number)
        note(PEET_TASK_SUSPEND, task);
    peet__omp_task_wait(thread, &task->children, &task->waiter);
    if (task->number)
        note(PEET_TASK_START, task);
    peet__omp_note(PEET_TASK_WAIT, task->number, PEET_TASKS_CHILDREN);
    return 0;
}

ENTRY(int32_t, __kmpc_omp_taskyield, (PLACE, int end_part))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    peet__omp_order(&team->queued, team->changes);
    struct omp_task *task = peet__omp_task_take(thread, peet__omp_constraint(thread));
    if (task)
        peet__omp_task_run(thread, task);
    return 0;
}

ENTRY(int32_t, __kmpc_omp_reg_task_with_affinity, (PLACE, struct omp_kmp_task *kmp, int32_t n, void *list))
{
    return 0;
}

ENTRY(void **, __kmpc_omp_get_target_async_handle_ptr, (int32_t gtid))
{
    return NULL;
}

ENTRY(_Bool, __kmpc_omp_has_task_team, (int32_t gtid))
{
    return 1;
}

ENTRY(uint64_t, __kmpc_get_taskid, (void))
{
    return peet__omp_self()->task->number;
}

ENTRY(uint64_t, __kmpc_get_parent_taskid, (void))
{
    const struct omp_task *parent = peet__omp_self()->task->parent;
    return parent ? parent->number : 0;
}

/* ------------------------------------------------------------------------------------------------- detach */

ENTRY(uintptr_t, __kmpc_task_allow_completion_event, (struct omp_place * place, int gtid, struct omp_kmp_task *kmp))
{
    return (uintptr_t)peet__omp_task_of(kmp);
}

ENTRY(void, omp_fulfill_event, (uintptr_t event))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *task = (struct omp_task *)event;
    peet__omp_order(&task->team->queued, task->team->changes + 1);
    note(PEET_TASK_FULFIL, task);
    task->fulfilled = 1;
    if (task->state == OMP_TASK_ENDED)
        complete(thread, task);
}

ENTRY(void, __kmpc_proxy_task_completed, (int32_t gtid, struct omp_kmp_task *kmp))
{
    peet__omp_omp_fulfill_event((uintptr_t)peet__omp_task_of(kmp));
}

ENTRY(void, __kmpc_proxy_task_completed_ooo, (struct omp_kmp_task * kmp))
{
    peet__omp_omp_fulfill_event((uintptr_t)peet__omp_task_of(kmp));
}
