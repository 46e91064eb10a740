/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a reduction clause.  As in the ordinary library, the method depends on the team: one thread has nothing to
 * combine; few combine one after the other, atomically where clang has prepared it, else in a critical section; many in
 * a tree, in which a thread combines the values of those below it.  What compiled code does next follows from the
 * number that it gets: 1 combine and call the end function, 2 combine atomically (and call it), 0 nothing.
 */
#include "openmp.h"

enum method { SERIAL, CRITICAL, ATOMIC, TREE };
enum { TREE_FROM = 5 }; /* threads */

static enum method method_for(const struct omp_team *team, const struct omp_place *place, void *data,
    void (*combine)(void *, void *))
{
    if (team->n == 1)
        return SERIAL;
    if (team->n >= TREE_FROM && data && combine)
        return TREE;
    return place && (place->flags & OMP_PLACE_ATOMIC_REDUCTION) ? ATOMIC : CRITICAL;
}

/* Thread t combines t + 1, t + 2, t + 4 ... as long as these are odd multiples of the step.  Each value is handed
 * up when its own subtree is complete. */
static void tree(struct omp_member *member, void *data, void (*combine)(void *, void *))
{
    struct omp_team *team = member->team;
    int tid = member->tid;
    member->reduce_data = data;
    for (int step = 1; step < team->n; step *= 2) {
        if (tid & step) {
            peet__omp_post(&member->reduce_gate, 1);
            return;
        }
        if (tid + step < team->n) {
            struct omp_member *other = &team->members[tid + step];
            peet__omp_wait(&other->reduce_gate);
            combine(data, other->reduce_data);
        }
    }
}

/* Whose values are combined: the team's; directly within a teams construct, where each thread is a team of its own, the
 * league's. */
static struct omp_member *reducing(const struct omp_thread *thread)
{
    const struct omp_team *const team = thread->member->team;
    return team->level == 0 && team->nleagues > 1 ? team->creator : thread->member;
}

static void barrier(struct omp_thread *thread, struct omp_member *member)
{
    struct omp_member *const own = thread->member;
    thread->member = member;
    peet__omp_barrier(thread, 0);
    thread->member = own;
}

static int32_t begin(struct omp_place *place, void *data, void (*combine)(void *, void *), const void *name, int waits)
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_member *member = reducing(thread);
    member->reduce_method = method_for(member->team, place, data, combine);
    switch ((enum method)member->reduce_method) {
    case SERIAL:
        return 1;
    case CRITICAL:
        peet__omp_lock(name);
        return 1;
    case ATOMIC:
        return 2;
    case TREE:
        break;
    }
    tree(member, data, combine);
    if (!waits) { /* nobody's values go out of scope before they have been combined */
        barrier(thread, member);
        return member->tid == 0;
    }
    if (member->tid == 0)
        return 1; /* the others wait for __kmpc_end_reduce() */
    barrier(thread, member);
    return 0;
}

typedef void combine_fn(void *, void *);

ENTRY(int32_t, __kmpc_reduce_nowait,
    (struct omp_place * place, int32_t gtid, int32_t n, size_t bytes, void *data, combine_fn *combine, void *name))
{
    return begin(place, data, combine, name, 0);
}

ENTRY(void, __kmpc_end_reduce_nowait, (struct omp_place * place, int32_t gtid, void *name))
{
    if (reducing(peet__omp_self())->reduce_method == CRITICAL)
        peet__omp_unlock(name);
}

ENTRY(int32_t, __kmpc_reduce,
    (struct omp_place * place, int32_t gtid, int32_t n, size_t bytes, void *data, combine_fn *combine, void *name))
{
    return begin(place, data, combine, name, 1);
}

ENTRY(void, __kmpc_end_reduce, (struct omp_place * place, int32_t gtid, void *name))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_member *const member = reducing(thread);
    if (member->reduce_method == CRITICAL)
        peet__omp_unlock(name);
    barrier(thread, member);
}

ENTRY(int32_t, __kmp_get_reduce_method, (void))
{
    return reducing(peet__omp_self())->reduce_method;
}
