/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries at one place under every kernel.  The kernel maps the dynamic linker and, below it, its own pages (vdso, vvar),
 * of which newer kernels have more; what the dynamic linker loads lies below these.  So a library of nothing comes first,
 * which is the larger the fewer these pages are.
 */
#ifndef PEET_CLI_ROOM_H
#define PEET_CLI_ROOM_H

/** peet_cli_room_make() - that library, in a file of memory.  Returns: its descriptor, or -1: none can be made, or there is
 * no room for it
 */
int peet_cli_room_make(void);

#endif
