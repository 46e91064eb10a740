/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data structures of the subject: which one an address belongs to, now.  Globals come from the images' debug
 * information or symbols (schema/data.h), heap blocks and mappings from the notes of the runtime, in simulated order,
 * each by its allocation site; stacks are ranges.  The mapper calls what changes with time, modules ask through
 * struct peet_env.  Nothing here knows the runtime: tests script it.
 */
#ifndef PEET_DATAMAP_H
#define PEET_DATAMAP_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>
#include <peet/module.h>
#include "debuginfo/data.h"

struct peet_datamap;
struct peet_index;

enum { PEET_DATAMAP_PATH_MAX = 32 };

/** What a piece of code is called that no image added here knows. */
struct peet_datamap_hooks {
    /** place() - the function round a pc.  Returns: 1, or 0 if it has no name; may be NULL */
    int (*place)(void *arg, uint64_t pc, const char **out_function, const char **out_file, unsigned *out_line,
        uint64_t *out_start);
    void *arg;
};

int peet_datamap_new(const struct peet_datamap_hooks *hooks, struct peet_datamap **out_map, struct peet_error *error);
void peet_datamap_free(struct peet_datamap *map);

/** An image of the subject. */
struct peet_datamap_image {
    const char *path;
    uint64_t bias, lo, hi; /* load bias, and the addresses that it takes */
    /* a thread's block of it begins so much below its thread pointer; 0: it has none, or not at a fixed place */
    uint64_t tls_offset;
};

/** peet_datamap_add_image() - its globals are known from now on.  Returns: 0 or a peet_err */
int peet_datamap_add_image(struct peet_datamap *map, const struct peet_datamap_image *image, struct peet_error *error);

/** peet_datamap_add_stack() - addresses that are stacks */
int peet_datamap_add_stack(struct peet_datamap *map, uint64_t lo, uint64_t hi);

/** peet_datamap_thread() - a thread with this thread pointer is there; more than once does no harm */
int peet_datamap_thread(struct peet_datamap *map, uint64_t fs_base);
void peet_datamap_thread_end(struct peet_datamap *map, uint64_t fs_base);

/** A block of memory that the subject has got. */
struct peet_datamap_block {
    uint64_t address, bytes;
    uint64_t moved_from;  /* realloc: the block that it was before, 0: none */
    const uint64_t *path; /* return addresses, innermost first: [0] is the site's */
    unsigned npath;
    /* a return address on the way to the site, in a library's templates, which may say the type; or 0 */
    uint64_t inner;
    uint8_t kind;  /* PEET_DATA_HEAP or PEET_DATA_MAPPED */
    uint8_t exact; /* MAPPED: not whole pages */
};

/** peet_datamap_alloc() - Returns: 0 or PEET_ENOMEM */
int peet_datamap_alloc(struct peet_datamap *map, const struct peet_datamap_block *block);
/** peet_datamap_release() - a heap block is gone */
void peet_datamap_release(struct peet_datamap *map, uint64_t address);
/** peet_datamap_unmap() - of whatever mapping this was */
void peet_datamap_unmap(struct peet_datamap *map, uint64_t address, uint64_t bytes);

/**
 * peet_datamap_note() - an ALLOC or FREE with the arguments of runtime.h's notes, or those of its type alone
 * A release takes effect in peet_datamap_settle() or with the next note: who is told of it may still ask.
 * Returns: 0 or PEET_ENOMEM
 */
int peet_datamap_note(struct peet_datamap *map, uint32_t type, const uint64_t *args, uint32_t nargs);
void peet_datamap_settle(struct peet_datamap *map);

/** peet_datamap_is_own() - is the code at a return address the program's own, so that an allocation there is its?  Else
 *  its caller is to be asked.  Slow: callers remember. */
int peet_datamap_is_own(struct peet_datamap *map, uint64_t pc);
/** peet_datamap_knows() - is a pc in one of the images? */
int peet_datamap_knows(const struct peet_datamap *map, uint64_t pc);
/** peet_datamap_set_headers() - 8 bytes before a block may be the allocator's, and are no part of the block that ends there */
void peet_datamap_set_headers(struct peet_datamap *map);

/** peet_datamap_set_allocators() - functions, by name or pattern, that stand for their callers, as malloc() does;
 * borrowed */
void peet_datamap_set_allocators(struct peet_datamap *map, const char *const *names, size_t n);
/** peet_datamap_allocator_met() - has anything been allocated through a function of the name or pattern number @i? */
int peet_datamap_allocator_met(const struct peet_datamap *map, size_t i);

/** As struct peet_env has them. */
const struct peet_data *peet_datamap_of(struct peet_datamap *map, uint64_t address,
    struct peet_data_object *out_object);
const struct peet_data *peet_datamap_get(const struct peet_datamap *map, uint32_t id);
uint64_t peet_datamap_member(const struct peet_datamap *map, const struct peet_data *data, uint64_t offset,
    char *out_name, size_t room);
size_t peet_datamap_count(const struct peet_datamap *map);

#endif
