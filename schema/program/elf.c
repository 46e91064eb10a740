/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the schema and the code in an ELF file; the file is mapped, nothing is copied. */
#include "program/parts.h"

#include <peet/raw.h>

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int find_sections(struct peet__image *image, Elf *elf, struct peet_error *error)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return peet_error_set(error, PEET_EFORMAT, "%s: no section names: %s", image->path, elf_errmsg(-1));
    GElf_Ehdr eh;
    if (gelf_getehdr(elf, &eh) && eh.e_type == ET_REL)
        return peet_error_set(error, PEET_EUNSUPPORTED, "%s: a relocatable object: link it first", image->path);
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(elf, scn)) != NULL) {
        GElf_Shdr sh;
        if (!gelf_getshdr(scn, &sh))
            return peet_error_set(error, PEET_EFORMAT, "%s: damaged section header: %s", image->path, elf_errmsg(-1));
        if (sh.sh_type == SHT_NOBITS)
            continue;
        const char *name = elf_strptr(elf, names, sh.sh_name);
        int schema = name && strcmp(name, PEET_SCHEMA_SECTION) == 0;
        if (!schema && !(sh.sh_flags & SHF_EXECINSTR))
            continue;
        if (sh.sh_offset > image->map_bytes || sh.sh_size > image->map_bytes - sh.sh_offset)
            return peet_error_set(error, PEET_EFORMAT, "%s: section %s reaches beyond the end of the file", image->path,
                name ? name : "?");
        struct peet__section section = {sh.sh_addr, sh.sh_size, (const uint8_t *)image->map + sh.sh_offset};
        if (schema) {
            image->schema = section;
        } else {
            struct peet__section *text = realloc(image->text, (image->ntext + 1) * sizeof *text);
            if (!text)
                return peet_error_set(error, PEET_ENOMEM, "out of memory");
            image->text = text;
            image->text[image->ntext++] = section;
        }
    }
    if (!image->schema.bytes)
        return PEET_ENOTFOUND;
    return 0;
}

int peet__image_map(struct peet__image *image, const char *path, struct peet_error *error)
{
    image->path = strdup(path);
    if (!image->path)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return peet_error_set(error, errno == ENOENT ? PEET_ENOTFOUND : PEET_EIO, "%s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return peet_error_set(error, PEET_EFORMAT, "%s: not a regular file", path);
    }
    if (st.st_size < EI_NIDENT) {
        close(fd);
        return peet_error_set(error, PEET_EFORMAT, "%s: not an ELF file", path);
    }
    /* Private and writable: libelf may convert in place, the file stays untouched. */
    void *map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return peet_error_set(error, PEET_EIO, "%s: cannot be mapped: %s", path, strerror(errno));
    image->map = map;
    image->map_bytes = st.st_size;
    image->device = st.st_dev;
    image->file = st.st_ino;
    image->changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(map, image->map_bytes);
    const char *ident = map;
    int err;
    if (!elf || elf_kind(elf) != ELF_K_ELF || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        err = peet_error_set(error, PEET_EFORMAT, "%s: not a 64-bit little-endian ELF file", path);
    else
        err = find_sections(image, elf, error);
    if (elf)
        elf_end(elf);
    return err;
}

void peet__image_unmap(struct peet__image *image)
{
    if (image->map)
        munmap(image->map, image->map_bytes);
    free(image->text);
    free(image->path);
}

const uint8_t *peet__image_code(const struct peet__image *image, uint64_t address, size_t bytes)
{
    for (unsigned i = 0; i < image->ntext; i++) {
        const struct peet__section *s = &image->text[i];
        if (address >= s->address && address - s->address < s->size && bytes <= s->size - (address - s->address))
            return s->bytes + (address - s->address);
    }
    return NULL;
}
