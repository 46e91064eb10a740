/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running the subject; see supervise.h.  The child's environment is the same in every run but for the
 * paths, so that the subject's memory looks the same; the user's own travels in a memory file, from
 * which the runtime restores it before the subject's first instruction.
 */
#include "supervise.h"

#include "common.h"
#include "base/spill.h"
#include "progress.h"
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    STACK_BYTES = 8 << 20,
    FIRST_FD = 900, /* out of the way of the subject's own files, whose numbers must not depend on us */
    LINE_BYTES = 4096,
};

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { FORWARDED = sizeof(forwarded) / sizeof(forwarded[0]) };

/* Variables that a sanitizer which peet was built with must see at once, and the choice of variants of the C library's
 * functions. */
static const char *const passed_on[] = {"UBSAN_OPTIONS", "LSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "GLIBC_TUNABLES"};

/* What is recorded of the C library must not depend on the host: functions for AVX2, which processors of ten years
 * have, and nothing beyond; none of what it prefers on some of them (no vzeroupper where there is transactional memory, RTM;
 * another strstr() on Intel's); no limits that follow from the host's caches: first level 32 KiB, 1 MiB a thread of the
 * last one, three quarters of which is where stores begin to pass the caches by. */
static const char pinned_variants[] =
    "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-ERMS,-FSRM,-RTM,"
    "-Prefer_No_VZEROUPPER,-Fast_Unaligned_Load:"
    "glibc.cpu.x86_data_cache_size=32768:glibc.cpu.x86_shared_cache_size=1048576:glibc.cpu.x86_non_temporal_threshold=786432";

struct session {
    const struct peet_cli_subject *subject;
    struct peet_error *error;
    int environ_fd;
    int room_fd;   /* -1: none */
    int spill_fd;  /* memory for results that the subject cannot write any more */
    int report[2]; /* pipe: host inside the subject -> here */
    int failed[2]; /* pipe: errno of an exec that failed */
    struct peet_cli_progress progress;
    char *envp[20];
    int nenv;
    char line[LINE_BYTES]; /* of the report, begun */
    size_t line_length;
    unsigned reports;
};

static volatile sig_atomic_t child_pid;

/* A key of the terminal reaches the child by itself, being in the same process group. */
static void forward(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (child_pid > 0 && info->si_code != SI_KERNEL)
        kill(child_pid, signal);
    errno = saved;
}

static int give_up(struct session *s, const char *what)
{
    return peet_error_set(s->error, PEET_EIO, "cannot %s: %s", what, strerror(errno));
}

static int write_environ(struct session *s)
{
    extern char **environ;
    s->environ_fd = memfd_create("peet-environ", MFD_CLOEXEC);
    if (s->environ_fd < 0)
        return give_up(s, "make the environment's file");
    for (char **variable = environ; *variable; variable++) {
        const char *at = *variable;
        size_t left = strlen(at) + 1;
        while (left) {
            ssize_t done = write(s->environ_fd, at, left);
            if (done < 0)
                return give_up(s, "write the environment's file");
            at += done;
            left -= (size_t)done;
        }
    }
    if (lseek(s->environ_fd, 0, SEEK_SET) != 0)
        return give_up(s, "rewind the environment's file");
    return 0;
}

static int add_env(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int add_env(struct session *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vasprintf(&s->envp[s->nenv], format, args);
    va_end(args);
    if (length < 0) {
        s->envp[s->nenv] = NULL;
        return peet_error_set(s->error, PEET_ENOMEM, "out of memory");
    }
    s->nenv++;
    return 0;
}

/* A copy of a descriptor under a high number, for the child only. */
static int raise_fd(struct session *s, int *fd)
{
    struct rlimit limit;
    int from = FIRST_FD;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FIRST_FD + 16)
        from = limit.rlim_cur > 32 ? (int)limit.rlim_cur - 16 : 3;
    int copy = fcntl(*fd, F_DUPFD_CLOEXEC, from);
    if (copy < 0)
        return give_up(s, "set up the subject's descriptors");
    close(*fd);
    *fd = copy;
    return 0;
}

static int note_sanitizer(struct dl_phdr_info *info, size_t size, void *out_path)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libclang_rt.asan"))
        return 0;
    *(const char **)out_path = info->dlpi_name;
    return 1;
}

/* A sanitized build of peet brings a sanitized host into a subject that is not.  The sanitizer's library must be loaded
 * with the program, and leave the subject's signals to the subject.  The runtime's library comes before it: threads and
 * memory of the subject are then the runtime's, as in any other build.  (A thread that the sanitizer makes waits for a
 * lock that its creator holds until it goes on, which in simulated time may be later.)
 * What the sanitizer does under its allocator's locks must not be what the subject waits for in simulated time, or the
 * host, which goes on, would wait for those locks for ever: no search for leaks at the exit, which yields; no release
 * of memory, which reads the clock. */
static int add_preload(struct session *s)
{
    const char *user = getenv("LD_PRELOAD"), *asan = getenv("ASAN_OPTIONS"), *sanitizer = NULL;
    dl_iterate_phdr(note_sanitizer, &sanitizer);
    int err = 0;
    if (sanitizer)
        err = add_env(s,
            "ASAN_OPTIONS=handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
            "leak_check_at_exit=0:allocator_release_to_os_interval_ms=-1:verify_asan_link_order=0%s%s",
            asan && *asan ? ":" : "", asan ? asan : "");
    else if (asan)
        err = add_env(s, "ASAN_OPTIONS=%s", asan);
    if (err)
        return err;
    const struct peet_cli_subject *const subject = s->subject;
    const int alone = !sanitizer || subject->is_foreign, runtime = sanitizer || subject->is_foreign;
    char room[40] = "";
    if (s->room_fd >= 0)
        snprintf(room, sizeof(room), "/proc/self/fd/%d:", s->room_fd);
    if (!*room && !runtime && !subject->brings_openmp && !user)
        return 0;
    return add_env(s, "LD_PRELOAD=%s%s%s%s%s%s%s%s", room, runtime ? subject->lib_dir : "",
        runtime ? "/libpeet-rt.so:" : "", subject->brings_openmp ? subject->lib_dir : "",
        subject->brings_openmp ? "/libpeet-omp.so:" : "", alone ? "" : sanitizer, alone ? "" : ":", user ? user : "");
}

static int make_environment(struct session *s)
{
    const struct peet_cli_subject *subject = s->subject;
    const char *library_path = getenv("LD_LIBRARY_PATH");
    int err = add_env(s, "PEET_CONFIG=%s", subject->config_path);
    if (!err)
        err = add_env(s, "PEET_OUTPUT=%s", subject->output);
    if (!err)
        err = add_env(s, "PEET_LIB=%s", subject->lib_dir);
    if (!err)
        err = add_env(s, "PEET_ENVIRON_FD=%d", s->environ_fd);
    if (!err)
        err = add_env(s, "PEET_REPORT_FD=%d", s->report[1]);
    if (!err)
        err = add_env(s, "PEET_PROGRESS_FD=%d", s->progress.fd);
    if (!err)
        err = add_env(s, "PEET_STACK=%llu", (unsigned long long)subject->stack_bytes);
    if (!err)
        err = add_env(s, "PEET_PROCESSORS=%llu", (unsigned long long)subject->processors);
    if (!err)
        err = add_env(s, "PEET_QUIET=%d", subject->quiet != 0);
    if (!err && subject->each_event)
        err = add_env(s, "PEET_LOCKS=events");
    if (!err)
        err = add_env(s, PEET_SPILL_SETTING "=%d", s->spill_fd);
    if (!err && s->room_fd >= 0)
        err = add_env(s, "PEET_ROOM_FD=%d", s->room_fd);
    if (!err) /* a subject linked against another installation still gets this one's runtime */
        err = library_path && *library_path ? add_env(s, "LD_LIBRARY_PATH=%s:%s", library_path, subject->lib_dir)
                                            : add_env(s, "LD_LIBRARY_PATH=%s", subject->lib_dir);
    if (!err)
        err = add_preload(s);
    for (size_t i = 0; !err && i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
        if (getenv(passed_on[i]))
            err = add_env(s, "%s=%s", passed_on[i], getenv(passed_on[i]));
    if (!err && subject->pin_variants && !getenv("GLIBC_TUNABLES"))
        err = add_env(s, "GLIBC_TUNABLES=%s", pinned_variants);
    return err;
}

static int prepare(struct session *s)
{
    if (pipe2(s->report, O_CLOEXEC) != 0 || pipe2(s->failed, O_CLOEXEC) != 0)
        return give_up(s, "make a pipe");
    int err = write_environ(s);
    if (!err)
        err = peet_cli_progress_open(&s->progress, s->error);
    s->progress.expected_instructions = s->subject->expected_instructions;
    if (!err && (s->spill_fd = peet_spill_make()) < 0)
        err = give_up(s, "make the memory for results");
    if (!err && (s->room_fd = peet_cli_room_make()) >= 0)
        err = raise_fd(s, &s->room_fd);
    if (!err)
        err = raise_fd(s, &s->environ_fd);
    if (!err)
        err = raise_fd(s, &s->report[1]);
    if (!err)
        err = raise_fd(s, &s->progress.fd);
    if (!err)
        err = raise_fd(s, &s->spill_fd);
    if (!err)
        err = make_environment(s);
    return err;
}

/* The host's stack, and the layout of memory that the kernel derives from the limit, are the same for all; the
 * subject's own stack and its limit are the runtime's business. */
static int set_stack_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return -1;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > STACK_BYTES ? STACK_BYTES : limit.rlim_max;
    return setrlimit(RLIMIT_STACK, &limit);
}

/* In the child: never returns. */
static void become_subject(struct session *s, const sigset_t *mask, pid_t parent)
{
    int ready = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
    const int passed[] = {s->environ_fd, s->report[1], s->progress.fd, s->spill_fd, s->room_fd};
    for (size_t i = 0; ready && i < sizeof(passed) / sizeof(passed[0]); i++)
        ready = passed[i] < 0 || fcntl(passed[i], F_SETFD, 0) == 0;
    unsigned long layout = ADDR_NO_RANDOMIZE | (s->subject->libraries_low ? ADDR_COMPAT_LAYOUT : 0);
    ready = ready && personality(layout) != -1 && set_stack_limit() == 0;
    ready = ready && sigprocmask(SIG_SETMASK, mask, NULL) == 0;
    peet_cli_file_limit_as_before();
    if (ready)
        execve(s->subject->path, s->subject->argv, s->envp);
    int why = errno;
    ssize_t ignored = write(s->failed[1], &why, sizeof(why));
    (void)ignored;
    _exit(127);
}

static void say_line(struct session *s)
{
    peet_cli_progress_clear(&s->progress);
    peet_cli_complain("%.*s", (int)s->line_length, s->line);
    s->reports++;
    s->line_length = 0;
}

/* Take what the pipe holds.  Returns: 0 at its end, else 1. */
static int read_report(struct session *s)
{
    char buffer[4096];
    for (;;) {
        ssize_t got = read(s->report[0], buffer, sizeof(buffer));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return 1;
        if (got <= 0)
            return 0;
        for (ssize_t i = 0; i < got; i++) {
            if (buffer[i] == '\n') {
                say_line(s);
                continue;
            }
            if (s->line_length == sizeof(s->line))
                say_line(s);
            s->line[s->line_length++] = buffer[i];
        }
    }
}

/* Until the child has ended; reports and progress as they come. */
static int watch(struct session *s, int child_fd, const sigset_t *mask)
{
    int open = 1, begun = !s->subject->begun;
    double next = peet_cli_now_s() + PEET_CLI_PROGRESS_INTERVAL_MS * 1e-3;
    for (;;) {
        struct pollfd wait[2] = {
            {.fd = child_fd, .events = POLLIN}, {.fd = open ? s->report[0] : -1, .events = POLLIN}};
        const struct timespec interval = {.tv_nsec = PEET_CLI_PROGRESS_INTERVAL_MS * 1000000L};
        int ready = ppoll(wait, 2, s->subject->show_progress || !begun ? &interval : NULL, mask);
        if (ready < 0 && errno != EINTR)
            return give_up(s, "wait for the subject");
        if (ready > 0 && wait[1].revents)
            open = read_report(s);
        if (ready > 0 && wait[0].revents)
            break;
        if (!begun && peet_cli_progress_begun(&s->progress)) {
            begun = 1;
            s->subject->begun(s->subject->begun_arg);
        }
        if (s->subject->show_progress && peet_cli_now_s() >= next) {
            peet_cli_progress_show(&s->progress);
            next = peet_cli_now_s() + PEET_CLI_PROGRESS_INTERVAL_MS * 1e-3;
        }
    }
    if (open)
        read_report(s);
    if (s->line_length)
        say_line(s);
    peet_cli_progress_clear(&s->progress);
    return 0;
}

static void install_forwarding(struct sigaction *old)
{
    struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < FORWARDED; i++) {
        sigaction(forwarded[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) /* nohup and the like mean it */
            sigaction(forwarded[i], &action, NULL);
    }
}

static int run_child(struct session *s, struct peet_cli_ending *out_ending)
{
    sigset_t held, mask;
    struct sigaction old[FORWARDED], pipe_action, ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&held);
    for (int i = 0; i < FORWARDED; i++)
        sigaddset(&held, forwarded[i]);
    /* Held back until the child's number is known; the child gets the mask that we were given. */
    sigprocmask(SIG_BLOCK, &held, &mask);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become_subject(s, &mask, parent);
    if (child < 0) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        return give_up(s, "start the subject");
    }
    child_pid = child;
    install_forwarding(old);
    sigaction(SIGPIPE, &ignore, &pipe_action);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(s->report[1]);
    close(s->failed[1]);
    s->report[1] = s->failed[1] = -1;
    fcntl(s->report[0], F_SETFL, O_NONBLOCK);

    int why = 0, err = 0;
    ssize_t got;
    while ((got = read(s->failed[0], &why, sizeof(why))) < 0 && errno == EINTR)
        ;
    int child_fd = pidfd_open(child, 0);
    if (got == 0 && child_fd >= 0)
        err = watch(s, child_fd, &mask);
    while (waitpid(child, &out_ending->wait_status, 0) < 0 && errno == EINTR)
        ;
    child_pid = 0;
    if (child_fd < 0)
        err = give_up(s, "watch the subject");
    else
        close(child_fd);
    for (int i = 0; i < FORWARDED; i++)
        sigaction(forwarded[i], &old[i], NULL);
    sigaction(SIGPIPE, &pipe_action, NULL);
    if (got > 0)
        err = peet_error_set(s->error, PEET_EINVALID, "cannot run %s: %s", s->subject->path, strerror(why));
    return err;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

int peet_cli_supervise(const struct peet_cli_subject *subject, struct peet_cli_ending *out_ending,
    struct peet_error *error)
{
    struct session s = {.subject = subject,
        .error = error,
        .environ_fd = -1,
        .room_fd = -1,
        .spill_fd = -1,
        .report = {-1, -1},
        .failed = {-1, -1},
        .progress = {.fd = -1}};
    *out_ending = (struct peet_cli_ending){0};
    double started_s = peet_cli_now_s();
    int err = prepare(&s);
    if (!err)
        err = run_child(&s, out_ending);
    if (!err)
        err = peet_spill_land(s.spill_fd, subject->output, error);
    out_ending->reports = s.reports;
    out_ending->seconds = peet_cli_now_s() - started_s;
    peet_cli_progress_close(&s.progress);
    close_if_open(s.environ_fd);
    close_if_open(s.room_fd);
    close_if_open(s.spill_fd);
    for (int end = 0; end < 2; end++) {
        close_if_open(s.report[end]);
        close_if_open(s.failed[end]);
    }
    for (int i = 0; i < s.nenv; i++)
        free(s.envp[i]);
    return err;
}

int peet_cli_end_like(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    /* The subject has left its core file, if there was to be one; ours would only hide it. */
    const struct rlimit none = {0};
    sigset_t one;
    int number = WTERMSIG(wait_status);
    setrlimit(RLIMIT_CORE, &none);
    fflush(NULL);
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
    return 128 + number;
}
