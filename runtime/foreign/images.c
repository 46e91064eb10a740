/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code is foreign: that of all objects that were loaded before the host's library, but for the runtime's
 * libraries and the functions that peetcc has compiled.  Functions begin where .eh_frame_hdr says; their names are the
 * symbol tables', also those of detached debug information, where it is installed.
 */
#include "foreign/translate.h"

#include "debuginfo/data.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BEHIND_TEXT_BYTES = 32 }; /* that can be read, and are no code */

struct peet__foreign_image *peet__foreign_images;

static struct peet__foreign_image *last;

struct peet__foreign_image *peet__foreign_image_of(uint64_t pc)
{
    if (last && pc >= last->lo && pc < last->hi)
        return last;
    for (struct peet__foreign_image *i = peet__foreign_images; i; i = i->next)
        if (pc >= i->lo && pc < i->hi)
            return last = i;
    return NULL;
}

void peet__foreign_image_remove(struct peet__foreign_image *image)
{
    struct peet__foreign_image **at = &peet__foreign_images;
    while (*at && *at != image)
        at = &(*at)->next;
    if (*at)
        *at = image->next;
    last = NULL;
    peet__foreign_steps_forget();
}

unsigned peet__foreign_functions_up_to(const struct peet__foreign_image *image, uint64_t pc)
{
    unsigned lo = 0, hi = image->nfunctions;
    while (lo < hi) {
        unsigned middle = lo + (hi - lo) / 2;
        if (image->functions[middle].lo <= pc)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

struct peet__foreign_function *peet__foreign_function_of(struct peet__foreign_image *image, uint64_t pc)
{
    const unsigned lo = peet__foreign_functions_up_to(image, pc);
    if (!lo || image->functions[lo - 1].recorded)
        return NULL;
    /* Behind its end lies filling, or code that no frame describes, which peetcc may have compiled. */
    return pc < image->functions[lo - 1].hi || !image->is_recorded(pc) ? &image->functions[lo - 1] : NULL;
}

/* ---------------------------------------------------------------------------------------------- functions */

static int by_lo(const void *a, const void *b)
{
    const struct peet__foreign_function *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Where handlers of signals return to: not called by anybody, and debuggers know it by its bytes.  Its frame begins a
 * byte early. */
static int returns_from_handlers(const uint8_t *code, uint32_t size)
{
    /* mov $15, %rax; syscall */
    static const uint8_t restore[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
    return size >= sizeof restore + 1 && memcmp(code + 1, restore, sizeof restore) == 0;
}

/* These walk the list of loaded objects, of which the host has some: how many and where differs with the modules of a
 * run. */
static const char *const shown[] = {"dl_iterate_phdr", "_dl_addr"};

static void hide(struct peet__foreign_image *image, uint64_t pc)
{
    for (unsigned k = 0; k < image->nfunctions; k++)
        if (image->functions[k].lo == pc)
            image->functions[k].recorded = 1;
}

/* They are looked for once: a search that fails leaves a message for dlerror(), which the subject may see. */
static void hide_shown(struct peet__foreign_image *image)
{
    static uint64_t at[sizeof shown / sizeof *shown];
    static int found;
    for (unsigned k = 0; k < sizeof shown / sizeof *shown; k++) {
        if (!found)
            at[k] = (uint64_t)dlsym(RTLD_DEFAULT, shown[k]);
        hide(image, at[k]);
    }
    found = 1;
}

/* The stubs through which an executable of peetcc's calls its libraries are entered one by one, which nobody sees; so the
 * first of them, which asks the dynamic linker when a function is called for the first time, is not shown either. */
static void hide_stubs(struct peet__foreign_image *image)
{
    static const uint8_t push[] = {0xff, 0x35}; /* push *got(%rip) */
    if (!image->has_recorded)
        return;
    for (unsigned k = 0; k < image->nfunctions; k++)
        if (image->functions[k].hi - image->functions[k].lo >= sizeof push &&
            memcmp(image->text + (image->functions[k].lo - image->lo), push, sizeof push) == 0)
            image->functions[k].recorded = 1;
}

/* The table of .eh_frame_hdr: pairs of 32-bit numbers relative to its begin, sorted; the second leads to the FDE, which
 * has the size. */
static int read_functions(struct peet__foreign_image *image, uint64_t header, int (*recorded)(uint64_t))
{
    const uint8_t *h = (const uint8_t *)header;
    uint32_t n;
    if (h[0] != 1 || h[1] != 0x1b || h[2] != 0x03 || h[3] != 0x3b)
        return PEET_EUNSUPPORTED;
    memcpy(&n, h + 8, 4);
    image->functions = calloc(n + 1u, sizeof *image->functions);
    if (!image->functions)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < n; k++) {
        int32_t pair[2];
        uint32_t size;
        memcpy(pair, h + 12 + 8 * (size_t)k, 8);
        memcpy(&size, h + pair[1] + 12, 4); /* behind length, CIE and begin: all of 4 bytes with this encoding */
        const uint64_t lo = header + (uint64_t)(int64_t)pair[0];
        if (lo < image->lo || lo >= image->hi || size > image->hi - lo)
            continue;
        const int is_recorded = recorded(lo);
        image->has_recorded |= is_recorded != 0;
        image->functions[image->nfunctions++] = (struct peet__foreign_function){.lo = lo,
            .hi = lo + size,
            .recorded = (uint8_t)(is_recorded || returns_from_handlers((const uint8_t *)lo, size)),
            .jumps = -1};
    }
    int in_order = 1;
    for (unsigned k = 1; k < image->nfunctions && in_order; k++)
        in_order = image->functions[k - 1].lo <= image->functions[k].lo;
    if (!in_order) /* it should be */
        qsort(image->functions, image->nfunctions, sizeof *image->functions, by_lo);
    hide_shown(image);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- names */

/* Of several names of one place, the one that a person would say: global ones first, fewer underscores first; those that the C
 * library has for calls of its own (__GI_...) last. */
static int rank_of(unsigned bind, const char *name)
{
    return (bind == STB_LOCAL         ? 100
                   : bind == STB_WEAK ? 0
                                      : 10) +
        (int)strspn(name, "_") + (strncmp(name, "__GI_", 5) == 0 ? 50 : 0);
}

/* The function that begins there. */
static struct peet__foreign_function *function_at(const struct peet__foreign_image *image, uint64_t pc)
{
    const unsigned n = peet__foreign_functions_up_to(image, pc);
    return n && image->functions[n - 1].lo == pc ? &image->functions[n - 1] : NULL;
}

/* The last function without a frame that begins at pc or before, and behind this one.  NULL: it is not known */
static struct peet__foreign_other *other_of(const struct peet__foreign_image *image,
    const struct peet__foreign_function *f, uint64_t pc)
{
    struct peet__foreign_other *found = NULL;
    for (unsigned k = 0; k < image->nothers; k++) {
        struct peet__foreign_other *const o = &image->others[k];
        if (o->lo >= f->hi && o->lo <= pc && (!found || o->lo > found->lo))
            found = o;
    }
    return found;
}

/* Returns: NULL without memory */
static struct peet__foreign_other *new_other(struct peet__foreign_image *image, uint64_t lo)
{
    struct peet__foreign_other *more = image->others;
    if (!(image->nothers & (image->nothers - 1))) /* as many as there are, or one */
        more = realloc(more, (image->nothers ? 2 * (size_t)image->nothers : 1) * sizeof *more);
    if (!more)
        return NULL;
    image->others = more;
    more[image->nothers] = (struct peet__foreign_other){.lo = lo};
    return &more[image->nothers++];
}

/* A symbol of a function that no frame describes. */
static void name_other(struct peet__foreign_image *image, uint64_t lo, const char *name, unsigned bind)
{
    const unsigned n = peet__foreign_functions_up_to(image, lo);
    if (!n || lo < image->functions[n - 1].hi)
        return;
    struct peet__foreign_other *o = other_of(image, &image->functions[n - 1], lo);
    if (!o || o->lo != lo)
        o = new_other(image, lo);
    if (!o)
        return;
    const int better = o->name ? rank_of(o->bind, o->name) - rank_of(bind, name) : 1;
    if (better > 0 || (better == 0 && strcmp(name, o->name) < 0))
        o->name = name, o->bind = bind;
}

/* Functions get their names, which are those in the file: it stays open.  Returns: whether there is a table of all symbols */
static int read_symbols(struct peet__foreign_image *image, Elf *elf)
{
    int whole = 0;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) ||
            !header.sh_entsize)
            continue;
        whole |= header.sh_type == SHT_SYMTAB;
        const Elf_Data *data = elf_getdata(section, NULL), *names = elf_getdata(elf_getscn(elf, header.sh_link), NULL);
        const Elf64_Sym *const all = data ? data->d_buf : NULL;
        const char *const texts = names ? names->d_buf : NULL;
        const size_t n = all && texts && !texts[names->d_size - 1] ? data->d_size / sizeof *all : 0;
        for (size_t k = 0; k < n; k++) {
            const Elf64_Sym *const s = &all[k];
            const unsigned type = ELF64_ST_TYPE(s->st_info);
            const uint64_t lo = image->bias + s->st_value;
            if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) || s->st_shndx == SHN_UNDEF ||
                lo < image->lo || lo >= image->hi || s->st_name >= names->d_size || !texts[s->st_name])
                continue;
            struct peet__foreign_function *const f = function_at(image, lo);
            if (f && f->lo == lo && type == STT_GNU_IFUNC)
                f->chooses = 1;
            const char *const name = texts + s->st_name;
            const int better = f && f->name ? rank_of(f->bind, f->name) - rank_of(ELF64_ST_BIND(s->st_info), name) : 1;
            if (f && (better > 0 || (better == 0 && strcmp(name, f->name) < 0)))
                f->name = name, f->bind = ELF64_ST_BIND(s->st_info);
            if (!f && type == STT_FUNC)
                name_other(image, lo, name, ELF64_ST_BIND(s->st_info));
        }
    }
    return whole;
}

static Elf *open_object(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf && elf_cntl(elf, ELF_C_FDREAD) != 0) { /* not mapped, nor read as a whole */
        elf_end(elf);
        elf = NULL;
    }
    if (fd >= 0)
        close(fd);
    return elf;
}

static void load_symbols(struct peet__foreign_image *image)
{
    char path[PATH_MAX];
    Elf *const elf = open_object(image->path);
    if (elf && !read_symbols(image, elf) && peet_debuginfo_separate(image->path, path, sizeof path)) {
        Elf *const debug = open_object(path);
        if (debug)
            read_symbols(image, debug);
    }
    image->has_names = 1;
}

/* A row of the stubs by which an object calls others: behind one that pushes a number for the dynamic linker, or only jumps.  NULL:
 * it is none */
static const char *stubs(const struct peet__foreign_image *image, const struct peet__foreign_function *f)
{
    const uint8_t *const code = image->text + (f->lo - image->lo);
    if (f->hi - f->lo < 16 || code[0] != 0xff)
        return NULL;
    return code[1] == 0x35                                      ? PEET_FOREIGN_STUBS
        : code[1] == 0x25 && code[8] == 0xff && code[9] == 0x25 ? PEET_FOREIGN_SHORT_STUBS
                                                                : NULL;
}

static const char *place_as_name(const struct peet__foreign_image *image, uint64_t lo)
{
    char text[256];
    snprintf(text, sizeof text, "%s+0x%llx", image->name ? image->name : "", (unsigned long long)(lo - image->bias));
    const char *const name = strdup(text);
    return name ? name : "";
}

/* Code behind the end of a function that a frame describes: of another one. */
static struct peet_foreign_function *name_behind(struct peet__foreign_image *image,
    const struct peet__foreign_function *f, uint64_t pc)
{
    struct peet__foreign_other *o = other_of(image, f, pc);
    if (!o && !(o = new_other(image, f->hi)))
        return NULL;
    if (o->pub || !(o->pub = calloc(1, sizeof *o->pub)))
        return o->pub;
    uint64_t hi = f < image->functions + image->nfunctions - 1 ? f[1].lo : image->hi;
    for (unsigned k = 0; k < image->nothers; k++)
        if (image->others[k].lo > o->lo && image->others[k].lo < hi)
            hi = image->others[k].lo;
    o->pub->image = image->name;
    o->pub->pc = o->lo;
    o->pub->bytes = (uint32_t)(hi - o->lo);
    o->pub->name = o->name ? o->name : place_as_name(image, o->lo);
    return o->pub;
}

struct peet_foreign_function *peet__foreign_name(struct peet__foreign_image *image, struct peet__foreign_function *f,
    uint64_t pc)
{
    if (!image->has_names)
        load_symbols(image);
    if (pc >= f->hi)
        return name_behind(image, f, pc);
    if (f->pub || !(f->pub = calloc(1, sizeof *f->pub)))
        return f->pub;
    f->pub->image = image->name;
    f->pub->pc = f->lo;
    f->pub->bytes = (uint32_t)(f->hi - f->lo);
    f->pub->name = f->name ? f->name : stubs(image, f);
    if (!f->pub->name)
        f->pub->name = place_as_name(image, f->lo);
    return f->pub;
}

/* ------------------------------------------------------------------------------------------------- images */

/* The first function that does not end before pc. */
static unsigned function_from(const struct peet__foreign_image *image, uint64_t pc)
{
    unsigned lo = 0, hi = image->nfunctions;
    while (lo < hi) {
        unsigned middle = lo + (hi - lo) / 2;
        if (image->functions[middle].hi < pc)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* May these bytes be a jump whose reach is short, and that goes there? */
static int looks_like_jump(const struct peet__foreign_image *image, uint64_t at, uint64_t pc)
{
    const uint8_t *b = image->text + (at - image->lo);
    return ((b[0] & 0xf0) == 0x70 || b[0] == 0xeb || (b[0] >= 0xe0 && b[0] <= 0xe3)) &&
        at + 2 + (uint64_t)(int64_t)(int8_t)b[1] == pc;
}

/* Is there one of these from @from on, before @to?  The byte that would be its reach is what sixteen at once are compared
 * with. */
static int may_be_jumped_at(const struct peet__foreign_image *image, uint64_t from, uint64_t to, uint64_t pc)
{
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    const sixteen place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (uint64_t at = from; at < to; at += 16) { /* there are 16 bytes behind the text */
        sixteen reach;
        uint64_t found[2];
        memcpy(&reach, image->text + (at - image->lo) + 1, 16);
        const sixteen same = (sixteen)(reach == (uint8_t)(pc - at - 2) - place);
        memcpy(found, &same, 16);
        for (unsigned k = 0; (found[0] | found[1]) != 0 && k < 16 && at + k < to; k++)
            if (looks_like_jump(image, at + k, pc))
                return 1;
    }
    return 0;
}

/* Does a short jump go there?  Of the bytes that look like one, most are none: the functions around have to be read. */
static int jumped_at(struct peet__foreign_image *image, uint64_t pc)
{
    enum { BACK = 130, ON = 128 };
    ZydisDecodedInstruction z;
    const uint64_t from = pc - image->lo > BACK ? pc - BACK : image->lo, to = image->hi - pc > ON ? pc + ON : image->hi;
    const int any = may_be_jumped_at(image, from, to, pc);
    for (unsigned k = function_from(image, from); any && k < image->nfunctions && image->functions[k].lo < to; k++) {
        const struct peet__foreign_function *f = &image->functions[k];
        for (uint64_t at = f->lo; at < f->hi; at += z.length) {
            if (!peet__foreign_decode(image, at, &z, NULL))
                return 1; /* who knows */
            if (z.raw.imm[0].is_relative && at + z.length + (uint64_t)z.raw.imm[0].value.s == pc)
                return 1;
        }
    }
    return 0;
}

int peet__foreign_aimed_at(struct peet__foreign_image *image, uint64_t pc)
{
    const uint64_t offset = pc - image->lo;
    return (image->aims[offset >> 3] >> (offset & 7) & 1) || jumped_at(image, pc);
}

/* Some bytes at k, read as a jump or a call that may go far. */
static void note_aim(struct peet__foreign_image *image, uint64_t k)
{
    const uint8_t *t = image->text;
    const unsigned opcode_bytes = t[k] == 0x0f ? 2 : 1;
    int32_t far;
    memcpy(&far, t + k + opcode_bytes, 4);
    const int64_t to = (int64_t)k + opcode_bytes + 4 + far;
    if (to >= 0 && (uint64_t)to < image->hi - image->lo)
        image->aims[to >> 3] |= (uint8_t)(1u << (to & 7));
}

/* Every place at which some bytes, read as a jump or a call, may aim from far away: more than there are, but none is missed that
 * is direct.  Sixteen bytes are looked at at once: call and jmp are e8 and e9, conditional jumps 0f and 8x. */
static void find_aims(struct peet__foreign_image *image)
{
    typedef uint8_t sixteen __attribute__((vector_size(16)));
    const uint64_t n = image->hi - image->lo;
    for (uint64_t k = 0; k < n; k += 16) { /* there are 16 bytes behind the text, which are no jumps */
        sixteen here, next;
        uint64_t found[2];
        memcpy(&here, image->text + k, 16);
        memcpy(&next, image->text + k + 1, 16);
        const sixteen jump =
            (sixteen)((here & 0xfe) == 0xe8) | ((sixteen)(here == 0x0f) & (sixteen)((next & 0xf0) == 0x80));
        memcpy(found, &jump, 16);
        for (unsigned half = 0; half < 2; half++)
            for (uint64_t left = found[half]; left; left &= ~(0xffull << (__builtin_ctzll(left) & 56)))
                if (k + 8 * half + (uint64_t)__builtin_ctzll(left) / 8 + 6 < n)
                    note_aim(image, k + 8 * half + (uint64_t)__builtin_ctzll(left) / 8);
    }
}

static int is_text(const struct peet__foreign_image *image, const uint8_t *text)
{
    int same = 1;
    for (unsigned k = 0; k < image->npieces && same; k++) {
        const struct peet__foreign_piece *const p = &image->pieces[k];
        same = memcmp(text + (p->lo - image->lo), (const void *)p->lo, p->hi - p->lo) == 0;
    }
    return same;
}

int peet__foreign_is_loaded(const struct peet__foreign_image *image)
{
    return is_text(image, image->text);
}

/* Another image of the same file, as the allocator's is of the C library, has the same text.  What the runtime has changed in the
 * allocator's is of functions that are not foreign any more. */
static int share_text(struct peet__foreign_image *image)
{
    for (const struct peet__foreign_image *i = peet__foreign_images; i; i = i->next)
        if (!i->is_late && i->hi - i->lo == image->hi - image->lo && strcmp(i->path, image->path) == 0 &&
            (image->is_recorded == peet_rt_foreign_allocator_replaces || is_text(image, i->text))) {
            image->text = i->text;
            image->aims = i->aims;
            return 1;
        }
    return 0;
}

/* The file's own pages, which cost no memory and need not be copied.  Returns: NULL: they are not to be had, or not what was loaded */
static uint8_t *map_text(const struct peet__foreign_image *image, uint64_t offset)
{
    enum { PAGE = 4096 };
    const uint64_t bytes = image->hi - image->lo, skip = offset % PAGE,
                   mapped = (skip + bytes + PAGE - 1) & -(uint64_t)PAGE;
    const int fd = open(image->path, O_RDONLY | O_CLOEXEC);
    /* what lies behind can be read */
    uint8_t *at = fd < 0 ? MAP_FAILED : mmap(NULL, mapped + PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            *text = NULL;
    if (at != MAP_FAILED && mmap(at, mapped, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, (off_t)(offset - skip)) == at &&
        is_text(image, at + skip))
        text = at + skip;
    if (!text && at != MAP_FAILED)
        munmap(at, mapped + PAGE);
    if (fd >= 0)
        close(fd);
    return text;
}

static uint8_t *copy_text(const struct peet__foreign_image *image)
{
    enum { NOTHING = 0x06 }; /* push %es, which there is not: no instruction, and no filling */
    const uint64_t bytes = image->hi - image->lo;
    uint8_t *text = malloc(bytes + BEHIND_TEXT_BYTES);
    if (!text)
        return NULL;
    memset(text + bytes, 0xcc, BEHIND_TEXT_BYTES);
    for (unsigned k = 0; k < image->npieces; k++) {
        const struct peet__foreign_piece *const p = &image->pieces[k];
        if (k)
            memset(text + (p[-1].hi - image->lo), NOTHING, p->lo - p[-1].hi);
        memcpy(text + (p->lo - image->lo), (const void *)p->lo, p->hi - p->lo);
    }
    return text;
}

/* @offset: in its file.  The file of an object that is loaded later may be written over when that is gone. */
static int take_text(struct peet__foreign_image *image, uint64_t offset)
{
    if (!image->is_late && share_text(image))
        return 0;
    image->text = image->is_late || image->npieces > 1 ? NULL : map_text(image, offset);
    if (!image->text)
        image->text = copy_text(image);
    image->aims = calloc((image->hi - image->lo) / 8 + 2, 1);
    if (!image->text || !image->aims)
        return PEET_ENOMEM;
    find_aims(image);
    return 0;
}

int peet__foreign_image_add(const struct dl_phdr_info *info, const char *path, int is_late, int (*recorded)(uint64_t),
    struct peet_error *error)
{
    uint64_t header = 0, offset = 0;
    struct peet__foreign_image *image = calloc(1, sizeof *image);
    if (!image)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    image->bias = info->dlpi_addr;
    image->is_recorded = recorded;
    image->is_late = is_late;
    for (unsigned p = 0; p < info->dlpi_phnum; p++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[p];
        if (ph->p_type == PT_LOAD && ph->p_flags & PF_X) {
            const uint64_t lo = info->dlpi_addr + ph->p_vaddr;
            offset = image->npieces ? offset : ph->p_offset;
            image->lo = image->npieces ? image->lo : lo;
            image->hi = lo + ph->p_memsz; /* they are in order */
            if (image->npieces < PEET_FOREIGN_PIECES)
                image->pieces[image->npieces] = (struct peet__foreign_piece){lo, image->hi};
            image->npieces++;
        } else if (ph->p_type == PT_GNU_RELRO) { /* whole pages of it are protected */
            image->fixed_lo = info->dlpi_addr + ph->p_vaddr;
            image->fixed_hi = (image->fixed_lo + ph->p_memsz) & ~(uint64_t)4095;
        } else if (ph->p_type == PT_GNU_EH_FRAME) {
            header = info->dlpi_addr + ph->p_vaddr;
        }
    }
    if (!image->npieces || image->npieces > PEET_FOREIGN_PIECES || !header) {
        free(image);
        return 0;
    }
    image->path = strdup(path);
    image->name = image->path && strrchr(image->path, '/') ? strrchr(image->path, '/') + 1 : image->path;
    if (!image->path || read_functions(image, header, recorded)) {
        free(image);
        return 0;
    }
    if (take_text(image, offset))
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    image->next = peet__foreign_images;
    peet__foreign_images = image;
    return 0;
}

struct search {
    int (*recorded)(uint64_t);
    struct peet_error *error;
    uint64_t self;
    int over, first, err;
};

int peet__foreign_lies_in(const struct dl_phdr_info *info, uint64_t pc)
{
    for (unsigned p = 0; p < info->dlpi_phnum; p++)
        if (info->dlpi_phdr[p].p_type == PT_LOAD &&
            pc - (info->dlpi_addr + info->dlpi_phdr[p].p_vaddr) < info->dlpi_phdr[p].p_memsz)
            return 1;
    return 0;
}

int peet__foreign_is_own(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return !slash || strncmp(slash, "/libpeet-", 9) == 0 || strncmp(slash, "/ld-linux", 9) == 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    char self[4096];
    const int main_program = s->first;
    (void)size;
    s->first = 0;
    if (peet__foreign_lies_in(info, s->self))
        s->over = 1;
    if (s->over)
        return 1;
    if (!main_program && peet__foreign_is_own(info->dlpi_name))
        return 0;
    if (main_program) {
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = 0;
    }
    const struct peet__foreign_image *before = peet__foreign_images;
    s->err = peet__foreign_image_add(info, main_program ? self : info->dlpi_name, 0, s->recorded, s->error);
    if (main_program && peet__foreign_images != before)
        hide_stubs(peet__foreign_images);
    return s->err != 0;
}

int peet__foreign_images_find(int (*recorded)(uint64_t pc), struct peet_error *error)
{
    struct search s = {.recorded = recorded, .error = error, .self = (uint64_t)peet__foreign_images_find, .first = 1};
    dl_iterate_phdr(visit, &s);
    return s.err;
}

static struct {
    const char *path;
    uint64_t base;
    const void *entries[PEET_FOREIGN_ALLOCATOR_ENTRIES];
} allocator;

int peet_foreign_load(struct peet_error *error)
{
    const int err = peet_rt_foreign_allocator(&allocator.path, &allocator.base, allocator.entries);
    return err
        ? peet_error_set(error, err, "foreign=record: no second copy of this C library can be loaded to allocate from")
        : 0;
}

int peet__foreign_images_add_allocator(struct peet_error *error)
{
    const ElfW(Ehdr) *header = (const void *)allocator.base;
    const struct dl_phdr_info info = {.dlpi_name = allocator.path,
        .dlpi_addr = allocator.base,
        .dlpi_phdr = (const void *)(allocator.base + header->e_phoff),
        .dlpi_phnum = header->e_phnum};
    const struct peet__foreign_image *before = peet__foreign_images;
    int err = peet__foreign_image_add(&info, info.dlpi_name, 0, peet_rt_foreign_allocator_replaces, error);
    if (!err && peet__foreign_images == before)
        err = peet_error_set(error, PEET_EUNSUPPORTED, "foreign=record: %s has no table of its functions",
            info.dlpi_name);
    if (!err)
        memcpy(peet__foreign_images->entries, allocator.entries, sizeof allocator.entries);
    return err;
}
