/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks while there are views.  Main memory is mapped shared, so a child would share it with its parent.  Before the
 * fork main memory becomes private, page by page on demand; the child moves all of it into a memory file of its own,
 * while the parent waits; then the parent puts back what it has stored meanwhile, and maps it shared again.
 */
#include "views/domain_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static long map_raw(uint64_t at, uint64_t bytes, int prot, int flags, int fd)
{
    return peet__raw_syscall(SYS_mmap, (long)at, (long)bytes, prot, flags | MAP_FIXED | MAP_NORESERVE, fd, (long)at);
}

/* Main memory that a store can change and that lies in the memory file. */
static int moves(const struct peet__region *r)
{
    return !r->file && r->prot & PROT_WRITE;
}

static void each_moving(int fd, int flags)
{
    for (unsigned i = 0; i < peet__domains.nregions; i++) {
        const struct peet__region *r = &peet__domains.regions[i];
        if (moves(r))
            map_raw(r->lo, r->hi - r->lo, r->prot, flags, fd);
    }
}

struct target {
    int fd;
};

static void save_pages(uint64_t lo, uint64_t hi, void *self)
{
    const struct target *t = self;
    while (lo < hi) {
        const long n = peet__raw_syscall(SYS_pwrite64, t->fd, (long)lo, (long)(hi - lo), (long)lo, 0, 0);
        if (n <= 0)
            peet__die(1, "views of memory: a fork has no memory for its pages");
        lo += (uint64_t)n;
    }
}

/* Pages that this process has stored into since main memory became private go to the memory file. */
static void own_pages(int fd)
{
    struct target t = {fd};
    int pagemap = (int)peet__raw_syscall(SYS_open, (long)"/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
    for (unsigned i = 0; i < peet__domains.nregions; i++)
        if (moves(&peet__domains.regions[i]))
            peet__pages_private(pagemap, peet__domains.regions[i].lo, peet__domains.regions[i].hi, save_pages, &t);
    peet__raw_syscall(SYS_close, pagemap, 0, 0, 0, 0, 0);
}

/* All bytes of one memory file, holes left out. */
static int copy_file(int from, int to)
{
    long at = 0;
    for (;;) {
        long begin = peet__raw_syscall(SYS_lseek, from, at, SEEK_DATA, 0, 0, 0);
        if (begin < 0)
            return begin == -ENXIO ? 0 : -1;
        long end = peet__raw_syscall(SYS_lseek, from, begin, SEEK_HOLE, 0, 0, 0);
        for (long in = begin, out = begin; in < end;) {
            long n = peet__raw_syscall(SYS_copy_file_range, from, (long)&in, to, (long)&out, end - in, 0);
            if (n <= 0) { /* another kernel's */
                static uint8_t buffer[64 << 10];
                long got = peet__raw_syscall(SYS_pread64, from, (long)buffer,
                    end - in < (long)sizeof buffer ? end - in : (long)sizeof buffer, in, 0, 0);
                if (got <= 0 || peet__raw_syscall(SYS_pwrite64, to, (long)buffer, got, in, 0, 0) != got)
                    return -1;
                in += got;
                out = in;
            }
        }
        at = end;
    }
}

/* Copies in views outlive what lies below them. */
struct kept {
    struct peet__page *page;
};

static void keep(struct peet__page *page, void *self)
{
    uint8_t **room = self;
    for (uint64_t m = page->copies; m; m &= m - 1) {
        memcpy(*room, peet__view((unsigned)__builtin_ctzl(m), page->address), PEET__PAGE);
        *room += PEET__PAGE;
    }
}

static void put_back(struct peet__page *page, void *self)
{
    uint8_t **room = self;
    for (uint64_t m = page->copies; m; m &= m - 1) {
        memcpy(peet__view((unsigned)__builtin_ctzl(m), page->address), *room, PEET__PAGE);
        *room += PEET__PAGE;
    }
}

/* The child: a memory file of its own below everything. */
static int rehome(void)
{
    struct peet__domains *v = &peet__domains;
    struct peet_domain_statistics all;
    int fd = peet__domain_file();
    if (fd < 0 || copy_file(v->fd, fd) != 0)
        return PEET_ENOMEM;
    own_pages(fd);
    peet_domain_statistics(PEET_DOMAINS_MAX, &all);
    size_t bytes = (all.copied_pages + 1) * PEET__PAGE;
    uint8_t *room = peet__domain_memory(bytes), *at = room;
    peet__pages_each(keep, &at);
    each_moving(fd, MAP_SHARED);
    for (unsigned i = 0; i < v->nregions; i++)
        for (unsigned d = 1; d < v->count && !v->regions[i].file; d++)
            peet__raw_syscall(SYS_mmap, (long)peet__view(d, v->regions[i].lo),
                (long)(v->regions[i].hi - v->regions[i].lo), v->regions[i].prot & ~PROT_EXEC,
                (v->regions[i].class == PEET_DOMAIN_SHARED ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED | MAP_NORESERVE, fd,
                (long)v->regions[i].lo);
    at = room;
    peet__pages_each(put_back, &at);
    peet__domain_memory_free(room, bytes);
    peet__raw_syscall(SYS_close, v->fd, 0, 0, 0, 0, 0);
    v->fd = fd;
    peet__pages_new_process();
    return 0;
}

PUBLIC int64_t peet_domains_fork(int64_t (*fork_it)(void))
{
    struct peet__domains *v = &peet__domains;
    int ready[2];
    char byte = 0;
    if (!peet__domains_on())
        return fork_it();
    peet__pages_catch_up(UINT64_MAX);
    if (peet__raw_syscall(SYS_pipe2, (long)ready, O_CLOEXEC, 0, 0, 0, 0) != 0)
        return -1;
    each_moving(v->fd, MAP_PRIVATE);
    int64_t child = fork_it();
    if (child == 0) {
        int failed = rehome();
        peet__raw_syscall(SYS_write, ready[1], (long)&byte, 1, 0, 0, 0);
        peet__raw_syscall(SYS_close, ready[0], 0, 0, 0, 0, 0);
        peet__raw_syscall(SYS_close, ready[1], 0, 0, 0, 0, 0);
        if (failed)
            peet__die(1, "views of memory: a fork has no memory for its pages");
        return 0;
    }
    peet__raw_syscall(SYS_close, ready[1], 0, 0, 0, 0, 0);
    while (child > 0 && peet__raw_syscall(SYS_read, ready[0], (long)&byte, 1, 0, 0, 0) == -EINTR)
        ;
    peet__raw_syscall(SYS_close, ready[0], 0, 0, 0, 0, 0);
    own_pages(v->fd);
    each_moving(v->fd, MAP_SHARED);
    return child;
}

/* ------------------------------------------------------------------------------------------- forks of the subject */

/* The subject's fork() comes on a stack that is to be mapped anew: we work on another one. */
struct subject_fork {
    int64_t child;
    pid_t (*real)(void);
};
static struct subject_fork forking;

static int64_t fork_now(void)
{
    return forking.real();
}

static void fork_subject(void *arg)
{
    struct subject_fork *f = arg;
    f->child = peet_domains_fork(fork_now);
}

PUBLIC pid_t fork(void)
{
    enum { STACK_BYTES = 256 << 10 };
    pid_t (*real)(void) = (pid_t (*)(void))peet__next("fork");
    if (!peet__domains_on() || !peet__rt.in_subject) {
        /* What it holds, the allocator's locks, the translator would wait for. */
        const uint64_t world = peet__foreign_world;
        peet__foreign_world = 0;
        const pid_t child = real();
        peet__foreign_world = child != 0 ? world : 0;
        return child;
    }
    char *stack = peet__domain_memory(STACK_BYTES);
    forking.real = real;
    peet__call_on(stack + STACK_BYTES, fork_subject, &forking);
    pid_t child = (pid_t)forking.child;
    peet__domain_memory_free(stack, STACK_BYTES);
    if (child == 0)
        peet__domains_end();
    return child;
}
