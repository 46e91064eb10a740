/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ELF file itself says of data: symbols where debug information has no variable, sections for what has no
 * name at all, the thread-local block.
 */
#include "debuginfo/debuginfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Is the place taken by a variable that is known better?  Its size may come from the symbol. */
static struct peet_variable *known(struct peet_debuginfo *info, size_t n, uint64_t address, unsigned tls)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        const struct peet_variable *v = &info->variables[middle];

        if ((v->flags & PEET_VARIABLE_TLS) < tls || ((v->flags & PEET_VARIABLE_TLS) == tls && v->address <= address))
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo || (info->variables[lo - 1].flags & PEET_VARIABLE_TLS) != tls)
        return NULL;
    if (address == info->variables[lo - 1].address ||
        address - info->variables[lo - 1].address < info->variables[lo - 1].bytes)
        return &info->variables[lo - 1];
    return NULL;
}

/** Before the first '.': "count.llvm.123" and "count.0" are made by compilers, "f.count" is clang's static of a
 * function. */
static void split_name(struct peet_debuginfo *info, const char *symbol, struct peet_variable *out)
{
    char buffer[400], *dot;
    const char *name = peet_demangle(symbol, buffer, sizeof buffer);

    out->function = "";
    if (name == symbol && snprintf(buffer, sizeof buffer, "%s", name) < (int)sizeof buffer &&
        (dot = strchr(buffer + 1, '.')) != NULL) {
        *dot = 0;
        /* body: a heap block that LLVM has made static */
        if ((dot[1] >= '0' && dot[1] <= '9') || !strcmp(dot + 1, "body")) {
            name = buffer;
        } else if (dot[1] && strncmp(dot + 1, "llvm.", 5)) {
            out->function = peet__arena_string(info, buffer);
            name = dot + 1;
            dot = strchr(dot + 1, '.');
            if (dot)
                *dot = 0;
        } else {
            name = buffer;
        }
    }
    if (name != symbol && !strncmp(symbol, "_ZZ", 3)) { /* f(int)::count */
        for (dot = buffer + strlen(buffer); dot > buffer + 1 && (dot[-1] != ':' || dot[-2] != ':'); dot--)
            ;
        if (dot > buffer + 2) {
            dot[-2] = 0;
            out->function = peet__arena_string(info, buffer);
            name = dot;
        }
    }
    out->name = peet__arena_string(info, name);
}

static int take_symbol(struct peet_debuginfo *info, const GElf_Sym *symbol, const char *name, size_t nknown)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info), tls = type == STT_TLS ? PEET_VARIABLE_TLS : 0;
    struct peet_variable v = {.file = "",
                             .address = symbol->st_value,
                             .bytes = symbol->st_size,
                             .flags = tls | PEET_VARIABLE_SYMBOL},
                         *old;

    if ((type != STT_OBJECT && type != STT_TLS && type != STT_COMMON) || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_shndx == SHN_ABS || !symbol->st_size || !name || !*name ||
        symbol->st_size > UINT64_MAX - symbol->st_value)
        return 0;
    old = known(info, nknown, symbol->st_value, tls);
    if (old && old->bytes)
        return 0;
    if (old) {
        old->bytes = symbol->st_size;
        return 0;
    }
    split_name(info, name, &v);
    return peet__variable_add(info, &v);
}

static int read_table(struct peet_debuginfo *info, Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, size_t nknown)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    int err = 0;

    if (!data || !header->sh_entsize)
        return 0;
    for (size_t i = 1; !err && i < header->sh_size / header->sh_entsize && i < INT32_MAX; i++) {
        GElf_Sym symbol;

        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        err = take_symbol(info, &symbol, elf_strptr(elf, header->sh_link, symbol.st_name), nknown);
    }
    return err;
}

static int add_section(struct peet_debuginfo *info, const GElf_Shdr *header, const char *name)
{
    struct peet_data_section *more;

    if (!(header->sh_flags & SHF_ALLOC) || (header->sh_flags & (SHF_EXECINSTR | SHF_TLS)) || !header->sh_size ||
        header->sh_type == SHT_NOTE || header->sh_size > UINT64_MAX - header->sh_addr || !header->sh_addr)
        return 0;
    more = realloc(info->sections, (info->nsections + 1) * sizeof *more);
    if (!more)
        return PEET_ENOMEM;
    info->sections = more;
    more[info->nsections++] = (struct peet_data_section){
        peet__arena_string(info, name ? name : "?"), header->sh_addr, header->sh_size, header->sh_size};
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct peet_variable *x = a, *y = b;
    const unsigned tls = PEET_VARIABLE_TLS, symbol = PEET_VARIABLE_SYMBOL;

    if ((x->flags & tls) != (y->flags & tls))
        return x->flags & tls ? 1 : -1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if ((x->flags & symbol) != (y->flags & symbol))
        return x->flags & symbol ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/** Variables in order, none over another. */
static void settle(struct peet_debuginfo *info)
{
    size_t n = 0;

    if (info->nvariables)
        qsort(info->variables, info->nvariables, sizeof *info->variables, by_place);
    for (size_t i = 0; i < info->nvariables; i++) {
        struct peet_variable *v = &info->variables[i], *last = n ? &info->variables[n - 1] : NULL;
        int beside = last && !((last->flags ^ v->flags) & PEET_VARIABLE_TLS);

        if (!v->bytes || v->bytes > UINT64_MAX - v->address || (beside && v->address < last->address + last->bytes))
            continue;
        info->variables[n++] = *v;
    }
    info->nvariables = n;
}

static int section_order(const void *a, const void *b)
{
    const struct peet_data_section *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

static void count_free(struct peet_debuginfo *info)
{
    size_t s = 0;

    if (info->nsections)
        qsort(info->sections, info->nsections, sizeof *info->sections, section_order);
    for (size_t i = 0; i < info->nvariables && !(info->variables[i].flags & PEET_VARIABLE_TLS); i++) {
        const struct peet_variable *v = &info->variables[i];

        while (s < info->nsections && v->address - info->sections[s].address >= info->sections[s].bytes &&
            info->sections[s].address < v->address)
            s++;
        if (s < info->nsections && v->address >= info->sections[s].address)
            info->sections[s].free_bytes -=
                v->bytes < info->sections[s].free_bytes ? v->bytes : info->sections[s].free_bytes;
    }
}

static void read_tls(struct peet_debuginfo *info)
{
    size_t n;

    if (elf_getphdrnum(info->file.elf, &n))
        return;
    for (size_t i = 0; i < n && i < INT32_MAX; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(info->file.elf, (int)i, &header) && header.p_type == PT_TLS) {
            info->tls_bytes = header.p_memsz;
            info->tls_align = header.p_align ? header.p_align : 1;
        }
    }
}

int peet__symbols_read(struct peet_debuginfo *info)
{
    Elf *const elves[] = {info->file.elf, info->separate.elf};
    const size_t nknown = info->nvariables;
    size_t names;
    int err = 0;

    read_tls(info);
    if (elf_getshdrstrndx(info->file.elf, &names))
        return 0;
    for (int i = 0; i < 2; i++)
        for (Elf_Scn *scn = NULL; !err && elves[i] && (scn = elf_nextscn(elves[i], scn)) != NULL;) {
            GElf_Shdr header;

            if (!gelf_getshdr(scn, &header))
                continue;
            if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
                err = read_table(info, elves[i], scn, &header, nknown);
            else if (!i) /* the other one has them as they were, without what is in them */
                err = add_section(info, &header, elf_strptr(elves[i], names, header.sh_name));
        }
    settle(info);
    count_free(info);
    return err;
}
