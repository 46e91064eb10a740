/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of modules: texts against the module's table.
 */
#include "modules/modhost.h"
#include "modules/given.h"
#include "base/names.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned peet_modhost_nparams(const struct peet_module *module)
{
    unsigned n = 0;

    while (module->params && module->params[n].name)
        n++;
    return n;
}

const char *peet_modhost_type_text(unsigned type)
{
    static const char *const texts[] = {"number", "decimal number", "size", "on|off", "choice", "text"};

    return type < sizeof texts / sizeof *texts ? texts[type] : "unknown";
}

/** The two ends of "1..64"; each end may be left out; sizes may carry their suffix. */
static int in_range(const struct peet_param *param, const union peet_value *value)
{
    const char *dots = strstr(param->range, "..");
    char low[64];
    union peet_value end;

    if (!dots || (size_t)(dots - param->range) >= sizeof low)
        return 1;
    memcpy(low, param->range, (size_t)(dots - param->range));
    low[dots - param->range] = 0;
    if (param->type == PEET_PARAM_F64)
        return (peet_text_f64(low, &end.f64) || value->f64 >= end.f64) &&
            (peet_text_f64(dots + 2, &end.f64) || value->f64 <= end.f64);
    return (peet_text_size(low, &end.u64) || value->u64 >= end.u64) &&
        (peet_text_size(dots + 2, &end.u64) || value->u64 <= end.u64);
}

int peet_modhost_value(const struct peet_param *param, const char *where, const char *text, union peet_value *out_value,
    struct peet_error *error)
{
    const char *expected = "";
    int err = 0, index;

    switch (param->type) {
    case PEET_PARAM_U64:
        err = peet_text_u64(text, &out_value->u64);
        expected = "a whole number (10, 0x10)";
        break;
    case PEET_PARAM_F64:
        err = peet_text_f64(text, &out_value->f64);
        expected = "a number (0.5)";
        break;
    case PEET_PARAM_SIZE:
        err = peet_text_size(text, &out_value->u64);
        expected = "a size (64, 32KiB, 1MiB)";
        break;
    case PEET_PARAM_BOOL:
        err = peet_text_bool(text, &out_value->u64);
        expected = "on or off";
        break;
    case PEET_PARAM_ENUM:
        index = peet_text_choice(text, param->range);
        out_value->u64 = (uint64_t)index;
        err = index < 0 ? index : 0;
        break;
    case PEET_PARAM_STRING:
        out_value->string = text;
        break;
    }
    if (err && param->type == PEET_PARAM_ENUM)
        return peet_error_set(error, PEET_EINVALID, "%s: %s=%s: must be one of %s", where, param->name, text,
            param->range);
    if (err == PEET_ELIMIT)
        return peet_error_set(error, PEET_EINVALID, "%s: %s=%s: the number is too large", where, param->name, text);
    if (err)
        return peet_error_set(error, PEET_EINVALID, "%s: %s=%s: must be %s", where, param->name, text, expected);
    if ((param->type == PEET_PARAM_U64 || param->type == PEET_PARAM_F64 || param->type == PEET_PARAM_SIZE) &&
        !in_range(param, out_value))
        return peet_error_set(error, PEET_EINVALID, "%s: %s=%s: must lie in %s%s%s", where, param->name, text,
            param->range, *param->unit ? " " : "", param->unit);
    return 0;
}

static const char *where_of(const struct peet_module *module, const struct peet_config_param *given, char *buffer,
    size_t bytes)
{
    snprintf(buffer, bytes, "%s%s%s", given->where ? given->where : "", given->where ? ": " : "", module->name);
    return buffer;
}

/* @as_given: the module's name, or its path */
static int unknown(const struct peet_module *module, const char *as_given, const struct peet_config_param *given,
    struct peet_error *error)
{
    const char *names[256], *nearest;
    char where[300];
    size_t n = 0;

    for (; module->params && module->params[n].name && n < 256; n++)
        names[n] = module->params[n].name;
    nearest = peet_names_nearest(given->name, names, n);
    where_of(module, given, where, sizeof where);
    if (nearest)
        return peet_error_set(error, PEET_EINVALID, "%s: unknown parameter '%s'; did you mean '%s'?", where,
            given->name, nearest);
    return peet_error_set(error, PEET_EINVALID, "%s: unknown parameter '%s'%s%s%s", where, given->name,
        n ? " (`peet sims " : "; it has none", n ? as_given : "", n ? "` lists them)" : "");
}

int peet_modhost_values(const struct peet_module *module, const struct peet_config_module *given,
    union peet_value *out_values, struct peet_error *error)
{
    unsigned n = peet_modhost_nparams(module);
    char where[300];
    int err;

    for (size_t i = 0; given && i < given->nparams; i++) {
        unsigned j = 0;

        while (j < n && strcmp(module->params[j].name, given->params[i].name))
            j++;
        if (j == n)
            return unknown(module, given->module ? given->module : module->name, &given->params[i], error);
    }
    for (unsigned j = 0; j < n; j++) {
        const struct peet_config_param *g = peet_config_param_of(given, module->params[j].name);

        err = g ? peet_modhost_value(&module->params[j], where_of(module, g, where, sizeof where), g->text,
                      &out_values[j], error)
                : peet_modhost_value(&module->params[j], module->name, module->params[j].def, &out_values[j], error);
        if (err)
            return err;
    }
    return 0;
}

/** The text that says this value best: bytes for sizes, the choice as the table spells it. */
static char *normal_text(const struct peet_param *param, const union peet_value *value)
{
    const char *at = param->range;

    switch (param->type) {
    case PEET_PARAM_U64:
    case PEET_PARAM_SIZE:
        return peet_text_dup("%" PRIu64, value->u64);
    case PEET_PARAM_F64:
        return peet_text_dup("%.17g", value->f64);
    case PEET_PARAM_BOOL:
        return strdup(value->u64 ? "true" : "false");
    case PEET_PARAM_ENUM:
        for (uint64_t i = 0; i < value->u64; i++)
            at += strcspn(at, "|") + 1;
        return strndup(at, strcspn(at, "|"));
    case PEET_PARAM_STRING:
        break;
    }
    return strdup(value->string);
}

int peet_modhost_fill(const struct peet_module *module, struct peet_config_module *given, struct peet_error *error)
{
    unsigned n = peet_modhost_nparams(module);
    union peet_value *values = calloc(n + 1, sizeof *values);
    struct peet_config_param *params = calloc(n + 1, sizeof *params);
    int err = values && params ? peet_modhost_values(module, given, values, error)
                               : peet_error_set(error, PEET_ENOMEM, "%s: out of memory", module->name);
    unsigned done = 0;

    for (; !err && done < n; done++) {
        const struct peet_config_param *g = peet_config_param_of(given, module->params[done].name);
        struct peet_config_param *p = &params[done];

        p->type = module->params[done].type;
        p->name = strdup(module->params[done].name);
        p->text = normal_text(&module->params[done], &values[done]);
        p->where = g && g->where ? strdup(g->where) : NULL;
        if (!p->name || !p->text || (g && g->where && !p->where))
            err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", module->name);
    }
    if (!err) {
        struct peet_config_param *old = given->params;
        size_t nold = given->nparams;

        given->params = params;
        given->nparams = n;
        params = old;
        done = (unsigned)nold;
    }
    for (unsigned i = 0; params && i < done; i++) {
        free(params[i].name);
        free(params[i].text);
        free(params[i].where);
    }
    free(params);
    free(values);
    return err;
}
