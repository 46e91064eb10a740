/* SPDX-License-Identifier: Apache-2.0 */
/* peet sims: the modules that come with peet, or one module's parameters. */
#include "arguments.h"
#include "common.h"
#include "modules/modhost.h"

#include <argp.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 0x100, LINE_COLUMNS = 100, HELP_INDENT = 6 };

struct asked {
    const char *name; /* NULL: all */
    int json;
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    switch (key) {
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        peet_cli_one(state, "module", text, &asked->name);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "[NAME|PATH]",
    .doc = "List the simulators, or the parameters of one.\v"
           "A NAME is looked up among the modules that come with peet; a PATH has a '/' in it.",
};

static const char *kind_text(const struct peet_module *module)
{
    return module->kind == PEET_MACHINE ? "machine" : module->kind == PEET_OBSERVER ? "observer" : "model";
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

/* ------------------------------------------------------------------------------------------- for people */

/* Words broken between blanks, every line indented. */
static void print_wrapped(const char *text, int indent)
{
    int column = 0;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column && column + 1 + length > LINE_COLUMNS) {
            putchar('\n');
            column = 0;
        }
        column += printf("%*s%.*s", column ? 1 : indent, "", length, text);
        text += length;
        text += strspn(text, " ");
    }
    if (column)
        putchar('\n');
}

static void print_param(const struct peet_param *param)
{
    const char *unit = text_or(param->unit, ""), *range = text_or(param->range, "");
    int choice = param->type == PEET_PARAM_ENUM;
    printf("  %-18s %s%s%s%s, default %s%s%s\n", param->name, peet_modhost_type_text(param->type), *unit ? " (" : "",
        unit, *unit ? ")" : "", text_or(param->def, "none"), *range && !choice ? ", range " : "", choice ? "" : range);
    if (choice) {
        char line[1024];
        snprintf(line, sizeof(line), "one of: %s", range);
        for (char *c = line; *c; c++)
            if (*c == '|')
                *c = ' ';
        print_wrapped(line, HELP_INDENT);
    }
    print_wrapped(text_or(param->help, ""), HELP_INDENT);
}

static void print_module(const struct peet_modhost_module *loaded)
{
    const struct peet_module *module = loaded->module;
    printf("%s (%s): %s\n%s\n", module->name, kind_text(module), text_or(module->summary, ""), loaded->path);
    unsigned count = peet_modhost_nparams(module);
    puts(count ? "parameters:" : "no parameters");
    for (unsigned i = 0; i < count; i++)
        print_param(&module->params[i]);
}

/* --------------------------------------------------------------------------------------------- as JSON */

static json_t *param_json(const struct peet_param *param)
{
    static const char *const types[] = {"u64", "f64", "size", "bool", "enum", "string"};
    const char *type = (unsigned)param->type < sizeof(types) / sizeof(types[0]) ? types[param->type] : "unknown";
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", param->name, "type", type, "unit",
        text_or(param->unit, ""), "default", text_or(param->def, ""), "range", text_or(param->range, ""), "help",
        text_or(param->help, ""));
}

static json_t *module_json(const struct peet_modhost_module *loaded)
{
    const struct peet_module *module = loaded->module;
    json_t *params = json_array();
    for (unsigned i = 0; i < peet_modhost_nparams(module); i++)
        json_array_append_new(params, param_json(&module->params[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:o}", "name", module->name, "kind", kind_text(module), "summary",
        text_or(module->summary, ""), "path", loaded->path, "abi", (int)module->abi, "parameters", params);
}

/* Returns: the exit status */
static int print_json(json_t *value)
{
    if (!value) {
        peet_cli_complain("cannot print this as JSON: out of memory, or a module's texts are not UTF-8");
        return PEET_CLI_FAILED;
    }
    json_dumpf(value, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(value);
    return PEET_CLI_OK;
}

/* -------------------------------------------------------------------------------------------- the verb */

static int show_one(const char *folder, const struct asked *asked)
{
    struct peet_error error = {0};
    struct peet_modhost_module loaded;
    int status = PEET_CLI_OK;
    if (peet_modhost_load(folder, asked->name, 0, &loaded, &error))
        return peet_cli_fail(&error);
    if (asked->json)
        status = print_json(module_json(&loaded));
    else
        print_module(&loaded);
    peet_modhost_unload(&loaded);
    return status;
}

/* A module that cannot be loaded is complained of; the others are listed all the same. */
static int show_all(const char *folder, const struct asked *asked)
{
    struct peet_error error = {0};
    char **names;
    int count = peet_modhost_list(folder, &names, &error), status = PEET_CLI_OK;
    if (count < 0)
        return peet_cli_fail(&error);
    json_t *list = asked->json ? json_array() : NULL;
    for (int i = 0; i < count; i++) {
        struct peet_modhost_module loaded;
        error = (struct peet_error){0};
        if (peet_modhost_load(folder, names[i], 0, &loaded, &error)) {
            peet_cli_fail(&error);
            status = PEET_CLI_FAILED;
            continue;
        }
        if (list)
            json_array_append_new(list, module_json(&loaded));
        else
            printf("%-12s %-9s %s\n", loaded.module->name, kind_text(loaded.module),
                text_or(loaded.module->summary, ""));
        peet_modhost_unload(&loaded);
    }
    peet_modhost_list_free(names, count);
    if (asked->json && print_json(list) != PEET_CLI_OK)
        status = PEET_CLI_FAILED;
    return status;
}

int peet_cli_sims(int argc, char **argv)
{
    struct asked asked = {0};
    struct peet_error error = {0};
    char folder[PATH_MAX];
    if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    if (peet_modhost_dir(folder, sizeof(folder), &error))
        return peet_cli_fail(&error);
    return peet_cli_finish_stdout(asked.name ? show_one(folder, &asked) : show_all(folder, &asked));
}
