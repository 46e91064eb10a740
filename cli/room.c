/* SPDX-License-Identifier: Apache-2.0 */
#include "room.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ROOM_BYTES = 64 << 10, /* for the kernel's pages and the library: they are 24 KiB in Linux 6.1, 32 KiB in 6.18 */
    PAGE = 4096,
};

struct library {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    Elf64_Dyn dynamic[4];
    Elf64_Sym no_symbol;
    char no_name[8];
};

/* How much the kernel maps of its own; this process has as much as the subject will have. */
static uint64_t kernel_bytes(void)
{
    uint64_t lo, hi, bytes = 0;
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "[v") && !strstr(line, "[vsyscall]") && sscanf(line, "%lx-%lx", &lo, &hi) == 2)
            bytes += hi - lo;
    if (maps)
        fclose(maps);
    return bytes;
}

int peet_cli_room_make(void)
{
    const uint64_t others = kernel_bytes();
    if (others >= ROOM_BYTES)
        return -1;
    const uint64_t bytes = ROOM_BYTES - others, names = offsetof(struct library, no_name);
    const struct library library = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
            .e_type = ET_DYN,
            .e_machine = EM_X86_64,
            .e_version = EV_CURRENT,
            .e_phoff = offsetof(struct library, segments),
            .e_ehsize = sizeof(Elf64_Ehdr),
            .e_phentsize = sizeof(Elf64_Phdr),
            .e_phnum = 3},
        .segments = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_filesz = bytes, .p_memsz = bytes, .p_align = PAGE},
            {.p_type = PT_DYNAMIC,
                .p_flags = PF_R | PF_W,
                .p_offset = offsetof(struct library, dynamic),
                .p_vaddr = offsetof(struct library, dynamic),
                .p_filesz = sizeof library.dynamic,
                .p_memsz = sizeof library.dynamic,
                .p_align = sizeof(uint64_t)},
            {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W}},
        .dynamic = {
            {DT_STRTAB, {names}}, {DT_SYMTAB, {offsetof(struct library, no_symbol)}}, {DT_STRSZ, {1}}, {DT_NULL, {0}}}};
    const int fd = memfd_create("peet-room", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, &library, sizeof library) == (ssize_t)sizeof library && ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
