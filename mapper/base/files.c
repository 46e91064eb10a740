/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic writing of result files.
 */
#include "base/files.h"
#include "base/spill.h"
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void fini(struct peet_file *file)
{
    free(file->path);
    peet_whole_drop(file->whole);
    free(file->handed);
    *file = (struct peet_file){0};
}

/** Returns: 1 if it can be written to memory instead; else 0 and errno is as before */
static int hand_over(struct peet_file *file, int why)
{
    file->hands = peet_spill_takes(why);
    if (file->hands)
        file->stream = open_memstream(&file->handed, &file->handed_bytes);
    errno = why;
    return file->stream != NULL;
}

int peet_file_check(const char *path, const char *what, struct peet_error *error)
{
    char *copy = strdup(path);
    struct stat info;
    const char *folder;
    int err = 0;

    if (!copy)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    folder = dirname(copy);
    errno = 0;
    /* a device or a pipe is written in place */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) ? S_ISDIR(info.st_mode) || access(path, W_OK)
                                                         : access(folder, W_OK | X_OK))
        err = peet_error_set(error, PEET_EIO, "%s: cannot write %s: %s", what, path,
            errno ? strerror(errno) : "it is a folder");
    free(copy);
    return err;
}

/* What is this process's standard output is not opened again, which would begin it anew. */
static FILE *open_file(const struct peet_whole *whole)
{
    const int stream = peet_whole_stream(whole), fd = stream < 0 ? -1 : fcntl(stream, F_DUPFD_CLOEXEC, 3);

    return fd < 0 ? fopen(peet_whole_name(whole), "we") : fdopen(fd, "w");
}

int peet_file_create(const char *path, struct peet_file *out_file, struct peet_error *error)
{
    int err = 0;

    *out_file = (struct peet_file){0};
    out_file->path = strdup(path);
    out_file->whole = peet_whole_new(path);
    if (!out_file->path || !out_file->whole)
        err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    else if (!(peet_spill_needed() && hand_over(out_file, EFBIG)) && !(out_file->stream = open_file(out_file->whole)) &&
        !hand_over(out_file, errno))
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno));
    if (err)
        fini(out_file);
    return err;
}

int peet_file_commit(struct peet_file *file, struct peet_error *error)
{
    int bad, err = 0, why;

    errno = 0;
    bad = ferror(file->stream) | fflush(file->stream);
    why = errno;
    if (fclose(file->stream) && !bad) {
        bad = 1;
        why = errno;
    }
    file->stream = NULL;
    if (!bad && file->hands) {
        err = peet_spill_put(file->path, file->handed, file->handed_bytes, error);
        fini(file);
        return err;
    }
    if (!bad) {
        bad = why = peet_whole_place(file->whole);
        file->whole = NULL;
    }
    if (bad)
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", file->path,
            why ? strerror(why) : "an earlier write failed");
    fini(file);
    return err;
}

void peet_file_discard(struct peet_file *file)
{
    if (file->stream)
        fclose(file->stream);
    fini(file);
}

int peet_file_end(struct peet_file *file, int ok, struct peet_error *error)
{
    if (ok)
        return peet_file_commit(file, error);
    peet_file_discard(file);
    return PEET_EIO;
}
