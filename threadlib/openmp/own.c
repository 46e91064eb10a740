/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own memory: teams, tasks, loops, what reductions and dependences need.  It is in chunks of the program's
 * heap, so that a recorded allocator (--foreign=record) has next to nothing to do for this library, whose work is not
 * seen.  If contexts have views of memory (a model of consistency), chunks are the same in all views.  Pages that both
 * the program and this library store to would differ: the program stores to its view, this library to main memory, and
 * what a view holds of such a page would come back over the library's stores.  Tasks hold the program's private
 * variables and arguments, too; models do not reorder accesses to those.
 *
 * Blocks have sizes that are powers of two, and what is freed is used again for its size.  Contexts change at events
 * only, so nothing here is locked.
 */
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 7, SIZES = 48 };
#define CHUNK (256ul << 10)
#define PAGE 4096ul

/* What stands before the bytes of a block; as far as the alignment of a task. */
struct block {
    _Alignas(64) struct block *next; /* of the unused ones */
    unsigned size;                   /* log2 of all its bytes */
};
static struct block *unused[SIZES];
static char *chunk;
static size_t left;

static int viewed(void)
{
    static int known = -1;
    if (known < 0)
        known = peet_rt_has_views();
    return known;
}

/* New memory for a block of so many bytes.  Returns: NULL if there is none */
static struct block *cut(size_t bytes)
{
    if (bytes > left) {
        size_t all = bytes > CHUNK ? bytes : CHUNK;
        char *more = aligned_alloc(PAGE, all);
        if (!more)
            return NULL;
        if (viewed())
            peet_rt_same_in_views(more, all);
        chunk = more;
        left = all;
    }
    struct block *b = (struct block *)chunk;
    chunk += bytes;
    left -= bytes;
    return b;
}

void *peet__omp_try_alloc(size_t bytes)
{
    unsigned size = LEAST;
    while (size < SIZES && (1ul << size) - sizeof(struct block) < bytes)
        size++;
    struct block *b = size < SIZES ? unused[size] : NULL;
    if (b)
        unused[size] = b->next;
    else if (size == SIZES || !(b = cut(1ul << size)))
        return NULL;
    b->size = size;
    return memset(b + 1, 0, bytes);
}

void *peet__omp_alloc(size_t bytes)
{
    void *p = peet__omp_try_alloc(bytes);
    if (!p)
        peet__omp_die("out of memory (%zu bytes)", bytes);
    return p;
}

void peet__omp_free(void *memory)
{
    if (memory) {
        struct block *b = (struct block *)memory - 1;
        b->next = unused[b->size];
        unused[b->size] = b;
    }
}

void *peet__omp_realloc(void *memory, size_t bytes)
{
    void *p = peet__omp_alloc(bytes);
    if (memory) {
        size_t had = (1ul << ((struct block *)memory - 1)->size) - sizeof(struct block);
        memcpy(p, memory, had < bytes ? had : bytes);
        peet__omp_free(memory);
    }
    return p;
}
