/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TCG plug-in for qemu-system-x86_64: threads that have executed the pattern of peet/marker.h come out of the whole system, each into a stream of
 * instructions with their references.  peet/extract.h says whose an instruction is; trace/code.h writes what `peet trace`, `peet run --from` and
 * `peet compare` read.
 *
 *     -plugin peet-qemu.so,out=DIR[,p1=PROGRAM,p2=PROGRAM...]
 *
 * The upper bits of a marker's number say which program, the lower 8 which of its threads.  DIR/P/trace.peet is the trace of program P; the file named
 * for it goes into the trace, so that functions have names.
 *
 * An instruction is written when the next one of its thread begins: by then its references are known.  Kernel code (the
 * upper half of the address space) is not looked at, except to know that it has been executed: if the same instruction comes again after
 * it, a fault had stopped it, and its first attempt does not count.
 */
#include "api.h"
#include "host.h"

#include "trace/code.h"
#include <peet/extract.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

enum { PROGRAMS_MAX = 256, THREADS_MAX = 4096, NUMBER_BITS = 8, LEVEL = 3, LENGTH_MAX = 15 };

/** An instruction as it was translated; lives as long as QEMU. */
struct translated {
    UT_hash_handle hh;
    struct {
        uint64_t pc;
        uint8_t bytes[LENGTH_MAX];
        uint8_t length;
    } key;
    struct peet_traced_insn insn; /* all but its references */
    int repeats, stops;           /* rep-prefixed; enters the kernel by itself */
};

struct program {
    struct peet_recorder *recorder;
    struct peet_code_writer *writer;
    uint32_t nthreads;
};

struct thread {
    unsigned program;
    uint32_t stream;
    const struct translated *pending; /* executes, or has been executed; NULL: none */
    struct peet_traced_insn insn;
    uint64_t kernel_blocks; /* that had been executed when the instruction began */
};

static struct {
    pthread_mutex_t lock;
    char out[PATH_MAX - 300], *files[PROGRAMS_MAX];
    struct translated *code;
    struct peet_extract *extract;
    struct program programs[PROGRAMS_MAX];
    struct thread threads[THREADS_MAX];
    unsigned nthreads;
    struct thread *executes[PEET_QEMU_CPUS_MAX]; /* whose instruction each processor executes; NULL: nobody's */
    const struct translated *now;                /* what is being looked at */
    int failed;
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fail(const char *what)
{
    if (!here.failed)
        fprintf(stderr, "peet-qemu: %s; the traces end here\n", what);
    here.failed = 1;
}

/* --------------------------------------------------------------------------------------- programs */

static void add_image(struct program *p, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    struct peet_recorded_image image = {.path = (char *)(uintptr_t)path};
    void *bytes;

    if (fd >= 0 && !fstat(fd, &st) && st.st_size > 0 &&
        (bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) != MAP_FAILED) {
        image.bytes = bytes;
        image.nbytes = (size_t)st.st_size;
        image.hi = UINT64_MAX;
        peet_recorder_image(p->recorder, &image);
        munmap(bytes, (size_t)st.st_size);
    } else {
        fprintf(stderr, "peet-qemu: %s: %s: functions will have no names\n", path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
}

static struct program *program_of(unsigned number)
{
    struct program *p = &here.programs[number];
    struct peet_error error = {0, ""};
    char path[PATH_MAX];
    const char *file = here.files[number] ? here.files[number] : "?";
    char *text;
    json_t *all;

    if (p->writer)
        return p;
    all = json_pack("{s:s,s:s,s:s,s:{s:s,s:[],s:i}}", "format", "qemu", "from", file, "config_text",
        "version = 1;\nprogram = \"qemu\";\ncores = 1;\n", "config", "program", file, "arguments", "cores", 1);
    text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    snprintf(path, sizeof path, "%s/%u", here.out, number);
    if (mkdir(path, 0777) && errno != EEXIST)
        fail(strerror(errno));
    snprintf(path, sizeof path, "%s/%u/trace.peet", here.out, number);
    if (!text || peet_recorder_open(path, text, LEVEL, &p->recorder, &error) ||
        peet_code_writer_new(p->recorder, &p->writer)) {
        fail(error.code ? error.message : "out of memory");
        free(text);
        return NULL;
    }
    free(text);
    if (here.files[number])
        add_image(p, here.files[number]);
    return p;
}

/** A thread has executed the pattern: the first of a program is its main thread. */
static void found(void *arg, unsigned thread, uint64_t number)
{
    const unsigned program = number == PEET_EXTRACT_NO_NUMBER ? 0 : (unsigned)(number >> NUMBER_BITS);
    struct program *p;

    (void)arg;
    if (thread < THREADS_MAX && !program) { /* the first process */
        here.threads[thread] = (struct thread){.program = 0};
        here.nthreads = thread + 1;
        return;
    }
    if (thread >= THREADS_MAX || program >= PROGRAMS_MAX) {
        fail("a marker's number is beyond 65535, or there are more than 4096 threads");
        return;
    }
    p = program_of(program);
    if (!p)
        return;
    if (p->nthreads ? peet_code_thread(p->writer) : peet_code_main(p->writer, 1))
        fail("the trace cannot be written");
    here.threads[thread] = (struct thread){.program = program, .stream = p->nthreads++};
    here.nthreads = thread + 1;
}

static void settle(struct thread *thread);

static void finish(uint64_t id, void *arg)
{
    (void)id;
    (void)arg;
    pthread_mutex_lock(&here.lock);
    for (unsigned i = 0; i < PROGRAMS_MAX; i++) {
        struct program *p = &here.programs[i];
        struct peet_error error = {0, ""};

        if (!p->writer)
            continue;
        for (unsigned t = 0; t < here.nthreads; t++)
            if (here.threads[t].program == i)
                settle(&here.threads[t]);
        for (uint32_t s = p->nthreads; s-- > 0;) /* the main one waits for the others */
            peet_code_end(p->writer, s);
        peet_code_writer_free(p->writer);
        if (peet_recorder_close(p->recorder, "{\"reason\":\"exit\",\"status\":0}", &error))
            fprintf(stderr, "peet-qemu: %s\n", error.message);
        *p = (struct program){0};
    }
    here.failed = 1;
    pthread_mutex_unlock(&here.lock);
}

/* ----------------------------------------------------------------------------------- instructions */

static uint64_t translate(void *arg, unsigned cpu, uint64_t address)
{
    const uint64_t page = peet_qemu_host_page(cpu, address);

    (void)arg;
    return page == UINT64_MAX ? PEET_EXTRACT_UNMAPPED : page;
}

static uint64_t number_of(void *arg, unsigned cpu)
{
    (void)arg;
    return peet_qemu_host_eax(cpu);
}

/** What the thread has executed is complete. */
static void settle(struct thread *t)
{
    struct program *p = &here.programs[t->program];

    if (t->pending && p->writer && !here.failed && peet_code_insn(p->writer, t->stream, &t->insn))
        fail("the trace cannot be written");
    t->pending = NULL;
}

static void belongs(void *arg, unsigned number, const struct peet_extract_insn *insn)
{
    struct thread *t = &here.threads[number];
    const int was_in_kernel = t->kernel_blocks != peet_qemu_host_counted();

    (void)arg;
    if (number >= here.nthreads)
        return;
    here.executes[insn->core] = t;
    t->kernel_blocks = peet_qemu_host_counted();
    if (t->pending == here.now && here.now->repeats)
        return;
    if (t->pending == here.now && was_in_kernel && !here.now->stops)
        t->pending = NULL; /* it had faulted */
    settle(t);
    t->pending = here.now;
    t->insn = here.now->insn;
}

static void executes(unsigned number, void *arg)
{
    const struct translated *t = arg;
    struct peet_extract_insn insn = {.core = number, .pc = t->key.pc, .bytes = t->key.bytes, .length = t->key.length};

    if (number >= PEET_QEMU_CPUS_MAX || here.failed)
        return;
    pthread_mutex_lock(&here.lock);
    here.executes[number] = NULL;
    insn.sp = peet_qemu_host_sp(number);
    here.now = t;
    if (peet_extract_step(here.extract, &insn) == -2)
        fail("out of memory");
    pthread_mutex_unlock(&here.lock);
}

/** A reference of the instruction that the processor executes.  What an interrupt puts on the kernel's stack comes here, too. */
static void references(unsigned number, uint32_t info, uint64_t address, void *arg)
{
    struct thread *t = number < PEET_QEMU_CPUS_MAX ? here.executes[number] : NULL;
    const uint32_t size = 1u << qemu_plugin_mem_size_shift(info);
    const int store = qemu_plugin_mem_is_store(info);
    struct peet_traced_insn *insn = t ? &t->insn : NULL;
    struct peet_traced_ref *last;

    if (!t || t->pending != arg || here.failed || address >> 63)
        return;
    pthread_mutex_lock(&here.lock);
    last = insn->nrefs ? &insn->refs[insn->nrefs - 1] : NULL;
    if (store && last && last->kind == PEET_TRACED_LOAD && last->address == address && last->size == size) {
        last->kind = PEET_TRACED_MODIFY;
    } else {
        if (insn->nrefs == PEET_TRACED_REFS) { /* the rest follows */
            settle(t);
            t->pending = arg;
            insn->nrefs = 0;
            insn->again = 1;
        }
        insn->refs[insn->nrefs++] =
            (struct peet_traced_ref){address, size, store ? PEET_TRACED_STORE : PEET_TRACED_LOAD};
    }
    pthread_mutex_unlock(&here.lock);
}

/* ------------------------------------------------------------------------------------ translation */

/** What its bytes say of control: the one and two byte opcodes of the x86-64 that change where it goes. */
static void classify(struct translated *t)
{
    const uint8_t *b = t->key.bytes, *end = b + t->key.length;
    unsigned reg;

    for (; b < end; b++) {
        if (*b == 0xf2 || *b == 0xf3)
            t->repeats = 1;
        else if (*b != 0x66 && *b != 0x67 && *b != 0x2e && *b != 0x3e && *b != 0x64 && *b != 0x65 &&
            (*b & 0xf0) != 0x40)
            break;
    }
    /* only string instructions repeat */
    t->repeats &= b < end && ((*b >= 0xa4 && *b <= 0xa7) || (*b >= 0xaa && *b <= 0xaf) || (*b >= 0x6c && *b <= 0x6f));
    if (b >= end)
        return;
    reg = end - b > 1 ? b[1] >> 3 & 7 : 0;
    t->stops = (b[0] == 0x0f && end - b > 1 && b[1] == 0x05) || b[0] == 0xcd || b[0] == 0xcc;
    t->insn.branch = (b[0] & 0xf0) == 0x70 || (b[0] >= 0xe0 && b[0] <= 0xe3) ||
            (b[0] == 0x0f && end - b > 1 && (b[1] & 0xf0) == 0x80)
        ? PEET_TRACED_CONDITIONAL
        : b[0] == 0xe9 || b[0] == 0xeb           ? PEET_TRACED_JUMP
        : b[0] == 0xe8                           ? PEET_TRACED_CALL
        : b[0] == 0xc3 || b[0] == 0xc2           ? PEET_TRACED_RETURN
        : b[0] == 0xff && (reg == 2 || reg == 3) ? PEET_TRACED_INDIRECT_CALL
        : b[0] == 0xff && (reg == 4 || reg == 5) ? PEET_TRACED_INDIRECT_JUMP
                                                 : PEET_TRACED_NONE;
    t->insn.taken = t->insn.branch != PEET_TRACED_NONE;
}

static struct translated *translated_of(const struct qemu_insn *insn)
{
    struct translated *t, probe;

    memset(&probe, 0, sizeof probe);
    probe.key.pc = qemu_plugin_insn_vaddr(insn);
    probe.key.length = (uint8_t)peet_qemu_host_bytes(insn, probe.key.bytes, LENGTH_MAX);
    HASH_FIND(hh, here.code, &probe.key, sizeof probe.key, t);
    if (t || !(t = malloc(sizeof *t)))
        return t;
    memcpy(t, &probe, sizeof *t);
    t->insn = (struct peet_traced_insn){.pc = probe.key.pc, .length = probe.key.length};
    classify(t);
    HASH_ADD(hh, here.code, key, sizeof t->key, t);
    return t;
}

/** Does the pattern of a marker end in this block?  The system's first process says so that programs follow. */
static int has_pattern(const struct qemu_block *block)
{
    static const uint8_t add[] = {0x83, 0xc0, 0};
    int adds = 0;

    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block) && adds < 2; i++) {
        uint8_t bytes[LENGTH_MAX];
        const size_t n = peet_qemu_host_bytes(qemu_plugin_tb_get_insn(block, i), bytes, sizeof bytes);

        adds = n == sizeof add && !memcmp(bytes, add, n) ? adds + 1 : 0;
    }
    return adds == 2;
}

static void translates(uint64_t id, struct qemu_block *block)
{
    (void)id;
    if (qemu_plugin_tb_vaddr(block) >> 63) {
        peet_qemu_host_count(block);
        return;
    }
    if (!peet_qemu_host_has_begun() && !has_pattern(block)) /* the firmware, the kernel's beginning: nobody's yet */
        return;
    peet_qemu_host_begin(); /* the first process is there */
    pthread_mutex_lock(&here.lock);
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_insn *insn = qemu_plugin_tb_get_insn(block, i);
        struct translated *t = translated_of(insn);

        if (!t) {
            fail("out of memory");
            break;
        }
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executes, peet_qemu_host_registers(), t);
        qemu_plugin_register_vcpu_mem_cb(insn, references, QEMU_NO_REGISTERS, QEMU_READS_AND_WRITES, t);
    }
    pthread_mutex_unlock(&here.lock);
}

/** key=value.  Returns: 0, or -1: a message has been printed */
static int read_argument(const char *text)
{
    const char *value = strchr(text, '=');
    char *end;
    unsigned long number;

    if (value && !strncmp(text, "out=", 4)) {
        snprintf(here.out, sizeof here.out, "%s", value + 1);
        return 0;
    }
    number = *text == 'p' ? strtoul(text + 1, &end, 10) : PROGRAMS_MAX;
    if (number >= PROGRAMS_MAX || end != value) {
        fprintf(stderr, "peet-qemu: '%s' is neither out=DIR nor pNUMBER=PROGRAM\n", text);
        return -1;
    }
    here.files[number] = strdup(value + 1);
    return here.files[number] ? 0 : -1;
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
    const struct peet_extract_ops ops = {translate, number_of, found, belongs};

    if (strcmp(info->target_name, "x86_64") || !info->system_emulation) {
        fprintf(stderr, "peet-qemu: for qemu-system-x86_64 only\n");
        return -1;
    }
    for (int i = 0; i < argc; i++)
        if (read_argument(argv[i]))
            return -1;
    if (!*here.out) {
        fprintf(stderr, "peet-qemu: out=DIR is missing\n");
        return -1;
    }
    here.extract = peet_extract_new(NULL, &ops, NULL);
    if (!here.extract || peet_qemu_host_install(id))
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translates);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
