/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions of the libraries that are there from the start may code of peetcc's, or the runtime, call?  Those that they
 * import by name, those whose address stands in some object's data, such as virtual functions, and those whose address some
 * library's code takes, which may hand it on.  Only these get a jump to their translation; the others are called by foreign
 * code alone, which is translated.  A page that is written to becomes the process's own, so jumps at all functions would take
 * most of the time to begin.  Code that asks for addresses by name may call anything: then all functions are wanted.  So they
 * are of a program that is not peetcc's, of an image in which some functions are peetcc's, and of what is loaded later.
 */
#include "foreign/translate.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct name {
    UT_hash_handle hh;
    const char *text;
};

/* What the dynamic linker knows of an object. */
struct tables {
    uint64_t bias;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * relocations[2];
    size_t nrelocations[2];
    const uint64_t *relative;
    size_t nrelative;
    const uint32_t *hashes; /* GNU's; NULL: it has none */
    uint32_t nsymbols;
};

static struct name *names;
static int asks_by_name; /* code of peetcc's does */

static const void *at(const struct tables *t, ElfW(Addr) address)
{
    return (const void *)(address < t->bias ? address + t->bias : address);
}

/* The table of names in hash order ends where the last chain does. */
static uint32_t count_symbols(const uint32_t *hash)
{
    const uint32_t nbuckets = hash[0], first = hash[1], *buckets = hash + 4 + 2 * hash[2], *chains = buckets + nbuckets;
    uint32_t last = 0;
    for (uint32_t k = 0; k < nbuckets; k++)
        last = buckets[k] > last ? buckets[k] : last;
    if (last < first)
        return first;
    while (!(chains[last - first] & 1))
        last++;
    return last + 1;
}

static void read_tables(const struct dl_phdr_info *info, struct tables *t)
{
    const ElfW(Dyn) *d = NULL;
    *t = (struct tables){.bias = info->dlpi_addr};
    for (unsigned p = 0; p < info->dlpi_phnum; p++)
        if (info->dlpi_phdr[p].p_type == PT_DYNAMIC)
            d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[p].p_vaddr);
    for (; d && d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB:
            t->symbols = at(t, d->d_un.d_ptr);
            break;
        case DT_STRTAB:
            t->names = at(t, d->d_un.d_ptr);
            break;
        case DT_RELA:
            t->relocations[0] = at(t, d->d_un.d_ptr);
            break;
        case DT_RELASZ:
            t->nrelocations[0] = d->d_un.d_val / sizeof **t->relocations;
            break;
        case DT_JMPREL:
            t->relocations[1] = at(t, d->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            t->nrelocations[1] = d->d_un.d_val / sizeof **t->relocations;
            break;
        case DT_RELR:
            t->relative = at(t, d->d_un.d_ptr);
            break;
        case DT_RELRSZ:
            t->nrelative = d->d_un.d_val / sizeof *t->relative;
            break;
        case DT_GNU_HASH:
            t->hashes = at(t, d->d_un.d_ptr);
            break;
        case DT_HASH:
            t->nsymbols = ((const uint32_t *)at(t, d->d_un.d_ptr))[1];
            break;
        }
    if (!t->symbols || !t->names) {
        t->hashes = NULL;
        t->nsymbols = 0;
    }
}

static int is_function(const ElfW(Sym) * s)
{
    const unsigned type = ELF64_ST_TYPE(s->st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && s->st_shndx == SHN_UNDEF);
}

static int is_known(const char *text)
{
    struct name *found;
    HASH_FIND_STR(names, text, found);
    return found != NULL;
}

/* What the runtime asks for by name and calls for the subject (contexts/tls.c, threadlib/cancel.c). */
static const char *const asked[] = {"__call_tls_dtors", "__ctype_init", "_Unwind_ForcedUnwind", "_Unwind_GetCFA"};

static int add_name(const char *text)
{
    struct name *name = is_known(text) ? NULL : calloc(1, sizeof *name);
    if (!name)
        return is_known(text) ? 0 : PEET_ENOMEM;
    name->text = text;
    HASH_ADD_KEYPTR(hh, names, name->text, strlen(text), name);
    return 0;
}

/* @defined: also what it defines: the function of the same name behind it */
static int import(const struct tables *t, int defined)
{
    for (uint32_t k = 1; k < t->nsymbols; k++) {
        const char *text = t->names + t->symbols[k].st_name;
        if (!is_function(&t->symbols[k]) || (t->symbols[k].st_shndx != SHN_UNDEF && !defined))
            continue;
        asks_by_name |= !defined && (strcmp(text, "dlsym") == 0 || strcmp(text, "dlvsym") == 0);
        if (add_name(text))
            return PEET_ENOMEM;
    }
    return 0;
}

/* If a function begins there, somebody may call it. */
static void want(uint64_t pc)
{
    struct peet__foreign_image *image = peet__foreign_image_of(pc);
    struct peet__foreign_function *f = image ? peet__foreign_function_of(image, pc) : NULL;
    if (f && f->lo == pc)
        f->wanted = 1;
}

static void want_stored(const struct tables *t)
{
    for (int table = 0; table < 2; table++)
        for (size_t k = 0; k < t->nrelocations[table]; k++)
            switch (ELF64_R_TYPE(t->relocations[table][k].r_info)) {
            case R_X86_64_RELATIVE:
            case R_X86_64_IRELATIVE:
            case R_X86_64_64:
            case R_X86_64_GLOB_DAT:
            case R_X86_64_JUMP_SLOT:
                want(*(const uint64_t *)(t->bias + t->relocations[table][k].r_offset));
            }
    const uint64_t *place = NULL;
    for (size_t k = 0; k < t->nrelative; k++) {
        if (!(t->relative[k] & 1)) {
            place = (const uint64_t *)(t->bias + t->relative[k]);
            want(*place++);
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++)
            if (t->relative[k] >> bit & 1)
                want(place[bit - 1]);
        place += 63;
    }
}

/* What it defines, by these names.  Of several variants it is the one that the dynamic linker will choose, too. */
static void want_named(const struct tables *t)
{
    for (uint32_t k = 1; k < t->nsymbols; k++) {
        const ElfW(Sym) *s = &t->symbols[k];
        const uint64_t pc = t->bias + s->st_value;
        if (!is_function(s) || s->st_shndx == SHN_UNDEF || !is_known(t->names + s->st_name))
            continue;
        want(ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC ? ((uint64_t (*)(void))pc)() : pc);
    }
}

/* Functions whose address the image's own code takes: with lea, relative to the instruction. */
static void want_taken(const struct peet__foreign_image *i)
{
    enum { LEA = 0x8d, BYTES = 6 }; /* without the prefix */
    const uint64_t n = i->hi - i->lo;
    const uint8_t *at = i->text, *end = i->text + (n > BYTES ? n - BYTES : 0);
    for (; at < end && (at = memchr(at, LEA, (size_t)(end - at))) != NULL; at++) {
        int32_t distance;
        memcpy(&distance, at + 2, sizeof distance);
        if ((at[1] & 0xc7) == 0x05)
            want(i->lo + (uint64_t)(at - i->text) + BYTES + (uint64_t)(int64_t)distance);
    }
}

static int has_recorded(const struct dl_phdr_info *info)
{
    for (const struct peet__foreign_image *i = peet__foreign_images; i; i = i->next)
        if (i->bias == info->dlpi_addr && i->has_recorded)
            return 1;
    return 0;
}

struct walk {
    uint64_t end; /* the object that this lies in is the host's first */
    int over, first, err;
    enum { IMPORTS, WANTS } what;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct walk *w = arg;
    struct tables t;
    (void)size;
    const int own = !w->first && peet__foreign_is_own(info->dlpi_name);
    w->first = 0;
    w->over |= peet__foreign_lies_in(info, w->end);
    if (w->over)
        return 1;
    read_tables(info, &t);
    if (t.hashes)
        t.nsymbols = count_symbols(t.hashes);
    if (w->what == IMPORTS && (own || has_recorded(info)))
        w->err = import(&t, own);
    if (w->what == WANTS) {
        want_stored(&t);
        want_named(&t);
    }
    return w->err != 0;
}

void peet__foreign_want(void)
{
    struct walk w = {.end = (uint64_t)peet__foreign_want, .first = 1, .what = IMPORTS};
    struct peet__foreign_image *program = peet__foreign_images;
    while (program && program->next) /* the first that was found */
        program = program->next;
    for (unsigned k = 0; k < sizeof asked / sizeof *asked && w.err == 0; k++)
        w.err = add_name(asked[k]);
    if (w.err == 0)
        dl_iterate_phdr(visit, &w);
    const int all = w.err != 0 || !program || !program->has_recorded || asks_by_name;
    w = (struct walk){.end = w.end, .first = 1, .what = WANTS};
    if (!all)
        dl_iterate_phdr(visit, &w);
    for (struct peet__foreign_image *i = peet__foreign_images; i && !all; i = i->next)
        if (!i->entries[0])
            want_taken(i);
    for (struct peet__foreign_image *i = peet__foreign_images; i; i = i->next)
        i->wants_all = (uint8_t)(all || i->has_recorded);
    struct name *name, *next;
    HASH_ITER(hh, names, name, next)
    {
        HASH_DEL(names, name);
        free(name);
    }
}

/* ------------------------------------------------------------------------------------ when it is called first */

/* The first function of that name that it defines.  0: none */
static uint64_t defined(const struct tables *t, const char *name)
{
    const uint32_t *const buckets = t->hashes ? t->hashes + 4 + 2 * t->hashes[2] : NULL, *chains;
    uint32_t hash = 5381, k = 1, n = t->nsymbols;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    if (buckets) {
        chains = buckets + t->hashes[0];
        k = t->hashes[0] ? buckets[hash % t->hashes[0]] : 0;
        n = k ? UINT32_MAX : 0;
    }
    for (; k < n; k++) {
        const ElfW(Sym) *const s = &t->symbols[k];
        const uint64_t pc = t->bias + s->st_value;
        if (is_function(s) && s->st_shndx != SHN_UNDEF && strcmp(t->names + s->st_name, name) == 0)
            return ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC ? ((uint64_t (*)(void))pc)() : pc;
        if (buckets && chains[k - t->hashes[1]] & 1)
            return 0;
    }
    return 0;
}

struct call {
    uint64_t end; /* as above */
    uint64_t bias, number;
    const char *name;
    uint64_t target;
};

static int find_name(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct call *const c = arg;
    struct tables t;
    (void)size;
    if (info->dlpi_addr != c->bias)
        return 0;
    read_tables(info, &t);
    if (t.symbols && t.names && t.relocations[1] && c->number < t.nrelocations[1])
        c->name = t.names + t.symbols[ELF64_R_SYM(t.relocations[1][c->number].r_info)].st_name;
    return 1;
}

static int find_target(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct call *const c = arg;
    struct tables t;
    (void)size;
    if (peet__foreign_lies_in(info, c->end))
        return 1;
    read_tables(info, &t);
    c->target = t.symbols && t.names ? defined(&t, c->name) : 0;
    return c->target != 0;
}

uint64_t peet__foreign_asked_for(const struct peet__foreign_image *image, uint64_t number)
{
    struct call c = {.end = (uint64_t)peet__foreign_want, .bias = image->bias, .number = number};
    dl_iterate_phdr(find_name, &c);
    if (c.name)
        dl_iterate_phdr(find_target, &c);
    return c.target;
}
