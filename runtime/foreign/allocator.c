/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator of a program whose libraries are recorded: the C library's own, from a copy of that library in a link
 * namespace of its own.  The host allocates from the first copy, the subject from the second, so that neither moves the
 * other's blocks, and what the subject's malloc() does is recorded as any other code of libc.so.6.
 *
 * INVARIANTS
 *   1. Nobody but malloc.c calls into the copy, and only its allocation functions.
 *   2. What these ask the kernel for lies where the subject's mappings and its break lie (layout.h): the copy's own
 *      functions for that are replaced by jumps to the ones here, whoever calls.  So addresses depend on the sequence
 *      of requests alone.
 *   3. A context that ends leaves the copy's thread-local block (its cache of free chunks, its arena) to the next
 *      one that begins, as the C library gives the arena of a thread that ends to the next.
 */
#include "foreign/foreign.h"
#include "internal.h"
#include "runtime.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <peet/error.h>

struct peet__allocator peet__allocator;

static struct {
    struct link_map *map;
    int64_t tls; /* its thread-local block, from the thread pointer */
    size_t tls_bytes;
    uint8_t *left; /* blocks of contexts that have ended */
    size_t nleft, room;
    void (*begin)(_Bool only_thread);
} copy;

/* ------------------------------------------------------------------------------------- what it is given */

/* A copy in a namespace of its own would leave the break alone, if it were told so; it has been told otherwise. */
static void *give_break(intptr_t by)
{
    return peet__map_break(by);
}

static void *give_mapping(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    return peet__map_take(at, bytes, prot, flags, fd, offset);
}

static int take_mapping(void *at, size_t bytes)
{
    return peet__map_give(at, bytes);
}

static void *move_mapping(void *old, size_t old_bytes, size_t bytes, int flags)
{
    return peet__map_move(old, old_bytes, bytes, flags);
}

/* Decides how many arenas there may be. */
static int count_processors(void)
{
    return (int)peet_rt_processors();
}

static __attribute__((noreturn)) void stop(void)
{
    abort(); /* the first copy's, after the message */
}

static const struct {
    const char *name;
    void *by;
} replaced[] = {{"sbrk", (void *)give_break}, {"mmap", (void *)give_mapping}, {"munmap", (void *)take_mapping},
    {"mremap", (void *)move_mapping}, {"get_nprocs", (void *)count_processors}, {"abort", (void *)stop}};
enum { NREPLACED = sizeof replaced / sizeof *replaced, JUMP_BYTES = 14 };
static uint64_t replaced_at[NREPLACED];

/* jmp *0(%rip) and the address */
int peet__foreign_replace(uint64_t at, const void *by)
{
    uint8_t jump[JUMP_BYTES] = {0xff, 0x25, 0, 0, 0, 0};
    const uint64_t lo = at & ~(PEET__PAGE - 1), hi = (at + JUMP_BYTES + PEET__PAGE - 1) & ~(PEET__PAGE - 1);
    memcpy(jump + 6, &by, 8);
    if (mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return PEET_EUNSUPPORTED;
    memcpy((void *)at, jump, JUMP_BYTES);
    return 0;
}

PUBLIC int peet_rt_foreign_allocator_replaces(uint64_t pc)
{
    for (unsigned k = 0; k < NREPLACED; k++)
        if (replaced_at[k] == pc)
            return 1;
    return 0;
}

/* --------------------------------------------------------------------------------------- the copy */

/* What a program asks of its allocator goes to the copy, too. */
static const char *const asked[] = {"mallopt", "malloc_trim", "malloc_stats", "malloc_info", "mallinfo", "mallinfo2"};
enum { NASKED = sizeof asked / sizeof *asked };
static uint64_t asked_at[NASKED], asked_of[NASKED];

uint64_t peet__allocator_instead(uint64_t pc)
{
    for (unsigned k = 0; k < NASKED; k++)
        if (asked_at[k] == pc && asked_of[k])
            return asked_of[k];
    return pc;
}

static int find_functions(void *handle)
{
    struct peet__allocator *a = &peet__allocator;
    a->malloc = (void *(*)(size_t))dlsym(handle, "malloc");
    a->free = (void (*)(void *))dlsym(handle, "free");
    a->calloc = (void *(*)(size_t, size_t))dlsym(handle, "calloc");
    a->realloc = (void *(*)(void *, size_t))dlsym(handle, "realloc");
    a->memalign = (void *(*)(size_t, size_t))dlsym(handle, "memalign");
    a->posix_memalign = (int (*)(void **, size_t, size_t))dlsym(handle, "posix_memalign");
    a->usable = (size_t (*)(void *))dlsym(handle, "malloc_usable_size");
    copy.begin = (void (*)(_Bool))dlsym(handle, "__libc_early_init");
    for (unsigned k = 0; k < NREPLACED; k++)
        if (!(replaced_at[k] = (uint64_t)dlsym(handle, replaced[k].name)))
            return PEET_EUNSUPPORTED;
    for (unsigned k = 0; k < NASKED; k++) {
        asked_at[k] = (uint64_t)dlsym(RTLD_NEXT, asked[k]);
        asked_of[k] = (uint64_t)dlsym(handle, asked[k]);
    }
    return a->malloc && a->free && a->calloc && a->realloc && a->memalign && a->posix_memalign && a->usable &&
            copy.begin
        ? 0
        : PEET_EUNSUPPORTED;
}

/* Its thread-local block, the same distance from every thread pointer: the library wants it in the static part. */
static int find_storage(void *handle)
{
    struct {
        unsigned long module, offset;
    } index = {0, 0};
    const ElfW(Ehdr) *header = (const void *)copy.map->l_addr;
    const ElfW(Phdr) *p = (const void *)(copy.map->l_addr + header->e_phoff);
    void *(*address)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "__tls_get_addr");
    if (!address || dlinfo(handle, RTLD_DI_TLS_MODID, &index.module) != 0 || !index.module)
        return PEET_EUNSUPPORTED;
    for (unsigned k = 0; k < header->e_phnum; k++)
        if (p[k].p_type == PT_TLS)
            copy.tls_bytes = p[k].p_memsz;
    copy.tls = (int64_t)((uint64_t)address(&index) - peet__fs_base());
    return copy.tls < 0 && copy.tls + (int64_t)copy.tls_bytes <= 0 ? 0 : PEET_EUNSUPPORTED;
}

static const struct link_map *first_copy(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    void *at = dlsym(RTLD_DEFAULT, "__libc_early_init");
    return at && dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

PUBLIC int peet_rt_foreign_allocator(const char **out_path, uint64_t *out_base,
    const void *out_entries[PEET_FOREIGN_ALLOCATOR_ENTRIES])
{
    const struct link_map *first = first_copy();
    const struct peet__allocator *a = &peet__allocator;
    peet_rt_room(PEET_RT_ROOM_ALLOCATOR);
    void *handle = first ? dlmopen(LM_ID_NEWLM, first->l_name, RTLD_NOW | RTLD_LOCAL) : NULL;
    peet_rt_room(PEET_RT_ROOM_PROGRAM);
    int err = handle && dlinfo(handle, RTLD_DI_LINKMAP, &copy.map) == 0 ? 0 : PEET_EUNSUPPORTED;
    if (!err)
        err = find_functions(handle);
    if (!err)
        err = find_storage(handle);
    for (unsigned k = 0; !err && k < NREPLACED; k++)
        err = peet__foreign_replace(replaced_at[k], replaced[k].by);
    if (err)
        return err;
    copy.begin(1); /* as the first copy was: it may use the break, and there is one thread */
    const void *const entries[PEET_FOREIGN_ALLOCATOR_ENTRIES] = {(void *)a->malloc, (void *)a->free, (void *)a->calloc,
        (void *)a->realloc, (void *)a->memalign, (void *)a->posix_memalign, (void *)a->usable};
    memcpy(out_entries, entries, sizeof entries);
    *out_path = copy.map->l_name;
    *out_base = copy.map->l_addr;
    peet__allocator.on = 1;
    return 0;
}

/* ------------------------------------------------------------------------------------------- threads */

void peet__allocator_threads(void)
{
    if (peet__allocator.on && !peet__allocator.threads) {
        peet__allocator.threads = 1;
        copy.begin(0);
    }
}

/* Room for one more; the kernel's pages, since no allocator is at hand in the middle of a context's end. */
static int grow(void)
{
    const size_t room = copy.room ? 2 * copy.room : 64;
    uint8_t *more = (uint8_t *)syscall(SYS_mmap, NULL, room * copy.tls_bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED)
        return PEET_ENOMEM;
    if (copy.room) {
        memcpy(more, copy.left, copy.nleft * copy.tls_bytes);
        syscall(SYS_munmap, copy.left, copy.room * copy.tls_bytes);
    }
    copy.left = more;
    copy.room = room;
    return 0;
}

void peet__allocator_leave(uint64_t fs)
{
    if (peet__allocator.on && (copy.nleft < copy.room || grow() == 0))
        memcpy(copy.left + copy.nleft++ * copy.tls_bytes, (const void *)(fs + (uint64_t)copy.tls), copy.tls_bytes);
}

void peet__allocator_enter(uint64_t fs)
{
    if (copy.nleft)
        memcpy((void *)(fs + (uint64_t)copy.tls), copy.left + --copy.nleft * copy.tls_bytes, copy.tls_bytes);
}
