/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and their views: the base of gs around each turn of a context, and code that sees main memory alone.  Code
 * compiled with -fpeet-domains calls a hook before calls that leave its module and before inline assembly, as long as
 * the running context's view is not main memory.  Where the call leads to is found out once for each callee:
 *
 *     code compiled likewise              nothing happens
 *     malloc(), libm                      nothing: what it stores, recorded code does not look at
 *     synchronisation                     nothing, unless the caller has stored to the object or a deadline and main
 *                                         memory has not got it yet: then as below
 *     memcpy() and its kin                the event VIEW_LEAVE, so that the machine performs what is pending; the range
 *                                         that is stored to is passed on to views' copies
 *     anything else                       VIEW_LEAVE; whatever is stored in pages of which there are copies is passed
 *                                         on
 *
 * What such code calls back goes to main memory, too: the context is *away*, until a hook behind the call, or at a
 * landing pad, finds its stack as high as it was.  Behind a call in place of a return there is no hook: callbacks keep
 * the view, and the call is over when the context next suspends with a stack that is not deeper.
 */
#include "views/domain_internal.h"
#include "arch/x86_64/frame.h"
#include "arch/x86_64/gs.h"

#include <dlfcn.h>
#include <link.h>
#include <peet/module.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include "world/world.h"

enum kind { UNKNOWN, INSIDE, RANGE, OUTSIDE, LOADS, OBJECTS /* + which of them */ };

/* Callees by address; a full table starts afresh. */
#define CALLEES 4096
static struct callee {
    uint64_t address;
    uint8_t kind;
} callees[CALLEES];
static unsigned ncallees;
static int loaded; /* a library may have come or gone */

/* ------------------------------------------------------------------------------------------------------- objects */

/* Undefined symbols come before those that the hash table covers. */
int peet__object_is_viewed(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dyn = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *gnu = NULL, *sysv = NULL;
    for (unsigned p = 0; p < info->dlpi_phnum; p++)
        if (info->dlpi_phdr[p].p_type == PT_DYNAMIC)
            dyn = (const void *)(info->dlpi_addr + info->dlpi_phdr[p].p_vaddr);
    for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
        uint64_t at = dyn->d_un.d_ptr < info->dlpi_addr ? dyn->d_un.d_ptr + info->dlpi_addr : dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_SYMTAB)
            symbols = (const void *)at;
        else if (dyn->d_tag == DT_STRTAB)
            names = (const void *)at;
        else if (dyn->d_tag == DT_GNU_HASH)
            gnu = (const void *)at;
        else if (dyn->d_tag == DT_HASH)
            sysv = (const void *)at;
    }
    uint32_t n = gnu ? gnu[1] : sysv ? sysv[1] : 0;
    for (uint32_t i = 1; symbols && names && i < n; i++)
        if (strcmp(names + symbols[i].st_name, "__peet_domains_1") == 0)
            return symbols[i].st_shndx == SHN_UNDEF;
    return 0;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(int *)arg = peet__object_is_viewed(info);
    return 1; /* the executable comes first */
}

PUBLIC int peet_domains_compiled(void)
{
    static int compiled = -1;
    if (compiled < 0)
        dl_iterate_phdr(first_object, &compiled);
    return compiled > 0;
}

struct question {
    uint64_t pc;
    int viewed, ours;
};

static int ask(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct question *q = arg;
    int here = 0, ours = 0;
    (void)size;
    for (unsigned p = 0; p < info->dlpi_phnum; p++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[p];
        uint64_t lo = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type != PT_LOAD)
            continue;
        here |= q->pc >= lo && q->pc < lo + ph->p_memsz;
        ours |= (uint64_t)ask >= lo && (uint64_t)ask < lo + ph->p_memsz;
    }
    if (!here)
        return 0;
    q->viewed = peet__object_is_viewed(info);
    q->ours = ours;
    return 1;
}

enum { ARGS = 4, TIME = sizeof(struct timespec) };

/* Functions of ours that look at objects of their own, and at deadlines: what they do to memory order is the event's
 * that they make.  How many bytes their arguments point to; 0: not a pointer, or none that is looked at.  The first name
 * with which the function's begins is its own. */
static const struct objects {
    const char *name;
    uint8_t bytes[ARGS];
} objects[] = {
    {"pthread_mutex_timedlock", {sizeof(pthread_mutex_t), TIME}},
    {"pthread_mutex_clocklock", {sizeof(pthread_mutex_t), 0, TIME}},
    {"pthread_mutex_", {sizeof(pthread_mutex_t)}},
    {"pthread_rwlock_timed", {sizeof(pthread_rwlock_t), TIME}},
    {"pthread_rwlock_clock", {sizeof(pthread_rwlock_t), 0, TIME}},
    {"pthread_rwlock_", {sizeof(pthread_rwlock_t)}},
    {"pthread_spin_", {sizeof(pthread_spinlock_t)}},
    {"pthread_barrier_wait", {sizeof(pthread_barrier_t)}},
    {"pthread_cond_timedwait", {sizeof(pthread_cond_t), sizeof(pthread_mutex_t), TIME}},
    {"pthread_cond_clockwait", {sizeof(pthread_cond_t), sizeof(pthread_mutex_t), 0, TIME}},
    {"pthread_cond_wait", {sizeof(pthread_cond_t), sizeof(pthread_mutex_t)}},
    {"pthread_cond_", {sizeof(pthread_cond_t)}},
    {"pthread_once", {sizeof(pthread_once_t)}},
    {"sem_timedwait", {sizeof(sem_t), TIME}},
    {"sem_clockwait", {sizeof(sem_t), 0, TIME}},
    {"sem_wait", {sizeof(sem_t)}},
    {"sem_post", {sizeof(sem_t)}},
    {"sem_trywait", {sizeof(sem_t)}},
    {"mtx_timedlock", {sizeof(mtx_t), TIME}},
    {"mtx_", {sizeof(mtx_t)}},
    {"cnd_timedwait", {sizeof(cnd_t), sizeof(mtx_t), TIME}},
    {"cnd_wait", {sizeof(cnd_t), sizeof(mtx_t)}},
    {"cnd_", {sizeof(cnd_t)}},
    {"call_once", {sizeof(once_flag)}},
};
_Static_assert(OBJECTS + sizeof objects / sizeof *objects <= UINT8_MAX, "a callee's kind is a byte");

/* Functions of ours that reference nothing of the subject's, and those above. */
static enum kind kind_of_ours(uint64_t pc)
{
    static const char *const visits[] = {"thrd_yield", "sched_yield", "pthread_self", "malloc", "peet_", "omp_get_",
        "omp_set_lock", "omp_unset_lock", "omp_test_lock", "__kmpc_barrier", "__kmpc_critical", "__kmpc_end_critical",
        "__kmpc_global_thread_num", "__kmpc_for_", "__kmpc_dispatch_", "__kmpc_flush", "GOMP_barrier", "GOMP_critical",
        "peetdoall"};
    static const char *const ranges[] = {"memcpy", "memmove", "mempcpy", "memset", "memcmp", "bcmp", "memchr", "bzero",
        "bcopy", "strlen", "strcmp", "strncmp", "strcpy", "strncpy", "strcat", "strchr", "strrchr", "strstr",
        "__memcpy_chk", "__memmove_chk", "__memset_chk"};
    Dl_info info;
    if (!dladdr((void *)pc, &info) || !info.dli_sname || (uint64_t)info.dli_saddr != pc)
        return OUTSIDE;
    /* the same function may have a second name, which dladdr() likes as well */
    const char *name = strncmp(info.dli_sname, "__pthread_", 10) == 0 ? info.dli_sname + 2 : info.dli_sname;
    if (strstr(name, "_init") || strstr(name, "_destroy") || strstr(name, "prioceiling"))
        return OUTSIDE;
    for (unsigned i = 0; i < sizeof objects / sizeof *objects; i++)
        if (strncmp(name, objects[i].name, strlen(objects[i].name)) == 0)
            return (enum kind)(OBJECTS + i);
    for (unsigned i = 0; i < sizeof visits / sizeof *visits; i++)
        if (strncmp(info.dli_sname, visits[i], strlen(visits[i])) == 0)
            return INSIDE;
    /* world_memory.c and world_string.c say what they have stored to */
    for (unsigned i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (strcmp(info.dli_sname, ranges[i]) == 0)
            return RANGE;
    return OUTSIDE;
}

/* Of the C library: what references nothing of the subject's but errno, or its own state. */
static enum kind kind_of_theirs(uint64_t pc)
{
    static const char *const alone[] = {"rand", "random", "drand48", "lrand48", "mrand48", "abs", "labs", "llabs",
        "toupper", "tolower", "isalpha", "isdigit", "isalnum", "isspace", "isupper", "islower", "ispunct", "isprint",
        "isxdigit", "__errno_location", "__ctype_b_loc", "__ctype_toupper_loc", "__ctype_tolower_loc",
        "__stack_chk_fail", "abort"};
    /* through pointers */
    static const char *const stores[] = {"modf", "frexp", "sincos", "remquo", "lgamma_r", "lgammaf_r", "nan"};
    Dl_info info;
    if (!dladdr((void *)pc, &info) || !info.dli_sname || !info.dli_fname)
        return OUTSIDE;
    const char *file = strrchr(info.dli_fname, '/');
    file = file ? file + 1 : info.dli_fname;
    if (strncmp(file, "libm.so", 7) == 0 || strncmp(file, "libm-", 5) == 0) {
        for (unsigned i = 0; i < sizeof stores / sizeof *stores; i++)
            if (strstr(info.dli_sname, stores[i]))
                return OUTSIDE;
        return INSIDE;
    }
    for (unsigned i = 0; i < sizeof alone / sizeof *alone; i++)
        if (strncmp(file, "libc.so", 7) == 0 && strcmp(info.dli_sname, alone[i]) == 0)
            return INSIDE;
    return OUTSIDE;
}

static int is_loader(uint64_t pc)
{
    static uint64_t open, close;
    if (!open) {
        open = (uint64_t)dlsym(RTLD_DEFAULT, "dlopen");
        close = (uint64_t)dlsym(RTLD_DEFAULT, "dlclose");
    }
    return pc == open || pc == close;
}

static enum kind kind_of(uint64_t pc)
{
    struct question q = {pc, 0, 0};
    if (pc == 0)
        return OUTSIDE;
    struct callee *c;
    for (uint64_t i = pc * 0x9e3779b97f4a7c15u >> 52;; i++) {
        c = &callees[i % CALLEES];
        if (c->address == pc)
            return (enum kind)c->kind;
        if (!c->address)
            break;
    }
    dl_iterate_phdr(ask, &q);
    c->kind = is_loader(pc) ? LOADS : q.viewed ? INSIDE : q.ours ? kind_of_ours(pc) : kind_of_theirs(pc);
    c->address = pc;
    enum kind kind = (enum kind)c->kind;
    if (++ncallees > CALLEES / 2) {
        memset(callees, 0, sizeof callees);
        ncallees = 0;
    }
    return kind;
}

/* ------------------------------------------------------------------------------------------------------- the base */

static void go_to(unsigned d, int away)
{
    uint64_t offset = away ? 0 : (uint64_t)peet__domains.offset[d];
    peet__set_gs(offset);
    peet__ctl->viewed = d != PEET_DOMAIN_MAIN;
    peet__ctl->away = away;
    peet__ctl->view_offset = offset;
    peet__ctl->view_back = -offset;
}

static void rescan(void)
{
    loaded = 0;
    memset(callees, 0, sizeof callees);
    ncallees = 0;
    peet__domains_rescan();
}

/* The view becomes main memory's; without a machine that has performed what it has stored, that is done here. */
static void clean(unsigned domain)
{
    if (!(peet__domains.flags & PEET_DOMAINS_NOTED))
        peet_domain_commit(domain, UINT64_MAX, 0);
    peet_domain_refresh(domain, 0, SIZE_MAX);
}

void peet__domain_enter(struct peet_ctx *ctx)
{
    if (ctx->domain == PEET_DOMAIN_MAIN)
        return;
    if (ctx->leaving) {
        const int known = ctx->leaving == 2 && peet__ranges_noted();
        ctx->leaving = 0;
        clean(ctx->domain);
        if (known)
            ctx->outside_sp = 0;
        else
            peet__pages_watch();
    } else if (ctx->outside_sp) {
        if ((uint64_t)ctx->saved.rsp >= ctx->outside_sp || ctx->uc)
            ctx->outside_sp = 0, ctx->away = 0;
        else
            peet__pages_watch(); /* still inside the callee, or deeper: its stores are looked for */
    }
    if (loaded && !ctx->outside_sp)
        rescan();
    go_to(ctx->domain, ctx->away);
}

void peet__domain_left(struct peet_ctx *ctx)
{
    if (ctx->domain == PEET_DOMAIN_MAIN)
        return;
    go_to(PEET_DOMAIN_MAIN, 0);
    peet__domains.ran |= 1ul << ctx->domain;
    if (peet__pages_are_watched())
        peet__pages_watched();
}

PUBLIC void peet_ctx_set_domain(struct peet_ctx *ctx, unsigned domain)
{
    ctx->domain = domain < peet_domains_count() ? (uint8_t)domain : PEET_DOMAIN_MAIN;
}

PUBLIC unsigned peet_ctx_domain(const struct peet_ctx *ctx)
{
    return ctx->domain;
}

PUBLIC void peet_domain_leave(unsigned domain)
{
    if (domain == PEET_DOMAIN_MAIN || domain >= peet_domains_count())
        return;
    clean(domain);
    peet__pages_watch();
}

PUBLIC size_t peet_domain_return(unsigned domain)
{
    (void)domain;
    return peet__pages_watched();
}

uint64_t peet__domain_primary(uint64_t address)
{
    if (!peet__domains_on() || peet__region_of(address))
        return address;
    for (unsigned d = 1; d < peet__domains.count; d++)
        if (peet__in_view(address - (uint64_t)peet__domains.offset[d]))
            return address - (uint64_t)peet__domains.offset[d];
    return address;
}

/* ----------------------------------------------------------------------------------------------------------- hook */

/* Does main memory, which the callee looks at, lack a store of the caller's to one of the objects? */
static int lacks(unsigned domain, const uint64_t *frame, const struct objects *o)
{
    const uint64_t args[ARGS] = {frame[RDI], frame[RSI], frame[RDX], frame[RCX]};
    for (unsigned i = 0; i < ARGS; i++) {
        uint8_t own[UINT8_MAX];
        if (o->bytes[i] && peet_domain_read(domain, args[i], own, o->bytes[i]) == 0 &&
            memcmp(own, (const void *)args[i], o->bytes[i]) != 0)
            return 1;
    }
    return 0;
}

void peet__domain_changed(const void *object, size_t n)
{
    char bytes[UINT8_MAX];
    if (!peet__domains_on())
        return;
    if (peet__rt.current && peet__rt.current->domain != PEET_DOMAIN_MAIN) /* its latest copies are not known yet */
        peet__domains.ran |= 1ul << peet__rt.current->domain;
    memcpy(bytes, object, n);
    peet_domain_perform(UINT64_MAX, (uint64_t)object, bytes, n);
}

void peet__hook_outside(uint64_t *frame, const uint64_t *xmm);
void peet__hook_return(uint64_t *frame, const uint64_t *xmm);

static uint32_t word_of(const uint64_t *frame)
{
    uint32_t word;
    memcpy(&word, (const char *)frame[PC] + PEET_HOOK_WORD, sizeof word);
    return word;
}

/* Behind the frame and the return address lies what compiled code has pushed: the callee. */
void peet__hook_outside(uint64_t *frame, const uint64_t *xmm)
{
    struct peet_ctx *ctx = peet__rt.current;
    uint64_t callee = frame[STUB_WORDS];
    (void)xmm;
    if (peet__rt.capturing || !peet__is_subject() || ctx->domain == PEET_DOMAIN_MAIN)
        return;
    if (ctx->away) /* called back */
        return;
    enum kind kind = kind_of(callee);
    if (kind == INSIDE || (kind >= OBJECTS && !lacks(ctx->domain, frame, &objects[kind - OBJECTS])))
        return;
    ctx->outside_sp = (uint64_t)(frame + STUB_WORDS + 1) + RED_ZONE_BYTES; /* the stack pointer of compiled code */
    peet__domains.statistics[ctx->domain].outside++;
    uint64_t *outer = ctx->stub_frame;
    uint64_t args[2] = {callee ? PEET_VIEW_CALL : PEET_VIEW_ASM, callee ? callee : frame[PC]};
    ctx->stub_frame = frame;
    ctx->leaving = kind == RANGE ? 2 : 1;
    peet_rt_event(PEET_ABSTRACT_VIEW_LEAVE, 2, args);
    ctx->stub_frame = outer;
    loaded |= kind == LOADS;
    if (word_of(frame) & PEET_HOOK_RETURNS) {
        ctx->away = 1;
        go_to(ctx->domain, 1);
    }
}

void peet__hook_return(uint64_t *frame, const uint64_t *xmm)
{
    struct peet_ctx *ctx = peet__rt.current;
    (void)xmm;
    if (!peet__is_subject() || !ctx->away || (uint64_t)(frame + STUB_WORDS) + RED_ZONE_BYTES < ctx->outside_sp)
        return;
    ctx->away = 0;
    ctx->outside_sp = 0;
    if (loaded)
        rescan();
    go_to(ctx->domain, 0);
}

PUBLIC int peet_ctx_outside(const struct peet_ctx *ctx)
{
    return ctx->away;
}

/* In a child that is not simulated, everything is in main memory. */
void peet__domains_end(void)
{
    if (!peet__domains_on())
        return;
    go_to(PEET_DOMAIN_MAIN, 0);
    for (struct peet_ctx *ctx = peet__ctx_list; ctx; ctx = ctx->next)
        ctx->domain = PEET_DOMAIN_MAIN;
    peet__rt.main_ctx.domain = PEET_DOMAIN_MAIN;
}
