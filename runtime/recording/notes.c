/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of what memory the subject takes and gives back, for whoever wants its data structures by name.  They lie
 * aside, not in the ring: words in the ring would make a context yield earlier, others would run in between, and the
 * subject would get other addresses because somebody looks on.  Each remembers where in the ring it belongs; the host
 * puts it there (mapper/host/source_notes.c).
 *
 *     [place in the ring] [PEET_RAW_ABSTRACT(type, n)] [n arguments] ...
 *
 * The site of an allocation is where the program's own code asks for it.  Code of libraries, C++ templates and
 * whatever functions the user has named only stand for their callers: the host says which return addresses are like
 * that, once each, and walks up the stack for those alone.
 */
#include "internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <peet/module.h>
#include "recording/notes.h"

#define NOTES_BYTES (1ul << 30) /* reserved; what is touched goes back to the kernel when it was much */
#define NOTES_KEPT_BYTES (1ul << 20)
#define OWN_ENTRIES 4096u /* return addresses whose code is the program's own, or is not */

static uint64_t *words, *end;
static peet_rt_walker *walker;
static unsigned depth = 1;

/* pc << 1 | own; direct mapped. */
static uint64_t own[OWN_ENTRIES];

PUBLIC void peet_rt_note_allocations(int on)
{
    peet__rt.note_allocations = on;
}

PUBLIC void peet_rt_set_walker(peet_rt_walker *fn, unsigned path_depth)
{
    walker = fn;
    depth = path_depth;
    memset(own, 0, sizeof own);
}

PUBLIC const uint64_t *peet_rt_notes(size_t *out_words)
{
    *out_words = (size_t)(end - words);
    return words;
}

PUBLIC void peet_rt_notes_clear(void)
{
    if ((size_t)(end - words) * sizeof *words > NOTES_KEPT_BYTES)
        peet__raw_syscall(SYS_madvise, (long)words, (long)NOTES_BYTES, MADV_DONTNEED, 0, 0, 0);
    end = words;
}

static int room(unsigned n)
{
    if (!words) {
        long at = peet__raw_syscall(SYS_mmap, PEET__NOTES_BASE, NOTES_BYTES, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at < 0 && at > -4096) {
            peet__report("no address space for notes of allocations: data structures will be incomplete");
            peet__rt.note_allocations = 0;
            return 0; /* in constructors: said for each */
        }
        words = end = (uint64_t *)at;
    }
    /* Full only if a library allocates tens of millions of blocks in one call: its caller yields then. */
    if ((size_t)(end - words + n) > NOTES_BYTES / sizeof *words)
        peet__yield_full();
    return 1;
}

/* Before there is a host nobody knows whether they will be wanted. */
static int wanted(void)
{
    if (__builtin_expect(!(peet__rt.note_allocations | peet__rt.capturing), 1))
        return 0;
    return peet__rt.in_subject && (peet__rt.simulated || peet__rt.capturing); /* a forked child is not */
}

/* Is the code at this return address the program's own? */
static int is_own(uint64_t pc)
{
    uint64_t *entry = &own[(pc * 0x9e3779b97f4a7c15u) >> 52];
    if (*entry >> 1 != pc) {
        struct peet__visit visit = peet__visit_begin();
        *entry = pc << 1 | (walker(pc, NULL, 0) != 0);
        peet__visit_end(visit);
    }
    return *entry & 1;
}

/* Who has asked: return addresses, innermost first.  The allocator is not particular about its caller's stack; the host's
 * code needs it aligned.  Returns: how many */
static __attribute__((force_align_arg_pointer, noinline)) unsigned path_of(uint64_t caller, uint64_t *path)
{
    unsigned n = 0;
    path[PEET_RT_PATH_MAX] = 0;
    if (walker && (depth > 1 || !is_own(caller))) {
        struct peet__visit visit = peet__visit_begin();
        n = walker(caller, path, depth);
        peet__visit_end(visit);
    }
    if (!n) {
        path[0] = caller;
        n = 1;
    }
    return n;
}

void peet__note_memory(enum peet_rt_memory what, const void *p, size_t bytes, const void *moved_from, uint64_t caller)
{
    if (!wanted() || !p)
        return;
    uint64_t path[PEET_RT_PATH_MAX + 1];
    unsigned n = path_of(caller, path);
    if (!room(8 + n))
        return;
    end[0] = (uint64_t)peet__ctl->cursor;
    end[1] = PEET_RAW_ABSTRACT(PEET_ABSTRACT_ALLOC, 6 + n);
    end[2] = (uint64_t)p;
    end[3] = bytes;
    end[4] = caller;
    end[5] = what;
    end[6] = (uint64_t)moved_from;
    end[7] = path[PEET_RT_PATH_MAX];
    memcpy(end + 8, path, n * sizeof *path);
    end += 8 + n;
}

void peet__note_release(enum peet_rt_memory what, const void *p, size_t bytes, uint64_t caller)
{
    if (!wanted() || !p || !room(6))
        return;
    end[0] = (uint64_t)peet__ctl->cursor;
    end[1] = PEET_RAW_ABSTRACT(PEET_ABSTRACT_FREE, 4);
    end[2] = (uint64_t)p;
    end[3] = caller;
    end[4] = what;
    end[5] = bytes;
    end += 6;
}
