/* SPDX-License-Identifier: Apache-2.0 */
/* x86: the books of where the time went, and whether they balance.  Results are written by stack_out.c. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

const char *const x86_category_keys[CPI_CATEGORIES] = {
#define X(name, key, text) key,
    X86_CATEGORIES(X)
#undef X
};
const char *const x86_category_texts[CPI_CATEGORIES] = {
#define X(name, key, text) text,
    X86_CATEGORIES(X)
#undef X
};

/* ------------------------------------------------------------------------------------------ the books */

int x86_stacks_init(struct x86_stacks *s)
{
    *s = (struct x86_stacks){.places_room = 256, .nbuckets = 1024};
    s->places = calloc(s->places_room, sizeof *s->places);
    s->buckets = calloc(s->nbuckets, sizeof *s->buckets);
    if (!s->places || !s->buckets)
        return -1;
    s->nplaces = 1; /* of what happens before the first instruction */
    return 0;
}

void x86_stacks_fini(struct x86_stacks *s)
{
    free(s->places);
    free(s->buckets);
    free(s->software);
}

static uint32_t hash_of(const struct peet_function *function, uint32_t line)
{
    return (uint32_t)((((uint64_t)function->id << 32 | line) * 0x9e3779b97f4a7c15u) >> 32);
}

/** Open addressing, at most half full; 0 is an empty bucket, since place 0 is in none. */
static int grow(struct x86_stacks *s)
{
    uint32_t n = 2 * s->nbuckets, *more = calloc(n, sizeof *more);

    if (!more)
        return -1;
    for (uint32_t i = 1; i < s->nplaces; i++) {
        uint32_t at = hash_of(s->places[i].function, s->places[i].line) % n;

        while (more[at])
            at = (at + 1) % n;
        more[at] = i;
    }
    free(s->buckets);
    s->buckets = more;
    s->nbuckets = n;
    return 0;
}

uint32_t x86_stacks_place(struct x86_stacks *s, const struct peet_function *function, uint32_t line)
{
    uint32_t at = hash_of(function, line) % s->nbuckets;

    for (; s->buckets[at]; at = (at + 1) % s->nbuckets)
        if (s->places[s->buckets[at]].function == function && s->places[s->buckets[at]].line == line)
            return s->buckets[at];
    if (s->nplaces == s->places_room) {
        struct x86_place *more = realloc(s->places, 2 * s->places_room * sizeof *more);

        if (!more)
            return UINT32_MAX;
        s->places = more;
        s->places_room *= 2;
    }
    if (2 * s->nplaces >= s->nbuckets) {
        if (grow(s))
            return UINT32_MAX;
        for (at = hash_of(function, line) % s->nbuckets; s->buckets[at]; at = (at + 1) % s->nbuckets)
            ;
    }
    s->places[s->nplaces] = (struct x86_place){.function = function, .line = line};
    s->buckets[at] = s->nplaces;
    return s->nplaces++;
}

struct x86_software *x86_stacks_software(struct x86_stacks *s, uint32_t number)
{
    if (number >= X86_LISTED)
        number = X86_LISTED;
    if (number >= s->nsoftware) {
        uint32_t n = number + 1 < 16 ? 16 : 2 * (number + 1);
        struct x86_software *more = realloc(s->software, n * sizeof *more);

        if (!more)
            return NULL;
        memset(more + s->nsoftware, 0, (n - s->nsoftware) * sizeof *more);
        for (uint32_t i = s->nsoftware; i < n; i++)
            more[i].number = i;
        s->software = more;
        s->nsoftware = n;
    }
    return &s->software[number];
}

/* ------------------------------------------------------------------------------------------ the balance */

static uint64_t sum_of(const uint64_t cycles[CPI_CATEGORIES])
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < CPI_CATEGORIES; i++)
        sum += cycles[i];
    return sum;
}

/* Of a context that ran from its start to its end, all is known: what is left of its life it was ready, and waited for
 * a hardware context.  That cannot be less than nothing. */
static int check_software(const struct x86 *x)
{
    for (uint32_t i = 0; i < x->stacks.nsoftware && i < X86_LISTED; i++) {
        const struct x86_software *s = &x->stacks.software[i];
        uint64_t booked = sum_of(s->run) + sum_of(s->wait);

        if (s->known && s->end && booked > s->end - s->start) {
            x->env->fail(x->env, "internal error: context %u lived for %llu cycles, but %llu are on its stack", i,
                (unsigned long long)(s->end - s->start), (unsigned long long)booked);
            return 0;
        }
    }
    return 1;
}

int x86_stack_check(const struct x86 *x)
{
    uint64_t hardware[CPI_CATEGORIES] = {0}, places[CPI_CATEGORIES] = {0}, software = 0, running = 0;

    if (x->env->times_apart) /* threads have times of their own */
        return 1;

    for (unsigned i = 0; i < x->nthreads; i++) {
        const struct x86_thread *t = &x->threads[i];

        if (sum_of(t->cycles) != t->frontier) {
            x->env->fail(x->env, "internal error: the stack of hardware context %u adds up to %llu of %llu cycles", i,
                (unsigned long long)sum_of(t->cycles), (unsigned long long)t->frontier);
            return 0;
        }
        for (unsigned k = 0; k < CPI_CATEGORIES; k++)
            hardware[k] += t->cycles[k];
    }
    for (uint32_t i = 0; i < x->stacks.nplaces; i++)
        for (unsigned k = 0; k < CPI_CATEGORIES; k++)
            places[k] += x->stacks.places[i].cycles[k];
    for (uint32_t i = 0; i < x->stacks.nsoftware; i++)
        software += sum_of(x->stacks.software[i].run);
    for (unsigned k = 0; k < CPI_IDLE; k++) {
        if (places[k] != hardware[k]) {
            x->env->fail(x->env, "internal error: functions and lines have %llu cycles of '%s', hardware contexts %llu",
                (unsigned long long)places[k], x86_category_keys[k], (unsigned long long)hardware[k]);
            return 0;
        }
        if (k < CPI_LOCK || k == CPI_SYSTEM)
            running += hardware[k];
    }
    if (software != running) {
        x->env->fail(x->env, "internal error: software contexts ran for %llu cycles, hardware contexts for %llu",
            (unsigned long long)software, (unsigned long long)running);
        return 0;
    }
    return check_software(x);
}
