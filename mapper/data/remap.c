/* SPDX-License-Identifier: Apache-2.0 */
/* See remap.h. */
#include "data/remap.h"
#include "data/parts.h"
#include "data/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGETS_BASE 0x400000000000u /* the subject has nothing from there up to the kernel's own mappings */
#define TARGETS_END 0x600000000000u

/** How objects of a structure are laid out. */
struct layout {
    uint32_t data;
    uint64_t pad_bytes; /* slots are multiples of this, 0: no matter */
    uint64_t align_bytes;
    uint64_t element_bytes, stride_bytes; /* said so; else 0 */
    uint64_t next, base;                  /* base: where the next object goes, 0: anywhere */
};

/** Room that an object has left, by its size: the next one of that size gets it. */
struct room {
    UT_hash_handle hh;
    uint64_t key[2]; /* bytes, layout */
    uint64_t *places;
    size_t n, room;
};

/** Where an object lies. */
struct target {
    uint64_t from, bytes; /* of the original */
    uint64_t to, to_bytes;
    uint64_t element_bytes, stride_bytes; /* equal: it has moved as one */
    uint32_t handle;                      /* of the object; free targets are linked by it */
    uint32_t layout;
};

struct peet_remap {
    struct peet_datamap *map;
    struct peet_index index; /* from new addresses to targets */
    struct target *targets;  /* from 1 on */
    uint32_t ntargets, targets_room, free_target;
    struct layout *layouts;
    size_t nlayouts;
    struct room *rooms;
    uint64_t next;
    uint32_t *ranges; /* targets of ranges of addresses, in order */
    size_t nranges;
    char error[300];
};

static uint64_t up(uint64_t value, uint64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

static void failed(struct peet_remap *r, const char *text, uint64_t address)
{
    if (!*r->error)
        snprintf(r->error, sizeof r->error, "remapping: %s (0x%llx)", text, (unsigned long long)address);
}

/* ------------------------------------------------------------------------------------------------ places */

static struct room *room_of(struct peet_remap *r, uint64_t bytes, uint32_t layout)
{
    uint64_t key[2] = {bytes, layout};
    struct room *one = NULL;

    HASH_FIND(hh, r->rooms, key, sizeof key, one);
    if (one || !(one = calloc(1, sizeof *one)))
        return one;
    memcpy(one->key, key, sizeof key);
    HASH_ADD(hh, r->rooms, key, sizeof one->key, one);
    return one;
}

static uint64_t place_take(struct peet_remap *r, uint64_t bytes, uint64_t align, uint32_t number)
{
    struct layout *l = &r->layouts[number];
    struct room *room = room_of(r, bytes, number);
    uint64_t *next = l->base ? &l->next : &r->next, at;

    if (room && room->n)
        return room->places[--room->n];
    at = up(*next, align);
    *next = at + bytes;
    if (!l->base && *next > TARGETS_END)
        failed(r, "no room for the structures in their new layout", at);
    return at;
}

static void place_give(struct peet_remap *r, uint64_t at, uint64_t bytes, uint32_t number)
{
    struct room *room = room_of(r, bytes, number);
    uint64_t *more;

    if (!room)
        return;
    if (room->n == room->room) {
        more = realloc(room->places, (room->room ? 2 * room->room : 8) * sizeof *more);
        if (!more)
            return; /* the place is lost, no more */
        room->places = more;
        room->room = room->room ? 2 * room->room : 8;
    }
    room->places[room->n++] = at;
}

static uint32_t target_new(struct peet_remap *r)
{
    uint32_t number = r->free_target;
    struct target *more;

    if (number) {
        r->free_target = r->targets[number].handle;
        return number;
    }
    if (r->ntargets + 1 >= r->targets_room) {
        uint32_t room = r->targets_room ? 2 * r->targets_room : 256;

        more = realloc(r->targets, room * sizeof *more);
        if (!more)
            return 0;
        r->targets = more;
        r->targets_room = room;
    }
    return ++r->ntargets;
}

/** Lay out [from, from + bytes), behind which there are some bytes more to fill its last 16.  @element_bytes: as the
 * type says, 0: unknown.  Returns: the target, 0 on failure */
static uint32_t lay_out(struct peet_remap *r, uint32_t layout, uint64_t from, uint64_t bytes, uint64_t more_bytes,
    uint64_t element_bytes, uint32_t handle)
{
    const struct layout *l = &r->layouts[layout];
    struct target t = {.from = from, .bytes = bytes, .handle = handle, .layout = layout};
    uint64_t align = l->align_bytes > 16 ? l->align_bytes : 16, at;
    uint32_t number;

    if (l->align_bytes && l->align_bytes < align)
        align = l->align_bytes;
    t.element_bytes = l->element_bytes                ? l->element_bytes
        : element_bytes && bytes % element_bytes == 0 ? element_bytes
                                                      : bytes;
    t.stride_bytes = l->stride_bytes ? l->stride_bytes : t.element_bytes;
    if (l->pad_bytes) {
        t.stride_bytes = up(t.stride_bytes, l->pad_bytes);
        align = l->pad_bytes > align ? l->pad_bytes : align;
    }
    if (t.stride_bytes == t.element_bytes)
        t.element_bytes = t.stride_bytes = bytes;
    t.to_bytes = (bytes + t.element_bytes - 1) / t.element_bytes * t.stride_bytes;
    if (t.stride_bytes - t.element_bytes < more_bytes)
        t.to_bytes += more_bytes;
    if (t.to_bytes / t.stride_bytes > TARGETS_END / t.stride_bytes || !(number = target_new(r))) {
        failed(r, "out of memory", from);
        return 0;
    }
    t.to = place_take(r, t.to_bytes, align, layout);
    if (peet_index_next(&r->index, t.to, t.to + t.to_bytes, &at)) {
        failed(r, "two structures would lie at the same address", at);
    } else if (peet_index_insert(&r->index, t.to, t.to_bytes, number)) {
        failed(r, "out of memory, or an address beyond all memory", t.to);
    } else {
        r->targets[number] = t;
        return number;
    }
    r->targets[number] = (struct target){.handle = r->free_target};
    r->free_target = number;
    return 0;
}

/* ------------------------------------------------------------------------------------------------- rules */

static void apply(struct layout *l, const struct peet_rule *rule)
{
    switch (rule->kind) {
    case PEET_RULE_PAD:
        l->pad_bytes = rule->value;
        break;
    case PEET_RULE_ALIGN:
        l->align_bytes = rule->value;
        break;
    case PEET_RULE_BASE:
        l->base = 1;
        l->next = rule->value;
        break;
    case PEET_RULE_STRIDE:
        l->element_bytes = rule->element_bytes;
        l->stride_bytes = rule->value;
        break;
    }
}

static struct layout *layout_new(struct peet_remap *r, uint32_t data)
{
    struct layout *more = realloc(r->layouts, (r->nlayouts + 1) * sizeof *more);

    if (!more)
        return NULL;
    r->layouts = more;
    more[r->nlayouts] = (struct layout){.data = data};
    return &more[r->nlayouts++];
}

void peet__remap_rule(struct peet_remap *r, struct peet__structure *s, const struct peet_rule *rule)
{
    struct layout *l = s->layout ? &r->layouts[s->layout - 1] : layout_new(r, s->pub.id);

    if (!l) {
        failed(r, "out of memory", 0);
        return;
    }
    s->layout = (uint32_t)(l - r->layouts) + 1;
    apply(l, rule);
}

void peet__remap_born(struct peet_remap *r, uint32_t handle)
{
    struct peet__object *o = &r->map->objects[handle];
    const struct peet__structure *s = r->map->structures[o->data];

    const uint64_t bytes = o->bytes && o->bytes < o->covered_bytes ? o->bytes : o->covered_bytes;

    o->target = s->layout
        ? lay_out(r, s->layout - 1, o->address, bytes, o->covered_bytes - bytes, s->pub.element_bytes, handle)
        : 0;
}

void peet__remap_dead(struct peet_remap *r, uint32_t handle)
{
    uint32_t number = r->map->objects[handle].target;
    struct target *t = &r->targets[number];

    if (!number)
        return;
    peet_index_remove(&r->index, t->to, t->to_bytes);
    place_give(r, t->to, t->to_bytes, t->layout);
    *t = (struct target){.handle = r->free_target};
    r->free_target = number;
    r->map->objects[handle].target = 0;
}

/* --------------------------------------------------------------------------------------------- addresses */

static uint64_t moved(const struct target *t, uint64_t address, uint64_t *out_bytes)
{
    uint64_t offset = address - t->from, inside = offset % t->element_bytes;

    if (offset >= t->bytes) { /* behind the end of a block that is smaller than its place: as far behind it there */
        if (out_bytes)
            *out_bytes = 16;
        return t->to + (t->bytes - 1) / t->element_bytes * t->stride_bytes + (t->bytes - 1) % t->element_bytes +
            (offset - t->bytes + 1);
    }
    if (out_bytes)
        *out_bytes = t->element_bytes - inside < t->bytes - offset ? t->element_bytes - inside : t->bytes - offset;
    return t->to + offset / t->element_bytes * t->stride_bytes + inside;
}

uint64_t peet_remap_address(struct peet_remap *r, uint64_t address, uint64_t *out_bytes)
{
    const struct peet__object *o;
    uint32_t handle;
    size_t lo = 0, hi = r->nranges;

    while (lo < hi) {
        size_t middle = (lo + hi) / 2;

        if (r->targets[r->ranges[middle]].from <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo && address - r->targets[r->ranges[lo - 1]].from < r->targets[r->ranges[lo - 1]].bytes)
        return moved(&r->targets[r->ranges[lo - 1]], address, out_bytes);
    handle = peet_index_find(&r->map->index, address);
    o = &r->map->objects[handle];
    if (handle && o->target)
        return moved(&r->targets[o->target], address, out_bytes);
    if (out_bytes) {
        *out_bytes = handle ? o->address + o->covered_bytes - address : 16 - (address & 15);
        if (lo < r->nranges && r->targets[r->ranges[lo]].from - address < *out_bytes)
            *out_bytes = r->targets[r->ranges[lo]].from - address;
        if (!*out_bytes || (int64_t)*out_bytes < 0)
            *out_bytes = 1;
    }
    return address;
}

int peet_remap_origin(struct peet_remap *r, uint64_t address, uint64_t *out_address)
{
    uint32_t number = peet_index_find(&r->index, address);
    const struct target *t = &r->targets[number];
    uint64_t offset, inside;

    if (!number)
        return 0;
    offset = address - t->to;
    if (offset >= t->to_bytes / t->stride_bytes * t->stride_bytes) /* what fills its last 16 bytes */
        offset = t->to_bytes / t->stride_bytes * t->stride_bytes - 1;
    inside = offset % t->stride_bytes;
    if (inside >= t->element_bytes) /* padding is the element's before it */
        inside = t->element_bytes - 1;
    *out_address = t->from + offset / t->stride_bytes * t->element_bytes + inside;
    return t->handle ? 1 : 2;
}

void peet_remap_blocks(struct peet_remap *r, const struct peet_block_event *events, size_t n)
{
    for (const struct peet_block_event *e = events; e != events + n; e++) {
        const struct peet_block *b = e->block;
        uint64_t *values = (uint64_t *)(uintptr_t)e->values; /* the source's own array, or the mapper's */
        int32_t last = -1;

        if (!values)
            continue;
        for (uint32_t i = 0; i < b->nrefs; i++) {
            const struct peet_ref *ref = &b->refs[i];
            uint32_t k;

            if (ref->value <= last) { /* a location that another reference has as well */
                for (k = 0; k < i && b->refs[k].value != ref->value; k++)
                    ;
                if (k < i)
                    continue;
            }
            last = ref->value > last ? ref->value : last;
            values[ref->value] = peet_remap_address(r, values[ref->value], NULL);
        }
    }
}

const char *peet_remap_error(const struct peet_remap *r)
{
    return *r->error ? r->error : NULL;
}

/* ------------------------------------------------------------------------------------------ life and death */

static int by_from(const void *a, const void *b, void *arg)
{
    const struct target *targets = arg;
    const uint64_t x = targets[*(const uint32_t *)a].from, y = targets[*(const uint32_t *)b].from;

    return x < y ? -1 : x > y;
}

/** Rules about one range are one layout. */
static int add_range(struct peet_remap *r, const struct peet_rule *rules, size_t n, size_t i, struct peet_error *error)
{
    struct layout *l;
    uint32_t target;

    for (size_t k = 0; k < i; k++)
        if (!*rules[k].name && rules[k].lo == rules[i].lo && rules[k].hi == rules[i].hi &&
            rules[k].kind != PEET_RULE_PERFECT)
            return 0;
    l = layout_new(r, UINT32_MAX);
    if (!l)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t k = i; k < n; k++)
        if (!*rules[k].name && rules[k].lo == rules[i].lo && rules[k].hi == rules[i].hi)
            apply(l, &rules[k]);
    for (size_t k = 0; k < r->nranges; k++)
        if (rules[i].lo < r->targets[r->ranges[k]].from + r->targets[r->ranges[k]].bytes &&
            r->targets[r->ranges[k]].from < rules[i].hi)
            return peet_error_set(error, PEET_EINVALID, "--remap: '%s': its range of addresses overlaps another rule's",
                rules[i].text);
    target = lay_out(r, (uint32_t)r->nlayouts - 1, rules[i].lo, rules[i].hi - rules[i].lo, 0, 0, 0);
    if (!target)
        return peet_error_set(error, PEET_EINVALID, "--remap: '%s': %s", rules[i].text, r->error);
    r->ranges[r->nranges++] = target;
    return 0;
}

int peet_remap_new(struct peet_datamap *map, const struct peet_rule *rules, size_t n, struct peet_remap **out_remap,
    struct peet_error *error)
{
    struct peet_remap *r = calloc(1, sizeof *r);
    int err = 0;

    *out_remap = NULL;
    if (!r || peet_index_init(&r->index) || !(r->ranges = calloc(n + 1, sizeof *r->ranges))) {
        peet_remap_free(r);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    r->map = map;
    r->next = TARGETS_BASE;
    for (size_t i = 0; i < n && !err; i++)
        if (!*rules[i].name)
            err = add_range(r, rules, n, i, error);
    if (err) {
        peet_remap_free(r);
        return err;
    }
    qsort_r(r->ranges, r->nranges, sizeof *r->ranges, by_from, r->targets);
    map->remap = r;
    *out_remap = r;
    return 0;
}

void peet_remap_free(struct peet_remap *r)
{
    struct room *room, *next;

    if (!r)
        return;
    HASH_ITER(hh, r->rooms, room, next)
    {
        HASH_DEL(r->rooms, room);
        free(room->places);
        free(room);
    }
    if (r->map && r->map->remap == r)
        r->map->remap = NULL;
    if (r->index.leaves)
        peet_index_fini(&r->index);
    free(r->targets);
    free(r->layouts);
    free(r->ranges);
    free(r);
}
