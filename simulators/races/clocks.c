/* SPDX-License-Identifier: Apache-2.0 */
/* Vector clocks.  What is beyond the last element is 0. */
#include "races.h"

#include <stdlib.h>
#include <string.h>

void races_no_memory(struct races *r)
{
    if (!r->failed)
        r->env->fail(r->env, "out of memory");
    r->failed = 1;
}

int races_grow(struct races *r, void *list, uint32_t *room, uint64_t wanted, size_t bytes)
{
    void **const at = list;
    uint64_t n = *room ? *room : 16;
    if (wanted <= *room)
        return 0;
    while (n < wanted)
        n *= 2;
    void *const more = n < UINT32_MAX ? realloc(*at, n * bytes) : NULL;
    if (!more) {
        races_no_memory(r);
        return -1;
    }
    memset((char *)more + *room * bytes, 0, (n - *room) * bytes);
    *at = more;
    *room = (uint32_t)n;
    return 0;
}

int races_lengthen(struct races *r, struct races_clocks *c, uint32_t n)
{
    if (n <= c->n)
        return 0;
    if (races_grow(r, &c->v, &c->room, n, sizeof *c->v))
        return -1;
    memset(c->v + c->n, 0, (n - c->n) * sizeof *c->v);
    c->n = n;
    return 0;
}

void races_join(struct races *r, struct races_clocks *into, const struct races_clocks *from)
{
    if (races_lengthen(r, into, from->n))
        return;
    for (uint32_t i = 0; i < from->n; i++)
        into->v[i] = into->v[i] > from->v[i] ? into->v[i] : from->v[i];
}

void races_copy(struct races *r, struct races_clocks *into, const struct races_clocks *from)
{
    into->n = 0;
    races_join(r, into, from);
}

void races_clocks_free(struct races_clocks *c)
{
    free(c->v);
    *c = (struct races_clocks){0};
}
