/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes through a recorded program instruction by instruction and asks the unwinder at each who called: the frames must lead to
 * the place where stepping began, with what the caller had in its registers.  Compiled without peetcc; x86-64.
 */
#include "control.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ucontext.h>
#include <unwind.h>

void subject(void);
void step_through(void (*f)(void));
extern const char step_called[], step_end[];

/* Registers that a callee keeps, in DWARF's numbers, with what is in them when the subject is called. */
static const struct {
    int number;
    uint64_t value;
} kept[] = {{3, 0x1111111111111111}, {6, 0x2222222222222222}, {12, 0x3333333333333333}, {13, 0x4444444444444444},
    {14, 0x5555555555555555}, {15, 0x6666666666666666}};

__asm__(".globl step_through, step_called, step_end\n"
        "step_through:\n"
        "        .cfi_startproc\n"
        "        pushq %rbx\n        .cfi_def_cfa_offset 16\n        .cfi_offset %rbx, -16\n"
        "        pushq %rbp\n        .cfi_def_cfa_offset 24\n        .cfi_offset %rbp, -24\n"
        "        pushq %r12\n        .cfi_def_cfa_offset 32\n        .cfi_offset %r12, -32\n"
        "        pushq %r13\n        .cfi_def_cfa_offset 40\n        .cfi_offset %r13, -40\n"
        "        pushq %r14\n        .cfi_def_cfa_offset 48\n        .cfi_offset %r14, -48\n"
        "        pushq %r15\n        .cfi_def_cfa_offset 56\n        .cfi_offset %r15, -56\n"
        "        subq $8, %rsp\n        .cfi_def_cfa_offset 64\n"
        "        movabsq $0x1111111111111111, %rbx\n"
        "        movabsq $0x2222222222222222, %rbp\n"
        "        movabsq $0x3333333333333333, %r12\n"
        "        movabsq $0x4444444444444444, %r13\n"
        "        movabsq $0x5555555555555555, %r14\n"
        "        movabsq $0x6666666666666666, %r15\n"
        "        pushfq\n        .cfi_adjust_cfa_offset 8\n"
        "        orl $0x100, (%rsp)\n"
        "        popfq\n        .cfi_adjust_cfa_offset -8\n"
        "        callq *%rdi\n"
        "step_called:\n"
        "        pushfq\n        .cfi_adjust_cfa_offset 8\n"
        "        andl $~0x100, (%rsp)\n"
        "        popfq\n        .cfi_adjust_cfa_offset -8\n"
        "        addq $8, %rsp\n        .cfi_def_cfa_offset 56\n"
        "        popq %r15\n        .cfi_def_cfa_offset 48\n"
        "        popq %r14\n        .cfi_def_cfa_offset 40\n"
        "        popq %r13\n        .cfi_def_cfa_offset 32\n"
        "        popq %r12\n        .cfi_def_cfa_offset 24\n"
        "        popq %rbp\n        .cfi_def_cfa_offset 16\n"
        "        popq %rbx\n        .cfi_def_cfa_offset 8\n"
        "        retq\n"
        "        .cfi_endproc\n"
        "step_end:\n");

static uint64_t steps, wrong;
static uint64_t first_cfa;

struct walk {
    int depth, found, same;
};

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    int before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);

    if (++walk->depth > 100)
        return _URC_END_OF_STACK;
    if (pc != (uintptr_t)step_called)
        return _URC_NO_REASON;
    uint64_t cfa = _Unwind_GetCFA(context);
    first_cfa = first_cfa ? first_cfa : cfa;
    walk->found = 1;
    walk->same = cfa == first_cfa;
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        walk->same &= (uint64_t)_Unwind_GetGR(context, kept[i].number) == kept[i].value;
    return _URC_END_OF_STACK;
}

static void trapped(int signal, siginfo_t *info, void *context)
{
    uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    struct walk walk = {0};

    (void)signal, (void)info;
    if (pc >= (uintptr_t)step_through && pc < (uintptr_t)step_end)
        return;
    steps++;
    _Unwind_Backtrace(frame, &walk);
    if (walk.found && walk.same)
        return;
    if (!wrong++)
        fprintf(stderr, "at %#lx (subject is at %#lx) the frames %s\n", (unsigned long)pc, (unsigned long)(uintptr_t)subject,
            walk.found ? "lead to the caller with other registers" : "do not lead to the caller");
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    uint64_t *limit = peet__ctl->limit;

    sigaction(SIGTRAP, &action, NULL);
    subject(); /* whatever is bound at the first call is bound now */
    peet__ctl->concurrent = 1; /* accesses take their hooks ... */
    for (int full = 0; full < 2; full++) { /* ... and at the second time the ring is full after a few words */
        peet__ctl->limit = full ? peet__ctl->scratch_begin + 8 : limit;
        step_through(subject);
        peet__ctl->limit = limit;
    }
    peet__ctl->concurrent = 0;
    printf("%lu steps, %lu without a way back\n", (unsigned long)steps, (unsigned long)wrong);
    return steps < 1000 || wrong;
}
