/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mapped memory for machine code; see emit.h.
 */
#include "jit/emit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 18 };

static struct peet__chunk *chunk_new(size_t size)
{
    struct peet__chunk *c = calloc(1, sizeof *c);
    int fd = c ? memfd_create("peet-decoders", MFD_CLOEXEC) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        goto fail;
    c->size = size;
    c->write = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (c->write == MAP_FAILED)
        goto fail;
    c->run = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (c->run == MAP_FAILED) {
        munmap(c->write, size);
        goto fail;
    }
    close(fd);
    return c;
fail:
    if (fd >= 0)
        close(fd);
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
        munmap(c->write, c->size);
        munmap(c->run, c->size);
        free(c);
    }
    *list = NULL;
}
