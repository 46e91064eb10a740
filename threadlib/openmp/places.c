/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OMP_PLACES: a name, or a list of sets of processors (OpenMP 5.2, 21.1.6), as the ordinary library takes it on a machine with
 * as many processors: each is a core of its own, all are one socket.
 */
#include "openmp.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PLACES_MOST = 1 << 16, IDS_MOST = 1 << 20 };

static struct {
    int n, nids, room, ids_room;
    int *ends;     /* of each place, in ids */
    int *ids;      /* place by place, each in order */
    int *of;       /* for each processor the first place that has it; -1: none */
    unsigned nall; /* processors */
} places;

int peet__omp_nplaces(void)
{
    return places.n;
}

const int *peet__omp_place(int place, int *out_n)
{
    const int begin = place > 0 && place < places.n ? places.ends[place - 1] : 0;
    *out_n = place >= 0 && place < places.n ? places.ends[place] - begin : 0;
    return places.ids + begin;
}

int peet__omp_place_of(unsigned processor)
{
    return processor < places.nall && places.of[processor] > 0 ? places.of[processor] : 0;
}

/* ------------------------------------------------------------------------------------------------- adding */

static int *with_room(int *list, int n, int *room)
{
    if (n < *room)
        return list;
    *room = *room ? 2 * *room : 64;
    return list ? peet__omp_realloc(list, (size_t)*room * sizeof *list) : peet__omp_alloc((size_t)*room * sizeof *list);
}

/* The processors of a set, each moved by so much, are a place if there are any.  Returns: 1, 0: there are none, -1: no room */
static int add(const char *has, long moved)
{
    const int before = places.nids;
    for (long i = 0; i < (long)places.nall; i++)
        if (has[i] && i + moved >= 0 && i + moved < (long)places.nall) {
            if (places.nids == IDS_MOST || places.n == PLACES_MOST)
                return -1;
            places.ids = with_room(places.ids, places.nids, &places.ids_room);
            places.ids[places.nids++] = (int)(i + moved);
        }
    if (places.nids == before)
        return 0;
    for (int i = before; i < places.nids; i++)
        if (places.of[places.ids[i]] < 0)
            places.of[places.ids[i]] = places.n;
    places.ends = with_room(places.ends, places.n, &places.room);
    places.ends[places.n++] = places.nids;
    return 1;
}

/* Places of so many processors each. */
static void add_equal(char *has, unsigned each, long most)
{
    for (unsigned first = 0; first < places.nall && places.n < most; first += each) {
        memset(has, 0, places.nall);
        memset(has + first, 1, places.nall - first < each ? places.nall - first : each);
        add(has, 0);
    }
}

/* ------------------------------------------------------------------------------------------------ reading */

static int next_is(const char **at, char c)
{
    while (isspace((unsigned char)**at))
        ++*at;
    if (**at != c)
        return 0;
    ++*at;
    return 1;
}

static int number(const char **at, int negative, long *out)
{
    char *end;
    while (isspace((unsigned char)**at))
        ++*at;
    if (!isdigit((unsigned char)**at) && !(negative && **at == '-' && isdigit((unsigned char)(*at)[1])))
        return 0;
    *out = strtol(*at, &end, 10);
    *at = end;
    return *out <= INT_MAX && *out >= -INT_MAX;
}

/* ":LENGTH:STRIDE", or less of it */
static int rest(const char **at, long *length, long *stride)
{
    *length = *stride = 1;
    return !next_is(at, ':') || (number(at, 0, length) && (!next_is(at, ':') || number(at, 1, stride)));
}

/* "{0,4:2,!1}", "3", "!{0}" */
static int read_place(const char **at, char *has)
{
    long first, length, stride;
    int without;
    if (next_is(at, '!')) {
        if (!read_place(at, has))
            return 0;
        for (unsigned i = 0; i < places.nall; i++)
            has[i] = !has[i];
        return 1;
    }
    memset(has, 0, places.nall);
    if (!next_is(at, '{')) {
        if (!number(at, 0, &first))
            return 0;
        if (first < (long)places.nall)
            has[first] = 1;
        return 1;
    }
    do {
        without = next_is(at, '!');
        if (!number(at, 0, &first) || !rest(at, &length, &stride))
            return 0;
        for (long i = first; length-- > 0 && i >= 0 && i < INT_MAX; i += stride) {
            if (i < (long)places.nall)
                has[i] = !without;
            if (!stride || (stride > 0 && i >= (long)places.nall))
                break;
        }
    } while (next_is(at, ','));
    return next_is(at, '}');
}

static int read_places(const char *at, char *has)
{
    long length, stride;
    do {
        if (!read_place(&at, has) || !rest(&at, &length, &stride))
            return 0;
        for (long i = 0, added = 1; i < length && added; i++)
            if ((added = add(has, i * stride)) < 0)
                return 0;
    } while (next_is(&at, ','));
    return !*at;
}

/* "cores", "cores(4)" */
static int read_name(const char *at, char *has)
{
    static const struct {
        const char *name;
        int one;
    } names[] = {{"threads", 0}, {"cores", 0}, {"numa_domains", 0}, {"ll_caches", 1}, {"sockets", 1}};
    long most = PLACES_MOST;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *end = at + strlen(names[i].name);
        if (strncasecmp(at, names[i].name, strlen(names[i].name)) != 0)
            continue;
        if (next_is(&end, '(') && (!number(&end, 0, &most) || !next_is(&end, ')')))
            return 0;
        while (isspace((unsigned char)*end))
            end++;
        if (*end)
            return 0;
        add_equal(has, names[i].one ? places.nall : 1, most ? most : PLACES_MOST);
        return 1;
    }
    return 0;
}

static void none(void)
{
    places.n = places.nids = 0;
    for (unsigned i = 0; i < places.nall; i++)
        places.of[i] = -1;
}

int peet__omp_places_read(const char *text, int bound)
{
    int result = PEET__OMP_PLACES;
    places.nall = peet_rt_processors();
    char *has = peet__omp_alloc(places.nall);
    places.of = peet__omp_alloc(places.nall * sizeof *places.of);
    none();
    if (bound && text && !(isalpha((unsigned char)*text) ? read_name(text, has) : read_places(text, has))) {
        none();
        result = PEET__OMP_NO_LIST;
        text = NULL;
    }
    if (bound && !text)
        add_equal(has, 1, PLACES_MOST);
    else if (!places.n) {
        add_equal(has, places.nall, 1);
        result = bound ? PEET__OMP_NO_PROCESSORS : result;
    }
    peet__omp_free(has);
    return result;
}
