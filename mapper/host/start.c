/* SPDX-License-Identifier: Apache-2.0 */
/* See start.h. */
#include "host/start.h"
#include "host/guard.h"

#include <stdlib.h>

struct starting {
    struct peet_map *map;
    const struct peet_config *config;
    size_t i;
    const struct peet_module *module;
    const union peet_value *values;
    struct peet_error *error;
    int err;
};

static int failed;

int peet_host_load_module(const struct peet_config *c, size_t i, struct peet_modhost_module *out_module,
    union peet_value **out_values, struct peet_error *error)
{
    const int observes = i > 0 && i <= c->nobservers;
    const struct peet_config_module *given = !i ? &c->machine
        : observes                              ? &c->observers[i - 1]
                                                : &c->followers[i - 1 - c->nobservers];
    int err = peet_modhost_load("", given->path ? given->path : given->module, observes ? PEET_OBSERVER : PEET_MACHINE,
        out_module, error);

    if (err)
        return err;
    *out_values = calloc(peet_modhost_nparams(out_module->module) + 1, sizeof **out_values);
    if (!*out_values)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    return peet_modhost_values(out_module->module, given, *out_values, error);
}

static void start_call(void *arg)
{
    struct starting *s = arg;

    if (s->i == 0)
        s->err = peet_map_set_machine(s->map, s->module, s->values, s->error);
    else if (s->i <= s->config->nobservers)
        s->err = peet_map_add_observer(s->map, s->module, s->values, s->error);
    else
        s->err = peet_map_add_follower(s->map, s->module, s->values, s->error);
}

int peet_host_start_module(struct peet_map *map, const struct peet_config *config, size_t i,
    const struct peet_module *module, const union peet_value *values, struct peet_error *error)
{
    struct starting s = {map, config, i, module, values, error, 0};
    const char *why = peet_host_guard_start(module, start_call, &s);

    if (!why)
        return s.err;
    failed = 1;
    return peet_error_set(error, PEET_EMODULE, "%s: %s", module->name, why);
}

int peet_host_start_failed(void)
{
    return failed;
}
