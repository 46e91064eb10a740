/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that all functions of a chunk share, at its beginning: entering and leaving, calls of the machine and of
 * observers, and the records that are not one of a block of the present function (another function's block, a range
 * operation, a note).  direct.c writes it once for each chunk; registers are as emitter.h says.
 */
#include "jit/preamble.h"
#include "jit/emit.h"

#include <peet/raw.h>

#ifdef __x86_64__

#define SITE(field) ((int32_t)offsetof(struct peet__direct_counted_site, field))

/* Before somebody else reads the time; r13 is to be loaded again then. */
static void store_time(struct peet__emit *e)
{
    memory(e, 0x03, R13, RBX, RUN(bound)); /* add r13, [rbx + …] */
    store(e, R13, RBX, RUN(time));
}

/* What is the run's and does not change while code runs. */
static void load_run(struct peet__emit *e)
{
    load(e, R8, RBX, RUN(blocks));
    load(e, R9, RBX, RUN(keys));
    load(e, R10, RBX, RUN(used));
    load(e, R11, RBX, RUN(hints));
}

/* At the limit or after it, r13 is -1: whatever takes time carries, and the code is left. */
static void reload(struct peet__emit *e)
{
    load(e, R13, RBX, RUN(time));
    load(e, R8, RBX, RUN(limit));
    CODE(e, "\x4d\x39\xc5\x72\x04\x4d\x8d\x45\x01"); /* cmp r13, r8; jb over the next; lea r8, [r13 + 1] */
    store(e, R8, RBX, RUN(bound));
    CODE(e, "\x4d\x29\xc5"); /* sub r13, r8 */
    load_run(e);
}

/* A function of the machine, whose other arguments are in their registers; what it may see or change is in the run. */
static void call_out(struct peet__emit *e, size_t function, const void *address)
{
    store_time(e);
    store(e, R15, RBX, RUN(stamp));
    store(e, RDI, RBX, RUN(last));
    CODE(e, "\x48\x89\xdf\x48\x83\xec\x08"); /* mov rdi, rbx; sub rsp, 8 */
    if (address) {
        constant(e, RAX, (uint64_t)(uintptr_t)address);
        CODE(e, "\xff\xd0"); /* call rax */
    } else {
        load(e, RAX, RBX, RUN(table));
        CODE(e, "\xff\x50"); /* call [rax + disp8] */
        byte(e, (unsigned)function);
    }
    CODE(e, "\x48\x83\xc4\x08"); /* add rsp, 8 */
    reload(e);
}

static void call_machine(struct peet__emit *e, size_t function)
{
    call_out(e, function, NULL);
}

/* Is the word rax the record of a range operation? */
static void compare_range(struct peet__emit *e)
{
    constant(e, RCX, PEET__RANGE_RECORD);
    CODE(e, "\x48\x39\xc8"); /* cmp rax, rcx */
}

/* A record that is neither plain nor of a place met before, if it is a range operation or a note: it and those that are
 * at hand, and on to the next record.  @lookup: rax is the word, which may say where it is.  Returns: where this
 * begins */
static size_t write_range(struct peet__emit *e, struct peet__direct *direct, const uint8_t *leave, const uint8_t *miss,
    const uint8_t *lookup)
{
    const uint8_t *const next = here(e);
    uint8_t *again, *note, *call;
    size_t begin;
    load(e, RAX, RBP, 0);
    compare_range(e);
    again = jump_ahead(e, IF_EQUAL);
    load(e, RDX, R8, 0);                         /* the function */
    CODE(e, "\x48\x89\xc1\x48\xf7\xd1\x8b\x92"); /* mov rcx, rax; not rcx; mov edx, [rdx + disp32] */
    word32(e, offsetof(struct peet__function, nsegments));
    CODE(e, "\x48\x39\xd1"); /* cmp rcx, rdx */
    jump_if(e, IF_AT_LEAST, lookup);
    CODE(e, "\x41\xff\x24\xc0"); /* jmp [r8 + rax * 8] */

    begin = (size_t)(e->at - e->write);
    compare_range(e);
    note = jump_ahead(e, IF_NOT);
    aim(e, again);
    peet__direct_emit_ranges(e, direct, leave, miss, next);
    constant(e, RAX, (uint64_t)(uintptr_t)peet__direct_range);
    CODE(e, "\xeb\x00"); /* jmp over the next */
    call = e->at;
    aim(e, note);
    constant(e, RAX, (uint64_t)(uintptr_t)peet__direct_notes);
    call[-1] = (uint8_t)(e->at - call);
    store(e, RBP, RBX, RUN(at));
    store_time(e);
    store(e, R15, RBX, RUN(stamp));
    store(e, RDI, RBX, RUN(last));
    CODE(e, "\x48\x89\xdf");         /* mov rdi, rbx */
    CODE(e, "\xff\xd0\x49\x01\xc4"); /* call rax; add r12, rax */
    reload(e);
    load(e, RDI, RBX, RUN(last));
    load(e, R15, RBX, RUN(stamp));
    memory(e, 0x3b, RBP, RBX, RUN(at)); /* cmp rbp, [rbx + …] */
    jump_if(e, IF_EQUAL, leave);
    load(e, RBP, RBX, RUN(at));
    jump_if(e, see_time(e), leave);
    jump(e, next);
    return begin;
}

uint8_t *peet__direct_look_up(struct peet__emit *e)
{
    CODE(e, "\x89\xc1\x81\xe1"); /* mov ecx, eax; and ecx, imm32 */
    word32(e, (PEET__DIRECT_SYNCS - 1) << PEET__SYNC_SHIFT);
    CODE(e, "\xc1\xe1"); /* shl ecx, imm8 */
    byte(e, 4 - PEET__SYNC_SHIFT);
    memory(e, 0x03, RCX, RBX, RUN(sync)); /* add rcx, [rbx + …] */
    CODE(e, "\x48\x39\x01");              /* cmp [rcx], rax */
    return jump_ahead(e, IF_NOT);
}

/* The machine's miss(): esi is the site, rax the line; ecx becomes where it is now.  Only time goes on, by what is
 * waited. */
static void call_miss(struct peet__emit *e, const struct peet_direct_table *table)
{
    CODE(e, "\x48\x89\xc2"); /* mov rdx, rax */
    load(e, RAX, RBX, RUN(bound));
    CODE(e, "\x4c\x01\xe8"); /* add rax, r13 */
    store(e, RAX, RBX, RUN(time));
    store(e, R15, RBX, RUN(stamp));
    CODE(e, "\x48\x89\xdf\x48\x83\xec\x08"); /* mov rdi, rbx; sub rsp, 8 */
    constant(e, RAX, (uint64_t)(uintptr_t)table->miss);
    CODE(e, "\xff\xd0\x48\x83\xc4\x08\x89\xc1"); /* call rax; add rsp, 8; mov ecx, eax */
    load_run(e);
    CODE(e, "\x49\x01\xd5"); /* add r13, rdx */
    uint8_t *const late = jump_ahead(e, IF_BELOW);
    byte(e, 0xc3); /* ret */
    aim(e, late);
    CODE(e, "\x48\x8d\x42\x01\x48\x85\xc0"); /* lea rax, [rdx + 1]; test rax, rax */
    uint8_t *const other_limit = jump_ahead(e, IF_EQUAL);
    memory(e, 0x01, RDX, RBX, RUN(time)); /* add [rbx + …], rdx */
    aim(e, other_limit);
    reload(e);
    byte(e, 0xc3);
}

size_t peet__direct_write_observed(struct peet__emit *e, const void *function, int may_end)
{
    const size_t begin = (size_t)(e->at - e->write);
    store(e, RDI, RBX, RUN(last));
    CODE(e, "\x48\x89\xdf\x48\x83\xec\x08"); /* mov rdi, rbx; sub rsp, 8 */
    constant(e, RAX, (uint64_t)(uintptr_t)function);
    CODE(e, "\xff\xd0\x48\x83\xc4\x08"); /* call rax; add rsp, 8 */
    if (may_end) {
        memory(e, 0x83, 7, RBX, RUN(limit)); /* cmp qword [rbx + …], 0 */
        byte(e, 0);
        uint8_t *const goes_on = jump_ahead(e, IF_NOT);
        store_time(e);
        reload(e);
        aim(e, goes_on);
    }
    load_run(e);
    load(e, RDI, RBX, RUN(last));
    byte(e, 0xc3);
    return begin;
}

/* The observer is shown a block, whose site is rsi, and rdx the iterations.  Most of that is for one observer alone, to be
 * told at once.  Returns: where this begins */
static size_t write_show(struct peet__emit *e, const struct peet__direct *direct)
{
    const size_t show = peet__direct_write_observed(e, (const void *)(uintptr_t)peet__direct_show, 1);
    const size_t begin = (size_t)(e->at - e->write);
    const struct peet_direct_table *const t = &direct->table;
    if (direct->nobservers != 1 || !direct->observers[0].ops->shown_alone)
        return show;
    load(e, RAX, RBX, RUN(alone));
    CODE(e, "\x48\x85\xc0"); /* test rax, rax */
    jump_if(e, IF_EQUAL, e->run + show);
    if (t->unreported) {
        constant(e, RCX, (uint64_t)(uintptr_t)t->unreported);
        CODE(e, "\x83\x39\x00"); /* cmp dword [rcx], 0 */
        jump_if(e, IF_NOT, e->run + show);
    }
    memory(e, 0x83, 7, RAX, offsetof(struct peet_direct_sums, unsettled)); /* cmp qword [rax + …], 0 */
    byte(e, 0);
    jump_if(e, IF_NOT, e->run + show);
    store(e, RDX, RSI, SITE(event.turns));
    load(e, RCX, RBX, RUN(began));
    if (t->clock_shift != 0) {
        CODE(e, "\x48\xc1\xe9"); /* shr rcx, imm8 */
        byte(e, t->clock_shift);
    }
    memory(e, 0x03, RCX, RBX, RUN(now)); /* add rcx, [rbx + …] */
    store(e, RCX, RAX, offsetof(struct peet_direct_sums, now));
    CODE(e, "\x31\xc9"); /* xor ecx, ecx */
    store(e, RCX, RAX, offsetof(struct peet_direct_sums, stop));
    store(e, RDI, RBX, RUN(last));
    CODE(e, "\x8b\x8b"); /* mov ecx, [rbx + disp32] */
    word32(e, (uint32_t)RUN(context));
    CODE(e, "\x89\x4e"); /* mov [rsi + disp8], ecx */
    byte(e, (unsigned)SITE(event.context));
    CODE(e, "\x48\x89\xf1"); /* mov rcx, rsi */
    load(e, RSI, RSI, SITE(only));
    load(e, RDX, RBX, RUN(previous));
    CODE(e, "\x44\x8b\x83"); /* mov r8d, [rbx + disp32] */
    word32(e, (uint32_t)RUN(hw));
    constant(e, RDI, (uint64_t)(uintptr_t)direct->observers[0].self);
    constant(e, RAX, (uint64_t)(uintptr_t)direct->observers[0].ops->shown_alone);
    CODE(e, "\x48\x83\xec\x08\xff\xd0\x48\x83\xc4\x08"); /* sub rsp, 8; call rax; add rsp, 8 */
    load_run(e);
    load(e, RDI, RBX, RUN(last));
    byte(e, 0xc3);
    return begin;
}
_Static_assert(offsetof(struct peet__direct_counted_site, event) == 0, "the code knows this");

struct preamble peet__direct_write_preamble(struct peet__emit *e, struct peet__direct *direct)
{
    static const uint8_t saved[] = {RBX, RBP, R12, R13, R14, R15};
    struct preamble p;
    p.enter = (size_t)(e->at - e->write);
    for (unsigned k = 0; k < sizeof saved; k++) {
        if (saved[k] >= 8)
            byte(e, 0x41);
        byte(e, 0x50 | (saved[k] & 7)); /* push */
    }
    CODE(e, "\x48\x83\xec\x08\x48\x89\xfb"); /* sub rsp, 8; mov rbx, rdi */
    load(e, RBP, RBX, RUN(at));
    load(e, R14, RBX, RUN(regs));
    load(e, R15, RBX, RUN(stamp));
    load(e, RDI, RBX, RUN(last));
    reload(e);
    CODE(e, "\x45\x31\xe4\xff\xe6"); /* xor r12d, r12d; jmp rsi */

    p.leave = (size_t)(e->at - e->write);
    store(e, RBP, RBX, RUN(at));
    store_time(e);
    store(e, R15, RBX, RUN(stamp));
    store(e, R12, RBX, RUN(instructions));
    store(e, RDI, RBX, RUN(last));
    CODE(e, "\x48\x83\xc4\x08"); /* add rsp, 8 */
    for (unsigned k = sizeof saved; k-- > 0;) {
        if (saved[k] >= 8)
            byte(e, 0x41);
        byte(e, 0x58 | (saved[k] & 7)); /* pop */
    }
    byte(e, 0xc3);

    p.miss = (size_t)(e->at - e->write); /* esi site, rax line */
    call_miss(e, &direct->table);

    /* The word at hand, rax, is not plain. */
    p.sync = (size_t)(e->at - e->write);
    const uint8_t *const lookup = here(e);
    uint8_t *const strange = peet__direct_look_up(e);
    CODE(e, "\xff\x61\x08"); /* jmp [rcx + 8] */
    p.strange = write_range(e, direct, e->run + p.leave, e->run + p.miss, lookup);
    aim_at(e, strange, e->run + p.strange);

    p.other = (size_t)(e->at - e->write); /* esi block id; eax: whether it could not */
    store(e, RSI, RBX, RUN(other));
    store(e, RBP, RBX, RUN(at));
    call_machine(e, offsetof(struct peet_direct_table, other));
    load(e, RDI, RBX, RUN(last));
    load(e, R15, RBX, RUN(stamp));
    CODE(e, "\x85\xc0"); /* test eax, eax */
    uint8_t *const usual = jump_ahead(e, IF_NOT_ABOVE_ZERO);
    CODE(e, "\x89\xc2"); /* mov edx, eax */
    load(e, RSI, RBX, RUN(other));
    call_out(e, 0, (const void *)(uintptr_t)peet__direct_often);
    load(e, RDI, RBX, RUN(last));
    CODE(e, "\x85\xc0"); /* test eax, eax */
    aim(e, usual);
    byte(e, 0xc3);

    p.loop = (size_t)(e->at - e->write); /* esi block id, rdx iterations, rcx strides */
    call_machine(e, offsetof(struct peet_direct_table, loop));
    load(e, RDI, RBX, RUN(last));
    load(e, R15, RBX, RUN(stamp));
    CODE(e, "\x85\xc0\xc3");

    p.ask = (size_t)(e->at - e->write); /* rsi site */
    call_out(e, 0, (const void *)(uintptr_t)peet__direct_ask);
    load(e, RDI, RBX, RUN(last));
    CODE(e, "\x85\xc0\xc3");

    p.mark = peet__direct_write_observed(e, (const void *)(uintptr_t)peet__direct_mark, 0); /* rsi site */
    p.show = write_show(e, direct); /* rsi site, rdx iterations */
    p.report = peet__direct_write_observed(e, (const void *)(uintptr_t)peet__direct_report, 0);
    p.learn = peet__direct_write_learn(e);
    return p;
}
_Static_assert(sizeof(struct peet__direct_sync) == 16 && offsetof(struct peet_direct_table, done) < 128,
    "the code knows this");

#endif
