/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See real_images.h.  The dynamic linker's lock, which dl_iterate_phdr() takes, lets one thread in at a time.
 */
#include "plain/real_images.h"
#include "internal.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

struct images {
    struct peet__real_shared *shared;
    uint64_t static_tls;
    int late;
};

static int is_named(const struct peet__real_image *image, const char *name)
{
    return strncmp(image->path, name, sizeof image->path - 1) == 0;
}

static int add_image(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct images *const images = arg;
    struct peet__real_shared *const shared = images->shared;
    const uint64_t static_tls = images->static_tls, fs = peet__fs_base(), tls = (uint64_t)info->dlpi_tls_data;
    const uint32_t n = atomic_load(&shared->nimages);
    struct peet__real_image *image = &shared->images[n];
    ssize_t length;

    (void)size;
    for (uint32_t i = 0; i < n; i++)
        if (shared->images[i].bias == info->dlpi_addr &&
            (!info->dlpi_name[0] || (info->dlpi_addr && is_named(&shared->images[i], info->dlpi_name))))
            return 0;
    if (n == PEET__REAL_IMAGES)
        return 1;
    memset(image, 0, sizeof *image);
    if (info->dlpi_name[0]) {
        strncpy(image->path, info->dlpi_name, sizeof image->path - 1);
    } else if ((length = readlink("/proc/self/exe", image->path, sizeof image->path - 1)) < 0) {
        return 0;
    }
    image->bias = info->dlpi_addr;
    image->lo = UINT64_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + p->p_vaddr < image->lo)
            image->lo = info->dlpi_addr + p->p_vaddr;
        if (info->dlpi_addr + p->p_vaddr + p->p_memsz > image->hi)
            image->hi = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    image->tls_offset = info->dlpi_tls_modid && tls && tls < fs && fs - tls <= static_tls ? fs - tls : 0;
    image->late = (uint64_t)images->late;
    atomic_store(&shared->nimages, n + 1);
    return 0;
}

void peet__real_images(struct peet__real_shared *shared, uint64_t static_tls, int late)
{
    dl_iterate_phdr(add_image, &(struct images){shared, static_tls, late});
}
