/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files as debug information comes in them: compressed by zstd, which libelf does not know before 0.189, and taken
 * out of the program or library into a file of its own, as debuggers look for it.
 */
#include "debuginfo/debuginfo.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* ------------------------------------------------------------------------------------------- compressed by zstd */

enum { COMPRESSED_ZSTD = 2 };            /* ELFCOMPRESS_ZSTD */
#define SECTION_MOST ((uint64_t)1 << 32) /* bytes: damaged files say more */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 15) & ~(uint64_t)15;
}

/** Returns: whether the section is compressed by zstd; @out_header: what it was */
static int by_zstd(Elf_Scn *section, GElf_Shdr *out_header, GElf_Chdr *out_was)
{
    return gelf_getshdr(section, out_header) && out_header->sh_flags & SHF_COMPRESSED &&
        gelf_getchdr(section, out_was) && out_was->ch_type == COMPRESSED_ZSTD && out_was->ch_size <= SECTION_MOST;
}

/** The file, with such sections as they were behind it.  Returns: 0, or -1 if it is damaged */
static int fill(Elf *elf, const char *file, size_t bytes, char *out)
{
    uint64_t end = aligned(bytes), at;
    GElf_Ehdr head;
    GElf_Shdr header;
    GElf_Chdr was;
    Elf_Scn *section = NULL;

    memcpy(out, file, bytes);
    if (!gelf_getehdr(elf, &head) || head.e_shentsize != sizeof(Elf64_Shdr))
        return -1;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (!by_zstd(section, &header, &was))
            continue;
        at = head.e_shoff + elf_ndxscn(section) * sizeof(Elf64_Shdr);
        if (header.sh_size < sizeof(Elf64_Chdr) || header.sh_offset > bytes ||
            header.sh_size > bytes - header.sh_offset || at + sizeof(Elf64_Shdr) > bytes)
            return -1;
        if (ZSTD_decompress(out + end, was.ch_size, file + header.sh_offset + sizeof(Elf64_Chdr),
                header.sh_size - sizeof(Elf64_Chdr)) != was.ch_size)
            return -1;
        Elf64_Shdr *const to = (Elf64_Shdr *)(out + at);
        to->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
        to->sh_offset = end;
        to->sh_size = was.ch_size;
        to->sh_addralign = was.ch_addralign;
        end += aligned(was.ch_size);
    }
    return 0;
}

Elf *peet__elf_expand(Elf *elf, void **out_memory)
{
    uint64_t more = 0;
    size_t bytes = 0;
    GElf_Shdr header;
    GElf_Chdr was;
    Elf_Scn *section = NULL;
    Elf *expanded = NULL;
    char *file, *memory;

    *out_memory = NULL;
    while ((section = elf_nextscn(elf, section)) != NULL)
        if (by_zstd(section, &header, &was))
            more += aligned(was.ch_size);
    if (!more || !(file = elf_rawfile(elf, &bytes)) || !(memory = malloc(aligned(bytes) + more)))
        return elf;
    if (fill(elf, file, bytes, memory) == 0)
        expanded = elf_memory(memory, aligned(bytes) + more);
    if (!expanded) {
        free(memory);
        return elf;
    }
    elf_end(elf);
    *out_memory = memory;
    return expanded;
}

/* -------------------------------------------------------------------------------------------- a file of its own */

/** The checksum of .gnu_debuglink: CRC-32, as of zlib */
static uint32_t checksum(FILE *in)
{
    static uint32_t table[256];
    unsigned char piece[1 << 14];
    uint32_t crc = UINT32_MAX;
    size_t n;

    for (uint32_t i = 0; !table[255] && i < 256; i++) {
        uint32_t c = i;

        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
        table[i] = c;
    }
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        for (size_t i = 0; i < n; i++)
            crc = table[(crc ^ piece[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}

static int has_checksum(const char *path, uint32_t wanted)
{
    FILE *in = fopen(path, "re");
    const int has = in && checksum(in) == wanted;

    if (in)
        fclose(in);
    return has;
}

static int by_identity(Elf *elf, const char *root, char *out, size_t room)
{
    const void *id;
    const ssize_t bytes = dwelf_elf_gnu_build_id(elf, &id);
    size_t used = (size_t)snprintf(out, room, "%s/.build-id/", root);

    if (bytes < 2 || used + 2 * (size_t)bytes + sizeof "/.debug" > room)
        return 0;
    for (ssize_t k = 0; k < bytes; k++)
        used += (size_t)snprintf(out + used, room - used, k == 1 ? "/%02x" : "%02x", ((const uint8_t *)id)[k]);
    snprintf(out + used, room - used, ".debug");
    return access(out, R_OK) == 0;
}

/** By the name in .gnu_debuglink: beside the file, in .debug there, or in its folder's place below the root. */
static enum peet_separate by_link(Elf *elf, const char *path, const char *root, char *out, size_t room)
{
    static const char *const places[] = {"%s%s/%s", "%s%s/.debug/%s", "%s%s/%s"};
    char real[PATH_MAX], *slash;
    GElf_Word wanted;
    const char *name = dwelf_elf_gnu_debuglink(elf, &wanted);

    if (!name || !*name || strchr(name, '/') || !realpath(path, real) || !(slash = strrchr(real, '/')))
        return PEET_SEPARATE_NONE;
    *slash = 0;
    for (int i = 0; i < 3; i++)
        if ((size_t)snprintf(out, room, places[i], i == 2 ? root : "", real, name) < room && has_checksum(out, wanted))
            return i == 2 ? PEET_SEPARATE_INSTALLED : PEET_SEPARATE_BESIDE;
    return PEET_SEPARATE_NONE;
}

enum peet_separate peet_debuginfo_separate(const char *path, char *out, size_t room)
{
    const char *const set = getenv("PEET_DEBUG_DIR"), *const root = set ? set : "/usr/lib/debug";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    enum peet_separate found = PEET_SEPARATE_NONE;

    if (elf)
        found = by_identity(elf, root, out, room) ? PEET_SEPARATE_INSTALLED : by_link(elf, path, root, out, room);
    if (elf)
        elf_end(elf);
    if (fd >= 0)
        close(fd);
    return found;
}
