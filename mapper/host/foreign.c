/* SPDX-License-Identifier: Apache-2.0 */
/* See foreign.h. */
#include "host/foreign.h"
#include "engine/processors.h"
#include "foreign/translate.h"
#include "host/images.h"
#include "host/recording.h"

#include <limits.h>

static struct peet_program *of;
static struct peet_costs *costs;

static int recorded(uint64_t pc)
{
    return peet_program_function_of_pc(of, pc) != NULL;
}

/** Its functions are known before they are asked for. */
static int look(uint64_t pc)
{
    return peet_host_find_image(pc) != 0;
}

/** Whether the table of costs has an instruction of this name; without a table names are as they come. */
static int known(const char *name)
{
    return peet_costs_knows(costs, name);
}

static void open_costs(void)
{
    struct peet_error error = {0, ""};
    char path[PATH_MAX];

    if (!peet_costs_path(path, sizeof path, &error) && !peet_costs_open(path, &costs, &error))
        peet_foreign_set_names(known);
}

int peet_host_foreign_load(const struct peet_config *config, struct peet_error *error)
{
    const char *why = peet_config_not_recorded(config);

    if (why)
        return peet_error_set(error, PEET_EUNSUPPORTED, PEET_HOST_FOREIGN_REFUSED "%s", why);
    return peet_foreign_load(error);
}

static int no_order(const void *a, const void *b)
{
    (void)a;
    (void)b;
    return 0;
}

/* The program and the host share the C library, and with it what its functions find out once: qsort() asks how much memory there
 * is when it sorts more than a kilobyte for the first time.  Whether a module has sorted before must not change what the program
 * does, so the host always has. */
static void ask_once(void)
{
    static char much[2048];

    qsort(much, sizeof much, 1, no_order);
}

int peet_host_foreign_start(struct peet_program *program, struct peet_error *error)
{
    int err;

    of = program;
    open_costs();
    ask_once();
    err = peet_foreign_start(recorded, look, error);
    if (err)
        of = NULL;
    return err;
}

int peet_host_foreign_block(struct peet_program *program, uint64_t word, struct peet_error *error)
{
    uint32_t n = 0;
    const struct peet_foreign_block *path = of ? peet_foreign_path(word, &n) : NULL;
    int err = path ? peet_program_add_foreign(program, word, path, n, error) : 0;

    if (path && !err)
        peet_host_recording_path(word, path, n);
    return err ? err : path != NULL;
}

json_t *peet_host_foreign_json(void)
{
    const struct peet__foreign_counts *n = &peet__foreign_counts;

    if (!of)
        return NULL;
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "blocks", (json_int_t)n->blocks, "translated_anew",
        (json_int_t)n->anew, "functions", (json_int_t)n->entries, "functions_not_entered",
        (json_int_t)n->unsafe_entries, "returns", (json_int_t)n->returns, "returns_not_entered",
        (json_int_t)n->unsafe_returns, "searches", (json_int_t)n->misses, "without_room", (json_int_t)n->without_room);
}
