/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static schedules: each thread computes its own part of the iterations, without an event.  clang calls these functions
 * for `for`, `sections` and `distribute`, one per type of loop variable.
 */
#include "openmp.h"

enum {
    STATIC_CHUNKED = 33,
    STATIC = 34,
    STATIC_BALANCED_CHUNKED = 45, /* one part each, a multiple of the chunk */
    DISTRIBUTE_CHUNKED = 91,
    DISTRIBUTE = 92,
    MODIFIERS = 3 << 29,
};

/* Iterations of lower..upper by stride; 0: none.  Two's complement throughout, so that one function serves
 * all types. */
static uint64_t trips(int64_t lower, int64_t upper, int64_t stride, int is_unsigned)
{
    if (stride > 0) {
        if (is_unsigned ? (uint64_t)upper < (uint64_t)lower : upper < lower)
            return 0;
        return ((uint64_t)upper - (uint64_t)lower) / (uint64_t)stride + 1;
    }
    if (is_unsigned ? (uint64_t)lower < (uint64_t)upper : lower < upper)
        return 0;
    return ((uint64_t)lower - (uint64_t)upper) / (0 - (uint64_t)stride) + 1;
}

struct range {
    int64_t lower, upper, stride; /* stride: from a thread's chunk to its next */
    int last;
};

/* lower beyond upper, without leaving what the loop variable's type can hold. */
static void make_empty(struct range *mine, const struct range *all, int64_t step, int bits, int is_unsigned)
{
    int64_t beyond;
    int fits;
    if (is_unsigned) {
        uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits) - 1, upper = (uint64_t)all->upper & max;
        fits = step > 0 ? upper <= max - (uint64_t)step : upper >= 0 - (uint64_t)step;
        beyond = (int64_t)(upper + (uint64_t)step);
    } else {
        int64_t max = bits == 64 ? INT64_MAX : (1ll << (bits - 1)) - 1, min = -max - 1;
        fits = !__builtin_add_overflow(all->upper, step, &beyond) && beyond <= max && beyond >= min;
    }
    mine->lower = fits ? beyond : all->lower;
    mine->upper = fits ? all->upper : (int64_t)((uint64_t)all->lower - (uint64_t)step);
    mine->last = 0;
}

/* The part of thread `id` of n; with chunks, its first one. */
static struct range part(uint32_t schedule, struct range all, int64_t step, int64_t chunk, int bits, int is_unsigned,
    uint64_t id, uint64_t n)
{
    uint64_t trip = trips(all.lower, all.upper, step, is_unsigned), ustep = (uint64_t)step, first, length;
    struct range mine = all;
    mine.last = 0;
    mine.stride = step;
    if (trip == 0)
        return mine;
    mine.stride = (int64_t)(trip * ustep);
    mine.last = 1;
    if (n == 1)
        return mine;
    switch (schedule & ~(uint32_t)MODIFIERS) {
    case STATIC_CHUNKED:
    case DISTRIBUTE_CHUNKED:
        length = chunk < 1 ? 1 : (uint64_t)chunk > trip ? trip : (uint64_t)chunk;
        mine.stride = (int64_t)(length * n * ustep);
        mine.last = (trip - 1) / length % n == id;
        if (__builtin_mul_overflow(id, length, &first))
            first = trip;
        break;
    case STATIC_BALANCED_CHUNKED:
        length = (trip + n - 1) / n;
        if (chunk > 1)
            length = (length + (uint64_t)chunk - 1) / (uint64_t)chunk * (uint64_t)chunk;
        first = id * length;
        mine.last = first < trip && trip - first <= length;
        break;
    default:
        first = id * (trip / n) + (id < trip % n ? id : trip % n);
        length = trip / n + (id < trip % n);
        mine.last = length > 0 && first + length == trip;
        break;
    }
    if (first >= trip || length == 0) {
        make_empty(&mine, &all, step, bits, is_unsigned);
        return mine;
    }
    if (length > trip - first)
        length = trip - first;
    mine.lower = (int64_t)((uint64_t)all.lower + first * ustep);
    mine.upper = (int64_t)((uint64_t)mine.lower + (length - 1) * ustep);
    return mine;
}

static int of_league(int32_t schedule)
{
    int kind = schedule & ~MODIFIERS;
    return kind == DISTRIBUTE || kind == DISTRIBUTE_CHUNKED;
}

#define STATIC_INIT(suffix, type, stype, bits, is_unsigned) \
    ENTRY(void, __kmpc_for_static_init_##suffix, \
        (struct omp_place * place, int32_t gtid, int32_t schedule, int32_t *last, type *lower, type *upper, \
            stype *stride, stype step, stype chunk)) \
    { \
        const struct omp_member *member = peet__omp_self()->member; \
        const struct omp_team *team = member->team; \
        int league = of_league(schedule); \
        struct range all = {(int64_t)*lower, (int64_t)*upper, 0, 0}; \
        struct range mine = part((uint32_t)schedule, all, step, chunk, bits, is_unsigned, \
            (uint64_t)(league ? team->league_number : member->tid), (uint64_t)(league ? team->nleagues : team->n)); \
        *lower = (type)mine.lower; \
        *upper = (type)mine.upper; \
        *stride = (stype)mine.stride; \
        if (last) \
            *last = mine.last; \
    } \
    ENTRY(void, __kmpc_dist_for_static_init_##suffix, \
        (struct omp_place * place, int32_t gtid, int32_t schedule, int32_t *last, type *lower, type *upper, \
            type *upper_dist, stype *stride, stype step, stype chunk)) \
    { \
        const struct omp_member *member = peet__omp_self()->member; \
        const struct omp_team *team = member->team; \
        struct range all = {(int64_t)*lower, (int64_t)*upper, 0, 0}; \
        struct range ours = part(DISTRIBUTE, all, step, 0, bits, is_unsigned, (uint64_t)team->league_number, \
            (uint64_t)team->nleagues); \
        *upper_dist = (type)ours.upper; \
        struct range mine = \
            part((uint32_t)schedule, ours, step, chunk, bits, is_unsigned, (uint64_t)member->tid, (uint64_t)team->n); \
        *lower = (type)mine.lower; \
        *upper = (type)mine.upper; \
        *stride = (stype)mine.stride; \
        if (last) \
            *last = mine.last && ours.last; \
    } \
    ENTRY(void, __kmpc_team_static_init_##suffix, \
        (struct omp_place * place, int32_t gtid, int32_t *last, type *lower, type *upper, stype *stride, stype step, \
            stype chunk)) \
    { \
        const struct omp_team *team = peet__omp_self()->member->team; \
        struct range all = {(int64_t)*lower, (int64_t)*upper, 0, 0}; \
        struct range ours = part(DISTRIBUTE_CHUNKED, all, step, chunk, bits, is_unsigned, \
            (uint64_t)team->league_number, (uint64_t)team->nleagues); \
        *lower = (type)ours.lower; \
        *upper = (type)ours.upper; \
        *stride = (stype)ours.stride; \
        if (last) \
            *last = ours.last; \
    }

STATIC_INIT(4, int32_t, int32_t, 32, 0)
STATIC_INIT(4u, uint32_t, int32_t, 32, 1)
STATIC_INIT(8, int64_t, int64_t, 64, 0)
STATIC_INIT(8u, uint64_t, int64_t, 64, 1)

ENTRY(void, __kmpc_for_static_fini, (struct omp_place * place, int32_t gtid)) {}
