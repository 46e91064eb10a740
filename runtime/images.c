/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See images.h.  Recorded code is recognised by its reference to __peet_abi_3, which stands undefined in
 * the dynamic symbol table: undefined symbols come before those that the hash table covers.
 */
#include "images.h"
#include "internal.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* What a library has recorded can only be understood while it is there: before it goes, the host takes all
 * there is.  Where the program is recorded on the computer's own processors, it is noted. */
PUBLIC int dlclose(void *handle)
{
    if (peet__rt.simulated && peet__is_subject())
        peet__leave(PEET_YIELD_FULL);
    peet__real_library_goes();
    return ((int (*)(void *))peet__next("dlclose"))(handle);
}

#define IMAGES_MAX 512
static struct image {
    uint64_t lo, hi;
} silent[IMAGES_MAX];
static unsigned nsilent;

static int records(const ElfW(Dyn) * dyn, ElfW(Addr) bias)
{
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *gnu_hash = NULL, *sysv_hash = NULL;
    for (; dyn->d_tag != DT_NULL; dyn++) {
        /* the dynamic linker relocates these, except in the vdso */
        uint64_t at = dyn->d_un.d_ptr < bias ? dyn->d_un.d_ptr + bias : dyn->d_un.d_ptr;
        if (dyn->d_tag == DT_SYMTAB)
            symbols = (const void *)at;
        else if (dyn->d_tag == DT_STRTAB)
            names = (const void *)at;
        else if (dyn->d_tag == DT_GNU_HASH)
            gnu_hash = (const void *)at;
        else if (dyn->d_tag == DT_HASH)
            sysv_hash = (const void *)at;
    }
    uint32_t n = gnu_hash ? gnu_hash[1] : sysv_hash ? sysv_hash[1] : 0;
    for (uint32_t i = 1; symbols && names && i < n; i++)
        if (strcmp(names + symbols[i].st_name, "__peet_abi_3") == 0)
            return 1;
    return 0;
}

static int note_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    const ElfW(Dyn) *dyn = NULL;
    uint64_t lo = UINT64_MAX, hi = 0, self = (uint64_t)note_image;
    for (unsigned p = 0; p < info->dlpi_phnum; p++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[p];
        if (ph->p_type == PT_DYNAMIC)
            dyn = (const void *)(info->dlpi_addr + ph->p_vaddr);
        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
            continue;
        uint64_t begin = info->dlpi_addr + ph->p_vaddr;
        lo = begin < lo ? begin : lo;
        hi = begin + ph->p_memsz > hi ? begin + ph->p_memsz : hi;
    }
    if (!dyn || lo >= hi || (lo <= self && self < hi) || nsilent == IMAGES_MAX || records(dyn, info->dlpi_addr))
        return 0;
    silent[nsilent++] = (struct image){lo, hi};
    return 0;
}

void peet__images_find(void)
{
    nsilent = 0;
    dl_iterate_phdr(note_image, NULL);
}

int peet__image_records_nothing(uint64_t pc)
{
    for (unsigned i = 0; i < nsilent; i++)
        if (pc >= silent[i].lo && pc < silent[i].hi)
            return 1;
    return 0;
}
