/* SPDX-License-Identifier: Apache-2.0 */
/* What the results cannot hold; see gaps.h. */
#include "host/gaps.h"
#include "host/unseen.h"
#include "base/stats.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *atomic_functions; /* names, each once, sorted */

static void add(const char *name)
{
    size_t at = 0;

    if (!atomic_functions)
        atomic_functions = json_array();
    while (at < json_array_size(atomic_functions) &&
        strcmp(json_string_value(json_array_get(atomic_functions, at)), name) < 0)
        at++;
    if (at == json_array_size(atomic_functions) ||
        strcmp(json_string_value(json_array_get(atomic_functions, at)), name))
        json_array_insert_new(atomic_functions, at, json_string(name));
}

static void scan(Elf *elf)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(elf, section)) != NULL) {
        Elf_Data *data;

        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !header.sh_entsize ||
            !(data = elf_getdata(section, NULL)))
            continue;
        for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
            GElf_Sym symbol;
            const char *name;

            if (gelf_getsym(data, (int)i, &symbol) && symbol.st_shndx == SHN_UNDEF &&
                (name = elf_strptr(elf, header.sh_link, symbol.st_name)) && !strncmp(name, "__atomic_", 9) &&
                strcmp(name, "__atomic_is_lock_free"))
                add(name);
        }
    }
}

void peet_host_gaps_image(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;

    if (elf) {
        scan(elf);
        elf_end(elf);
    }
    if (fd >= 0)
        close(fd);
}

json_t *peet_host_gaps_json(struct peet_program *program, struct peet_map *map, uint64_t extraneous_blocks,
    int recorded)
{
    struct peet_program_gaps gaps = {0, 0};

    peet_program_gaps(program, &gaps);
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "asm_statements", peet_stats_u64(gaps.asm_statements), "opaque_functions",
        peet_stats_u64(gaps.opaque_functions), "atomic_library_functions",
        atomic_functions && !recorded ? json_incref(atomic_functions) : json_array(), "extraneous_blocks",
        peet_stats_u64(extraneous_blocks), "unseen", peet_host_unseen_json(map));
}
