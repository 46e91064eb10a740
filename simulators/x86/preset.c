/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: presets, which are libconfig files in share/peet/presets: one key for each number, with the names of the
 * parameters, and a comment with its source.
 */
#include "config.h"
#include "memory_config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <libconfig.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void x86_config_default(struct x86_config *config)
{
    *config = (struct x86_config){
#define X(name, unit, least, most, def, help) .name = def,
        X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) .name = def,
            X86_CORE_CHOICES(X)
#undef X
    };
}

/** The place of a choice in "a|b|c", -1: it is none of them */
static int choice_of(const char *choices, const char *text)
{
    size_t length = strlen(text);

    for (int i = 0;; i++) {
        size_t n = strcspn(choices, "|");

        if (n == length && !strncmp(choices, text, n))
            return i;
        if (!choices[n])
            return -1;
        choices += n + 1;
    }
}

/** One key of the core's.  Returns: 0; -1: no such key; -2: no such choice; -3: out of range */
static int core_key(struct x86_config *config, const char *key, uint64_t number, const char *text)
{
#define X(name, unit, least, most, def, help) \
    if ((least) && !strcmp(key, #name)) { \
        if (text) \
            return -2; \
        if (number < (least) || number > (most)) \
            return -3; \
        config->name = (uint32_t)number; \
        return 0; \
    }
    X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) \
    if (!strcmp(key, #name)) { \
        int at = text ? choice_of(choices, text) : -1; \
        if (at <= 0) \
            return -2; \
        config->name = (uint32_t)at; \
        return 0; \
    }
    X86_CORE_CHOICES(X)
#undef X
    if (!strcmp(key, "turn_units")) {
        if (!text || strlen(text) >= sizeof config->turn_units)
            return -2;
        strcpy(config->turn_units, text);
        return 0;
    }
    if (!strcmp(key, "mcpu")) {
        if (!text || strlen(text) >= sizeof config->mcpu)
            return -2;
        strcpy(config->mcpu, text);
        return 0;
    }
    return -1;
}

/** Where the presets are: beside lib/peet/modules/x86.so, in share/peet/presets. */
static int presets_dir(char *out, size_t room)
{
    Dl_info info;
    char *path, *slash;
    int up = 4;

    if (!dladdr((const void *)&presets_dir, &info) || !(path = realpath(info.dli_fname, NULL)))
        return -1;
    while (up-- && (slash = strrchr(path, '/')) != NULL)
        *slash = 0;
    snprintf(out, room, "%s/share/peet/presets", path);
    free(path);
    return 0;
}

/** The names of all presets, for the message that one is unknown. */
static void list_presets(const char *dir, char *out, size_t room)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    size_t at = 0;

    *out = 0;
    while (d && (e = readdir(d)) != NULL) {
        char *dot = strrchr(e->d_name, '.');

        if (dot && !strcmp(dot, ".cfg") && at < room)
            at += (size_t)snprintf(out + at, room - at, "%s%.*s", at ? ", " : "", (int)(dot - e->d_name), e->d_name);
    }
    if (d)
        closedir(d);
}

/** A group of the list `corrections`.  Returns: NULL, or what is wrong with it */
static const char *correct(struct x86_config *config, config_setting_t *one)
{
    struct x86_correction c = {.latency = -1, .busy = -1, .uops = -1, .parts = -1};

    if (config->ncorrections == X86_CORRECTIONS)
        return "too many";
    for (int i = 0; i < config_setting_length(one); i++) {
        config_setting_t *field = config_setting_get_elem(one, (unsigned)i);
        const char *name = config_setting_name(field), *text = config_setting_get_string(field);
        const int number = config_setting_type(field) == CONFIG_TYPE_INT ? config_setting_get_int(field) : -1;

        if (name && !strcmp(name, "opcodes") && text && strlen(text) < sizeof c.opcodes)
            strcpy(c.opcodes, text);
        else if (name && !strcmp(name, "latency") && number >= 0 && number <= 1000)
            c.latency = number;
        else if (name && !strcmp(name, "busy") && number >= 1 && number <= 1000)
            c.busy = number;
        else if (name && !strcmp(name, "uops") && number >= 1 && number <= 1000)
            c.uops = number;
        else if (name && !strcmp(name, "parts") && number >= 1 && number <= 3)
            c.parts = number;
        else if (name && !strcmp(name, "units") && text && *text && strlen(text) < sizeof c.units)
            strcpy(c.units, text);
        else
            return "has opcodes (a text), latency, busy or uops (numbers of at most 1000), units (a text), "
                   "parts (1 to 3), and nothing else";
    }
    if (!*c.opcodes)
        return "without opcodes";
    config->corrections[config->ncorrections++] = c;
    return NULL;
}

/** A group of the list `unit_queues`.  Returns: NULL, or what is wrong with it */
static const char *unit_queue(struct x86_config *config, config_setting_t *one)
{
    struct x86_unit_queue *q = &config->unit_queues[config->nunit_queues];
    const char *units = NULL;
    int entries = 0;

    if (config->nunit_queues == X86_UNIT_QUEUES)
        return "too many";
    if (!config_setting_lookup_string(one, "units", &units) || !config_setting_lookup_int(one, "entries", &entries) ||
        config_setting_length(one) != 2 || !*units || strlen(units) >= sizeof q->units || entries < 1 || entries > 4096)
        return "has units (a text), entries (1 to 4096), and nothing else";
    strcpy(q->units, units);
    q->entries = (uint32_t)entries;
    config->nunit_queues++;
    return NULL;
}

/** A list of groups, of which @lay_one takes each. */
static int lay_list(const struct peet_env *env, const char *path, config_setting_t *list, struct x86_config *config,
    const char *(*lay_one)(struct x86_config *, config_setting_t *))
{
    const char *key = config_setting_name(list);
    const char *wrong = config_setting_is_list(list) ? NULL : "must be a list of groups";

    for (int i = 0; !wrong && i < config_setting_length(list); i++) {
        config_setting_t *one = config_setting_get_elem(list, (unsigned)i);

        wrong = config_setting_is_group(one) ? lay_one(config, one) : "must be a list of groups";
        if (wrong)
            list = one;
    }
    if (wrong)
        env->fail(env, "%s:%u: %s: %s", path, config_setting_source_line(list), key, wrong);
    return wrong ? -1 : 0;
}

static int lay(const struct peet_env *env, const char *path, config_setting_t *one, struct x86_config *config,
    struct x86_memory_config *memory)
{
    const char *key = config_setting_name(one), *text = NULL;
    uint64_t number = 0;
    int err;

    if (!strcmp(key, "corrections"))
        return lay_list(env, path, one, config, correct);
    if (!strcmp(key, "unit_queues"))
        return lay_list(env, path, one, config, unit_queue);
    switch (config_setting_type(one)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        if (config_setting_get_int64(one) < 0) {
            env->fail(env, "%s:%u: %s: below 0", path, config_setting_source_line(one), key);
            return -1;
        }
        number = (uint64_t)config_setting_get_int64(one);
        break;
    case CONFIG_TYPE_STRING:
        text = config_setting_get_string(one);
        break;
    default:
        env->fail(env, "%s:%u: %s: must be a whole number or a text", path, config_setting_source_line(one), key);
        return -1;
    }
    if (!strcmp(key, "about") || !strcmp(key, "processors")) /* for people, and for bench/hardware.sh */
        return 0;
    err = core_key(config, key, number, text);
    if (err == -1)
        err = x86_memory_config_key(memory, key, number, text);
    if (!err)
        return 0;
    env->fail(env,
        err == -1       ? "%s:%u: unknown key '%s'; `peet sims x86` lists them"
            : err == -3 ? "%s:%u: %s: out of range"
                        : "%s:%u: %s: not a value that this key can have; see `peet sims x86`",
        path, config_setting_source_line(one), key);
    return -1;
}

int x86_config_preset(const struct peet_env *env, const char *name, struct x86_config *config,
    struct x86_memory_config *memory)
{
    char dir[PATH_MAX], path[PATH_MAX + 300], names[1000];
    config_t file;
    config_setting_t *root;
    int err = 0;

    if (strchr(name, '/')) {
        snprintf(path, sizeof path, "%s", name);
        *dir = 0;
    } else {
        if (presets_dir(dir, sizeof dir)) {
            env->fail(env,
                "preset=%s: the folder of presets cannot be found from this module's place; give a path with a slash",
                name);
            return -1;
        }
        snprintf(path, sizeof path, "%s/%s.cfg", dir, name);
    }
    config_init(&file);
    errno = 0;
    if (!config_read_file(&file, path)) {
        if (config_error_type(&file) == CONFIG_ERR_FILE_IO && *dir) {
            list_presets(dir, names, sizeof names);
            env->fail(env, "preset=%s: there is no %s; presets are: %s", name, path, *names ? names : "none");
        } else if (config_error_type(&file) == CONFIG_ERR_FILE_IO) {
            env->fail(env, "preset=%s: %s", name, errno ? strerror(errno) : "it is no file");
        } else {
            env->fail(env, "preset=%s: %s:%d: %s", name, path, config_error_line(&file), config_error_text(&file));
        }
        config_destroy(&file);
        return -1;
    }
    root = config_root_setting(&file);
    for (int i = 0; !err && i < config_setting_length(root); i++)
        err = lay(env, path, config_setting_get_elem(root, (unsigned)i), config, memory);
    config_destroy(&file);
    return err;
}
