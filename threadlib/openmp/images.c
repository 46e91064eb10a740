/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the program make tasks?  If it can, some image of it refers to a function that makes them; barriers of a program
 * without any cost one event instead of three.
 */
#include "openmp.h"

#include <elf.h>
#include <link.h>
#include <string.h>

static const char *const makers[] = {
    "__kmpc_omp_task",
    "__kmpc_omp_task_with_deps",
    "__kmpc_omp_task_alloc",
    "__kmpc_omp_target_task_alloc",
    "__kmpc_taskloop",
    "__kmpc_taskloop_5",
    "GOMP_task",
};

/* The dynamic linker has made most addresses absolute, but not those of every image. */
static const void *absolute(const struct dl_phdr_info *image, ElfW(Addr) address)
{
    return (const void *)(address < image->dlpi_addr ? address + image->dlpi_addr : address);
}

static int makes_tasks(const struct dl_phdr_info *image, const ElfW(Dyn) * dynamic)
{
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const ElfW(Rela) * tables[2] = {NULL, NULL};
    size_t bytes[2] = {0, 0};
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            symbols = absolute(image, dynamic->d_un.d_ptr);
            break;
        case DT_STRTAB:
            names = absolute(image, dynamic->d_un.d_ptr);
            break;
        case DT_RELA:
            tables[0] = absolute(image, dynamic->d_un.d_ptr);
            break;
        case DT_RELASZ:
            bytes[0] = dynamic->d_un.d_val;
            break;
        case DT_JMPREL:
            tables[1] = absolute(image, dynamic->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            bytes[1] = dynamic->d_un.d_val;
            break;
        }
    }
    for (int t = 0; symbols && names && t < 2; t++)
        for (size_t i = 0; tables[t] && i < bytes[t] / sizeof(**tables); i++) {
            size_t symbol = ELF64_R_SYM(tables[t][i].r_info);
            for (size_t m = 0; symbol && m < sizeof makers / sizeof *makers; m++)
                if (strcmp(names + symbols[symbol].st_name, makers[m]) == 0)
                    return 1;
        }
    return 0;
}

static int look(struct dl_phdr_info *image, size_t bytes, void *found)
{
    const char *slash = image->dlpi_name ? strrchr(image->dlpi_name, '/') : NULL, *name = slash ? slash + 1 : "";
    if (strncmp(name, "libomp.", 7) == 0 || strncmp(name, "libpeet-", 8) == 0)
        return 0;
    for (int i = 0; i < image->dlpi_phnum; i++)
        if (image->dlpi_phdr[i].p_type == PT_DYNAMIC &&
            makes_tasks(image, (const ElfW(Dyn) *)(image->dlpi_addr + image->dlpi_phdr[i].p_vaddr))) {
            *(int *)found = 1;
            return 1;
        }
    return 0;
}

void peet__omp_tasks_find(void)
{
    dl_iterate_phdr(look, &peet__omp_tasking);
}
