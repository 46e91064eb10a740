/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libraries lie that are loaded while the program runs.  The dynamic linker leaves that to the kernel, which takes the
 * highest place that is free; so addresses would depend on what the host has mapped by then.  The dynamic linker's only
 * mmap() becomes one that asks us first (stub.S).
 *
 *   1. A library gets the lowest place that is free, so that one that comes again may find what is known of it.  Places are
 *      far enough from each other for translations of their code between them (foreign/translate.c).
 *   2. That is a wish: the kernel, if something is there, and the dynamic linker, if it is another one than expected here, do as
 *      they would have done.
 *   3. The host's own libraries, and other files that the dynamic linker maps, go where they went.
 */
#include "internal.h"
#include "frame.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
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
static int is_library(const uint64_t *frame)
{
    return frame[RDI] == 0 && frame[R10] == (MAP_PRIVATE | MAP_DENYWRITE);
}

static int is_free(uint64_t at)
{
    unsigned char there;
    return peet__raw_syscall(SYS_mincore, (long)at, (long)PEET__PAGE, (long)&there, 0, 0, 0) == -ENOMEM;
}

void peet__hook_loader(uint64_t *frame)
{
    const uint64_t begin = PEET__LIBRARIES_BASE + room * PEET__LIBRARIES_BYTES, end = begin + PEET__LIBRARIES_BYTES;
    uint64_t at = begin, free_from = begin;
    if (!is_library(frame) || (!peet__rt.in_subject && room == PEET_RT_ROOM_PROGRAM))
        return;
    for (; at < end; at += PEET__LIBRARIES_APART) {
        if (!is_free(at))
            free_from = at + PEET__LIBRARIES_APART;
        else if (at + PEET__LIBRARIES_APART - free_from > frame[RSI]) {
            frame[RDI] = free_from;
            return;
        }
    }
}

/* The one place of the dynamic linker's text where it calls mmap().  Returns: NULL: there is none, or there are several */
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
