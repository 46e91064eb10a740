/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a sweep, and how they are started; see sweep.h. */
#include "common.h"
#include "progress.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT_OF_THE_WAY = 900 };

static int is_there(const char *folder, const char *below, const char *key, const char *ending)
{
    char path[PATH_MAX];
    return (size_t)snprintf(path, sizeof(path), "%s/%s/%s%s", folder, below, key, ending) < sizeof(path) &&
        access(path, F_OK) == 0;
}

enum peet_cli_sweep_state peet_cli_sweep_state(const char *folder, const char *key)
{
    if (is_there(folder, "runs", key, "/stats.json"))
        return PEET_CLI_SWEEP_DONE;
    return is_there(folder, "failed", key, "/status") ? PEET_CLI_SWEEP_FAILED : PEET_CLI_SWEEP_TODO;
}

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *where)
{
    (void)what;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void peet_cli_sweep_forget(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%.2000s/recorded", folder);
    remove_folder(path);
}

/* The child: peet run with this run's words; what it says goes into its folder. */
static _Noreturn void become(const char *self, const json_t *command, const char *part, const char *observer)
{
    size_t n = json_array_size(command), at = 0;
    char **argv = calloc(n + 8, sizeof(*argv)), path[PATH_MAX];
    int in = open("/dev/null", O_RDONLY), out, say;
    snprintf(path, sizeof(path), "%s/output.txt", part);
    out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    snprintf(path, sizeof(path), "%s/messages.txt", part);
    say = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!argv || in < 0 || out < 0 || say < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(say, 2) < 0)
        _exit(PEET_CLI_FAILED);
    argv[at++] = (char *)"peet";
    argv[at++] = (char *)"run";
    argv[at++] = (char *)"--quiet";
    argv[at++] = (char *)"--output";
    argv[at++] = (char *)part;
    if (observer) {
        argv[at++] = (char *)"--observe";
        argv[at++] = (char *)observer;
    }
    for (size_t i = 0; i < n; i++)
        argv[at++] = (char *)json_string_value(json_array_get(command, i));
    peet_cli_file_limit_as_before();
    execv(self, argv);
    _exit(PEET_CLI_FAILED);
}

/* What failed is kept apart, with its status. */
static void keep_failed(const char *folder, const char *key, const char *part, int status)
{
    char path[PATH_MAX], file[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/failed/%s", folder, key);
    remove_folder(path);
    if (rename(part, path) != 0)
        return;
    snprintf(file, sizeof(file), "%s/status", path);
    FILE *out = fopen(file, "we");
    if (!out)
        return;
    if (WIFSIGNALED(status))
        fprintf(out, "signal %d\n", WTERMSIG(status));
    else
        fprintf(out, "status %d\n", WEXITSTATUS(status));
    fclose(out);
}

/* Carries out a command in an empty folder.  Returns: whether it failed */
static int go(const char *self, const json_t *command, const char *part, const char *observer, int *out_status)
{
    char path[PATH_MAX];
    remove_folder(part);
    mkdir(part, 0777);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        peet_cli_end_with(parent);
        become(self, command, part, observer);
    }
    while (child > 0 && waitpid(child, out_status, 0) < 0 && errno == EINTR)
        ;
    snprintf(path, sizeof(path), "%.2000s/stats.json", part);
    return child < 0 || !WIFEXITED(*out_status) || WEXITSTATUS(*out_status) != 0 || access(path, F_OK) != 0;
}

/* From the trace of its group.  Returns: whether that gave what a run of its own gives */
static int from_trace(const char *self, const json_t *settings, const char *trace, const char *part)
{
    json_t *command = json_pack("[s, s, s, O]", "--from", trace, "--machine", json_object_get(settings, "machine"));
    int status = -1, good = command && !go(self, command, part, NULL, &status) && peet_cli_sweep_same(part);
    json_decref(command);
    return good;
}

/* One process at a time carries out a run, also if the sweep that began it was killed and its runs were not: who comes later
 * waits until the program has ended, too, which has the lock from its parent.  Returns: the lock to be closed, or -1: none
 * can be had here, and all goes on without */
static int lock_run(const char *folder, const char *key)
{
    char path[PATH_MAX];
    struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    one.l_start = (off_t)(strtoull(key, NULL, 16) >> 2);
    snprintf(path, sizeof(path), "%.2000s/.locks", folder);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666), lock;
    if (file < 0)
        return -1;
    lock = fcntl(file, F_DUPFD, OUT_OF_THE_WAY); /* of the files that the program opens */
    if (lock < 0)
        lock = fcntl(file, F_DUPFD, 0);
    close(file);
    while (lock >= 0 && fcntl(lock, F_OFD_SETLKW, &one) != 0)
        if (errno != EINTR) {
            close(lock);
            lock = -1;
        }
    return lock;
}

/* A run that nobody else carries out now.  Returns: whether it failed */
static int carry_out(const char *folder, const json_t *plan, size_t index, const char *self, const char *key)
{
    char path[PATH_MAX], part[PATH_MAX], done[PATH_MAX];
    const json_t *one = json_array_get(json_object_get(plan, "runs"), index - 1);
    enum peet_cli_sweep_part shares = peet_cli_sweep_part(plan, index);
    int status = -1, failed = 0;
    snprintf(part, sizeof(part), "%.2000s/runs/%s.part", folder, key);
    snprintf(done, sizeof(done), "%.2000s/runs/%s", folder, key);
    if (shares != PEET_CLI_SWEEP_FOLLOWS || !peet_cli_sweep_trace(folder, plan, index, path, sizeof(path)) ||
        !from_trace(self, json_object_get(one, "settings"), path, part))
        failed =
            go(self, json_object_get(one, "command"), part, shares == PEET_CLI_SWEEP_LEADS ? "trace" : NULL, &status);
    if (!failed && shares == PEET_CLI_SWEEP_LEADS)
        peet_cli_sweep_keep(folder, plan, index, part);
    failed = failed || rename(part, done) != 0;
    if (failed)
        keep_failed(folder, key, part, status);
    return failed;
}

int peet_cli_sweep_one(const char *folder, size_t index)
{
    char path[PATH_MAX], *self = realpath("/proc/self/exe", NULL);
    json_error_t where;
    int failed = 1;
    snprintf(path, sizeof(path), "%s/plan.json", folder);
    json_t *plan = json_load_file(path, 0, &where);
    const json_t *one = json_array_get(json_object_get(plan, "runs"), index - 1);
    const char *key = json_string_value(json_object_get(one, "key"));
    if (!self || !key || !json_is_array(json_object_get(one, "command"))) {
        peet_cli_complain("%s: there is no run %zu in the plan", path, index);
    } else {
        int lock = lock_run(folder, key);
        failed = peet_cli_sweep_state(folder, key) != PEET_CLI_SWEEP_DONE && carry_out(folder, plan, index, self, key);
        if (lock >= 0)
            close(lock);
    }
    json_decref(plan);
    free(self);
    return failed;
}

/* --------------------------------------------------------------------------------------------- ways to start */

static void show(size_t done, size_t all, size_t failed, double started)
{
    double passed = peet_cli_now_s() - started, left = done ? passed / (double)done * (double)(all - done) : 0;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[Kpeet: %zu of %zu runs", done, all);
    if (failed)
        fprintf(stderr, ", %zu failed", failed);
    if (done && done < all)
        fprintf(stderr, ", about %.0f s to go", left);
    if (done == all)
        fputc('\n', stderr);
}

/* As many children as there are processors; each is a process that carries out one run. */
static int side_by_side(const char *folder, const char *self, const size_t *numbers, size_t n, unsigned jobs,
    struct peet_error *error)
{
    size_t begun = 0, done = 0, failed = 0;
    unsigned running = 0;
    double started = peet_cli_now_s();
    while (done < n) {
        while (begun < n && running < jobs) {
            char number[24];
            snprintf(number, sizeof(number), "%zu", numbers[begun]);
            const pid_t parent = getpid(), child = fork();
            if (child < 0)
                break;
            if (child == 0) {
                peet_cli_end_with(parent);
                peet_cli_file_limit_as_before();
                execl(self, "peet", "sweep", "--run-one", number, "--output", folder, (char *)NULL);
                _exit(PEET_CLI_FAILED);
            }
            begun++;
            running++;
        }
        int status;
        pid_t child = wait(&status);
        if (child < 0 && errno != EINTR)
            return peet_error_set(error, PEET_EIO, "cannot start runs: %s", strerror(errno));
        if (child < 0)
            continue;
        running--;
        done++;
        failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        show(done, n, failed, started);
    }
    return 0;
}

static void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, out);
    fputc('\'', out);
}

/* A script with the numbers of the runs; parallel and sbatch read it. */
static int by_command(const char *folder, const char *self, const size_t *numbers, size_t n,
    enum peet_cli_sweep_way way, unsigned jobs, const char *words, struct peet_error *error)
{
    char path[PATH_MAX], here[PATH_MAX];
    if (!getcwd(here, sizeof(here)))
        return peet_error_set(error, PEET_EIO, "cannot find the working directory: %s", strerror(errno));
    snprintf(path, sizeof(path), "%s/%s", folder, way == PEET_CLI_SWEEP_SLURM ? "slurm.sh" : "parallel.sh");
    FILE *out = fopen(path, "we");
    if (!out)
        return peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno));
    fputs(way == PEET_CLI_SWEEP_SLURM ? "#!/bin/bash\n#SBATCH --output=/dev/null\nnumbers=("
                                      : "#!/bin/bash\nprintf '%s\\n'",
        out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %zu", numbers[i]);
    if (way == PEET_CLI_SWEEP_SLURM) {
        fputs(")\nexec ", out);
        quote(out, self);
        fputs(" sweep --run-one \"${numbers[$SLURM_ARRAY_TASK_ID]}\" --output ", out);
        quote(out, folder);
    } else {
        /* elsewhere, too: programs are named from here */
        fprintf(out, " | parallel --will-cite --jobs %u --workdir ", jobs);
        quote(out, here);
        fprintf(out, " %s ", words ? words : "");
        quote(out, self);
        fputs(" sweep --run-one {} --output ", out);
        quote(out, folder);
    }
    fputc('\n', out);
    if (fclose(out) != 0)
        return peet_error_set(error, PEET_EIO, "cannot write %s", path);
    char *command = NULL;
    int length = way == PEET_CLI_SWEEP_SLURM
        ? asprintf(&command, "sbatch --wait --quiet --array=0-%zu %s '%s'", n - 1, words ? words : "", path)
        : asprintf(&command, "bash '%s'", path);
    if (length < 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    int status = system(command);
    free(command);
    if (status < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return peet_error_set(error, PEET_EIO, "%s is not installed",
            way == PEET_CLI_SWEEP_SLURM ? "Slurm (Debian: slurm-client)" : "GNU parallel (Debian: parallel)");
    return 0; /* which runs failed is seen in the folder */
}

int peet_cli_sweep_runs(const char *folder, const json_t *plan, const size_t *numbers, size_t n,
    enum peet_cli_sweep_way way, unsigned jobs, const char *words, struct peet_error *error)
{
    char *self = realpath("/proc/self/exe", NULL);
    (void)plan;
    if (n == 0 || !self) {
        free(self);
        return n ? peet_error_set(error, PEET_EIO, "cannot find the path of this program") : 0;
    }
    if (strchr(folder, '\'')) {
        free(self);
        return peet_error_set(error, PEET_EINVALID, "the name of the sweep's folder has an apostrophe");
    }
    int err = way == PEET_CLI_SWEEP_LOCAL ? side_by_side(folder, self, numbers, n, jobs, error)
                                          : by_command(folder, self, numbers, n, way, jobs, words, error);
    free(self);
    return err;
}
