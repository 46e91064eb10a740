/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of the schema records of a linked file (schema/checksum.h). */
#include "stamp.h"

#include "checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each record gets its checksum.  Versions before 4, of objects compiled earlier, have no room for one. */
static int stamp_section(uint8_t *section, size_t size, const char *path, struct peet_error *error)
{
    for (size_t at = 0; at < size;) {
        struct peet__record record = {0};
        if (section[at] == 0) { /* padding */
            at++;
            continue;
        }
        const char *damage = peet__record_at(section + at, size - at, &record);
        if (!damage && record.version >= 4) {
            uint64_t carried = peet__record_carried_sum(section + at), whole = peet__record_sum(section + at, &record);
            if (carried != whole && carried != peet__record_payload_sum(section + at, &record))
                damage = "a record that is not the one that the compiler wrote";
            memcpy(section + at + PEET_FORMAT_SUM_AT, &whole, sizeof whole);
        }
        if (damage)
            return peet_error_set(error, PEET_EFORMAT,
                "%s: an object or library with a damaged schema was linked (%s at offset %zu of %s): "
                "compile again",
                path, damage, at, PEET_SCHEMA_SECTION);
        at += record.bytes;
    }
    return 0;
}

static int find_schema(Elf *elf, GElf_Shdr *out_header)
{
    size_t names;
    GElf_Ehdr header;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || header.e_type == ET_REL ||
        elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        const char *name = gelf_getshdr(section, out_header) ? elf_strptr(elf, names, out_header->sh_name) : NULL;
        if (name && strcmp(name, PEET_SCHEMA_SECTION) == 0 && out_header->sh_type != SHT_NOBITS)
            return 1;
    }
    return 0;
}

/* All of it, or -1. */
static int transfer(int fd, uint8_t *bytes, size_t size, off_t offset, int write)
{
    while (size != 0) {
        ssize_t n = write ? pwrite(fd, bytes, size, offset) : pread(fd, bytes, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n, size -= (size_t)n, offset += n;
    }
    return 0;
}

static int stamp_file(int fd, const GElf_Shdr *header, const char *path, struct peet_error *error)
{
    uint8_t *section = malloc(header->sh_size + 1);
    if (!section)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    int err = 0;
    if (transfer(fd, section, header->sh_size, (off_t)header->sh_offset, 0) != 0)
        err = peet_error_set(error, PEET_EIO, "cannot read %s: %s", path, strerror(errno));
    if (err == 0)
        err = stamp_section(section, header->sh_size, path, error);
    if (err == 0 && transfer(fd, section, header->sh_size, (off_t)header->sh_offset, 1) != 0)
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno));
    free(section);
    return err;
}

int peetcc_stamp(const char *program, struct peet_error *error)
{
    GElf_Shdr header;
    elf_version(EV_CURRENT);
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return peet_error_set(error, PEET_EIO, "cannot read %s: %s", program, strerror(errno));
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    int found = find_schema(elf, &header);
    elf_end(elf);
    close(fd);
    if (!found)
        return 0;
    fd = open(program, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return peet_error_set(error, PEET_EIO, "cannot write %s: %s", program, strerror(errno));
    int err = stamp_file(fd, &header, program, error);
    if (close(fd) != 0 && err == 0)
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", program, strerror(errno));
    return err;
}
