/* SPDX-License-Identifier: Apache-2.0 */
/* The subject before it runs; see program.h. */
#include "program.h"

#include "decode/decode.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_executable(const char *path, struct peet_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return peet_error_set(error, errno == ENOENT || errno == ENOTDIR ? PEET_ENOTFOUND : PEET_EINVALID,
            "cannot run %s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return peet_error_set(error, PEET_EINVALID, "cannot run %s: it is a folder", path);
    if (access(path, X_OK) != 0)
        return peet_error_set(error, PEET_EINVALID, "cannot run %s: %s", path, strerror(errno));
    return 0;
}

int peet_cli_program_find(const char *name, char **out_path, struct peet_error *error)
{
    *out_path = NULL;
    if (strchr(name, '/')) {
        int err = check_executable(name, error);
        if (!err && !(*out_path = strdup(name)))
            err = peet_error_set(error, PEET_ENOMEM, "out of memory");
        return err;
    }
    const char *path = getenv("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t length = strcspn(path, ":");
        char *file = NULL;
        if (asprintf(&file, "%.*s%s%s", (int)length, path, length ? "/" : "./", name) < 0)
            return peet_error_set(error, PEET_ENOMEM, "out of memory");
        struct stat status;
        if (*name && stat(file, &status) == 0 && S_ISREG(status.st_mode) && access(file, X_OK) == 0) {
            *out_path = file;
            return 0;
        }
        free(file);
        if (path[length] == '\0')
            break;
        path += length + 1;
    }
    if (!*name)
        return peet_error_set(error, PEET_EINVALID, "the program's name is empty");
    struct stat status;
    int here = stat(name, &status) == 0 && S_ISREG(status.st_mode) && access(name, X_OK) == 0;
    const char *hint = here ? "; write ./ before it for the one in this folder" : "";
    return peet_error_set(error, PEET_ENOTFOUND, "cannot run %s: it is not on PATH%s", name, hint);
}

/* Does it name a dynamic linker that starts it?  -1: it cannot be read */
static int has_linker(int fd, const Elf64_Ehdr *file)
{
    Elf64_Phdr segment;
    for (unsigned i = 0; i < file->e_phnum; i++) {
        if (pread(fd, &segment, sizeof(segment), (off_t)(file->e_phoff + i * sizeof(segment))) !=
            (ssize_t)sizeof(segment))
            return -1;
        if (segment.p_type == PT_INTERP)
            return 1;
    }
    return 0;
}

/* It is to be loaded at any address, and names no dynamic linker that would start it. */
static int is_library(int fd, const Elf64_Ehdr *file)
{
    return has_linker(fd, file) == 0 && file->e_ident[EI_CLASS] == ELFCLASS64 && file->e_type == ET_DYN &&
        file->e_phentsize == sizeof(Elf64_Phdr);
}

/* Does the file end before its table of sections, which linkers write last?  Then its schema is lost. */
static int is_cut_off(const char *path)
{
    Elf64_Ehdr file;
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int known = fd >= 0 && read(fd, &file, sizeof(file)) == (ssize_t)sizeof(file) && fstat(fd, &status) == 0;
    if (fd >= 0)
        close(fd);
    if (!known || file.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    const uint64_t table = (uint64_t)file.e_shnum * file.e_shentsize, bytes = (uint64_t)status.st_size;
    return bytes < table || file.e_shoff > bytes - table;
}

/* A program that peetcc has not seen: it can be recorded whole if the runtime can be loaded before it.  Somebody must have
 * asked for it: else it is likelier that the compiler was forgotten. */
static int check_foreign(const char *path, const struct peet_config *config, int *out_foreign, struct peet_error *error)
{
    Elf64_Ehdr file;
    struct stat status;
    if (!out_foreign || !config->foreign_chosen ||
        (config->foreign != PEET_CONFIG_FOREIGN_RECORD && config->foreign != PEET_CONFIG_FOREIGN_AUTO)) {
        if (is_cut_off(path))
            return peet_error_set(error, PEET_EINVALID,
                "cannot run %s: the file is cut off: it ends before its sections", path);
        return peet_error_set(error, PEET_EINVALID,
            "%s was not built by peetcc: it carries no schema; compile and link it with peetcc or peetcc++%s", path,
            out_foreign ? ", or have it recorded as it is with --foreign=record" : "");
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC),
        whole = fd >= 0 && read(fd, &file, sizeof(file)) == (ssize_t)sizeof(file);
    const int is_dynamic = whole && has_linker(fd, &file) == 1;
    const int is_privileged = fd < 0 || fstat(fd, &status) != 0 || (status.st_mode & (S_ISUID | S_ISGID)) != 0;
    if (fd >= 0)
        close(fd);
    if (!whole || file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_machine != EM_X86_64)
        return peet_error_set(error, PEET_EUNSUPPORTED, "cannot record %s: it is no program for x86-64", path);
    if (!is_dynamic)
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "cannot record %s: it was not built by peetcc and is linked statically, so that the runtime cannot be loaded with it",
            path);
    if (is_privileged)
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "cannot record %s: it runs with other rights (set-user-ID), for which the runtime is not loaded with it",
            path);
    *out_foreign = 1;
    return 0;
}

/* Scripts are common enough (libtool's, wrappers) to deserve a message of their own. */
static int check_kind(const char *path, struct peet_error *error)
{
    Elf64_Ehdr file = {0};
    const unsigned char *start = file.e_ident;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, &file, sizeof(file)) : -1;
    if (fd < 0 || got < 0)
        peet_error_set(error, PEET_EIO, "cannot read %s: %s", path, strerror(errno));
    else if (got >= 2 && start[0] == '#' && start[1] == '!')
        peet_error_set(error, PEET_EINVALID,
            "%s was not built by peetcc: it is a script; name the program that it starts", path);
    else if (got < 4 || memcmp(start, "\177ELF", 4) != 0)
        peet_error_set(error, PEET_EINVALID, "%s was not built by peetcc: it is not an ELF program", path);
    else if (got == (ssize_t)sizeof(file) && is_library(fd, &file))
        peet_error_set(error, PEET_EINVALID, "cannot run %s: it is a shared library; name a program that uses it",
            path);
    if (fd >= 0)
        close(fd);
    return error->code;
}

static int check_granularity(const char *path, const struct peet_config *config, struct peet_program *program,
    struct peet_error *error)
{
    static const char *const names[] = {"iteration", "block", "ref"};
    int wanted = config->granularity == PEET_GRANULARITY_REF ? 2
        : config->granularity == PEET_GRANULARITY_BLOCK      ? 1
                                                             : 0;
    int has = peet_program_granularity(program);
    if (has >= 0 && has < wanted)
        return peet_error_set(error, PEET_EINVALID,
            "%s was compiled for granularity %s: compile it with peetcc -fpeet-granularity=%s to run at --granularity %s",
            path, names[has], names[wanted], names[wanted]);
    return 0;
}

int peet_cli_program_check(const char *path, const struct peet_config *config, int *out_foreign,
    struct peet_error *error)
{
    struct peet_program *program = NULL;
    if (check_kind(path, error))
        return error->code;
    if (peet_program_new(&program))
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    struct peet_error inner = {0};
    int err = peet_program_add_image(program, path, 0, &inner);
    if (err == PEET_ENOTFOUND || err == 0)
        err = check_foreign(path, config, out_foreign, error);
    else if (err < 0)
        err = peet_error_set(error, err, "%s", inner.message);
    else
        err = 0;
    for (unsigned i = 0; !err && i < peet_program_nfunctions(program); i++)
        if (!peet_program_function(program, i, error))
            err = peet_error_set(error, PEET_EFORMAT, "%s: its schema is damaged; build it again with peetcc", path);
    if (!err && !(out_foreign && *out_foreign))
        err = check_granularity(path, config, program, error);
    peet_program_free(program);
    return err;
}
