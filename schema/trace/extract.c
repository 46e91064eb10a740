/* SPDX-License-Identifier: Apache-2.0 */
/* See peet/extract.h. */
#include <peet/extract.h>

#include <stdlib.h>
#include <string.h>

enum { CORES_STEP = 16, PATTERN = 3, INTERRUPTED = 256 };

/** A thread that has executed the pattern. */
struct target {
    uint64_t lo, hi;   /* its stack: [lo, hi) */
    uint64_t physical; /* of its first page, the topmost */
    unsigned thread;
};

/** How much of the pattern a thread has executed: by its stack, since the core may execute another thread in between, and
 * another core may go on. */
struct pattern {
    unsigned done;     /* 0: nothing */
    uint64_t next;     /* where it goes on, */
    uint64_t sp;       /* with this stack pointer */
    uint64_t physical; /* of the page that it points into */
};

struct core {
    struct pattern pattern; /* of the thread that it executed last */
    size_t last;            /* the target that its last instruction belonged to */
};

struct peet_extract {
    struct peet_extract_config config;
    struct peet_extract_ops ops;
    void *arg;
    struct target *targets;
    size_t ntargets, room;
    struct core *cores;
    unsigned ncores, nthreads;
    struct pattern interrupted[INTERRUPTED]; /* the oldest gives way: its thread is over as a rule */
    unsigned ninterrupted;                   /* that there ever were */
};

struct peet_extract *peet_extract_new(const struct peet_extract_config *config, const struct peet_extract_ops *ops,
    void *arg)
{
    struct peet_extract *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    if (config)
        x->config = *config;
    if (!x->config.stack_bytes)
        x->config.stack_bytes = 8 << 20;
    if (!x->config.page_bytes)
        x->config.page_bytes = 4096;
    if (!x->config.pages_above)
        x->config.pages_above = 1;
    x->ops = *ops;
    x->arg = arg;
    return x;
}

void peet_extract_free(struct peet_extract *x)
{
    if (!x)
        return;
    free(x->targets);
    free(x->cores);
    free(x);
}

unsigned peet_extract_threads(const struct peet_extract *x)
{
    return x->nthreads;
}

static struct core *core_of(struct peet_extract *x, unsigned core)
{
    if (core >= x->ncores) {
        const unsigned n = core + CORES_STEP;
        struct core *more = realloc(x->cores, n * sizeof *more);

        if (!more)
            return NULL;
        memset(more + x->ncores, 0, (n - x->ncores) * sizeof *more);
        x->cores = more;
        x->ncores = n;
    }
    return &x->cores[core];
}

/** mov r32,%eax in either of its two encodings, of any register. */
static int is_mov(const struct peet_extract_insn *i)
{
    const uint8_t *b = i->bytes;

    if (i->length == 3 && (b[0] == 0x44 || b[0] == 0x41))
        return (b[0] == 0x44 && b[1] == 0x89 && (b[2] & 0xc7) == 0xc0) ||
            (b[0] == 0x41 && b[1] == 0x8b && (b[2] & 0xf8) == 0xc0);
    return i->length == 2 && ((b[0] == 0x89 && (b[1] & 0xc7) == 0xc0) || (b[0] == 0x8b && (b[1] & 0xf8) == 0xc0));
}

/** add $0,%eax */
static int is_add(const struct peet_extract_insn *i)
{
    static const uint8_t shorter[] = {0x83, 0xc0, 0}, longer[] = {0x05, 0, 0, 0, 0};

    return (i->length == sizeof shorter && !memcmp(i->bytes, shorter, sizeof shorter)) ||
        (i->length == sizeof longer && !memcmp(i->bytes, longer, sizeof longer));
}

static uint64_t stack_page(struct peet_extract *x, const struct peet_extract_insn *i)
{
    return x->ops.translate(x->arg, i->core, i->sp - i->sp % x->config.page_bytes);
}

static int goes_on(struct peet_extract *x, const struct pattern *p, const struct peet_extract_insn *i)
{
    return p->done && i->pc == p->next && i->sp == p->sp && stack_page(x, i) == p->physical;
}

/** Another thread than the one before, or that one in a handler of a signal: has it been interrupted in the pattern? */
static void change(struct peet_extract *x, struct pattern *p, const struct peet_extract_insn *i)
{
    const unsigned n = x->ninterrupted < INTERRUPTED ? x->ninterrupted : INTERRUPTED;

    if (p->done)
        x->interrupted[x->ninterrupted++ % INTERRUPTED] = *p;
    p->done = 0;
    for (unsigned k = 0; k < n && !p->done; k++)
        if (goes_on(x, &x->interrupted[k], i)) {
            *p = x->interrupted[k];
            x->interrupted[k].done = 0;
        }
}

/** Returns: 1 if the pattern is complete with this instruction */
static int advance(struct peet_extract *x, struct pattern *p, const struct peet_extract_insn *i)
{
    if (i->pc >> 63) /* an operating system's: the thread may go on after it */
        return 0;
    if (!goes_on(x, p, i))
        change(x, p, i);
    if (p->done && is_add(i)) {
        p->next = i->pc + i->length;
        if (++p->done < PATTERN)
            return 0;
        p->done = 0;
        return 1;
    }
    p->done = 0;
    if (is_mov(i))
        *p = (struct pattern){1, i->pc + i->length, i->sp, stack_page(x, i)};
    return 0;
}

/** A thread is there.  One that had the same stack is over.  Returns: 0, or -2 */
static int found(struct peet_extract *x, const struct peet_extract_insn *i)
{
    const uint64_t page = x->config.page_bytes, hi = i->sp - i->sp % page + x->config.pages_above * page;
    const struct target t = {hi - x->config.stack_bytes, hi, x->ops.translate(x->arg, i->core, hi - page), x->nthreads};
    size_t at = 0;

    if (t.physical == PEET_EXTRACT_UNMAPPED)
        return 0;
    while (at < x->ntargets && (x->targets[at].hi != t.hi || x->targets[at].physical != t.physical))
        at++;
    if (at == x->room) {
        const size_t room = x->room ? 2 * x->room : 16;
        struct target *more = realloc(x->targets, room * sizeof *more);

        if (!more)
            return -2;
        x->targets = more;
        x->room = room;
    }
    x->ntargets += at == x->ntargets;
    x->targets[at] = t;
    x->nthreads++;
    if (x->ops.thread)
        x->ops.thread(x->arg, t.thread, x->ops.number ? x->ops.number(x->arg, i->core) : PEET_EXTRACT_NO_NUMBER);
    return 0;
}

static int belongs(struct peet_extract *x, const struct target *t, const struct peet_extract_insn *i)
{
    return i->sp > t->lo && i->sp <= t->hi &&
        x->ops.translate(x->arg, i->core, t->hi - x->config.page_bytes) == t->physical;
}

int peet_extract_step(struct peet_extract *x, const struct peet_extract_insn *i)
{
    struct core *p = core_of(x, i->core);
    size_t at;

    if (!p)
        return -2;
    at = p->last;
    if (at >= x->ntargets || !belongs(x, &x->targets[at], i))
        for (at = 0; at < x->ntargets && !belongs(x, &x->targets[at], i); at++)
            ;
    if (at < x->ntargets)
        p->last = at;
    if (advance(x, &p->pattern, i) && found(x, i)) /* what follows is the thread's */
        return -2;
    if (at == x->ntargets)
        return -1;
    if (x->ops.insn)
        x->ops.insn(x->arg, x->targets[at].thread, i);
    return (int)x->targets[at].thread;
}
