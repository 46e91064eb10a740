/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control page and the scratch ring, mapped before anything instrumented can run.  Pre-initialisers
 * of the executable run before every constructor, so a constructor would be too late: the mapping is
 * done by an indirect function's resolver, which the dynamic linker calls while it relocates this
 * library.  At that time neither libc nor this library's own relocations may be relied upon: raw
 * system calls and pc-relative references only.
 */
#include "arch/x86_64/syscall.h"
#include "control.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/** Compiled objects refer to this symbol: only a runtime of their own version can be linked with them. */
extern const char __peet_abi_3;
__attribute__((visibility("default"))) const char __peet_abi_3 = PEET_RAW_ABI;
/** ... and those compiled with -fpeet-domains to this one, which is how they are known. */
extern const char __peet_domains_1;
__attribute__((visibility("default"))) const char __peet_domains_1 = 1;

__attribute__((noreturn)) static void die(const char *message, long length)
{
    peet__raw_syscall(SYS_write, 2, (long)message, length, 0, 0, 0);
    for (;;)
        peet__raw_syscall(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}
#define DIE(text) die(text "\n", sizeof(text))

static void nothing(void) {}

/* dlmopen() loads another copy of this library for what peetcc has compiled; there is one control page.  The first copy fails, in the
 * name of the second, as the dynamic linker itself fails when a symbol is missing. */
static void (*signal_error)(int, const char *, const char *, const char *);

static void refuse(void)
{
    signal_error(0, "libpeet-rt.so", NULL, "what peetcc has compiled cannot be opened in another namespace (dlmopen)");
}

void peet__refuse_others(void)
{
    *(void **)&signal_error = dlvsym(RTLD_DEFAULT, "_dl_signal_error", "GLIBC_PRIVATE");
    if (signal_error)
        peet__ctl->refuse = refuse;
    else
        (void)dlerror(); /* the program has asked for nothing */
}

/* The page may be anybody's, and not to be read: access() says so in place of a fault. */
static void refuse_second(void)
{
    const int is_ours =
        peet__raw_syscall(SYS_access, PEET_CONTROL_ADDRESS + PEET_CONTROL_BYTES - 1, 0, 0, 0, 0, 0) != -EFAULT &&
        peet__ctl->magic == PEET__CONTROL_MAGIC;
    if (is_ours && peet__ctl->refuse)
        peet__ctl->refuse();
}

__attribute__((no_stack_protector, used)) static void (*resolve_early(void))(void)
{
    long page = peet__raw_syscall(SYS_mmap, PEET_CONTROL_ADDRESS, PEET_CONTROL_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page != PEET_CONTROL_ADDRESS)
        refuse_second();
    if (page != PEET_CONTROL_ADDRESS)
        DIE("peet: the control page cannot be mapped at 0x7ffd0000: the address is taken; "
            "is a second libpeet-rt.so loaded?");
    long ring = peet__raw_syscall(SYS_mmap, 0, PEET__SCRATCH_BYTES + PEET__SCRATCH_SLACK_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring < 0 && ring > -4096)
        DIE("peet: no memory for the scratch ring (8 MiB of address space)");
    volatile struct peet__control *control = peet__ctl;
    control->magic = PEET__CONTROL_MAGIC;
    control->scratch_begin = control->cursor = (uint64_t *)(ring + PEET__SCRATCH_FRONT_BYTES);
    control->scratch_limit = control->limit = control->scratch_begin + PEET__SCRATCH_BYTES / 8;
    /* pc-relative: the address of a hidden function needs no relocation */
    void *stub;
    __asm__("leaq peet__stub_plain(%%rip), %0" : "=r"(stub));
    control->stub = stub;
    __asm__("leaq peet__stub_none(%%rip), %0" : "=r"(stub));
    control->turn = control->clock = control->mark = control->outside = control->back = stub;
    return nothing;
}

__attribute__((ifunc("resolve_early"), visibility("hidden"))) void peet__early(void);

/* An address in data makes the dynamic linker call the resolver at once, not at the first call. */
__attribute__((used)) static void (*volatile keep_early)(void) = peet__early;
