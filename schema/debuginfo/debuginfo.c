/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file opened for its names: see data.h.  Here are the file, its compilation units and the code that each
 * covers, and small helpers over libdw; variables, symbols, types and sites have files of their own.
 */
#include "debuginfo/debuginfo.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------ memory */

void *peet__arena(struct peet_debuginfo *info, size_t bytes)
{
    struct peet__chunk *c = info->chunks;
    void *p;

    bytes = (bytes + 15) & ~(size_t)15;
    if (!c || c->room - c->used < bytes) {
        size_t room = bytes > 65536 ? bytes : 65536;

        c = malloc(sizeof *c + room + 16);
        if (!c) {
            info->out_of_memory = 1;
            return NULL;
        }
        *c = (struct peet__chunk){info->chunks, 0, room};
        info->chunks = c;
    }
    p = (char *)(((uintptr_t)c->bytes + 15) & ~(uintptr_t)15) + c->used;
    c->used += bytes;
    memset(p, 0, bytes);
    return p;
}

const char *peet__arena_string(struct peet_debuginfo *info, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = bytes > 1 ? peet__arena(info, bytes) : NULL;

    return copy ? memcpy(copy, text, bytes) : "";
}

/* ----------------------------------------------------------------------------------------------- entries */

const char *peet__die_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

int peet__die_flag(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    bool set = false;

    return dwarf_attr(die, name, &attribute) && !dwarf_formflag(&attribute, &set) && set;
}

int peet__die_ref(Dwarf_Die *die, unsigned name, Dwarf_Die *out_die)
{
    Dwarf_Attribute attribute;

    return dwarf_formref_die(dwarf_attr_integrate(die, name, &attribute), out_die) != NULL;
}

int peet__die_number(Dwarf_Die *die, unsigned name, uint64_t *out_number)
{
    Dwarf_Attribute attribute;
    Dwarf_Word word;

    if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &word))
        return 0;
    *out_number = word;
    return 1;
}

void peet__scope_add(struct peet_debuginfo *info, Dwarf_Die *die, const char *prefix)
{
    struct peet__scope *s = peet__arena(info, sizeof *s);

    if (!s)
        return;
    s->key = (uintptr_t)die->addr;
    s->prefix = prefix;
    HASH_ADD(hh, info->scopes, key, sizeof s->key, s);
}

const char *peet__die_qualified(const struct peet_debuginfo *info, Dwarf_Die *die, char *buffer, size_t room)
{
    struct peet__scope *s = NULL;
    uintptr_t key = (uintptr_t)die->addr;
    const char *name = peet__die_name(die);
    Dwarf_Die declaration;

    if (peet__die_ref(die, DW_AT_specification, &declaration)) /* a class's static stands where its class does */
        key = (uintptr_t)declaration.addr;
    HASH_FIND(hh, info->scopes, &key, sizeof key, s);
    if (!name)
        return NULL;
    if (!s)
        return name;
    snprintf(buffer, room, "%s%s", s->prefix, name);
    return buffer;
}

/* ------------------------------------------------------------------------------------------------- units */

static int is_cplusplus(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2b: /* C++17 */
    case 0x2c: /* C++20 */
        return 1;
    }
    return 0;
}

static int add_ranges(struct peet_debuginfo *info, uint32_t unit, size_t *inout_room)
{
    Dwarf_Addr base, lo, hi;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(&info->units[unit].lines, at, &base, &lo, &hi)) > 0) {
        if (lo >= hi)
            continue;
        if (info->nranges == *inout_room) {
            size_t room = *inout_room ? 2 * *inout_room : 64;
            struct peet__unit_range *more = realloc(info->ranges, room * sizeof *more);

            if (!more)
                return PEET_ENOMEM;
            info->ranges = more;
            *inout_room = room;
        }
        info->ranges[info->nranges++] = (struct peet__unit_range){lo, hi, unit};
    }
    return 0;
}

static int by_lo(const void *a, const void *b)
{
    const struct peet__unit_range *x = a, *y = b;

    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static int read_units(struct peet_debuginfo *info, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Half version;
    uint8_t type;
    size_t room = 0, ranges_room = 0;

    for (;;) {
        Dwarf_Die die, split;
        struct peet__unit *u;

        memset(&split, 0, sizeof split);
        if (dwarf_get_units(dwarf, cu, &cu, &version, &type, &die, &split) != 0)
            break;
        if (type != DW_UT_compile && type != DW_UT_skeleton && type != DW_UT_split_compile)
            continue;
        if (info->nunits == room) {
            struct peet__unit *more = realloc(info->units, (room = room ? 2 * room : 16) * sizeof *more);

            if (!more)
                return PEET_ENOMEM;
            info->units = more;
        }
        u = &info->units[info->nunits];
        u->lines = die;
        u->die = type == DW_UT_skeleton && split.cu ? split : die;
        u->cplusplus = (uint8_t)is_cplusplus(&u->die);
        if (add_ranges(info, (uint32_t)info->nunits++, &ranges_room))
            return PEET_ENOMEM;
    }
    if (info->nranges)
        qsort(info->ranges, info->nranges, sizeof *info->ranges, by_lo);
    return 0;
}

const struct peet__unit *peet__unit_of_pc(const struct peet_debuginfo *info, uint64_t pc)
{
    size_t lo = 0, hi = info->nranges;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (info->ranges[middle].lo <= pc)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && pc < info->ranges[lo - 1].hi ? &info->units[info->ranges[lo - 1].unit] : NULL;
}

/* -------------------------------------------------------------------------------------------- life, death */

static void debug_file_close(struct peet__debug_file *file)
{
    if (file->dwarf)
        dwarf_end(file->dwarf);
    if (file->elf)
        elf_end(file->elf);
    free(file->memory);
    *file = (struct peet__debug_file){0};
}

/** Returns: 0; PEET_EFORMAT: no ELF file, or not of 64 bits; PEET_ENOMEM */
static int debug_file_open(struct peet_debuginfo *info, int fd, struct peet__debug_file *file)
{
    struct stat st;

    if (elf_version(EV_CURRENT) == EV_NONE || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
        !(file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)) || elf_kind(file->elf) != ELF_K_ELF ||
        gelf_getclass(file->elf) != ELFCLASS64)
        return PEET_EFORMAT;
    file->elf = peet__elf_expand(file->elf, &file->memory);
    file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    return file->dwarf ? read_units(info, file->dwarf) : 0;
}

/** What cannot be read is not there.  Returns: 0 or PEET_ENOMEM */
static int read_separate(struct peet_debuginfo *info, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? PEET_EIO : debug_file_open(info, fd, &info->separate);

    if (!err && elf_cntl(info->separate.elf, ELF_C_FDREAD) != 0) /* not mapped, nor read as a whole */
        err = PEET_EIO;
    if (fd >= 0)
        close(fd);
    if (err) {
        info->nunits = info->nranges = 0;
        debug_file_close(&info->separate);
    }
    return err == PEET_ENOMEM ? err : 0;
}

static int find_separate(struct peet_debuginfo *info, const char *path)
{
    char separate[PATH_MAX];
    const enum peet_separate where = peet_debuginfo_separate(path, separate, sizeof separate);

    if (where == PEET_SEPARATE_BESIDE)
        return read_separate(info, separate);
    if (where == PEET_SEPARATE_INSTALLED && !(info->installed = strdup(separate)))
        return PEET_ENOMEM;
    return 0;
}

void peet__installed_read(struct peet_debuginfo *info)
{
    char *const path = info->installed;

    info->installed = NULL;
    if (path && read_separate(info, path))
        info->nunits = info->nranges = 0; /* without memory there are no lines */
    free(path);
}

int peet_debuginfo_open(const char *path, struct peet_debuginfo **out_info, struct peet_error *error)
{
    struct peet_debuginfo *info = calloc(1, sizeof *info);
    int err;

    *out_info = NULL;
    if (!info)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    info->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (info->fd < 0) {
        err = errno;
        free(info);
        return peet_error_set(error, err == ENOENT ? PEET_ENOTFOUND : PEET_EIO, "%s: %s", path, strerror(err));
    }
    err = debug_file_open(info, info->fd, &info->file);
    if (err == PEET_EFORMAT) {
        peet_debuginfo_free(info);
        return peet_error_set(error, PEET_EFORMAT, "%s: not a 64-bit ELF file", path);
    }
    /* It is mapped: the descriptor would be one of the subject's, whose process this may be. */
    if (!err && (info->file.memory || elf_cntl(info->file.elf, ELF_C_FDREAD) == 0)) {
        close(info->fd);
        info->fd = -1;
    }
    if (!err && !info->nunits)
        err = find_separate(info, path);
    if (!err && info->nunits)
        err = peet__variables_read(info);
    if (!err)
        err = peet__symbols_read(info);
    if (err || info->out_of_memory) {
        peet_debuginfo_free(info);
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory for its debug information", path);
    }
    *out_info = info;
    return 0;
}

void peet_debuginfo_free(struct peet_debuginfo *info)
{
    struct peet__chunk *chunk;

    if (!info)
        return;
    HASH_CLEAR(hh, info->types);
    HASH_CLEAR(hh, info->scopes);
    HASH_CLEAR(hh, info->type_names);
    peet__sources_free(info);
    debug_file_close(&info->separate);
    debug_file_close(&info->file);
    if (info->fd >= 0)
        close(info->fd);
    while ((chunk = info->chunks) != NULL) {
        info->chunks = chunk->next;
        free(chunk);
    }
    free(info->installed);
    free(info->units);
    free(info->ranges);
    free(info->variables);
    free(info->sections);
    free(info);
}

const struct peet_variable *peet_debuginfo_variables(const struct peet_debuginfo *info, size_t *out_n)
{
    *out_n = info->nvariables;
    return info->variables;
}

const struct peet_data_section *peet_debuginfo_sections(const struct peet_debuginfo *info, size_t *out_n)
{
    *out_n = info->nsections;
    return info->sections;
}

int peet_debuginfo_typed(const struct peet_debuginfo *info)
{
    return info->nunits != 0;
}

uint64_t peet_debuginfo_tls_bytes(const struct peet_debuginfo *info, uint64_t *out_align)
{
    *out_align = info->tls_align;
    return info->tls_bytes;
}
