/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each entry point leads.  Under simulation: to the functions of this library.  In a plain run: to the
 * ordinary libomp, the one that the program is linked with or else the one that the system has.
 */
#include "openmp.h"
#include "plain/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name) #name,
#include "entries.def"
#undef X
};
#define NENTRIES (sizeof names / sizeof *names)

typedef void entry_fn(void);

/* trampoline.S: where each entry leads now; and for each, the way through peet__omp_resolve() and its simulated side */
extern __attribute__((visibility("hidden"))) entry_fn *peet__omp_table[NENTRIES];
extern __attribute__((visibility("hidden"))) entry_fn *const peet__omp_entries[NENTRIES][2];
enum { LAZY, SIMULATED };
__attribute__((visibility("hidden"))) entry_fn *peet__omp_resolve(unsigned index);

static int under_peet_run; /* and not in a forked child, which runs plainly */
static int is_child;       /* such a child */

static entry_fn *find_plain(const char *name)
{
    static const char *const files[] = {"libomp.so.5", "libomp.so", "libiomp5.so"};
    static void *library;
    static const char *const gcc_names[][2] = {
        /* as code compiled by gcc calls them; libomp has Fortran's functions by these names */
        {"omp_capture_affinity", "ompc_capture_affinity"},
        {"omp_display_affinity", "ompc_display_affinity"},
        {"omp_get_affinity_format", "ompc_get_affinity_format"},
        {"omp_set_affinity_format", "ompc_set_affinity_format"},
    };
    for (size_t i = 0; i < sizeof gcc_names / sizeof *gcc_names; i++)
        if (strcmp(name, gcc_names[i][0]) == 0)
            name = gcc_names[i][1];
    entry_fn *found = (entry_fn *)dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !found && !library && i < sizeof files / sizeof *files; i++)
        library = dlopen(files[i], RTLD_LAZY | RTLD_GLOBAL);
    if (!found && library)
        found = (entry_fn *)dlsym(library, name);
    if (!found && library)
        peet__omp_die("%s() is not in the libomp that is installed: install libomp of LLVM 22 (Debian: libomp-22-dev)",
            name);
    if (!found)
        peet__omp_die(
            "a plain run of an OpenMP program needs the ordinary libomp, which is not installed (Debian: libomp-22-dev); "
            "under `peet run` it needs none");
    if (peet_rt_real_recorded())
        peet_rt_real_unseen((uint64_t)found);
    return found;
}

/* Compiled code may have asked for its thread's number before the fork, and then not ask again: the ordinary library
 * must have met the thread before it is given the number. */
static void introduce(void)
{
    static int done;
    if (!is_child || done++)
        return;
    int32_t (*number)(void *) = (int32_t (*)(void *))find_plain("__kmpc_global_thread_num");
    number(NULL);
}

static void forked(void)
{
    if (peet_rt_simulated())
        return;
    under_peet_run = 0;
    is_child = 1;
    for (unsigned i = 0; i < NENTRIES; i++)
        peet__omp_table[i] = peet__omp_entries[i][LAZY];
}

/* Libraries that gcc made do not know of this one: their constructors may run before its own. */
static void learn(void)
{
    static int known;
    if (known++)
        return;
    getenv("PEET_CONFIG"); /* libpeet-rt's function: it begins at the latest now */
    under_peet_run = peet_rt_setting("PEET_CONFIG") != NULL;
    if (under_peet_run)
        pthread_atfork(NULL, NULL, forked);
}

entry_fn *peet__omp_resolve(unsigned index)
{
    learn();
    if (peet_rt_simulated())
        return peet__omp_table[index] = peet__omp_entries[index][SIMULATED];
    if (under_peet_run) /* constructors, before the simulation begins: regions have one thread, for the moment */
        return peet__omp_entries[index][SIMULATED];
    introduce();
    entry_fn *const found = find_plain(names[index]);
    return peet__omp_table[index] = peet_rt_real_recorded() ? peet__omp_real_entry(names[index], found) : found;
}

__attribute__((constructor)) static void begin(void)
{
    learn();
}
