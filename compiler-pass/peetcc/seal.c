/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the schema file with libelf.  Sections that are not kept stay in the section table without
 * contents (SHT_NOBITS), as in a separate debug file, so that section numbers, symbols and addresses
 * mean the same as in the program.
 */
#include "seal.h"

#include <peet/raw.h>

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int section_is_kept(const char *name, const GElf_Shdr *header)
{
    switch (header->sh_type) {
    case SHT_SYMTAB:
    case SHT_STRTAB:
    case SHT_NOTE:
    case SHT_SYMTAB_SHNDX:
        return !(header->sh_flags & SHF_ALLOC) || header->sh_type == SHT_NOTE;
    case SHT_NOBITS:
    case SHT_NULL:
        return 0;
    }
    if (header->sh_flags & SHF_EXECINSTR)
        return 1;
    return strncmp(name, ".peet.", 6) == 0 || strncmp(name, ".debug_", 7) == 0;
}

/* Returns: 1, 0, or -1 if the file is no ELF file. */
static int carries_schema(Elf *elf)
{
    size_t names;
    if (elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0)
        return -1;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name;
        if (gelf_getshdr(section, &header) && (name = elf_strptr(elf, names, header.sh_name)) &&
            strcmp(name, PEET_SCHEMA_SECTION) == 0)
            return 1;
    }
    return 0;
}

/* May the file at this place be replaced?  Only by its like: a program's sources may well have a
 * prog.schema of their own. */
static int is_schema_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    int ours = elf && carries_schema(elf) == 1;
    elf_end(elf);
    close(fd);
    return ours;
}

static GElf_Off align_up(GElf_Off offset, GElf_Off alignment)
{
    return alignment > 1 ? (offset + alignment - 1) / alignment * alignment : offset;
}

static int elf_failure(struct peet_error *error, const char *path)
{
    return peet_error_set(error, PEET_EIO, "%s: %s", path, elf_errmsg(-1));
}

/* The program headers keep addresses, sizes in memory and alignment, which give the load bias; there
 * is nothing in this file to load. */
static int copy_program_headers(Elf *from, Elf *to, const char *path, struct peet_error *error)
{
    size_t count;
    if (elf_getphdrnum(from, &count) != 0)
        return elf_failure(error, path);
    if (count == 0)
        return 0;
    if (!gelf_newphdr(to, count))
        return elf_failure(error, path);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(from, (int)i, &header))
            return elf_failure(error, path);
        header.p_filesz = 0;
        header.p_offset = 0;
        if (header.p_type == PT_PHDR || header.p_type == PT_INTERP) /* these must have contents */
            header.p_type = PT_NULL;
        if (!gelf_update_phdr(to, (int)i, &header))
            return elf_failure(error, path);
    }
    return 0;
}

static int copy_sections(Elf *from, Elf *to, GElf_Off offset, GElf_Off *out_end, const char *path,
    struct peet_error *error)
{
    size_t names;
    if (elf_getshdrstrndx(from, &names) != 0)
        return elf_failure(error, path);
    for (Elf_Scn *source = NULL; (source = elf_nextscn(from, source));) {
        GElf_Shdr header;
        Elf_Scn *target = elf_newscn(to);
        if (!target || !gelf_getshdr(source, &header))
            return elf_failure(error, path);
        const char *name = elf_strptr(from, names, header.sh_name);
        if (name && header.sh_size && section_is_kept(name, &header)) {
            Elf_Data *old = elf_rawdata(source, NULL), *new = elf_newdata(target);
            if (!old || !new)
                return elf_failure(error, path);
            *new = *old;
            new->d_type = ELF_T_BYTE;
            new->d_off = 0;
            offset = align_up(offset, header.sh_addralign);
            header.sh_offset = offset;
            offset += header.sh_size;
        } else {
            header.sh_type = SHT_NOBITS;
            header.sh_offset = offset;
        }
        if (!gelf_update_shdr(target, &header))
            return elf_failure(error, path);
    }
    *out_end = offset;
    return 0;
}

static int write_copy(Elf *from, int fd, const char *path, struct peet_error *error)
{
    GElf_Ehdr header;
    size_t segments, names;
    if (!gelf_getehdr(from, &header) || elf_getphdrnum(from, &segments) || elf_getshdrstrndx(from, &names))
        return elf_failure(error, path);
    if (gelf_getclass(from) != ELFCLASS64 || header.e_machine != EM_X86_64)
        return peet_error_set(error, PEET_EUNSUPPORTED, "%s: not a program for x86-64", path);

    Elf *to = elf_begin(fd, ELF_C_WRITE, NULL);
    if (!to)
        return elf_failure(error, path);
    int err = 0;
    GElf_Ehdr copy = header;
    GElf_Off end = 0;
    elf_flagelf(to, ELF_C_SET, ELF_F_LAYOUT);
    if (!gelf_newehdr(to, ELFCLASS64))
        err = elf_failure(error, path);
    if (!err)
        err = copy_program_headers(from, to, path, error);
    if (!err)
        err = copy_sections(from, to, sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr), &end, path, error);
    if (!err) {
        copy.e_phoff = segments ? sizeof(Elf64_Ehdr) : 0;
        copy.e_shoff = align_up(end, 8);
        if (!gelf_update_ehdr(to, &copy) || elf_update(to, ELF_C_WRITE) < 0)
            err = elf_failure(error, path);
    }
    elf_end(to);
    return err;
}

/* To a temporary name, then renamed, so that a reader never sees half a file. */
static int write_file(Elf *from, const char *schema, struct peet_error *error)
{
    char *temporary = NULL;
    if (asprintf(&temporary, "%s.XXXXXX", schema) < 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        int err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", schema, strerror(errno));
        free(temporary);
        return err;
    }
    int err = write_copy(from, fd, schema, error);
    mode_t mask = umask(0);
    umask(mask);
    if (!err && fchmod(fd, 0666 & ~mask) != 0)
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", schema, strerror(errno));
    if (close(fd) != 0 && !err)
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", schema, strerror(errno));
    if (!err && rename(temporary, schema) != 0)
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", schema, strerror(errno));
    if (err)
        unlink(temporary);
    free(temporary);
    return err;
}

int peetcc_seal(const char *program, const char *schema, struct peet_error *error)
{
    elf_version(EV_CURRENT);
    int ours = is_schema_file(schema);
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return peet_error_set(error, PEET_EIO, "cannot read %s: %s", program, strerror(errno));
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    int err = 0;
    if (!elf || carries_schema(elf) != 1)
        err = PEET_ENOTFOUND;
    else if (!ours)
        err = peet_error_set(error, PEET_EINVALID, "%s exists and is not a schema file: it was left as it is", schema);
    else
        err = write_file(elf, schema, error);
    if (err && ours)
        unlink(schema); /* that of an earlier link would be wrong now */
    elf_end(elf);
    close(fd);
    return err;
}
