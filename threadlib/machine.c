/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about the machine: processors, the one that the thread runs on, masks; and giving way.
 */
#include "machine.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <peet/module.h>
#include "signals/signals.h"

#define MASK_BYTES sizeof(((struct peet__thread *)0)->affinity)
#define MASK_PROCESSORS (8 * MASK_BYTES)

/* Constructors of libraries see the machine that is to come. */
static int machine_known(void)
{
    peet__begin_early();
    return peet__simulating() || peet__constructing();
}

unsigned peet__processors(void)
{
    unsigned n = peet_rt_processors();
    return n ? n : 1;
}

/* ------------------------------------------------------------------------------------------------- masks */

static int present(unsigned processor)
{
    return processor < peet__processors();
}

/* The kernel's masks are as long as its largest number of processors asks for. */
static size_t mask_bytes(void)
{
    return (peet__processors() + 63) / 64 * 8;
}

static int any_in(const uint64_t *mask)
{
    for (unsigned i = 0; i < MASK_BYTES / 8; i++)
        if (mask[i])
            return 1;
    return 0;
}

int peet__affinity_get(const struct peet__thread *thread, size_t bytes, cpu_set_t *out_set)
{
    int all = !any_in(thread->affinity);
    if (bytes % sizeof(uint64_t) || bytes < mask_bytes())
        return EINVAL;
    memset(out_set, 0, bytes);
    for (unsigned i = 0; i < MASK_PROCESSORS && i < 8 * bytes; i++)
        if (present(i) && (all || thread->affinity[i / 64] >> i % 64 & 1))
            CPU_SET_S(i, bytes, out_set);
    return 0;
}

int peet__affinity_set(struct peet__thread *thread, size_t bytes, const cpu_set_t *set)
{
    uint64_t mask[MASK_BYTES / 8] = {0};
    for (unsigned i = 0; i < MASK_PROCESSORS && i < 8 * bytes; i++)
        if (present(i) && CPU_ISSET_S(i, bytes, set))
            mask[i / 64] |= (uint64_t)1 << i % 64;
    if (!any_in(mask))
        return EINVAL;
    memcpy(thread->affinity, mask, sizeof mask);
    return 0;
}

PUBLIC int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
    if (!machine_known())
        return PEET__REAL(pthread_setaffinity_np)(thread, bytes, set);
    struct peet__thread *t = peet__thread_of(thread);
    return t ? peet__affinity_set(t, bytes, set) : ESRCH;
}

PUBLIC int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
    if (!machine_known())
        return PEET__REAL(pthread_getaffinity_np)(thread, bytes, set);
    const struct peet__thread *t = peet__thread_of(thread);
    return t ? peet__affinity_get(t, bytes, set) : ESRCH;
}

/* By a number of the kernel's: 0 is the caller, and so is the process's own.  NULL: no thread of the subject's has it. */
static struct peet__thread *thread_of_tid(pid_t tid)
{
    if (tid == 0 || tid == getpid() || tid == gettid())
        return peet__thread_self();
    const struct peet_ctx *ctx = peet__simulating() ? peet__ctx_of_tid(tid) : NULL;
    return ctx ? peet__thread_of((pthread_t)ctx->fs) : NULL;
}

PUBLIC int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    struct peet__thread *thread = machine_known() ? thread_of_tid(pid) : NULL;
    if (!thread)
        return PEET__REAL(sched_setaffinity)(pid, bytes, set);
    int err = peet__affinity_set(thread, bytes, set);
    if (err)
        errno = err;
    return err ? -1 : 0;
}

PUBLIC int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    const struct peet__thread *thread = machine_known() ? thread_of_tid(pid) : NULL;
    if (!thread)
        return PEET__REAL(sched_getaffinity)(pid, bytes, set);
    int err = peet__affinity_get(thread, bytes, set);
    if (err)
        errno = err;
    return err ? -1 : 0;
}

/* -------------------------------------------------------------------------------------------- processors */

/* What cpuid says in recorded libraries, whatever the host is: lines of 64 bytes, no caches; stacks for signals that are
 * large enough for the registers of all processors of today. */
enum { LINE_BYTES = 64, SIGNAL_STACK_LEAST = 16 << 10, SIGNAL_STACK = 4 * SIGNAL_STACK_LEAST };

PUBLIC long sysconf(int name)
{
    if (!machine_known())
        return PEET__REAL(sysconf)(name);
    if (name == _SC_LEVEL1_DCACHE_LINESIZE)
        return LINE_BYTES;
    if (name >= _SC_LEVEL1_ICACHE_SIZE && name <= _SC_LEVEL4_CACHE_LINESIZE)
        return 0;
    switch (name) {
    case _SC_NPROCESSORS_ONLN:
    case _SC_NPROCESSORS_CONF:
        return (long)peet__processors();
    case _SC_MINSIGSTKSZ:
        return SIGNAL_STACK_LEAST;
    case _SC_SIGSTKSZ:
        return SIGNAL_STACK;
    default:
        return PEET__REAL(sysconf)(name);
    }
}

/* Not the C library's, which is recorded: the list that it looks through is longer in newer kernels. */
PUBLIC unsigned long getauxval(unsigned long type)
{
    int found;
    if (!machine_known() || type == AT_HWCAP) /* which is the C library's own word */
        return PEET__REAL(getauxval)(type);
    const unsigned long value = peet__auxv(type, &found);
    if (!found)
        errno = ENOENT;
    return type == AT_HWCAP2 ? 0 : type == AT_MINSIGSTKSZ && found ? SIGNAL_STACK_LEAST : value;
}

PUBLIC int get_nprocs(void)
{
    return machine_known() ? (int)peet__processors() : PEET__REAL(get_nprocs)();
}

PUBLIC int get_nprocs_conf(void)
{
    return machine_known() ? (int)peet__processors() : PEET__REAL(get_nprocs_conf)();
}

PUBLIC int sched_getcpu(void)
{
    return machine_known() ? (int)peet_rt_cpu() : PEET__REAL(sched_getcpu)();
}

PUBLIC int getcpu(unsigned *out_cpu, unsigned *out_node)
{
    if (!machine_known())
        return PEET__REAL(getcpu)(out_cpu, out_node);
    if (out_cpu)
        *out_cpu = peet_rt_cpu();
    if (out_node)
        *out_node = 0;
    return 0;
}

/* ------------------------------------------------------------------------------------------- giving way */

PUBLIC int sched_yield(void)
{
    peet__early_waits();
    if (!peet__simulating())
        return PEET__REAL(sched_yield)();
    peet_rt_event(PEET_ABSTRACT_YIELD, 0, NULL);
    return 0;
}
