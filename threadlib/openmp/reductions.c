/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taskgroups, and the task reductions that belong to them: each thread of the team that touches an item gets a private
 * copy of it at its first touch; when the group is over, the copies are combined into the original in the order
 * of thread numbers.  With the reduction modifier `task`, all members of a team have groups that share one set of
 * copies.
 */
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

struct item {
    char *shared, *original;
    size_t bytes;
    void (*init)(void *, void *); /* the old form has one argument, and ignores the second */
    void (*finish)(void *);
    void (*combine)(void *, void *);
    char **copies; /* by thread number in the team */
};

struct omp_reductions {
    int nitems, nthreads;
    int left; /* members of the team that are done with it, if it is the team's */
    struct item *items;
};

/* What clang passes: the old form without the original, and the present one. */
struct old_input {
    void *shared;
    size_t bytes;
    void *init, *finish, *combine;
    int32_t flags;
};
struct input {
    void *shared, *original;
    size_t bytes;
    void *init, *finish, *combine;
    int32_t flags;
};

/* ------------------------------------------------------------------------------------------- reductions */

static struct omp_reductions *reductions_new(int n, int nthreads)
{
    struct omp_reductions *all = peet__omp_alloc(sizeof(*all));
    all->nitems = n;
    all->nthreads = nthreads;
    all->items = peet__omp_alloc((size_t)n * sizeof(*all->items));
    for (int i = 0; i < n; i++)
        all->items[i].copies = peet__omp_alloc((size_t)nthreads * sizeof(char *));
    return all;
}

static void set_item(struct item *item, void *shared, void *original, size_t bytes, void *init, void *finish,
    void *combine)
{
    item->shared = shared;
    item->original = original ? original : shared;
    item->bytes = bytes;
    item->init = (void (*)(void *, void *))init;
    item->finish = (void (*)(void *))finish;
    item->combine = (void (*)(void *, void *))combine;
}

static struct omp_reductions *from_input(int n, const struct input *in, int nthreads)
{
    struct omp_reductions *all = reductions_new(n, nthreads);
    for (int i = 0; i < n; i++)
        set_item(&all->items[i], in[i].shared, in[i].original, in[i].bytes, in[i].init, in[i].finish, in[i].combine);
    return all;
}

static struct omp_reductions *from_old_input(int n, const struct old_input *in, int nthreads)
{
    struct omp_reductions *all = reductions_new(n, nthreads);
    for (int i = 0; i < n; i++)
        set_item(&all->items[i], in[i].shared, NULL, in[i].bytes, in[i].init, in[i].finish, in[i].combine);
    return all;
}

/* Into the variables of the group that ends it all. */
static void combine_and_free(struct omp_reductions *all, struct omp_taskgroup *group)
{
    for (int i = 0; i < all->nitems; i++) {
        struct item *item = &all->items[i];
        void *into = group->shareds ? group->shareds[i] : item->shared;
        for (int t = 0; t < all->nthreads; t++) {
            if (!item->copies[t])
                continue;
            item->combine(into, item->copies[t]);
            if (item->finish)
                item->finish(item->copies[t]);
            free(item->copies[t]);
        }
        peet__omp_free(item->copies);
    }
    peet__omp_free(all->items);
    peet__omp_free(all);
}

static void *copy_for(struct item *item, int tid)
{
    if (item->copies[tid])
        return item->copies[tid];
    char *copy = aligned_alloc(64, (item->bytes + 63) & ~(size_t)63);
    if (!copy)
        peet__omp_die("out of memory for a reduction variable of %zu bytes", item->bytes);
    memset(copy, 0, item->bytes);
    item->copies[tid] = copy;
    if (item->init)
        item->init(copy, item->original);
    return copy;
}

/* The item that an address belongs to: the variable itself, or somebody's copy of it. */
static struct item *item_of(const struct omp_taskgroup *group, const char *address)
{
    struct omp_reductions *all = group->reductions;
    for (int i = 0; i < all->nitems; i++) {
        struct item *item = &all->items[i];
        if (address == (group->shareds ? (char *)group->shareds[i] : item->shared))
            return item;
        for (int t = 0; t < all->nthreads; t++)
            if (item->copies[t] && address >= item->copies[t] && address < item->copies[t] + item->bytes)
                return item;
    }
    return NULL;
}

/* --------------------------------------------------------------------------------------------- taskgroups */

void peet__omp_group_begin(struct omp_thread *thread)
{
    struct omp_taskgroup *group = peet__omp_alloc(sizeof(*group));
    group->outer = thread->task->group;
    thread->task->group = group;
    peet__omp_note(PEET_TASK_GROUP, thread->task->number, 0);
}

void peet__omp_group_end(struct omp_thread *thread)
{
    struct omp_task *task = thread->task;
    struct omp_taskgroup *group = task->group;
    struct omp_team *team = thread->member->team;
    struct omp_reductions *all = group->reductions;
    if (group->had_tasks || all) {
        peet__omp_order(&team->queued, team->changes);
        peet__omp_task_wait(thread, &group->tasks, &group->waiter);
    }
    peet__omp_note(PEET_TASK_WAIT, task->number, PEET_TASKS_DESCENDANTS);
    task->group = group->outer;
    if (all && !group->shared_reductions) {
        combine_and_free(all, group);
    } else if (all && ++all->left == all->nthreads) { /* the team's, and this is the last of it */
        team->reductions[group->shared_reductions - 1] = NULL;
        combine_and_free(all, group);
    }
    peet__omp_free(group->shareds);
    peet__omp_free(group);
}

ENTRY(void, __kmpc_taskgroup, (struct omp_place * place, int gtid))
{
    peet__omp_group_begin(peet__omp_self());
}

ENTRY(void, __kmpc_end_taskgroup, (struct omp_place * place, int gtid))
{
    struct omp_thread *thread = peet__omp_self();
    if (thread->task->group)
        peet__omp_group_end(thread);
}

ENTRY(void *, __kmpc_taskred_init, (int gtid, int n, void *data))
{
    struct omp_thread *thread = peet__omp_self();
    thread->task->group->reductions = from_input(n, data, thread->member->team->n);
    return thread->task->group;
}

ENTRY(void *, __kmpc_task_reduction_init, (int gtid, int n, void *data))
{
    struct omp_thread *thread = peet__omp_self();
    thread->task->group->reductions = from_old_input(n, data, thread->member->team->n);
    return thread->task->group;
}

ENTRY(void *, __kmpc_task_reduction_get_th_data, (int gtid, void *in_group, void *data))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_taskgroup *group = in_group ? in_group : thread->task->group;
    int tid = thread->member->tid;
    for (; group; group = group->outer) {
        struct omp_reductions *all = group->reductions;
        struct item *item = all ? item_of(group, data) : NULL;
        if (item) {
            void *const copy = copy_for(item, tid < all->nthreads ? tid : 0);
            /* a thread's tasks use it one after the other */
            peet__omp_note(PEET_TASK_MEMORY, (uint64_t)copy, item->bytes);
            return copy;
        }
    }
    peet__omp_die("a task takes part in the reduction of a variable that no taskgroup around it reduces");
}

/* The modifier `task`: the first member brings the set that all share.  Each has variables of its own, which the
 * reduction of the region combines later; the copies go into those of the member that is done last. */
static void *begin_shared(int is_worksharing, struct omp_reductions *(*make)(const void *, int, int), const void *data,
    int n, size_t each)
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    int which = is_worksharing != 0;
    peet__omp_group_begin(thread);
    peet__omp_order(&team->reductions[which], ++team->changes);
    if (!team->reductions[which])
        team->reductions[which] = make(data, n, team->n);
    thread->task->group->reductions = team->reductions[which];
    thread->task->group->shared_reductions = 1 + which;
    thread->task->group->shareds = peet__omp_alloc((size_t)n * sizeof(void *));
    for (int i = 0; i < n; i++) /* both forms begin with the address */
        memcpy(&thread->task->group->shareds[i], (const char *)data + (size_t)i * each, sizeof(void *));
    return thread->task->group;
}

static struct omp_reductions *make(const void *data, int n, int nthreads)
{
    return from_input(n, data, nthreads);
}

static struct omp_reductions *make_old(const void *data, int n, int nthreads)
{
    return from_old_input(n, data, nthreads);
}

ENTRY(void *, __kmpc_taskred_modifier_init, (struct omp_place * place, int gtid, int is_worksharing, int n, void *data))
{
    return begin_shared(is_worksharing, make, data, n, sizeof(struct input));
}

ENTRY(void *, __kmpc_task_reduction_modifier_init,
    (struct omp_place * place, int gtid, int is_worksharing, int n, void *data))
{
    return begin_shared(is_worksharing, make_old, data, n, sizeof(struct old_input));
}

ENTRY(void, __kmpc_task_reduction_modifier_fini, (struct omp_place * place, int gtid, int is_worksharing))
{
    struct omp_thread *thread = peet__omp_self();
    if (thread->task->group)
        peet__omp_group_end(thread);
}
