/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definition of a function behind this library's own, found in the objects' symbol tables.  dlsym() is not for
 * this: it may be what calls the function (its errors are freed by a free() that looks at a clock), and it allocates.
 */
#include "world/world.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct object {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash; /* DT_GNU_HASH */
    const ElfW(Versym) * versions;
};

static int is(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static int read_object(const struct link_map *map, struct object *out)
{
    /* field by field: without optimisation, the compiler would call memset() for the whole, which leads here */
    out->bias = map->l_addr;
    out->symbols = NULL;
    out->names = NULL;
    out->hash = NULL;
    out->versions = NULL;
    for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
        uint64_t address = d->d_un.d_ptr; /* the dynamic linker has made these absolute, but for the kernel's object */
        if (d->d_tag == DT_SYMTAB)
            out->symbols = (const void *)address;
        else if (d->d_tag == DT_STRTAB)
            out->names = (const void *)address;
        else if (d->d_tag == DT_GNU_HASH)
            out->hash = (const void *)address;
        else if (d->d_tag == DT_VERSYM)
            out->versions = (const void *)address;
    }
    return out->symbols && out->names && out->hash && (uint64_t)out->symbols >= out->bias;
}

/* The default version of a function. */
static void *find(const struct object *o, const char *name, uint32_t hash)
{
    uint32_t nbuckets = o->hash[0], first = o->hash[1], nwords = o->hash[2];
    const uint32_t *buckets = o->hash + 4 + 2 * nwords, *chain = buckets + nbuckets;
    uint32_t at = nbuckets ? buckets[hash % nbuckets] : 0;
    for (int last = at < first; !last; at++) {
        const ElfW(Sym) *s = &o->symbols[at];
        unsigned type = ELF64_ST_TYPE(s->st_info);
        last = chain[at - first] & 1;
        if ((chain[at - first] | 1) != (hash | 1) || s->st_shndx == SHN_UNDEF ||
            (o->versions && o->versions[at] & 0x8000) || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
            !is(o->names + s->st_name, name))
            continue;
        void *address = (void *)(o->bias + s->st_value);
        return type == STT_GNU_IFUNC ? ((void *(*)(void))address)() : address;
    }
    return NULL;
}

/* Among the objects before this library (wanted 0) or behind it (1). */
static void *search(const char *name, uint32_t hash, int wanted)
{
    struct object o;
    int behind = 0;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (map->l_ld == _DYNAMIC) {
            behind = 1;
            continue;
        }
        void *found = behind == wanted && read_object(map, &o) ? find(&o, name, hash) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (const char *p = name; *p; p++)
        hash = 33 * hash + (unsigned char)*p;
    return hash;
}

void *peet__world_lookup_in(const struct link_map *map, const char *name)
{
    struct object o;
    return read_object(map, &o) ? find(&o, name, hash_of(name)) : NULL;
}

/* A program that was not linked by peetcc but uses a library that was has the C library before this one. */
void *peet__world_lookup(const char *name)
{
    const uint32_t hash = hash_of(name);
    void *found = search(name, hash, 1);
    return found ? found : search(name, hash, 0);
}
