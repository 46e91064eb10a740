/* SPDX-License-Identifier: Apache-2.0 */
/* See guard.h.  The handler leaves by siglongjmp() for the place that called modules; it unwinds the stack of the
 * interrupted code first. */
#define UNW_LOCAL_ONLY
#include "host/guard.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST = 512, MOST_TIMES = 64 };

static struct {
    struct peet_map *map;
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

/** The module whose code is innermost on the stack; NULL: none's. */
static const struct peet_module *to_blame(void *uc, const char **out_operation)
{
    const struct peet_module *found = NULL;
    unw_cursor_t cursor;
    unw_proc_info_t procedure;
    unw_word_t pc;
    int stats;

    *out_operation = NULL;
    if (unw_init_local2(&cursor, uc, UNW_INIT_SIGNAL_FRAME))
        return NULL;
    for (unsigned depth = 0; depth < DEEPEST; depth++) {
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
            break;
        void *base = base_of((void *)(uintptr_t)(depth ? pc - 1 : pc));
        const struct peet_module *m;

        for (unsigned i = 0; base && !found && (m = peet_map_module(guard.map, i)) != NULL; i++)
            if (base_of(m) == base)
                found = m;
        if (found && !unw_get_proc_info(&cursor, &procedure)) {
            const char *name = operation_at(found, procedure.start_ip);

            *out_operation = name ? name : *out_operation;
        }
        if (unw_step(&cursor) <= 0)
            break;
    }
    /* its own frame may be gone: a call at its end is a jump */
    if (!found && (found = peet_map_module_ending(guard.map, &stats)) != NULL)
        *out_operation = stats ? "stats" : "finish";
    return found;
}

void peet_host_failed(int signal, uint64_t address, void *uc, int hangs)
{
    const struct peet_module *m;
    const char *operation;
    char why[200], place[80] = "";

    if (!guard.back || !guard.map || guard.times++ > MOST_TIMES || !(m = to_blame(uc, &operation)))
        return;
    if (operation)
        snprintf(place, sizeof place, " in its %s()", operation);
    if (hangs)
        snprintf(why, sizeof why, "it hangs%s: it had not come back when %s ended the run", place, strsignal(signal));
    else if (signal == SIGABRT)
        snprintf(why, sizeof why, "it failed%s: %s", place, strsignal(signal));
    else
        snprintf(why, sizeof why, "it failed%s: %s at address 0x%llx", place, strsignal(signal),
            (unsigned long long)address);
    if (hangs)
        guard.hung = signal;
    peet_map_module_broke(guard.map, m, why);
    siglongjmp(*guard.back, 1);
}
