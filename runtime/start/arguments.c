/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject's arguments and environment at fixed addresses.  The kernel packs both at the top of its
 * stack, so that one variable more shifts every address; here argv's strings, the environment's strings
 * and the arrays have a place each, and only what truly differs between two runs differs.
 */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const Elf64_auxv_t *vector; /* the copy of auxv */

uint64_t peet__auxv(uint64_t type, int *out_found)
{
    const Elf64_auxv_t *v = vector;
    while (v && v->a_type != AT_NULL && v->a_type != type)
        v++;
    *out_found = v && v->a_type == type && type != AT_NULL;
    return *out_found ? v->a_un.a_val : 0;
}

static char *map_at(uint64_t address, size_t bytes, const char *what)
{
    size_t whole = (bytes + PEET__PAGE) & ~(PEET__PAGE - 1);
    long got = syscall(SYS_mmap, address, whole, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != (long)address)
        peet__die(1, "cannot place the subject's %s at 0x%lx: %s", what, address, strerror(errno));
    return (char *)address;
}

/* What `peet run` shares with this process is none of the business of the subject's children. */
static void keep_from_children(const char *setting)
{
    const char *fd_text = peet_rt_setting(setting);
    if (fd_text)
        fcntl(atoi(fd_text), F_SETFD, FD_CLOEXEC);
}

/* The user's environment as `peet run` passed it: strings one after the other in a file of memory. */
static size_t read_environ(char **out_strings)
{
    const char *fd_text = peet_rt_setting("PEET_ENVIRON_FD");
    if (!fd_text)
        return 0;
    int fd = atoi(fd_text);
    struct stat st;
    if (fstat(fd, &st) < 0)
        peet__die(1, "cannot read the user's environment from descriptor %d: %s", fd, strerror(errno));
    size_t bytes = (size_t)st.st_size, done = 0;
    char *strings = map_at(PEET__ENV_STRINGS, bytes + 1, "environment");
    while (done < bytes) {
        ssize_t n = pread(fd, strings + done, bytes - done, (off_t)done);
        if (n <= 0)
            peet__die(1, "cannot read the user's environment from descriptor %d: %s", fd,
                n < 0 ? strerror(errno) : "it is shorter than it was");
        done += (size_t)n;
    }
    close(fd);
    if ((fd_text = peet_rt_setting("PEET_ROOM_FD")) != NULL)
        close(atoi(fd_text)); /* it is mapped */
    keep_from_children("PEET_REPORT_FD");
    keep_from_children("PEET_PROGRESS_FD");
    keep_from_children("PEET_RESULTS_FD");
    *out_strings = strings;
    return bytes;
}

static size_t copy_environ(char **envp, char **out_strings)
{
    size_t bytes = 0;
    for (char **e = envp; *e; e++)
        bytes += strlen(*e) + 1;
    char *to = *out_strings = map_at(PEET__ENV_STRINGS, bytes + 1, "environment");
    for (char **e = envp; *e; e++)
        to = stpcpy(to, *e) + 1;
    return bytes;
}

/* Of the user's own environment the subject sees all but PEET_CONFIG, lest what it starts believe itself
 * simulated; of one that serves as both, nothing of peet's. */
static int dropped(const char *string, int users)
{
    return strncmp(string, users ? "PEET_CONFIG=" : "PEET_", users ? 12 : 5) == 0;
}

void peet__arguments_copy(int argc, char **argv, char **envp, struct peet__arguments *out_arguments)
{
    char *env_strings = NULL;
    size_t env_bytes = read_environ(&env_strings);
    int users = env_strings != NULL;
    if (!users)
        env_bytes = copy_environ(envp, &env_strings);

    size_t nenv = 0, nauxv = 0, argv_bytes = 0;
    for (size_t at = 0; at < env_bytes; at += strlen(env_strings + at) + 1)
        nenv++;
    while (*envp)
        envp++;
    Elf64_auxv_t *auxv = (Elf64_auxv_t *)(envp + 1);
    while (auxv[nauxv++].a_type != AT_NULL)
        ;
    for (int i = 0; i < argc; i++)
        argv_bytes += strlen(argv[i]) + 1;

    char *string = map_at(PEET__ARGS_STRINGS, argv_bytes, "arguments");
    char **array = (char **)map_at(PEET__ARGS_ARRAYS,
        ((size_t)argc + 1 + nenv + 1) * sizeof *array + nauxv * sizeof *auxv, "argument arrays");
    out_arguments->argc = argc;
    out_arguments->argv = array;
    for (int i = 0; i < argc; i++) {
        *array++ = string;
        string = stpcpy(string, argv[i]) + 1;
    }
    *array++ = NULL;
    out_arguments->envp = array;
    for (size_t at = 0; at < env_bytes; at += strlen(env_strings + at) + 1)
        if (env_strings[at] && !dropped(env_strings + at, users))
            *array++ = env_strings + at;
    *array++ = NULL;
    vector = memcpy(array, auxv, nauxv * sizeof *auxv);
    /* a setting may also stand in the user's own environment; the run's own come first */
    for (size_t at = 0; at < env_bytes; at += strlen(env_strings + at) + 1) {
        char *one[] = {env_strings + at, NULL};
        peet__settings_take(one);
    }
}
