/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A module as the user has given it: its name, and its parameters as texts, until peet_modhost_fill() has held them
 * against the module's own table.
 */
#ifndef PEET_MODULES_GIVEN_H
#define PEET_MODULES_GIVEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** One parameter of a module. */
struct peet_config_param {
    char *name;
    char *text;    /* as the user would write it; after resolving: in the form that the file shows */
    char *where;   /* "run.cfg:12", "--machine"; NULL for a default */
    uint32_t type; /* enum peet_param_type; PEET_PARAM_STRING until resolved */
};

struct peet_config_module {
    char *module; /* name or path, as given; NULL: none */
    char *path;   /* absolute path of the shared object; NULL until resolved */
    char *where;
    struct peet_config_param *params;
    size_t nparams;
};

/** The parameter of that name, as it was given; NULL: it was not. */
static inline struct peet_config_param *peet_config_param_of(const struct peet_config_module *given, const char *name)
{
    for (size_t i = 0; given && i < given->nparams; i++)
        if (strcmp(given->params[i].name, name) == 0)
            return &given->params[i];
    return NULL;
}

#endif
