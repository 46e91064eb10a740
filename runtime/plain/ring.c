/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scratch rings of a plain run.  A program that runs without `peet run` records into a ring that nobody reads.  If
 * its threads shared one ring, each record would take the cache line of the cursor away from the other processors:
 * programs with four threads on two processors took up to 17 times as long.  So each thread but the first gets a copy
 * of the control page and a ring behind it, when it first finds the limit reached (stub.S).  From then on the base of
 * gs leads its compiled code to the copy.
 *
 * 1. A thread never gives its copy back by itself: it may record until its very end.  The copy of a thread that no
 *    longer exists goes to the next thread that needs one.
 * 2. Nothing here allocates, locks or calls the C library: the stub may be called in a signal handler.
 * 3. A thread without a copy records into the first thread's ring.  That is slow, but right.
 */
#include "plain/ring.h"
#include "internal.h"
#include "arch/x86_64/gs.h"
#include "arch/x86_64/syscall.h"
#include "views/domain_internal.h"

#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    COPIES = 4096, /* more threads than that at a time share the first thread's ring */
    LOOKS = 16,    /* copies that are asked for a dead owner, at most */
    /* words behind the limit: of a check, and of the handlers of signals on top of it */
    SLACK = PEET_RAW_SLACK_WORDS * 8 * 8,
};
_Static_assert(sizeof(struct peet__control) <= PEET_CONTROL_BYTES, "copies are whole");

static struct copy {
    uint64_t page; /* 0: not made yet */
    int32_t owner; /* a thread's number; 0: nobody's, or just being made */
    int shared;    /* its control page is */
} copies[COPIES];
static uint32_t ncopies, next_look;

void peet__ring_own(uint64_t *frame, const uint64_t *xmm);

/* Of a thread that is over.  Its number may have gone to another thread: then it is found later, or never. */
static struct copy *abandoned(int32_t self, long process)
{
    uint32_t n = __atomic_load_n(&ncopies, __ATOMIC_ACQUIRE);
    n = n < COPIES ? n : COPIES;
    for (uint32_t i = 0; i < LOOKS && i < n; i++) {
        struct copy *c = &copies[__atomic_fetch_add(&next_look, 1, __ATOMIC_RELAXED) % n];
        int32_t owner = __atomic_load_n(&c->owner, __ATOMIC_ACQUIRE);
        if (owner && peet__raw_syscall(SYS_tgkill, process, owner, 0, 0, 0, 0) == -ESRCH &&
            __atomic_compare_exchange_n(&c->owner, &owner, self, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return c;
    }
    return NULL;
}

static struct copy *fresh(int32_t self)
{
    if (__atomic_load_n(&ncopies, __ATOMIC_RELAXED) >= COPIES)
        return NULL;
    long page = peet__raw_syscall(SYS_mmap, 0, PEET_CONTROL_BYTES + PEET__SCRATCH_BYTES + SLACK, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (page < 0 && page > -4096)
        return NULL;
    uint32_t i = __atomic_fetch_add(&ncopies, 1, __ATOMIC_ACQ_REL);
    if (i >= COPIES) {
        peet__raw_syscall(SYS_munmap, page, PEET_CONTROL_BYTES + PEET__SCRATCH_BYTES + SLACK, 0, 0, 0, 0);
        return NULL;
    }
    copies[i].page = (uint64_t)page;
    __atomic_store_n(&copies[i].owner, self, __ATOMIC_RELEASE);
    return &copies[i];
}

struct peet__control *peet__ring_take(void)
{
    const int32_t self = (int32_t)peet__raw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
    struct copy *c = abandoned(self, peet__raw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0));
    c = c ? c : fresh(self);
    if (!c)
        return NULL;
    struct peet__control *control = (struct peet__control *)c->page;
    *control = *(struct peet__control *)peet__ctl;
    control->first_thread = 0;
    control->cursor = control->scratch_begin = (uint64_t *)(c->page + PEET_CONTROL_BYTES);
    control->limit = control->scratch_limit = control->scratch_begin + PEET__SCRATCH_BYTES / 8;
    peet__set_gs(c->page - PEET_CONTROL_ADDRESS);
    return control;
}

void peet__ring_share(struct peet__control *control, void *page)
{
    *(struct peet__control *)page = *control;
    for (uint32_t i = 0; i < COPIES && copies[i].page; i++)
        if (copies[i].page == (uint64_t)control)
            copies[i].shared = peet__raw_syscall(SYS_mremap, (long)page, 0, PEET_CONTROL_BYTES,
                                   MREMAP_MAYMOVE | MREMAP_FIXED, (long)control, 0) == (long)control;
}

void peet__ring_unshare(void)
{
    for (uint32_t i = 0; i < COPIES && copies[i].page; i++) {
        struct peet__control *const control = (struct peet__control *)copies[i].page, saved = *control;
        if (!copies[i].shared)
            continue;
        peet__raw_syscall(SYS_mmap, (long)control, PEET_CONTROL_BYTES, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        *control = saved;
        copies[i].shared = 0;
    }
}

void peet__ring_own(uint64_t *frame, const uint64_t *xmm)
{
    (void)frame, (void)xmm;
    peet__ring_take();
    peet__ctl->cursor = peet__ctl->scratch_begin;
}

static int is_viewed(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(int *)arg |= peet__object_is_viewed(info);
    return *(int *)arg;
}

void peet__ring_each_thread(void)
{
    int viewed = 0;
    dl_iterate_phdr(is_viewed, &viewed);
    peet__ctl->first_thread = viewed ? 0 : peet__fs_base();
}
