/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libraries lie that are loaded while the program runs.  The dynamic linker leaves that to the kernel, which
 * takes the highest place that is free; so addresses would depend on what the host has mapped by then.  The dynamic
 * linker's only mmap() becomes one that asks us first (stub.S).
 *
 *   1. A library gets a place of its own, where no other one comes even when it has gone: words that tell of code,
 *      and data, are understood by where they lie.  The same file comes to the same place again, so what is known
 *      of it holds.  Places are far enough from each other for translations of their code between them
 *      (foreign/translate.c).
 *   2. A library that wants to be aligned by more than a page comes as memory without a file first.  Which it is
 *      cannot be known: it has a new place each time.
 *   3. That is a wish: the kernel, if something is there, and the dynamic linker, if it is another one than
 *      expected here, do as they would have done.  Where there are too many libraries, places of those that have
 *      gone are used again, the lowest first.
 *   4. The host's own libraries, and other files that the dynamic linker maps, go where they went.
 */
#include "internal.h"
#include "frame.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef MAP_DENYWRITE
#define MAP_DENYWRITE 0x800
#endif

void peet__hook_loader(uint64_t *frame);
extern const char peet__loader_mmap[];
uint64_t peet__loader_back;

/* mov $9, %eax; syscall */
static const uint8_t calls_mmap[] = {0xb8, 9, 0, 0, 0, 0x0f, 5};

static enum peet_rt_room room;

PUBLIC void peet_rt_room(enum peet_rt_room which)
{
    room = which;
}

/* Only libraries are mapped so: MAP_DENYWRITE means nothing to the kernel. */
static int is_file(const uint64_t *frame)
{
    return frame[RDI] == 0 && frame[R10] == (MAP_PRIVATE | MAP_DENYWRITE);
}

static int is_aligned(const uint64_t *frame)
{
    return frame[RDI] == 0 && frame[RDX] == PROT_NONE && frame[R10] == (MAP_PRIVATE | MAP_ANONYMOUS);
}

/** A place that was given to a library.  The file as it was then: a new one under its name is another library. */
struct place {
    uint64_t begin, bytes, device, file, size;
    struct timespec changed;
    enum peet_rt_room room;
};
enum { PLACES_MAX = 4096 };
static struct place places[PLACES_MAX];
static unsigned nplaces;
static uint64_t given[PEET_RT_ROOMS]; /* so many bytes of each room */

static uint64_t room_begin(void)
{
    return PEET__LIBRARIES_BASE + room * PEET__LIBRARIES_BYTES;
}

static uint64_t steps(uint64_t bytes)
{
    return (bytes / PEET__LIBRARIES_APART + 1) * PEET__LIBRARIES_APART;
}

/* Libraries hold the first page of each step. */
static int is_free(uint64_t at, uint64_t bytes)
{
    for (const uint64_t end = at + bytes; at < end; at += PEET__LIBRARIES_APART) {
        unsigned char there;
        if (peet__raw_syscall(SYS_mincore, (long)at, (long)PEET__PAGE, (long)&there, 0, 0, 0) != -ENOMEM)
            return 0;
    }
    return 1;
}

static struct place place_of(const uint64_t *frame)
{
    struct place one = {.bytes = steps(frame[RSI]), .room = room};
    struct stat file;
    if (is_file(frame) && peet__raw_syscall(SYS_fstat, (long)frame[R8], (long)&file, 0, 0, 0, 0) == 0) {
        one.device = file.st_dev;
        one.file = file.st_ino;
        one.size = (uint64_t)file.st_size;
        one.changed = file.st_ctim;
    }
    return one;
}

static int is_same(const struct place *a, const struct place *b)
{
    return a->room == b->room && a->bytes == b->bytes && a->device == b->device && a->file == b->file &&
        a->size == b->size && a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Where this library was before, if nothing is there: the same file may be loaded several times (dlmopen()). */
static uint64_t old_place(const struct place *one)
{
    for (unsigned k = 0; k < nplaces; k++)
        if (is_same(&places[k], one) && is_free(places[k].begin, one->bytes))
            return places[k].begin;
    return 0;
}

static uint64_t new_place(struct place *one)
{
    one->begin = room_begin() + given[room];
    if (nplaces == PLACES_MAX || given[room] + one->bytes > PEET__LIBRARIES_BYTES || !is_free(one->begin, one->bytes))
        return 0;
    given[room] += one->bytes;
    if (one->file)
        places[nplaces++] = *one;
    return one->begin;
}

static uint64_t lowest_place(const struct place *one)
{
    const uint64_t last = room_begin() + PEET__LIBRARIES_BYTES - one->bytes;
    for (uint64_t at = room_begin(); at <= last; at += PEET__LIBRARIES_APART)
        if (is_free(at, one->bytes))
            return at;
    return 0;
}

void peet__hook_loader(uint64_t *frame)
{
    const int is_host = peet__rt.simulated && !peet__rt.in_subject && room == PEET_RT_ROOM_PROGRAM;
    if (is_host || (!is_file(frame) && !is_aligned(frame)))
        return;
    struct place one = place_of(frame);
    uint64_t at = is_file(frame) ? old_place(&one) : 0;
    if (!at)
        at = new_place(&one);
    frame[RDI] = at ? at : lowest_place(&one);
}

/* The one place of the dynamic linker's text where it calls mmap().  Returns: NULL: there is none, or there are
 * several */
static uint8_t *find_call(const uint8_t *base)
{
    const Elf64_Ehdr *const header = (const Elf64_Ehdr *)base;
    const Elf64_Phdr *const segments = (const Elf64_Phdr *)(base + header->e_phoff);
    const uint8_t *found = NULL;
    for (unsigned k = 0; k < header->e_phnum; k++) {
        if (segments[k].p_type != PT_LOAD || !(segments[k].p_flags & PF_X))
            continue;
        const uint8_t *at = base + segments[k].p_vaddr, *const end = at + segments[k].p_filesz;
        while ((at = memmem(at, (size_t)(end - at), calls_mmap, sizeof calls_mmap)) != NULL) {
            if (found)
                return NULL;
            found = at;
            at += sizeof calls_mmap;
        }
    }
    return (uint8_t *)found;
}

void peet__loader_begin(void)
{
    const uint8_t *const base = (const uint8_t *)getauxval(AT_BASE);
    uint8_t *const call = base ? find_call(base) : NULL;
    uint8_t jump[sizeof calls_mmap] = {0xe9, 0, 0, 0, 0, 0x66, 0x90}; /* jmp, and a nop */
    const int64_t away = call ? (int64_t)((uint64_t)peet__loader_mmap - (uint64_t)(call + 5)) : 0;
    const int32_t distance = (int32_t)away;
    const uint64_t lo = (uint64_t)call & ~(PEET__PAGE - 1), hi = (uint64_t)(call + sizeof jump);
    if (!call || away != distance || mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return;
    memcpy(jump + 1, &distance, sizeof distance);
    peet__loader_back = (uint64_t)(call + sizeof jump);
    memcpy(call, jump, sizeof jump);
    mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC);
}
