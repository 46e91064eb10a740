/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops whose iterations are given out while they run: dynamic, guided, auto and runtime schedules, and every loop with
 * an ordered region.  To the mapper such a loop is a doall of the team: it hands out the chunks, in simulated time
 * (LOOP_INIT, LOOP_NEXT).  Ordered regions go by POST and WAIT between iterations.  Iterations are numbered from
 * 0 here, whatever the loop variable is.
 */
#include "openmp.h"

#include <stdlib.h>
#include <peet/doall.h>

enum {
    SCHEDULE_LOWER = 32, /* clang's numbers of schedules: plain, ordered, "nomerge" and both */
    ORDERED_LOWER = 64,
    NOMERGE_LOWER = 160,
    NOMERGE_ORDERED_LOWER = 192,
    MONOTONIC = 1 << 29,
    NONMONOTONIC = 1 << 30,
};

/* ------------------------------------------------------------------------------- what a team's threads share */

struct omp_loop *peet__omp_loop_enter(struct omp_member *member)
{
    struct omp_team *team = member->team;
    struct omp_loop **at = &team->loop;
    uint64_t number = member->loops++;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    if (!*at) {
        *at = peet__omp_alloc(sizeof(**at));
        (*at)->number = number;
    }
    return *at;
}

static void loop_free(struct omp_loop *loop)
{
    if (loop->posts) {
        uint64_t args[] = {(uint64_t)&loop->object, PEET_SYNC_DOACROSS};
        peet_rt_event(PEET_ABSTRACT_SYNC_DESTROY, 2, args);
    }
    peet__omp_free(loop);
}

void peet__omp_loop_leave(struct omp_member *member, struct omp_loop *loop)
{
    struct omp_team *team = member->team;
    struct omp_loop **at = &team->loop;
    if (++loop->left < team->n)
        return;
    while (*at != loop)
        at = &(*at)->next;
    *at = loop->next;
    loop_free(loop);
}

void peet__omp_loops_end(struct omp_team *team)
{
    while (team->loop) { /* cancelled ones: the mapper may still know their objects, so the memory is not used again */
        struct omp_loop *loop = team->loop;
        team->loop = loop->next;
        loop->next = NULL;
    }
}

void peet__omp_post_iteration(struct omp_loop *loop, uint64_t iteration)
{
    uint64_t args[] = {(uint64_t)&loop->object, iteration};
    loop->posts = 1;
    peet_rt_event(PEET_ABSTRACT_POST, 2, args);
}

void peet__omp_wait_iteration(struct omp_loop *loop, uint64_t iteration)
{
    uint64_t args[] = {(uint64_t)&loop->object, iteration};
    loop->posts = 1;
    peet_rt_event(PEET_ABSTRACT_WAIT, 2, args);
}

/* -------------------------------------------------------------------------------------------- beginning */

static void leave(struct omp_member *member)
{
    struct omp_dispatch *d = &member->dispatch;
    if (!d->active)
        return;
    d->active = 0;
    if (d->loop)
        peet__omp_loop_leave(member, d->loop);
    d->loop = NULL;
}

/* Which of the control variable's kinds this is; sets ordered and the chunk of runtime schedules. */
static uint32_t kind_of(struct omp_dispatch *d, uint32_t schedule, int64_t chunk, const struct omp_icvs *icvs)
{
    schedule &= ~(uint32_t)(MONOTONIC | NONMONOTONIC);
    d->ordered = 0;
    if (schedule >= NOMERGE_ORDERED_LOWER) {
        d->ordered = 1;
        schedule -= NOMERGE_ORDERED_LOWER - SCHEDULE_LOWER;
    } else if (schedule >= NOMERGE_LOWER) {
        schedule -= NOMERGE_LOWER - SCHEDULE_LOWER;
    } else if (schedule >= ORDERED_LOWER) {
        d->ordered = 1;
        schedule -= ORDERED_LOWER - SCHEDULE_LOWER;
    }
    d->chunk = chunk < 1 ? 0 : (uint64_t)chunk;
    d->unit = 1;
    switch (schedule - SCHEDULE_LOWER) {
    case 1:  /* static, chunked */
    case 2:  /* static */
    case 8:  /* static, greedy */
    case 9:  /* static, balanced */
    case 13: /* static, balanced, chunked */
        if (schedule - SCHEDULE_LOWER != 1)
            d->chunk = 0;
        return OMP_STATIC;
    case 4:  /* guided */
    case 7:  /* trapezoidal */
    case 10: /* guided, iterative */
    case 11: /* guided, analytical */
        return OMP_GUIDED;
    case 14: /* guided, of simd loops: chunks are multiples of the vector length */
        d->unit = d->chunk ? d->chunk : 1;
        d->chunk = 0;
        return OMP_GUIDED;
    case 15: /* runtime, of simd loops */
        d->unit = d->chunk ? d->chunk : 1;
        d->chunk = icvs->chunk > 0 ? (uint64_t)icvs->chunk : 0;
        /* chunks are multiples of the smallest */
        if ((icvs->schedule & ~OMP_MONOTONIC) == OMP_GUIDED && d->chunk > 0) {
            d->unit *= d->chunk;
            d->chunk = 0;
        }
        return icvs->schedule & ~OMP_MONOTONIC;
    case 5: /* runtime */
        d->chunk = icvs->chunk > 0 ? (uint64_t)icvs->chunk : 0;
        return icvs->schedule & ~OMP_MONOTONIC;
    case 6:
        d->chunk = 0;
        return OMP_AUTO;
    default: /* dynamic, stealing */
        return OMP_DYNAMIC;
    }
}

static uint64_t units(const struct omp_dispatch *d, uint64_t iterations)
{
    return iterations / d->unit + (iterations % d->unit != 0);
}

void peet__omp_loop_begin(uint32_t schedule, uint64_t trip, int64_t chunk, int64_t lower, int64_t stride)
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_member *member = thread->member;
    struct omp_dispatch *d = &member->dispatch;
    uint64_t tid = (uint64_t)member->tid, n = (uint64_t)member->team->n;
    leave(member); /* one that was left by cancellation */
    d->kind = kind_of(d, schedule, chunk, &thread->task->icvs);
    d->active = 1;
    d->trip = trip;
    d->lower = lower;
    d->stride = stride;
    d->current = d->end = 0;
    d->posted = 0;
    if (n == 1) { /* one chunk */
        d->kind = OMP_STATIC;
        d->first = 0;
        d->last = d->step = trip;
        return;
    }
    if (d->kind != OMP_STATIC || d->ordered)
        d->loop = peet__omp_loop_enter(member);
    if (d->kind != OMP_STATIC) {
        static const uint8_t schedules[] = {
            [OMP_DYNAMIC] = PEET_DOALL_DYNAMIC, [OMP_GUIDED] = PEET_DOALL_GUIDED, [OMP_AUTO] = PEET_DOALL_DEFAULT};
        uint64_t args[] = {(uint64_t)&d->loop->object, 0, units(d, trip), schedules[d->kind], d->chunk, n};
        peet_rt_event(PEET_ABSTRACT_LOOP_INIT, 6, args);
    } else if (d->chunk == 0) {
        uint64_t all = units(d, trip);
        d->first = d->unit * (tid * (all / n) + (tid < all % n ? tid : all % n));
        d->last = d->first + d->unit * (all / n + (tid < all % n));
        d->step = trip;
    } else {
        d->chunk *= d->unit;
        if (__builtin_mul_overflow(tid, d->chunk, &d->first))
            d->first = trip;
        if (__builtin_mul_overflow(n, d->chunk, &d->step))
            d->step = trip;
        d->last = d->first + d->chunk < d->first ? trip : d->first + d->chunk;
    }
}

/* --------------------------------------------------------------------------------------------- next chunk */

static int next_static(struct omp_dispatch *d, uint64_t chunk[2])
{
    if (d->first >= d->trip || d->first == d->last)
        return 0;
    chunk[0] = d->first;
    chunk[1] = d->last < d->trip ? d->last : d->trip;
    uint64_t length = d->last - d->first;
    if (__builtin_add_overflow(d->first, d->step, &d->first))
        d->first = d->trip;
    d->last = d->first + length < d->first ? d->trip : d->first + length;
    return 1;
}

static int next(uint64_t chunk[2], int *out_last)
{
    struct omp_member *member = peet__omp_self()->member;
    struct omp_dispatch *d = &member->dispatch;
    int more = 0;
    if (!d->active)
        return 0;
    if (member->team->cancelled == OMP_CANCEL_LOOP || member->team->cancelled == OMP_CANCEL_SECTIONS) {
        leave(member);
        return 0;
    }
    if (d->kind == OMP_STATIC) {
        more = next_static(d, chunk);
    } else {
        uint64_t args[] = {(uint64_t)&d->loop->object, (uint64_t)member->tid, (uint64_t)chunk};
        more = peet_rt_event(PEET_ABSTRACT_LOOP_NEXT, 3, args) == 1;
        if (more) {
            chunk[0] *= d->unit;
            chunk[1] = chunk[1] > d->trip / d->unit ? d->trip : chunk[1] * d->unit;
        }
    }
    if (!more) {
        leave(member);
        return 0;
    }
    d->current = chunk[0];
    d->end = chunk[1];
    d->posted = 0;
    *out_last = chunk[1] == d->trip;
    return 1;
}

/* ------------------------------------------------------------------------------------------- ordered regions */

static void wait_for_predecessor(struct omp_dispatch *d)
{
    if (d->current > 0)
        peet__omp_wait_iteration(d->loop, d->current - 1);
}

static struct omp_dispatch *ordered_loop(void)
{
    struct omp_dispatch *d = &peet__omp_self()->member->dispatch;
    return d->active && d->ordered && d->loop ? d : NULL;
}

ENTRY(void, __kmpc_ordered, (struct omp_place * place, int32_t gtid))
{
    struct omp_dispatch *d = ordered_loop();
    if (d)
        wait_for_predecessor(d);
}

ENTRY(void, __kmpc_end_ordered, (struct omp_place * place, int32_t gtid))
{
    struct omp_dispatch *d = ordered_loop();
    if (d && !d->posted) {
        d->posted = 1;
        peet__omp_post_iteration(d->loop, d->current);
    }
}

/* An iteration of an ordered loop is over.  If it had no ordered region, those after it must still not overtake
 * those before it. */
static void iteration_over(void)
{
    struct omp_dispatch *d = ordered_loop();
    if (!d)
        return;
    if (!d->posted) {
        wait_for_predecessor(d);
        peet__omp_post_iteration(d->loop, d->current);
    }
    d->posted = 0;
    d->current++;
}

void peet__omp_chunk_ordered(void)
{
    struct omp_dispatch *d = ordered_loop();
    if (d)
        wait_for_predecessor(d);
}

void peet__omp_chunk_over(void)
{
    struct omp_dispatch *d = ordered_loop();
    if (!d || !d->end)
        return;
    wait_for_predecessor(d);
    peet__omp_post_iteration(d->loop, d->end - 1);
    d->end = 0;
}

ENTRY(void, __kmpc_dispatch_deinit, (struct omp_place * place, int32_t gtid))
{
    leave(peet__omp_self()->member);
}

/* ------------------------------------------------------------------------------------- one set a type */

static uint64_t trips(uint64_t distance, uint64_t step, int none)
{
    return none ? 0 : distance / step + 1;
}

/* The part of a loop that this team has of a `distribute`. */
static void part_of_league(uint64_t trip, uint64_t *out_first, uint64_t *out_length, int *out_last)
{
    const struct omp_team *team = peet__omp_self()->member->team;
    uint64_t id = (uint64_t)team->league_number, n = (uint64_t)team->nleagues;
    *out_first = id * (trip / n) + (id < trip % n ? id : trip % n);
    *out_length = trip / n + (id < trip % n);
    *out_last = *out_length > 0 && *out_first + *out_length == trip;
}

#define DISPATCH(suffix, type, utype, stype) \
    static uint64_t trips_##suffix(type lower, type upper, stype step) \
    { \
        if (step > 0) \
            return trips((utype)((utype)upper - (utype)lower), (uint64_t)step, upper < lower); \
        return trips((utype)((utype)lower - (utype)upper), 0 - (uint64_t)step, lower < upper); \
    } \
    ENTRY(void, __kmpc_dispatch_init_##suffix, \
        (struct omp_place * place, int32_t gtid, int32_t schedule, type lower, type upper, stype step, stype chunk)) \
    { \
        peet__omp_loop_begin((uint32_t)schedule, trips_##suffix(lower, upper, step), chunk, (int64_t)lower, step); \
    } \
    ENTRY(void, __kmpc_dist_dispatch_init_##suffix, \
        (struct omp_place * place, int32_t gtid, int32_t schedule, int32_t *last, type lower, type upper, stype step, \
            stype chunk)) \
    { \
        uint64_t first, length; \
        int is_last; \
        part_of_league(trips_##suffix(lower, upper, step), &first, &length, &is_last); \
        if (last) \
            *last = is_last; \
        peet__omp_loop_begin((uint32_t)schedule, length, chunk, (int64_t)((uint64_t)lower + first * (uint64_t)step), \
            step); \
    } \
    ENTRY(int, __kmpc_dispatch_next_##suffix, \
        (struct omp_place * place, int32_t gtid, int32_t *last, type *lower, type *upper, stype *step)) \
    { \
        const struct omp_dispatch *d = &peet__omp_self()->member->dispatch; \
        uint64_t chunk[2], ustep = (uint64_t)d->stride, base = (uint64_t)d->lower; \
        int is_last = 0; \
        if (!next(chunk, &is_last)) { \
            *lower = *upper = 0; \
            if (step) \
                *step = 0; \
            return 0; \
        } \
        *lower = (type)(base + chunk[0] * ustep); \
        *upper = (type)(base + (chunk[1] - 1) * ustep); \
        if (step) \
            *step = (stype)ustep; \
        if (last) \
            *last = is_last; \
        return 1; \
    } \
    ENTRY(void, __kmpc_dispatch_fini_##suffix, (struct omp_place * place, int32_t gtid)) \
    { \
        iteration_over(); \
    }

DISPATCH(4, int32_t, uint32_t, int32_t)
DISPATCH(4u, uint32_t, uint32_t, int32_t)
DISPATCH(8, int64_t, uint64_t, int64_t)
DISPATCH(8u, uint64_t, uint64_t, int64_t)

/* -------------------------------------------------------------------------------------------- doacross */

static void doacross_leave(struct omp_member *member)
{
    struct omp_doacross *d = &member->doacross;
    if (d->loop)
        peet__omp_loop_leave(member, d->loop);
    peet__omp_free(d->dims);
    peet__omp_free(d->lengths);
    *d = (struct omp_doacross){0};
}

ENTRY(void, __kmpc_doacross_init, (struct omp_place * place, int32_t gtid, int32_t n, const struct omp_dimension *dims))
{
    struct omp_member *member = peet__omp_self()->member;
    struct omp_doacross *d = &member->doacross;
    doacross_leave(member);
    if (member->team->n == 1)
        return;
    d->loop = peet__omp_loop_enter(member);
    d->dimensions = n;
    d->dims = peet__omp_alloc((size_t)n * sizeof(*d->dims));
    d->lengths = peet__omp_alloc((size_t)n * sizeof(*d->lengths));
    for (int i = 0; i < n; i++) {
        d->dims[i] = dims[i];
        d->lengths[i] = trips_8(dims[i].lower, dims[i].upper, dims[i].stride);
    }
}

/* The iteration of a vector of loop variables, the last dimension running fastest.  Returns: 0 if there is none. */
static int linear(const struct omp_doacross *d, const int64_t *vector, uint64_t *out_iteration)
{
    uint64_t iteration = 0;
    for (int i = 0; i < d->dimensions; i++) {
        const struct omp_dimension *dim = &d->dims[i];
        int64_t v = vector[i];
        if (dim->stride > 0 ? v < dim->lower || v > dim->upper : v > dim->lower || v < dim->upper)
            return 0;
        uint64_t distance = dim->stride > 0 ? (uint64_t)v - (uint64_t)dim->lower : (uint64_t)dim->lower - (uint64_t)v;
        uint64_t step = dim->stride > 0 ? (uint64_t)dim->stride : 0 - (uint64_t)dim->stride;
        iteration = iteration * d->lengths[i] + distance / step;
    }
    *out_iteration = iteration;
    return 1;
}

ENTRY(void, __kmpc_doacross_wait, (struct omp_place * place, int32_t gtid, const int64_t *vector))
{
    struct omp_doacross *d = &peet__omp_self()->member->doacross;
    uint64_t iteration;
    if (d->loop && linear(d, vector, &iteration))
        peet__omp_wait_iteration(d->loop, iteration);
}

ENTRY(void, __kmpc_doacross_post, (struct omp_place * place, int32_t gtid, const int64_t *vector))
{
    struct omp_doacross *d = &peet__omp_self()->member->doacross;
    uint64_t iteration;
    if (d->loop && linear(d, vector, &iteration))
        peet__omp_post_iteration(d->loop, iteration);
}

ENTRY(void, __kmpc_doacross_fini, (struct omp_place * place, int32_t gtid))
{
    doacross_leave(peet__omp_self()->member);
}
