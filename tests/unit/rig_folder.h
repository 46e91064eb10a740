/* SPDX-License-Identifier: Apache-2.0 */
/* A results folder of a test's own, so that tests that run at the same time do not write the same files.  Removed at
 * exit. */
#ifndef PEET_TESTS_RIG_FOLDER_H
#define PEET_TESTS_RIG_FOLDER_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char rig_folder_path[PATH_MAX];
static pid_t rig_folder_owner;

static int rig_folder_remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

static void rig_folder_remove(void)
{
    if (getpid() == rig_folder_owner)
        nftw(rig_folder_path, rig_folder_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/** rig_folder() - the folder, made at the first call.  Returns: its path; ends the test if it cannot be made */
static inline const char *rig_folder(void)
{
    if (!*rig_folder_path) {
        const char *place = getenv("TMPDIR");

        snprintf(rig_folder_path, sizeof rig_folder_path, "%s/peet-rig.XXXXXX", place && *place ? place : "/tmp");
        if (!mkdtemp(rig_folder_path)) {
            perror(rig_folder_path);
            exit(1);
        }
        rig_folder_owner = getpid();
        atexit(rig_folder_remove);
    }
    return rig_folder_path;
}

#endif
