/* SPDX-License-Identifier: Apache-2.0 */
/* What the run's configuration supposes; see suppose.h. */
#include "host/suppose.h"

#include <stdlib.h>
#include <string.h>

static int give_up(struct peet_map_scaled *list, size_t n, int err)
{
    for (size_t i = 0; i < n; i++)
        free((char *)list[i].function);
    free(list);
    return err;
}

int peet_host_suppose(const struct peet_config *config, struct peet_map_config *map, struct peet_error *error)
{
    struct peet_map_scaled *list = config->scale.n ? calloc(config->scale.n, sizeof *list) : NULL;
    size_t bytes;

    for (size_t i = 0; list && i < config->scale.n; i++) {
        int err = peet_config_scale_of("--scale", config->scale.texts[i], &bytes, &list[i].factor, error);

        if (err)
            return give_up(list, i, err);
        if (!(list[i].function = strndup(config->scale.texts[i], bytes)))
            return give_up(list, i, peet_error_set(error, PEET_ENOMEM, "out of memory"));
    }
    if (config->scale.n && !list)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    map->scaled = list;
    map->nscaled = config->scale.n;
    map->free = (const char *const *)config->free_waits.texts;
    map->nfree = config->free_waits.n;
    return 0;
}

int peet_host_suppose_check(const struct peet_map *map, struct peet_error *error)
{
    const char *option, *name;
    int missing;

    for (size_t i = 0; (missing = peet_map_not_met(map, i, &option, &name)) >= 0; i++)
        if (missing && strcmp(name, "locks") != 0 && strcmp(name, "barriers") != 0)
            return peet_error_set(error, PEET_EINVALID,
                strcmp(option, "--scale") == 0 ? "%s: the program has executed no function '%s'"
                                               : "%s: nobody has waited for a lock or barrier '%s'",
                option, name);
    return 0;
}
