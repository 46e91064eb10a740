/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics tree: what becomes stats.json.  A node is a jansson value; modules reach it through
 * the stats functions of their environment, peet's own parts use jansson directly.
 */
#ifndef PEET_STATS_H
#define PEET_STATS_H

#include <jansson.h>
#include <peet/error.h>
#include <peet/module.h>

/** The tree's nodes are borrowed json values under another name. */
static inline json_t *peet_stats_json(struct peet_stats *node)
{
    return (json_t *)node;
}
static inline struct peet_stats *peet_stats_node(json_t *value)
{
    return (struct peet_stats *)value;
}

/** peet_stats_install() - set the stats functions of a module's environment */
void peet_stats_install(struct peet_env *env);

/** peet_stats_note_file() - a file of the results folder is there, of this name.  Returns: 0 or PEET_ENOMEM */
int peet_stats_note_file(const char *name);
/** peet_stats_files() - the names so far, as an array for stats.json; the caller's; NULL: out of memory */
json_t *peet_stats_files(void);

/** peet_stats_text() - a json string of any bytes: what is no UTF-8 is replaced; NULL: out of memory */
json_t *peet_stats_text(const char *text);

/** peet_stats_u64() - an integer; beyond 63 bits a decimal string, since JSON readers would round it */
json_t *peet_stats_u64(uint64_t value);

/** peet_stats_write() - the tree as a file, atomically */
int peet_stats_write(const json_t *root, const char *path, struct peet_error *error);

#endif
