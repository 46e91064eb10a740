/* SPDX-License-Identifier: Apache-2.0 */
/* See openmp.h.  What a program loads is asked of its dynamic linker, unless it needs the usual libraries alone. */
#include "openmp.h"

#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char peet_own[] = "libpeet-omp.so";

static int is_usual(const char *name)
{
    static const char *const usual[] = {"libpeet-rt.so", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2",
        "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strcmp(name, usual[i]))
            return 1;
    return 0;
}

/* Does it need a library that may bring others? */
static int needs_unusual(Elf *elf)
{
    GElf_Shdr header;
    GElf_Dyn entry;
    int unusual = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        Elf_Data *data;
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC || !(data = elf_getdata(section, NULL)))
            continue;
        for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
            const char *name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : NULL;
            if (name && !strcmp(name, peet_own))
                return 0;
            unusual |= name && !is_usual(name);
        }
    }
    return unusual;
}

/* The dynamic linker that it names.  Returns: 0, or -1: none */
static int linker_of(Elf *elf, char *out_path, size_t room)
{
    GElf_Phdr segment;
    size_t n, bytes;
    const char *file = elf_rawfile(elf, &bytes);
    if (!file || elf_getphdrnum(elf, &n) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP && segment.p_offset < bytes &&
            segment.p_filesz < room && segment.p_filesz <= bytes - segment.p_offset) {
            memcpy(out_path, file + segment.p_offset, segment.p_filesz);
            out_path[segment.p_filesz] = 0;
            return 0;
        }
    return -1;
}

static int lists_openmp(FILE *list)
{
    char line[4096];
    int ordinary = 0, own = 0;
    while (fgets(line, sizeof line, list)) {
        ordinary |= strstr(line, "libgomp.so") || strstr(line, "libomp.so") || strstr(line, "libiomp5.so");
        own |= strstr(line, peet_own) != NULL;
    }
    return ordinary && !own;
}

/* What the linker says that it would load. */
static int asks_linker(const char *linker, const char *program)
{
    char *const argv[] = {(char *)linker, "--list", (char *)program, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], found = 0;
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    if (posix_spawn_file_actions_init(&actions) == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        const int started = posix_spawn(&pid, linker, &actions, NULL, argv, environ) == 0;
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        FILE *list = started ? fdopen(ends[0], "r") : NULL;
        if (list) {
            found = lists_openmp(list);
            fclose(list);
            ends[0] = -1;
        }
        if (started)
            waitpid(pid, NULL, 0);
    } else {
        close(ends[1]);
    }
    if (ends[0] >= 0)
        close(ends[0]);
    return found;
}

int peet_cli_openmp_borrowed(const char *program)
{
    char linker[256];
    const int fd = open(program, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd >= 0 && elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    const int ask =
        elf && elf_kind(elf) == ELF_K_ELF && needs_unusual(elf) && linker_of(elf, linker, sizeof linker) == 0;
    if (elf)
        elf_end(elf);
    if (fd >= 0)
        close(fd);
    return ask && asks_linker(linker, program);
}
