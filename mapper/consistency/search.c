/* SPDX-License-Identifier: Apache-2.0 */
/* See search.h. */
#include "consistency/search.h"
#include "consistency/walks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    DIGITS_MOST = 1 << 20,                 /* choices of a token */
    NODES_MOST = PEET_SEARCH_CHOICES_MOST, /* what comes after so many choices is made in one way only */
};

/** An option that has been tried: it sleeps. */
struct sleeper {
    uint64_t id;
    struct peet_footprint footprint;
};

/** A place where there was a choice to make. */
struct node {
    uint32_t n, chosen, nsleep, ntried;
    uint8_t todo[PEET_OPTIONS_MOST]; /* options that are to be tried, or have been */
    uint64_t ids[PEET_OPTIONS_MOST];
    struct sleeper sleep[PEET_OPTIONS_MOST + 1]; /* nsleep that came from above, then ntried that were tried here */
};

/** What both processes see: address space, touched as needed. */
struct record {
    uint64_t choices, digits, nnodes, steps;
    uint8_t abandoned, mismatch, overflow;
    uint8_t unmodelled; /* steps of some execution have raced for what does not go through the model */
    uint8_t library;    /* ... for what a function of the C library refers to in one step */
    uint8_t crowded;    /* there may have been more options than are listed */
    /* steps that have raced, of struct peet_footprint */
    uint64_t emptied, behind;
    uint8_t digit[DIGITS_MOST]; /* choices among more than one */
    struct node nodes[];
};

enum { ROW_WORDS = NODES_MOST / 64 };

#define BEFORE_BYTES (NODES_MOST * ROW_WORDS * sizeof(uint64_t))
#define RECORD_BYTES (sizeof(struct record) + (NODES_MOST + 1ul) * sizeof(struct node))

struct peet_search {
    struct peet_map_chooser chooser;
    enum peet_search_kind kind;
    struct record *record;
    struct peet_walk walk;
    uint64_t longest;      /* choices of an execution so far */
    uint64_t last_owner;   /* of the option that was chosen last */
    uint64_t depth;        /* nodes of the record that are given */
    uint64_t at;           /* the next node, or digit */
    struct node *current;  /* whose step is under way */
    struct sleeper *sleep; /* for the node that comes next */
    uint64_t *before;      /* a row for each node: which nodes come before it (races()) */
    uint32_t nsleep;
    uint8_t *token;
    uint64_t ntoken;
    int walks_token; /* the token is a walk's */
};

/* ------------------------------------------------------------------------------------------------------- choosing */

static void note_digit(struct peet_search *s, unsigned n, unsigned chosen)
{
    struct record *r = s->record;

    r->choices++;
    if (n < 2)
        return;
    if (r->digits < DIGITS_MOST)
        r->digit[r->digits] = (uint8_t)chosen;
    r->digits++;
}

static int asleep(const struct sleeper *sleep, uint32_t n, uint64_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (sleep[i].id == id)
            return 1;
    return 0;
}

static int abandon(struct peet_search *s)
{
    s->record->abandoned = 1;
    return PEET_CHOICE_ABANDON;
}

/** All that the owner of an option can do at a node is to be tried. */
static void try_all(struct node *node, uint64_t id)
{
    for (uint32_t i = 0; i < node->n; i++)
        node->todo[i] |= peet_option_owner(node->ids[i]) == peet_option_owner(id);
}

/** Beyond the nodes: whoever went on last, as long as he can, so that it is known how the execution ends. */
static int choose_beyond(struct peet_search *s, const struct peet_option *options, unsigned n)
{
    s->record->overflow = 1;
    s->current = NULL;
    for (unsigned i = 0; i < n; i++)
        if (peet_option_owner(options[i].id) == s->last_owner)
            return (int)i;
    return 0;
}

static int choose_all(struct peet_search *s, const struct peet_option *options, unsigned n)
{
    struct record *r = s->record;
    struct node *node = &r->nodes[s->at];
    unsigned chosen = 0;

    if (s->at == NODES_MOST)
        return choose_beyond(s, options, n);
    s->current = node;
    if (s->at < s->depth) {
        chosen = node->chosen;
        if (node->n != n || chosen >= n || node->ids[chosen] != options[chosen].id) {
            r->mismatch = 1;
            return PEET_CHOICE_ABANDON;
        }
        s->at++;
        return (int)chosen;
    }
    node->n = n;
    node->ntried = 0;
    node->nsleep = s->nsleep;
    memcpy(node->sleep, s->sleep, s->nsleep * sizeof *s->sleep);
    for (unsigned i = 0; i < n; i++)
        node->ids[i] = options[i].id;
    while (chosen < n && asleep(node->sleep, node->nsleep, node->ids[chosen]))
        chosen++;
    if (chosen == n)
        return abandon(s);
    node->chosen = chosen;
    memset(node->todo, 0, sizeof node->todo);
    try_all(node, node->ids[chosen]);
    r->nnodes = ++s->at;
    return (int)chosen;
}

static int choose_token(struct peet_search *s, unsigned n)
{
    unsigned chosen = 0;

    if (n > 1 && s->at < s->ntoken)
        chosen = s->token[s->at++];
    if (chosen >= n) {
        s->record->mismatch = 1;
        return PEET_CHOICE_ABANDON;
    }
    return (int)chosen;
}

static int choose(void *arg, const struct peet_option *options, unsigned n)
{
    struct peet_search *s = arg;
    int chosen;

    if (s->kind == PEET_SEARCH_RANDOM || s->walks_token) {
        chosen = (int)peet__walk_choose(&s->walk, options, n);
    } else {
        if (n >= PEET_OPTIONS_MOST) {
            s->record->crowded = 1;
            n = PEET_OPTIONS_MOST;
        }
        chosen = s->kind == PEET_SEARCH_ALL ? choose_all(s, options, n) : choose_token(s, n);
    }
    if (chosen >= 0) {
        note_digit(s, n, (unsigned)chosen);
        s->last_owner = peet_option_owner(options[chosen].id);
    }
    return chosen;
}

/** Who sleeps on: what does not conflict with the step. */
static void pass_on(struct peet_search *s, const struct node *node, const struct peet_footprint *footprint)
{
    s->nsleep = 0;
    for (uint32_t i = 0; i < node->nsleep + node->ntried; i++)
        if (s->nsleep < PEET_OPTIONS_MOST && node->sleep[i].id != node->ids[node->chosen] &&
            !peet__footprint_conflict(&node->sleep[i].footprint, footprint))
            s->sleep[s->nsleep++] = node->sleep[i];
}

static void done(void *arg, const struct peet_footprint *footprint)
{
    struct peet_search *s = arg;
    struct node *node = s->current;

    if (s->kind != PEET_SEARCH_ALL || !node)
        return;
    s->record->steps = s->at;
    if (s->at < s->depth) /* its footprint is known, and so are those that sleep behind it */
        return;
    pass_on(s, node, footprint);
    if (node->nsleep + node->ntried < PEET_OPTIONS_MOST)
        node->sleep[node->nsleep + node->ntried] = (struct sleeper){node->ids[node->chosen], *footprint};
}

/* -------------------------------------------------------------------------------------------------- life and death */

struct peet_search *peet_search_new(enum peet_search_kind kind, uint64_t seed, uint64_t steps_most)
{
    struct peet_search *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->chooser = (struct peet_map_chooser){.choose = choose, .done = done, .steps_most = steps_most, .arg = s};
    s->kind = kind;
    s->walk.seed = seed;
    s->sleep = calloc(PEET_OPTIONS_MOST, sizeof *s->sleep);
    s->record = mmap(NULL, RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    s->before = mmap(NULL, BEFORE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->record == MAP_FAILED || s->before == MAP_FAILED || !s->sleep) {
        s->record = s->record == MAP_FAILED ? NULL : s->record;
        s->before = s->before == MAP_FAILED ? NULL : s->before;
        peet_search_free(s);
        return NULL;
    }
    peet_search_begin(s);
    return s;
}

void peet_search_free(struct peet_search *s)
{
    if (!s)
        return;
    if (s->record)
        munmap(s->record, RECORD_BYTES);
    if (s->before)
        munmap(s->before, BEFORE_BYTES);
    free(s->sleep);
    free(s->token);
    free(s);
}

const struct peet_map_chooser *peet_search_chooser(struct peet_search *search)
{
    return &search->chooser;
}

void peet_search_begin(struct peet_search *s)
{
    struct record *r = s->record;

    r->choices = r->digits = r->steps = 0;
    r->abandoned = r->mismatch = r->overflow = r->crowded = 0;
    s->at = 0;
    s->nsleep = 0;
    s->current = NULL;
    s->depth = r->nnodes;
    if (s->kind == PEET_SEARCH_RANDOM)
        peet__walk_begin(&s->walk, s->walk.seed, s->walk.number, s->longest);
}

/* ------------------------------------------------------------------------------------------- what to try besides */

static const struct peet_footprint *footprint_of(const struct node *node)
{
    return &node->sleep[node->nsleep + node->ntried].footprint;
}

/** Can the owner of an option do something at a node? */
static int can_go_on(const struct node *node, uint64_t id)
{
    for (uint32_t i = 0; i < node->n; i++)
        if (peet_option_owner(node->ids[i]) == peet_option_owner(id))
            return 1;
    return 0;
}

/** Has the owner of an option made the step at a node? */
static int is_step_of(const struct node *node, uint64_t id)
{
    return peet_option_owner(node->ids[node->chosen]) == peet_option_owner(id);
}

/** Is what the owner of an option can do at a node to be tried already, or needs not be? */
static int provided_for(const struct node *node, uint64_t id)
{
    int sleeps = 1;

    for (uint32_t i = 0; i < node->n; i++)
        if (peet_option_owner(node->ids[i]) == peet_option_owner(id)) {
            if (node->todo[i])
                return 1;
            sleeps &= asleep(node->sleep, node->nsleep + node->ntried, node->ids[i]);
        }
    return sleeps;
}

/** One of these processes must be tried at a node, unless one of them has been, or sleeps. */
static void add_one(struct node *node, const uint64_t *ids, uint32_t nids)
{
    const uint64_t *first = NULL;

    for (uint32_t i = 0; i < nids; i++) {
        if (!can_go_on(node, ids[i]))
            continue;
        if (provided_for(node, ids[i]))
            return;
        if (!first)
            first = &ids[i];
    }
    if (first) {
        try_all(node, *first);
        return;
    }
    memset(node->todo, 1, node->n); /* none of them could go on there: whatever could */
}

/** Those that a step has kept from going on must be tried before it.  @next: NULL: the program is over */
static void kept_from(struct node *node, const struct node *next)
{
    for (uint32_t o = 0; o < node->n; o++)
        if (o != node->chosen && (!next || !can_go_on(next, node->ids[o])))
            add_one(node, &node->ids[o], 1);
}

/** Of two steps that race: what left for a call of a library, and what came after one, if threads share it.  Not what a processor does to its
 * own stores. */
static void note_library_fences(struct record *r, const struct peet_footprint *first,
    const struct peet_footprint *second)
{
    const uint64_t one = first->emptied | first->behind, other = second->emptied | second->behind;

    if ((one | other) && !(one & other) && peet__footprint_shares(first, second)) {
        r->emptied |= first->emptied | second->emptied;
        r->behind |= first->behind | second->behind;
    }
}

/**
 * Dynamic partial order reduction (source sets, Abdulla, Aronis, Jonsson, Sagonas 2014).  Two steps that race, with
 * nothing between them that makes the second come after the first, could have been made in the other order: there, one
 * must be tried that begins what comes before the second and does not depend on the first.  What a step needs cannot
 * come after it, and nothing that comes before what it needs races with it.  What it only has to wait for is between
 * nothing: a fence waits until a queue is empty, but races with each store that went into the queue, as that could have
 * come after the fence, and then there is nothing to wait for.  (So with locks: what races is the two that take it, not
 * the release between them.)
 *
 * The rows of @before that the last execution had in common with this one are as they were then.
 *
 * Returns: 0, or -1 out of memory
 */
static int races(struct peet_search *s)
{
    struct record *r = s->record;
    const uint64_t n = r->nnodes, words = (n + 63) / 64;
    const int given_up = r->overflow || r->choices >= s->chooser.steps_most; /* who knows what would have come */
    uint64_t *needed = malloc((words + 1) * sizeof *needed), *ids = malloc((n + 1) * sizeof *ids);

    if (!needed || !ids) {
        r->overflow = 1;
        free(needed);
        free(ids);
        return -1;
    }
#define BEFORE(j, i) (s->before[(j) * ROW_WORDS + (i) / 64] >> (i) % 64 & 1)
    for (uint64_t j = s->depth - (s->depth > 0); j < n; j++) {
        uint64_t *const row = &s->before[j * ROW_WORDS];
        const struct node *second = &r->nodes[j];
        const uint64_t id = second->ids[second->chosen];
        /* the last step before which this one was not possible; no need to look behind its owner's last step, which
         * comes after what made that one possible */
        uint64_t enabler = j;

        while (enabler && !is_step_of(&r->nodes[enabler - 1], id) && can_go_on(&r->nodes[enabler - 1], id))
            enabler--;
        /* as before[j], without what comes by way of those that it has only waited for */
        memset(needed, 0, words * sizeof *needed);
        memset(row, 0, words * sizeof *row);
        for (uint64_t i = j; i-- > 0;) {
            struct node *first = &r->nodes[i];
            enum peet_relation relation;
            uint32_t nids = 0;

            if (needed[i / 64] >> i % 64 & 1) /* by way of something between */
                continue;
            relation = is_step_of(first, id) ? PEET_RELATION_NEEDS
                                             : peet__footprint_relation(footprint_of(first), footprint_of(second));
            if (i + 1 == enabler && relation != PEET_RELATION_WAITS)
                relation = PEET_RELATION_NEEDS;
            if (relation == PEET_RELATION_NONE)
                continue;
            row[i / 64] |= 1ull << i % 64;
            for (uint64_t w = 0; w <= i / 64; w++)
                row[w] |= s->before[i * ROW_WORDS + w];
            if (relation == PEET_RELATION_WAITS)
                continue;
            for (uint64_t w = 0; w <= i / 64; w++)
                needed[w] |= s->before[i * ROW_WORDS + w];
            if (relation == PEET_RELATION_NEEDS)
                continue;                           /* cannot be the other way round */
            for (uint64_t k = i + 1; k <= j; k++) { /* what comes first of all that does not depend on i */
                int initial = k == j || !BEFORE(k, i);

                for (uint64_t l = i + 1; l < k && initial; l++)
                    initial = !(BEFORE(k, l) && (l == j || !BEFORE(l, i)));
                if (initial)
                    ids[nids++] = r->nodes[k].ids[r->nodes[k].chosen];
            }
            add_one(first, ids, nids);
            r->unmodelled |= (uint8_t)peet__footprint_meets(footprint_of(first), footprint_of(second), PEET_VIEW_ONE);
            note_library_fences(r, footprint_of(first), footprint_of(second));
            r->library |= (uint8_t)peet__footprint_meets(footprint_of(first), footprint_of(second), PEET_VIEW_LIBRARY);
        }
        if (j + 1 < n || !given_up)
            kept_from(&r->nodes[j], j + 1 < n || r->abandoned ? &r->nodes[j + 1] : NULL);
    }
#undef BEFORE
    free(needed);
    free(ids);
    return 0;
}

int peet_search_end(struct peet_search *s)
{
    struct record *r = s->record;

    if (s->kind != PEET_SEARCH_ALL) {
        s->walk.number++;
        s->longest = r->choices > s->longest ? r->choices : s->longest;
        return 1;
    }
    if (r->mismatch)
        return 0;
    /* the program did not come to the end of this step: who knows what it has touched */
    for (uint64_t i = r->steps; i < r->nnodes; i++) {
        struct node *node = &r->nodes[i];

        node->sleep[node->nsleep + node->ntried] = (struct sleeper){.id = node->ids[node->chosen]};
        node->sleep[node->nsleep + node->ntried].footprint.all = 1;
    }
    if (races(s))
        return 0;
    while (r->nnodes) {
        struct node *node = &r->nodes[r->nnodes - 1];

        node->ntried++;
        for (uint32_t i = 0; i < node->n; i++)
            if (node->todo[i] && !asleep(node->sleep, node->nsleep + node->ntried, node->ids[i])) {
                node->chosen = i;
                return 1;
            }
        r->nnodes--;
    }
    return 0;
}

int peet_search_abandoned(const struct peet_search *s)
{
    return s->record->abandoned;
}

int peet_search_crowded(const struct peet_search *s)
{
    return s->record->crowded || s->record->overflow;
}

int peet_search_mismatch(const struct peet_search *s)
{
    return s->record->mismatch;
}

int peet_search_unmodelled(const struct peet_search *s)
{
    return s->record->unmodelled;
}

int peet_search_emptied(const struct peet_search *s)
{
    return (s->record->emptied & s->record->behind) != 0;
}

int peet_search_library(const struct peet_search *s)
{
    return s->record->library;
}

uint64_t peet_search_choices(const struct peet_search *s)
{
    return s->record->choices;
}

/* ----------------------------------------------------------------------------------------------------------- tokens */

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
enum { BASE = sizeof digits - 1 };

char *peet_search_get_token(const struct peet_search *s)
{
    const struct record *r = s->record;
    uint64_t n = r->digits < DIGITS_MOST ? r->digits : DIGITS_MOST;
    char *text, *at;

    if (s->kind == PEET_SEARCH_RANDOM) {
        text = malloc(80);
        if (text)
            snprintf(text, 80, "r%" PRIu64 ".%" PRIu64 ".%" PRIu64, s->walk.seed, s->walk.number, s->walk.length);
        return text;
    }
    while (n && !r->digit[n - 1]) /* behind the end of a token the first option is taken */
        n--;
    text = at = malloc(3 * n + 2);
    if (!text)
        return NULL;
    *at++ = 'c';
    for (uint64_t i = 0; i < n; i++) {
        if (r->digit[i] >= BASE)
            *at++ = '-';
        *at++ = digits[r->digit[i] % BASE];
    }
    *at = 0;
    return text;
}

int peet_search_set_token(struct peet_search *s, const char *token, struct peet_error *error)
{
    uint64_t seed, walk, length;
    int end = 0;

    if (*token == 'r' && sscanf(token, "r%" SCNu64 ".%" SCNu64 ".%" SCNu64 "%n", &seed, &walk, &length, &end) == 3 &&
        !token[end]) {
        s->walks_token = 1;
        peet__walk_begin(&s->walk, seed, walk, length);
        return 0;
    }
    if (*token != 'c')
        return peet_error_set(error, PEET_EINVALID, "--replay-token: '%s' is not a token as an exploration prints them",
            token);
    free(s->token);
    s->walks_token = 0;
    s->ntoken = 0;
    s->token = malloc(strlen(token) + 1);
    if (!s->token)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (const char *at = token + 1; *at; at++) {
        unsigned more = *at == '-' ? (at++, BASE) : 0;
        const char *place = *at ? strchr(digits, *at) : NULL;

        if (!place)
            return peet_error_set(error, PEET_EINVALID,
                "--replay-token: '%s' is not a token as an exploration prints them", token);
        s->token[s->ntoken++] = (uint8_t)(more + (unsigned)(place - digits));
    }
    return 0;
}
