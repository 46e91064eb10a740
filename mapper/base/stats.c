/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics tree over jansson.  A module that asks for a node of a node that could not be made
 * gets NULL and may pass it on: the loss is noticed once, when env->fail() has been called.
 */
#include "base/stats.h"
#include "base/files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *peet_stats_text(const char *text)
{
    json_t *value = json_string(text);
    char *copy;

    if (value || !(copy = strdup(text)))
        return value;
    for (char *at = copy; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    value = json_string(copy);
    free(copy);
    return value;
}

json_t *peet_stats_u64(uint64_t value)
{
    char text[24];

    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(text, sizeof text, "%" PRIu64, value);
    return json_string(text);
}

/* The branch of the tree that grows, from where a module was given a node.  Readers of JSON give up beyond some depth,
 * and freeing is recursive. */
enum { DEEPEST = 500 };
static struct {
    const json_t *nodes[DEEPEST];
    unsigned depth;
} branch;

/** A new object or array of this one.  Returns: 0, or -1 too deep */
static int grow(const json_t *parent, const json_t *child)
{
    unsigned d = branch.depth;

    while (d && branch.nodes[d - 1] != parent)
        d--;
    if (!d) {
        branch.nodes[0] = parent;
        d = 1;
    }
    if (d == DEEPEST)
        return -1;
    branch.nodes[d] = child;
    branch.depth = d + 1;
    return 0;
}

/** Hang a value into an object or array; takes it. */
static json_t *put(const struct peet_env *env, struct peet_stats *node, const char *key, json_t *value)
{
    json_t *parent = peet_stats_json(node);
    const char *why = "out of memory, or a key in the wrong kind of node";
    int bad = !parent || !value;

    if (!bad && (json_is_object(value) || json_is_array(value)) && grow(parent, value)) {
        json_decref(value);
        why = "objects within objects, too deep";
        bad = 1;
    } else if (!bad && json_is_array(parent)) {
        bad = json_array_append_new(parent, value);
    } else if (!bad && json_is_object(parent) && key) {
        json_t *name = peet_stats_text(key);

        if (name && json_object_get(parent, json_string_value(name))) {
            json_decref(value);
            why = "it is there already";
            bad = 1;
        } else {
            bad = !name || json_object_set_new(parent, json_string_value(name), value);
        }
        json_decref(name);
    } else {
        json_decref(value);
        bad = 1;
    }
    if (bad && env->fail)
        env->fail(env, "statistics: cannot add '%.100s' (%s)", key ? key : "an entry", why);
    return bad ? NULL : value;
}

static struct peet_stats *stats_object(const struct peet_env *env, struct peet_stats *node, const char *key)
{
    return peet_stats_node(put(env, node, key, json_object()));
}

static struct peet_stats *stats_array(const struct peet_env *env, struct peet_stats *node, const char *key)
{
    return peet_stats_node(put(env, node, key, json_array()));
}

static void stats_u64(const struct peet_env *env, struct peet_stats *node, const char *key, uint64_t value)
{
    put(env, node, key, peet_stats_u64(value));
}

static void stats_f64(const struct peet_env *env, struct peet_stats *node, const char *key, double value)
{
    put(env, node, key, isfinite(value) ? json_real(value) : json_null());
}

static void stats_string(const struct peet_env *env, struct peet_stats *node, const char *key, const char *value)
{
    put(env, node, key, peet_stats_text(value ? value : ""));
}

/* What this run has left in its folder beside stats.json: a later run there takes it away. */
static char **files;
static size_t nfiles;

int peet_stats_note_file(const char *name)
{
    char **more;

    for (size_t i = 0; i < nfiles; i++)
        if (!strcmp(files[i], name))
            return 0;
    more = realloc(files, (nfiles + 1) * sizeof *files);
    if (!more)
        return PEET_ENOMEM;
    files = more;
    files[nfiles] = strdup(name);
    return files[nfiles] ? (nfiles++, 0) : PEET_ENOMEM;
}

json_t *peet_stats_files(void)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < nfiles; i++)
        json_array_append_new(list, peet_stats_text(files[i]));
    return list;
}

/** Names that peet's own results have. */
static int is_reserved(const char *name)
{
    static const char *const names[] = {"", ".", "..", "stats.json", "unseen.json", "config.cfg"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    return 0;
}

static int write_file(const struct peet_env *env, const char *name, const void *data, size_t bytes)
{
    struct peet_error error = {0, ""};
    struct peet_file file;
    char *path = NULL;
    int err = 0;

    if (!name || is_reserved(name) || (bytes && !data))
        err = peet_error_set(&error, PEET_EINVALID, "write_file(): '%s' %s", name ? name : "",
            data ? "is not a name that a module's own file can have" : "without data");
    else if (strchr(name, '/'))
        err = peet_error_set(&error, PEET_EINVALID, "%s: files of results have no folder in their name", name);
    if (!err && asprintf(&path, "%s/%s", env->output_dir, name) < 0)
        err = peet_error_set(&error, PEET_ENOMEM, "%s: out of memory", name);
    if (!err)
        err = peet_file_create(path, &file, &error);
    if (!err) {
        fwrite(data, 1, bytes, file.stream);
        err = peet_file_commit(&file, &error);
    }
    if (!err && peet_stats_note_file(name))
        err = peet_error_set(&error, PEET_ENOMEM, "%s: out of memory", name);
    free(path);
    if (err)
        env->fail(env, "%s", error.message);
    return err;
}

void peet_stats_install(struct peet_env *env)
{
    env->write_file = write_file;
    env->stats_object = stats_object;
    env->stats_array = stats_array;
    env->stats_u64 = stats_u64;
    env->stats_f64 = stats_f64;
    env->stats_string = stats_string;
}

int peet_stats_write(const json_t *root, const char *path, struct peet_error *error)
{
    struct peet_file file;
    int err = peet_file_create(path, &file, error);

    if (err)
        return err;
    if (json_dumpf(root, file.stream, JSON_INDENT(1) | JSON_PRESERVE_ORDER) && !ferror(file.stream)) {
        peet_file_discard(&file);
        return peet_error_set(error, PEET_EIO, "%s: the statistics cannot be written as JSON", path);
    }
    fputc('\n', file.stream);
    return peet_file_commit(&file, error);
}
