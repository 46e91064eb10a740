/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots by which an object calls functions of others, or has their addresses: the linker tells these two kinds apart, and
 * the dynamic linker has filled them in.
 */
#ifndef PEET_SLOTS_H
#define PEET_SLOTS_H

#include <link.h>

/** Call @each for each slot of the object, with the function's name and whether the object itself defines one. */
void peet__slots(const struct link_map *map, void (*each)(void **slot, const char *name, int defined));

/** Let a slot lead elsewhere.  Returns: 0, or -1: its page cannot be written */
int peet__slot_set(void **slot, const void *to);

#endif
