/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs of instructions for modules: env->processor(), env->cost() and env->processor_error(), which deliver.c installs
 * in each module's env.  The table is opened when a module first asks for a processor.
 */
#include "state/map.h"
#include "base/names.h"
#include "engine/processors.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int peet_costs_path(char *out_path, size_t bytes, struct peet_error *error)
{
    const char *lib = getenv("PEET_LIB"), *slash;
    char real[PATH_MAX];
    Dl_info self;
    int n, library;

    if (lib && *lib)
        n = snprintf(out_path, bytes, "%s/peet/costs.bin", lib);
    else {
        library = dladdr((void *)(uintptr_t)peet_costs_path, &self) && self.dli_fname &&
            realpath(self.dli_fname, real) && (slash = strrchr(real, '/')) != NULL && strstr(slash, ".so") != NULL;
        if (!library) {
            n = (int)readlink("/proc/self/exe", real, sizeof real - 1);
            if (n < 0)
                return peet_error_set(error, PEET_EIO, "/proc/self/exe: %s", strerror(errno));
            real[n] = 0;
        }
        slash = strrchr(real, '/');
        n = snprintf(out_path, bytes, "%.*s%s/peet/costs.bin", slash ? (int)(slash - real) : 0, real,
            library ? "" : "/../lib");
    }
    if (n < 0 || (size_t)n >= bytes)
        return peet_error_set(error, PEET_ELIMIT, "the path of the table of instruction costs is too long");
    return 0;
}

int peet_costs_named(struct peet_costs *costs, const char *mcpu, const struct peet_processor **out_processor,
    struct peet_error *error)
{
    struct peet_error mine = {0, ""};
    int err = peet_costs_processor(costs, mcpu, out_processor, &mine);
    const char **names, *nearest = NULL;
    size_t n = 0;

    if (!err)
        return 0;
    if (err != PEET_ENOTFOUND)
        return peet_error_set(error, err, "%s", mine.message);
    while (peet_costs_name(costs, n))
        n++;
    names = malloc((n + 1) * sizeof *names);
    for (size_t i = 0; names && i < n; i++)
        names[i] = peet_costs_name(costs, i);
    if (names)
        nearest = peet_names_nearest(mcpu, names, n);
    if (nearest)
        peet_error_set(error, err, "no processor '%s'; did you mean '%s'? (`peet costs --list` names them all)", mcpu,
            nearest);
    else
        peet_error_set(error, err, "no processor '%s' (`peet costs --list` names them all)", mcpu);
    free(names);
    return err;
}

static struct peet_map *map_of(const struct peet_env *env)
{
    return ((struct peet_map_module *)env->host)->map;
}

static const struct peet_processor *processor(const struct peet_env *env, const char *mcpu)
{
    struct peet_map *map = map_of(env);
    const struct peet_processor *found = NULL;
    char path[PATH_MAX];
    int err = 0;

    map->costs_error = (struct peet_error){0, ""};
    if (!map->costs) {
        err = map->config.costs_path ? 0 : peet_costs_path(path, sizeof path, &map->costs_error);
        if (!err)
            err =
                peet_costs_open(map->config.costs_path ? map->config.costs_path : path, &map->costs, &map->costs_error);
    }
    if (!err)
        peet_costs_named(map->costs, mcpu, &found, &map->costs_error);
    return found;
}

static const struct peet_cost *cost(const struct peet_env *env, const struct peet_processor *processor,
    const struct peet_insn *insn)
{
    return peet_costs_of(map_of(env)->costs, processor, insn->opcode);
}

static const char *processor_error(const struct peet_env *env)
{
    return map_of(env)->costs_error.message;
}

void peet__map_costs(struct peet_env *env)
{
    env->processor = processor;
    env->cost = cost;
    env->processor_error = processor_error;
}
