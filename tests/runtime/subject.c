/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject of the runtime's tests: `subject MODE [ARG]`.  run.sh says what each mode must show.
 */
#include "imitation.h"
#include "runtime.h"

#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <peet/doall.h>
#include <peet/module.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define REQUIRE(condition)                                                                                            \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            printf("FAILED line %d: %s\n", __LINE__, #condition);                                                     \
            exit(9);                                                                                                  \
        }                                                                                                             \
    } while (0)

int library_function(void); /* library.cpp */

static void at_end(void)
{
    record(1);
    puts("atexit");
}

__attribute__((constructor)) static void constructor(void)
{
    record(2);
    check();
}

__attribute__((destructor)) static void destructor(void)
{
    record(3);
    puts("destructor");
}

/* ------------------------------------------------------------------------------------------ addresses */

static _Thread_local int thread_local_variable;

static int addresses(void)
{
    int local;
    printf("local %p\nargv %p %p\nenviron %p\n", (void *)&local, (void *)environ, (void *)0, (void *)environ);
    for (int i = 0; i < 20; i++)
        printf("malloc %p\n", malloc((size_t)1 << i));
    printf("big %p\n", malloc(50000000));
    printf("mmap %p\n", mmap(NULL, 10000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    printf("mmap %p\n", mmap(NULL, 100000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    printf("sbrk %p\nname %p\nstdout %p\ntls %p\n", sbrk(100), (void *)program_invocation_name, (void *)stdout,
        (void *)&thread_local_variable);
    return 0;
}

/* -------------------------------------------------------------------------------------- exit in a doall */

static void exit_body(long i, void *arg)
{
    if (i == 5)
        exit(55);
}

/* ------------------------------------------------------------------------------------- many contexts */

static long total;

static void small_body(long i, void *arg)
{
    volatile char frame[2000];
    frame[i % 2000] = (char)i;
    peet_rt_event(PEET_ABSTRACT_YIELD, 1, (uint64_t[]){ 0 }); /* all the others run meanwhile */
    total += i + (frame[i % 2000] != (char)i);
}

static int contexts(long n)
{
    for (int round = 0; round < 2; round++) {
        total = 0;
        peet_doall(0, n, PEET_DOALL_DEFAULT, 0, small_body, NULL);
        REQUIRE(total == n * (n - 1) / 2);
    }
    puts("contexts kept apart");
    return 0;
}

/* ------------------------------------------------------------------------------- registers over the stub */

struct registers {
    uint64_t gpr[16], flags;
    uint64_t vector[16][4];
    uint64_t gap;
    uint32_t mxcsr;
    uint16_t x87_control, x87_status;
    double x87[3];
};

/* Fill every register, go through the stub with a misaligned stack and a full ring, store every register. */
void registers_over_stub(const struct registers *in, struct registers *out);
__asm__(
    ".text\n"
    "registers_over_stub:\n"
    "  push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "  push %rsi\n"
    "  sub $16, %rsp\n"
    "  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  ldmxcsr 656(%rdi)\n"
    "  fninit\n  fldcw 660(%rdi)\n"
    "  fldl 664(%rdi)\n  fldl 672(%rdi)\n  fldl 680(%rdi)\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "  vmovdqu 136+32*\\n(%rdi), %ymm\\n\n"
    ".endr\n"
    "  pushq 128(%rdi)\n  popfq\n"
    "  mov 0(%rdi), %rax\n  mov 8(%rdi), %rcx\n  mov 16(%rdi), %rdx\n  mov 24(%rdi), %rbx\n"
    "  mov 40(%rdi), %rbp\n  mov 48(%rdi), %rsi\n  mov 64(%rdi), %r8\n  mov 72(%rdi), %r9\n"
    "  mov 80(%rdi), %r10\n  mov 88(%rdi), %r11\n  mov 96(%rdi), %r12\n  mov 104(%rdi), %r13\n"
    "  mov 112(%rdi), %r14\n  mov 120(%rdi), %r15\n  mov 56(%rdi), %rdi\n"
    "  lea -9(%rsp), %rsp\n" /* arbitrarily aligned */
    "  movq $0x1234567, -64(%rsp)\n" /* red zone */
    "  lea -128(%rsp), %rsp\n"
    "  call *0x7ffd0010\n"
    "  lea 128(%rsp), %rsp\n"
    "  push %rax\n  pushfq\n"
    "  mov 41(%rsp), %rax\n" /* out: 9 + 16 + (push rax, pushf: 16) */
    "  mov %rcx, 8(%rax)\n  mov %rdx, 16(%rax)\n  mov %rbx, 24(%rax)\n  mov %rbp, 40(%rax)\n"
    "  mov %rsi, 48(%rax)\n  mov %rdi, 56(%rax)\n  mov %r8, 64(%rax)\n  mov %r9, 72(%rax)\n"
    "  mov %r10, 80(%rax)\n  mov %r11, 88(%rax)\n  mov %r12, 96(%rax)\n  mov %r13, 104(%rax)\n"
    "  mov %r14, 112(%rax)\n  mov %r15, 120(%rax)\n"
    "  mov %rax, %rdi\n"
    "  popq 128(%rdi)\n  popq 0(%rdi)\n"
    "  mov -64(%rsp), %rax\n  mov %rax, 32(%rdi)\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "  vmovdqu %ymm\\n, 136+32*\\n(%rdi)\n"
    ".endr\n"
    "  lea 9(%rsp), %rsp\n"
    "  stmxcsr 656(%rdi)\n  fnstcw 660(%rdi)\n"
    "  fnstsw 662(%rdi)\n"
    "  fstpl 664(%rdi)\n  fstpl 672(%rdi)\n  fstpl 680(%rdi)\n"
    "  cld\n"
    "  vzeroupper\n"
    "  fninit\n"
    "  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n"
    "  add $24, %rsp\n"
    "  pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
    "  ret\n");
_Static_assert(__builtin_offsetof(struct registers, vector) == 136, "used by the assembly above");
_Static_assert(__builtin_offsetof(struct registers, mxcsr) == 656, "used by the assembly above");
_Static_assert(__builtin_offsetof(struct registers, x87) == 664, "used by the assembly above");

static int registers(void)
{
    static struct registers in, out;
    unsigned char *in_bytes = (unsigned char *)&in;
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof in; i++)
            in_bytes[i] = (unsigned char)(round * 31 + (int)i * 7 + 1);
        double x87[3] = { round * 1.5, -round, 1.0 / (round + 1) };
        in.flags = round % 2 ? 0x246 : 0xad7; /* zero, parity / carry, direction off, overflow, sign */
        in.flags &= ~(uint64_t)0x400;
        in.mxcsr = round % 2 ? 0x1f80 : 0x7f80;
        in.x87_control = round % 2 ? 0x37f : 0xf7f;
        memcpy(in.x87, x87, sizeof x87);
        memset(&out, 0, sizeof out);
        for (int i = 0; i < 100; i++)
            record((uint32_t)i);
        registers_over_stub(&in, &out);
        REQUIRE(CURSOR < LIMIT);
        in.gpr[4] = 0x1234567; /* red zone */
        REQUIRE(memcmp(in.gpr, out.gpr, sizeof in.gpr) == 0);
        REQUIRE((in.flags & 0xcd5) == (out.flags & 0xcd5));
        REQUIRE(memcmp(in.vector, out.vector, sizeof in.vector) == 0);
        REQUIRE(in.mxcsr == out.mxcsr && in.x87_control == out.x87_control);
        for (int i = 0; i < 3; i++) /* a stack */
            REQUIRE(in.x87[i] == out.x87[2 - i]);
    }
    puts("registers kept");
    return 0;
}

/* --------------------------------------------------------------------------- floating point environment */

static double third_up;

static void rounding_body(long i, void *arg)
{
    /* a new context starts with the default environment, and keeps its own over events */
    volatile double one = 1, three = 3;
    if (i % 2)
        fesetround(FE_UPWARD);
    for (int round = 0; round < 3; round++) {
        peet_rt_event(PEET_ABSTRACT_YIELD, 1, (uint64_t[]){ 0 });
        double third = one / three;
        REQUIRE(i % 2 ? third == third_up : third < third_up);
        REQUIRE(fegetround() == (i % 2 ? FE_UPWARD : FE_TONEAREST));
        errno = (int)i;
        peet_rt_event(PEET_ABSTRACT_YIELD, 1, (uint64_t[]){ 0 });
        REQUIRE(errno == (int)i);
    }
    fesetround(FE_TONEAREST);
}

/* ------------------------------------------------------------------------------------------- overflow */

static volatile int sink, shallow_enough;
static int deep(int n)
{
    volatile char frame[1000];
    frame[n % 1000] = (char)n;
    check();
    if (n >= 0 && !shallow_enough)
        sink = deep(n + 1) + frame[n % 1000];
    return sink;
}

static void overflow_body(long i, void *arg)
{
    if (i == 2)
        deep(0);
}

/* ------------------------------------------------------------------------------------------- signals */

static volatile int handled, in_record, bad;
static jmp_buf jump;
static volatile int jumps;

static void on_alarm(int signal)
{
    handled++;
    bad += in_record;
    record(1000);
    check();
    record(1000);
    errno = 77;
    if (jumps)
        siglongjmp(jump, 1);
}

/* Records as compiled code does, with a long time between reading the cursor and writing it back.  A
 * handler in between would lose its words. */
static uint64_t record_slowly(uint32_t n)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < n; i++) {
        in_record = 1;
        uint64_t *cursor = CURSOR;
        for (volatile int wait = 0; wait < 50; wait++)
            ;
        cursor[0] = PLAIN(i);
        cursor[1] = PLAIN(i);
        CURSOR = cursor + 2;
        words += 2;
        in_record = 0;
        check();
    }
    return words;
}

static void every_us(int which)
{
    struct itimerval t = { { 0, which }, { 0, which } };
    setitimer(ITIMER_REAL, &t, NULL);
}

static int deferred(void)
{
    struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &act, NULL);
    every_us(500);
    errno = 5;
    while (handled < 100)
        record_slowly(1000);
    REQUIRE(errno == 5);
    /* out of the handler for good */
    int before = handled;
    if (sigsetjmp(jump, 1) == 0 || handled < before + 20) {
        jumps = 1; /* not before there is a place to jump to */
        for (;;)
            record_slowly(1000);
    }
    jumps = 0;
    every_us(0);
    REQUIRE(bad == 0);
    struct sigaction old;
    REQUIRE(sigaction(SIGALRM, NULL, &old) == 0 && old.sa_handler == on_alarm && old.sa_flags == SA_RESTART);
    puts("signals waited");
    return 0;
}

static int deferred_count(void)
{
    struct sigaction act = { .sa_handler = on_alarm };
    sigaction(SIGALRM, &act, NULL);
    every_us(300);
    uint64_t words = record_slowly(200000);
    every_us(0);
    for (int i = 0; i < 100; i++)
        words += record_slowly(1); /* let the last one in, wherever it has come */
    REQUIRE(bad == 0 && handled > 3);
    printf("words %llu\n", (unsigned long long)(words + 2 * (uint64_t)handled));
    return 0;
}

static char *protected_page;
static void on_segv(int signal, siginfo_t *info, void *uc)
{
    handled++;
    REQUIRE(info->si_addr == protected_page + 8);
    mprotect(protected_page, 4096, PROT_READ | PROT_WRITE);
}

static int at_once(void)
{
    struct sigaction act = { .sa_handler = on_alarm };
    sigaction(SIGUSR1, &act, NULL);
    raise(SIGUSR1);
    REQUIRE(handled == 1);
    kill(getpid(), SIGUSR1);
    REQUIRE(handled == 2);
    signal(SIGUSR2, on_alarm);
    raise(SIGUSR2);
    raise(SIGUSR2);
    REQUIRE(handled == 4 && signal(SIGUSR2, SIG_IGN) == on_alarm);
    raise(SIGUSR2);
    REQUIRE(handled == 4);
    protected_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction segv = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &segv, NULL);
    protected_page[8] = 1;
    REQUIRE(handled == 5 && protected_page[8] == 1);
    /* blocked, then let through */
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR1);
    REQUIRE(handled == 5);
    sigsuspend(&old);
    REQUIRE(handled == 6);
    sigprocmask(SIG_SETMASK, &old, NULL);
    alarm(1);
    signal(SIGALRM, on_alarm);
    pause();
    REQUIRE(handled == 7);
    struct sigaction once = { .sa_handler = on_alarm, .sa_flags = (int)SA_RESETHAND }, now;
    sigaction(SIGUSR1, &once, NULL);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &now);
    REQUIRE(handled == 8 && now.sa_handler == SIG_DFL);
    puts("signals at once");
    return 0;
}

static void slow_body(long i, void *arg)
{
    record_slowly(30);
}

static int doall_signals(void)
{
    signal(SIGALRM, on_alarm);
    every_us(200);
    while (handled < 300)
        peet_doall(0, 50, PEET_DOALL_DEFAULT, 0, slow_body, NULL);
    every_us(0);
    REQUIRE(bad == 0);
    return 0;
}

/* ---------------------------------------------------------------------------------------- allocation */

static int allocation(void)
{
    enum { N = 1000 };
    static char *p[N];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) {
            p[i] = i % 3 ? malloc((size_t)i * 7) : calloc((size_t)i, 9);
            REQUIRE((uint64_t)p[i] >> 40 == 0x20 && (uint64_t)p[i] % 16 == 0 && malloc_usable_size(p[i]) >= (size_t)i * 7);
            memset(p[i], i, (size_t)i * 7);
        }
        for (int i = 0; i < N; i++) {
            p[i] = realloc(p[i], (size_t)i * 11 + 1);
            for (int k = 0; k < i * 7; k++)
                REQUIRE(p[i][k] == (char)i);
        }
        for (int i = 0; i < N; i++)
            free(p[(i * 7) % N]);
    }
    void *aligned;
    REQUIRE(posix_memalign(&aligned, 256, 1000) == 0 && (uint64_t)aligned % 256 == 0);
    free(aligned);
    REQUIRE(posix_memalign(&aligned, 24, 1000) == EINVAL);
    REQUIRE((uint64_t)(aligned = aligned_alloc(65536, 65536 * 3)) % 65536 == 0);
    free(aligned);
    REQUIRE((uint64_t)(aligned = valloc(1)) % 4096 == 0);
    free(aligned);
    errno = 0;
    volatile size_t huge = SIZE_MAX / 2;
    REQUIRE(malloc(huge) == NULL && errno == ENOMEM);
    REQUIRE(calloc(huge, 4) == NULL && reallocarray(NULL, huge, 4) == NULL);
    char *dup = strdup("of libc's own accord");
    REQUIRE((uint64_t)dup >> 40 == 0x20);
    errno = 33;
    free(dup);
    REQUIRE(errno == 33);
    free(NULL);
    puts("allocation works");
    return 0;
}

static int mappings(void)
{
    char *a = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *b = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(b == a + 3 * 4096);
    a[0] = 1;
    b[0] = 2;
    REQUIRE(munmap(a + 4096, 4096) == 0);
    char *c = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(c == a + 4096 && a[0] == 1 && b[0] == 2); /* lowest free place */
    b = mremap(b, 4096, 3 * 4096, MREMAP_MAYMOVE);
    REQUIRE(b != MAP_FAILED && b[0] == 2);
    char *d = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    b = mremap(b, 3 * 4096, 10 * 4096, MREMAP_MAYMOVE);
    REQUIRE(b > d && b[0] == 2);
    char *e = mmap(b + 20 * 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(e == b + 20 * 4096); /* a hint is followed */
    char *f = mmap(e, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(f != e && f != MAP_FAILED && e[0] == 0);
    REQUIRE(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    char *s = sbrk(5000);
    REQUIRE(sbrk(0) == s + 5000);
    memset(s, 1, 5000);
    REQUIRE(brk(s) == 0 && sbrk(0) == s);
    puts("mappings work");
    return 0;
}

/* ------------------------------------------------------------------------------------------- processes */

static int processes(char **argv)
{
    peet_phase(9);
    peet_rt_event(PEET_ABSTRACT_YIELD, 1, (uint64_t[]){ 0 }); /* now it is in the host's buffers */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(!peet_rt_simulated());
        record_slowly(100000);
        char *p = malloc(100);
        free(p);
        exit(17);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 17);
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "test -z \"$PEET_CONFIG\" && exit 18", (char *)NULL);
        _exit(1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 18);
    REQUIRE(WEXITSTATUS(system("exit 19")) == 19);
    puts("processes work");
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    atexit(at_end);
    record(4);
    check();
    if (!strcmp(mode, "return"))
        return 7;
    if (!strcmp(mode, "exit"))
        exit(8);
    if (!strcmp(mode, "exec")) {
        REQUIRE(execl("/nowhere/at/all", "nowhere", (char *)NULL) == -1 && errno == ENOENT);
        REQUIRE(execlp("no-such-program-anywhere", "nowhere", (char *)NULL) == -1 && errno == ENOENT);
        REQUIRE(peet_rt_simulated());
        execlp("sh", "sh", "-c", "echo replaced; exit $1", "sh", "21", (char *)NULL);
        return 1;
    }
    if (!strcmp(mode, "_exit")) {
        printf("lost");
        _exit(9);
    }
    if (!strcmp(mode, "quick_exit"))
        quick_exit(10);
    if (!strcmp(mode, "abort"))
        abort();
    if (!strcmp(mode, "term")) {
        kill(getpid(), SIGTERM);
        return 1;
    }
    if (!strcmp(mode, "segv"))
        *(volatile int *)argv = *(volatile int *)8;
    if (!strcmp(mode, "doall-exit")) {
        peet_doall(0, 10, PEET_DOALL_DEFAULT, 0, exit_body, NULL);
        return 1;
    }
    if (!strcmp(mode, "environ")) {
        for (char **e = environ; *e; e++)
            puts(*e);
        for (int i = 0; i < argc; i++)
            puts(argv[i]);
        return getenv("PEET_CONFIG") != NULL;
    }
    if (!strcmp(mode, "addresses"))
        return addresses();
    if (!strcmp(mode, "registers"))
        return registers();
    if (!strcmp(mode, "rounding")) {
        volatile double one = 1, three = 3;
        fesetround(FE_UPWARD);
        third_up = one / three;
        fesetround(FE_TONEAREST);
        peet_doall(0, 40, PEET_DOALL_DEFAULT, 0, rounding_body, NULL);
        puts("rounding kept");
        return 0;
    }
    if (!strcmp(mode, "overflow"))
        return deep(0);
    if (!strcmp(mode, "doall-overflow")) {
        peet_doall(0, 10, PEET_DOALL_DEFAULT, 0, overflow_body, NULL);
        return 1;
    }
    if (!strcmp(mode, "deferred"))
        return deferred();
    if (!strcmp(mode, "deferred-count"))
        return deferred_count();
    if (!strcmp(mode, "doall-signals"))
        return doall_signals();
    if (!strcmp(mode, "exit-signals")) { /* one waits when the program ends */
        signal(SIGALRM, on_alarm);
        every_us(1000);
        while (LIMIT) /* until one waits for a check */
            ;
        every_us(0);
        return 0; /* without a check */
    }
    if (!strcmp(mode, "at-once"))
        return at_once();
    if (!strcmp(mode, "allocation"))
        return allocation();
    if (!strcmp(mode, "double-free")) {
        char *p = malloc(10);
        free(p);
        free(p);
    }
    if (!strcmp(mode, "mappings"))
        return mappings();
    if (!strcmp(mode, "processes"))
        return processes(argv);
    if (!strcmp(mode, "library")) {
        REQUIRE(library_function() == 5);
        return 0;
    }
    if (!strcmp(mode, "stack")) {
        pthread_attr_t attr;
        void *lo;
        size_t bytes;
        REQUIRE(pthread_getattr_np(pthread_self(), &attr) == 0 && pthread_attr_getstack(&attr, &lo, &bytes) == 0);
        REQUIRE((char *)&attr > (char *)lo && (char *)&attr < (char *)lo + bytes);
        return 0;
    }
    if (!strcmp(mode, "contexts"))
        return contexts(30000);
    if (!strcmp(mode, "words")) { /* counted by the host */
        uint64_t n = 3;           /* constructor, main, at_end; destructor makes four */
        for (uint32_t i = 0; i < 100000; i++) {
            record(i);
            n++;
            check();
        }
        printf("words %llu\n", (unsigned long long)n + 1);
        return 0;
    }
    printf("unknown mode %s\n", mode);
    return 99;
}
