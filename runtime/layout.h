/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where everything lives that the subject can see an address of.  Fixed, so that no run depends on what
 * else the process holds (simulator modules, the environment, the length of a path).  All of it lies above
 * AddressSanitizer's shadow and far below the dynamic linker's mappings.
 */
#ifndef PEET_LAYOUT_H
#define PEET_LAYOUT_H

#define PEET__PAGE 4096ul
#define PEET__GIB (1ul << 30)

/* What constructors of libraries record, notes of allocations, lists of mappings: not near the libraries, where
 * translations of their code want to lie, and where libraries come and go.  These are wishes, no more, and none of the subject's business. */
#define PEET__CAPTURE_BASE 0x10e000000000ul
#define PEET__NOTES_BASE 0x10e800000000ul
#define PEET__LISTS_BASE 0x10f000000000ul

/* Arrays of argv, envp and auxv; strings of argv; strings of envp: apart, so that none shifts another. */
#define PEET__ARGS_ARRAYS 0x110000000000ul
#define PEET__ARGS_STRINGS 0x110100000000ul
#define PEET__ENV_STRINGS 0x110200000000ul

/* What contexts record into: registers and stacks of the subject may keep a place in it. */
#define PEET__RINGS_BASE 0x114000000000ul
#define PEET__RINGS_BYTES (4096 * PEET__GIB)

/* The main context's stack: ends here, guard below. */
#define PEET__MAIN_STACK_TOP 0x120000000000ul
#define PEET__MAIN_STACK_BYTES (8ul << 20) /* unless the setting PEET_STACK says otherwise */
#define PEET__MAIN_STACK_MOST (64ul << 30)
#define PEET__MAIN_GUARD_BYTES (1ul << 20)

/* Stacks of other contexts, upwards. */
#define PEET__STACKS_BASE 0x130000000000ul
#define PEET__STACKS_END 0x1e0000000000ul
#define PEET__GUARD_BYTES (64ul << 10)

/* The heap's bookkeeping, the heap, what mmap() gives, what sbrk() gives. */
#define PEET__HEAP_TABLES 0x1e0000000000ul
#define PEET__HEAP_BASE 0x200000000000ul
#define PEET__HEAP_END 0x210000000000ul
#define PEET__MAPS_BASE 0x300000000000ul
#define PEET__MAPS_END 0x380000000000ul
#define PEET__BRK_BASE 0x2f0000000000ul
#define PEET__BRK_END 0x2f8000000000ul

/* Libraries that are loaded while the program runs: its own, then those of each room of peet_rt_room(). */
#define PEET__LIBRARIES_BASE 0x220000000000ul
#define PEET__LIBRARIES_BYTES (4096 * PEET__GIB)
#define PEET__LIBRARIES_APART (PEET__GIB / 4)

/* What libraries map by themselves, as the C library does with the files of a locale. */
#define PEET__FOREIGN_MAPS_BASE 0x2f8000000000ul
#define PEET__FOREIGN_MAPS_END 0x300000000000ul

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#endif
