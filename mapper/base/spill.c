/* SPDX-License-Identifier: Apache-2.0 */
/* Result files through shared memory; see spill.h. */
#include "base/spill.h"
#include "base/files.h"
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NAME_BYTES = 256 };

/** Before each file; `ready` is written last. */
struct entry {
    uint64_t ready, bytes;
    char name[NAME_BYTES];
};

static struct {
    char *begin;
    size_t used, bytes;
    rlim_t file_bytes; /* how large files might be at the start */
} shared;

static size_t room_of(uint64_t bytes)
{
    return sizeof(struct entry) + (size_t)((bytes + 7) & ~UINT64_C(7));
}

static rlim_t largest_file(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) ? RLIM_INFINITY : limit.rlim_cur;
}

/** The same in both processes: both ask before the subject can change its limits. */
static size_t all_bytes(void)
{
    const rlim_t largest = largest_file();

    return largest < PEET_SPILL_BYTES ? (size_t)largest : PEET_SPILL_BYTES;
}

int peet_spill_make(void)
{
    int fd = memfd_create("peet-results", MFD_CLOEXEC);

    if (fd >= 0 && ftruncate(fd, (off_t)all_bytes())) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void peet_spill_share(int fd)
{
    const size_t bytes = all_bytes();
    void *memory = bytes < sizeof(struct entry)
        ? MAP_FAILED
        : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    /* without it, a file that cannot be created is an error as ever */
    shared.begin = memory == MAP_FAILED ? NULL : memory;
    shared.used = 0;
    shared.bytes = bytes;
    shared.file_bytes = largest_file();
}

int peet_spill_needed(void)
{
    return shared.begin && largest_file() < shared.file_bytes;
}

int peet_spill_takes(int why)
{
    return shared.begin &&
        (why == EACCES || why == EPERM || why == ENOENT || why == ENOTDIR || why == EROFS || why == EMFILE ||
            why == EFBIG);
}

int peet_spill_put(const char *path, const void *data, size_t bytes, struct peet_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct entry *e = (struct entry *)(shared.begin + shared.used);

    if (strlen(name) >= NAME_BYTES || bytes > PEET_SPILL_BYTES ||
        shared.used + room_of(bytes) + sizeof *e > shared.bytes) /* the last one is followed by one that is not ready */
        return peet_error_set(error, PEET_EIO, "%s: cannot create it any more, and it is too long to be handed over",
            path);
    strcpy(e->name, name);
    e->bytes = bytes;
    memcpy(e + 1, data, bytes);
    __atomic_store_n(&e->ready, 1, __ATOMIC_RELEASE);
    shared.used += room_of(bytes);
    return 0;
}

/** Not through a mapping: the address space of `peet run` may be as limited as the program's. */
static int copy(int fd, off_t at, uint64_t bytes, FILE *to, const char *folder, struct peet_error *error)
{
    char piece[1 << 14];

    while (bytes) {
        const ssize_t n = pread(fd, piece, bytes < sizeof piece ? (size_t)bytes : sizeof piece, at);

        if (n <= 0)
            return peet_error_set(error, PEET_EIO, "%s: cannot read the results that the program has handed over: %s",
                folder, n ? strerror(errno) : "they are cut short");
        fwrite(piece, 1, (size_t)n, to);
        at += n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

static int damaged(const char *folder, struct peet_error *error)
{
    return peet_error_set(error, PEET_EIO, "%s: the program has damaged the results that it was to hand over", folder);
}

static int land(const char *folder, const struct entry *e, int fd, off_t at, struct peet_error *error)
{
    struct peet_file file;
    char *path;
    int err;

    if (memchr(e->name, '/', NAME_BYTES) || !memchr(e->name, '\0', NAME_BYTES) || e->name[0] == '.' || !e->name[0])
        return damaged(folder, error);
    path = peet_text_dup("%s/%s", folder, e->name);
    if (!path)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    err = peet_file_create(path, &file, error);
    if (!err && (err = copy(fd, at, e->bytes, file.stream, folder, error)) != 0)
        peet_file_discard(&file);
    else if (!err)
        err = peet_file_commit(&file, error);
    free(path);
    return err;
}

int peet_spill_land(int fd, const char *folder, struct peet_error *error)
{
    const size_t all = all_bytes();
    size_t at = 0;
    int err = 0;

    while (!err && at + sizeof(struct entry) <= all) {
        struct entry e; /* a copy: a child of the program may still run */
        const ssize_t n = pread(fd, &e, sizeof e, (off_t)at);

        if (n != (ssize_t)sizeof e)
            return peet_error_set(error, PEET_EIO, "%s: cannot read the results that the program has handed over: %s",
                folder, n < 0 ? strerror(errno) : "they are cut short");
        if (!e.ready)
            break;
        if (e.bytes > all || room_of(e.bytes) > all - at)
            return damaged(folder, error);
        err = land(folder, &e, fd, (off_t)(at + sizeof e), error);
        at += room_of(e.bytes);
    }
    return err;
}
