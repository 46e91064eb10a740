/* SPDX-License-Identifier: Apache-2.0 */
/* Where accesses are, as a report names them: function and line, or the line that called a library's function. */
#include "races.h"

#include <stdlib.h>

/* What peetcc has not compiled has no source. */
int races_is_library(const struct peet_function *function)
{
    return !*function->file;
}

static int begins_with(const char *name, const char *const *stems)
{
    while (*name == '_')
        name++;
    for (; *stems; stems++)
        if (strncmp(name, *stems, strlen(*stems)) == 0)
            return 1;
    return 0;
}

/* Functions that reference what the program asks them to: their accesses count as the program's. */
static int is_for_memory(const char *name)
{
    static const char *const stems[] = {"memc", "memm", "mems", "memp", "memr", "memf", "str", "wmem", "wcs", "bcopy",
        "bzero", "bcmp", "stp", "rawmem", NULL};
    return begins_with(name, stems);
}

/* Of these, those that read no byte but what they are asked for.  Others compare and search by vectors, whose last one
 * reaches beyond. */
static int stays_within(const char *name)
{
    static const char *const stems[] = {"memcpy", "memmove", "mempcpy", "memset", "wmemset", "bcopy", "bzero", NULL};
    return begins_with(name, stems);
}

/* An allocator keeps its data between the blocks, also where another thread's block was or will be, under locks of its
 * own that nobody sees. */
static int is_allocator(const char *name)
{
    static const char *const stems[] = {"malloc", "calloc", "realloc", "free", "cfree", "int_malloc", "int_free",
        "int_realloc", "int_memalign", "libc_malloc", "libc_free", "libc_calloc", "libc_realloc", "libc_memalign",
        "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc", NULL};
    return begins_with(name, stems);
}

void races_executes(struct races_context *c, const struct peet_block *block)
{
    if (!races_is_library(block->function)) {
        c->program = block;
        c->library = NULL;
        c->allocates = 0;
    } else if (block->function != c->library) {
        c->library = block->function;
        c->allocates |= is_allocator(block->function->name);
    }
}

static uint32_t site(struct races *r, const struct peet_function *function, const struct peet_function *library,
    uint32_t line, uint8_t how, uint16_t size_bytes)
{
    struct races_site *s, wanted;
    memset(&wanted.key, 0, sizeof wanted.key);
    wanted.key.function = function;
    wanted.key.library = library;
    wanted.key.line = line;
    wanted.key.how = how;
    wanted.key.size_bytes = size_bytes;
    HASH_FIND(hh, r->sites_by_key, &wanted.key, sizeof wanted.key, s);
    if (s)
        return s->index;
    if (races_grow(r, &r->sites, &r->sites_room, (uint64_t)r->nsites + 2, sizeof(struct races_site *)))
        return 0;
    if (!(s = calloc(1, sizeof *s))) {
        races_no_memory(r);
        return 0;
    }
    s->key = wanted.key;
    s->index = ++r->nsites;
    s->copies = library && is_for_memory(library->name);
    s->reaches = s->copies && !stays_within(library->name);
    HASH_ADD(hh, r->sites_by_key, key, sizeof s->key, s);
    r->sites[s->index] = s;
    return s->index;
}

int races_begins_atomic(const struct races *r, uint32_t site)
{
    struct races_site *s, wanted = *r->sites[site];
    if (wanted.key.how)
        return 0;
    wanted.key.how = RACES_WRITE | RACES_ATOMIC;
    HASH_FIND(hh, r->sites_by_key, &wanted.key, sizeof wanted.key, s);
    return s != NULL;
}

/* The line of a block's last instruction, which calls. */
static uint32_t last_line(const struct peet_block *block)
{
    return block->ninsns ? block->insns[block->ninsns - 1].line : block->line;
}

uint32_t races_site(struct races *r, const struct races_context *c, const struct peet_block *block, uint32_t ref,
    uint8_t how)
{
    const struct peet_ref *const reference = &block->refs[ref];
    if (races_is_library(block->function) && c->allocates && !is_for_memory(block->function->name))
        return 0;
    if (races_is_library(block->function))
        return c->program ? site(r, c->program->function, block->function, last_line(c->program), how, 0) : 0;
    if (races_grow(r, &r->sites_of, &r->nsites_of, (uint64_t)block->id + 1, sizeof(uint32_t *)))
        return 0;
    uint32_t **const of = &r->sites_of[block->id];
    if (!*of && !(*of = calloc(block->nrefs, sizeof **of))) {
        races_no_memory(r);
        return 0;
    }
    if (!(*of)[ref])
        (*of)[ref] = site(r, block->function, NULL, block->insns[reference->insn].line, how, reference->size_bytes);
    return (*of)[ref];
}

void races_sites_free(struct races *r)
{
    HASH_CLEAR(hh, r->sites_by_key);
    for (uint32_t i = 1; i <= r->nsites; i++)
        free(r->sites[i]);
    free(r->sites);
    for (uint32_t i = 0; i < r->nsites_of; i++)
        free(r->sites_of[i]);
    free(r->sites_of);
}
