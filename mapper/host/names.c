/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subject calls an address of its data or code: from the symbol tables and the debug information of the files
 * that are loaded, read when a report asks for it.
 */
#include "host/report.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/** The object that holds an address. */
struct object {
    uint64_t address, bias;
    char path[4096];
    int found, first;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object *o = arg;
    const int main_program = o->first;

    (void)size;
    o->first = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD || o->address < info->dlpi_addr + p->p_vaddr ||
            o->address >= info->dlpi_addr + p->p_vaddr + p->p_memsz)
            continue;
        o->bias = info->dlpi_addr;
        snprintf(o->path, sizeof o->path, "%s",
            main_program          ? "/proc/self/exe"
                : info->dlpi_name ? info->dlpi_name
                                  : "");
        o->found = 1;
        return 1;
    }
    return 0;
}

/** What is looked for in the symbol tables of a file: the symbol of a type round an address, or all functions. */
struct wanted {
    unsigned type;
    uint64_t address, bias;
    void (*each)(void *arg, const char *name, uint64_t address, int local); /* or NULL */
    void *arg;
    int found, whole; /* whole: there is a table of all symbols */
    const char *name;
    uint64_t offset, bytes; /* into the symbol, and of it */
};

static int look_at(const ElfW(Sym) * one, const char *name, struct wanted *w)
{
    if (ELF64_ST_TYPE(one->st_info) != w->type)
        return 0;
    if (w->each) {
        if (one->st_shndx != SHN_UNDEF) {
            w->each(w->arg, name, w->bias + one->st_value, ELF64_ST_BIND(one->st_info) == STB_LOCAL);
            w->found = 1;
        }
        return 0;
    }
    if (w->address < one->st_value || w->address - one->st_value >= one->st_size)
        return 0;
    w->name = name;
    w->offset = w->address - one->st_value;
    w->bytes = one->st_size;
    w->found = 1;
    return 1;
}

/** In a file that is mapped here. */
static void look_through(const unsigned char *file, size_t bytes, struct wanted *w)
{
    const ElfW(Ehdr) *header = (const void *)file;
    const ElfW(Shdr) * sections;

    if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shentsize != sizeof *sections || header->e_shoff > bytes ||
        header->e_shnum > (bytes - header->e_shoff) / sizeof *sections)
        return;
    sections = (const void *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i], *strings;
        const ElfW(Sym) * all;

        if ((table->sh_type != SHT_SYMTAB && (table->sh_type != SHT_DYNSYM || w->each)) ||
            table->sh_link >= header->e_shnum || table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset)
            continue;
        strings = &sections[table->sh_link];
        if (strings->sh_offset > bytes || strings->sh_size > bytes - strings->sh_offset || !strings->sh_size ||
            file[strings->sh_offset + strings->sh_size - 1])
            continue;
        w->whole |= table->sh_type == SHT_SYMTAB;
        all = (const void *)(file + table->sh_offset);
        for (size_t k = 0; k < table->sh_size / sizeof *all; k++)
            if (all[k].st_name < strings->sh_size &&
                look_at(&all[k], (const char *)file + strings->sh_offset + all[k].st_name, w))
                return;
    }
}

static int look_in_one(const char *path, struct wanted *w, char *out_name, size_t name_bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char demangled[400];
    void *file;

    if (fd < 0)
        return 0;
    file = fstat(fd, &st) || !st.st_size ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return 0;
    look_through(file, (size_t)st.st_size, w);
    if (w->name && w->type == STT_OBJECT)
        w->name = peet_demangle(w->name, demangled, sizeof demangled);
    if (w->name && w->offset && w->type == STT_OBJECT)
        snprintf(out_name, name_bytes, "%s+%llu", w->name, (unsigned long long)w->offset);
    else if (w->name)
        snprintf(out_name, name_bytes, "%s", w->name);
    munmap(file, (size_t)st.st_size);
    return w->found;
}

/** Objects of a file that was stripped have the names that were taken out of it; functions have them by frames.
 * Returns: whether anything was found; a name is in @out_name */
static int look_in_file(const char *path, struct wanted *w, char *out_name, size_t name_bytes)
{
    char separate[PATH_MAX];

    if (look_in_one(path, w, out_name, name_bytes) || w->whole || w->type != STT_OBJECT)
        return w->found;
    return peet_debuginfo_separate(path, separate, sizeof separate) && look_in_one(separate, w, out_name, name_bytes);
}

/** A file's debug information, opened once; NULL: it cannot be read, or no memory */
static struct peet_debuginfo *info_of(const char *path)
{
    static struct opened {
        struct opened *next;
        struct peet_debuginfo *info;
        char path[];
    } *all;
    struct opened *one = all;

    while (one && strcmp(one->path, path) != 0)
        one = one->next;
    if (!one) {
        if (!(one = malloc(sizeof *one + strlen(path) + 1)))
            return NULL;
        one->next = all;
        strcpy(one->path, path);
        if (peet_debuginfo_open(path, &one->info, NULL))
            one->info = NULL;
        all = one;
    }
    return one->info;
}

void peet_host_cut_name(char *inout_name)
{
    static const char *const theirs[] = {".__", "._M_"};

    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        char *const inner = strstr(inout_name, theirs[i]);

        if (inner)
            *inner = 0;
    }
}

/** What lies inside of a variable, by debug information: "table.lock", "locks[3]".  Returns: 1, or 0 if it does not
 * say */
static int member_of(const char *path, uint64_t address, char *out_name, size_t bytes)
{
    struct peet_debuginfo *const info = info_of(path);
    const struct peet_variable *all;
    char inner[200], whole[400];
    uint64_t begin;
    size_t n = 0;

    all = info ? peet_debuginfo_variables(info, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        if (all[i].flags & PEET_VARIABLE_TLS || address < all[i].address || address - all[i].address >= all[i].bytes)
            continue;
        begin = all[i].address + peet_type_at(all[i].type, address - all[i].address, 0, inner, sizeof inner);
        snprintf(whole, sizeof whole, "%s%s%s", all[i].name, *inner && *inner != '[' ? "." : "", inner);
        peet_host_cut_name(whole);
        if (begin != address || !strcmp(whole, all[i].name)) /* the symbol says as much, and in which function */
            return 0;
        snprintf(out_name, bytes, "%s", whole);
        return 1;
    }
    return 0;
}

int peet_host_name_in(const char *path, uint64_t address, char *out_name, size_t bytes)
{
    enum { LARGEST = 56 }; /* object of synchronisation (pthread_rwlock_t): what is no larger has none inside */
    struct wanted w = {.type = STT_OBJECT, .address = address};
    const int found = look_in_file(path, &w, out_name, bytes);

    if (found && (w.offset || w.bytes > LARGEST))
        member_of(path, address, out_name, bytes);
    return found;
}

int peet_host_name_of(uint64_t address, char *out_name, size_t bytes)
{
    struct object o = {.address = address, .first = 1};

    dl_iterate_phdr(visit, &o);
    return o.found && o.path[0] && peet_host_name_in(o.path, address - o.bias, out_name, bytes);
}

static int symbol_of(uint64_t address, unsigned type, char *out_name, size_t bytes)
{
    struct object o = {.address = address, .first = 1};
    struct wanted w = {.type = type};

    dl_iterate_phdr(visit, &o);
    w.address = address - o.bias;
    return o.found && o.path[0] && look_in_file(o.path, &w, out_name, bytes);
}

int peet_host_symbol_of(uint64_t address, char *out_name, size_t bytes)
{
    return symbol_of(address, STT_OBJECT, out_name, bytes);
}

int peet_host_function_of(uint64_t address, char *out_name, size_t bytes)
{
    return symbol_of(address, STT_FUNC, out_name, bytes);
}

int peet_host_functions(uint64_t address, void (*each)(void *arg, const char *name, uint64_t address, int local),
    void *arg)
{
    struct object o = {.address = address, .first = 1};
    struct wanted w = {.type = STT_FUNC, .each = each, .arg = arg};

    dl_iterate_phdr(visit, &o);
    w.bias = o.bias;
    return o.found && o.path[0] && look_in_file(o.path, &w, NULL, 0);
}

/* ------------------------------------------------------------------------------------------ frames */

enum { SHARED_FRAMES = 24 };

/** Frames that were found, in memory that processes share; its strings and the next one stand behind it. */
struct shared {
    size_t next; /* where the next one begins; 0: this is the end, and not one itself */
    uint64_t pc; /* in the file */
    const char *path;
    unsigned n;
    struct peet_frame frames[];
};

static char *shared;
static size_t shared_bytes;

void peet_host_share_frames(void *memory, size_t bytes)
{
    shared = memory;
    shared_bytes = bytes;
}

/** The frames of an address that were found before.  Returns: them, or where they would stand */
static struct shared *look_up(const char *path, uint64_t pc)
{
    struct shared *s = (void *)shared;

    while (s->next && (s->pc != pc || strcmp(s->path, path) != 0))
        s = (void *)(shared + s->next);
    return s;
}

static const char *put(char **inout_at, const char *text)
{
    char *const at = *inout_at;
    const size_t bytes = strlen(text) + 1;

    memcpy(at, text, bytes);
    *inout_at = at + bytes;
    return at;
}

static void share(struct shared *s, const char *path, uint64_t pc, const struct peet_frame *frames, size_t n)
{
    size_t bytes = sizeof *s + n * sizeof *frames + strlen(path) + 1;
    char *at = (char *)(s->frames + n);

    for (size_t i = 0; i < n; i++)
        bytes += strlen(frames[i].function) + strlen(frames[i].file) + 2;
    bytes = (bytes + 7) & ~(size_t)7;
    if ((size_t)((char *)s - shared) + bytes + sizeof *s > shared_bytes)
        return;
    s->pc = pc;
    s->n = (unsigned)n;
    s->path = put(&at, path);
    for (size_t i = 0; i < n; i++)
        s->frames[i] = (struct peet_frame){put(&at, frames[i].function), put(&at, frames[i].file), frames[i].line};
    s->next = (size_t)((char *)s - shared) + bytes; /* last: a process that is killed leaves no half of one */
}

static size_t read_frames(const char *path, uint64_t pc, struct peet_frame *out, size_t room)
{
    struct peet_debuginfo *info = info_of(path);

    return info ? peet_debuginfo_frames(info, pc, out, room) : 0;
}

size_t peet_host_frames(uint64_t pc, struct peet_frame *out, size_t room)
{
    struct object o = {.address = pc, .first = 1};
    struct peet_frame found[SHARED_FRAMES];
    struct shared *s;
    size_t n;

    dl_iterate_phdr(visit, &o);
    if (!o.found || !o.path[0])
        return 0;
    pc -= o.bias;
    if (!shared || room > SHARED_FRAMES)
        return read_frames(o.path, pc, out, room);
    s = look_up(o.path, pc);
    if (s->next) {
        n = s->n < room ? s->n : room;
        memcpy(out, s->frames, n * sizeof *out);
        return n;
    }
    n = read_frames(o.path, pc, found, SHARED_FRAMES);
    share(s, o.path, pc, found, n);
    n = n < room ? n : room;
    memcpy(out, found, n * sizeof *out);
    return n;
}
