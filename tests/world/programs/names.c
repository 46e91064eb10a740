/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of temporary files and folders: made in the folder that is given, printed, and taken away again.  The names
 * themselves are in lines of their own, which begin with "=".
 *
 *     names FOLDER
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

static char *template(char *out, const char *name)
{
    sprintf(out, "%s/%s", folder, name);
    return out;
}

/* The name, and its shape: with X again where it is random, before so many characters. */
static const char *shape(const char *path, int suffix)
{
    static char shape[300];
    printf("= %s\n", path);
    strcpy(shape, path);
    memset(shape + strlen(shape) - (size_t)suffix - 6, 'X', 6);
    return shape;
}

/* What has been made: whether it is what was asked for, and open for reading and writing. */
static void made(const char *what, const char *path, int suffix, int fd)
{
    struct stat st;
    char byte = 'x';
    const int there = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600;
    const int usable = there && write(fd, &byte, 1) == 1 && pread(fd, &byte, 1, 0) == 1;
    printf("%s %s %d %d\n", what, shape(path, suffix), there, usable);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
}

static void refused(const char *what, char *path)
{
    const int result = mkstemp(path);
    printf("%s %d %d\n", what, result, errno == EINVAL ? 1 : errno == ENOENT ? 2 : 0);
}

static void *thread(void *arg)
{
    char path[300];
    const int fd = mkstemp(template(path, "thread.XXXXXX"));
    made(arg, path, 0, fd);
    return NULL;
}

int main(int argc, char **argv)
{
    char path[300], other[300], *name;
    pthread_t threads[2];
    struct stat st;
    if (argc != 2)
        return 2;
    folder = argv[1];
    made("mkstemp", path, 0, mkstemp(template(path, "aXXXXXX")));
    made("mkostemp", path, 0, mkostemp(template(path, "XXXXXX"), O_APPEND | O_CLOEXEC));
    made("mkstemps", path, 4, mkstemps(template(path, "bXXXXXX.txt"), 4));
    made("mkostemps", path, 1, mkostemps(template(path, "bXXXXXXc"), 1, O_SYNC));
    name = mkdtemp(template(path, "dXXXXXX"));
    printf("mkdtemp %s %d %d\n", shape(path, 0), name == path,
        stat(path, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0777) == 0700);
    rmdir(path);
    refused("no X", template(path, "aXXXXX"));
    refused("short", strcpy(path, "XXXX"));
    refused("no folder", template(path, "nowhere/aXXXXXX"));
    const int late = mkstemps(template(path, "XXXXXXab"), 3);
    printf("suffix too long %d %d\n", late, errno == EINVAL);
    name = tempnam(folder, "prefix too long");
    printf("tempnam %s %d\n", shape(name, 0), access(name, F_OK));
    free(name);
    /* two that are there at once have two names */
    const int first = mkstemp(template(path, "twoXXXXXX")), second = mkstemp(template(other, "twoXXXXXX"));
    printf("two %d %d\n", first >= 0 && second >= 0, strcmp(path, other) != 0);
    unlink(path), unlink(other);
    for (int k = 0; k < 2; k++) {
        pthread_create(&threads[k], NULL, thread, k ? "second" : "first");
        pthread_join(threads[k], NULL);
    }
    return 0;
}
