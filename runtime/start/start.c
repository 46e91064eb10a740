/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up.  In a plain run nothing happens here.  Under `peet run` (PEET_CONFIG is set) the first
 * constructor gives the subject its environment back and starts keeping what other constructors record;
 * __libc_start_main(), which this library interposes, then leaves the kernel's stack to the host and
 * runs the C library's own on the main context: the executable's constructors, main() and the exit handlers
 * are all the subject's.
 */
#include "plain/real.h"
#include "views/domain_internal.h"
#include "world/world.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char *program_invocation_name, *program_invocation_short_name;

typedef int start_main_fn(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
    void *);

static struct peet__arguments arguments;
static struct {
    start_main_fn *real;
    int (*main)(int, char **, char **);
    void (*init)(void), (*fini)(void), (*rtld_fini)(void);
} start;

#ifndef PEET_SANITIZED /* else the host brings one */
extern __attribute__((weak)) void __asan_init(void), __hwasan_init(void), __lsan_init(void), __msan_init(void),
    __nsan_init(void), __tsan_init(void), __tysan_init(void);
#endif

/* Sanitizers that keep a state of their own for each byte, block or thread take the places that a simulated process has
 * its stacks at, and threads and calls of the kernel's. */
static void refuse_sanitizers(const char *program)
{
#ifndef PEET_SANITIZED
    static const struct {
        void (*init)(void);
        const char *option;
    } sanitizers[] = {{__asan_init, "address"}, {__hwasan_init, "hwaddress"}, {__lsan_init, "leak"},
        {__msan_init, "memory"}, {__nsan_init, "numerical"}, {__tsan_init, "thread"}, {__tysan_init, "type"}};
    for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
        if (sanitizers[i].init)
            peet__die(1,
                "%s was compiled with -fsanitize=%s, which works in a plain run only: leave it out for peet run "
                "(-fsanitize=undefined may stay)",
                program, sanitizers[i].option);
#else
    (void)program;
#endif
}

static void begin_simulated(int argc, char **argv, char **envp)
{
    struct peet__rt *rt = &peet__rt;
    refuse_sanitizers(argc > 0 ? argv[0] : "the program");
    rt->errno_place = &errno;
    rt->thread = rt->fs = peet__fs_base();
    peet__xsave_probe();
    peet__settings_take(envp);
    peet__fsgsbase_probe();
    peet__arguments_copy(argc, argv, envp, &arguments);
    peet__settings_close_on_exec();
    peet__progress_begin();
    environ = arguments.envp;
    if (argc > 0) {
        const char *slash = strrchr(arguments.argv[0], '/');
        program_invocation_name = arguments.argv[0];
        program_invocation_short_name = slash ? (char *)slash + 1 : arguments.argv[0];
    }
    const char *how = peet_rt_setting("PEET_SWITCH");
    if (how && strcmp(how, "ucontext") != 0 && strcmp(how, "assembly") != 0)
        peet__die(1, "PEET_SWITCH=%s: choose assembly or ucontext", how);
    rt->use_ucontext = how && strcmp(how, "ucontext") == 0;
    peet__exit_prepare_early();
    peet__exit_note_subject_objects();
    peet__allocator_part();
    peet__capture_begin();
    rt->in_subject = 1;
}

static int is_simulated(char **envp)
{
    int is = 0;
    for (; envp && *envp && !is; envp++)
        is = strncmp(*envp, "PEET_CONFIG=", sizeof "PEET_CONFIG=" - 1) == 0;
    return is;
}

static void begin_all(int argc, char **argv, char **envp)
{
    peet__rt.begun = 1;
    peet__refuse_others();
    if (is_simulated(envp))
        begin_simulated(argc, argv, envp);
    else
        peet__real_begin();
    peet__world_begin();
    peet__fd_begin();
    peet__sigmask_begin();
}

__attribute__((constructor(101))) static void begin(int argc, char **argv, char **envp)
{
    if (!peet__rt.begun)
        begin_all(argc, argv, envp);
}

/* Any sanitizer's; those begin before all else, and ask how many processors there are. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

/* The environment lies behind the arguments, a NULL between, and their number before them. */
void peet__begin_now(void)
{
    char **const argv_end = environ ? environ - 1 : NULL;
    uint64_t argc = 0;
    if (!is_simulated(environ) ||
        __sanitizer_print_stack_trace) /* there is time, or nothing may be asked of a sanitizer yet */
        return;
    while ((uint64_t)argv_end[-1 - (int64_t)argc] != argc)
        argc++;
    begin_all((int)argc, argv_end - argc, environ);
}

/* The environment of a simulated process is not the program's before it begins. */
PUBLIC char *getenv(const char *name)
{
    peet__begin_early();
    return PEET__REAL(getenv)(name);
}

PUBLIC char *secure_getenv(const char *name)
{
    peet__begin_early();
    return PEET__REAL(secure_getenv)(name);
}

/* ------------------------------------------------------------------------------------------------ the host */

static peet_host_main_fn *load_host(void)
{
    char path[PATH_MAX];
    const char *lib = peet_rt_setting("PEET_LIB");
    Dl_info self;
    if (lib) {
        snprintf(path, sizeof path, "%s/libpeet-host.so", lib);
    } else if (dladdr((void *)load_host, &self) && strrchr(self.dli_fname, '/')) {
        snprintf(path, sizeof path, "%.*s/libpeet-host.so", (int)(strrchr(self.dli_fname, '/') - self.dli_fname),
            self.dli_fname);
    } else {
        snprintf(path, sizeof path, "libpeet-host.so");
    }
    /* Its own libraries first: names of the subject's must not reach into the host.  AddressSanitizer
     * cannot live with that. */
    int deep = dlsym(RTLD_DEFAULT, "__asan_init") ? 0 : RTLD_DEEPBIND;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | deep);
    if (!handle)
        peet__die(1, "cannot load the simulation host: %s", dlerror());
    peet_host_main_fn *host_main = (peet_host_main_fn *)dlsym(handle, "peet_host_main");
    if (!host_main)
        peet__die(1, "%s is no simulation host: it does not define peet_host_main", path);
    return host_main;
}

/* Where libc believes the main thread's stack to end: what pthread_getattr_np() goes by.  The dynamic linker
 * has write-protected it. */
static void set_stack_end(void *end)
{
    void **place = dlsym(RTLD_DEFAULT, "__libc_stack_end");
    uint64_t page = (uint64_t)place & ~(PEET__PAGE - 1);
    if (place && mprotect((void *)page, PEET__PAGE, PROT_READ | PROT_WRITE) == 0) {
        *place = end;
        mprotect((void *)page, PEET__PAGE, PROT_READ);
    }
}

/* The limit that the subject is told is the stack that it has: pthread_getattr_np() goes by it, and so do its children.
 */
static void raise_stack_limit(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= bytes)) {
        limit.rlim_cur = bytes;
        setrlimit(RLIMIT_STACK, &limit);
    }
}

/* Keys of thread-specific data have numbers, the lowest that are free.  So that the subject's do not depend on what the
 * host and its modules want, these find the lower half taken. */
static pthread_key_t kept_keys[PTHREAD_KEYS_MAX / 2];
static unsigned nkept_keys;

static void keep_keys(void)
{
    while (nkept_keys < PTHREAD_KEYS_MAX / 2 && PEET__REAL(pthread_key_create)(&kept_keys[nkept_keys], NULL) == 0)
        nkept_keys++;
}

PUBLIC void peet_rt_give_keys(void)
{
    while (nkept_keys)
        PEET__REAL(pthread_key_delete)(kept_keys[--nkept_keys]);
}

/* The main context's first function.  Never returns: libc's own ends in exit(). */
static void run_subject(uint64_t a, uint64_t b)
{
    void (*rtld_fini)(void);
    peet__exit_note_host_objects();
    peet__exit_prepare_subject();
    set_stack_end((void *)(PEET__MAIN_STACK_TOP - 64));
    if (peet__rt.early_threads)
        peet__rt.early_threads(1);
    peet__exit_wrap_rtld_fini(start.rtld_fini, &rtld_fini);
    start.real(start.main, arguments.argc, arguments.argv, start.init, start.fini, rtld_fini,
        (void *)(PEET__MAIN_STACK_TOP - 64));
}

/* The host is done; the process ends as the subject ended, or as the host says. */
__attribute__((noreturn)) static void finish(int status)
{
    struct peet__rt *rt = &peet__rt;
    struct peet_ctx *ctx = rt->exit_ctx;
    peet__go_plain();
    peet__progress_yield(STDOUT_FILENO); /* exit() writes out what is left */
    peet__progress_yield(STDERR_FILENO);
    if (ctx && (ctx->exit_status & 0xff) == (status & 0xff)) {
        /* the rest of exit(): stdio */
        if (ctx->fs != rt->thread)
            peet__set_fs(ctx->fs);
        if (!ctx->uc)
            peet__swap(&rt->host, &ctx->saved);
        else
            setcontext(ctx->uc);
    }
    if (!ctx || ctx->exit_flushes)
        fflush(NULL);
    peet__real_exit(status);
}

PUBLIC int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
    void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
PUBLIC int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
    void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    struct peet__rt *rt = &peet__rt;
    start.real = (start_main_fn *)peet__next("__libc_start_main");
    if (!rt->capturing) {
        if (!peet__real_on())
            peet__ring_each_thread();
        return start.real(main, argc, argv, init, fini, rtld_fini, stack_end);
    }
    rt->in_subject = 0;
    peet__capture_end();
    peet__domains_note_process();
    peet__world_settle_canary();
    start.main = main;
    start.init = init;
    start.fini = fini;
    start.rtld_fini = rtld_fini;

    static ucontext_t main_uc;
    struct peet_ctx *ctx = &rt->main_ctx;
    if (rt->use_ucontext)
        ctx->uc = &main_uc;
    if (peet__stack_main(&ctx->stack) != 0)
        peet__die(1, "cannot place the main stack at 0x%lx: %s", PEET__MAIN_STACK_TOP, strerror(errno));
    raise_stack_limit(ctx->stack.hi - ctx->stack.lo);
    peet__tls_leave_rseq();
    ctx->fs = rt->thread;
    ctx->stack_top = ctx->stack.hi;
    ctx->held = 1;
    peet__ctx_prepare(ctx, run_subject, 0, 0);
    rt->current = ctx;
    peet__loader_begin();
    peet__signals_begin();
    keep_keys();

    finish(load_host()(&rt->hooks));
}
