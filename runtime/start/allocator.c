/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that have an allocator of their own: a malloc(), calloc(), realloc() or free() before this library's, all of
 * them or some.  Functions of the C library and of the dynamic linker call it by its name, so that strdup() allocates
 * from it; natively all of the process does.  Here the host's libraries do not.  What strdup() allocates for the host
 * has to be what the host's free() takes, and the host must not enter an allocator that a context may stand in the
 * middle of.  So the slots by which the C library, the dynamic linker and this library call the allocator lead here.  A
 * block is allocated by the world that runs, and freed by the allocator that it came from: one world may free what the
 * other has left in the C library, as texts of dlerror().  The C library's own allocator is told to take all its memory
 * from the break, which is nobody else's, since the program's is elsewhere (world/map.c); so an address tells whose it
 * is.
 */
#include "arch/x86_64/syscall.h"
#include "internal.h"
#include "runtime.h"
#include "slots.h"
#include "world/world.h"

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

struct functions {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t n, size_t each);
    void *(*realloc)(void *p, size_t bytes);
    void (*free)(void *p);
    void *(*memalign)(size_t align, size_t bytes);
};
static struct functions program, library; /* the program's own, the C library's */

static uint64_t break_base;

/* In a forked child, which runs plainly, all is the program's. */
static const struct functions *of_world(void)
{
    return peet__rt.simulated && !peet__is_subject() ? &library : &program;
}

static int is_library_s(const void *p)
{
    return (uint64_t)p >= break_base && (uint64_t)p < (uint64_t)peet__raw_syscall(SYS_brk, 0, 0, 0, 0, 0, 0);
}

static void *part_malloc(size_t bytes)
{
    return of_world()->malloc(bytes);
}

static void *part_calloc(size_t n, size_t each)
{
    return of_world()->calloc(n, each);
}

/* The C library's blocks are the host's, with the caches of its thread. */
static void *part_realloc(void *p, size_t bytes)
{
    if (!p)
        return of_world()->realloc(p, bytes);
    if (!is_library_s(p))
        return program.realloc(p, bytes);
    struct peet__visit visit = peet__visit_begin();
    void *q = library.realloc(p, bytes);
    peet__visit_end(visit);
    return q;
}

static void part_free(void *p)
{
    if (!p)
        return;
    if (!is_library_s(p)) {
        program.free(p);
        return;
    }
    struct peet__visit visit = peet__visit_begin();
    library.free(p);
    peet__visit_end(visit);
}

/* Where calls of a name lead: of one that the program may define, too, and that is always to be the C library's? */
static const void *leads_to(const char *name)
{
    const struct {
        const char *name;
        const void *to;
    } all[] = {{"malloc", (void *)part_malloc}, {"calloc", (void *)part_calloc}, {"realloc", (void *)part_realloc},
        {"free", (void *)part_free}, {"__libc_malloc", (void *)library.malloc},
        {"__libc_calloc", (void *)library.calloc}, {"__libc_realloc", (void *)library.realloc},
        {"__libc_free", (void *)library.free}, {"__libc_memalign", (void *)library.memalign}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].to;
    return NULL;
}

static void set(void **slot, const void *to)
{
    if (peet__slot_set(slot, to) != 0)
        peet__die(1, "the program has an allocator of its own, and the C library's calls of it cannot be changed");
}

static void lead(void **slot, const char *name, int defined)
{
    const void *const to = leads_to(name);
    (void)defined; /* the C library calls its own functions by slots, too */
    if (to)
        set(slot, to);
}

/* The dynamic linker looks the functions up once and keeps them in data that it then protects. */
static int set_pointers(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct link_map *map = arg;
    const struct {
        const void *from, *to;
    } all[] = {{(void *)program.malloc, (void *)part_malloc}, {(void *)program.calloc, (void *)part_calloc},
        {(void *)program.realloc, (void *)part_realloc}, {(void *)program.free, (void *)part_free}};
    for (unsigned k = 0; info->dlpi_addr == map->l_addr && k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
        void **at = (void **)(info->dlpi_addr + segment->p_vaddr), **end = at + segment->p_memsz / sizeof *at;
        for (; segment->p_type == PT_GNU_RELRO && at < end; at++)
            for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
                if (*at == all[i].from)
                    set(at, all[i].to);
    }
    (void)size;
    return 0;
}

/* The C library may have blocks already, where the program defines but some of the functions, and room behind them: the
 * break begins behind the program. */
static int find_break(struct dl_phdr_info *info, size_t size, void *arg)
{
    uint64_t end = 0;
    for (unsigned k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[k];
        if (segment->p_type == PT_LOAD && info->dlpi_addr + segment->p_vaddr + segment->p_memsz > end)
            end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
    }
    break_base = (uint64_t)peet__raw_syscall(SYS_brk, 0, 0, 0, 0, 0, 0);
    if (end && end < break_base)
        break_base = end;
    (void)size, (void)arg;
    return 1; /* the first one is the program */
}

static const struct link_map *object_of(const void *at)
{
    Dl_info info;
    struct link_map *map = NULL;
    return dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* A stub by which a program without position-independent code calls a function, and which is that function's address for
 * all, defines nothing. */
static int is_another_s(const void *function, const struct link_map *self)
{
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    return object_of(function) != self &&
        (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || symbol->st_shndx != SHN_UNDEF);
}

extern void __asan_init(void) __attribute__((weak));

/* Nothing here may allocate: the program's allocator would begin its work before the program is simulated. */
void peet__allocator_part(void)
{
    if (__asan_init) /* its allocator is everybody's: the host is loaded so that it is its, too */
        return;
    const struct link_map *self = object_of((void *)peet__allocator_part);
    const struct link_map *c = object_of(dlsym(RTLD_NEXT, "gnu_get_libc_version"));
    const struct link_map *linker = object_of(dlsym(RTLD_DEFAULT, "__tls_get_addr"));
    program = (struct functions){malloc, calloc, realloc, free, memalign};
    if (!self || !c || !linker ||
        !(is_another_s((void *)program.malloc, self) || is_another_s((void *)program.calloc, self) ||
            is_another_s((void *)program.realloc, self) || is_another_s((void *)program.free, self)))
        return;
    library.malloc = (void *(*)(size_t))peet__world_lookup_in(c, "malloc");
    library.calloc = (void *(*)(size_t, size_t))peet__world_lookup_in(c, "calloc");
    library.realloc = (void *(*)(void *, size_t))peet__world_lookup_in(c, "realloc");
    library.free = (void (*)(void *))peet__world_lookup_in(c, "free");
    library.memalign = (void *(*)(size_t, size_t))peet__world_lookup_in(c, "memalign");
    int (*tell)(int, int) = (int (*)(int, int))peet__world_lookup_in(c, "mallopt");
    if (!library.malloc || !library.calloc || !library.realloc || !library.free || !library.memalign || !tell)
        peet__die(1, "the program has an allocator of its own, and the C library's is not found");
    dl_iterate_phdr(find_break, NULL);
    tell(M_MMAP_MAX, 0);
    tell(M_ARENA_MAX, 1);
    peet__slots(c, lead);
    peet__slots(self, lead);
    dl_iterate_phdr(set_pointers, (void *)linker);
}
