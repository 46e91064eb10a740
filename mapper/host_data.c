/* SPDX-License-Identifier: Apache-2.0 */
/* See host_data.h. */
#include "host_data.h"
#include "host_report.h"
#include "layout.h"

#include <peet/raw.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct peet_datamap *data; /* NULL: nobody has asked yet, the images wait */
    struct peet_datamap_image *images;
    size_t nimages;
    struct peet_program *program;
} live;

/** How much of a thread's memory lies at fixed distances below its thread pointer. */
static uint64_t static_tls_bytes(void)
{
    void (*ask)(size_t *, size_t *) = (void (*)(size_t *, size_t *))dlsym(RTLD_DEFAULT, "_dl_get_tls_static_info");
    size_t bytes = 0, align = 0;

    if (ask)
        ask(&bytes, &align);
    return bytes;
}

/** This thread is the main context's as well, so its block says where every thread's is. */
static uint64_t tls_offset(const struct dl_phdr_info *info)
{
    const uint64_t fs = peet_ctx_fs_base(peet_ctx_main()), block = (uint64_t)(uintptr_t)info->dlpi_tls_data;

    return info->dlpi_tls_modid && block && block < fs && fs - block <= static_tls_bytes() ? fs - block : 0;
}

int peet_host_data_image(const char *path, const struct dl_phdr_info *info, struct peet_error *error)
{
    struct peet_datamap_image one = {.bias = info->dlpi_addr, .lo = UINT64_MAX, .tls_offset = tls_offset(info)}, *more;

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + p->p_vaddr < one.lo)
            one.lo = info->dlpi_addr + p->p_vaddr;
        if (info->dlpi_addr + p->p_vaddr + p->p_memsz > one.hi)
            one.hi = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    one.path = path;
    if (live.data)
        return peet_datamap_add_image(live.data, &one, error);
    more = realloc(live.images, (live.nimages + 1) * sizeof *more);
    if (more)
        live.images = more;
    if (!more || !(one.path = strdup(path)))
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    live.images[live.nimages++] = one;
    return 0;
}

static int place(void *arg, uint64_t pc, const char **out_function, const char **out_file, unsigned *out_line, uint64_t *out_start)
{
    const struct peet_function *f = peet_program_function_of_pc(live.program, pc);
    Dl_info info;

    (void)arg;
    *out_function = peet_host_place(live.program, pc, out_file, out_line);
    *out_start = f ? f->runtime_pc : dladdr((void *)(uintptr_t)pc, &info) ? (uint64_t)(uintptr_t)info.dli_saddr : 0;
    return *out_function != NULL;
}

/** What constructors of shared objects have allocated, before there was a host. */
static void early(struct peet_error *error)
{
    size_t n;
    const uint64_t *note = peet_rt_notes(&n), *end = note + n;

    for (; note != end && !error->code; note += 2 + PEET_RAW_NARGS(note[1]))
        if (peet_datamap_note(live.data, PEET_RAW_TYPE(note[1]), note + 2, PEET_RAW_NARGS(note[1])))
            peet_error_set(error, PEET_ENOMEM, "out of memory for the table of data structures");
    peet_datamap_settle(live.data);
}

int peet_host_data_start(struct peet_program *program, struct peet_datamap **out_data, struct peet_error *error)
{
    const struct peet_datamap_hooks hooks = {.place = place};
    int err = peet_datamap_new(&hooks, &live.data, error);

    if (err)
        return err;
    live.program = program;
    if (peet_datamap_add_stack(live.data, PEET__MAIN_STACK_TOP - PEET__MAIN_STACK_BYTES - PEET__MAIN_GUARD_BYTES, PEET__MAIN_STACK_TOP) ||
        peet_datamap_add_stack(live.data, PEET__STACKS_BASE, PEET__STACKS_END))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 0; i < live.nimages && !err; i++)
        err = peet_datamap_add_image(live.data, &live.images[i], error);
    for (size_t i = 0; i < live.nimages; i++)
        free((char *)(uintptr_t)live.images[i].path);
    free(live.images);
    live.images = NULL;
    live.nimages = 0;
    *out_data = live.data;
    if (!err)
        early(error);
    return err ? err : error->code;
}
