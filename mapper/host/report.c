/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports and backtraces.  Names come from the schema where there is one, else from the dynamic symbol
 * table.  Unwinding reads the subject's stack with libunwind, which checks addresses before it reads them.
 */
#define UNW_LOCAL_ONLY
#include "foreign/translate.h"
#include "host/report.h"
#include "arch/x86_64/registers.h"
#include "base/stats.h"

#include <dlfcn.h>
#include <libunwind.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 64 };

void peet_host_report(const char *format, ...)
{
    const char *setting = peet_rt_setting("PEET_REPORT_FD");
    int fd = setting ? atoi(setting) : STDERR_FILENO;
    char line[1200];
    va_list ap;
    size_t length, sent = 0;

    va_start(ap, format);
    vsnprintf(line, sizeof line - 1, format, ap);
    va_end(ap);
    for (char *c = line; *c; c++)
        if (*c == '\n')
            *c = ' ';
    length = strlen(line);
    line[length++] = '\n';
    while (sent < length) { /* one write as a rule: lines of others do not come in between */
        ssize_t n = write(fd, line + sent, length - sent);

        if (n <= 0)
            return; /* nobody listens */
        sent += (size_t)n;
    }
}

volatile uint64_t *peet_host_progress_page;

void peet_host_progress(uint64_t done, uint64_t all)
{
    if (!peet_host_progress_page)
        return;
    peet_host_progress_page[PEET_PROGRESS_DONE] = done;
    peet_host_progress_page[PEET_PROGRESS_ALL] = all;
}

const char *peet_host_place(struct peet_program *program, uint64_t pc, const char **out_file, unsigned *out_line)
{
    const struct peet_function *f = program ? peet_program_function_of_pc(program, pc) : NULL;
    Dl_info info;

    *out_file = "";
    *out_line = 0;
    if (f) {
        *out_file = f->file;
        *out_line = f->line;
        return f->name;
    }
    if (!dladdr((void *)(uintptr_t)pc, &info))
        return NULL;
    *out_file = info.dli_fname ? info.dli_fname : "";
    return info.dli_sname;
}

static void frame(struct peet_program *program, unsigned number, uint64_t pc, json_t *list)
{
    const char *file, *name;
    unsigned line;

    /* a return address stands behind its call, which may be the function's last instruction */
    name = peet_host_place(program, number ? pc - 1 : pc, &file, &line);
    if (line)
        peet_host_report("    #%u 0x%llx in %s (%s:%u)", number, (unsigned long long)pc, name ? name : "?", file, line);
    else
        peet_host_report("    #%u 0x%llx in %s%s%s%s", number, (unsigned long long)pc, name ? name : "?",
            *file ? " (" : "", file, *file ? ")" : "");
    if (list)
        json_array_append_new(list,
            json_pack("{s:o,s:o,s:o,s:i}", "pc", peet_stats_u64(pc), "function", peet_stats_text(name ? name : ""),
                "file", peet_stats_text(file), "line", (int)line));
}

void peet_host_backtrace(struct peet_program *program, const struct peet_ctx *ctx, json_t *list)
{
    uint64_t regs[PEET__SAVED_REGISTERS], previous = 0;
    unw_context_t uc;
    unw_cursor_t cursor;
    unw_word_t pc = 0, sp = 0;

    peet_ctx_registers(ctx, regs);
    if (peet_foreign_original(regs[0]))
        regs[0] = peet_foreign_original(regs[0]);
    memset(&uc, 0, sizeof uc);
    if (unw_getcontext(&uc))
        return;
    peet__uc_set_saved(&uc, regs);
    if (unw_init_local(&cursor, &uc)) {
        frame(program, 0, regs[0], list);
        return;
    }
    for (unsigned i = 0; i < FRAMES; i++) {
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
            break;
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        if (i && sp <= previous)
            break;
        previous = sp;
        frame(program, i, pc, list);
        if (unw_step(&cursor) <= 0)
            break;
    }
}
