/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a sweep; see sweep.h. */
#include "sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

/* A scalar as text, as the command line would have it.  NULL: it is none */
static char *scalar(const config_setting_t *s)
{
    char *text = NULL;
    int n = -1;
    switch (config_setting_type(s)) {
    case CONFIG_TYPE_STRING:
        return strdup(config_setting_get_string(s));
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        n = asprintf(&text, "%lld", (long long)config_setting_get_int64(s));
        break;
    case CONFIG_TYPE_FLOAT:
        n = asprintf(&text, "%.17g", config_setting_get_float(s));
        break;
    case CONFIG_TYPE_BOOL:
        n = asprintf(&text, "%s", config_setting_get_bool(s) ? "on" : "off");
        break;
    }
    return n < 0 ? NULL : text;
}

static int known(const char *name)
{
    static const char *const names[] = {"machine", "cores", "observe", "granularity", "seed", "policy", "quantum",
        "switch", "schedule", "chunk", "lock-model", "winner", "spin-quantum", "frequency", "ranges", "roi",
        "consistency", "consistency-sync", "perfect", "remap", "allocator", "data-depth", "config", "program",
        "arguments"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

static int wrong(struct peet_error *error, const char *path, const config_setting_t *at, const char *what)
{
    return peet_error_set(error, PEET_EINVALID, "%s:%u: '%s' %s", path, config_setting_source_line(at),
        config_setting_name(at) ? config_setting_name(at) : "", what);
}

/* Underscores of libconfig's names stand for the dashes of options. */
static void option_name(const config_setting_t *s, char out[64])
{
    snprintf(out, 64, "%s", config_setting_name(s) ? config_setting_name(s) : "");
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

static int set(json_t *settings, const config_setting_t *s, const config_setting_t *value, const char *path,
    struct peet_error *error)
{
    char name[64], *text = scalar(value);
    option_name(s, name);
    int err = !known(name)
        ? wrong(error, path, s, "is not an option of peet run that can be swept; \"peet help run\" lists them")
        : !text ? wrong(error, path, s, "has a value that is neither text nor a number")
        : json_object_set_new(settings, name, json_string(text)) ? wrong(error, path, s, "is not UTF-8")
                                                                 : 0;
    free(text);
    return err;
}

/* All combinations: the last key varies fastest. */
static int grid(json_t *out, const config_setting_t *group, int at, json_t *settings, const char *path,
    struct peet_error *error)
{
    if (at == config_setting_length(group)) {
        if (json_array_size(out) >= PEET_CLI_SWEEP_RUNS)
            return wrong(error, path, group, "has too many combinations");
        return json_array_append_new(out, json_deep_copy(settings)) ? PEET_ENOMEM : 0;
    }
    const config_setting_t *s = config_setting_get_elem(group, (unsigned)at);
    int err = 0;
    if (!config_setting_is_aggregate(s)) {
        err = set(settings, s, s, path, error);
        return err ? err : grid(out, group, at + 1, settings, path, error);
    }
    if (config_setting_length(s) == 0)
        return wrong(error, path, s, "has no values");
    for (int i = 0; i < config_setting_length(s) && !err; i++) {
        err = set(settings, s, config_setting_get_elem(s, (unsigned)i), path, error);
        if (!err)
            err = grid(out, group, at + 1, settings, path, error);
    }
    return err;
}

static int list(json_t *out, const config_setting_t *groups, const char *path, struct peet_error *error)
{
    int err = 0;
    for (int i = 0; i < config_setting_length(groups) && !err; i++) {
        const config_setting_t *group = config_setting_get_elem(groups, (unsigned)i);
        json_t *settings = json_object();
        if (!config_setting_is_group(group))
            err = wrong(error, path, groups, "holds something that is not a group of options");
        for (int k = 0; !err && k < config_setting_length(group); k++)
            err = set(settings, config_setting_get_elem(group, (unsigned)k),
                config_setting_get_elem(group, (unsigned)k), path, error);
        if (!err && json_array_append(out, settings))
            err = PEET_ENOMEM;
        json_decref(settings);
    }
    return err;
}

/* Words of a text, separated by blanks. */
static void split(json_t *words, const char *text)
{
    char *copy = strdup(text), *rest = copy, *word;
    while (copy && (word = strsep(&rest, " \t")))
        if (*word)
            json_array_append_new(words, json_string(word));
    free(copy);
}

static json_t *command_of(const json_t *settings, char **program, struct peet_error *error)
{
    json_t *words = json_array(), *value;
    const char *name;
    json_object_foreach((json_t *)settings, name,
        value) if (strcmp(name, "program") != 0 && strcmp(name, "arguments") != 0)
    {
        char option[80];
        snprintf(option, sizeof(option), "--%s", name);
        json_array_append_new(words, json_string(option));
        json_array_append(words, value);
    }
    json_array_append_new(words, json_string("--"));
    value = json_object_get(settings, "program");
    if (value)
        split(words, json_string_value(value));
    else if (!program || !*program)
        peet_error_set(error, PEET_EINVALID, "no program to run; give one after \"--\", or \"program\" in the plan");
    for (char **word = program; !value && word && *word; word++)
        json_array_append_new(words, json_string(*word));
    value = json_object_get(settings, "arguments");
    if (value)
        split(words, json_string_value(value));
    return words;
}

/* FNV-1a over the words. */
static void digest(const json_t *words, int without_machine, char out[PEET_CLI_SWEEP_KEY])
{
    uint64_t h = 0xcbf29ce484222325u;
    const json_t *word;
    size_t i;
    json_array_foreach((json_t *)words, i, word)
    {
        if (without_machine && strcmp(json_string_value(word), "--machine") == 0) {
            i++; /* and its value */
            continue;
        }
        if (strcmp(json_string_value(word), "--") == 0)
            without_machine = 0; /* what follows is the program's */
        for (const char *c = json_string_value(word);; c++) {
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
            if (!*c)
                break;
        }
    }
    snprintf(out, PEET_CLI_SWEEP_KEY, "%016" PRIx64, h);
}

/* Which settings differ between runs: they are the table's columns. */
static json_t *varying(const json_t *all)
{
    json_t *names = json_array(), *first = json_object(), *seen = json_object(), *one, *value;
    const char *name;
    size_t i;
    json_array_foreach((json_t *)all, i, one) json_object_foreach(one, name, value)
    {
        json_t *before = json_object_get(first, name);
        if (!before && i == 0)
            json_object_set(first, name, value);
        else if ((!before || !json_equal(before, value)) && !json_object_get(seen, name)) {
            json_object_set_new(seen, name, json_true());
            json_array_append_new(names, json_string(name));
        }
    }
    json_decref(first);
    json_decref(seen);
    return names;
}

json_t *peet_cli_sweep_plan(const char *path, char **program, struct peet_error *error)
{
    config_t config;
    json_t *all = json_array(), *runs = json_array(), *settings = json_object(), *plan = NULL, *one,
           *seen = json_object();
    size_t i;
    int err = 0;
    config_init(&config);
    errno = 0;
    if (!config_read_file(&config, path)) {
        err = config_error_type(&config) == CONFIG_ERR_FILE_IO
            ? peet_error_set(error, PEET_EINVALID, "the plan '%s' cannot be read: %s", path,
                  errno ? strerror(errno) : "it is no file")
            : peet_error_set(error, PEET_EINVALID, "%s:%d: %s", path, config_error_line(&config),
                  config_error_text(&config));
    } else {
        const config_setting_t *root = config_root_setting(&config);
        for (int k = 0; k < config_setting_length(root) && !err; k++) {
            const config_setting_t *s = config_setting_get_elem(root, (unsigned)k);
            if (strcmp(config_setting_name(s), "grid") == 0 && config_setting_is_group(s))
                err = grid(all, s, 0, settings, path, error);
            else if (strcmp(config_setting_name(s), "list") == 0 && config_setting_is_list(s))
                err = list(all, s, path, error);
            else
                err = wrong(error, path, s,
                    "is neither a \"grid\" = { option = (values); } nor a \"list\" = ( { option = value; } )");
        }
    }
    if (!err && json_array_size(all) == 0)
        err = peet_error_set(error, PEET_EINVALID, "%s: there is nothing to run; it needs a \"grid\" or a \"list\"",
            path);
    json_array_foreach(all, i, one)
    {
        char key[PEET_CLI_SWEEP_KEY], group[PEET_CLI_SWEEP_KEY];
        json_t *words = err ? NULL : command_of(one, program, error);
        if (!words || error->code) {
            err = err ? err : error->code;
            json_decref(words);
            break;
        }
        digest(words, 0, key);
        digest(words, 1, group);
        if (!json_object_get(seen, key)) /* what stands there twice runs once */
            json_array_append_new(runs,
                json_pack("{s:s, s:s, s:O, s:O}", "key", key, "group", group, "settings", one, "command", words));
        json_object_set_new(seen, key, json_true());
        json_decref(words);
    }
    if (!err)
        plan = json_pack("{s:i, s:O, s:o}", "version", 1, "runs", runs, "varying", varying(all));
    config_destroy(&config);
    json_decref(all);
    json_decref(runs);
    json_decref(settings);
    json_decref(seen);
    return plan;
}
