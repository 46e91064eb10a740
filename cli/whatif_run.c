/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of peet whatif; see whatif.h. */
#include "whatif.h"
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The machine as the options name it: the last --machine or -m; "ideal" without one. */
static const char *machine_of(const struct peet_cli_whatif *w)
{
    const char *machine = "ideal";
    for (size_t i = 0; i < w->noptions; i++) {
        const char *option = w->options[i];
        if (strncmp(option, "--machine=", 10) == 0)
            machine = option + 10;
        else if (strncmp(option, "-m", 2) == 0 && option[2])
            machine = option + 2;
        else if ((strcmp(option, "--machine") == 0 || strcmp(option, "-m") == 0) && i + 1 < w->noptions)
            machine = w->options[i + 1];
    }
    return machine;
}

/* That machine with another value of one parameter. */
static int put_machine(const struct peet_cli_whatif *w, const char *setting, char *out, size_t room)
{
    const char *machine = machine_of(w), *part = machine;
    size_t key = strcspn(setting, "="), used = (size_t)snprintf(out, room, "--machine=");
    for (; used < room && *part; part += strcspn(part, ","), part += *part == ',') {
        size_t length = strcspn(part, ",");
        if (part == machine || strncmp(part, setting, key + 1) != 0)
            used += (size_t)snprintf(out + used, room - used, "%s%.*s", part == machine ? "" : ",", (int)length, part);
    }
    return used < room ? (int)(used + (size_t)snprintf(out + used, room - used, ",%s", setting)) : -1;
}

/* A change as an option of `run`.  Returns: its length, or a number that is not below @room */
static int put_change(const struct peet_cli_whatif *w, const char *change, char *out, size_t room)
{
    static const char *const layouts[] = {"pad=", "align=", "stride=", "base="};
    if (strncmp(change, "machine.", 8) == 0)
        return put_machine(w, change + 8, out, room);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
        if (strncmp(change, layouts[i], strlen(layouts[i])) == 0)
            return snprintf(out, room, "--remap=%s", change);
    return snprintf(out, room, "--%s", change); /* perfect, cores, lock-model, schedule, ... */
}

/* run OPTIONS --output ... --quiet [--observe dtrack] CHANGES -- PROGRAM */
static char **arguments(const struct peet_cli_whatif *w, const struct peet_cli_whatif_run *run, char *folder,
    char *texts, size_t room)
{
    char **argv = calloc(w->noptions + w->nprogram + 2 * run->nchanges + 11, sizeof(*argv));
    size_t n = 0, used = 0;
    if (!argv)
        return NULL;
    argv[n++] = (char *)"peet";
    argv[n++] = (char *)"run";
    for (size_t i = 0; i < w->noptions; i++)
        argv[n++] = w->options[i];
    argv[n++] = (char *)"--quiet";
    argv[n++] = (char *)"--output";
    argv[n++] = folder;
    if (run->number == 0 && !w->observed) { /* the others need no observer: it changes nothing */
        argv[n++] = (char *)"--observe";
        argv[n++] = (char *)"dtrack";
    }
    if (w->affine)
        argv[n++] = (char *)"--policy=affinity";
    for (size_t i = 0; i < run->nchanges; i++) {
        int length = put_change(w, run->changes[i], texts + used, room - used);
        argv[n++] = texts + used;
        used += (size_t)length + 1;
        if (length < 0 || used >= room) {
            free(argv);
            errno = E2BIG;
            return NULL;
        }
    }
    if (w->nprogram)
        argv[n++] = (char *)"--";
    for (size_t i = 0; i < w->nprogram; i++)
        argv[n++] = w->program[i];
    return argv;
}

/* In the child: the standard files of a run. */
static int redirect(const struct peet_cli_whatif *w, const struct peet_cli_whatif_run *run, const char *log)
{
    struct stat st;
    int in = -1;
    if (fstat(0, &st) == 0 && S_ISREG(st.st_mode))
        in = open("/proc/self/fd/0", O_RDONLY); /* a new description: from the beginning */
    else if (run->number)
        in = open("/dev/null", O_RDONLY);
    if (in > 0 && (dup2(in, 0) < 0 || close(in) < 0))
        return -1;
    if (run->number == 0 && !w->silent)
        return 0;
    int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (out < 0 || dup2(out, 1) < 0 || (run->number && dup2(out, 2) < 0))
        return -1;
    return out > 2 ? close(out) : 0;
}

static int supervise(char **argv, const struct peet_cli_whatif *w, struct peet_cli_whatif_run *run, const char *log,
    struct peet_error *error)
{
    fflush(NULL);
    const pid_t parent = getpid(), child = fork();
    if (child < 0)
        return peet_error_set(error, PEET_EIO, "cannot start a run: %s", strerror(errno));
    if (child == 0) {
        peet_cli_end_with(parent);
        peet_cli_file_limit_as_before();
        if (redirect(w, run, log) == 0)
            execv("/proc/self/exe", argv);
        _exit(127);
    }
    while (waitpid(child, &run->status, 0) < 0)
        if (errno != EINTR)
            return peet_error_set(error, PEET_EIO, "lost a run: %s", strerror(errno));
    return 0;
}

/* @log: what it said, with what the program wrote; the first run said it to the user */
static int no_results(const struct peet_cli_whatif_run *run, const char *log, struct peet_error *error)
{
    static const char ours[] = "peet: ";
    char line[600], said[sizeof line] = "";
    if (!run->number)
        return peet_error_set(error,
            WIFEXITED(run->status) && WEXITSTATUS(run->status) == PEET_CLI_USAGE ? PEET_EINVALID : PEET_EIO,
            "the run left no results");
    FILE *file = fopen(log, "r");
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, ours, sizeof(ours) - 1) == 0)
            snprintf(said, sizeof(said), ": %s", line + sizeof(ours) - 1);
    }
    if (file)
        fclose(file);
    return peet_error_set(error, PEET_ENOTFOUND, "the run with %s%s left no results%s (more may be in %s)",
        run->changes[0], run->nchanges > 1 ? " and others" : "", said, log);
}

int peet_cli_whatif_go(const struct peet_cli_whatif *w, struct peet_cli_whatif_run *run, struct peet_error *error)
{
    char folder[PATH_MAX], path[PATH_MAX + 16], log[PATH_MAX + 16];
    size_t room = 16;
    json_error_t where;
    for (size_t i = 0; i < run->nchanges; i++)
        room += strlen(run->changes[i]) + strlen(machine_of(w)) + 32;
    char *texts = malloc(room);
    if (!texts)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    if ((size_t)snprintf(folder, sizeof(folder), "%s/%u", w->output, run->number) >= sizeof(folder) - 16) {
        free(texts);
        return peet_error_set(error, PEET_ELIMIT, "%s: the name is too long", w->output);
    }
    snprintf(path, sizeof(path), "%s/stats.json", folder);
    snprintf(log, sizeof(log), "%s.txt", folder);
    unlink(path);
    char **argv = arguments(w, run, folder, texts, room);
    int err = argv ? supervise(argv, w, run, log, error)
                   : peet_error_set(error, PEET_ENOMEM, "cannot start a run: %s", strerror(errno));
    free(argv);
    free(texts);
    if (err)
        return err;
    run->stats = json_load_file(path, 0, &where);
    if (!run->stats && WIFEXITED(run->status) && WEXITSTATUS(run->status) == 127)
        return peet_error_set(error, PEET_EIO, "cannot start a run of my own, or write %s", log);
    if (!run->stats)
        return no_results(run, log, error);
    return 0;
}
