/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's allocation interface.  The subject's world allocates from the deterministic heap, or, where libraries
 * are recorded, from the C library's own allocator in a copy that is the subject's alone (foreign/allocator.c); the
 * host's world (and every plain run) from libc.  Either may free what the other made, since the address
 * tells whose it is.
 */
#include "internal.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <peet/module.h>
#include "heap/heap.h"
#include "plain/real.h"
#include "recording/notes.h"

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* What the host's world allocates with: in a sanitized build, where the sanitizer is loaded, with its allocator. */
#ifdef PEET_SANITIZED
extern __attribute__((weak)) void *__interceptor_malloc(size_t);
extern __attribute__((weak)) void __interceptor_free(void *);
extern __attribute__((weak)) void *__interceptor_calloc(size_t, size_t);
extern __attribute__((weak)) void *__interceptor_realloc(void *, size_t);
extern __attribute__((weak)) void *__interceptor_memalign(size_t, size_t);
#define HOST(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)
#else
#define HOST(name) __libc_##name
#endif

#define SUBJECT peet__is_subject()
#define CALLER ((uint64_t)__builtin_return_address(0))

#define OTHER peet__allocator

/* Is it a block of the copy's?  It gets its memory where the subject's mappings and its break lie. */
static int is_other(const void *p)
{
    return __builtin_expect(OTHER.on, 0) && (uint64_t)p - PEET__BRK_BASE < PEET__MAPS_END - PEET__BRK_BASE;
}

/* What the copy gave; @old: what it was before, NULL: new */
static void *noted(void *p, size_t bytes, const void *old, uint64_t caller)
{
    peet__rt.busy--;
    if (p) {
        if (old)
            peet__note_release(PEET_RT_HEAP, old, PEET_RT_MOVED, caller);
        peet__note_memory(PEET_RT_HEAP, p, bytes, old, caller);
    } else if (!old || bytes) {
        errno = ENOMEM;
    }
    return p;
}
/* Its functions are called as they are, so that what is recorded is what the program has called. */
#define FROM_OTHER(call, bytes) (peet__rt.busy++, noted(OTHER.call, bytes, NULL, CALLER))

static void *allocate(size_t bytes, size_t align, int zero, uint64_t caller)
{
    peet__rt.busy++;
    void *p = peet__heap_alloc(bytes, align, zero);
    peet__rt.busy--;
    if (!p)
        errno = ENOMEM;
    peet__note_memory(PEET_RT_HEAP, p, bytes, NULL, caller);
    return p;
}

__attribute__((noreturn)) static void bad_pointer(const char *function, const void *p, enum peet__heap_fault fault,
    uint64_t caller)
{
    peet__report("%s(%p) called at 0x%lx: %s", function, p, caller,
        fault == PEET__HEAP_FREED ? "the block was freed before (double free)"
                                  : "no block of the heap begins there (invalid pointer)");
    abort();
}

/* What the host has allocated is the host's to free, with the caches of its thread. */
static void free_foreign(void *p)
{
    if (!SUBJECT || peet__rt.fs == peet__rt.thread) {
        HOST(free)(p);
        return;
    }
    struct peet__visit visit = peet__visit_begin();
    HOST(free)(p);
    peet__visit_end(visit);
}

static void *resize_foreign(void *p, size_t bytes)
{
    if (!SUBJECT || peet__rt.fs == peet__rt.thread)
        return HOST(realloc)(p, bytes);
    struct peet__visit visit = peet__visit_begin();
    void *q = HOST(realloc)(p, bytes);
    peet__visit_end(visit);
    if (!q && bytes)
        errno = ENOMEM;
    return q;
}

PUBLIC void *malloc(size_t bytes)
{
    if (!SUBJECT)
        return peet__real_allocated(HOST(malloc)(bytes), bytes, CALLER);
    return OTHER.on ? FROM_OTHER(malloc(bytes), bytes) : allocate(bytes, 16, 0, CALLER);
}

PUBLIC void *calloc(size_t n, size_t each)
{
    if (!SUBJECT)
        return peet__real_allocated(HOST(calloc)(n, each), n * each, CALLER);
    if (OTHER.on)
        return FROM_OTHER(calloc(n, each), n * each);
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return allocate(bytes, 16, 1, CALLER);
}

/* By the copy, which finds what is wrong with a pointer itself, and ends the program. */
static void free_other(void *p, uint64_t caller)
{
    if (p)
        peet__note_release(PEET_RT_HEAP, p, 0, caller);
    peet__rt.busy++;
    OTHER.free(p);
    peet__rt.busy--;
}

PUBLIC void free(void *p)
{
    if (is_other(p) || (!p && OTHER.on && SUBJECT)) {
        free_other(p, CALLER);
        return;
    }
    if (!peet__heap_owns(p)) {
        if (p && peet__real_watches((void *)CALLER))
            peet__real_released((uint64_t)p, PEET_RT_HEAP, 0, CALLER);
        if (p || !SUBJECT)
            free_foreign(p);
        return;
    }
    int saved_errno = errno;
    peet__note_release(PEET_RT_HEAP, p, 0, CALLER);
    peet__rt.busy++;
    enum peet__heap_fault fault = peet__heap_free(p);
    peet__rt.busy--;
    if (fault != PEET__HEAP_OK)
        bad_pointer("free", p, fault, CALLER);
    errno = saved_errno;
}

static void *resize(void *p, size_t bytes, uint64_t caller)
{
    enum peet__heap_fault fault = peet__heap_check(p);
    if (fault != PEET__HEAP_OK)
        bad_pointer("realloc", p, fault, caller);
    if (bytes == 0) { /* as glibc has it */
        peet__note_release(PEET_RT_HEAP, p, 0, caller);
        peet__rt.busy++;
        peet__heap_free(p);
        peet__rt.busy--;
        return NULL;
    }
    peet__rt.busy++;
    void *q = peet__heap_realloc(p, bytes);
    peet__rt.busy--;
    if (!q) {
        errno = ENOMEM;
        return NULL;
    }
    peet__note_release(PEET_RT_HEAP, p, PEET_RT_MOVED, caller);
    peet__note_memory(PEET_RT_HEAP, q, bytes, p, caller);
    return q;
}

static void *resize_other(void *p, size_t bytes, uint64_t caller)
{
    peet__rt.busy++;
    void *q = OTHER.realloc(p, bytes);
    if (!q && !bytes)
        peet__note_release(PEET_RT_HEAP, p, 0, caller);
    return noted(q, bytes, p, caller);
}

/* On the computer's own processors: the old block is released first, since another thread may get its memory. */
static void *resize_recorded(void *p, size_t bytes, uint64_t caller)
{
    if (p)
        peet__real_released((uint64_t)p, PEET_RT_HEAP, bytes ? PEET_RT_MOVED : 0, caller);
    void *q = HOST(realloc)(p, bytes);
    return q || !bytes ? peet__real_allocated(q, bytes, caller) : NULL;
}

static void *resize_any(void *p, size_t bytes, uint64_t caller)
{
    if (peet__real_watches((void *)caller))
        return resize_recorded(p, bytes, caller);
    if (is_other(p))
        return resize_other(p, bytes, caller);
    if (p)
        return peet__heap_owns(p) ? resize(p, bytes, caller) : resize_foreign(p, bytes);
    if (!SUBJECT)
        return HOST(malloc)(bytes);
    if (!OTHER.on)
        return allocate(bytes, 16, 0, caller);
    peet__rt.busy++;
    return noted(OTHER.realloc(NULL, bytes), bytes, NULL, caller);
}

PUBLIC void *realloc(void *p, size_t bytes)
{
    return resize_any(p, bytes, CALLER);
}

PUBLIC void *reallocarray(void *p, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize_any(p, bytes, CALLER);
}

static int power_of_two(size_t n)
{
    return n && !(n & (n - 1));
}

static void *aligned(size_t align, size_t bytes, uint64_t caller)
{
    if (!SUBJECT)
        return peet__real_allocated(HOST(memalign)(align, bytes), bytes, caller);
    if (OTHER.on) {
        peet__rt.busy++;
        return noted(OTHER.memalign(align, bytes), bytes, NULL, caller);
    }
    while (!power_of_two(align)) /* as glibc: the next power of two */
        align = align ? (align | (align - 1)) + 1 : 16;
    return allocate(bytes, align, 0, caller);
}

PUBLIC void *memalign(size_t align, size_t bytes)
{
    return aligned(align, bytes, CALLER);
}

PUBLIC void *aligned_alloc(size_t align, size_t bytes)
{
    return aligned(align, bytes, CALLER);
}

PUBLIC int posix_memalign(void **out, size_t align, size_t bytes)
{
    if (!power_of_two(align) || align % sizeof(void *))
        return EINVAL;
    int saved_errno = errno;
    if (OTHER.on && SUBJECT) {
        void *block = NULL;
        peet__rt.busy++;
        const int err = OTHER.posix_memalign(&block, align, bytes);
        noted(block, bytes, NULL, CALLER);
        errno = saved_errno;
        if (!err)
            *out = block;
        return err;
    }
    void *p = aligned(align, bytes, CALLER);
    errno = saved_errno;
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

PUBLIC void *valloc(size_t bytes)
{
    return aligned(PEET__PAGE, bytes, CALLER);
}

PUBLIC void *pvalloc(size_t bytes)
{
    return aligned(PEET__PAGE, (bytes + PEET__PAGE - 1) & ~(PEET__PAGE - 1), CALLER);
}

PUBLIC size_t malloc_usable_size(void *p)
{
    static size_t (*real)(void *);
    if (!p)
        return 0;
    if (is_other(p))
        return OTHER.usable(p);
    if (peet__heap_owns(p))
        return peet__heap_usable(p);
    if (!real)
        real = (size_t (*)(void *))peet__next("malloc_usable_size");
    return real(p);
}
