/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subject calls an address of its data: from the symbol tables of the files that are loaded, read
 * when a report asks for it.
 */
#include "host/report.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/** The object that holds an address. */
struct object {
    uint64_t address, bias;
    char path[4096];
    int found, first;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object *o = arg;
    const int main_program = o->first;

    (void)size;
    o->first = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type != PT_LOAD || o->address < info->dlpi_addr + p->p_vaddr ||
            o->address >= info->dlpi_addr + p->p_vaddr + p->p_memsz)
            continue;
        o->bias = info->dlpi_addr;
        snprintf(o->path, sizeof o->path, "%s",
            main_program          ? "/proc/self/exe"
                : info->dlpi_name ? info->dlpi_name
                                  : "");
        o->found = 1;
        return 1;
    }
    return 0;
}

/** The symbol of this type round an address in a file that is mapped here.  Returns: its name, or NULL */
static const char *symbol(const unsigned char *file, size_t bytes, unsigned type, uint64_t address,
    uint64_t *out_offset)
{
    const ElfW(Ehdr) *header = (const void *)file;
    const ElfW(Shdr) * sections;

    if (bytes < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shentsize != sizeof *sections || header->e_shoff > bytes ||
        header->e_shnum > (bytes - header->e_shoff) / sizeof *sections)
        return NULL;
    sections = (const void *)(file + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = &sections[i], *strings;
        const ElfW(Sym) * all;

        if ((table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) || table->sh_link >= header->e_shnum ||
            table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset)
            continue;
        strings = &sections[table->sh_link];
        if (strings->sh_offset > bytes || strings->sh_size > bytes - strings->sh_offset || !strings->sh_size ||
            file[strings->sh_offset + strings->sh_size - 1])
            continue;
        all = (const void *)(file + table->sh_offset);
        for (size_t k = 0; k < table->sh_size / sizeof *all; k++)
            if (ELF64_ST_TYPE(all[k].st_info) == type && address >= all[k].st_value &&
                address - all[k].st_value < all[k].st_size && all[k].st_name < strings->sh_size) {
                *out_offset = address - all[k].st_value;
                return (const char *)file + strings->sh_offset + all[k].st_name;
            }
    }
    return NULL;
}

static int name_in_file(const char *path, uint64_t address, unsigned type, char *out_name, size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t offset = 0;
    const char *name = NULL;
    struct stat st;
    void *file;

    if (fd < 0)
        return 0;
    file = fstat(fd, &st) || !st.st_size ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return 0;
    name = symbol(file, (size_t)st.st_size, type, address, &offset);
    if (name && offset && type == STT_OBJECT)
        snprintf(out_name, bytes, "%s+%llu", name, (unsigned long long)offset);
    else if (name)
        snprintf(out_name, bytes, "%s", name);
    munmap(file, (size_t)st.st_size);
    return name != NULL;
}

int peet_host_name_in(const char *path, uint64_t address, char *out_name, size_t bytes)
{
    return name_in_file(path, address, STT_OBJECT, out_name, bytes);
}

static int name_of(uint64_t address, unsigned type, char *out_name, size_t bytes)
{
    struct object o = {.address = address, .first = 1};

    dl_iterate_phdr(visit, &o);
    return o.found && o.path[0] && name_in_file(o.path, address - o.bias, type, out_name, bytes);
}

int peet_host_name_of(uint64_t address, char *out_name, size_t bytes)
{
    return name_of(address, STT_OBJECT, out_name, bytes);
}

int peet_host_function_of(uint64_t address, char *out_name, size_t bytes)
{
    return name_of(address, STT_FUNC, out_name, bytes);
}
