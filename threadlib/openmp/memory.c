/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocators.  All memory spaces are the heap; of the traits, alignment, pool size and fallback have an effect, as for
 * an allocator of the heap in the ordinary library.
 */
#include "openmp.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_ALIGNMENT = 2, KEY_POOL_SIZE = 4, KEY_FALLBACK = 5, KEY_FALLBACK_DATA = 6, KEY_PARTITION = 8 };
enum { FALLBACK_DEFAULT = 11, FALLBACK_NULL = 12, FALLBACK_ABORT = 13, FALLBACK_ALLOCATOR = 14 };
enum { DEFAULT_ALLOCATOR = 1, PREDEFINED_MAX = 102 };

struct allocator {
    size_t alignment, pool_bytes, used_bytes;
    uintptr_t fallback, fallback_allocator;
};

struct trait {
    int key;
    uintptr_t value;
};

/* Before each block. */
struct block {
    void *base;              /* what the heap gave */
    size_t bytes;            /* asked for */
    struct allocator *owner; /* whose pool it is charged to */
    size_t charged;
};

static struct allocator *own(uintptr_t handle)
{
    return handle > PREDEFINED_MAX ? (struct allocator *)handle : NULL;
}

static uintptr_t or_default(uintptr_t handle)
{
    return handle ? handle : peet__omp_self()->task->icvs.allocator;
}

static void *allocate(size_t alignment, size_t bytes, uintptr_t handle)
{
    struct allocator *a = own(handle);
    size_t charged = bytes;
    if (bytes == 0)
        return NULL;
    if (a && a->alignment > alignment)
        alignment = a->alignment;
    if (alignment < 16)
        alignment = 16;
    if (a && a->pool_bytes && a->used_bytes + charged > a->pool_bytes) {
        switch (a->fallback) {
        case FALLBACK_NULL:
            return NULL;
        case FALLBACK_ABORT:
            peet__omp_die("an allocator's pool of %zu bytes is exhausted, and its fallback is abort_fb", a->pool_bytes);
        case FALLBACK_ALLOCATOR:
            return allocate(alignment, bytes, a->fallback_allocator);
        default:
            a = NULL;
        }
    }
    size_t room = (sizeof(struct block) + alignment - 1) & ~(alignment - 1);
    if (bytes + room + alignment < bytes)
        return NULL;
    char *base = aligned_alloc(alignment, (bytes + room + alignment - 1) & ~(alignment - 1));
    if (!base)
        return NULL;
    struct block *block = (struct block *)(base + room) - 1;
    *block = (struct block){base, bytes, a, charged};
    if (a)
        a->used_bytes += charged;
    return block + 1;
}

static void release(void *p)
{
    if (!p)
        return;
    struct block *block = (struct block *)p - 1;
    if (block->owner)
        block->owner->used_bytes -= block->charged;
    free(block->base);
}

static void *zeroed(size_t alignment, size_t n, size_t each, uintptr_t handle)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes))
        return NULL;
    void *p = allocate(alignment, bytes, or_default(handle));
    if (p)
        memset(p, 0, bytes);
    return p;
}

static void *resize(void *p, size_t bytes, uintptr_t handle)
{
    if (bytes == 0) {
        release(p);
        return NULL;
    }
    void *q = allocate(0, bytes, or_default(handle));
    if (p && q) {
        size_t old = ((struct block *)p - 1)->bytes;
        memcpy(q, p, old < bytes ? old : bytes);
        release(p);
    }
    return q;
}

static uintptr_t allocator_new(int n, const struct trait *traits)
{
    struct allocator *a = calloc(1, sizeof(*a));
    if (!a)
        return 0;
    a->fallback = FALLBACK_DEFAULT;
    for (int i = 0; i < n; i++) {
        uintptr_t value = traits[i].value;
        switch (traits[i].key) {
        case KEY_ALIGNMENT:
            a->alignment = value == UINTPTR_MAX ? 0 : value;
            break;
        case KEY_POOL_SIZE:
            a->pool_bytes = value == UINTPTR_MAX ? 0 : value;
            break;
        case KEY_FALLBACK:
            a->fallback = value == UINTPTR_MAX ? FALLBACK_DEFAULT : value;
            break;
        case KEY_FALLBACK_DATA:
            a->fallback_allocator = value;
            break;
        default:
            break;
        }
    }
    if (a->alignment & (a->alignment - 1)) {
        free(a);
        return 0;
    }
    return (uintptr_t)a;
}

/* -------------------------------------------------------------------------------------- entry points */

/* clang-format off */
ENTRY(uintptr_t, omp_init_allocator, (uintptr_t space, int n, const struct trait *traits)) { return allocator_new(n, traits); }
ENTRY(void, omp_destroy_allocator, (uintptr_t handle)) { free(own(handle)); }
/* clang-format on */
ENTRY(void, omp_set_default_allocator, (uintptr_t handle))
{
    peet__omp_self()->task->icvs.allocator = handle ? handle : DEFAULT_ALLOCATOR;
}
/* clang-format off */
ENTRY(uintptr_t, omp_get_default_allocator, (void)) { return or_default(0); }
ENTRY(void *, omp_alloc, (size_t bytes, uintptr_t handle)) { return allocate(0, bytes, or_default(handle)); }
ENTRY(void *, omp_aligned_alloc, (size_t alignment, size_t bytes, uintptr_t handle)) { return allocate(alignment, bytes, or_default(handle)); }
ENTRY(void *, omp_calloc, (size_t n, size_t each, uintptr_t handle)) { return zeroed(0, n, each, handle); }
ENTRY(void *, omp_aligned_calloc, (size_t alignment, size_t n, size_t each, uintptr_t handle)) { return zeroed(alignment, n, each, handle); }
ENTRY(void *, omp_realloc, (void *p, size_t bytes, uintptr_t handle, uintptr_t old)) { return resize(p, bytes, handle); }
ENTRY(void, omp_free, (void *p, uintptr_t handle)) { release(p); }

ENTRY(uintptr_t, __kmpc_init_allocator, (int gtid, uintptr_t space, int n, const struct trait *traits)) { return allocator_new(n, traits); }
ENTRY(void, __kmpc_destroy_allocator, (int gtid, uintptr_t handle)) { free(own(handle)); }
ENTRY(void, __kmpc_set_default_allocator, (int gtid, uintptr_t handle)) { peet__omp_omp_set_default_allocator(handle); }
ENTRY(uintptr_t, __kmpc_get_default_allocator, (int gtid)) { return or_default(0); }
ENTRY(void *, __kmpc_alloc, (int gtid, size_t bytes, uintptr_t handle)) { return allocate(0, bytes, or_default(handle)); }
ENTRY(void *, __kmpc_aligned_alloc, (int gtid, size_t alignment, size_t bytes, uintptr_t handle)) { return allocate(alignment, bytes, or_default(handle)); }
ENTRY(void *, __kmpc_calloc, (int gtid, size_t n, size_t each, uintptr_t handle)) { return zeroed(0, n, each, handle); }
ENTRY(void *, __kmpc_realloc, (int gtid, void *p, size_t bytes, uintptr_t handle, uintptr_t old)) { return resize(p, bytes, handle); }
ENTRY(void, __kmpc_free, (int gtid, void *p, uintptr_t handle)) { release(p); }

ENTRY(void *, kmp_malloc, (size_t bytes)) { return malloc(bytes); }
/* clang-format on */
ENTRY(void *, kmp_aligned_malloc, (size_t bytes, size_t alignment))
{
    if (alignment == 0 || (alignment & (alignment - 1)))
        return NULL;
    return aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
}
/* clang-format off */
ENTRY(void *, kmp_calloc, (size_t n, size_t each)) { return calloc(n, each); }
ENTRY(void *, kmp_realloc, (void *p, size_t bytes)) { return realloc(p, bytes); }
ENTRY(void, kmp_free, (void *p)) { free(p); }
ENTRY(void *, kmpc_malloc, (size_t bytes)) { return malloc(bytes); }
ENTRY(void *, kmpc_aligned_malloc, (size_t bytes, size_t alignment)) { return peet__omp_kmp_aligned_malloc(bytes, alignment); }
ENTRY(void *, kmpc_calloc, (size_t n, size_t each)) { return calloc(n, each); }
ENTRY(void *, kmpc_realloc, (void *p, size_t bytes)) { return realloc(p, bytes); }
ENTRY(void, kmpc_free, (void *p)) { free(p); }
/* clang-format on */
