/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of contexts: reserved, not committed, at addresses that depend only on the order of requests,
 * each with a guard below.  Where the kernel can guard pages without splitting mappings
 * (MADV_GUARD_INSTALL, Linux 6.13), the number of contexts is bounded by memory alone; elsewhere guards
 * cost two mappings each, and stacks beyond GUARDED_MAX go without, lest the kernel's limit on mappings
 * (65530) end the run.  The setting PEET_GUARD=mprotect chooses the latter anywhere, for tests.
 *
 * They can be executed if one of the loaded objects says that it needs that (PT_GNU_STACK): gcc puts the code that calls a nested
 * function there.  Objects that are loaded later count for stacks that are made after that.
 */
#include "views/domain_internal.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#define GUARDED_MAX 24000

/* Free stacks by size (log2 of the bytes), linked through the top word of the stack itself. */
#define CLASSES 40
static uint64_t free_tops[CLASSES];
static uint64_t next_base = PEET__STACKS_BASE;
static int guards_split; /* the kernel has no MADV_GUARD_INSTALL */
static unsigned nguarded;
static int protection = PROT_READ | PROT_WRITE;

static int needs_executable(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (unsigned p = 0; p < info->dlpi_phnum; p++)
        if (info->dlpi_phdr[p].p_type == PT_GNU_STACK && info->dlpi_phdr[p].p_flags & PF_X)
            return 1;
    return 0;
}

static void *raw_mmap(uint64_t at, size_t bytes)
{
    return (void *)syscall(SYS_mmap, at, bytes, protection,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static void guard(uint64_t at, size_t bytes)
{
    const char *how = nguarded ? NULL : peet_rt_setting("PEET_GUARD");
    if (how && strcmp(how, "mprotect") == 0)
        guards_split = 1;
    if (!guards_split) {
        if (madvise((void *)at, bytes, MADV_GUARD_INSTALL) == 0)
            return;
        guards_split = 1;
    }
    if (nguarded < GUARDED_MAX && mprotect((void *)at, bytes, PROT_NONE) == 0)
        nguarded++;
}

static int map_stack(uint64_t guard_lo, size_t guard_bytes, size_t bytes, struct peet__stack *out_stack)
{
    if (dl_iterate_phdr(needs_executable, NULL) == 1)
        protection |= PROT_EXEC;
    if (raw_mmap(guard_lo, guard_bytes + bytes) != (void *)guard_lo)
        return PEET_ENOMEM;
    if (peet__domain_added(guard_lo, guard_lo + guard_bytes + bytes, protection, PEET_DOMAIN_ALIAS) != 0)
        return PEET_ENOMEM;
    /* A huge page would hold a stack's first few bytes alone.  Before anything else: the kernel then joins the
     * mapping with its neighbour. */
    madvise((void *)guard_lo, guard_bytes + bytes, MADV_NOHUGEPAGE);
    guard(guard_lo, guard_bytes);
    *out_stack = (struct peet__stack){guard_lo + guard_bytes, guard_lo + guard_bytes + bytes, guard_lo, 0};
    return 0;
}

/* As large as the setting says.  The largest means "no limit": then less will do where memory is limited. */
int peet__stack_main(struct peet__stack *out_stack)
{
    const char *setting = peet_rt_setting("PEET_STACK");
    uint64_t asked = setting ? strtoull(setting, NULL, 10) : 0, bytes;
    if (asked == 0 || asked > PEET__MAIN_STACK_MOST)
        asked = PEET__MAIN_STACK_BYTES;
    bytes = (asked + PEET__PAGE - 1) & ~(PEET__PAGE - 1);
    int err;
    do
        err =
            map_stack(PEET__MAIN_STACK_TOP - bytes - PEET__MAIN_GUARD_BYTES, PEET__MAIN_GUARD_BYTES, bytes, out_stack);
    while (err != 0 && asked == PEET__MAIN_STACK_MOST && (bytes /= 2) >= PEET__MAIN_STACK_BYTES);
    return err;
}

static unsigned class_of(size_t bytes)
{
    unsigned cls = 16;
    while (cls < CLASSES && (size_t)1 << cls < bytes)
        cls++;
    return cls;
}

int peet__stack_new(size_t bytes, struct peet__stack *out_stack)
{
    unsigned cls = class_of(bytes);
    if (cls >= CLASSES)
        return PEET_ELIMIT;
    bytes = (size_t)1 << cls;
    if (free_tops[cls]) {
        uint64_t hi = free_tops[cls];
        free_tops[cls] = ((uint64_t *)hi)[-1];
        ((uint64_t *)hi)[-1] = 0;
        *out_stack = (struct peet__stack){hi - bytes, hi, hi - bytes - PEET__GUARD_BYTES, 0};
        return 0;
    }
    if (next_base + PEET__GUARD_BYTES + bytes > PEET__STACKS_END)
        return PEET_ELIMIT;
    int err = map_stack(next_base, PEET__GUARD_BYTES, bytes, out_stack);
    if (err == 0)
        next_base += PEET__GUARD_BYTES + bytes;
    return err;
}

uint64_t peet__stack_guard_in(uint64_t lo, uint64_t hi)
{
    for (const struct peet_ctx *ctx = peet__ctx_list; ctx; ctx = ctx->next)
        if (!ctx->stack.foreign && ctx->stack.guard_lo >= lo && ctx->stack.guard_lo < hi)
            hi = ctx->stack.guard_lo;
    for (unsigned cls = 0; cls < CLASSES; cls++)
        for (uint64_t top = free_tops[cls]; top; top = ((uint64_t *)top)[-1]) {
            uint64_t at = top - ((uint64_t)1 << cls) - PEET__GUARD_BYTES;
            if (at >= lo && at < hi)
                hi = at;
        }
    return hi;
}

void peet__stack_drop_pages(const struct peet__stack *stack)
{
    uint64_t keep = (stack->hi - peet__tls_bytes()) & ~(PEET__PAGE - 1);
    if (!stack->foreign && peet__domain_discard(stack->lo, keep) != 0)
        madvise((void *)stack->lo, keep - stack->lo, MADV_DONTNEED);
}

void peet__stack_free(const struct peet__stack *stack)
{
    if (stack->foreign)
        return;
    /* the topmost pages, which every call touches, stay */
    peet__stack_drop_pages(stack);
    unsigned cls = class_of(stack->hi - stack->lo);
    ((uint64_t *)stack->hi)[-1] = free_tops[cls];
    free_tops[cls] = stack->hi;
}
