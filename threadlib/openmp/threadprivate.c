/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threadprivate variables that are not thread-local storage of the system (-fnoopenmp-use-tls): the initial thread has
 * the variable itself, every other thread a copy of what it was when OpenMP first saw it.
 */
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

/* The tables are the library's own memory, too (own.c). */
#define uthash_malloc(bytes) peet__omp_alloc(bytes)
#define uthash_free(memory, bytes) peet__omp_free(memory)
#include <uthash.h>

/** A variable. */
struct variable {
    void *data;
    size_t bytes;
    size_t objects; /* of an array of C++ objects; 0: one object */
    void *image;    /* its initial value, if it has no constructor */
    void *(*construct)(void *);
    void *(*copy)(void *, void *);
    void (*destroy)(void *);
    void *(*construct_array)(void *, size_t);
    void *(*copy_array)(void *, void *, size_t);
    void (*destroy_array)(void *, size_t);
    UT_hash_handle hh;
};

/** A thread's copy. */
struct omp_thread_copy {
    struct omp_thread_copy *next;
    const struct variable *variable;
    void *copy;
};

static struct variable *variables;

static struct variable *variable_for(void *data)
{
    struct variable *v;
    HASH_FIND_PTR(variables, &data, v);
    if (!v) {
        v = peet__omp_alloc(sizeof(*v));
        v->data = data;
        HASH_ADD_PTR(variables, data, v);
    }
    return v;
}

static void *copy_new(struct variable *v, size_t bytes)
{
    void *copy = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!copy)
        peet__omp_die("out of memory for a threadprivate variable of %zu bytes", bytes);
    if (v->construct_array)
        v->construct_array(copy, v->objects);
    else if (v->copy_array)
        v->copy_array(copy, v->data, v->objects);
    else if (v->construct)
        v->construct(copy);
    else if (v->copy)
        v->copy(copy, v->data);
    else
        memcpy(copy, v->image, bytes);
    return copy;
}

ENTRY(void *, __kmpc_threadprivate_cached,
    (struct omp_place * place, int32_t gtid, void *data, size_t bytes, void ***cache))
{
    struct omp_thread *thread = peet__omp_self();
    struct variable *v = variable_for(data);
    if (!v->image) {
        v->bytes = bytes;
        v->image = peet__omp_alloc(bytes);
        memcpy(v->image, data, bytes);
    }
    if (thread->gtid == 0)
        return data;
    for (struct omp_thread_copy *c = thread->copies; c; c = c->next)
        if (c->variable == v)
            return c->copy;
    struct omp_thread_copy *c = peet__omp_alloc(sizeof(*c));
    c->variable = v;
    c->next = thread->copies;
    thread->copies = c; /* before the constructor runs: it may ask for others */
    c->copy = copy_new(v, bytes);
    return c->copy;
}

ENTRY(void *, __kmpc_threadprivate, (struct omp_place * place, int32_t gtid, void *data, size_t bytes))
{
    return peet__omp___kmpc_threadprivate_cached(place, gtid, data, bytes, NULL);
}

ENTRY(void, __kmpc_threadprivate_register,
    (struct omp_place * place, void *data, void *(*construct)(void *), void *(*copy)(void *, void *),
        void (*destroy)(void *)))
{
    struct variable *v = variable_for(data);
    v->construct = construct;
    v->copy = copy;
    v->destroy = destroy;
}

ENTRY(void, __kmpc_threadprivate_register_vec,
    (struct omp_place * place, void *data, void *(*construct)(void *, size_t), void *(*copy)(void *, void *, size_t),
        void (*destroy)(void *, size_t), size_t objects))
{
    struct variable *v = variable_for(data);
    v->objects = objects;
    v->construct_array = construct;
    v->copy_array = copy;
    v->destroy_array = destroy;
}

void peet__omp_copies_free(struct omp_thread *thread)
{
    while (thread->copies) {
        struct omp_thread_copy *c = thread->copies;
        thread->copies = c->next;
        if (c->variable->destroy_array)
            c->variable->destroy_array(c->copy, c->variable->objects);
        else if (c->variable->destroy)
            c->variable->destroy(c->copy);
        free(c->copy);
        peet__omp_free(c);
    }
}
