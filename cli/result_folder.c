/* SPDX-License-Identifier: Apache-2.0 */
/* The results folder; see result_folder.h. */
#include "result_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* mkdir -p; *out_created: the first folder of the path that had to be made, or NULL */
static int make_folders(const char *path, char **out_created, struct peet_error *error)
{
    char *partial = strdup(path);
    if (!partial)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    int err = 0;
    for (char *end = partial;; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        if (end != partial && mkdir(partial, 0777) == 0) {
            if (!*out_created && !(*out_created = strdup(partial)))
                err = peet_error_set(error, PEET_ENOMEM, "out of memory");
        } else if (end != partial && errno != EEXIST) {
            err = peet_error_set(error, PEET_EIO, "cannot make the results folder %s: %s", path, strerror(errno));
        }
        *end = kept;
        if (err || kept == '\0')
            break;
    }
    free(partial);
    return err;
}

/* Where an earlier run's files are until this one has begun: in the folder, so that to move one is to rename it. */
#define ASIDE ".earlier"

enum errand { PUT_ASIDE, PUT_BACK, REMOVE };

/* Returns: 0, or errno; a file that is not there is none of our business */
static int do_errand(const struct peet_cli_folder *folder, const char *name, enum errand errand)
{
    char aside[NAME_MAX + sizeof ASIDE + 2];
    int failed = 0;
    if (snprintf(aside, sizeof aside, ASIDE "/%s", name) >= (int)sizeof aside)
        return ENAMETOOLONG;
    switch (errand) {
    case PUT_ASIDE:
        failed = renameat(folder->lock, name, folder->lock, aside);
        break;
    case PUT_BACK:
        failed = renameat(folder->lock, aside, folder->lock, name);
        break;
    case REMOVE:
        failed = unlinkat(folder->lock, aside, 0);
        break;
    }
    return failed && errno != ENOENT ? errno : 0;
}

/* Of all files of an earlier run, as its stats.json lists them, or of a recording, which has none.  stats.json goes last: if this is interrupted, it still
 * knows of the others. */
static int do_errands(const struct peet_cli_folder *folder, const json_t *stats, enum errand errand,
    struct peet_error *error)
{
    static const char *const others[] = {"trace.peet", "unseen.json", "config.cfg", "stats.json"};
    const json_t *files = json_object_get(stats, "files");
    const size_t n = json_array_size(files);
    for (size_t i = 0; i < n + sizeof others / sizeof *others; i++) {
        const char *file = i < n ? json_string_value(json_array_get(files, i)) : others[i - n];
        if (!file || !*file || file[0] == '.' || strchr(file, '/'))
            continue;
        const int why = do_errand(folder, file, errand);
        if (why)
            return peet_error_set(error, PEET_EIO, "cannot %s %s/%s of an earlier run: %s",
                errand == PUT_BACK ? "put back" : "remove", folder->path, file, strerror(why));
    }
    return 0;
}

/* Has a run left results there, or a recording its trace?  @where: "" or the folder of what is put aside and '/' */
static int is_anything(const struct peet_cli_folder *folder, const char *where)
{
    static const char *const signs[] = {"stats.json", "trace.peet"};
    char name[64];
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        snprintf(name, sizeof name, "%s%s", where, signs[i]);
        if (faccessat(folder->lock, name, F_OK, 0) == 0)
            return 1;
    }
    return 0;
}

/* What an earlier run has left here would pass for this run's.  It is put aside until this one has begun. */
static int clear(struct peet_cli_folder *folder, struct peet_error *error)
{
    char *aside;
    int err = 0;
    if (asprintf(&aside, "%s/" ASIDE "/stats.json", folder->path) < 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    json_t *interrupted = json_load_file(aside, 0, NULL);
    if (is_anything(folder, ASIDE "/")) /* a run that was killed before it had begun */
        err = do_errands(folder, interrupted, is_anything(folder, "") ? REMOVE : PUT_BACK, error);
    json_decref(interrupted);
    free(aside);
    folder->earlier = json_load_file(folder->stats, 0, NULL);
    if (!err && is_anything(folder, "")) {
        if (mkdirat(folder->lock, ASIDE, 0777) != 0 && errno != EEXIST)
            return peet_error_set(error, PEET_EIO, "cannot make %s/" ASIDE ": %s", folder->path, strerror(errno));
        err = do_errands(folder, folder->earlier, PUT_ASIDE, error);
        folder->aside = 1;
    } else if (!err && unlinkat(folder->lock, "unseen.json", 0) != 0 &&
        errno != ENOENT) { /* of a run without results */
        err = peet_error_set(error, PEET_EIO, "cannot remove %s/unseen.json of an earlier run: %s", folder->path,
            strerror(errno));
    }
    return err;
}

static int end_aside(struct peet_cli_folder *folder, enum errand errand, struct peet_error *error)
{
    if (!folder->aside)
        return 0;
    folder->aside = 0;
    const int err = do_errands(folder, folder->earlier, errand, error);
    unlinkat(folder->lock, ASIDE, AT_REMOVEDIR);
    return err;
}

int peet_cli_folder_begun(struct peet_cli_folder *folder, struct peet_error *error)
{
    return end_aside(folder, REMOVE, error);
}

int peet_cli_folder_refused(struct peet_cli_folder *folder, struct peet_error *error)
{
    unlink(folder->config);
    const int err = end_aside(folder, PUT_BACK, error);
    peet_cli_folder_discard(folder);
    return err;
}

static int take(struct peet_cli_folder *folder, const char *path, struct peet_error *error)
{
    folder->path = realpath(path, NULL);
    if (!folder->path)
        return peet_error_set(error, PEET_EIO, "cannot find the results folder %s: %s", path, strerror(errno));
    folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->lock < 0)
        return peet_error_set(error, PEET_EIO, "the results folder %s cannot be used: %s", path, strerror(errno));
    if (flock(folder->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return peet_error_set(error, PEET_EINVALID, "another run is writing to %s; give this one its own with -d",
            path);
    if (access(folder->path, W_OK | X_OK) != 0)
        return peet_error_set(error, PEET_EIO, "the results folder %s cannot be written to: %s", path, strerror(errno));
    if (asprintf(&folder->stats, "%s/stats.json", folder->path) < 0 ||
        asprintf(&folder->config, "%s/config.cfg", folder->path) < 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    return clear(folder, error);
}

int peet_cli_folder_open(const char *path, struct peet_cli_folder *out_folder, struct peet_error *error)
{
    *out_folder = (struct peet_cli_folder){.lock = -1};
    int err = make_folders(path, &out_folder->created, error);
    if (!err)
        err = take(out_folder, path, error);
    if (err)
        peet_cli_folder_discard(out_folder);
    return err;
}

void peet_cli_folder_discard(struct peet_cli_folder *folder)
{
    /* rmdir() takes only empty folders, so nobody else's files can be lost. */
    if (folder->created && folder->path) {
        size_t top = strlen(folder->created);
        char *top_path = realpath(folder->created, NULL);
        if (top_path) {
            top = strlen(top_path);
            while (strlen(folder->path) >= top && rmdir(folder->path) == 0) {
                char *slash = strrchr(folder->path, '/');
                if (!slash || slash == folder->path)
                    break;
                *slash = '\0';
            }
        }
        free(top_path);
    } else if (folder->created) {
        rmdir(folder->created);
    }
    peet_cli_folder_close(folder);
}

void peet_cli_folder_close(struct peet_cli_folder *folder)
{
    struct peet_error ignored; /* the next run in this folder removes what this one could not */
    end_aside(folder, REMOVE, &ignored);
    if (folder->lock >= 0)
        close(folder->lock);
    free(folder->path);
    free(folder->stats);
    free(folder->config);
    free(folder->created);
    json_decref(folder->earlier);
    *folder = (struct peet_cli_folder){.lock = -1};
}

uint64_t peet_cli_instructions_of(const json_t *stats)
{
    return (uint64_t)json_integer_value(json_object_get(json_object_get(stats, "totals"), "instructions"));
}
