/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject's end.  exit() runs the subject's handlers and finalisers in the subject's world; the last
 * handler of all, ours, records PROGRAM_EXIT and suspends; the host finishes and writes its results; then
 * the subject goes on to the end of exit(), where libc flushes stdio once, as ever.
 *
 * For this, ours must be the first handler registered, of those that belong to the subject: handlers
 * that shared objects register in their constructors, before the host is there, are held back and
 * registered after ours.  Handlers that the host's libraries register come before ours, so they run after it.
 * Finalisers of the host's libraries are taken out of the dynamic linker's hands.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <peet/module.h>
#include "heap/heap.h"
#include "plain/real.h"

/* ------------------------------------------------------------------------- handlers, in the right order */

typedef int cxa_atexit_fn(void (*)(void *), void *, void *);
static cxa_atexit_fn *real_cxa_atexit;

#define HELD_MAX 4096
static struct held {
    void (*fn)(void *);
    void *arg, *dso;
} held[HELD_MAX];
static unsigned nheld;

PUBLIC int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
PUBLIC int __cxa_atexit(void (*fn)(void *), void *arg, void *dso)
{
    if (!real_cxa_atexit)
        real_cxa_atexit = (cxa_atexit_fn *)peet__next("__cxa_atexit");
    if (peet__rt.capturing && nheld < HELD_MAX) {
        held[nheld++] = (struct held){fn, arg, dso};
        return 0;
    }
    return real_cxa_atexit(fn, arg, dso);
}

void peet__exit_record(int status)
{
    struct peet__rt *rt = &peet__rt;
    uint64_t arg = (uint64_t)(int64_t)status;
    if (peet__real_on())
        peet__real_program_ends(status, NULL);
    if (!rt->simulated || !peet__is_subject() || rt->current->exits)
        return;
    rt->current->exits = 1;
    rt->current->exit_status = status;
    peet_ctx_exits(rt->current);
    peet_rt_event(PEET_ABSTRACT_PROGRAM_EXIT, 1, &arg);
}

/* Several may have recorded their ends; the host takes one of them. */
PUBLIC void peet_ctx_exits(struct peet_ctx *ctx)
{
    if (ctx->exits)
        peet__rt.exit_ctx = ctx;
}

/* Whoever calls exit(), too, while the end is under way would find no handler left and end the process. */
static void expect_another(void);

/* A module that calls exit() takes the whole run with it: that is a failure of the module's, which its host reports. */
static void not_by_the_host(void)
{
    if (peet__rt.simulated && !peet__rt.in_subject)
        abort();
}

/* It comes by exit(), which flushes stdio. */
static void record_flushing(int status)
{
    if (peet__rt.simulated)
        peet__rt.current->exit_flushes = 1;
    peet__exit_record(status);
}

static void late_handler(int status, void *arg)
{
    not_by_the_host();
    if (peet__rt.simulated)
        expect_another();
    record_flushing(status);
}

static void expect_another(void)
{
    struct peet__visit visit = peet__visit_begin();
    on_exit(late_handler, NULL);
    peet__visit_end(visit);
}

static void last_handler(int status, void *arg)
{
    not_by_the_host();
    expect_another();
    record_flushing(status);
}

/* quick_exit() hands no status to its handlers. */
static int quick_status;

static void last_quick_handler(void)
{
    peet__exit_record(quick_status);
}

void peet__exit_prepare_subject(void)
{
    if (on_exit(last_handler, NULL) != 0 || at_quick_exit(last_quick_handler) != 0)
        peet__die(1, "cannot register the handler for the subject's end");
    for (unsigned i = 0; i < nheld; i++)
        real_cxa_atexit(held[i].fn, held[i].arg, held[i].dso);
    nheld = 0;
}

PUBLIC void quick_exit(int status)
{
    static void (*real)(int);
    if (!real)
        real = (void (*)(int))peet__next("quick_exit");
    quick_status = status;
    real(status);
    peet__real_exit(status);
}

PUBLIC void _exit(int status)
{
    peet__exit_record(status);
    peet__real_exit(status);
}

PUBLIC void _Exit(int status)
{
    peet__exit_record(status);
    peet__real_exit(status);
}

/* ------------------------------------------------------------------------------- finalisers of the host */

#define OBJECTS_MAX 4096
static ElfW(Addr) subject_objects[OBJECTS_MAX];
static unsigned nsubject_objects;
static ElfW(Dyn) * host_fini_sizes[OBJECTS_MAX];
static unsigned nhost_fini_sizes;
static void (*real_rtld_fini)(void);

static int note_subject_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    if (nsubject_objects < OBJECTS_MAX)
        subject_objects[nsubject_objects++] = info->dlpi_addr;
    return 0;
}

void peet__exit_note_subject_objects(void)
{
    dl_iterate_phdr(note_subject_object, NULL);
}

/* Not of the subject, nor of what the process began with. */
int peet__exit_is_host_object(uint64_t base)
{
    for (unsigned i = 0; i < nsubject_objects; i++)
        if (subject_objects[i] == base)
            return 0;
    return 1;
}

static int note_host_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    if (!peet__exit_is_host_object(info->dlpi_addr))
        return 0;
    for (unsigned p = 0; p < info->dlpi_phnum; p++) {
        if (info->dlpi_phdr[p].p_type != PT_DYNAMIC)
            continue;
        ElfW(Dyn) *dyn = (ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[p].p_vaddr);
        for (; dyn->d_tag != DT_NULL; dyn++)
            if (dyn->d_tag == DT_FINI_ARRAYSZ && nhost_fini_sizes < OBJECTS_MAX)
                host_fini_sizes[nhost_fini_sizes++] = dyn;
    }
    return 0;
}

void peet__exit_note_host_objects(void)
{
    dl_iterate_phdr(note_host_object, NULL);
}

/* A finaliser array of length 0 is what the dynamic linker finds then. */
static void drop_host_finalisers(void)
{
    for (unsigned i = 0; i < nhost_fini_sizes; i++) {
        uint64_t page = (uint64_t)host_fini_sizes[i] & ~(PEET__PAGE - 1);
        if (mprotect((void *)page, 2 * PEET__PAGE, PROT_READ | PROT_WRITE) == 0 ||
            mprotect((void *)page, PEET__PAGE, PROT_READ | PROT_WRITE) == 0)
            host_fini_sizes[i]->d_un.d_val = 0;
    }
}

static void wrapped_rtld_fini(void)
{
    drop_host_finalisers();
    /* the dynamic linker's stack depends on how many objects there are, the host's among them */
    peet__foreign_world = 0;
    real_rtld_fini();
}

void peet__exit_wrap_rtld_fini(void (*rtld_fini)(void), void (**out_wrapped)(void))
{
    real_rtld_fini = rtld_fini;
    *out_wrapped = rtld_fini ? wrapped_rtld_fini : NULL;
}

/* ------------------------------------------------------------------------------------------------- fork */

extern FILE *_IO_list_all; /* glibc's list of open streams */
static FILE *standard[3];

/* exit() in the child would write out what the host had in its buffers, once more.  A stream is the host's
 * if it was not allocated from the subject's heap. */
static void forget_host_streams(void)
{
    for (FILE **link = &_IO_list_all; *link;) {
        FILE *f = *link;
        if (peet__heap_owns(f) || f == standard[0] || f == standard[1] || f == standard[2])
            link = &f->_chain;
        else
            *link = f->_chain;
    }
}

/* The child is not simulated: it has no simulator of its own, and the results are the parent's. */
void peet__exit_forked(void)
{
    if (!peet__rt.simulated)
        return;
    peet__go_plain();
    peet__rt.forked = 1;
    forget_host_streams();
    peet__signals_end();
}

/* A signal that comes to the child before the runtime has left it would be treated as one to the simulation. */
static uint64_t mask_before;

static void before_fork(void)
{
    const uint64_t all = ~(uint64_t)0;
    peet__rt.others = peet__rt.simulated;
    peet__raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask_before, sizeof all, 0, 0);
}

static void after_fork(void)
{
    peet__raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask_before, 0, sizeof mask_before, 0, 0);
}

static void in_child(void)
{
    peet__exit_forked();
    after_fork();
}

void peet__exit_prepare_early(void)
{
    standard[0] = stdin;
    standard[1] = stdout;
    standard[2] = stderr;
    pthread_atfork(before_fork, after_fork, in_child);
}

/* A child of vfork() would record into its parent's ring. */
PUBLIC pid_t vfork(void)
{
    return fork();
}

/* The C library's own would end the parent by a call that nobody sees, and without its results. */
PUBLIC int daemon(int nochdir, int noclose)
{
    static int (*real)(int, int);
    if (!real)
        real = (int (*)(int, int))peet__next("daemon");
    if (!peet__rt.simulated && !peet__real_on())
        return real(nochdir, noclose);
    const pid_t child = fork();
    if (child > 0)
        _exit(0);
    if (child < 0 || setsid() < 0)
        return -1;
    const int moved = nochdir || chdir("/") == 0;
    (void)moved; /* the C library does not look either */
    if (noclose)
        return 0;
    const int null = open("/dev/null", O_RDWR);
    struct stat st;
    if (null < 0)
        return -1;
    if (fstat(null, &st) != 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(1, 3)) {
        close(null);
        errno = ENODEV;
        return -1;
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
    return 0;
}
