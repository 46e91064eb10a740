/* SPDX-License-Identifier: Apache-2.0 */
/* The results folder; see result_folder.h. */
#include "result_folder.h"

#include <errno.h>
#include <fcntl.h>
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

/* What an earlier run has left here, as its stats.json lists it, would pass for this run's.  stats.json goes last: if
 * this is interrupted, it still knows of the others. */
static int clear(struct peet_cli_folder *folder, struct peet_error *error)
{
    json_t *stats = folder->earlier = json_load_file(folder->stats, 0, NULL), *name;
    size_t i;
    int err = 0;
    json_array_foreach(json_object_get(stats, "files"), i, name)
    {
        const char *file = json_string_value(name);
        if (err || !file || !*file || file[0] == '.' || strchr(file, '/'))
            continue;
        if (unlinkat(folder->lock, file, 0) != 0 && errno != ENOENT)
            err = peet_error_set(error, PEET_EIO, "cannot remove %s/%s of an earlier run: %s", folder->path, file,
                strerror(errno));
    }
    if (!err && unlinkat(folder->lock, "unseen.json", 0) != 0 && errno != ENOENT)
        err = peet_error_set(error, PEET_EIO, "cannot remove %s/unseen.json of an earlier run: %s", folder->path,
            strerror(errno));
    if (!err && unlink(folder->stats) != 0 && errno != ENOENT)
        err = peet_error_set(error, PEET_EIO, "cannot remove %s of an earlier run: %s", folder->stats, strerror(errno));
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
