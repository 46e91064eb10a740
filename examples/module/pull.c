/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine in pull form: it brings its own main loop and asks for the next event of a hardware context when it
 * wants one, as a simulator with a clock of its own does.  This one is a barrel processor: one pipeline that
 * issues one instruction in every cycle, taking the hardware contexts in turn, so that with n of them busy
 * each runs n times slower and the pipeline is never idle.  `latency` is the shortest time between two
 * instructions of the same context: with fewer contexts than that, issue slots stay empty.
 *
 *   cc -shared -fPIC -O2 -I$PREFIX/include -o pull.so pull.c
 *   peet run --machine ./pull.so,latency=4 --cores 8 -- ./shallow
 */
#include <stdlib.h>
#include <peet/module.h>

struct stream {
    uint64_t left;     /* instructions of the block at hand that have not been issued */
    uint64_t ready_at; /* earliest cycle of the next one */
    uint64_t began_at; /* clock of the context when the block at hand was pulled */
    int over;
};

struct pull {
    const struct peet_env *env;
    struct stream *streams;
    unsigned nstreams;
    uint64_t latency, issued, cycles;
};

static const struct peet_param params[] = {
    {"latency", PEET_PARAM_U64, "cycles", "4", "1..1000", "least distance of two instructions of one context"},
    {0},
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct pull *m = calloc(1, sizeof *m);
    if (m)
        m->streams = calloc(env->hw_contexts, sizeof *m->streams);
    if (!m || !m->streams) {
        free(m);
        env->fail(env, "out of memory");
        return NULL;
    }
    m->env = env;
    m->nstreams = env->hw_contexts;
    m->latency = values[0].u64;
    return m;
}

static void destroy(void *self)
{
    free(((struct pull *)self)->streams);
    free(self);
}

/* A context without work waits for another's event: no block at hand can be over before this. */
static uint64_t earliest_end(const struct pull *m, uint64_t now)
{
    uint64_t earliest = UINT64_MAX;
    for (unsigned hw = 0; hw < m->nstreams; hw++) {
        const struct stream *s = &m->streams[hw];
        uint64_t end = s->ready_at + (s->left - 1) * m->latency + 1;
        if (s->left > 0 && end < earliest)
            earliest = end;
    }
    return earliest != UINT64_MAX && earliest > now ? earliest : now + 1;
}

/* See that stream hw has an instruction to issue.  Returns 0, 1 if it is over, or < 0. */
static int refill(struct pull *m, unsigned hw)
{
    struct stream *s = &m->streams[hw];
    struct peet_pull event;
    while (s->left == 0) {
        int err = m->env->pull(m->env, hw, &event);
        if (err < 0)
            return err;
        switch (event.kind) {
        case PEET_PULL_BLOCK:
            s->left = event.block.block->ninsns;
            s->began_at = m->env->clock(m->env, hw); /* later than ready_at if it had to wait for work */
            if (s->ready_at < s->began_at)
                s->ready_at = s->began_at;
            if (s->left == 0)
                m->env->charge(m->env, hw, 0);
            break;
        case PEET_PULL_ABSTRACT: /* forks and joins are free here */
            m->env->charge(m->env, hw, 0);
            break;
        case PEET_PULL_IDLE: { /* nothing to do: this context's slots stay empty for a while */
            uint64_t until = event.idle_until_cycles, end = earliest_end(m, s->ready_at);
            s->ready_at = until > s->ready_at && until < end ? until : end;
            return 0;
        }
        case PEET_PULL_END:
            s->over = 1;
            return 1;
        }
    }
    return 0;
}

/* One turn of the loop is one issue slot: the context that has been ready longest has it. */
static int pull_main(void *self)
{
    struct pull *m = self;
    unsigned running = m->nstreams;
    while (running) {
        unsigned next = m->nstreams;
        for (unsigned hw = 0; hw < m->nstreams; hw++)
            if (!m->streams[hw].over && (next == m->nstreams || m->streams[hw].ready_at < m->streams[next].ready_at))
                next = hw;
        struct stream *s = &m->streams[next];
        int err = refill(m, next);
        if (err < 0)
            return err;
        if (err > 0)
            running--;
        if (s->left == 0)
            continue;
        if (m->cycles < s->ready_at)
            m->cycles = s->ready_at; /* empty slots */
        m->cycles++;
        m->issued++;
        s->ready_at = m->cycles - 1 + m->latency;
        if (--s->left == 0)
            m->env->charge(m->env, next, s->ready_at - s->began_at);
    }
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    struct pull *m = self;
    env->stats_u64(env, node, "issued_instructions", m->issued);
    env->stats_f64(env, node, "issue_utilisation", m->cycles ? (double)m->issued / (double)m->cycles : 0.0);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof peet_module,
    .name = "pull",
    .summary = "barrel processor: one pipeline shared by all hardware contexts (pull form)",
    .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ABSTRACT,
    .params = params,
    .create = create,
    .destroy = destroy,
    .main = pull_main,
    .stats = stats,
};
