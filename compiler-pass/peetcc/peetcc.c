/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peetcc: clang with the recording pass.  All options are clang's; peetcc adds the plugin, the place
 * of peet's headers and, at link time, the runtime, and leaves the schema beside what it linked.  It
 * finds its neighbours from its own place: <prefix>/bin/peetcc.  Called peetcc++ or peetc++ it is clang++,
 * called peetflang it is flang.
 */
#include "args.h"
#include "seal.h"
#include "stamp.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("peetcc: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        complain("out of memory");
        exit(1);
    }
    return text;
}

/* <prefix> of <prefix>/bin/peetcc; the caller owns it. */
static char *find_prefix(void)
{
    char *self = realpath("/proc/self/exe", NULL);
    for (int up = 0; self && up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
    }
    return self;
}

/* The first executable file of that name on PATH; NULL if there is none.  The caller owns it. */
static char *find_on_path(const char *name)
{
    const char *path = getenv("PATH");
    if (!path)
        path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        size_t length = strcspn(path, ":");
        char *file = text_of("%.*s%s%s", (int)length, path, length ? "/" : "./", name);
        struct stat status;
        if (stat(file, &status) == 0 && S_ISREG(status.st_mode) && access(file, X_OK) == 0)
            return file;
        free(file);
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* The compilers that we can be. */
static const struct driver {
    const char *variable, *name, *own, *package;
    int fortran; /* flang knows fewer of clang's options */
} drivers[] = {
    {"PEETCC_CLANG", "clang-22", "/usr/lib/llvm-22/bin/clang", "clang-22", 0},
    {"PEETCC_CLANGXX", "clang++-22", "/usr/lib/llvm-22/bin/clang++", "clang-22", 0},
    {"PEETCC_FLANG", "flang-22", "/usr/lib/llvm-22/bin/flang", "flang-22", 1},
};

static const struct driver *driver_of(const char *name)
{
    size_t length = strlen(name);
    if (length >= 5 && strcmp(name + length - 5, "flang") == 0)
        return &drivers[2];
    return &drivers[length >= 2 && strcmp(name + length - 2, "++") == 0];
}

static char *find_clang(const struct driver *driver)
{
    const char *variable = driver->variable;
    const char *name = getenv(variable);
    if (name && *name) {
        char *found = strchr(name, '/') ? text_of("%s", name) : find_on_path(name);
        if (!found || access(found, X_OK) != 0) {
            complain("%s=%s: no such program", variable, name);
            return NULL;
        }
        return found;
    }
    char *found = find_on_path(driver->name);
    if (found)
        return found;
    if (access(driver->own, X_OK) == 0)
        return text_of("%s", driver->own);
    complain("%s is not on PATH: install the package %s, or name the compiler in %s", driver->name, driver->package,
        variable);
    return NULL;
}

static void push(struct peetcc_vector *vector, const char *item)
{
    if (peetcc_vector_push(vector, (char *)item)) {
        complain("out of memory");
        exit(1);
    }
}

static void push_linker(struct peetcc_vector *vector, const char *item)
{
    push(vector, "-Xlinker");
    push(vector, item);
}

/* Returns: 0, or -1 after a complaint. */
static int must_exist(const char *path)
{
    if (access(path, R_OK) == 0)
        return 0;
    complain("%s: %s; this installation of peet is incomplete", path, strerror(errno));
    return -1;
}

static int push_runtime(const struct peetcc_args *args, const char *prefix, struct peetcc_vector *out)
{
    char *runtime = text_of("%s/lib/libpeet-rt.so", prefix);
    if (must_exist(runtime))
        return -1;
    push_linker(out, "--push-state");
    push_linker(out, "--no-as-needed");
    push_linker(out, runtime);
    if (args->openmp) { /* before the ordinary library, whose place it takes under simulation */
        char *openmp = text_of("%s/lib/libpeet-omp.so", prefix);
        if (must_exist(openmp))
            return -1;
        push_linker(out, openmp);
    }
    push_linker(out, "--pop-state");
    return 0;
}

/* clang's command line: ours first, where no -x and no "--" of the user's can change its meaning; the
 * run path last, so that it hides none of the user's. */
static int make_command(const struct peetcc_args *args, const struct driver *driver, char *clang, const char *prefix,
    struct peetcc_vector *out)
{
    int link = peetcc_args_link(args);
    push(out, clang);
    if (!args->cc1) {
        char *pass = text_of("%s/lib/peet/peet-pass.so", prefix);
        if (!driver->fortran)
            push(out, "--start-no-unused-arguments");
        if (args->has_input && !args->preprocess_only) {
            if (must_exist(pass))
                return -1;
            push(out, text_of("-fpass-plugin=%s", pass));
        }
        free(pass);
        if (!driver->fortran) {
            /* no reproducers in the temporary folder: they would lack our plugin */
            push(out, "-fno-crash-diagnostics");
            push(out, "-idirafter");
            push(out, text_of("%s/include", prefix));
            push(out, "--end-no-unused-arguments");
        }
    }
    const int place = link ? peetcc_runtime_place(args) : -1;
    for (int i = 0; i <= args->user.count; i++) {
        if (i == place && push_runtime(args, prefix, out))
            return -1;
        if (i == args->separator && link) {
            push_linker(out, "-rpath");
            push_linker(out, text_of("%s/lib", prefix));
        }
        if (i < args->user.count)
            push(out, args->user.items[i]);
    }
    return 0;
}

/* clang's OpenMP needs a header and a library that come in a package of their own.  Whoever has them elsewhere says so
 * with -I and -L, so this is a warning, ahead of what the compiler or the linker will say. */
static void look_for_openmp(const struct peetcc_args *args, const char *clang)
{
    char *self = realpath(clang, NULL), *slash = self ? strrchr(self, '/') : NULL;
    if (args->openmp && args->has_input && slash) {
        char *library = text_of("%.*s/../lib/libomp.so", (int)(slash - self), self);
        if (access(library, R_OK) != 0)
            complain("warning: OpenMP's header and library are not installed beside %s: install libomp-22-dev", self);
        free(library);
    }
    free(self);
}

/* What the pass shall do, for the pass to read; keeps what the user has put there. */
static int set_pass_options(const struct peetcc_args *args)
{
    const char *old = getenv("PEET_PASS_OPTIONS");
    if (!args->granularity && !args->derive && !args->domains)
        return 0;
    char *options = text_of("%s%s%s%s%s%s%s", old ? old : "", old && *old ? "," : "", args->domains ? "domains=1," : "",
        args->granularity ? "granularity=" : "", args->granularity ? args->granularity : "",
        args->derive ? (args->granularity ? ",derive=" : "derive=") : "", args->derive ? args->derive : "");
    int failed = setenv("PEET_PASS_OPTIONS", options, 1);
    free(options);
    return failed;
}

/* Run clang to its end.  Returns: its exit status as a shell would give it. */
static int run(char **command)
{
    pid_t child = fork();
    if (child < 0) {
        complain("cannot start %s: %s", command[0], strerror(errno));
        return 1;
    }
    if (child == 0) {
        execv(command[0], command);
        complain("cannot run %s: %s", command[0], strerror(errno));
        _exit(errno == ENOENT ? 127 : 126);
    }
    /* An interrupt from the terminal reaches clang too, which then tidies up; we outlive it. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) {
            complain("cannot wait for the compiler: %s", strerror(errno));
            return 1;
        }
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

/* Link; stamp the result if it is new; then leave its schema beside it if that is asked for and it carries one. */
static int link_and_seal(char **command, const char *output, int schema_file)
{
    struct stat before = {0}, now;
    int existed = stat(output, &before) == 0;
    int status = run(command);
    if (status != 0 || stat(output, &now) != 0 || !S_ISREG(now.st_mode))
        return status;
    if (existed && before.st_ino == now.st_ino && before.st_size == now.st_size &&
        before.st_mtim.tv_sec == now.st_mtim.tv_sec && before.st_mtim.tv_nsec == now.st_mtim.tv_nsec)
        return status; /* the linker was only asked a question */

    struct peet_error error = {0};
    if (peetcc_stamp(output, &error) < 0) {
        complain("%s", error.message);
        return 1;
    }
    if (!schema_file)
        return 0;
    char *schema = text_of("%s.schema", output);
    int sealed = peetcc_seal(output, schema, &error);
    if (sealed == PEET_EINVALID)
        complain("warning: %s", error.message);
    else if (sealed < 0 && sealed != PEET_ENOTFOUND) {
        complain("%s; -fno-peet-schema-file leaves the file out", error.message);
        status = 1;
    }
    free(schema);
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? argv[0] : "peetcc";
    const struct driver *driver = driver_of(name);

    /* Static, so that what lives until the process ends stays within a leak checker's sight. */
    static struct peetcc_args args;
    static struct peetcc_vector command;
    static char *prefix, *clang;
    struct peet_error error = {0};
    if (peetcc_args_read(argc, argv, &args, &error)) {
        complain("%s", error.message);
        return 1;
    }
    prefix = find_prefix();
    if (!prefix) {
        complain("cannot find the path of this program: %s", strerror(errno));
        return 1;
    }
    if (args.asks_prefix) {
        int failed = puts(prefix) < 0 || fflush(stdout) != 0;
        return failed ? 1 : 0;
    }
    clang = find_clang(driver);
    if (!clang || make_command(&args, driver, clang, prefix, &command) || set_pass_options(&args))
        return 1;

    look_for_openmp(&args, clang);
    if (args.asks_version) {
        int status = run(command.items);
        if (status == 0)
            printf("peetcc %s, recording pass and runtime in %s\n", PEET_VERSION, prefix);
        return fflush(stdout) == 0 ? status : 1;
    }
    const char *suppressed = getenv("PEETCC_NO_SCHEMA_FILE");
    if (peetcc_args_link(&args) && !args.shows_commands)
        return link_and_seal(command.items, args.output ? args.output : "a.out",
            args.output && args.schema_file && !(suppressed && *suppressed && strcmp(suppressed, "0") != 0));
    execv(command.items[0], command.items);
    complain("cannot run %s: %s", clang, strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
