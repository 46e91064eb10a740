/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a sweep that differ in their machine only: the first one of each such group leaves a trace (the observer
 * `trace`), the others are replayed from it, if that gives what a run of their own would give: the program had one
 * context, so that no machine decides who comes before whom, and the replay asked nothing that was answered otherwise
 * then (clocks, timed waits).  Else they run the program, as all others do.  See sweep.h.
 */
#include "sweep.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *text(const json_t *node, const char *key)
{
    const char *value = json_string_value(json_object_get(node, key));
    return value ? value : "";
}

static const char *group_of(const json_t *plan, size_t index)
{
    const json_t *one = json_array_get(json_object_get(plan, "runs"), index - 1);
    return json_is_true(json_object_get(plan, "share")) && *text(json_object_get(one, "settings"), "machine")
        ? text(one, "group")
        : "";
}

enum peet_cli_sweep_part peet_cli_sweep_part(const json_t *plan, size_t index)
{
    const char *group = group_of(plan, index);
    size_t n = json_array_size(json_object_get(plan, "runs"));
    for (size_t i = 1; *group && i <= n; i++)
        if (i != index && strcmp(group_of(plan, i), group) == 0)
            return i < index ? PEET_CLI_SWEEP_FOLLOWS : PEET_CLI_SWEEP_LEADS;
    return PEET_CLI_SWEEP_ALONE;
}

int peet_cli_sweep_trace(const char *folder, const json_t *plan, size_t index, char *path, size_t room)
{
    return (size_t)snprintf(path, room, "%.2000s/recorded/%s.peet", folder, group_of(plan, index)) < room &&
        access(path, F_OK) == 0;
}

void peet_cli_sweep_keep(const char *folder, const json_t *plan, size_t index, const char *part)
{
    char from[PATH_MAX], to[PATH_MAX];
    snprintf(from, sizeof(from), "%.2000s/stats.json", part);
    json_t *stats = json_load_file(from, 0, NULL);
    int alone = json_integer_value(json_object_get(json_object_get(stats, "totals"), "contexts")) == 1;
    json_decref(stats);
    snprintf(from, sizeof(from), "%.2000s/recorded", folder);
    mkdir(from, 0777);
    snprintf(from, sizeof(from), "%.2000s/trace.peet", part);
    peet_cli_sweep_trace(folder, plan, index, to, sizeof(to));
    if (!alone || rename(from, to) != 0)
        unlink(from);
}

int peet_cli_sweep_same(const char *part)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.2000s/stats.json", part);
    json_t *stats = json_load_file(path, 0, NULL);
    const json_t *replay = json_object_get(stats, "replay"), *other = json_object_get(replay, "other_answers");
    int same = json_is_integer(other) && json_integer_value(other) == 0 &&
        json_integer_value(json_object_get(replay, "missing_contexts")) == 0 &&
        !json_is_true(json_object_get(replay, "cut"));
    json_decref(stats);
    return same;
}
