/* SPDX-License-Identifier: Apache-2.0 */
/* Results are written under a temporary name and renamed, but not over what is no file. */
#ifndef PEET_IN_PLACE_H
#define PEET_IN_PLACE_H

#include <sys/stat.h>

/** peet_in_place() - Returns: 1 if there is a device, a pipe or a link of that name (/dev/stdout), which is written where it is:
 * no file must take its place; else 0 */
static inline int peet_in_place(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

#endif
