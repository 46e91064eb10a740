/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs share; see common.h. */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

void peet_cli_complain(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    fprintf(stderr, "peet: %s\n", text ? text : format); /* at once: the subject may be writing to the same place */
    free(text);
}

int peet_cli_fail(const struct peet_error *error)
{
    peet_cli_complain("%s", error->message[0] ? error->message : peet_err_text(error->code));
    switch (error->code) {
    case PEET_EINVALID:
    case PEET_ENOTFOUND:
    case PEET_EVERSION:
    case PEET_EMODULE:
    case PEET_EUNSUPPORTED:
    case PEET_ELIMIT:
    case PEET_EFORMAT:
        return PEET_CLI_USAGE;
    }
    return PEET_CLI_FAILED;
}

int peet_cli_lib_dir(char *out_path, size_t bytes, struct peet_error *error)
{
    char *self = realpath("/proc/self/exe", NULL);
    if (!self)
        return peet_error_set(error, PEET_EIO, "cannot find the path of this program: %s", strerror(errno));
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
    }
    int length = snprintf(out_path, bytes, "%s/lib", self);
    free(self);
    if (length < 0 || (size_t)length >= bytes)
        return peet_error_set(error, PEET_ELIMIT, "the path of this program is too long");
    return 0;
}

static struct sigaction file_limit_before;

void peet_cli_file_limit_is_error(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, &file_limit_before);
}

void peet_cli_end_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        raise(SIGTERM);
}

void peet_cli_file_limit_as_before(void)
{
    sigaction(SIGXFSZ, &file_limit_before, NULL);
}

int peet_cli_memory_file(const char *name, const void *data, size_t bytes, struct peet_error *error)
{
    const int fd = memfd_create(name, MFD_CLOEXEC);
    int why = fd < 0 ? errno : 0;

    for (size_t at = 0; !why && at < bytes;) {
        const ssize_t n = write(fd, (const char *)data + at, bytes - at);

        if (n < 0)
            why = errno;
        else
            at += (size_t)n;
    }
    if (!why)
        return fd;
    if (fd >= 0)
        close(fd);
    return peet_error_set(error, PEET_EIO, "cannot make a file in memory: %s%s", strerror(why),
        peet_cli_memory_limit(why));
}

const char *peet_cli_memory_limit(int why)
{
    return why == EFBIG ? " (ulimit -f counts files in memory, too)" : "";
}

int peet_cli_finish_stdout(int status)
{
    static int failed;
    if (failed || (fflush(stdout) == 0 && !ferror(stdout)))
        return status;
    peet_cli_complain("cannot write to standard output: %s", strerror(errno ? errno : EIO));
    failed = 1;
    return PEET_CLI_FAILED;
}
