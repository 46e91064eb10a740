/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the table of costs (costs_format.h).  Opening checks the header and reads the names; a processor's part is
 * read when it is first asked for.  Every number is checked against the bytes that are left, and against what it
 * counts or points to: a damaged file yields PEET_EFORMAT.
 */
#include "program/costs.h"

#include "program/costs_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 256, MODELS_MAX = 4096 };

/** What differs from an opcode's own cost. */
struct varied {
    uint32_t opcode, variant, cost;
};

/** One scheduling model; processors that share it have copies of its description under their own names. */
struct model {
    const uint8_t *at, *end; /* its part of the file */
    int loaded;
    struct peet_processor processor;
    struct peet_resource *resources;
    struct peet_cost *costs;
    uint32_t ncosts;
    uint32_t *own;         /* cost of each opcode: 0 none, else index + 1 */
    struct varied *varied; /* by opcode, then variant */
    uint32_t nvaried;
};

/** A processor that was asked for; its opcodes are looked up by name once. */
struct processor {
    struct peet_processor pub;
    const struct model *model;
    struct peet_cost **guesses;
    size_t nguesses;
    const struct peet_opcode **keys; /* open addressing */
    const struct peet_cost **values;
    size_t mask, used;
};

struct peet_costs {
    char *path, *llvm;
    void *map;
    size_t map_bytes;
    char **opcodes;
    uint32_t nopcodes;
    char **names;
    uint32_t *model_of;
    uint32_t nnames;
    struct model *models;
    uint32_t nmodels;
    struct processor **processors;
    size_t nprocessors;
    void **owned; /* allocations */
    size_t nowned;
};

/* ---------------------------------------------------------------------------------------- numbers */

struct in {
    struct peet_costs *costs;
    const uint8_t *at, *end;
    const char *why; /* first thing wrong */
    int err;
};

static void fail(struct in *in, int err, const char *why)
{
    if (!in->why) {
        in->why = why;
        in->err = err;
    }
    in->at = in->end;
}

static uint64_t u(struct in *in)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b;

        if (in->at == in->end) {
            fail(in, PEET_EFORMAT, "the file ends early");
            return 0;
        }
        b = *in->at++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
    fail(in, PEET_EFORMAT, "number too long");
    return 0;
}

static int64_t i(struct in *in)
{
    uint64_t v = u(in);

    return (int64_t)(v >> 1 ^ -(v & 1));
}

static uint32_t upto(struct in *in, uint64_t limit, const char *why)
{
    uint64_t v = u(in);

    if (v > limit) {
        fail(in, PEET_EFORMAT, why);
        return 0;
    }
    return (uint32_t)v;
}

/** The number of one of @n things. */
static uint32_t below(struct in *in, uint64_t n, const char *why)
{
    uint64_t v = u(in);

    if (v >= n) {
        fail(in, PEET_EFORMAT, why);
        return 0;
    }
    return (uint32_t)v;
}

/** A count of things of at least one byte each. */
static uint32_t count(struct in *in)
{
    uint64_t v = u(in);

    if (v > (uint64_t)(in->end - in->at)) {
        fail(in, PEET_EFORMAT, "a count is larger than the file");
        return 0;
    }
    return (uint32_t)v;
}

/** Zeroed memory that goes with the table; NULL after fail(). */
static void *own(struct in *in, size_t n, size_t size)
{
    struct peet_costs *c = in->costs;
    void *p = calloc(n + 1, size), **owned = c->owned;

    if (!(c->nowned & (c->nowned - 1)))
        owned = realloc(c->owned, (c->nowned ? 2 * c->nowned : 1) * sizeof *owned);
    if (owned)
        c->owned = owned;
    if (!p || !owned) {
        free(p);
        fail(in, PEET_ENOMEM, "out of memory");
        return NULL;
    }
    c->owned[c->nowned++] = p;
    return p;
}

static char *string(struct in *in)
{
    uint32_t n = count(in);
    char *s = own(in, n, 1);

    if (!s || in->why)
        return NULL;
    memcpy(s, in->at, n);
    in->at += n;
    if (memchr(s, 0, n))
        fail(in, PEET_EFORMAT, "a name with a zero in it");
    return s;
}

static int finish(const struct in *in, struct peet_error *error)
{
    if (!in->why)
        return 0;
    return peet_error_set(error, in->err,
        in->err == PEET_ENOMEM ? "%s: %s" : "%s: damaged table of costs: %s; build peet again", in->costs->path,
        in->why);
}

/* ------------------------------------------------------------------------------------------ names */

/** Many names come to lie in one allocation: there are some twenty thousand. */
static void read_opcodes(struct in *in)
{
    enum { TOGETHER_BYTES = 1 << 16 };
    struct peet_costs *c = in->costs;
    const char *last = "";
    char *room = NULL;
    size_t length = 0, left = 0;

    c->nopcodes = count(in);
    c->opcodes = own(in, c->nopcodes, sizeof *c->opcodes);
    for (uint32_t k = 0; k < c->nopcodes && !in->why; k++) {
        size_t shared = upto(in, length, "an opcode shares more than the one before has"), n = count(in);

        if (shared + n >= NAME_BYTES)
            fail(in, PEET_EFORMAT, "the name of an opcode is too long");
        if (!in->why && left < shared + n + 1)
            room = own(in, left = TOGETHER_BYTES, 1);
        if (in->why)
            return;
        length = shared + n;
        c->opcodes[k] = memcpy(room, last, shared);
        memcpy(room + shared, in->at, n);
        room[length] = 0;
        in->at += n;
        if (memchr(room + shared, 0, n) || (k && strcmp(last, room) >= 0))
            fail(in, PEET_EFORMAT, "the names of opcodes are not in order");
        last = room;
        room += length + 1;
        left -= length + 1;
    }
}

static void read_head(struct in *in)
{
    struct peet_costs *c = in->costs;

    c->llvm = string(in);
    read_opcodes(in);
    c->nmodels = upto(in, MODELS_MAX, "too many processors");
    c->nnames = count(in);
    c->models = own(in, c->nmodels, sizeof *c->models);
    c->names = own(in, c->nnames, sizeof *c->names);
    c->model_of = own(in, c->nnames, sizeof *c->model_of);
    for (uint32_t k = 0; k < c->nnames && !in->why; k++) {
        c->names[k] = string(in);
        c->model_of[k] = below(in, c->nmodels, "a processor without a model");
        if (!in->why && k && strcmp(c->names[k - 1], c->names[k]) >= 0)
            fail(in, PEET_EFORMAT, "the names of processors are not in order");
    }
    for (uint32_t k = 0; k < c->nmodels && !in->why; k++) {
        uint32_t n = count(in);

        c->models[k].at = in->at;
        c->models[k].end = in->at += n;
    }
    if (!in->why && in->at != in->end)
        fail(in, PEET_EFORMAT, "bytes left over");
}

/* ----------------------------------------------------------------------------------------- models */

static void read_resources(struct in *in, struct model *m)
{
    uint32_t n = upto(in, 64, "more than 64 resources");

    m->resources = own(in, n, sizeof *m->resources);
    m->processor.nresources = n;
    m->processor.resources = m->resources;
    for (uint32_t k = 0; k < n && !in->why; k++) {
        struct peet_resource *r = &m->resources[k];
        uint32_t *parts;

        r->name = string(in);
        r->units = upto(in, 255, "a resource of too many units");
        r->buffer = (int32_t)i(in);
        r->nparts = count(in);
        r->parts = parts = own(in, r->nparts, sizeof *parts);
        for (uint32_t p = 0; p < r->nparts && !in->why; p++)
            parts[p] = below(in, n, "a group of unknown parts");
    }
}

static void read_cost(struct in *in, const struct model *m, struct peet_cost *c)
{
    uint64_t last = m->processor.nresources ? m->processor.nresources - 1 : 0;
    struct peet_resource_use *uses;
    uint16_t *writes;
    int8_t *advances;
    uint32_t flags, n;

    c->known = 1;
    c->uops = (uint16_t)upto(in, UINT16_MAX, "too many micro-operations");
    c->latency_cycles = (uint16_t)upto(in, UINT16_MAX, "latency out of range");
    flags = upto(in, 15, "unknown flags of a cost");
    c->zero_idiom = (flags & PEET_COSTS_ZERO_IDIOM) != 0;
    c->eliminated = (flags & PEET_COSTS_ELIMINATED) != 0;
    c->begins_group = (flags & PEET_COSTS_BEGINS_GROUP) != 0;
    c->ends_group = (flags & PEET_COSTS_ENDS_GROUP) != 0;
    c->rthroughput_millicycles = upto(in, UINT32_MAX, "throughput out of range");
    c->nuses = (uint16_t)upto(in, m->processor.nresources, "more uses than resources");
    c->uses = uses = own(in, c->nuses, sizeof *uses);
    for (unsigned k = 0; k < c->nuses && !in->why; k++) {
        uint32_t units;

        uses[k].resource = (uint16_t)upto(in, last, "use of an unknown resource");
        uses[k].first_cycle = (uint16_t)upto(in, INT16_MAX, "use of a resource out of range");
        uses[k].end_cycle = (uint16_t)(uses[k].first_cycle + upto(in, INT16_MAX, "use of a resource out of range"));
        units = upto(in, 511, "use of too many units");
        uses[k].units = (uint8_t)(units >> 1);
        uses[k].reserved = units & 1;
    }
    n = upto(in, m->processor.nresources, "more buffers than resources");
    for (uint32_t k = 0; k < n && !in->why; k++)
        c->buffers |= UINT64_C(1) << upto(in, last, "buffer of an unknown resource");
    c->nwrites = (uint8_t)upto(in, UINT8_MAX, "too many writes");
    c->writes = writes = own(in, c->nwrites, sizeof *writes);
    for (unsigned k = 0; k < c->nwrites && !in->why; k++)
        writes[k] = (uint16_t)upto(in, UINT16_MAX, "latency out of range");
    c->nadvances = (uint8_t)upto(in, UINT8_MAX, "too many reads");
    c->advances = advances = own(in, c->nadvances, sizeof *advances);
    for (unsigned k = 0; k < c->nadvances && !in->why; k++) {
        int64_t a = i(in);

        if (a < INT8_MIN || a > INT8_MAX)
            fail(in, PEET_EFORMAT, "read advance out of range");
        advances[k] = (int8_t)a;
        if (a > c->address_advance_cycles)
            c->address_advance_cycles = (uint16_t)a;
    }
}

static void read_varied(struct in *in, struct model *m)
{
    uint32_t n = count(in), opcode = 0, room = 0;

    for (uint32_t k = 0; k < n && !in->why; k++) {
        uint32_t at = below(in, in->costs->nopcodes, "costs of an unknown opcode"), of = count(in), variant = 0;

        if (k && at <= opcode)
            fail(in, PEET_EFORMAT, "costs that are not in order");
        opcode = at;
        for (uint32_t v = 0; v < of && !in->why; v++) {
            uint32_t w = upto(in, UINT16_MAX, "variant out of range"), cost = upto(in, m->ncosts, "unknown cost");
            struct varied *more = m->varied;

            if (v && w <= variant)
                fail(in, PEET_EFORMAT, "costs that are not in order");
            variant = w;
            if (m->nvaried == room && !(more = realloc(m->varied, (room = room ? 2 * room : 256) * sizeof *more))) {
                fail(in, PEET_ENOMEM, "out of memory");
                return;
            }
            m->varied = more;
            m->varied[m->nvaried++] = (struct varied){opcode, variant, cost};
        }
    }
}

static int load(struct peet_costs *c, struct model *m, struct peet_error *error)
{
    struct in in = {c, m->at, m->end, NULL, 0};
    struct peet_processor *p = &m->processor;
    int err;

    if (m->loaded)
        return 0;
    p->dispatch_uops = upto(&in, UINT32_MAX, "dispatch width out of range");
    p->window_uops = upto(&in, UINT32_MAX, "window out of range");
    p->load_cycles = upto(&in, UINT32_MAX, "load latency out of range");
    p->mispredict_cycles = upto(&in, UINT32_MAX, "misprediction out of range");
    p->retire_uops = upto(&in, UINT32_MAX, "retirement out of range");
    p->load_queue = upto(&in, UINT32_MAX, "load queue out of range");
    p->store_queue = upto(&in, UINT32_MAX, "store queue out of range");
    p->moves_eliminated = upto(&in, UINT32_MAX, "moves out of range");
    p->in_order = (uint8_t)upto(&in, 1, "neither in order nor out of it");
    if (!in.why && !p->dispatch_uops)
        fail(&in, PEET_EFORMAT, "a processor whose dispatch width is 0");
    read_resources(&in, m);
    m->ncosts = count(&in);
    m->costs = own(&in, m->ncosts, sizeof *m->costs);
    for (uint32_t k = 0; k < m->ncosts && !in.why; k++)
        read_cost(&in, m, &m->costs[k]);
    m->own = own(&in, c->nopcodes, sizeof *m->own);
    for (uint32_t k = 0; k < c->nopcodes && !in.why; k++)
        m->own[k] = upto(&in, m->ncosts, "unknown cost");
    if (!in.why)
        read_varied(&in, m);
    if (!in.why && in.at != in.end)
        fail(&in, PEET_EFORMAT, "bytes left over");
    err = finish(&in, error);
    if (err) {
        free(m->varied);
        m->varied = NULL;
        m->nvaried = 0;
    } else
        m->loaded = 1;
    return err;
}

/* -------------------------------------------------------------------------------------- open, close */

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int peet_costs_read(const void *bytes, size_t size, const char *path, struct peet_costs **out_costs,
    struct peet_error *error)
{
    struct peet_costs *c = calloc(1, sizeof *c);
    const uint8_t *p = bytes;
    struct in in = {c, p + PEET_COSTS_HEADER_BYTES, p + size, NULL, 0};
    int err = 0;

    *out_costs = NULL;
    if (!c || !(c->path = strdup(path))) {
        free(c);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    if (size < PEET_COSTS_HEADER_BYTES || memcmp(p, PEET_COSTS_MAGIC, 8))
        err = peet_error_set(error, PEET_EFORMAT, "%s: not a table of instruction costs", path);
    else if (u32(p + 8) != PEET_COSTS_VERSION)
        err = peet_error_set(error, PEET_EVERSION,
            "%s: table of costs of version %u; this peet reads version %u: build peet again", path, u32(p + 8),
            PEET_COSTS_VERSION);
    else if (u32(p + 12) != size - PEET_COSTS_HEADER_BYTES)
        err = peet_error_set(error, PEET_EFORMAT,
            "%s: damaged table of costs: it has %zu bytes, not %u; build peet again", path,
            size - PEET_COSTS_HEADER_BYTES, u32(p + 12));
    if (!err) {
        read_head(&in);
        err = finish(&in, error);
    }
    if (err) {
        peet_costs_close(c);
        return err;
    }
    *out_costs = c;
    return 0;
}

int peet_costs_open(const char *path, struct peet_costs **out_costs, struct peet_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), err;
    struct stat st;
    void *map = MAP_FAILED;

    *out_costs = NULL;
    if (fd < 0 || fstat(fd, &st) ||
        (st.st_size && (map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)) {
        err = peet_error_set(error, PEET_EIO, "%s: cannot read the table of instruction costs: %s", path,
            strerror(errno));
        if (fd >= 0)
            close(fd);
        return err;
    }
    close(fd);
    err = peet_costs_read(map == MAP_FAILED ? (void *)"" : map, (size_t)st.st_size, path, out_costs, error);
    if (err && map != MAP_FAILED)
        munmap(map, (size_t)st.st_size);
    else if (!err) {
        (*out_costs)->map = map;
        (*out_costs)->map_bytes = (size_t)st.st_size;
    }
    return err;
}

void peet_costs_close(struct peet_costs *c)
{
    if (!c)
        return;
    for (size_t k = 0; k < c->nprocessors; k++) {
        struct processor *p = c->processors[k];

        for (size_t g = 0; g < p->nguesses; g++)
            free(p->guesses[g]);
        free(p->guesses);
        free(p->keys);
        free(p->values);
        free(p);
    }
    free(c->processors);
    for (uint32_t k = 0; c->models && k < c->nmodels; k++)
        free(c->models[k].varied);
    for (size_t k = 0; k < c->nowned; k++)
        free(c->owned[k]);
    free(c->owned);
    if (c->map)
        munmap(c->map, c->map_bytes);
    free(c->path);
    free(c);
}

const char *peet_costs_llvm(const struct peet_costs *c)
{
    return c->llvm;
}

const char *peet_costs_name(const struct peet_costs *c, size_t k)
{
    return k < c->nnames ? c->names[k] : NULL;
}

/* ---------------------------------------------------------------------------------------- lookups */

static int by_name(const void *key, const void *item)
{
    return strcmp(key, *(char *const *)item);
}

int peet_costs_processor(struct peet_costs *c, const char *mcpu, const struct peet_processor **out_processor,
    struct peet_error *error)
{
    char **name = c->nnames ? bsearch(mcpu, c->names, c->nnames, sizeof *c->names, by_name) : NULL;
    struct processor *p, **all;
    struct model *m;
    int err;

    *out_processor = NULL;
    for (size_t k = 0; k < c->nprocessors; k++)
        if (!strcmp(c->processors[k]->pub.name, mcpu)) {
            *out_processor = &c->processors[k]->pub;
            return 0;
        }
    if (!name)
        return peet_error_set(error, PEET_ENOTFOUND, "no costs of a processor '%s'", mcpu);
    m = &c->models[c->model_of[name - c->names]];
    err = load(c, m, error);
    if (err)
        return err;
    p = calloc(1, sizeof *p);
    all = realloc(c->processors, (c->nprocessors + 1) * sizeof *all);
    if (all)
        c->processors = all;
    if (!p || !all) {
        free(p);
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", c->path);
    }
    p->pub = m->processor;
    p->pub.name = *name;
    p->model = m;
    c->processors[c->nprocessors++] = p;
    *out_processor = &p->pub;
    return 0;
}

/** An opcode that the model does not know costs what the schema says of it; if that is nothing, one cycle. */
static const struct peet_cost *guess(struct processor *p, const struct peet_opcode *opcode)
{
    static const struct peet_cost nothing = {.uops = 1, .latency_cycles = 1, .rthroughput_millicycles = 1000};
    struct peet_cost **all = realloc(p->guesses, (p->nguesses + 1) * sizeof *all), *c = malloc(sizeof *c);

    if (all)
        p->guesses = all;
    if (!all || !c) {
        free(c);
        return &nothing;
    }
    *c = nothing;
    c->uops = opcode->uops < UINT16_MAX ? (uint16_t)opcode->uops : UINT16_MAX;
    c->latency_cycles = opcode->latency_cycles < UINT16_MAX ? (uint16_t)opcode->latency_cycles : UINT16_MAX;
    c->rthroughput_millicycles = opcode->rthroughput_millicycles;
    p->guesses[p->nguesses++] = c;
    return c;
}

int peet_costs_knows(const struct peet_costs *c, const char *opcode)
{
    return c->nopcodes && bsearch(opcode, c->opcodes, c->nopcodes, sizeof *c->opcodes, by_name);
}

static const struct peet_cost *find(struct peet_costs *c, struct processor *p, const struct peet_opcode *opcode)
{
    const struct model *m = p->model;
    char **name = c->nopcodes ? bsearch(opcode->name, c->opcodes, c->nopcodes, sizeof *c->opcodes, by_name) : NULL;
    uint32_t at, cost, lo = 0, hi = m->nvaried;

    if (!name)
        return guess(p, opcode);
    at = (uint32_t)(name - c->opcodes);
    cost = m->own[at];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct varied *v = &m->varied[mid];

        if (v->opcode < at || (v->opcode == at && v->variant < opcode->variant))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < m->nvaried && m->varied[lo].opcode == at && m->varied[lo].variant == opcode->variant)
        cost = m->varied[lo].cost;
    return cost ? &m->costs[cost - 1] : guess(p, opcode);
}

static size_t slot(const struct processor *p, const struct peet_opcode *opcode)
{
    size_t at = (size_t)((uintptr_t)opcode >> 4) * 0x9e3779b97f4a7c15u >> 20 & p->mask;

    while (p->keys[at] && p->keys[at] != opcode)
        at = (at + 1) & p->mask;
    return at;
}

/** Room for one more.  Returns: 0 if there is none */
static int reserve(struct processor *p)
{
    struct processor old = *p;
    size_t n = p->keys ? p->mask + 1 : 0;

    if (2 * (p->used + 1) <= n)
        return 1;
    p->mask = (n ? 2 * n : 256) - 1;
    p->keys = calloc(p->mask + 1, sizeof *p->keys);
    p->values = calloc(p->mask + 1, sizeof *p->values);
    if (!p->keys || !p->values) {
        free(p->keys);
        free(p->values);
        *p = old;
        return 0;
    }
    for (size_t k = 0; k < n; k++)
        if (old.keys[k]) {
            size_t at = slot(p, old.keys[k]);

            p->keys[at] = old.keys[k];
            p->values[at] = old.values[k];
        }
    free(old.keys);
    free(old.values);
    return 1;
}

const struct peet_cost *peet_costs_of(struct peet_costs *c, const struct peet_processor *processor,
    const struct peet_opcode *opcode)
{
    struct processor *p = (struct processor *)(uintptr_t)processor; /* its first member */
    size_t at;

    if (!reserve(p))
        return find(c, p, opcode);
    at = slot(p, opcode);
    if (!p->keys[at]) {
        p->keys[at] = opcode;
        p->values[at] = find(c, p, opcode);
        p->used++;
    }
    return p->values[at];
}
