/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings about the subject's parts by name: which data structures have perfect memory, which another layout, how
 * allocations are named, which waits are free, which functions take a part of their time; from text, from and to the
 * configuration file; see config.h.
 */
#include "config/parts.h"
#include "data/rules.h"
#include "data/datamap.h"
#include "base/stats.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int add(struct peet_config_texts *list, const char *text, struct peet_error *error)
{
    char **more = realloc(list->texts, (list->n + 1) * sizeof *more);

    if (more)
        list->texts = more;
    if (!more || !(more[list->n] = strdup(text)))
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    list->n++;
    return 0;
}

static void clear(struct peet_config_texts *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->texts[i]);
    free(list->texts);
    *list = (struct peet_config_texts){0};
}

void peet__config_data_fini(struct peet_config *config)
{
    clear(&config->perfect);
    clear(&config->remap);
    clear(&config->allocators);
    clear(&config->free_waits);
    clear(&config->scale);
}

int peet_config_add_perfect(struct peet_config *config, const char *where, const char *name, struct peet_error *error)
{
    struct peet_rule rule;
    int err = peet_rule_perfect(where, name, &rule, error);

    return err ? err : add(&config->perfect, name, error);
}

int peet_config_add_remap(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    struct peet_rule rule;
    int err = peet_rule_parse(where, text, &rule, error);

    return err ? err : add(&config->remap, text, error);
}

int peet_config_add_allocator(struct peet_config *config, const char *where, const char *name, struct peet_error *error)
{
    if (!*name)
        return peet_error_set(error, PEET_EINVALID, "%s: the name of a function is missing", where);
    return add(&config->allocators, name, error);
}

int peet_config_add_free(struct peet_config *config, const char *where, const char *name, struct peet_error *error)
{
    if (!*name)
        return peet_error_set(error, PEET_EINVALID, "%s: the name of a lock or barrier is missing", where);
    return add(&config->free_waits, name, error);
}

int peet_config_scale_of(const char *where, const char *text, size_t *out_name_bytes, double *out_factor,
    struct peet_error *error)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;

    *out_name_bytes = colon ? (size_t)(colon - text) : 0;
    *out_factor = colon ? strtod(colon + 1, &end) : 0;
    if (!*out_name_bytes || end == colon + 1 || *end || !(*out_factor >= 0 && *out_factor <= PEET_CONFIG_SCALE_MOST))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not FUNCTION:FACTOR, with a factor from 0 to %d",
            where, text, PEET_CONFIG_SCALE_MOST);
    return 0;
}

int peet_config_add_scale(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    double factor;
    size_t bytes;
    int err = peet_config_scale_of(where, text, &bytes, &factor, error);

    return err ? err : add(&config->scale, text, error);
}

int peet_config_set_data_depth(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    uint64_t value;

    if (peet_text_u64(text, &value) || !value || value > PEET_DATAMAP_PATH_MAX)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not a number from 1 to %d", where, text,
            PEET_DATAMAP_PATH_MAX);
    config->data_depth = (unsigned)value;
    return 0;
}

/* -------------------------------------------------------------------------------------------------- file */

static const struct {
    const char *key;
    size_t list;
    int (*add)(struct peet_config *, const char *, const char *, struct peet_error *);
} lists[] = {
    {"perfect", offsetof(struct peet_config, perfect), peet_config_add_perfect},
    {"remap", offsetof(struct peet_config, remap), peet_config_add_remap},
    {"allocators", offsetof(struct peet_config, allocators), peet_config_add_allocator},
    {"free", offsetof(struct peet_config, free_waits), peet_config_add_free},
    {"scale", offsetof(struct peet_config, scale), peet_config_add_scale},
};
enum { LISTS = sizeof lists / sizeof *lists };

static struct peet_config_texts *list_of(const struct peet_config *config, size_t i)
{
    return (struct peet_config_texts *)((char *)(uintptr_t)config + lists[i].list);
}

int peet__config_data_read(struct peet_config *config, const char *where, const char *path, config_setting_t *setting,
    int *out_done, struct peet_error *error)
{
    const char *name = config_setting_name(setting);
    size_t k = 0;
    int err = 0, n;

    (void)path;
    while (k < LISTS && strcmp(name, lists[k].key))
        k++;
    *out_done = k < LISTS;
    if (k == LISTS)
        return 0;
    clear(list_of(config, k));
    if (config_setting_type(setting) == CONFIG_TYPE_STRING)
        return lists[k].add(config, where, config_setting_get_string(setting), error);
    n = config_setting_is_list(setting) || config_setting_is_array(setting) ? config_setting_length(setting) : -1;
    if (n < 0)
        return peet_error_set(error, PEET_EINVALID, "%s: must be a text, or a list of them: ( \"a\", \"b\" )", where);
    for (int i = 0; i < n && !err; i++) {
        const char *text = config_setting_get_string_elem(setting, i);

        err = text ? lists[k].add(config, where, text, error)
                   : peet_error_set(error, PEET_EINVALID, "%s: entry %d is not a text", where, i + 1);
    }
    return err;
}

int peet__config_data_write(const struct peet_config *config, config_setting_t *root)
{
    config_setting_t *setting, *one;

    for (size_t k = 0; k < LISTS; k++) {
        const struct peet_config_texts *list = list_of(config, k);

        if (!list->n)
            continue;
        setting = config_setting_add(root, lists[k].key, CONFIG_TYPE_LIST);
        for (size_t i = 0; setting && i < list->n; i++) {
            one = config_setting_add(setting, NULL, CONFIG_TYPE_STRING);
            if (!one || !config_setting_set_string(one, list->texts[i]))
                return 1;
        }
        if (!setting)
            return 1;
    }
    setting = config_setting_add(root, "data_depth", CONFIG_TYPE_INT);
    return !setting || !config_setting_set_int(setting, (int)config->data_depth);
}

int peet__config_data_json(const struct peet_config *config, json_t *root)
{
    for (size_t k = 0; k < LISTS; k++) {
        const struct peet_config_texts *list = list_of(config, k);
        json_t *array;

        if (!list->n)
            continue;
        array = json_array();
        for (size_t i = 0; array && i < list->n; i++)
            json_array_append_new(array, peet_stats_text(list->texts[i]));
        if (json_object_set_new(root, lists[k].key, array))
            return 1;
    }
    return json_object_set_new(root, "data_depth", json_integer(config->data_depth));
}
