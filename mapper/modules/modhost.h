/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module host: finds and loads modules, holds their descriptors and parameters against the ABI of
 * <peet/module.h>.  Used by the command line (to check, and to list for `peet sims`) and by the host
 * inside the subject (to run them).  It creates no instances and gives no services.
 */
#ifndef PEET_MODHOST_H
#define PEET_MODHOST_H

#include <stddef.h>
#include <peet/error.h>
#include <peet/module.h>

struct peet_config_module;
struct peet_consistency;

/** A loaded module. */
struct peet_modhost_module {
    const struct peet_module *module;           /* its descriptor, good until unload */
    const struct peet_consistency *consistency; /* its operations, if it is a consistency model; else NULL */
    char *path;                                 /* absolute */
    void *handle;
};

/**
 * peet_modhost_dir() - the folder of the modules that come with peet
 * Setting PEET_LIB if there is one (<PEET_LIB>/peet/modules), else ../lib/peet/modules from the
 * running program's own folder.
 * Returns: 0, or PEET_ELIMIT if @bytes is too small, PEET_EIO
 */
int peet_modhost_dir(char *out_path, size_t bytes, struct peet_error *error);

/**
 * peet_modhost_load() - load a module and check its descriptor
 * @modules_dir: where a name without '/' is looked up, as NAME.so
 * @name: a name or a path
 * @kind: enum peet_module_kind that is wanted, 0: any
 * Returns: 0, PEET_ENOTFOUND (with the nearest name), PEET_EVERSION (naming both versions), PEET_EMODULE
 */
int peet_modhost_load(const char *modules_dir, const char *name, unsigned kind, struct peet_modhost_module *out_module,
    struct peet_error *error);
void peet_modhost_unload(struct peet_modhost_module *module);

/**
 * peet_modhost_list() - names of the modules in a folder, sorted
 * Returns: their number, or a peet_err; free with peet_modhost_list_free()
 */
int peet_modhost_list(const char *modules_dir, char ***out_names, struct peet_error *error);
void peet_modhost_list_free(char **names, int n);

/** peet_modhost_nparams() - number of entries in a module's parameter table */
unsigned peet_modhost_nparams(const struct peet_module *module);

/**
 * peet_modhost_values() - the values of all parameters, checked
 * @given: what the user gave; parameters that are not there take their defaults
 * @out_values: peet_modhost_nparams() of them; strings point into @given or the module
 * Returns: 0 or PEET_EINVALID with where, what is allowed, and the nearest name
 */
int peet_modhost_values(const struct peet_module *module, const struct peet_config_module *given,
    union peet_value *out_values, struct peet_error *error);

/** peet_modhost_value() - parse and check one text; @where begins the message */
int peet_modhost_value(const struct peet_param *param, const char *where, const char *text, union peet_value *out_value,
    struct peet_error *error);

/**
 * peet_modhost_type_text() - "number", "size", ... for lists of parameters; never NULL
 */
const char *peet_modhost_type_text(unsigned type);

/** peet_modhost_fill() - make @given the effective list: every parameter in table order, normalised text */
int peet_modhost_fill(const struct peet_module *module, struct peet_config_module *given, struct peet_error *error);

#endif
