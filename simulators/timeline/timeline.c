/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `timeline`: who ran where, and who waited for what, as slices of simulated time (peet/timeline.h).  It
 * looks at abstract events only, so blocks cost nothing.  A context runs from its first event on; a wait is as long as
 * its SYNC_GRANT says; somebody else's event on its processor ends what it did there.  A context that a time slice ends
 * (--quantum) is seen to leave when the next one has its first abstract event.
 */
#include <peet/module.h>
#include <peet/timeline.h>

#include <stdlib.h>
#include <string.h>

enum { NOBODY = UINT32_MAX };

struct thread {
    uint64_t since, asked, object;
    uint32_t hw;
    uint8_t known, runs, waits, state;
};

struct timeline {
    const struct peet_env *env;
    struct peet_timeline_header *file; /* and the slices after it */
    struct thread *threads;
    uint32_t *on; /* who was seen last on each hardware context */
    uint64_t room, limit, total[PEET_TIMELINE_STATES];
    uint32_t nthreads;
    int failed;
};

static const struct peet_param params[] = {
    {"limit", PEET_PARAM_U64, "", "20000000", "1..1000000000",
        "slices to keep, 32 bytes each; later ones are only counted"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct timeline *t = calloc(1, sizeof *t);

    if (t) {
        t->env = env;
        t->limit = values[0].u64;
        t->room = 1024;
        t->file = calloc(1, sizeof *t->file + t->room * sizeof(struct peet_timeline_slice));
        t->on = malloc((env->hw_contexts + 1) * sizeof *t->on);
    }
    if (!t || !t->file || !t->on) {
        env->fail(env, "out of memory");
        return NULL;
    }
    memcpy(t->file->magic, PEET_TIMELINE_MAGIC, sizeof t->file->magic);
    t->file->hw_contexts = env->hw_contexts;
    t->file->slice_bytes = sizeof(struct peet_timeline_slice);
    for (unsigned i = 0; i <= env->hw_contexts; i++)
        t->on[i] = NOBODY;
    return t;
}

static void destroy(void *self)
{
    struct timeline *t = self;

    free(t->file);
    free(t->threads);
    free(t->on);
    free(t);
}

static void no_memory(struct timeline *t)
{
    if (!t->failed)
        t->env->fail(t->env, "out of memory; --observe timeline,limit=N keeps fewer slices");
    t->failed = 1;
}

static void slice(struct timeline *t, uint32_t context, const struct thread *c, unsigned state, uint64_t begin,
    uint64_t end)
{
    struct peet_timeline_header *more;

    if (end <= begin || t->failed)
        return;
    t->total[state] += end - begin;
    if (t->file->slices == t->limit) {
        t->file->omitted++;
        return;
    }
    if (t->file->slices == t->room) {
        more = realloc(t->file, sizeof *more + 2 * t->room * sizeof(struct peet_timeline_slice));
        if (!more) {
            no_memory(t);
            return;
        }
        t->file = more;
        t->room *= 2;
    }
    ((struct peet_timeline_slice *)(t->file + 1))[t->file->slices++] = (struct peet_timeline_slice){.begin = begin,
        .end = end,
        .object = state == PEET_TIMELINE_RUNS ? 0 : c->object,
        .context = context,
        .hw = (uint16_t)c->hw,
        .state = (uint8_t)state};
}

static struct thread *thread(struct timeline *t, uint32_t number)
{
    if (number >= t->nthreads) {
        uint32_t n = t->nthreads ? t->nthreads : 64;
        struct thread *more;

        while (n <= number && n < UINT32_MAX / 2)
            n *= 2;
        more = n > number ? realloc(t->threads, n * sizeof *more) : NULL;
        if (!more) {
            no_memory(t);
            return NULL;
        }
        memset(more + t->nthreads, 0, (n - t->nthreads) * sizeof *more);
        t->threads = more;
        t->nthreads = n;
    }
    return &t->threads[number];
}

/** How a request waits, if it does.  Returns: enum peet_timeline_state, or RUNS: never */
static uint8_t waiting(uint32_t type)
{
    switch (type) {
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
        return PEET_TIMELINE_LOCK;
    case PEET_ABSTRACT_BARRIER_WAIT:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_DOALL_FORK:
    case PEET_ABSTRACT_LOOP_NEXT:
        return PEET_TIMELINE_BARRIER;
    case PEET_ABSTRACT_COND_WAIT:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_ONCE_BEGIN:
    case PEET_ABSTRACT_WAIT:
        return PEET_TIMELINE_SIGNAL;
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_IO_WAIT:
        return PEET_TIMELINE_OUTSIDE;
    }
    return PEET_TIMELINE_RUNS;
}

/** It is on a hardware context at this time; whoever was there has gone. */
static void arrive(struct timeline *t, uint32_t number, struct thread *c, unsigned hw, uint64_t now)
{
    uint32_t before = t->on[hw];

    if (before != number && before != NOBODY && before < t->nthreads && t->threads[before].runs &&
        t->threads[before].hw == hw && t->threads[before].waits == PEET_TIMELINE_RUNS) {
        slice(t, before, &t->threads[before], PEET_TIMELINE_RUNS, t->threads[before].since, now);
        t->threads[before].runs = 0;
    }
    if (c->runs && c->hw != hw) { /* it has gone elsewhere */
        slice(t, number, c, PEET_TIMELINE_RUNS, c->since, c->asked);
        c->runs = 0;
    }
    if (!c->runs) {
        c->since = now;
        c->runs = 1;
    }
    c->known = 1;
    c->hw = hw;
    t->on[hw] = number;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct timeline *t = self;
    struct thread *c = thread(t, event->context);
    uint64_t waited = 0;
    uint8_t state = PEET_TIMELINE_RUNS;

    if (!c)
        return 0;
    if (event->type == PEET_ABSTRACT_SYNC_GRANT) {
        waited = event->args[2] < now ? event->args[2] : now;
        state = waiting((uint32_t)event->args[1]);
        c->object = event->args[0];
    } else if (event->type == PEET_ABSTRACT_DOALL_JOIN && c->known && c->waits) {
        waited = now - c->asked;
        state = PEET_TIMELINE_BARRIER;
        c->object = 0;
    }
    if (waited && c->known) {
        if (c->runs)
            slice(t, event->context, c, PEET_TIMELINE_RUNS, c->since, now - waited);
        slice(t, event->context, c, state ? state : PEET_TIMELINE_SIGNAL, now - waited, now);
        c->runs = 0;
    }
    c->waits = PEET_TIMELINE_RUNS;
    arrive(t, event->context, c, hw, now);
    c->asked = now;
    c->waits = waiting(event->type);
    if (event->type == PEET_ABSTRACT_CONTEXT_EXIT || event->type == PEET_ABSTRACT_DOALL_FINISH) {
        slice(t, event->context, c, PEET_TIMELINE_RUNS, c->since, now);
        memset(c, 0, sizeof *c);
        t->on[hw] = NOBODY;
    }
    return 0;
}

static void finish(void *self, uint64_t end_cycles)
{
    struct timeline *t = self;

    t->file->end_cycles = end_cycles;
    for (uint32_t i = 0; i < t->nthreads; i++) {
        struct thread *c = &t->threads[i];

        if (c->runs)
            slice(t, i, c, PEET_TIMELINE_RUNS, c->since, c->waits ? c->asked : end_cycles);
        if (c->known && c->waits)
            slice(t, i, c, c->waits, c->asked, end_cycles);
        c->runs = c->known = c->waits = 0;
    }
    t->env->write_file(t->env, PEET_TIMELINE_FILE, t->file,
        sizeof *t->file + t->file->slices * sizeof(struct peet_timeline_slice));
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    static const char *const keys[PEET_TIMELINE_STATES] = {
        "running_cycles", "lock_wait_cycles", "barrier_wait_cycles", "signal_wait_cycles", "outside_wait_cycles"};
    const struct timeline *t = self;

    env->stats_string(env, node, "file", PEET_TIMELINE_FILE);
    env->stats_u64(env, node, "slices", t->file->slices);
    env->stats_u64(env, node, "slices_omitted", t->file->omitted);
    for (unsigned i = 0; i < PEET_TIMELINE_STATES; i++)
        env->stats_u64(env, node, keys[i], t->total[i]);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof(struct peet_module),
    .name = "timeline",
    .summary = "who ran where and waited for what, over time",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_ABSTRACT | PEET_NEEDS_NO_LOOKS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .abstract = abstract,
    .finish = finish,
    .stats = stats,
};
