/* SPDX-License-Identifier: Apache-2.0 */
/* Results are written under a temporary name and renamed, but not over what is no file. */
#ifndef PEET_IN_PLACE_H
#define PEET_IN_PLACE_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** peet_in_place() - Returns: 1 if there is a device, a pipe or a link of that name (/dev/stdout), which is written where it is:
 * no file must take its place; else 0 */
static inline int peet_in_place(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/** peet_temporary_name() - where a file of that name is written until it is whole; the name itself if it is written in place
 * Returns: malloc()ed; NULL: no memory */
static inline char *peet_temporary_name(const char *path)
{
    char *name;

    if (peet_in_place(path))
        return strdup(path);
    return asprintf(&name, "%s.tmp%ld", path, (long)getpid()) < 0 ? NULL : name;
}

#endif
