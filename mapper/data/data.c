/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures, objects, and which one an address belongs to; see datamap.h.
 *
 * Notes of allocations come in simulated order, while the allocator has worked in the order in which contexts really
 * ran: an address may be given to one context before the release by another one is delivered.  Then the newcomer has
 * the address from its allocation on, and the release that is still to come is owed: it does nothing.
 */
#include "data/parts.h"
#include "data/remap.h"

#include <stdlib.h>
#include <string.h>

enum { REST, STACK };

#define VAST_BYTES ((uint64_t)1 << 36)

/* -------------------------------------------------------------------------------------------- structures */

const char *peet__data_text(struct peet_datamap *m, const char *text)
{
    char *copy, **more;

    if (!text || !*text || !(copy = strdup(text)))
        return "";
    if (!(m->ntexts & (m->ntexts - 1))) { /* powers of two */
        more = realloc(m->texts, (m->ntexts ? 2 * m->ntexts : 1) * sizeof *more);
        if (!more) {
            free(copy);
            return "";
        }
        m->texts = more;
    }
    return m->texts[m->ntexts++] = copy;
}

struct peet__structure *peet__structure_of(struct peet_datamap *m, const char *key, int *out_new)
{
    struct peet__structure *s = NULL, **more;

    HASH_FIND_STR(m->by_key, key, s);
    *out_new = !s;
    if (s)
        return s;
    if (m->nstructures == m->structures_room) {
        uint32_t room = m->structures_room ? 2 * m->structures_room : 256;

        more = realloc(m->structures, room * sizeof *more);
        if (!more)
            return NULL;
        m->structures = more;
        m->structures_room = room;
    }
    s = calloc(1, sizeof *s);
    if (!s || !(s->key = strdup(key))) {
        free(s);
        return NULL;
    }
    s->pub = (struct peet_data){.id = m->nstructures, .name = "", .type = "", .file = "", .function = "", .path = ""};
    m->structures[m->nstructures++] = s;
    HASH_ADD_KEYPTR(hh, m->by_key, s->key, strlen(s->key), s);
    return s;
}

/** A pointer, or several, to this type among the members of a record: directly, or of records in it. */
static int points_to(const struct peet_type *record, const struct peet_type *type, int depth)
{
    size_t n;
    const struct peet_member *members = peet_type_members(record, &n);

    for (size_t i = 0; i < n; i++) {
        const struct peet_type *t = peet_type_element(members[i].type);

        if (t && t->kind == PEET_TYPE_POINTER && (t = peet_type_target(t)) != NULL && t->kind == PEET_TYPE_STRUCT &&
            (t == type || !strcmp(t->name, type->name) || t == record))
            return 1;
        if (t && t->kind == PEET_TYPE_STRUCT && depth < 4 && points_to(t, type, depth + 1))
            return 1;
    }
    return 0;
}

uint8_t peet__type_flags(const struct peet_type *type)
{
    return type && type->kind == PEET_TYPE_STRUCT && points_to(type, type, 0) ? PEET_DATA_LINKED : 0;
}

void peet__structure_ready(struct peet_datamap *m, struct peet__structure *s)
{
    if (m->discovered)
        m->discovered(m->discovered_arg, s);
}

static void count_in(struct peet_data *d, uint64_t bytes, uint64_t live_bytes, int first)
{
    d->objects += (uint64_t)first;
    d->objects_live++;
    d->bytes += bytes;
    d->bytes_live += live_bytes;
    if (d->bytes_live > d->bytes_peak)
        d->bytes_peak = d->bytes_live;
}

/* ----------------------------------------------------------------------------------------------- objects */

/** Whatever lies in a range ends, or loses that part. */
static void clear(struct peet_datamap *m, uint64_t lo, uint64_t hi, int owed)
{
    uint64_t at = lo;
    uint32_t handle;

    while ((handle = peet_index_next(&m->index, at, hi, &at)) != 0) {
        struct peet__object *o = &m->objects[handle];
        struct peet_data *d = &m->structures[o->data]->pub;
        uint64_t end;

        if (d->kind != PEET_DATA_MAPPED) {
            if (owed && d->kind == PEET_DATA_HEAP) {
                struct peet__debt *debt = NULL;

                HASH_FIND(hh, m->debts, &o->address, sizeof o->address, debt);
                if (!debt && (debt = calloc(1, sizeof *debt)) != NULL) {
                    debt->address = o->address;
                    HASH_ADD(hh, m->debts, address, sizeof debt->address, debt);
                }
                if (debt)
                    debt->n++;
            }
            peet__object_end(m, handle);
            continue;
        }
        end = at;
        while (end < hi && peet_index_find(&m->index, end) == handle)
            end = (end | 4095) + 1 < hi ? (end | 4095) + 1 : hi;
        peet_index_remove(&m->index, at, end - at);
        d->bytes_live -= end - at < d->bytes_live ? end - at : d->bytes_live;
        o->covered_bytes -= end - at < o->covered_bytes ? end - at : o->covered_bytes;
        if (!o->covered_bytes) {
            if (m->remap)
                peet__remap_dead(m->remap, handle);
            d->objects_live--;
            o->data = UINT32_MAX;
            o->number = m->free_object;
            m->free_object = handle;
        }
    }
}

uint32_t peet__object_new(struct peet_datamap *m, struct peet__structure *s, uint64_t address, uint64_t bytes,
    uint64_t covered_bytes, uint64_t number)
{
    uint32_t handle = m->free_object, room;
    struct peet__object *more;
    uint64_t at;

    if (address + covered_bytes < address || peet_index_next(&m->index, address, address + covered_bytes, &at))
        clear(m, address, address + covered_bytes, 1);
    handle = m->free_object;
    if (handle) {
        m->free_object = (uint32_t)m->objects[handle].number;
    } else {
        if (m->nobjects + 1 >= m->objects_room) {
            room = m->objects_room ? 2 * m->objects_room : 1024;
            more = room < PEET_INDEX_HANDLES ? realloc(m->objects, room * sizeof *more) : NULL;
            if (!more)
                return 0;
            m->objects = more;
            m->objects_room = room;
        }
        handle = ++m->nobjects;
    }
    if (peet_index_insert(&m->index, address, covered_bytes, handle)) {
        m->objects[handle] = (struct peet__object){.number = m->free_object, .data = UINT32_MAX};
        m->free_object = handle;
        return 0;
    }
    m->objects[handle] = (struct peet__object){
        address, bytes, covered_bytes, number == UINT64_MAX ? s->pub.objects : number, s->pub.id, 0, 0};
    count_in(&s->pub, bytes, s->pub.kind == PEET_DATA_MAPPED ? covered_bytes : bytes, number == UINT64_MAX);
    if (m->remap)
        peet__remap_born(m->remap, handle);
    return handle;
}

void peet__object_end(struct peet_datamap *m, uint32_t handle)
{
    struct peet__object *o = &m->objects[handle];
    struct peet_data *d = &m->structures[o->data]->pub;

    if (m->remap)
        peet__remap_dead(m->remap, handle);
    peet_index_remove(&m->index, o->address, o->covered_bytes);
    d->objects_live--;
    d->bytes_live -= o->bytes < d->bytes_live ? o->bytes : d->bytes_live;
    o->data = UINT32_MAX;
    o->number = m->free_object;
    m->free_object = handle;
}

/* ------------------------------------------------------------------------------------------------ ranges */

int peet__range_add(struct peet_datamap *m, uint64_t lo, uint64_t hi, uint32_t data)
{
    struct peet__data_range *more = realloc(m->ranges, (m->nranges + 1) * sizeof *more);
    size_t i = m->nranges;

    if (!more)
        return PEET_ENOMEM;
    m->ranges = more;
    while (i && m->ranges[i - 1].lo > lo) {
        m->ranges[i] = m->ranges[i - 1];
        i--;
    }
    m->ranges[i] = (struct peet__data_range){lo, hi, data};
    m->nranges++;
    m->last_range = 0;
    return 0;
}

int peet_datamap_add_stack(struct peet_datamap *m, uint64_t lo, uint64_t hi)
{
    return peet__range_add(m, lo, hi, STACK);
}

/** Of ranges, in their order: how many begin at an address or before it? */
static size_t ranges_up_to(const struct peet_datamap *m, uint64_t address)
{
    size_t lo = 0, hi = m->nranges;

    while (lo < hi) {
        size_t middle = (lo + hi) / 2;

        if (m->ranges[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/** Not in any object: one of the ranges, or the rest. */
static __attribute__((noinline)) const struct peet_data *outside(struct peet_datamap *m, uint64_t address,
    struct peet_data_object *out_object)
{
    const struct peet__data_range *r = m->nranges ? &m->ranges[m->last_range] : NULL;
    /* of the rest, no more than a page is said: what comes there may be told late */
    uint64_t lo = address & ~(uint64_t)4095, hi = lo + 4096;

    if (r && address - r->lo >= r->hi - r->lo) {
        const size_t next = ranges_up_to(m, address);

        if (next)
            m->last_range = next - 1;
        r = &m->ranges[m->last_range];
        if (address - r->lo >= r->hi - r->lo) {
            lo = next && m->ranges[next - 1].hi > lo ? m->ranges[next - 1].hi : lo;
            hi = next < m->nranges && m->ranges[next].lo < hi ? m->ranges[next].lo : hi;
            r = NULL;
        }
    }
    if (r) {
        lo = r->lo;
        hi = r->hi;
    }
    if (out_object) { /* up to the next object: thread-local variables lie in stacks, variables in sections */
        if (address >> PEET__INDEX_SPACE_BITS)
            lo = hi = address;
        else
            peet_index_gap(&m->index, address, lo, hi, &lo, &hi);
        *out_object = (struct peet_data_object){lo, hi - lo, 0};
    }
    return &m->structures[r ? r->data : REST]->pub;
}

/** Modules see addresses of the other layout; offsets in objects are those of the original. */
static __attribute__((noinline)) const struct peet_data *moved(struct peet_datamap *m, uint64_t address,
    struct peet_data_object *out_object)
{
    uint64_t origin;
    struct peet_remap *remap = m->remap;
    const struct peet_data *d;
    int found = peet_remap_origin(remap, address, &origin);

    m->remap = NULL;
    d = peet_datamap_of(m, found ? origin : address, out_object);
    m->remap = remap;
    if (found && out_object) {
        out_object->address += address - origin;
        if (found > 1) /* of what lies beside it, nothing is said */
            out_object->bytes = 0;
    } else if (out_object && d->kind == PEET_DATA_REST) { /* others may have come there */
        out_object->bytes = 0;
    }
    return d;
}

const struct peet_data *peet_datamap_of(struct peet_datamap *m, uint64_t address, struct peet_data_object *out_object)
{
    uint32_t handle;
    const struct peet__object *o;

    if (__builtin_expect(m->remap != NULL, 0))
        return moved(m, address, out_object);
    handle = peet_index_find(&m->index, address);
    if (!handle)
        return outside(m, address, out_object);
    o = &m->objects[handle];
    if (out_object)
        *out_object = (struct peet_data_object){o->address, o->bytes, o->number};
    return &m->structures[o->data]->pub;
}

const struct peet_data *peet_datamap_get(const struct peet_datamap *m, uint32_t id)
{
    return id < m->nstructures ? &m->structures[id]->pub : NULL;
}

size_t peet_datamap_count(const struct peet_datamap *m)
{
    return m->nstructures;
}

uint64_t peet_datamap_member(const struct peet_datamap *m, const struct peet_data *data, uint64_t offset,
    char *out_name, size_t room)
{
    const struct peet__structure *s = data->id < m->nstructures ? m->structures[data->id] : NULL;
    uint64_t begin;

    if (room)
        *out_name = 0;
    if (!s)
        return offset;
    if (s->whole)
        return peet_type_at(s->whole, offset, 0, out_name, room);
    begin = peet_type_at(s->type, offset, 1, out_name, room);
    return begin;
}

/* ------------------------------------------------------------------------------------------ heap, mappings */

/** A mapping too large for the table: addresses set aside, mostly. */
static int map_vast(struct peet_datamap *m, struct peet__structure *s, uint64_t address, uint64_t bytes)
{
    if (peet__range_add(m, address, address + bytes, s->pub.id))
        return PEET_ENOMEM;
    count_in(&s->pub, bytes, bytes, 1);
    return 0;
}

/** ... and those that lie wholly in a range are gone. */
static void unmap_vast(struct peet_datamap *m, uint64_t lo, uint64_t hi)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nranges; i++) {
        const struct peet__data_range *r = &m->ranges[i];
        struct peet_data *d = &m->structures[r->data]->pub;

        if (d->kind == PEET_DATA_MAPPED && r->lo >= lo && r->hi <= hi) {
            d->objects_live--;
            d->bytes_live -= r->hi - r->lo;
            continue;
        }
        m->ranges[n++] = *r;
    }
    m->nranges = n;
    m->last_range = 0;
}

void peet_datamap_set_headers(struct peet_datamap *m)
{
    m->heap_grain = 8;
}

int peet_datamap_alloc(struct peet_datamap *m, const struct peet_datamap_block *b)
{
    const uint64_t grain = b->kind != PEET_DATA_MAPPED ? m->heap_grain : b->exact ? 1 : 4096;
    uint64_t covered = b->bytes ? (b->bytes + grain - 1) & ~(grain - 1) : grain, number = UINT64_MAX;
    struct peet__structure *s = NULL;
    uint32_t old = b->moved_from ? peet_index_find(&m->index, b->moved_from) : 0;

    if (covered < b->bytes)
        return 0;
    if (old && m->objects[old].address == b->moved_from && m->structures[m->objects[old].data]->pub.kind == b->kind) {
        /* the same object in another place: what it has more than before is new */
        s = m->structures[m->objects[old].data];
        number = m->objects[old].number;
        s->pub.bytes -= b->bytes < m->objects[old].bytes ? b->bytes : m->objects[old].bytes;
        peet__object_end(m, old);
    } else {
        s = peet__site_structure(m, b->kind, b->path, b->npath, b->inner);
    }
    if (s && covered >= VAST_BYTES && b->kind == PEET_DATA_MAPPED)
        return map_vast(m, s, b->address, covered);
    return s && peet__object_new(m, s, b->address, b->bytes, covered, number) ? 0 : PEET_ENOMEM;
}

void peet_datamap_release(struct peet_datamap *m, uint64_t address)
{
    struct peet__debt *debt = NULL;
    uint32_t handle;

    if (m->debts) {
        HASH_FIND(hh, m->debts, &address, sizeof address, debt);
        if (debt) {
            if (!--debt->n) {
                HASH_DEL(m->debts, debt);
                free(debt);
            }
            return;
        }
    }
    handle = peet_index_find(&m->index, address);
    if (handle && m->objects[handle].address == address &&
        m->structures[m->objects[handle].data]->pub.kind == PEET_DATA_HEAP)
        peet__object_end(m, handle);
}

void peet_datamap_unmap(struct peet_datamap *m, uint64_t address, uint64_t bytes)
{
    if (bytes >= VAST_BYTES)
        unmap_vast(m, address, address + bytes);
    if (address + bytes > address)
        clear(m, address, address + bytes, 0);
}

/* ------------------------------------------------------------------------------------------------- notes */

/* Arguments beyond those that modules see; runtime.h has their order. */
enum { ALLOC_KIND = 3, ALLOC_MOVED, ALLOC_INNER, ALLOC_PATH, FREE_KIND = 2, FREE_BYTES, HEAP = 0, MAPPING, BREAK };

void peet_datamap_settle(struct peet_datamap *m)
{
    if (!m->release.address)
        return;
    if (m->release.kind == HEAP)
        peet_datamap_release(m, m->release.address);
    else
        peet_datamap_unmap(m, m->release.address,
            m->release.kind == MAPPING ? (m->release.bytes + 4095) & ~(uint64_t)4095 : m->release.bytes);
    m->release.address = 0;
}

int peet_datamap_note(struct peet_datamap *m, uint32_t type, const uint64_t *a, uint32_t n)
{
    struct peet_datamap_block b = {.kind = PEET_DATA_HEAP};

    peet_datamap_settle(m);
    if (type == PEET_ABSTRACT_FREE) {
        if (!n || (n > FREE_BYTES && a[FREE_BYTES] == UINT64_MAX)) /* moved: its ALLOC says where to */
            return 0;
        m->release.address = a[0];
        m->release.kind = n > FREE_KIND ? (uint8_t)a[FREE_KIND] : HEAP;
        m->release.bytes = n > FREE_BYTES ? a[FREE_BYTES] : 0;
        return 0;
    }
    if (n < 3)
        return 0;
    b.address = a[0];
    b.bytes = a[1];
    b.path = a + 2;
    b.npath = 1;
    if (n > ALLOC_PATH) {
        b.kind = a[ALLOC_KIND] == HEAP ? PEET_DATA_HEAP : PEET_DATA_MAPPED;
        b.exact = a[ALLOC_KIND] == BREAK;
        b.moved_from = a[ALLOC_MOVED];
        b.inner = a[ALLOC_INNER];
        b.path = a + ALLOC_PATH;
        b.npath = n - ALLOC_PATH;
    }
    return peet_datamap_alloc(m, &b);
}

/* ------------------------------------------------------------------------------------------ life and death */

static int add_fixed(struct peet_datamap *m, const char *key, unsigned kind)
{
    int is_new;
    struct peet__structure *s = peet__structure_of(m, key, &is_new);

    if (!s)
        return PEET_ENOMEM;
    s->pub.kind = (uint8_t)kind;
    s->pub.name = s->key;
    return 0;
}

int peet_datamap_new(const struct peet_datamap_hooks *hooks, struct peet_datamap **out_map, struct peet_error *error)
{
    struct peet_datamap *m = calloc(1, sizeof *m);

    *out_map = NULL;
    if (!m || peet_index_init(&m->index) || add_fixed(m, "(rest)", PEET_DATA_REST) ||
        add_fixed(m, "(stack)", PEET_DATA_STACK)) {
        peet_datamap_free(m);
        return peet_error_set(error, PEET_ENOMEM, "out of memory for the table of data structures");
    }
    m->heap_grain = 16;
    if (hooks)
        m->hooks = *hooks;
    *out_map = m;
    return 0;
}

void peet_datamap_free(struct peet_datamap *m)
{
    struct peet__debt *debt, *next_debt;
    struct peet__data_thread *thread, *next_thread;
    struct peet__alloc_site *site, *next_site;

    if (!m)
        return;
    free(m->allocators_met);
    HASH_ITER(hh, m->debts, debt, next_debt)
    {
        HASH_DEL(m->debts, debt);
        free(debt);
    }
    HASH_ITER(hh, m->threads, thread, next_thread)
    {
        HASH_DEL(m->threads, thread);
        free(thread);
    }
    HASH_ITER(hh, m->sites, site, next_site)
    {
        HASH_DEL(m->sites, site);
        free(site);
    }
    HASH_CLEAR(hh, m->by_key);
    for (uint32_t i = 0; i < m->nstructures; i++) {
        free(m->structures[i]->key);
        free(m->structures[i]);
    }
    for (size_t i = 0; i < m->nimages; i++) {
        peet_debuginfo_free(m->images[i].info);
        free(m->images[i].path);
        free(m->images[i].tls_structures);
    }
    for (size_t i = 0; i < m->ntexts; i++)
        free(m->texts[i]);
    peet_index_fini(&m->index);
    free(m->texts);
    free(m->structures);
    free(m->objects);
    free(m->ranges);
    free(m->images);
    free(m);
}
