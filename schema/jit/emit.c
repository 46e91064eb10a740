/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped memory for machine code; see emit.h.
 */
#include "jit/emit.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { CHUNK_BYTES = 1 << 18 };

static void unmap(struct peet__chunk *c)
{
    munmap(c->write, c->size);
    if (c->run != c->write)
        munmap(c->run, c->size);
}

/* Mapped twice, to be written and to be run; where that is refused (by Valgrind), once.  No memory file: the program's
 * own limit on the size of files (RLIMIT_FSIZE) is the process's. */
static struct peet__chunk *chunk_new(size_t size)
{
    struct peet__chunk *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->size = size;
    c->write = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->write == MAP_FAILED)
        goto fail;
    c->run = mremap(c->write, 0, size, MREMAP_MAYMOVE);
    if (c->run == MAP_FAILED)
        c->run = c->write;
    if (mprotect(c->run, size, PROT_READ | PROT_EXEC | (c->run == c->write ? PROT_WRITE : 0)) == 0)
        return c;
    unmap(c);
fail:
    free(c);
    return NULL;
}

struct peet__chunk *peet__chunk_for(struct peet__chunk **list, size_t room)
{
    struct peet__chunk *c = *list;
    if (c && c->size - c->used >= room)
        return c;
    if (room > (size_t)1 << 30)
        return NULL;
    c = chunk_new(room + PEET__CHUNK_BEGIN > CHUNK_BYTES ? room + PEET__CHUNK_BEGIN : CHUNK_BYTES);
    if (!c)
        return NULL;
    c->used = PEET__CHUNK_BEGIN;
    c->next = *list;
    *list = c;
    return c;
}

void peet__chunks_free(struct peet__chunk **list)
{
    for (struct peet__chunk *c = *list, *next; c; c = next) {
        next = c->next;
        unmap(c);
        free(c);
    }
    *list = NULL;
}
