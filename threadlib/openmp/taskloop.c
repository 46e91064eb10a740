/* SPDX-License-Identifier: Apache-2.0 */
/*
 * taskloop: a task made by compiled code as a pattern, copied once for each part of the iterations.
 */
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

enum { TASKS_A_THREAD = 10 }; /* without a clause, as the ordinary library has it */
enum { BY_DEFAULT, BY_GRAINSIZE, BY_NUMBER };

typedef void duplicate_fn(struct omp_kmp_task *copy, struct omp_kmp_task *pattern, int32_t last);

static struct omp_task *copy_of(struct omp_thread *thread, struct omp_task *pattern)
{
    struct omp_task *task = peet__omp_task_new(thread, pattern->flags, pattern->bytes, 0, pattern->kmp.routine);
    ptrdiff_t moved = (char *)&task->kmp - (char *)&pattern->kmp;
    memcpy(&task->kmp, &pattern->kmp, pattern->bytes);
    if (pattern->kmp.shareds)
        task->kmp.shareds = (char *)pattern->kmp.shareds + moved;
    return task;
}

/* How to cut: every part has `each` iterations, the first `more` one besides. */
struct cut {
    uint64_t tasks, each, more;
};

static struct cut cut(uint64_t trip, int how, uint64_t size, int strict, int threads)
{
    struct cut c = {0, 0, 0};
    if (how == BY_DEFAULT) {
        how = BY_NUMBER;
        size = (uint64_t)threads * TASKS_A_THREAD;
    }
    if (size == 0)
        size = 1;
    if (how == BY_NUMBER) {
        c.tasks = size < trip ? size : trip;
    } else if (strict) {
        c.tasks = (trip - 1) / size + 1; /* the last one may be smaller */
        c.each = size;
        return c;
    } else {
        c.tasks = trip / size > 0 ? trip / size : 1;
    }
    c.each = trip / c.tasks;
    c.more = trip % c.tasks;
    return c;
}

/* Compiled code does not come here with no iteration at all, but for lower = upper + 1. */
static uint64_t trips(uint64_t lower, uint64_t upper, int64_t stride)
{
    if (upper + (uint64_t)stride == lower)
        return 0;
    return stride > 0 ? (upper - lower) / (uint64_t)stride + 1 : (lower - upper) / (0 - (uint64_t)stride) + 1;
}

static void taskloop(struct omp_kmp_task *kmp, int condition, uint64_t *lower, uint64_t *upper, int64_t stride,
    int nogroup, int how, uint64_t size, int strict, duplicate_fn *duplicate)
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_task *pattern = peet__omp_task_of(kmp);
    ptrdiff_t lower_at = (char *)lower - (char *)kmp, upper_at = (char *)upper - (char *)kmp;
    uint64_t trip = trips(*lower, *upper, stride), first = 0;
    if (!nogroup)
        peet__omp_group_begin(thread);
    struct cut c = trip ? cut(trip, how, size, strict, thread->member->team->n) : (struct cut){0, 0, 0};
    for (uint64_t i = 0; i < c.tasks; i++) {
        uint64_t length = c.each + (i < c.more);
        int last = i + 1 == c.tasks;
        if (length > trip - first)
            length = trip - first;
        struct omp_task *task = copy_of(thread, pattern);
        *(uint64_t *)((char *)&task->kmp + lower_at) = *lower + first * (uint64_t)stride;
        *(uint64_t *)((char *)&task->kmp + upper_at) = *lower + (first + length - 1) * (uint64_t)stride;
        if (duplicate)
            duplicate(&task->kmp, kmp, last);
        first += length;
        if (condition)
            peet__omp___kmpc_omp_task(NULL, thread->gtid, &task->kmp);
        else
            peet__omp_task_undeferred(thread, task);
    }
    if (pattern->flags & OMP_TASK_DESTRUCTORS)
        kmp->data1.destructors(thread->gtid, kmp);
    peet__omp_task_unref(pattern);
    if (!nogroup)
        peet__omp_group_end(thread);
}

ENTRY(void, __kmpc_taskloop,
    (struct omp_place * place, int32_t gtid, struct omp_kmp_task *task, int32_t condition, uint64_t *lower,
        uint64_t *upper, int64_t stride, int32_t nogroup, int32_t how, uint64_t size, void *duplicate))
{
    taskloop(task, condition, lower, upper, stride, nogroup, how, size, 0, (duplicate_fn *)duplicate);
}

ENTRY(void, __kmpc_taskloop_5,
    (struct omp_place * place, int32_t gtid, struct omp_kmp_task *task, int32_t condition, uint64_t *lower,
        uint64_t *upper, int64_t stride, int32_t nogroup, int32_t how, uint64_t size, int32_t modifier,
        void *duplicate))
{
    taskloop(task, condition, lower, upper, stride, nogroup, how, size, modifier & 1, (duplicate_fn *)duplicate);
}
