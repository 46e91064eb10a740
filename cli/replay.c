/* SPDX-License-Identifier: Apache-2.0 */
/* See replay.h. */
#include "replay.h"

#include "common.h"
#include "config/import.h"
#include "trace/recording.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** A text as a file that libconfig can read. */
static int read_text(struct peet_config *config, const char *from, const char *text, struct peet_error *error)
{
    char path[64], shown[PATH_MAX + 16];
    const int fd = peet_cli_memory_file("peet-trace-config", text, strlen(text), error);
    int err;

    if (fd < 0)
        return fd;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    snprintf(shown, sizeof(shown), "%s: settings", from);
    err = peet_config_read_as(config, path, shown, error);
    close(fd);
    return err;
}

static void drop_trace_observer(struct peet_config *config)
{
    size_t kept = 0;

    for (size_t i = 0; i < config->nobservers; i++) {
        struct peet_config_module one = config->observers[i];

        if (strcmp(one.module, "trace") != 0) {
            config->observers[kept++] = one;
            continue;
        }
        for (size_t k = 0; k < one.nparams; k++) {
            free(one.params[k].name);
            free(one.params[k].text);
            free(one.params[k].where);
        }
        free(one.params);
        free(one.module);
        free(one.path);
        free(one.where);
    }
    config->nobservers = kept;
}

/** What a recording says of its run. */
static int recorded_config(struct peet_config *config, const char *from, struct peet_error *error)
{
    struct peet_recording *recording;
    json_t *description;
    const char *text;
    int err = peet_recording_open(from, &recording, error);

    if (err)
        return err;
    description = json_loads(peet_recording_description(recording), 0, NULL);
    text = json_string_value(json_object_get(description, "config_text"));
    if (!peet_recording_nstreams(recording))
        err = peet_error_set(error, PEET_EFORMAT,
            "%s: the trace has no contexts: the run ended before anything was kept of it", from);
    else if (!text || !*text)
        err = peet_error_set(error, PEET_EFORMAT, "%s: the trace does not say how it was made", from);
    else
        err = read_text(config, from, text, error);
    json_decref(description);
    peet_recording_free(recording);
    return err;
}

int peet_cli_replay_config(struct peet_config *config, struct peet_error *error)
{
    char *from = strdup(config->from), *text;
    struct peet_import import = {0};
    int err,
        found =
            from ? peet_import_find(from, NULL, &import, error) : peet_error_set(error, PEET_ENOMEM, "out of memory");

    if (found > 0) {
        text = peet_import_config_text(from, &import);
        err = text ? read_text(config, from, text, error) : peet_error_set(error, PEET_ENOMEM, "out of memory");
        free(text);
    } else {
        err = found ? found : recorded_config(config, from, error);
    }
    peet_import_fini(&import);
    if (!err) {
        free(config->output);
        config->output = NULL;
        drop_trace_observer(config);
        err = peet_config_set_from(config, "--from", from, error);
    }
    free(from);
    return err;
}

int peet_cli_replay_check(const struct peet_config *config, struct peet_error *error)
{
    char output[PATH_MAX];
    const size_t n = strlen(config->from);

    if (config->explore || config->replay_token || config->consistency.module)
        return peet_error_set(error, PEET_EINVALID,
            "--from: a trace has one order of events and no memory: explorations and consistency models need the program itself");
    if (realpath(config->output, output) && strncmp(output, config->from, strlen(output)) == 0 &&
        config->from[strlen(output)] == '/' && !strchr(config->from + strlen(output) + 1, '/') && n)
        return peet_error_set(error, PEET_EINVALID, "--output: %s holds the trace itself; choose another folder",
            config->output);
    return 0;
}

int peet_cli_replay_program(char **out_path, struct peet_error *error)
{
    char lib[PATH_MAX];
    int err = peet_cli_lib_dir(lib, sizeof(lib), error);

    *out_path = NULL;
    if (!err && asprintf(out_path, "%s/peet/peet-replay", lib) < 0)
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err && access(*out_path, X_OK) != 0)
        err = peet_error_set(error, PEET_EIO, "%s: %s; is the installation whole?", *out_path, strerror(errno));
    return err;
}
