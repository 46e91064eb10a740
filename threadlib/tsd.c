/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-specific data (pthread_key_*, and tss_* through c11.c).  The C library numbers the keys, so that
 * the subject's and the host's never meet; destructors and, under simulation, values are kept here, per
 * context.  A key that is deleted and made again has another generation: values of the old one are gone.
 */
#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct {
    uint64_t generation; /* odd: in use */
    void (*destructor)(void *);
} keys[PTHREAD_KEYS_MAX];

/* Contexts have values of their own from the first constructor on, and keep them in a child of fork(). */
static int ours(void)
{
    return peet__thread_kept() || peet__constructing();
}

PUBLIC int pthread_key_create(pthread_key_t *out_key, void (*destructor)(void *))
{
    /* The C library calls it for its own threads' values: those of a plain run, and of threads that a child of fork() makes. */
    int err = PEET__REAL(pthread_key_create)(out_key, destructor);
    if (err == 0 && *out_key < PTHREAD_KEYS_MAX) {
        keys[*out_key].generation |= 1;
        keys[*out_key].destructor = destructor;
    }
    return err;
}

PUBLIC int __pthread_key_create(pthread_key_t *out_key, void (*destructor)(void *))
    __attribute__((alias("pthread_key_create")));

PUBLIC int pthread_key_delete(pthread_key_t key)
{
    int err = PEET__REAL(pthread_key_delete)(key);
    if (err == 0 && key < PTHREAD_KEYS_MAX) {
        keys[key].generation = (keys[key].generation | 1) + 1;
        keys[key].destructor = NULL;
    }
    return err;
}

/* Where a thread keeps the value of a key; NULL: it has none yet (and, with make, no memory for it).  As in glibc, the
 * program's allocator gives the memory for values of all but the first keys, so that it is
 * asked as it is natively. */
static struct peet__tsd_value *place(struct peet__thread *self, pthread_key_t key, int make)
{
    const unsigned block = key / PEET__TSD_BLOCK;
    if (!block)
        return &self->tsd[key];
    if (!self->more_tsd && make)
        self->more_tsd = peet__own_calloc(PEET__TSD_BLOCKS, sizeof *self->more_tsd);
    if (!self->more_tsd)
        return NULL;
    if (!self->more_tsd[block] && make)
        self->more_tsd[block] = calloc(PEET__TSD_BLOCK, sizeof **self->more_tsd);
    return self->more_tsd[block] ? &self->more_tsd[block][key % PEET__TSD_BLOCK] : NULL;
}

PUBLIC void *pthread_getspecific(pthread_key_t key)
{
    if (!ours())
        return PEET__REAL(pthread_getspecific)(key);
    if (key >= PTHREAD_KEYS_MAX)
        return NULL;
    const struct peet__tsd_value *v = place(peet__thread_self(), key, 0);
    return v && v->generation == keys[key].generation ? v->value : NULL;
}

PUBLIC int pthread_setspecific(pthread_key_t key, const void *value)
{
    if (!ours())
        return PEET__REAL(pthread_setspecific)(key, value);
    if (key >= PTHREAD_KEYS_MAX || !(keys[key].generation & 1))
        return EINVAL;
    struct peet__tsd_value *v = place(peet__thread_self(), key, value != NULL);
    if (!v)
        return value ? ENOMEM : 0;
    v->value = (void *)value;
    v->generation = keys[key].generation;
    return 0;
}

PUBLIC void *__pthread_getspecific(pthread_key_t key) __attribute__((alias("pthread_getspecific")));
PUBLIC int __pthread_setspecific(pthread_key_t key, const void *value) __attribute__((alias("pthread_setspecific")));

/* One round over a thread's values.  Returns: whether a destructor was called */
static int destroy_round(struct peet__thread *self)
{
    int any = 0;
    for (pthread_key_t key = 0; key < (self->more_tsd ? PTHREAD_KEYS_MAX : PEET__TSD_BLOCK); key++) {
        struct peet__tsd_value *v = place(self, key, 0);
        void *value = v ? v->value : NULL;
        if (!value || v->generation != keys[key].generation)
            continue;
        v->value = NULL;
        if (!keys[key].destructor)
            continue;
        any = 1;
        keys[key].destructor(value);
    }
    return any;
}

void peet__tsd_end(struct peet__thread *self)
{
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && destroy_round(self); round++) {
    }
    for (unsigned block = 1; self->more_tsd && block < PEET__TSD_BLOCKS; block++) {
        struct peet__tsd_value *values = self->more_tsd[block];
        self->more_tsd[block] = NULL;
        if (values)
            free(values);
    }
    peet__own_free(self->more_tsd);
    self->more_tsd = NULL;
    memset(self->tsd, 0, sizeof self->tsd);
}
