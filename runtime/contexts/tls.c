/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-local storage of contexts: a static block and a thread control block, made as the C library makes
 * them for its threads, at the top of the context's own stack.  The dynamic linker does the main part; the
 * rest of struct pthread, whose layout is private, follows from what the C library tells debuggers
 * (_thread_db_*) and from the main thread's own: words that point into its control block point into the new one
 * at the same place.
 *
 *     lo ............ stack, downwards | static TLS | control block | struct tail | hi
 *
 * Callers: context.c, thread.c.  What must be the same in all contexts of the process: the guards of stack and
 * pointers (jumps between contexts' frames are mangled), and the kernel's thread id, by which the C library and
 * the dynamic linker know the owner of their recursive locks: a lock held over an event must not stop the process.
 */
#include "internal.h"
#include "arch/x86_64/syscall.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

/* Offsets in the control block that compilers rely on: stack protector, setjmp(). */
#define TCB_STACK_GUARD 0x28
#define TCB_POINTER_GUARD 0x30

/* The kernel's record of restartable sequences, of which it keeps the main thread's alone: {start, processor};
 * a processor of -2 says that nobody keeps it. */
#define RSEQ_PROCESSOR 4
#define RSEQ_NOT_KEPT (-2)

#define SELF_WORDS_MAX 32

static struct {
    int state; /* 0: not looked for, 1: there, -1: not there */
    const char *lacks;
    void *(*allocate)(void *tcb);
    void (*deallocate)(void *tcb, _Bool with_block);
    void (*init_ctype)(void);
    void (*destructors)(void);
    size_t block_bytes; /* static block and control block */
    size_t tcb_bytes, align;
    unsigned list, tid;    /* offsets; 0: unknown */
    const ptrdiff_t *rseq; /* offset, NULL: none */
    unsigned nself;        /* words that point into the block */
    unsigned self[SELF_WORDS_MAX], self_target[SELF_WORDS_MAX];
} api;

/** Above the control block: from a thread pointer to its context. */
struct tail {
    struct peet_ctx *ctx;
    uint64_t filler[7];
};

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found && !api.lacks)
        api.lacks = name;
    return found;
}

/* Byte offset of a field of struct pthread, as said to debuggers: {bits, elements, offset}. */
static unsigned field(const char *name)
{
    const uint32_t *said = dlsym(RTLD_DEFAULT, name);
    return said ? said[2] : 0;
}

/* Words of the main thread's control block that point into itself: its address, empty lists, first-level tables. */
static void find_self_words(uint64_t tcb)
{
    for (unsigned at = 0; at + 8 <= api.tcb_bytes && api.nself < SELF_WORDS_MAX; at += 8) {
        uint64_t word = *(uint64_t *)(tcb + at);
        if (word < tcb || word >= tcb + api.tcb_bytes || (api.list && (at == api.list || at == api.list + 8)))
            continue;
        api.self[api.nself] = at;
        api.self_target[api.nself++] = (unsigned)(word - tcb);
    }
}

static void look(void)
{
    void (*static_info)(size_t *, size_t *) = (void (*)(size_t *, size_t *))find("_dl_get_tls_static_info");
    const uint32_t *tcb_bytes = find("_thread_db_sizeof_pthread");
    api.allocate = (void *(*)(void *))find("_dl_allocate_tls");
    api.deallocate = (void (*)(void *, _Bool))find("_dl_deallocate_tls");
    api.init_ctype = (void (*)(void))dlsym(RTLD_DEFAULT, "__ctype_init");
    api.destructors = (void (*)(void))dlsym(RTLD_DEFAULT, "__call_tls_dtors");
    api.state = -1;
    if (api.lacks)
        return;
    static_info(&api.block_bytes, &api.align);
    api.tcb_bytes = *tcb_bytes;
    if (api.align < 64)
        api.align = 64;
    if (api.tcb_bytes < 0x38 || api.tcb_bytes > api.block_bytes || api.align > PEET__PAGE) {
        api.lacks = "a thread control block as known";
        return;
    }
    api.list = field("_thread_db_pthread_list");
    api.tid = field("_thread_db_pthread_tid");
    api.rseq = dlsym(RTLD_DEFAULT, "__rseq_offset");
    find_self_words(peet__rt.thread);
    api.state = 1;
}

int peet__tls_ready(void)
{
    if (api.state == 0) {
        look();
        if (api.state < 0)
            peet__report(
                "this C library (glibc %s) does not offer %s, which thread-local storage of execution contexts needs: "
                "no loop and no thread can be simulated with it; glibc 2.34 to 2.40 are known to do",
                gnu_get_libc_version(), api.lacks);
    }
    return api.state > 0;
}

static struct tail *tail_of(uint64_t fs)
{
    return (struct tail *)(fs + api.tcb_bytes);
}

/* The C library has registered it before us, and the kernel would go on writing where the host runs. */
void peet__tls_leave_rseq(void)
{
    enum { UNREGISTER = 1, SIGNATURE = 0x53053053, BYTES = 32 };
    const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
    const unsigned *bytes = dlsym(RTLD_DEFAULT, "__rseq_size");
    if (!offset || !bytes || *bytes == 0)
        return;
    uint64_t record = peet__rt.thread + (uint64_t)*offset;
    if (peet__raw_syscall(SYS_rseq, (long)record, BYTES, UNREGISTER, SIGNATURE, 0, 0) != 0 &&
        peet__raw_syscall(SYS_rseq, (long)record, *bytes, UNREGISTER, SIGNATURE, 0, 0) != 0)
        return;
    *(uint32_t *)record = 0;
    *(int32_t *)(record + RSEQ_PROCESSOR) = RSEQ_NOT_KEPT;
}

struct peet_ctx *peet__tls_context(uint64_t fs)
{
    return fs == peet__rt.thread ? &peet__rt.main_ctx : tail_of(fs)->ctx;
}

size_t peet__tls_bytes(void)
{
    return api.block_bytes + sizeof(struct tail) + 2 * api.align;
}

static void fill_control_block(uint64_t tcb)
{
    uint64_t main_tcb = peet__rt.thread;
    for (unsigned i = 0; i < api.nself; i++)
        *(uint64_t *)(tcb + api.self[i]) = tcb + api.self_target[i];
    *(uint64_t *)tcb = *(uint64_t *)(tcb + 16) = tcb;
    *(uint64_t *)(tcb + TCB_STACK_GUARD) = *(uint64_t *)(main_tcb + TCB_STACK_GUARD);
    *(uint64_t *)(tcb + TCB_POINTER_GUARD) = *(uint64_t *)(main_tcb + TCB_POINTER_GUARD);
    if (api.list) /* in no list of the C library's: what it takes out of one must find neighbours */
        *(uint64_t *)(tcb + api.list) = *(uint64_t *)(tcb + api.list + 8) = tcb + api.list;
    if (api.tid)
        *(int32_t *)(tcb + api.tid) = *(int32_t *)(main_tcb + api.tid);
    if (api.rseq && *api.rseq)
        *(int32_t *)(tcb + (uint64_t)*api.rseq + RSEQ_PROCESSOR) = RSEQ_NOT_KEPT;
}

int peet__tls_new(struct peet_ctx *ctx)
{
    uint64_t tcb = (ctx->stack.hi - sizeof(struct tail) - api.tcb_bytes) & ~(api.align - 1);
    uint64_t begin = tcb - (api.block_bytes - api.tcb_bytes);
    memset((void *)begin, 0, ctx->stack.hi - begin);
    if (!api.allocate((void *)tcb))
        return PEET_ENOMEM;
    fill_control_block(tcb);
    peet__allocator_enter(tcb);
    tail_of(tcb)->ctx = ctx;
    ctx->fs = tcb;
    ctx->stack_top = begin & ~63ul;
    if (api.init_ctype) {
        uint64_t before = peet__fs_base_now();
        peet__set_fs(tcb);
        api.init_ctype();
        peet__set_fs(before);
    }
    return 0;
}

void peet__tls_free(struct peet_ctx *ctx)
{
    if (ctx->fs && ctx->fs != peet__rt.thread && ((void **)ctx->fs)[1]) {
        api.deallocate((void *)ctx->fs, 0);
        peet__allocator_leave(ctx->fs);
    }
    if (ctx->fs && ctx->fs != peet__rt.thread)
        ((void **)ctx->fs)[1] = NULL;
}

void peet__tls_destructors(void)
{
    if (api.destructors)
        api.destructors();
}
