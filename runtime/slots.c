/* SPDX-License-Identifier: Apache-2.0 */
/* See slots.h.  Nothing here allocates or asks the dynamic linker. */
#include "slots.h"
#include "internal.h"

#include <sys/mman.h>

void peet__slots(const struct link_map *map, void (*each)(void **slot, const char *name, int defined))
{
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) * tables[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *const at = (const void *)d->d_un.d_ptr; /* the dynamic linker has made these absolute */
        switch (d->d_tag) {
        case DT_SYMTAB:
            symbols = at;
            break;
        case DT_STRTAB:
            names = at;
            break;
        case DT_RELA:
            tables[0] = at;
            break;
        case DT_RELASZ:
            bytes[0] = d->d_un.d_val;
            break;
        case DT_JMPREL:
            tables[1] = at;
            break;
        case DT_PLTRELSZ:
            bytes[1] = d->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (!symbols || !names)
        return;
    for (int t = 0; t < 2; t++)
        for (const ElfW(Rela) *r = tables[t]; r && r < tables[t] + bytes[t] / sizeof *r; r++) {
            const unsigned type = ELF64_R_TYPE(r->r_info);
            const ElfW(Sym) *const s = &symbols[ELF64_R_SYM(r->r_info)];
            if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
                each((void **)(map->l_addr + r->r_offset), names + s->st_name, s->st_shndx != SHN_UNDEF);
        }
}

int peet__slot_set(void **slot, const void *to)
{
    const uint64_t page = (uint64_t)slot & ~(PEET__PAGE - 1); /* a slot is aligned: it lies in one page */
    if (mprotect((void *)page, PEET__PAGE, PROT_READ | PROT_WRITE) != 0)
        return -1;
    *slot = (void *)to;
    return 0;
}
