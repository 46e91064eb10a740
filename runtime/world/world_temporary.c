/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of temporary files and folders.  The C library takes them from the kernel's random numbers, and so a program that
 * prints one, or takes it apart, would go another way in each run.  Here they come from the run's seed.  A name that
 * exists is passed over, as ever: what an earlier run has left behind gives this one other names.
 */
#include "world/world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANDOM = 6, TRIES = 1 << 16 };

/* The characters become others. */
static void fill(char *at)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    uint64_t value;
    peet__world_random(&value, sizeof value);
    for (int k = 0; k < RANDOM; k++, value /= sizeof letters - 1)
        at[k] = letters[value % (sizeof letters - 1)];
}

/* Where the six X of a template are, before so many characters; NULL: it has none, which errno says. */
static char *random_part(char *template, int suffix)
{
    const size_t n = strlen(template);
    if (suffix < 0 || n < RANDOM + (size_t)suffix ||
        memcmp(template + n - (size_t)suffix - RANDOM, "XXXXXX", RANDOM) != 0) {
        errno = EINVAL;
        return NULL;
    }
    return template + n - (size_t)suffix - RANDOM;
}

static int make_file(const char *path, int flags)
{
    return peet__fd_create(path, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL);
}

static int make_folder(const char *path, int flags)
{
    (void)flags;
    return mkdir(path, 0700);
}

/* Takes a name that nobody has, and makes nothing. */
static int make_nothing(const char *path, int flags)
{
    struct stat st;
    (void)flags;
    if (REAL(lstat)(path, &st) == 0)
        errno = EEXIST;
    else if (errno == ENOENT)
        return 0;
    return -1;
}

/* The first name that can be made.  Returns: what @make does, or -1 */
static int make(const char *path, char *at, int flags, int (*make)(const char *, int))
{
    int result = -1;
    for (int k = 0; k < TRIES && result < 0; k++) {
        fill(at);
        result = make(path, flags);
        if (result < 0 && errno != EEXIST)
            break;
    }
    return result;
}

static int make_temporary(char *template, int suffix, int flags)
{
    char *const at = random_part(template, suffix);
    return at ? make(template, at, flags, make_file) : -1;
}

#define TEMPORARY(name, parameters, arguments, suffix, flags) \
    SIM(int, name, REMOVE parameters) \
    { \
        return SUBJECT && peet__world_readable(template, 1) ? make_temporary(template, suffix, flags) \
                                                            : REAL(name) arguments; \
    }
TEMPORARY(mkstemp, (char *template), (template), 0, 0)
TEMPORARY(mkstemp64, (char *template), (template), 0, 0)
TEMPORARY(mkostemp, (char *template, int flags), (template, flags), 0, flags)
TEMPORARY(mkostemp64, (char *template, int flags), (template, flags), 0, flags)
TEMPORARY(mkstemps, (char *template, int suffix), (template, suffix), suffix, 0)
TEMPORARY(mkstemps64, (char *template, int suffix), (template, suffix), suffix, 0)
TEMPORARY(mkostemps, (char *template, int suffix, int flags), (template, suffix, flags), suffix, flags)
TEMPORARY(mkostemps64, (char *template, int suffix, int flags), (template, suffix, flags), suffix, flags)

SIM(char *, mkdtemp, char *template)
{
    if (!SUBJECT || !peet__world_readable(template, 1))
        return REAL(mkdtemp)(template);
    char *const at = random_part(template, 0);
    peet__world_order();
    const int made = at ? make(template, at, 0, make_folder) : -1;
    const int saved_errno = errno;
    peet__syscall_note(SYS_mkdir, 0);
    errno = saved_errno;
    return made == 0 ? template : NULL;
}

SIM(char *, mktemp, char *template)
{
    if (!SUBJECT || !peet__world_readable(template, 1))
        return REAL(mktemp)(template);
    char *const at = random_part(template, 0);
    if (!at || make(template, at, 0, make_nothing) != 0)
        *template = 0;
    return template;
}

/* Names that the C library has made, but for the end. */
static char *renamed(char *name)
{
    if (SUBJECT && name && make(name, name + strlen(name) - RANDOM, 0, make_nothing) != 0)
        *name = 0;
    return name;
}

SIM(char *, tmpnam, char *name)
{
    return renamed(REAL(tmpnam)(name));
}

SIM(char *, tmpnam_r, char *name)
{
    return renamed(REAL(tmpnam_r)(name));
}

SIM(char *, tempnam, const char *folder, const char *prefix)
{
    return renamed(REAL(tempnam)(folder, prefix));
}
