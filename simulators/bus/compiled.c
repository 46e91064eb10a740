/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for batches of blocks that only hit. It does what blocks.c does with the groups of a block, but whatever
 * is known in advance is a constant, and the code jumps from block to block.
 *
 *   1. The code returns before the first block that does more than hit in the predicted frames. Nothing of that block
 *      has happened; blocks.c executes it.
 *   2. Without executable memory, or on a host other than x86-64, blocks.c executes all blocks.
 *   3. Memory for code is mapped twice, so that no mapping is both writable and executable.
 */
#include "bus.h"
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OFTEN = 50, CHUNK_BYTES = 1 << 18, CHUNKS = 64, GROUPS = 20, MOST_BYTES = 128 + GROUPS * 128, BATCH = 256 };

/* Registers while the code runs: rsi event, rdi its values, rbp end of the events, rdx time and r12 its limit, r11
 * stamp, r8 the predictor, r9 keys, r10 used, rbx code by block, r15 counts (reads, and writes << 16: of a BATCH they
 * do not run over); rax, rcx, r13 and r14 are scratch, as are 80 bytes of the stack. */
struct compiled_run {
    const struct peet_block_event *at, *end;
    uint64_t limit, time, stamp;
    const uint32_t *predictor;
    const uint64_t *keys;
    uint64_t *used;
    const void *const *code;
    uint64_t ncode;
    uint64_t counts;
};
_Static_assert(offsetof(struct compiled_run, time) == 24 && offsetof(struct compiled_run, stamp) == 32 &&
        offsetof(struct compiled_run, predictor) == 40 && offsetof(struct compiled_run, code) == 64 &&
        offsetof(struct compiled_run, counts) == 80 && sizeof(struct peet_block_event) == 40 &&
        offsetof(struct peet_block_event, values) == 8 && offsetof(struct peet_block, id) == 16,
    "the code knows this");

struct compiled {
    const void **code; /* by block id: where to go; leave if it is not made */
    uint8_t *hotness;  /* how often it was missed */
    uint32_t ncode;
    uint8_t *write, *run; /* the latest chunk, which two mappings show */
    uint32_t used, nchunks;
    uint8_t *chunks[CHUNKS][2];
    void (*enter)(struct compiled_run *);
    const void *leave;
};

/* push what is the caller's; sub rsp, 104; mov [rsp + 96], rdi; all registers from the run; on to the event's block:
 * mov rax, [rsi]; mov rdi, [rsi + 8]; mov ecx, [rax + 16]; cmp ecx, [rsp + 88]; jae leave; jmp [rbx + rcx * 8] */
static const char enter_code[] =
    "\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57\x48\x83\xec\x68\x48\x89\x7c\x24\x60\x48\x8b\x37\x48\x8b\x6f\x08"
    "\x4c\x8b\x67\x10\x48\x8b\x57\x18\x4c\x8b\x5f\x20\x4c\x8b\x47\x28\x4c\x8b\x4f\x30\x4c\x8b\x57\x38\x48\x8b\x5f\x40"
    "\x8b\x47\x48\x89\x44\x24\x58\x45\x31\xff\x48\x8b\x06\x48\x8b\x7e\x08\x8b\x48\x10\x3b\x4c\x24\x58\x73\x03\xff\x24\xcb";
/* mov rdi, [rsp + 96]; mov [rdi], rsi; mov [rdi + 24], rdx; mov [rdi + 32], r11; mov [rdi + 80], r15; and back */
static const char leave_code[] =
    "\x48\x8b\x7c\x24\x60\x48\x89\x37\x48\x89\x57\x18\x4c\x89\x5f\x20\x4c\x89\x7f\x50\x48\x83\xc4\x68"
    "\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc3";
/* Nothing stands right at the beginning, because checks of calls look before what is called. */
enum { ENTER_AT = 64, LEAVE_AT = ENTER_AT + sizeof enter_code - 1, CODE_AT = LEAVE_AT + sizeof leave_code - 1 };

static int code_room(struct compiled *m)
{
    int fd = m->nchunks < CHUNKS ? memfd_create("peet-bus", MFD_CLOEXEC) : -1;
    uint8_t *write = MAP_FAILED, *run = MAP_FAILED;
    if (fd < 0)
        return -1;
    if (ftruncate(fd, CHUNK_BYTES) == 0) {
        write = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        run = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (write == MAP_FAILED || run == MAP_FAILED) {
        if (write != MAP_FAILED)
            munmap(write, CHUNK_BYTES);
        if (run != MAP_FAILED)
            munmap(run, CHUNK_BYTES);
        return -1;
    }
    memcpy(write + ENTER_AT, enter_code, sizeof enter_code - 1);
    memcpy(write + LEAVE_AT, leave_code, sizeof leave_code - 1);
    m->chunks[m->nchunks][0] = m->write = write;
    m->chunks[m->nchunks++][1] = m->run = run;
    m->used = CODE_AT;
    return 0;
}

void peet__bus_compiled_init(struct bus *b)
{
    struct compiled *m;
    if (b->replacement == REPLACE_PLRU || b->check || b->fetch != FETCH_OFF || !(m = calloc(1, sizeof *m)))
        return;
    if (code_room(m)) {
        free(m);
        return;
    }
    m->enter = (void (*)(struct compiled_run *))(uintptr_t)(m->run + ENTER_AT);
    m->leave = m->run + LEAVE_AT;
    b->compiled = m;
}

void peet__bus_compiled_fini(struct bus *b)
{
    struct compiled *const m = b->compiled;
    for (uint32_t i = 0; m && i < m->nchunks; i++) {
        munmap(m->chunks[i][0], CHUNK_BYTES);
        munmap(m->chunks[i][1], CHUNK_BYTES);
    }
    if (m) {
        free(m->code);
        free(m->hotness);
    }
    free(m);
}

/* Room for the block templates that there are. */
static int grow_table(struct bus *b, struct compiled *m)
{
    const void **code;
    uint8_t *hotness;
    if (m->ncode >= b->ntemplates)
        return 0;
    code = realloc(m->code, b->ntemplates * sizeof *code);
    if (!code)
        return -1;
    m->code = code;
    hotness = realloc(m->hotness, b->ntemplates);
    if (!hotness)
        return -1;
    m->hotness = hotness;
    memset(hotness + m->ncode, 0, b->ntemplates - m->ncode);
    for (uint32_t i = m->ncode; i < b->ntemplates; i++)
        code[i] = m->leave;
    m->ncode = b->ntemplates;
    return 0;
}

/* --------------------------------------------------------------------------------------- instructions */

struct emitter {
    uint8_t *at, *write, *run;
    const void *leave;
};

static void bytes(struct emitter *m, const char *code, size_t n)
{
    memcpy(m->at, code, n);
    m->at += n;
}
#define CODE(m, text) bytes((m), (text), sizeof(text) - 1)

static void word32(struct emitter *m, uint32_t value)
{
    memcpy(m->at, &value, sizeof value);
    m->at += sizeof value;
}

/* Out, by 0x0f 0x80 + a condition, with the event at hand as it was. */
enum { IF_AT_LEAST = 0x83, IF_NOT = 0x85, IF_ABOVE = 0x87 };
static void leave_if(struct emitter *m, unsigned condition)
{
    *m->at++ = 0x0f;
    *m->at++ = (uint8_t)condition;
    word32(m, (uint32_t)((const uint8_t *)m->leave - (m->run + (m->at - m->write) + 4)));
}

/* rax becomes the line, ecx the predictor's entry for it. */
static void emit_probe(struct emitter *m, const struct bus *b, const struct group *g)
{
    CODE(m, "\x48\x8b\x87"); /* mov rax, [rdi + disp32] */
    word32(m, 8u * g->value);
    if (g->before) {
        CODE(m, "\x48\x2d"); /* sub rax, imm32 */
        word32(m, g->before);
    }
    if (g->span > 1) {
        CODE(m, "\x89\xc1\x81\xe1"); /* mov ecx, eax; and ecx, imm32 */
        word32(m, b->line_bytes - 1);
        CODE(m, "\x81\xf9"); /* cmp ecx, imm32 */
        word32(m, b->line_bytes - g->span);
        leave_if(m, IF_ABOVE);
    }
    CODE(m, "\x48\xc1\xe8"); /* shr rax, imm8 */
    *m->at++ = (uint8_t)b->line_shift;
    CODE(m, "\x89\xc1\x81\xe1");
    word32(m, b->predictor_mask);
}

static void emit_block(struct emitter *m, const struct bus *b, const struct block_template *p,
    const struct group *groups)
{
    const uint32_t n = p->ngroups;
    /* frames: the first in r13, the second in r14, the last in rcx, others on the stack */
    for (uint32_t k = 0; k < n; k++) {
        const int last = k + 1 == n, place = last ? 2 : k > 2 ? 2 : (int)k;
        emit_probe(m, b, &groups[k]);
        if (place == 0)
            CODE(m, "\x45\x8b\x2c\x88"); /* mov r13d, [r8 + rcx * 4] */
        else if (place == 1)
            CODE(m, "\x45\x8b\x34\x88");
        else
            CODE(m, "\x41\x8b\x0c\x88");
        CODE(m, "\x48\x8d\x04\x85\x03\x00\x00\x00"); /* lea rax, [rax * 4 + 3] */
        if (place == 0)
            CODE(m, "\x4b\x33\x04\xe9"); /* xor rax, [r9 + r13 * 8] */
        else if (place == 1)
            CODE(m, "\x4b\x33\x04\xf1");
        else
            CODE(m, "\x49\x33\x04\xc9");
        if (groups[k].permission_mask) {
            CODE(m, "\x48\x83\xf8\x01"); /* cmp rax, 1: but for the right to write */
            leave_if(m, IF_ABOVE);
        } else {
            leave_if(m, IF_NOT);
        }
        if (!last && place == 2) {
            CODE(m, "\x89\x4c\x24"); /* mov [rsp + disp8], ecx */
            *m->at++ = (uint8_t)(4 * k);
        }
    }
    for (uint32_t k = 0; k < n; k++) { /* in the order of the groups: they may share a line */
        const int last = k + 1 == n;
        if (!last && k >= 2) {
            CODE(m, "\x44\x8b\x6c\x24"); /* mov r13d, [rsp + disp8]: the first is done */
            *m->at++ = (uint8_t)(4 * k);
        }
        CODE(m, "\x49\x8d\x83"); /* lea rax, [r11 + disp32] */
        word32(m, groups[k].stamp);
        if (last)
            CODE(m, "\x49\x89\x04\xca"); /* mov [r10 + rcx * 8], rax */
        else if (k == 1)
            CODE(m, "\x4b\x89\x04\xf2");
        else
            CODE(m, "\x4b\x89\x04\xea");
    }
    CODE(m, "\x49\x81\xc3"); /* add r11, imm32 */
    word32(m, p->nrefs);
    CODE(m, "\x49\x81\xc7"); /* add r15, imm32 */
    word32(m, (uint32_t)(p->counts >> 32) << 16 | (uint32_t)p->counts);
    if (p->cost <= INT32_MAX) {
        CODE(m, "\x48\x81\xc2"); /* add rdx, imm32 */
        word32(m, (uint32_t)p->cost);
    } else {
        CODE(m, "\x48\xb8"); /* mov rax, imm64; add rdx, rax */
        memcpy(m->at, &p->cost, sizeof p->cost);
        m->at += sizeof p->cost;
        CODE(m, "\x48\x01\xc2");
    }
    CODE(m, "\x48\x83\xc6\x28\x48\x39\xee"); /* add rsi, 40; cmp rsi, rbp */
    leave_if(m, IF_AT_LEAST);
    CODE(m, "\x4c\x39\xe2"); /* cmp rdx, r12 */
    leave_if(m, IF_AT_LEAST);
    CODE(m, "\x48\x8b\x06\x48\x8b\x7e\x08\x8b\x48\x10\x3b\x4c\x24\x58"); /* as at the end of enter */
    leave_if(m, IF_AT_LEAST);
    CODE(m, "\xff\x24\xcb"); /* jmp [rbx + rcx * 8] */
}

void peet__bus_compiled_want(struct bus *b, uint32_t id)
{
    struct compiled *const m = b->compiled;
    const struct block_template *const p = &b->templates[id];
    if (grow_table(b, m) || m->hotness[id] > OFTEN || ++m->hotness[id] <= OFTEN || p->known - 1 >= TEMPLATE_GENERAL ||
        p->ngroups > GROUPS || p->nrefs > TEMPLATE_REFS)
        return;
    const struct group *const groups = peet__bus_groups_of(b, p);
    for (uint32_t k = 0; k < p->ngroups; k++)
        if (groups[k].span > b->line_bytes) /* never in one line */
            return;
    if (CHUNK_BYTES - m->used < MOST_BYTES && code_room(m))
        return;
    const uint8_t *const leave = m->run + LEAVE_AT;
    struct emitter emitter = {.at = m->write + m->used, .write = m->write, .run = m->run, .leave = leave};
    const uint8_t *const code = m->run + m->used;
    emit_block(&emitter, b, p, groups);
    m->used = (uint32_t)(emitter.at - m->write);
    m->code[id] = code;
}

void peet__bus_compiled_forget(struct bus *b, uint32_t id)
{
    if (b->compiled && id < b->compiled->ncode) {
        b->compiled->code[id] = b->compiled->leave;
        b->compiled->hotness[id] = 0;
    }
}

#ifdef __clang__
__attribute__((no_sanitize("function"))) /* made code carries no type */
#endif
size_t peet__bus_compiled_run(struct bus *b, const struct cache *c, const struct peet_block_event *events, size_t n,
    uint64_t limit, uint64_t *inout_time, uint64_t *inout_stamp, uint64_t *inout_counts)
{
    const struct compiled *const m = b->compiled;
    struct compiled_run run = {.at = events,
        .end = events + (n < BATCH ? n : BATCH),
        .limit = limit,
        .time = *inout_time,
        .stamp = *inout_stamp,
        .predictor = c->predictor,
        .keys = c->keys,
        .used = c->used,
        .code = m->code,
        .ncode = m->ncode};
    m->enter(&run);
    *inout_time = run.time;
    *inout_stamp = run.stamp;
    *inout_counts += (run.counts & UINT16_MAX) | run.counts >> 16 << 32;
    return (size_t)(run.at - events);
}

#else

void peet__bus_compiled_init(struct bus *b)
{
    (void)b;
}

void peet__bus_compiled_fini(struct bus *b)
{
    (void)b;
}

void peet__bus_compiled_want(struct bus *b, uint32_t id)
{
    (void)b, (void)id;
}

void peet__bus_compiled_forget(struct bus *b, uint32_t id)
{
    (void)b, (void)id;
}

size_t peet__bus_compiled_run(struct bus *b, const struct cache *c, const struct peet_block_event *events, size_t n,
    uint64_t limit, uint64_t *inout_time, uint64_t *inout_stamp, uint64_t *inout_counts)
{
    (void)b, (void)c, (void)events, (void)n, (void)limit, (void)inout_time, (void)inout_stamp, (void)inout_counts;
    return 0;
}

#endif
