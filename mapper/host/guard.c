/* SPDX-License-Identifier: Apache-2.0 */
/* See guard.h.  The handler leaves by siglongjmp() for the place that called modules; it unwinds the stack of the
 * interrupted code first. */
#define UNW_LOCAL_ONLY
#include "host/guard.h"
#include "host/report.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { DEEPEST = 512, MOST_TIMES = 64 };

static struct {
    struct peet_map *map;
    const struct peet_module *starting; /* that is being made; the mapper does not have it yet */
    char why[200];
    sigjmp_buf *back; /* NULL: no module is being called */
    volatile sig_atomic_t times;
    int hung;
} guard;

void peet_host_guard(struct peet_map *map)
{
    guard.map = map;
}

int peet_host_guarded(void (*call)(void *), void *arg)
{
    sigjmp_buf back, *volatile outer = guard.back;

    if (sigsetjmp(back, 1)) {
        guard.back = outer;
        return 1;
    }
    guard.back = &back;
    call(arg);
    guard.back = outer;
    return 0;
}

const char *peet_host_guard_start(const struct peet_module *module, void (*call)(void *), void *arg)
{
    int failed;

    guard.starting = module;
    failed = peet_host_guarded(call, arg);
    guard.starting = NULL;
    return failed ? guard.why : NULL;
}

int peet_host_hung(void)
{
    return guard.hung;
}

/** The name of the operation whose code begins here; NULL: none of the module's operations does. */
static const char *operation_at(const struct peet_module *m, uint64_t start)
{
#define IS(operation) \
    if (m->operation && (uint64_t)(uintptr_t)m->operation == start) \
        return #operation;
    IS(create)
    IS(hw_contexts)
    IS(block)
    IS(blocks)
    IS(loop)
    IS(abstract)
    IS(memory)
    IS(main)
    IS(pick_context)
    IS(pick_winner)
    IS(finish)
    IS(stats)
#undef IS
    return NULL;
}

static void *base_of(const void *address)
{
    Dl_info info;

    return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/** The module that was loaded there; NULL: none. */
static const struct peet_module *module_at(const void *base)
{
    const struct peet_module *m;

    if (base && guard.starting && base_of(guard.starting) == base)
        return guard.starting;
    for (unsigned i = 0; base && guard.map && (m = peet_map_module(guard.map, i)) != NULL; i++)
        if (base_of(m) == base)
            return m;
    return NULL;
}

/** The module whose code is innermost on the stack; NULL: none's. */
static const struct peet_module *to_blame(ucontext_t *interrupted, const char **out_operation)
{
    ucontext_t uc = *interrupted;
    const struct peet_module *found = NULL;
    unw_cursor_t cursor;
    unw_proc_info_t procedure;
    uint64_t at = (uint64_t)uc.uc_mcontext.gregs[REG_RIP], sp = (uint64_t)uc.uc_mcontext.gregs[REG_RSP];
    unw_word_t pc;
    int stats;

    *out_operation = NULL;
    if (!base_of((void *)(uintptr_t)at) && peet_host_return(&at, &sp)) { /* it has called what is no code */
        uc.uc_mcontext.gregs[REG_RIP] = (greg_t)at - 1;
        uc.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
    }
    if (unw_init_local2(&cursor, &uc, UNW_INIT_SIGNAL_FRAME))
        return NULL;
    for (unsigned depth = 0; depth < DEEPEST; depth++) {
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
            break;
        if (!found)
            found = module_at(base_of((void *)(uintptr_t)(depth ? pc - 1 : pc)));
        if (found && !unw_get_proc_info(&cursor, &procedure)) {
            const char *name = operation_at(found, procedure.start_ip);

            *out_operation = name ? name : *out_operation;
        }
        if (unw_step(&cursor) <= 0)
            break;
    }
    /* its own frame may be gone: a call at its end is a jump */
    if (!found && guard.map && (found = peet_map_module_ending(guard.map, &stats)) != NULL)
        *out_operation = stats ? "stats" : "finish";
    return found;
}

void peet_host_failed(int signal, uint64_t address, void *uc, int hangs)
{
    const struct peet_module *m;
    const char *operation;
    char *const why = guard.why, place[80] = "";

    if (!guard.back || guard.times++ > MOST_TIMES || !(m = to_blame(uc, &operation)))
        return;
    if (operation)
        snprintf(place, sizeof place, " in its %s()", operation);
    if (hangs)
        snprintf(why, sizeof guard.why, "it hangs%s: it had not come back when %s ended the run", place,
            strsignal(signal));
    else if (signal == SIGABRT)
        snprintf(why, sizeof guard.why, "it failed%s: %s", place, strsignal(signal));
    else
        snprintf(why, sizeof guard.why, "it failed%s: %s at address 0x%llx", place, strsignal(signal),
            (unsigned long long)address);
    if (hangs)
        guard.hung = signal;
    if (guard.map)
        peet_map_module_broke(guard.map, m, why);
    siglongjmp(*guard.back, 1);
}
