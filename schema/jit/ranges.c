/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range operations of libraries (PEET_ABSTRACT_RANGE) between blocks that are executed in machine code. Most are short,
 * and their lines are where they were last. If the machine allows it (table.range_looks), the code that is emitted here
 * performs them. All others, and those that observers want to see, come to peet__direct_range(), which calls the
 * machine. The first operation of each kind is decoded by decode/direct.c, which makes its block.
 */
#include "jit/emitter.h"
#include "program/ranges.h"
#include <peet/raw.h>

enum { DESTINATION = 2, SOURCE = 3, BYTES = 4 }; /* words of the record */
enum { INSTRUCTIONS = 2 };                       /* of each block */

/* One of an operation's ranges: where the lines are that it is in, one or two, and how many of its elements are in the
 * first. */
struct side {
    uint32_t at[2];
    uint64_t first;
};

/* Returns: whether that is where they were last, and no element lies in both */
static inline int find(const struct peet_direct_run *run, uint64_t address, uint64_t bytes, uint64_t mask,
    struct side *out)
{
    const struct peet_direct_table *const t = run->table;
    const uint64_t line = address >> t->line_shift, more = ((address + bytes - 1) >> t->line_shift) - line;
    const uint64_t room = ((line + 1) << t->line_shift) - address, words = bytes / 8;
    if (more > 1 || (more != 0 && words * 8 > room && room % 8 != 0))
        return 0;
    out->first = words * 8 > room ? room / 8 : words + (bytes > room ? room : bytes) - words * 8;
    for (uint64_t k = 0; k < 2; k++) {
        const uint64_t here = k != 0 ? line + more : line;
        const uint32_t at = out->at[k] = run->hints[peet_direct_hint(t, here)];
        if (((run->keys[at] ^ (here << 2 | 3)) & mask) != 0)
            return 0;
    }
    return 1;
}

/* The last element in a line comes so late. */
static inline void use(const struct peet_direct_run *run, uint32_t at, uint64_t stamp)
{
    if (stamp > run->used[at])
        run->used[at] = stamp;
}

/* The elements are words, then bytes; first all words of the one range, then those of the other, and so with bytes.
 * Returns: whether nothing is left to the machine */
static int hit(struct peet_direct_run *run, const struct peet__direct_range *r, const uint64_t *at, uint64_t elements)
{
    const uint64_t bytes = at[BYTES], words = bytes / 8, stamp = run->stamp, two = r->kind == PEET__RANGE_TWO;
    struct side a, b;
    if (!find(run, at[r->first], bytes, r->masks[0], &a) || (two && !find(run, at[r->second], bytes, r->masks[1], &b)))
        return 0;
    const uint64_t between = two ? words : 0; /* its words come before the other's bytes */
    use(run, a.at[0], stamp + a.first + (a.first > words ? between : 0));
    use(run, a.at[1], stamp + elements + (elements > words ? between : 0));
    if (two) {
        use(run, b.at[0], stamp + words + b.first + (b.first > words ? bytes % 8 : 0));
        use(run, b.at[1], stamp + 2 * elements);
    }
    run->stamp = stamp + (elements << two);
    run->time += run->table->touch_time * (elements << two) + r->time;
    run->reads += r->reads * elements;
    run->writes += r->writes * elements;
    return 1;
}

/* Is it shown to those who look on?  One alone is asked: what it has counted it must not be shown. */
static int must_show(const struct peet__direct *d, const struct peet__direct_range *r, uint64_t elements)
{
    if (d->nobservers != 1 || !d->observers[0].ops->range)
        return d->nobservers != 0;
    return d->observers[0].ops->range(d->observers[0].self, r->block, (uint64_t)(r->reads + r->writes) * elements) != 0;
}

/* What is left to the machine, or shown to those who look on. */
static __attribute__((noinline)) void go_slowly(struct peet_direct_run *run, const struct peet__direct_range *r,
    const uint64_t *at, int is_hit, int shows)
{
    struct peet__direct *const direct = peet__direct_of(run);
    uint64_t values[8];
    peet__range_values(at[r->first], r->kind == PEET__RANGE_TWO, at[r->second], at[4], values);
    peet__direct_ends(direct, run, run->began, 1);
    if (!is_hit)
        direct->table.range(run, r->block, values);
    if (direct->nobservers != 0) {
        if (shows)
            direct->shown(direct->shown_arg, run, &(struct peet_block_event){r->block, values, run->context, 1, NULL},
                UINT32_MAX);
        peet__direct_report(run);
        peet__direct_begins(direct, run);
    }
}

static void count_for_observers(struct peet_direct_run *run, struct peet__direct_range *r, const uint64_t *at,
    int is_hit, uint64_t elements)
{
    uint64_t values[8];
    r->counted++;
    if (!is_hit)
        peet__range_values(at[r->first], r->kind == PEET__RANGE_TWO, at[r->second], at[BYTES], values);
    peet__direct_count_range(run, r, is_hit ? NULL : values, elements);
}

uint64_t peet__direct_range(struct peet_direct_run *run)
{
    struct peet__direct *const direct = peet__direct_of(run);
    const int looks = direct->table.range_looks;
    const int defers = peet__direct_defers(run);
    const uint64_t *at = run->at;
    uint64_t instructions = 0;
    do {
        const uint64_t what = at[1], bytes = at[4], elements = bytes / 8 + bytes % 8;
        if (__builtin_expect(bytes != 0, 1)) {
            struct peet__direct_range *r;
            if (what >= PEET__DIRECT_RANGES || (r = &direct->ranges[what])->kind == PEET__RANGE_UNKNOWN)
                break;
            if (defers && !r->counts) /* it comes as an event */
                break;
            r->times++;
            r->elements += elements;
            instructions += INSTRUCTIONS;
            run->began = run->time;
            const int is_hit = looks && hit(run, r, at, elements), shows = !r->counts && must_show(direct, r, elements);
            if (r->counts)
                count_for_observers(run, r, at, is_hit, elements);
            else if (!is_hit || shows)
                go_slowly(run, r, at, is_hit, shows);
        }
        at += 1 + PEET__RANGE_ARGS;
    } while (at < run->end && *at == PEET__RANGE_RECORD && run->time < run->limit);
    run->at = at;
    return instructions;
}

void peet__direct_range_known(struct peet__direct *direct, unsigned what, const struct peet_block *block)
{
    enum { A_DESTINATION = 1, A_SOURCE = 2 };
    uint64_t values[8];
    if (!direct->table.range || what >= PEET__DIRECT_RANGES || block->ninsns != INSTRUCTIONS)
        return;
    struct peet__direct_range *const r = &direct->ranges[what];
    peet_synthetic_values(what, A_DESTINATION, A_SOURCE, 8, values);
    r->block = block;
    r->time = direct->table.insn_time * INSTRUCTIONS;
    r->reads = r->writes = 0;
    for (uint32_t k = 0; k < block->insns[0].nrefs; k++) { /* of words; bytes are the same */
        const struct peet_ref *const ref = &block->refs[k];
        const int reads = ref->kind == PEET_REF_LOAD;
        *(k == 0 ? &r->first : &r->second) = values[ref->value] == A_DESTINATION ? DESTINATION : SOURCE;
        r->masks[k] = ~(uint64_t)reads;
        r->reads = (uint8_t)(r->reads + reads);
        r->writes = (uint8_t)(r->writes + !reads);
    }
    for (unsigned k = 0; k < 2; k++)
        r->sites[k] = direct->table.range_sites[block->refs[0].kind == PEET_REF_STORE][k];
    r->kind = block->insns[0].nrefs == 1 ? PEET__RANGE_ONE : PEET__RANGE_TWO;
    if (!r->asked)
        peet__direct_ask_of_range(direct, r, values);
}

void peet__direct_ranges_executed(struct peet__direct *direct, peet_program_executed *fn, void *arg)
{
    for (unsigned k = 0; k < PEET__DIRECT_RANGES; k++) {
        struct peet__direct_range *r = &direct->ranges[k];
        if (r->times == 0)
            continue;
        for (uint32_t o = 0; r->counted != 0 && o < direct->nobservers; o++)
            if (direct->observers[o].ops->executed)
                direct->observers[o].ops->executed(direct->observers[o].self, r->block, r->counted);
        fn(arg, r->block, r->times, r->reads * r->elements, r->writes * r->elements);
        r->times = r->elements = r->counted = 0;
    }
}

#ifdef __x86_64__

#define RANGE(field) ((int32_t)offsetof(struct peet__direct_range, field))

/* What the code leaves to peet__direct_range(): jumps there. */
struct slow {
    uint8_t *from[16];
    unsigned n;
};

static void unless_slow(struct peet__emit *e, unsigned condition, struct slow *slow)
{
    slow->from[slow->n++] = jump_ahead(e, condition);
}

/* movzx reg, byte [rax + field] */
static void load_byte(struct peet__emit *e, unsigned reg, int32_t field)
{
    CODE(e, "\x0f\xb6");
    byte(e, 0x40 | reg << 3);
    byte(e, (unsigned)field);
}

/* rsi: the address of the range whose word in the record that is */
static void load_address(struct peet__emit *e, int32_t word)
{
    load_byte(e, RCX, word);
    CODE(e, "\x48\x8b\x74\xcd\x00"); /* mov rsi, [rbp + rcx * 8] */
}

/* rsi and @last, rcx or rdx: the addresses of its first and last byte.  ecx becomes where their line is.  Returns:
 * after the jump that is taken if it is not there */
static uint8_t *look_for(struct peet__emit *e, const struct peet_direct_table *t, unsigned last, int32_t mask,
    struct slow *slow)
{
    CODE(e, "\x48\xc1\xee"); /* shr rsi, imm8 */
    byte(e, t->line_shift);
    CODE(e, "\x48\xc1"); /* shr last, imm8 */
    byte(e, 0xe8 | last);
    byte(e, t->line_shift);
    CODE(e, "\x48\x39"); /* cmp rsi, last */
    byte(e, 0xc0 | last << 3 | RSI);
    unless_slow(e, IF_NOT, slow);
    byte(e, 0x81); /* and last, imm32 */
    byte(e, 0xe0 | last);
    word32(e, t->hint_mask);
    CODE(e, "\x41\x8b\x0c"); /* mov ecx, [r11 + last * 4] */
    byte(e, 0x83 | last << 3);
    CODE(e, "\x48\x8d\x34\xb5"); /* lea rsi, [rsi * 4 + 3] */
    word32(e, 3);
    CODE(e, "\x49\x33\x34\xc9");     /* xor rsi, [r9 + rcx * 8] */
    memory(e, 0x85, RSI, RAX, mask); /* test [rax + mask], rsi */
    return jump_ahead(e, IF_NOT);
}

/* The first range's line was not found at @from, where rdx was the bytes less one, if it is needed: the machine brings
 * it, and all is as if it had been. */
static void bring(struct peet__emit *e, const struct peet_direct_table *t, uint8_t *from, const uint8_t *miss,
    const uint8_t *back)
{
    aim(e, from);
    store(e, RDI, RBX, RUN(last));
    store(e, RAX, RBX, RUN(other));
    CODE(e, "\x31\xd2\x48\x83\x7d"); /* xor edx, edx; cmp qword [rbp + disp8], 8; setb dl */
    byte(e, 8 * BYTES);
    CODE(e, "\x08\x0f\x92\xc2");
    load_address(e, RANGE(first));
    CODE(e, "\x8b\x4c\x90"); /* mov ecx, [rax + rdx * 4 + disp8] */
    byte(e, (unsigned)RANGE(sites));
    CODE(e, "\x48\x89\xf0\x48\xc1\xe8"); /* mov rax, rsi; shr rax, imm8 */
    byte(e, t->line_shift);
    CODE(e, "\x89\xce"); /* mov esi, ecx */
    call(e, miss);
    load(e, RAX, RBX, RUN(other));
    load(e, RDI, RBX, RUN(last));
    load(e, RDX, RBP, 8 * BYTES);
    add_constant(e, RDX, (uint64_t)-1);
    jump(e, back);
}

/* rdx or rsi, the elements of a range, are counted.  The first of two reads, the other one is as `writes` says. */
static void count(struct peet__emit *e, unsigned elements, int two)
{
    const int32_t reads = RUN(reads);
    if (two)
        memory(e, 0x01, elements, RBX, reads); /* add [rbx + …], elements */
    load_byte(e, RCX, RANGE(writes));
    CODE(e, "\x48\x01"); /* add [rbx + rcx * 8 + disp32], elements */
    byte(e, 0x84 | elements << 3);
    byte(e, 0xcb);
    word32(e, (uint32_t)reads);
    memory(e, 0x01, elements, RAX, RANGE(elements));
    memory(e, 0xff, 0, RAX, RANGE(times)); /* inc */
    add_constant(e, R12, INSTRUCTIONS);
}
_Static_assert(offsetof(struct peet_direct_run, writes) == offsetof(struct peet_direct_run, reads) + 8 &&
        sizeof(struct peet__direct_range) < 128,
    "the code knows this");

/* rdx: so many elements, each of which takes so much.  It is over; on to the next record. */
static void take(struct peet__emit *e, unsigned elements, uint64_t time, const uint8_t *leave, const uint8_t *next)
{
    CODE(e, "\x48\x69"); /* imul rdx, elements, imm32 */
    byte(e, 0xc0 | RDX << 3 | elements);
    word32(e, (uint32_t)time);
    memory(e, 0x03, RDX, RAX, RANGE(time)); /* add rdx, [rax + …] */
    add_constant(e, RBP, 8 * (1 + PEET__RANGE_ARGS));
    CODE(e, "\x49\x01\xd5"); /* add r13, rdx */
    jump_if(e, IF_BELOW, leave);
    jump(e, next);
}

void peet__direct_emit_ranges(struct peet__emit *e, struct peet__direct *direct, const uint8_t *leave,
    const uint8_t *miss, const uint8_t *next)
{
    const struct peet_direct_table *const t = &direct->table;
    struct slow slow = {.n = 0};
    const uint8_t *back[2];
    uint8_t *two, *missing[2];
    if (!t->range_looks || direct->nobservers != 0 || t->touch_time > INT32_MAX / 2)
        return;
    load(e, RAX, RBP, 8); /* the operation */
    compare_constant(e, RAX, PEET__DIRECT_RANGES);
    unless_slow(e, IF_AT_LEAST, &slow);
    CODE(e, "\x6b\xc0"); /* imul eax, eax, imm8 */
    byte(e, sizeof(struct peet__direct_range));
    constant(e, RCX, (uint64_t)(uintptr_t)direct->ranges);
    CODE(e, "\x48\x01\xc8"); /* add rax, rcx */
    load(e, RDX, RBP, 8 * BYTES);
    CODE(e, "\x48\x83\xea\x01"); /* sub rdx, 1 */
    unless_slow(e, IF_BELOW, &slow);
    CODE(e, "\x80\x78"); /* cmp byte [rax + kind], imm8 */
    byte(e, (unsigned)RANGE(kind));
    byte(e, PEET__RANGE_ONE);
    unless_slow(e, IF_BELOW, &slow);
    two = jump_ahead(e, IF_ABOVE);

    load_address(e, RANGE(first));
    CODE(e, "\x48\x01\xf2"); /* add rdx, rsi */
    missing[0] = look_for(e, t, RDX, RANGE(masks), &slow);
    back[0] = here(e);
    load(e, RDX, RBP, 8 * BYTES);
    CODE(e, "\x89\xd6\xc1\xea\x03\x83\xe6\x07\x01\xf2"); /* mov esi, edx; shr edx, 3; and esi, 7; add edx, esi */
    CODE(e, "\x49\x01\xd7\x4d\x89\x3c\xca");             /* add r15, rdx; mov [r10 + rcx * 8], r15 */
    count(e, RDX, 0);
    take(e, RDX, t->touch_time, leave, next);

    aim(e, two);
    load_address(e, RANGE(first));
    CODE(e, "\x48\x8d\x0c\x16"); /* lea rcx, [rsi + rdx] */
    missing[1] = look_for(e, t, RCX, RANGE(masks), &slow);
    back[1] = here(e);
    CODE(e, "\x49\x89\xc8"); /* mov r8, rcx */
    load_address(e, RANGE(second));
    CODE(e, "\x48\x01\xf2"); /* add rdx, rsi */
    /* whatever the first one's line took, it is there now */
    slow.from[slow.n++] = look_for(e, t, RDX, RANGE(masks) + 8, &slow);
    store(e, RDI, RBX, RUN(last));
    load(e, RDX, RBP, 8 * BYTES);
    /* xor edi, edi; mov esi, edx; shr edx, 3; and esi, 7; lea rsi, [rsi + rdx]; cmovne edi, edx: rsi elements, rdi the
     * other one's words, if bytes follow them */
    CODE(e, "\x31\xff\x89\xd6\xc1\xea\x03\x83\xe6\x07\x48\x8d\x34\x16\x0f\x45\xfa");
    CODE(e, "\x49\x01\xf7\x4c\x01\xff\x4b\x89\x3c\xc2"); /* add r15, rsi; add rdi, r15; mov [r10 + r8 * 8], rdi */
    CODE(e, "\x49\x01\xf7\x4d\x89\x3c\xca");             /* add r15, rsi; mov [r10 + rcx * 8], r15 */
    load(e, R8, RBX, RUN(blocks));
    load(e, RDI, RBX, RUN(last));
    count(e, RSI, 1);
    take(e, RSI, 2 * t->touch_time, leave, next);
    for (unsigned k = 0; k < 2; k++)
        if (t->range_misses)
            bring(e, t, missing[k], miss, back[k]);
        else
            slow.from[slow.n++] = missing[k];
    while (slow.n > 0)
        aim(e, slow.from[--slow.n]);
}

#endif
