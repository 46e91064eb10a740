/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What data.c (objects and structures), data_images.c (globals), data_sites.c (allocation sites) and data_rules.c (what
 * the user wants with structures) share.  Nobody else includes this.
 */
#ifndef PEET_DATAMAP_PARTS_H
#define PEET_DATAMAP_PARTS_H

#include "data/datamap.h"
#include "data/index.h"

#include <uthash.h>

/** A data structure. */
struct peet__structure {
    struct peet_data pub;
    const struct peet_type *type;  /* of one element, or NULL */
    const struct peet_type *whole; /* of a variable; heap: NULL */
    uint32_t layout;               /* remap.c: 1 + which, 0: where it is */
    char *key;
    UT_hash_handle hh;
};

/** An object: a variable (for each thread), a heap block, a mapping; free ones are linked by number. */
struct peet__object {
    uint64_t address, bytes;
    uint64_t covered_bytes; /* in the index; less than at first when parts of a mapping are gone */
    uint64_t number;
    uint32_t data;
    uint32_t part;   /* thread-local: the thread's next object, 0: none */
    uint32_t target; /* remap.c: where it has moved to, 0: nowhere */
};

/** An allocation site: return addresses, and the structure of what is allocated there. */
struct peet__alloc_site {
    UT_hash_handle hh;
    uint32_t data;
    uint64_t path[];
};

/** A loaded file. */
struct peet__data_image {
    char *path;
    uint64_t bias, lo, hi, tls_offset;
    struct peet_debuginfo *info;
    uint32_t *tls_structures; /* by variable; parallel to the thread-local ones of info */
    size_t first_tls, ntls;
};

/** What no object covers: sections, stacks. */
struct peet__data_range {
    uint64_t lo, hi;
    uint32_t data;
};

struct peet__data_thread {
    UT_hash_handle hh;
    uint64_t fs_base;
    uint32_t first; /* of its objects, linked by part; 0: none */
    size_t nimages; /* whose variables it has */
};

struct peet__debt {
    UT_hash_handle hh;
    uint64_t address;
    uint64_t n;
};

struct peet_datamap {
    struct peet_index index;
    struct peet__object *objects; /* by handle */
    uint32_t nobjects, objects_room, free_object;
    struct peet__structure **structures; /* by id */
    uint32_t nstructures, structures_room;
    struct peet__structure *by_key;
    struct peet__alloc_site *sites;
    struct peet__data_range *ranges; /* in order */
    size_t nranges, last_range;
    struct peet__data_image *images;
    size_t nimages;
    struct peet__data_thread *threads;
    struct peet__debt *debts;
    struct {
        uint64_t address, bytes;
        uint8_t kind;
    } release; /* noted and not settled; address 0: none */
    struct peet_datamap_hooks hooks;
    uint32_t heap_grain; /* blocks end at multiples of it: 16, or 8 if a header of the allocator's may come next */
    const char *const *allocators;
    size_t nallocators;
    /* of each of these: something has been allocated through a function of that name; NULL: not known */
    uint8_t *allocators_met;
    char **texts; /* strings that structures refer to */
    size_t ntexts;
    struct peet_remap *remap;                                         /* another layout, or NULL */
    void (*discovered)(void *arg, struct peet__structure *structure); /* a new structure; may be NULL */
    void *discovered_arg;
};

/** A structure by its key, made if it is new.  @out_new: is it?  NULL: out of memory */
struct peet__structure *peet__structure_of(struct peet_datamap *map, const char *key, int *out_new);
/** A string that lives as long as the map; "" if memory has run out. */
const char *peet__data_text(struct peet_datamap *map, const char *text);
/** What a type says of structures of it: enum peet_data_flags. */
uint8_t peet__type_flags(const struct peet_type *type);
/** The structure has all its fields: id, and the rules that concern it. */
void peet__structure_ready(struct peet_datamap *map, struct peet__structure *s);

/** A new object of a structure; whatever was there before ends.  @number: UINT64_MAX: the next.  Returns: handle, 0:
 * out of memory */
uint32_t peet__object_new(struct peet_datamap *map, struct peet__structure *s, uint64_t address, uint64_t bytes,
    uint64_t covered_bytes, uint64_t number);
/** The object is over. */
void peet__object_end(struct peet_datamap *map, uint32_t handle);
/** What no object covers has this structure; ranges do not overlap. */
int peet__range_add(struct peet_datamap *map, uint64_t lo, uint64_t hi, uint32_t data);

const struct peet__data_image *peet__image_of_pc(const struct peet_datamap *map, uint64_t pc);

/** data_sites.c: the structure of an allocation site.  NULL: out of memory */
struct peet__structure *peet__site_structure(struct peet_datamap *map, unsigned kind, const uint64_t *path,
    unsigned npath, uint64_t inner);

#endif
