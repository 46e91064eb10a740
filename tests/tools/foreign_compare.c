/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what peet has recorded of code that it has not compiled, function by function, with callgrind or with single steps.
 *
 *   foreign_compare [--tolerate=N] STATS_JSON --callgrind FILE
 *       FILE: of callgrind, with --dump-instr=yes --compress-strings=no --compress-pos=no.  Instructions, reads and writes.
 *   foreign_compare [--tolerate=N] STATS_JSON --step FUNCTION PROGRAM [ARGUMENT...]
 *       Executes the program plainly, instruction by instruction, while FUNCTION of it runs.  Instructions.
 *   foreign_compare --order FILE --step FUNCTION PROGRAM [ARGUMENT...]
 *       The same, address by address: FILE has a line for each instruction of libraries, in order, with its place in the file,
 *       in hexadecimal digits, the file's name, and the sum of the addresses that it references: of each the place in its page, 0 for
 *       thread-local variables; "-": not compared.  An instruction that repeats itself is one step.
 *
 * STATS_JSON: of the same program, with the observer counts and roi=only.  Functions are those that readelf shows in the call frame
 * information of the shared objects; each must have the same counts, and none may be missing.  The runtime's own objects and the
 * dynamic linker are left out; against callgrind, the stubs between objects as well, which it books elsewhere.
 * --tolerate=N: functions may differ, by at most N thousandths of all instructions: for programs that allocate, since the allocator
 * is peet's, and some functions go by addresses.
 * Exit status: 0 equal, 1 different, 2 bad input.
 */
#include "elfsyms.h"

#include <Zydis/Zydis.h>

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
    uint64_t lo, hi;
    uint64_t peet[3], other[3];
};

struct image {
    struct image *next;
    char path[4096];
    struct elf_file *elf;
    struct function *functions; /* by address */
    unsigned n;
    uint64_t bias, lo, hi; /* while stepping */
};
static struct image *images;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int is_library(const char *path)
{
    const char *base = base_name(path);
    return strstr(base, ".so") && strncmp(base, "libpeet-", 8) != 0 && strncmp(base, "ld-linux", 8) != 0;
}

static int by_lo(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void read_functions(struct image *i)
{
    char command[4200], *line = NULL;
    size_t room = 0;
    snprintf(command, sizeof command, "readelf -wf '%s' 2>/dev/null", i->path);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        die("cannot run readelf");
    while (getline(&line, &room, pipe) > 0) {
        const char *pc = strstr(line, "FDE ") ? strstr(line, "pc=") : NULL;
        uint64_t lo, hi;
        if (!pc || sscanf(pc, "pc=%" SCNx64 "..%" SCNx64, &lo, &hi) != 2)
            continue;
        i->functions = realloc(i->functions, (i->n + 1) * sizeof *i->functions);
        if (!i->functions)
            die("out of memory");
        i->functions[i->n++] = (struct function){.lo = lo, .hi = hi};
    }
    free(line);
    pclose(pipe);
    qsort(i->functions, i->n, sizeof *i->functions, by_lo);
}

/* By the file itself: the paths that tools show lead over different links. */
static struct image *image_of(const char *path)
{
    static char last_path[4096];
    static struct image *last;
    char real[4096];
    if (last && strcmp(path, last_path) == 0)
        return last;
    if (!realpath(path, real))
        die("%s: no such object", path);
    snprintf(last_path, sizeof last_path, "%s", path);
    for (last = images; last; last = last->next)
        if (strcmp(last->path, real) == 0)
            return last;
    last = calloc(1, sizeof *last);
    if (!last)
        die("out of memory");
    strcpy(last->path, real);
    last->elf = elf_file_open(real);
    read_functions(last);
    last->next = images;
    return images = last;
}

static struct function *function_at(struct image *i, uint64_t at)
{
    unsigned lo = 0, hi = i->n;
    while (lo < hi) {
        unsigned middle = lo + (hi - lo) / 2;
        if (i->functions[middle].lo <= at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && at < i->functions[lo - 1].hi ? &i->functions[lo - 1] : NULL;
}

static int in_stubs(const struct image *i, uint64_t at)
{
    for (unsigned k = 0; k < i->elf->nsections; k++) {
        const struct elf_section *s = &i->elf->sections[k];
        if (strncmp(s->name, ".plt", 4) == 0 && at >= s->address && at < s->address + s->size)
            return 1;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------ peet */

/* The object of a program that has this base name. */
static struct image *loaded(const char *base)
{
    for (struct image *i = images; i; i = i->next)
        if (strcmp(base_name(i->path), base) == 0)
            return i;
    char path[4200];
    snprintf(path, sizeof path, "/lib/x86_64-linux-gnu/%s", base);
    return image_of(path);
}

/* Where the function of an image begins that has no symbol, "libc.so.6+0x1234"; 0: it has a name. */
static uint64_t by_address(const char *image, const char *name)
{
    const size_t n = strlen(image);
    return strncmp(name, image, n) == 0 && strncmp(name + n, "+0x", 3) == 0 ? strtoull(name + n + 1, NULL, 16) : 0;
}

static void read_peet(const char *path)
{
    static const char *const keys[3] = {"instructions", "reads", "writes"};
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error),
           *list = json_object_get(json_object_get(root, "counts"), "functions"), *f;
    size_t index;
    if (!json_is_array(list))
        die("%s: no functions of the observer counts", path);
    json_array_foreach(list, index, f)
    {
        const char *name = json_string_value(json_object_get(f, "name")),
                   *image = json_string_value(json_object_get(f, "image"));
        if (!name || !image || !is_library(image))
            continue;
        struct image *i = loaded(base_name(image));
        const struct elf_symbol *s = elf_function_named(i->elf, name, &(unsigned){0});
        uint64_t at = by_address(base_name(image), name);
        at = at || !s ? at : s->value;
        for (unsigned k = 0; !at && k < i->elf->nsections; k++) /* a row of stubs */
            if (strcmp(i->elf->sections[k].name, name) == 0)
                at = i->elf->sections[k].address;
        for (unsigned k = 0; !at && k < i->elf->nsymbols; k++)
            if (strcmp(i->elf->symbols[k].name, name) == 0)
                at = i->elf->symbols[k].value;
        struct function *to = function_at(i, at);
        if (!to)
            die("%s: no function %s", i->path, name);
        for (int k = 0; k < 3; k++)
            to->peet[k] += (uint64_t)json_integer_value(json_object_get(f, keys[k]));
    }
    json_decref(root);
}

/* ------------------------------------------------------------------------------------------- callgrind */

static void read_callgrind(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    struct image *i = NULL;
    int skip = 0;
    if (!file)
        die("cannot read %s", path);
    while (getline(&line, &room, file) > 0) {
        uint64_t at, source, n[3] = {0, 0, 0};
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "ob=", 3) == 0) {
            i = is_library(line + 3) ? image_of(line + 3) : NULL;
        } else if (strncmp(line, "calls=", 6) == 0) {
            skip = 1;
        } else if (strncmp(line, "0x", 2) == 0) {
            if (!skip && i &&
                sscanf(line, "%" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &at, &source, &n[0], &n[1],
                    &n[2]) >= 3) {
                struct function *f = function_at(i, at);
                for (int k = 0; f && k < 3; k++)
                    f->other[k] += n[k];
            }
            skip = 0;
        }
    }
    free(line);
    fclose(file);
}

/* ----------------------------------------------------------------------------------------------- steps */

static void read_maps(pid_t pid)
{
    char path[64], *line = NULL, name[4096];
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        die("cannot read %s", path);
    while (getline(&line, &room, file) > 0) {
        uint64_t lo, hi, offset;
        char rights[8];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4095s", &lo, &hi, rights, &offset, name) ==
                5 &&
            is_library(name)) {
            struct image *i = image_of(name);
            if (offset == 0)
                i->bias = lo;
            if (rights[2] == 'x')
                i->lo = lo, i->hi = hi;
        }
    }
    free(line);
    fclose(file);
}

static uint64_t main_bias(pid_t pid)
{
    char path[64];
    uint64_t lo = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%" SCNx64, &lo) != 1)
        die("cannot read %s", path);
    fclose(file);
    return lo;
}

static struct user_regs_struct wait_stop(pid_t pid)
{
    struct user_regs_struct regs;
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
        ptrace(PTRACE_GETREGS, pid, NULL, &regs))
        die("the program ended, or stopped for another reason");
    return regs;
}

static void run_to(pid_t pid, uint64_t at)
{
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, pid, at, NULL);
    ptrace(PTRACE_POKETEXT, pid, at, (word & ~0xffl) | 0xcc);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    struct user_regs_struct regs = wait_stop(pid);
    regs.rip--;
    ptrace(PTRACE_POKETEXT, pid, at, word);
    ptrace(PTRACE_SETREGS, pid, NULL, &regs);
}

/* Of instructions that are recorded in order. */
static struct {
    FILE *file;
    uint64_t n, last;
    const struct image *last_image;
    int different;
} order;

/* Names of objects may lead over a link: libstdc++.so.6 is libstdc++.so.6.0.30. */
static int is_named(const struct image *i, const char *name)
{
    return i && strncmp(base_name(i->path), name, strlen(name)) == 0;
}

static uint64_t value_of(const struct user_regs_struct *r, ZydisRegister which, uint64_t next)
{
    const uint64_t general[] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi, r->r8, r->r9, r->r10,
        r->r11, r->r12, r->r13, r->r14, r->r15};
    if (which == ZYDIS_REGISTER_RIP)
        return next;
    return which >= ZYDIS_REGISTER_RAX && which <= ZYDIS_REGISTER_R15 ? general[which - ZYDIS_REGISTER_RAX] : 0;
}

/* The place in a page; nothing for thread-local variables: how many a process has differs. */
static uint64_t place_of(uint64_t address, uint64_t fs)
{
    return address - fs + 0x1000 < 0x2000 ? 0 : address & 0xfff;
}

/* What the processor will reference, by its registers before the instruction. */
static uint64_t addresses_of(pid_t pid, const struct user_regs_struct *r)
{
    static ZydisDecoder decoder;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    long code[2] = {ptrace(PTRACE_PEEKTEXT, pid, r->rip, NULL), ptrace(PTRACE_PEEKTEXT, pid, r->rip + 8, NULL)};
    uint64_t sum = 0;
    if (!decoder.machine_mode)
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, sizeof code, &z, o)) || z.mnemonic == ZYDIS_MNEMONIC_NOP)
        return 0;
    for (unsigned k = 0; k < z.operand_count; k++) {
        if (o[k].type != ZYDIS_OPERAND_TYPE_MEMORY || o[k].mem.type != ZYDIS_MEMOP_TYPE_MEM)
            continue;
        uint64_t address = value_of(r, o[k].mem.base, r->rip + z.length) +
            value_of(r, o[k].mem.index, 0) * o[k].mem.scale + (uint64_t)o[k].mem.disp.value;
        if (o[k].mem.segment == ZYDIS_REGISTER_FS)
            address += r->fs_base;
        if (o[k].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o[k].mem.base == ZYDIS_REGISTER_RSP &&
            z.mnemonic == ZYDIS_MNEMONIC_LEAVE)
            address = r->rbp;
        else if (o[k].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o[k].mem.base == ZYDIS_REGISTER_RSP &&
            o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            address = r->rsp - o[k].size / 8;
        sum += place_of(address, r->fs_base);
    }
    return sum;
}

/* The next line, up to the end of a file; "-" of addresses is what they should be. */
static int next_recorded(uint64_t *out_at, char name[256], uint64_t *inout_addresses)
{
    char text[32];
    if (fscanf(order.file, "%" SCNx64 " %255s %31s", out_at, name, text) != 3)
        return 0;
    if (strcmp(text, "-") != 0)
        *inout_addresses = strtoull(text, NULL, 16);
    return 1;
}

/* The allocator is called through functions of peet's, and so has its frames elsewhere. */
static int is_allocators(const struct elf_symbol *s)
{
    return s && (strstr(s->name, "free") || strstr(s->name, "alloc"));
}

/* The next one recorded is that one; several times the same is once. */
static void see_order(const struct image *i, uint64_t at, uint64_t addresses)
{
    uint64_t recorded, said;
    char name[256];
    if (order.different || (at == order.last && i == order.last_image))
        return;
    do {
        said = addresses;
        if (!next_recorded(&recorded, name, &said))
            recorded = 0, strcpy(name, "nothing");
    } while (recorded && recorded == order.last && is_named(order.last_image, name));
    if (recorded != at || !is_named(i, name)) {
        const struct elf_symbol *s = elf_function_at(i->elf, at);
        printf("instruction %" PRIu64 ": recorded is 0x%" PRIx64 " of %s, executed is 0x%" PRIx64 " of %s, %s\n",
            order.n, recorded, name, at, base_name(i->path), s ? s->name : "?");
        order.different = 1;
    } else if (said != addresses && !is_allocators(elf_function_at(i->elf, at))) {
        const struct elf_symbol *s = elf_function_at(i->elf, at);
        printf("instruction %" PRIu64 ", 0x%" PRIx64 " of %s, %s: recorded addresses 0x%" PRIx64
               ", referenced 0x%" PRIx64 "\n",
            order.n, at, name, s ? s->name : "?", said, addresses);
        order.different = 1;
    }
    order.n++;
    order.last = at;
    order.last_image = i;
}

static void count_step(struct image *i, uint64_t at, pid_t pid, const struct user_regs_struct *regs)
{
    struct function *f = function_at(i, at);
    if (order.file)
        see_order(i, at, addresses_of(pid, regs));
    if (f)
        f->other[0]++;
}

static int compare_order(void)
{
    uint64_t recorded, addresses;
    char name[256];
    while (next_recorded(&recorded, name, &addresses))
        if (!order.different && !(recorded == order.last && is_named(order.last_image, name))) {
            printf("behind instruction %" PRIu64 ": recorded is 0x%" PRIx64 " of %s, executed is nothing\n", order.n,
                recorded, name);
            order.different = 1;
        }
    printf("%" PRIu64 " instructions and their addresses in order, %s\n", order.n,
        order.different ? "then others" : "all the same");
    return order.different || !order.n;
}

static void step(const char *function, char **argv)
{
    const struct elf_file *elf = elf_file_open(argv[0]);
    const struct elf_symbol *s = elf_function_named(elf, function, &(unsigned){0});
    if (!s)
        die("%s: no function %s", argv[0], function);
    pid_t pid = fork();
    if (pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[0], argv);
        _exit(127);
    }
    wait_stop(pid); /* behind execve() */
    run_to(pid, s->value + (elf->is_pie ? main_bias(pid) : 0));
    read_maps(pid);
    struct user_regs_struct regs;
    ptrace(PTRACE_GETREGS, pid, NULL, &regs);
    const uint64_t sp = regs.rsp;
    struct image *i = NULL;
    do {
        if (!i || regs.rip < i->lo || regs.rip >= i->hi)
            for (i = images; i && (regs.rip < i->lo || regs.rip >= i->hi); i = i->next)
                ;
        if (i)
            count_step(i, regs.rip - i->bias, pid, &regs);
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        regs = wait_stop(pid);
    } while (regs.rsp <= sp);
    ptrace(PTRACE_KILL, pid, NULL, NULL);
    waitpid(pid, NULL, 0);
}

/* --------------------------------------------------------------------------------------------- compare */

/* @tolerated: parts in a thousand of all instructions that may differ */
static int compare(int what, int stubs, unsigned tolerated)
{
    unsigned equal = 0, different = 0;
    uint64_t instructions = 0, differ = 0;
    for (struct image *i = images; i; i = i->next)
        for (unsigned k = 0; k < i->n; k++) {
            const struct function *f = &i->functions[k];
            if (!f->peet[0] && !f->other[0])
                continue;
            if (!stubs && in_stubs(i, f->lo))
                continue;
            if (memcmp(f->peet, f->other, (size_t)what * sizeof *f->peet) == 0) {
                equal++;
                instructions += f->peet[0];
                continue;
            }
            const struct elf_symbol *s = elf_function_at(i->elf, f->lo);
            printf("%s 0x%" PRIx64 " %s: peet %" PRIu64 " %" PRIu64 " %" PRIu64 ", the other %" PRIu64 " %" PRIu64
                   " %" PRIu64 "\n",
                base_name(i->path), f->lo, s ? s->name : "", f->peet[0], f->peet[1], f->peet[2], f->other[0],
                f->other[1], f->other[2]);
            different++;
            differ += f->peet[0] > f->other[0] ? f->peet[0] - f->other[0] : f->other[0] - f->peet[0];
            differ += f->peet[0] == f->other[0] && !tolerated;
        }
    printf("%u functions equal, with %" PRIu64 " instructions; %u different, by %" PRIu64 "\n", equal, instructions,
        different, differ);
    return differ * 1000 > instructions * tolerated || !equal;
}

int main(int argc, char **argv)
{
    unsigned tolerated = 0;
    if (argc > 2 && strncmp(argv[1], "--tolerate=", 11) == 0) {
        tolerated = (unsigned)atoi(argv[1] + 11);
        argv++;
        argc--;
    }
    if (argc == 4 && strcmp(argv[2], "--callgrind") == 0) {
        read_callgrind(argv[3]);
        read_peet(argv[1]);
        return compare(3, 0, tolerated);
    }
    if (argc >= 5 && strcmp(argv[2], "--step") == 0) {
        step(argv[3], argv + 4);
        read_peet(argv[1]);
        return compare(1, 1, tolerated);
    }
    if (argc >= 6 && strcmp(argv[1], "--order") == 0 && strcmp(argv[3], "--step") == 0) {
        if (!(order.file = fopen(argv[2], "r")))
            die("cannot read %s", argv[2]);
        step(argv[4], argv + 5);
        return compare_order();
    }
    die("usage: foreign_compare [--tolerate=N] STATS_JSON --callgrind FILE | --step FUNCTION PROGRAM [ARGUMENT...], or --order FILE --step ...");
}
