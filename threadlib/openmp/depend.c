/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dependences between the children of one task.  For each address the graph remembers the last task that writes it
 * (out, inout) and the tasks since then that form a group: readers (in), a set that excludes one another
 * (mutexinoutset), or one that does not (inoutset).  A new member of the same group waits for what was before the
 * group; any other task waits for the whole group.
 */
#include "openmp.h"

#include <stdlib.h>

/* The tables are the library's own memory, too (own.c). */
#define uthash_malloc(bytes) peet__omp_alloc(bytes)
#define uthash_free(memory, bytes) peet__omp_free(memory)
#include <uthash.h>

/** A task in the graph, or somebody who waits for others. */
struct omp_node {
    uint64_t references;
    struct omp_task *task;     /* NULL: complete, or no task */
    struct omp_thread *waiter; /* of no task: who waits */
    uint64_t predecessors;     /* not complete */
    uint64_t number, *awaited; /* the task's; of no task: those that it waits for, */
    size_t nawaited;           /* so many, complete ones among them */
    struct omp_link *successors;
    int done;
};

struct omp_link {
    struct omp_node *node;
    struct omp_link *next;
};

/** What is known of an address. */
struct omp_entry {
    intptr_t address;
    struct omp_node *writer;
    struct omp_link *group, *before; /* the last group; the group before it, since the writer */
    uint8_t kind;                    /* of the last group: OMP_DEPEND_IN, MUTEX or SET */
    uint8_t held;                    /* by a running mutexinoutset task */
    uint64_t held_last;              /* by this task before; 0: none */
    UT_hash_handle hh;
};

struct omp_dependences {
    struct omp_entry *entries;
    struct omp_node *all; /* the last task that depends on all memory */
};

/* -------------------------------------------------------------------------------------------- nodes, lists */

static void unref(struct omp_node *node)
{
    if (node && --node->references == 0) {
        peet__omp_free(node->awaited);
        peet__omp_free(node);
    }
}

static void add(struct omp_link **list, struct omp_node *node)
{
    struct omp_link *link = peet__omp_alloc(sizeof(*link));
    link->node = node;
    link->next = *list;
    node->references++;
    *list = link;
}

static void drop(struct omp_link **list)
{
    while (*list) {
        struct omp_link *link = *list;
        *list = link->next;
        unref(link->node);
        peet__omp_free(link);
    }
}

static void note_order(struct omp_node *later, uint64_t earlier)
{
    if (later->task) {
        peet__omp_note(PEET_TASK_ORDER, later->number, earlier);
        return;
    }
    later->awaited = peet__omp_realloc(later->awaited, (later->nawaited + 1) * sizeof(*later->awaited));
    later->awaited[later->nawaited++] = earlier;
}

/* The later one waits for the earlier one. */
static void follow(struct omp_node *later, struct omp_node *earlier)
{
    if (!earlier || earlier == later)
        return;
    note_order(later, earlier->number);
    if (earlier->done)
        return;
    add(&earlier->successors, later);
    later->predecessors++;
}

static void follow_all(struct omp_node *later, const struct omp_link *list)
{
    for (; list; list = list->next)
        follow(later, list->node);
}

/* --------------------------------------------------------------------------------------------- the graph */

static struct omp_entry *entry_for(struct omp_dependences *all, intptr_t address)
{
    struct omp_entry *entry;
    HASH_FIND(hh, all->entries, &address, sizeof address, entry);
    if (entry)
        return entry;
    entry = peet__omp_alloc(sizeof(*entry));
    entry->address = address;
    entry->writer = all->all;
    if (entry->writer)
        entry->writer->references++;
    HASH_ADD(hh, all->entries, address, sizeof entry->address, entry);
    return entry;
}

static void become_writer(struct omp_entry *entry, struct omp_node *node)
{
    drop(&entry->group);
    drop(&entry->before);
    unref(entry->writer);
    entry->writer = node;
    node->references++;
}

/* @stays: the node is a task, which others will depend on */
static void depend_one(struct omp_entry *entry, struct omp_node *node, uint8_t flags, int stays)
{
    if (flags & OMP_DEPEND_OUT) {
        follow_all(node, entry->group);
        follow_all(node, entry->before);
        follow(node, entry->writer);
        if (stays)
            become_writer(entry, node);
        return;
    }
    uint8_t kind = flags & (OMP_DEPEND_IN | OMP_DEPEND_MUTEX | OMP_DEPEND_SET);
    if (entry->group && entry->kind != kind) {
        follow_all(node, entry->group);
        if (!stays)
            return;
        drop(&entry->before); /* which the group has waited for */
        unref(entry->writer);
        entry->writer = NULL;
        entry->before = entry->group;
        entry->group = NULL;
    } else {
        follow_all(node, entry->before);
        follow(node, entry->writer);
    }
    if (stays) {
        entry->kind = kind;
        add(&entry->group, node);
    }
}

static void depend_on_all_memory(struct omp_dependences *all, struct omp_node *node, int stays)
{
    for (struct omp_entry *entry = all->entries; entry; entry = entry->hh.next)
        depend_one(entry, node, OMP_DEPEND_OUT, stays);
    follow(node, all->all);
    if (stays) {
        unref(all->all);
        all->all = node;
        node->references++;
    }
}

/* The same address twice in a clause: the stronger demand. */
static uint8_t joined(const struct omp_dependence *list, int n, int at)
{
    uint8_t flags = list[at].flags;
    for (int i = 0; i < n; i++) {
        if (i == at || list[i].address != list[at].address)
            continue;
        if (i < at)
            return 0;
        if (list[i].flags != flags)
            flags |= OMP_DEPEND_INOUT;
    }
    return flags;
}

static void remember_mutex(struct omp_task *task, struct omp_entry *entry)
{
    task->mutexes = peet__omp_realloc(task->mutexes, (size_t)(task->nmutexes + 1) * sizeof(*task->mutexes));
    task->mutexes[task->nmutexes++] = entry;
}

static void depend_on_list(struct omp_dependences *all, struct omp_node *node, int n, const struct omp_dependence *list,
    int stays)
{
    for (int i = 0; i < n; i++) {
        uint8_t flags = joined(list, n, i);
        if (flags & OMP_DEPEND_ALL) {
            depend_on_all_memory(all, node, stays);
            return;
        }
        if (flags == 0)
            continue;
        struct omp_entry *entry = entry_for(all, list[i].address);
        depend_one(entry, node, flags, stays);
        if (stays && flags == OMP_DEPEND_MUTEX)
            remember_mutex(node->task, entry);
    }
}

static struct omp_dependences *of_children(struct omp_task *parent)
{
    if (!parent->dependences)
        parent->dependences = peet__omp_alloc(sizeof(*parent->dependences));
    return parent->dependences;
}

int peet__omp_depend(struct omp_task *task, int n, const struct omp_dependence *list, int nmore,
    const struct omp_dependence *more)
{
    struct omp_dependences *all = of_children(task->parent);
    struct omp_node *node = peet__omp_alloc(sizeof(*node));
    node->references = 1;
    node->task = task;
    node->number = task->number;
    task->node = node;
    peet__omp_note(PEET_TASK_ORDER, task->number, 0);
    depend_on_list(all, node, n, list, 1);
    depend_on_list(all, node, nmore, more, 1);
    return node->predecessors > 0;
}

void peet__omp_depend_release(struct omp_thread *thread, struct omp_task *task)
{
    struct omp_node *node = task->node;
    if (!node)
        return;
    struct omp_link *link = node->successors, *order = NULL;
    task->node = NULL;
    node->task = NULL;
    node->done = 1;
    node->successors = NULL;
    while (link) { /* first come, first released */
        struct omp_link *next = link->next;
        link->next = order;
        order = link;
        link = next;
    }
    for (link = order; link; link = link->next) {
        struct omp_node *later = link->node;
        if (--later->predecessors > 0)
            continue;
        if (later->task)
            peet__omp_task_push(thread, later->task);
        else
            peet__omp_thread_wake(later->waiter);
    }
    drop(&order);
    unref(node);
}

void peet__omp_dependences_free(struct omp_task *parent)
{
    struct omp_dependences *all = parent->dependences;
    struct omp_entry *entry, *next;
    if (!all)
        return;
    HASH_ITER(hh, all->entries, entry, next)
    {
        HASH_DEL(all->entries, entry);
        drop(&entry->group);
        drop(&entry->before);
        unref(entry->writer);
        peet__omp_free(entry);
    }
    unref(all->all);
    peet__omp_free(all);
    parent->dependences = NULL;
}

/* ------------------------------------------------------------------------------------------- mutexinoutset */

int peet__omp_mutexes_try(struct omp_task *task)
{
    for (int i = 0; i < task->nmutexes; i++)
        if (task->mutexes[i]->held)
            return 0;
    for (int i = 0; i < task->nmutexes; i++) {
        struct omp_entry *const entry = task->mutexes[i];
        entry->held = 1;
        if (entry->held_last)
            peet__omp_note(PEET_TASK_TURN, task->number, entry->held_last);
        entry->held_last = task->number;
    }
    task->holds_mutexes = task->nmutexes > 0;
    return 1;
}

void peet__omp_mutexes_release(struct omp_task *task)
{
    for (int i = 0; i < task->nmutexes; i++)
        task->mutexes[i]->held = 0;
    task->holds_mutexes = 0;
    task->team->changes++;
    if (task->team->queued > 0)
        peet__omp_tasks_notify(task->team, NULL);
}

/* ------------------------------------------------------------------------------------------------- waiting */

static void wait_for(struct omp_thread *thread, int n, const struct omp_dependence *list, int nmore,
    const struct omp_dependence *more)
{
    struct omp_task *task = thread->task;
    struct omp_node *node;
    if (!task->dependences)
        return;
    peet__omp_order(&task->team->queued, task->team->changes);
    node = peet__omp_alloc(sizeof(*node));
    node->references = 1;
    depend_on_list(task->dependences, node, n, list, 0);
    depend_on_list(task->dependences, node, nmore, more, 0);
    peet__omp_task_wait(thread, &node->predecessors, &node->waiter);
    for (size_t i = 0; i < node->nawaited; i++)
        peet__omp_note(PEET_TASK_ORDER, task->number, node->awaited[i]);
    unref(node);
}

ENTRY(void, __kmpc_omp_wait_deps,
    (struct omp_place * place, int32_t gtid, int32_t n, struct omp_dependence *list, int32_t nmore,
        struct omp_dependence *more))
{
    wait_for(peet__omp_self(), n, list, nmore, more);
}

ENTRY(void, __kmpc_omp_taskwait_deps_51,
    (struct omp_place * place, int32_t gtid, int32_t n, struct omp_dependence *list, int32_t nmore,
        struct omp_dependence *more, int32_t nowait))
{
    wait_for(peet__omp_self(), n, list, nmore, more);
}
