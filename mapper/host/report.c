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
#include <elf.h>
#include <libunwind.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
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

/** Frames that have been shown. */
struct frames {
    struct peet_program *program;
    unsigned n;
    json_t *list;
};

static void show(struct frames *f, uint64_t pc, const char *name, const char *file, unsigned line, int inlined)
{
    char demangled[400];
    const char *const spoken = *name ? peet_demangle(name, demangled, sizeof demangled) : "?";

    if (line)
        peet_host_report("    #%u 0x%llx in %s (%s:%u)%s", f->n, (unsigned long long)pc, spoken, file, line,
            inlined ? ", inlined" : "");
    else
        peet_host_report("    #%u 0x%llx in %s%s%s%s", f->n, (unsigned long long)pc, spoken, *file ? " (" : "", file,
            *file ? ")" : "");
    f->n++;
    if (f->list)
        json_array_append_new(f->list,
            json_pack("{s:o,s:o,s:o,s:i,s:b}", "pc", peet_stats_u64(pc), "function", peet_stats_text(name), "file",
                peet_stats_text(file), "line", (int)line, "inlined", inlined));
}

/** Is the address one of peet's own libraries?  @out_name: the function of others that it stands in for, or NULL */
static int is_runtime(uint64_t pc, const char **out_name)
{
    Dl_info info;

    *out_name = NULL;
    if (!dladdr((void *)(uintptr_t)pc, &info) || !info.dli_fname || !strstr(info.dli_fname, "/libpeet-"))
        return 0;
    if (info.dli_sname && strncmp(info.dli_sname, "peet_", 5) != 0)
        *out_name = info.dli_sname + strspn(info.dli_sname, "_");
    return 1;
}

/** The same path as the compiler was given it, if it is one of the function's file. */
static const char *as_given(const char *path, const struct peet_function *function)
{
    const size_t all = strlen(path), given = function && function->file ? strlen(function->file) : 0;

    return given && given < all && path[all - given - 1] == '/' && !strcmp(path + all - given, function->file)
        ? function->file
        : path;
}

/** A visit_frame.  Returns: 1 where what is farther out is not the program's */
static int frame(void *arg, uint64_t pc, uint64_t at)
{
    enum { INLINED = 24 };
    struct frames *const f = arg;
    const struct peet_function *const function = f->program ? peet_program_function_of_pc(f->program, at) : NULL;
    struct peet_frame inner[INLINED];
    const char *file, *name;
    char found[400];
    size_t n;

    if (!function && is_runtime(at, &name)) {
        if (name)
            show(f, pc, name, "", 0, 0);
        return 0;
    }
    name = peet_host_place(f->program, at, &file, &(unsigned){0}); /* the line is where the function begins */
    n = peet_host_frames(at, inner, INLINED);
    for (size_t i = 0; i + 1 < n; i++)
        show(f, pc, inner[i].function, as_given(inner[i].file, function), inner[i].line, 1);
    if (n && !name && *inner[n - 1].function)
        name = inner[n - 1].function;
    if (!name && peet_host_function_of(at, found, sizeof found))
        name = found;
    show(f, pc, name ? name : "", n ? as_given(inner[n - 1].file, function) : file, n ? inner[n - 1].line : 0, 0);
    return name && !strcmp(name, "main");
}

/** One more frame; @at: an address of its instruction, @pc or before it.  Returns: 0 to go on outwards */
typedef int visit_frame(void *arg, uint64_t pc, uint64_t at);

static int is_listed(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct link_map *map = arg;

    (void)size;
    return info->dlpi_addr == map->l_addr && info->dlpi_name && !strcmp(info->dlpi_name, map->l_name);
}

/**
 * Objects in namespaces of their own, as the copy of the C library that allocates, are not among those that libunwind
 * looks through: it is told of the tables of one when a frame is there.
 */
static void introduce(uint64_t pc)
{
    enum {
        HEADER = 4,
        DATA_RELATIVE_TABLE = 0x3b,
        PC_RELATIVE = 0x1b,
        COUNT = 0x03,
        KNOWN = 16
    }; /* of .eh_frame_hdr */
    static unw_dyn_info_t known[KNOWN];
    static unsigned n;
    Dl_info info;
    struct link_map *map = NULL;
    const ElfW(Ehdr) * header;
    const ElfW(Phdr) * p;
    const uint8_t *table = NULL;
    uint32_t entries;

    if (n == KNOWN || !dladdr1((void *)(uintptr_t)pc, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
        dl_iterate_phdr(is_listed, map))
        return;
    for (unsigned i = 0; i < n; i++)
        if (pc >= known[i].start_ip && pc < known[i].end_ip)
            return;
    header = info.dli_fbase;
    p = (const void *)((const char *)header + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (p[i].p_type == PT_GNU_EH_FRAME)
            table = (const uint8_t *)map->l_addr + p[i].p_vaddr;
        else if (p[i].p_type == PT_LOAD && pc - map->l_addr - p[i].p_vaddr < p[i].p_memsz) {
            known[n].start_ip = map->l_addr + p[i].p_vaddr;
            known[n].end_ip = known[n].start_ip + p[i].p_memsz;
        }
    if (!table || table[0] != 1 || table[1] != PC_RELATIVE || table[2] != COUNT || table[3] != DATA_RELATIVE_TABLE)
        return;
    memcpy(&entries, table + 2 * HEADER, sizeof entries);
    known[n].format = UNW_INFO_FORMAT_REMOTE_TABLE;
    known[n].u.rti.segbase = (uintptr_t)table;
    known[n].u.rti.table_data = (uintptr_t)table + 3 * HEADER;
    known[n].u.rti.table_len = entries * 2 * sizeof(uint32_t) / sizeof(unw_word_t);
    _U_dyn_register(&known[n++]);
}

static int read_word(uint64_t address, uint64_t *out)
{
    const struct iovec there = {(void *)(uintptr_t)address, sizeof *out}, here = {out, sizeof *out};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof *out;
}

int peet_host_return(uint64_t *inout_pc, uint64_t *inout_sp)
{
    uint64_t word;

    if (!read_word(*inout_sp, &word))
        return 0;
    *inout_pc = word;
    *inout_sp += sizeof word;
    return 1;
}

/** From the innermost frame of a suspended context outwards.  Returns: whether there are more than FRAMES */
static int unwind(const struct peet_ctx *ctx, visit_frame *visit, void *arg)
{
    uint64_t regs[PEET__SAVED_REGISTERS], previous = 0, called, code; /* regs: pc, sp, ... */
    unsigned i = 0;
    unw_context_t uc;
    unw_cursor_t cursor;
    unw_word_t pc = 0, sp = 0;

    peet_ctx_registers(ctx, regs);
    if (peet_foreign_original(regs[0]))
        regs[0] = peet_foreign_original(regs[0]);
    called = regs[0];
    if (!read_word(called, &code) && peet_host_return(&regs[0], &regs[1])) {
        visit(arg, called, called);
        i = 1;
    }
    memset(&uc, 0, sizeof uc);
    if (unw_getcontext(&uc))
        return 0;
    peet__uc_set_saved(&uc, regs);
    introduce(regs[0]);
    /* where an instruction faults is no return address: it may be a function's first */
    if (i ? unw_init_local(&cursor, &uc) : unw_init_local2(&cursor, &uc, UNW_INIT_SIGNAL_FRAME)) {
        visit(arg, regs[0], regs[0]);
        return 0;
    }
    for (; i < FRAMES; i++) {
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
            break;
        unw_get_reg(&cursor, UNW_REG_SP, &sp);
        if (i && sp == previous) /* below it: a signal's handler has a stack of its own */
            break;
        previous = sp;
        /* a return address stands behind its call, which may be the last instruction */
        if (visit(arg, pc, i ? pc - 1 : pc))
            break;
        introduce(pc);
        if (unw_step(&cursor) <= 0)
            break;
    }
    return i == FRAMES;
}

void peet_host_backtrace(struct peet_program *program, const struct peet_ctx *ctx, json_t *list)
{
    struct frames f = {.program = program, .list = list};

    if (unwind(ctx, frame, &f))
        peet_host_report("    ... and more: these are the innermost %d", FRAMES);
    if (!f.n)
        peet_host_report("    (nothing but code of peet's is on its stack)");
}

struct standing {
    struct peet_program *program;
    struct peet_frame *out;
    int found;
};

static int stands(void *arg, uint64_t pc, uint64_t at)
{
    struct standing *s = arg;
    const struct peet_function *const f = peet_program_function_of_pc(s->program, at);

    (void)pc;
    if (!f || !*f->file)
        return 0;
    s->found = 1;
    if (!peet_host_frames(at, s->out, 1))
        *s->out = (struct peet_frame){f->name, f->file, 0};
    else if (!*s->out->function)
        s->out->function = f->name;
    s->out->file = as_given(s->out->file, f);
    return 1;
}

int peet_host_stands(struct peet_program *program, const struct peet_ctx *ctx, struct peet_frame *out)
{
    struct standing s = {program, out, 0};

    unwind(ctx, stands, &s);
    return s.found;
}
