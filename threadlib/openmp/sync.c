/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutual exclusion and who executes what: critical, locks, single and copyprivate, master and masked, flush, error,
 * scope.  A lock is a mutex of the mapper, known by the address of the variable.
 */
#include "openmp.h"

#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------------- critical */

static void lock(const void *object, enum peet_mutex_kind kind)
{
    uint64_t args[] = {(uint64_t)object, kind, PEET_NEVER};
    peet_rt_event(PEET_ABSTRACT_MUTEX_LOCK, 3, args);
}

static int try_lock(const void *object, enum peet_mutex_kind kind)
{
    uint64_t args[] = {(uint64_t)object, kind};
    return peet_rt_event(PEET_ABSTRACT_MUTEX_TRYLOCK, 2, args) == 0;
}

static void unlock(const void *object, enum peet_mutex_kind kind)
{
    uint64_t args[] = {(uint64_t)object, kind};
    peet_rt_event(PEET_ABSTRACT_MUTEX_UNLOCK, 2, args);
}

void peet__omp_lock(const void *object)
{
    lock(object, PEET_MUTEX_NORMAL);
}

void peet__omp_unlock(const void *object)
{
    unlock(object, PEET_MUTEX_NORMAL);
}

ENTRY(void, __kmpc_critical, (struct omp_place * place, int32_t gtid, void *name))
{
    peet__omp_lock(name);
}

ENTRY(void, __kmpc_critical_with_hint, (struct omp_place * place, int32_t gtid, void *name, uint32_t hint))
{
    peet__omp_lock(name);
}

ENTRY(void, __kmpc_end_critical, (struct omp_place * place, int32_t gtid, void *name))
{
    peet__omp_unlock(name);
}

/* ------------------------------------------------------------------------------------------------- locks */

static void init(void **variable, enum peet_mutex_kind kind)
{
    uint64_t args[] = {(uint64_t)variable, PEET_SYNC_MUTEX, kind};
    *variable = NULL;
    peet_rt_event(PEET_ABSTRACT_SYNC_INIT, 3, args);
}

static void destroy(void **variable)
{
    uint64_t args[] = {(uint64_t)variable, PEET_SYNC_MUTEX};
    peet_rt_event(PEET_ABSTRACT_SYNC_DESTROY, 2, args);
    *variable = NULL;
}

/* A nestable lock's variable counts how often its owner holds it: nobody else looks at it. */
static int nested(void **variable, int change)
{
    *variable = (char *)*variable + change;
    return (int)(intptr_t)*variable;
}

static void set_nest(void **variable)
{
    lock(variable, PEET_MUTEX_RECURSIVE);
    nested(variable, 1);
}

static void unset_nest(void **variable)
{
    nested(variable, -1);
    unlock(variable, PEET_MUTEX_RECURSIVE);
}

static int test_nest(void **variable)
{
    return try_lock(variable, PEET_MUTEX_RECURSIVE) ? nested(variable, 1) : 0;
}

#define PLACE struct omp_place *place, int32_t gtid

/* clang-format off */
ENTRY(void, omp_init_lock, (void **variable)) { init(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, omp_init_lock_with_hint, (void **variable, int hint)) { init(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, omp_destroy_lock, (void **variable)) { destroy(variable); }
ENTRY(void, omp_set_lock, (void **variable)) { lock(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, omp_unset_lock, (void **variable)) { unlock(variable, PEET_MUTEX_NORMAL); }
ENTRY(int, omp_test_lock, (void **variable)) { return try_lock(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, omp_init_nest_lock, (void **variable)) { init(variable, PEET_MUTEX_RECURSIVE); }
ENTRY(void, omp_init_nest_lock_with_hint, (void **variable, int hint)) { init(variable, PEET_MUTEX_RECURSIVE); }
ENTRY(void, omp_destroy_nest_lock, (void **variable)) { destroy(variable); }
ENTRY(void, omp_set_nest_lock, (void **variable)) { set_nest(variable); }
ENTRY(void, omp_unset_nest_lock, (void **variable)) { unset_nest(variable); }
ENTRY(int, omp_test_nest_lock, (void **variable)) { return test_nest(variable); }

ENTRY(void, __kmpc_init_lock, (PLACE, void **variable)) { init(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, __kmpc_init_lock_with_hint, (PLACE, void **variable, uintptr_t hint)) { init(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, __kmpc_destroy_lock, (PLACE, void **variable)) { destroy(variable); }
ENTRY(void, __kmpc_set_lock, (PLACE, void **variable)) { lock(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, __kmpc_unset_lock, (PLACE, void **variable)) { unlock(variable, PEET_MUTEX_NORMAL); }
ENTRY(int, __kmpc_test_lock, (PLACE, void **variable)) { return try_lock(variable, PEET_MUTEX_NORMAL); }
ENTRY(void, __kmpc_init_nest_lock, (PLACE, void **variable)) { init(variable, PEET_MUTEX_RECURSIVE); }
ENTRY(void, __kmpc_init_nest_lock_with_hint, (PLACE, void **variable, uintptr_t hint)) { init(variable, PEET_MUTEX_RECURSIVE); }
ENTRY(void, __kmpc_destroy_nest_lock, (PLACE, void **variable)) { destroy(variable); }
ENTRY(void, __kmpc_set_nest_lock, (PLACE, void **variable)) { set_nest(variable); }
ENTRY(void, __kmpc_unset_nest_lock, (PLACE, void **variable)) { unset_nest(variable); }
ENTRY(int, __kmpc_test_nest_lock, (PLACE, void **variable)) { return test_nest(variable); }
/* clang-format on */

/* --------------------------------------------------------------------------------- single, master, masked */

ENTRY(int32_t, __kmpc_single, (PLACE))
{
    struct omp_member *member = peet__omp_self()->member;
    struct omp_team *team = member->team;
    uint64_t number = member->singles++;
    if (team->n > 1)
        peet__omp_order(&team->singles, team->singles);
    if (team->singles != number)
        return 0;
    team->singles++;
    return 1;
}

ENTRY(void, __kmpc_end_single, (PLACE)) {}

ENTRY(void, __kmpc_copyprivate, (PLACE, size_t bytes, void *data, void (*copy)(void *, void *), int32_t did_it))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    if (did_it)
        team->copyprivate = data;
    peet__omp_barrier(thread, 0);
    if (!did_it)
        copy(data, team->copyprivate);
    peet__omp_barrier(thread, 0); /* before it goes out of scope */
}

ENTRY(void *, __kmpc_copyprivate_light, (PLACE, void *data))
{
    struct omp_thread *thread = peet__omp_self();
    struct omp_team *team = thread->member->team;
    if (data)
        team->copyprivate = data;
    peet__omp_barrier(thread, 0);
    return team->copyprivate;
}

ENTRY(int32_t, __kmpc_master, (PLACE))
{
    return peet__omp_self()->member->tid == 0;
}

ENTRY(void, __kmpc_end_master, (PLACE)) {}

ENTRY(int32_t, __kmpc_masked, (PLACE, int32_t filter))
{
    return peet__omp_self()->member->tid == filter;
}

ENTRY(void, __kmpc_end_masked, (PLACE)) {}

/* Sections given out one by one; clang makes loops of them, other compilers call this. */
ENTRY(int32_t, __kmpc_sections_init, (PLACE))
{
    struct omp_member *member = peet__omp_self()->member;
    struct omp_loop *loop = peet__omp_loop_enter(member);
    member->dispatch.loop = loop;
    member->dispatch.active = 1;
    member->dispatch.ordered = 0;
    return 0;
}

ENTRY(int32_t, __kmpc_next_section, (PLACE, int32_t n))
{
    struct omp_loop *loop = peet__omp_self()->member->dispatch.loop;
    peet__omp_order(&loop->object, loop->object);
    return loop->object < (uint64_t)n ? (int32_t)loop->object++ : n;
}

ENTRY(void, __kmpc_end_sections, (PLACE))
{
    struct omp_member *member = peet__omp_self()->member;
    member->dispatch.active = 0;
    peet__omp_loop_leave(member, member->dispatch.loop);
    member->dispatch.loop = NULL;
}

/* ---------------------------------------------------------------------------------------------- the rest */

/* What a flush waits for is somebody else's store: it takes its turn as an access would. */
ENTRY(void, __kmpc_flush, (struct omp_place * place))
{
    static uint64_t flushes;
    struct omp_thread *thread = peet__omp_self();
    if (thread->member->team->n > 1)
        peet__omp_order(place, ++flushes);
}

ENTRY(void, __kmpc_scope, (PLACE, void *reserved)) {}

ENTRY(void, __kmpc_end_scope, (PLACE, void *reserved)) {}

enum { SEVERITY_FATAL = 2 };

ENTRY(void, __kmpc_error, (struct omp_place * place, int severity, const char *message))
{
    /* ;file;function;line;column;; */
    char where[512] = "?", file[400];
    int line, column;
    if (place && place->source && sscanf(place->source, ";%399[^;];%*[^;];%d;%d", file, &line, &column) == 3)
        snprintf(where, sizeof where, "%s:%d:%d", file, line, column);
    if (severity == SEVERITY_FATAL)
        peet__omp_die("%s: the program's error directive: %s", where, message ? message : "error");
    peet__omp_warn("%s: the program's error directive: %s", where, message ? message : "warning");
}
