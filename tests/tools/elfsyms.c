/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols, sections and GOT slots of an ELF file, for the comparison tools; see elfsyms.h. */
#include "elfsyms.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

static void *more(void *array, unsigned n, size_t size)
{
    if (n & (n - 1))
        return array;
    array = realloc(array, (n ? 2 * n : 1) * size);
    if (!array)
        die("out of memory");
    return array;
}

static int by_value(const void *pa, const void *pb)
{
    const struct elf_symbol *a = pa, *b = pb;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int by_address(const void *pa, const void *pb)
{
    const struct elf_section *a = pa, *b = pb;
    return a->address < b->address ? -1 : a->address > b->address;
}

static int by_slot(const void *pa, const void *pb)
{
    const struct elf_slot *a = pa, *b = pb;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void read_symbols(struct elf_file *f, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    for (size_t i = 1; i < sh->sh_size / sh->sh_entsize; i++) {
        GElf_Sym sym;
        if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE)
            continue;
        unsigned type = GELF_ST_TYPE(sym.st_info);
        if (type == STT_SECTION || type == STT_FILE)
            continue;
        const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
        f->symbols = more(f->symbols, f->nsymbols, sizeof *f->symbols);
        f->symbols[f->nsymbols++] = (struct elf_symbol){strdup(name ? name : ""), sym.st_value, sym.st_size, type, sym.st_shndx, 0};
    }
}

static void read_slots(struct elf_file *f, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    Elf_Scn *symscn = elf_getscn(elf, sh->sh_link);
    GElf_Shdr symsh;
    Elf_Data *syms = NULL;
    if (symscn && gelf_getshdr(symscn, &symsh) && symsh.sh_type == SHT_DYNSYM)
        syms = elf_getdata(symscn, NULL);
    for (size_t i = 0; i < sh->sh_size / sh->sh_entsize; i++) {
        GElf_Rela rela;
        GElf_Sym sym;
        if (!gelf_getrela(data, (int)i, &rela) || !syms || GELF_R_SYM(rela.r_info) == 0 ||
            !gelf_getsym(syms, (int)GELF_R_SYM(rela.r_info), &sym))
            continue;
        const char *name = elf_strptr(elf, symsh.sh_link, sym.st_name);
        unsigned type = (unsigned)GELF_R_TYPE(rela.r_info);
        if (type == R_X86_64_COPY) /* the object itself, not a slot */
            continue;
        f->slots = more(f->slots, f->nslots, sizeof *f->slots);
        f->slots[f->nslots++] = (struct elf_slot){rela.r_offset, strdup(name ? name : "")};
    }
}

struct elf_file *elf_file_open(const char *path)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    GElf_Ehdr eh;
    if (!elf || !gelf_getehdr(elf, &eh))
        die("%s: not a readable ELF file", path);
    struct elf_file *f = calloc(1, sizeof *f);
    size_t names;
    if (!f || elf_getshdrstrndx(elf, &names))
        die("%s: no section names", path);
    f->path = strdup(path);
    f->is_pie = eh.e_type == ET_DYN;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        if (!gelf_getshdr(scn, &sh))
            continue;
        const char *name = elf_strptr(elf, names, sh.sh_name);
        if (sh.sh_type == SHT_SYMTAB)
            read_symbols(f, elf, scn, &sh);
        if (sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC)
            read_slots(f, elf, scn, &sh);
        if (sh.sh_flags & SHF_ALLOC && !(sh.sh_flags & SHF_TLS && sh.sh_type == SHT_NOBITS)) {
            f->sections = more(f->sections, f->nsections, sizeof *f->sections);
            f->sections[f->nsections++] = (struct elf_section){strdup(name ? name : ""), sh.sh_addr, sh.sh_size};
        }
    }
    /* what is stripped has the names that it exports */
    for (Elf_Scn *scn = NULL; f->nsymbols == 0 && (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr sh;
        if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
            read_symbols(f, elf, scn, &sh);
    }
    elf_end(elf);
    close(fd);
    if (f->nsymbols == 0)
        die("%s: no symbol table", path);
    qsort(f->symbols, f->nsymbols, sizeof *f->symbols, by_value);
    qsort(f->sections, f->nsections, sizeof *f->sections, by_address);
    if (f->nslots)
        qsort(f->slots, f->nslots, sizeof *f->slots, by_slot);
    for (unsigned i = 0; i < f->nsymbols; i++) {
        unsigned j = i;
        f->symbols[i].alias_of = (int)i;
        while (j-- > 0 && f->symbols[j].value == f->symbols[i].value)
            if (f->symbols[j].type == f->symbols[i].type && f->symbols[j].section == f->symbols[i].section)
                f->symbols[i].alias_of = (int)j;
    }
    return f;
}

const struct elf_symbol *elf_function_at(const struct elf_file *f, uint64_t address)
{
    unsigned lo = 0, hi = f->nsymbols; /* first symbol beyond the address */
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (f->symbols[mid].value <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (unsigned i = lo; i-- > 0 && lo - i < 64;) {
        const struct elf_symbol *s = &f->symbols[i];
        if (s->type == STT_FUNC && address < s->value + s->size)
            return &f->symbols[s->alias_of];
    }
    return NULL;
}

const struct elf_symbol *elf_function_named(const struct elf_file *f, const char *name, unsigned *out_count)
{
    const struct elf_symbol *found = NULL;
    *out_count = 0;
    for (unsigned i = 0; i < f->nsymbols; i++)
        if (f->symbols[i].type == STT_FUNC && strcmp(f->symbols[i].name, name) == 0) {
            found = &f->symbols[f->symbols[i].alias_of];
            ++*out_count;
        }
    return *out_count == 1 ? found : NULL;
}

const char *elf_canonical(const struct elf_file *f, const char *name)
{
    unsigned n;
    const struct elf_symbol *s = elf_function_named(f, name, &n);
    return s ? s->name : name;
}

int elf_name_address(const struct elf_file *f, uint64_t address, char *out, size_t out_bytes)
{
    const struct elf_section *section = NULL;
    for (unsigned i = 0; i < f->nsections; i++)
        if (address >= f->sections[i].address && address < f->sections[i].address + f->sections[i].size)
            section = &f->sections[i];
    if (!section)
        return 0;
    for (unsigned lo = 0, hi = f->nslots; lo < hi;) {
        unsigned mid = (lo + hi) / 2;
        if (f->slots[mid].address + 8 <= address)
            lo = mid + 1;
        else if (f->slots[mid].address > address)
            hi = mid;
        else {
            snprintf(out, out_bytes, "slot of %s+%u", f->slots[mid].name, (unsigned)(address - f->slots[mid].address));
            return 1;
        }
    }
    const struct elf_symbol *best = NULL;
    for (unsigned lo = 0, hi = f->nsymbols;;) {
        if (lo == hi) {
            for (unsigned i = lo; i-- > 0 && lo - i < 64;) {
                const struct elf_symbol *s = &f->symbols[i];
                if ((s->type == STT_OBJECT || s->type == STT_FUNC) && address < s->value + s->size) {
                    best = &f->symbols[s->alias_of];
                    break;
                }
            }
            break;
        }
        unsigned mid = (lo + hi) / 2;
        if (f->symbols[mid].value <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (best)
        snprintf(out, out_bytes, "%s+%#llx", best->name, (unsigned long long)(address - best->value));
    else
        snprintf(out, out_bytes, "section %s+%#llx", section->name, (unsigned long long)(address - section->address));
    return 1;
}
