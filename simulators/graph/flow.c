/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The observer `graph`: how much data nodes hand to each other (data=on).  A node that reads a word which another one
 * wrote last takes it from there; however often it reads the word, that counts once.  Words have 4 bytes.
 *
 *     node 3 writes w        node 7 reads w, reads w        node 3 writes w        node 7 reads w
 *     writer of w: 3         3 -> 7: 4 bytes                writer of w: 3         (taken already from there)
 *
 * `seen` holds what a node has taken, until it ends; the last reader stands beside the word, so that most readings need
 * not look there.
 */
#define HASH_NONFATAL_OOM 1
#include "graph.h"

#include "common/linemap.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { WORD_BITS = 2, WORD_BYTES = 1 << WORD_BITS };

/** Node numbers + 1; 0: none. */
struct word {
    uint32_t writer, reader;
};

struct seen {
    struct {
        uint64_t word;
        uint32_t reader, writer;
    } key;
    struct seen *next; /* of the same reader */
    UT_hash_handle hh;
};

struct pair {
    struct {
        uint32_t from, to;
    } key;
    uint64_t bytes;
    UT_hash_handle hh;
};

struct graph_flow {
    struct peet_sim_linemap words;
    struct seen *seen;
    struct pair *pairs;
};

static void fail(struct graph *g)
{
    if (!g->failed)
        g->env->fail(g->env, "out of memory for the data that nodes share; --observe graph,data=off needs less");
    g->failed = 1;
}

struct graph_flow *graph_flow_new(void)
{
    struct graph_flow *f = calloc(1, sizeof *f);

    if (f)
        peet_sim_linemap_init(&f->words, sizeof(struct word));
    return f;
}

void graph_flow_free(struct graph_flow *f)
{
    struct seen *s, *next_seen;
    struct pair *p, *next_pair;

    if (!f)
        return;
    HASH_ITER(hh, f->seen, s, next_seen)
    {
        HASH_DEL(f->seen, s);
        free(s);
    }
    HASH_ITER(hh, f->pairs, p, next_pair)
    {
        HASH_DEL(f->pairs, p);
        free(p);
    }
    peet_sim_linemap_fini(&f->words);
    free(f);
}

void graph_flow_end(struct graph *g, uint32_t node)
{
    struct seen *s = g->nodes[node].seen, *next;

    for (; s; s = next) {
        next = s->next;
        HASH_DEL(g->flow->seen, s);
        free(s);
    }
    g->nodes[node].seen = NULL;
}

static void count(struct graph *g, uint32_t from, uint32_t to)
{
    struct pair like = {.key = {from, to}}, *p;

    HASH_FIND(hh, g->flow->pairs, &like.key, sizeof like.key, p);
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->key = like.key;
        HASH_ADD(hh, g->flow->pairs, key, sizeof p->key, p);
        if (!p->hh.tbl) {
            free(p);
            p = NULL;
        }
    }
    if (!p)
        fail(g);
    else
        p->bytes += WORD_BYTES;
}

/** A node takes a word from another one, the first time or again. */
static void take(struct graph *g, uint64_t word, uint32_t writer, uint32_t reader)
{
    struct seen *s = calloc(1, sizeof *s), *old;

    if (!s) {
        fail(g);
        return;
    }
    s->key.word = word;
    s->key.reader = reader;
    s->key.writer = writer;
    HASH_FIND(hh, g->flow->seen, &s->key, sizeof s->key, old);
    if (old) {
        free(s);
        return;
    }
    HASH_ADD(hh, g->flow->seen, key, sizeof s->key, s);
    if (!s->hh.tbl) {
        free(s);
        fail(g);
        return;
    }
    s->next = g->nodes[reader].seen;
    g->nodes[reader].seen = s;
    count(g, writer, reader);
}

static void access(struct graph *g, uint32_t node, const struct peet_ref *ref, uint64_t address)
{
    uint64_t last = (address + (ref->size_bytes ? ref->size_bytes - 1u : 0)) >> WORD_BITS;

    for (uint64_t w = address >> WORD_BITS; w <= last; w++) {
        struct word *word = peet_sim_linemap_get(&g->flow->words, w);

        if (!word) {
            fail(g);
            return;
        }
        if (ref->kind != PEET_REF_STORE && word->writer && word->writer != node + 1 && word->reader != node + 1) {
            take(g, w, word->writer - 1, node);
            word->reader = node + 1;
        }
        if (ref->kind != PEET_REF_LOAD)
            *word = (struct word){node + 1, 0};
    }
}

static void references(struct graph *g, uint32_t node, const struct peet_block *b, const uint64_t *values)
{
    for (uint32_t i = 0; i < b->nrefs && !g->failed; i++) {
        struct peet_ref_iter it = peet_ref_begin(&b->refs[i], values);

        for (; it.count && b->refs[i].kind != PEET_REF_PREFETCH; it.count--, it.address += (uint64_t)it.step)
            access(g, node, &b->refs[i], it.address);
    }
}

void graph_flow_block(struct graph *g, uint32_t node, const struct peet_block_event *event)
{
    const struct peet_block *b = event->block;
    uint64_t *values;

    if (node == GRAPH_NONE || !b->nrefs || !event->values)
        return;
    references(g, node, b, event->values);
    if (event->turns < 2 || !event->strides)
        return;
    values = malloc((b->nvalues + 1) * sizeof *values);
    if (!values) {
        fail(g);
        return;
    }
    memcpy(values, event->values, b->nvalues * sizeof *values);
    for (uint64_t k = 1; k < event->turns && !g->failed; k++) {
        for (uint32_t i = 0; i < b->nvalues; i++)
            values[i] += (uint64_t)event->strides[i];
        references(g, node, b, values);
    }
    free(values);
}

/* -------------------------------------------------------------------------------------------------- results */

struct share {
    uint32_t from, to;
    uint64_t bytes;
};

static int by_place(const void *a, const void *b)
{
    const struct share *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/** The number that a node's task has in the results; barriers, which no task executes, share no data. */
static uint32_t task_number(const struct graph *g, uint32_t node)
{
    uint32_t task = g->nodes[node].task;

    return task == GRAPH_NONE ? 0 : g->tasks[task].number;
}

/** @list: by nodes as they were made */
static void put_tasks(const struct graph *g, const struct peet_env *env, struct peet_stats *node, struct share *list,
    size_t n)
{
    struct peet_stats *all = env->stats_array(env, node, "task_data");
    uint32_t *tasks = malloc((g->ntasks + 1) * sizeof *tasks);
    char name[256];

    if (!tasks) {
        env->fail(env, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < g->ntasks; i++)
        tasks[g->tasks[i].number] = i;
    for (size_t i = 0; i < n; i++) {
        list[i].from = task_number(g, list[i].from);
        list[i].to = task_number(g, list[i].to);
    }
    qsort(list, n, sizeof *list, by_place);
    for (size_t i = 0, next; i < n; i = next) {
        uint64_t bytes = 0;
        struct peet_stats *o;

        for (next = i; next < n && !by_place(&list[i], &list[next]); next++)
            bytes += list[next].bytes;
        if (list[i].from == list[i].to)
            continue;
        o = env->stats_object(env, all, NULL);
        graph_task_name(g, tasks[list[i].from], name, sizeof name);
        env->stats_string(env, o, "from", name);
        graph_task_name(g, tasks[list[i].to], name, sizeof name);
        env->stats_string(env, o, "to", name);
        env->stats_u64(env, o, "bytes", bytes);
    }
    free(tasks);
}

void graph_flow_stats(const struct graph *g, const struct peet_env *env, struct peet_stats *node)
{
    const struct pair *p;
    struct share *list = malloc((HASH_COUNT(g->flow->pairs) + 1) * sizeof *list);
    struct peet_stats *all;
    uint64_t sum = 0;
    size_t n = 0;

    if (!list) {
        env->fail(env, "out of memory");
        return;
    }
    for (p = g->flow->pairs; p; p = p->hh.next) {
        list[n++] = (struct share){g->nodes[p->key.from].number, g->nodes[p->key.to].number, p->bytes};
        sum += p->bytes;
    }
    qsort(list, n, sizeof *list, by_place);
    env->stats_u64(env, node, "shared_bytes", sum);
    all = env->stats_array(env, node, "data_list");
    for (size_t i = 0; i < n; i++) {
        struct peet_stats *o = env->stats_object(env, all, NULL);

        env->stats_u64(env, o, "from", list[i].from);
        env->stats_u64(env, o, "to", list[i].to);
        env->stats_u64(env, o, "bytes", list[i].bytes);
    }
    n = 0;
    for (p = g->flow->pairs; p; p = p->hh.next)
        list[n++] = (struct share){p->key.from, p->key.to, p->bytes};
    put_tasks(g, env, node, list, n);
    free(list);
}
