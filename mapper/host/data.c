/* SPDX-License-Identifier: Apache-2.0 */
/* See host/data.h. */
#include "host/data.h"
#include "host/report.h"
#include "layout.h"
#include "base/names.h"
#include "data/rules.h"
#include "data/remap.h"

#include <peet/raw.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct peet_datamap *data; /* NULL: nobody has asked yet, the images wait */
    struct peet_datamap_image *images;
    size_t nimages;
    struct peet_program *program;
    const struct peet_config *config;
    struct peet_rules *rules;
    struct peet_remap *remap;
    int replayed;
    int headers;           /* the recording has an allocator's references to headers */
    const uint64_t *early; /* of a recording */
    size_t nearly;
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

/** References of one group may lie differently in another layout. */
static void ungroup(struct peet_program *program)
{
    for (unsigned i = 0; i < peet_program_nfunctions(program); i++) {
        const struct peet_function *f = peet_program_function(program, i, NULL);

        for (uint32_t b = 0; f && b < f->nblocks; b++)
            for (uint32_t r = 0; r < f->blocks[b].nrefs; r++)
                ((struct peet_ref *)(uintptr_t)f->blocks[b].refs)[r].group = 0;
    }
}

struct peet_datamap_image peet_host_image(const char *path, const struct dl_phdr_info *info)
{
    struct peet_datamap_image one = {
        .path = path, .bias = info->dlpi_addr, .lo = UINT64_MAX, .tls_offset = tls_offset(info)};

    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + p->p_vaddr < one.lo)
            one.lo = info->dlpi_addr + p->p_vaddr;
        if (info->dlpi_addr + p->p_vaddr + p->p_memsz > one.hi)
            one.hi = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return one;
}

void peet_host_data_replay(const uint64_t *notes, size_t n, int libraries_recorded)
{
    live.replayed = 1;
    live.headers = libraries_recorded;
    live.early = notes;
    live.nearly = n;
}

int peet_host_data_image(const struct peet_datamap_image *image, struct peet_error *error)
{
    struct peet_datamap_image one = *image, *more;

    if (live.data) {
        if (live.remap)
            ungroup(live.program);
        return peet_datamap_add_image(live.data, &one, error);
    }
    more = realloc(live.images, (live.nimages + 1) * sizeof *more);
    if (more)
        live.images = more;
    if (!more || !(one.path = strdup(image->path)))
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    live.images[live.nimages++] = one;
    return 0;
}

static int place(void *arg, uint64_t pc, const char **out_function, const char **out_file, unsigned *out_line,
    uint64_t *out_start)
{
    const struct peet_function *f = peet_program_function_of_pc(live.program, pc);
    Dl_info info;

    (void)arg;
    *out_function = peet_host_place(live.program, pc, out_file, out_line);
    *out_start = f                                               ? f->runtime_pc
        : !live.replayed && dladdr((void *)(uintptr_t)pc, &info) ? (uint64_t)(uintptr_t)info.dli_saddr
                                                                 : 0;
    return *out_function != NULL;
}

/** What constructors of shared objects have allocated, before there was a host. */
static void early(struct peet_error *error)
{
    size_t n;
    const uint64_t *note = live.replayed ? live.early : peet_rt_notes(&n), *end;

    if (live.replayed)
        n = live.nearly;
    end = note + n;

    for (; note != end && !error->code; note += 2 + PEET_RAW_NARGS(note[1]))
        if (peet_datamap_note(live.data, PEET_RAW_TYPE(note[1]), note + 2, PEET_RAW_NARGS(note[1])))
            peet_error_set(error, PEET_ENOMEM, "out of memory for the table of data structures");
    peet_datamap_settle(live.data);
}

/** The rules of the configuration, whose texts have been checked. */
static int read_rules(const struct peet_config *c, struct peet_rule **out_rules, size_t *out_n,
    struct peet_error *error)
{
    struct peet_rule *rules = calloc(c->perfect.n + c->remap.n + 1, sizeof *rules);
    int err = rules ? 0 : peet_error_set(error, PEET_ENOMEM, "out of memory");

    *out_n = 0;
    for (size_t i = 0; i < c->perfect.n && !err; i++)
        err = peet_rule_perfect("--perfect", c->perfect.texts[i], &rules[(*out_n)++], error);
    for (size_t i = 0; i < c->remap.n && !err; i++)
        err = peet_rule_parse("--remap", c->remap.texts[i], &rules[(*out_n)++], error);
    *out_rules = rules;
    return err;
}

int peet_host_data_start(struct peet_program *program, const struct peet_config *config, int wanted,
    struct peet_map_config *map, struct peet_error *error)
{
    const struct peet_datamap_hooks hooks = {.place = place};
    struct peet_rule *rules = NULL;
    uint64_t main_lo, main_hi;
    size_t n = 0;
    int err;

    if (!wanted && !config->perfect.n && !config->remap.n)
        return 0;
    err = peet_datamap_new(&hooks, &live.data, error);
    if (!err)
        err = read_rules(config, &rules, &n, error);
    live.program = program;
    live.config = config;
    if (!err && (live.replayed ? live.headers : config->foreign == PEET_CONFIG_FOREIGN_RECORD))
        peet_datamap_set_headers(live.data);
    peet_ctx_stack(peet_ctx_main(), &main_lo, &main_hi);
    if (!err)
        peet_datamap_set_allocators(live.data, (const char *const *)config->allocators.texts, config->allocators.n);
    if (!err && config->remap.n) {
        err = peet_remap_new(live.data, rules, n, &live.remap, error);
        ungroup(program);
    }
    if (!err && n)
        err = peet_rules_new(live.data, rules, n, &live.rules, error);
    free(rules);
    if (!err &&
        (peet_datamap_add_stack(live.data, main_lo - PEET__MAIN_GUARD_BYTES, main_hi) ||
            peet_datamap_add_stack(live.data, PEET__STACKS_BASE, PEET__STACKS_END)))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 0; i < live.nimages && !err; i++)
        err = peet_datamap_add_image(live.data, &live.images[i], error);
    for (size_t i = 0; i < live.nimages; i++)
        free((char *)(uintptr_t)live.images[i].path);
    free(live.images);
    live.images = NULL;
    live.nimages = 0;
    if (!err)
        early(error);
    map->data = live.data;
    map->perfect = config->perfect.n != 0;
    map->remap = live.remap;
    return err ? err : error->code;
}

struct peet_datamap *peet_host_data(void)
{
    return live.data;
}

int peet_host_data_refuse_perfect(const struct peet_config *config, struct peet_error *error)
{
    return peet_error_set(error, PEET_EUNSUPPORTED,
        "--perfect: the machine %s has no such thing as perfect memory; bus, numa and x86 do", config->machine.module);
}

/** What the user may have meant: a function that the program has, or NULL. */
static const char *nearest_function(const char *name)
{
    const unsigned functions = peet_program_nfunctions(live.program);
    const char **names = calloc(functions + 1, sizeof *names), *nearest;
    size_t n = 0;

    for (unsigned i = 0; names && i < functions; i++) {
        const struct peet_function *f = peet_program_function(live.program, i, NULL);

        if (f && f->name)
            names[n++] = f->name;
    }
    nearest = n ? peet_names_nearest(name, names, n) : NULL;
    free(names);
    return nearest && strcmp(nearest, name) != 0 ? nearest : NULL;
}

void peet_host_data_tell_unused(const struct peet_config *config)
{
    if (config->allocators.n && !live.data) {
        peet_host_report(
            "--allocator: no module asks for data structures, so that nothing is named after '%s'; --observe dtrack does",
            config->allocators.texts[0]);
        return;
    }
    for (size_t i = 0; i < config->allocators.n && !live.replayed; i++) { /* a trace has no frames left out */
        const char *name = config->allocators.texts[i], *nearest;

        if (peet_datamap_allocator_met(live.data, i))
            continue;
        nearest = nearest_function(name);
        peet_host_report("--allocator: no function '%s' has called malloc() or the like%s%s%s", name,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    }
}

int peet_host_data_check(const struct peet_map *map, struct peet_error *error)
{
    int err = live.rules ? peet_rules_unused(live.rules, error) : 0;

    if (!err && live.remap && peet_remap_error(live.remap))
        err = peet_error_set(error, PEET_EINVALID, "%s", peet_remap_error(live.remap));
    /* Without a region it has seen nothing that it could have asked for, and the host says so. */
    if (!err && live.config && live.config->perfect.n && !peet_map_asked_data(map) &&
        !(live.config->roi_only && !peet_map_regions(map)))
        err = peet_host_data_refuse_perfect(live.config, error);
    return err;
}
