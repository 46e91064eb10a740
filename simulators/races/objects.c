/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronisation objects and atomic variables, by address and what they are. */
#include "races.h"

#include <stdlib.h>
#include <string.h>

struct races_object *races_object(struct races *r, uint64_t address, uint8_t kind, uint64_t more, int make)
{
    struct races_object *o, key;
    memset(&key.key, 0, sizeof key.key);
    key.key.address = address;
    key.key.kind = kind;
    key.key.more = more;
    HASH_FIND(hh, r->objects, &key.key, sizeof key.key, o);
    if (o || !make)
        return o;
    if (!(o = calloc(1, sizeof *o))) {
        races_no_memory(r);
        return NULL;
    }
    o->key = key.key;
    HASH_ADD(hh, r->objects, key, sizeof o->key, o);
    return o;
}

void races_object_free(struct races *r, struct races_object *o)
{
    if (!o)
        return;
    HASH_DEL(r->objects, o);
    races_clocks_free(&o->released);
    races_clocks_free(&o->readers);
    free(o);
}

void races_objects_free(struct races *r)
{
    struct races_object *o, *next;
    HASH_ITER(hh, r->objects, o, next)
    races_object_free(r, o);
}
