// SPDX-License-Identifier: Apache-2.0
// Behind rdtsc and rdtscp a hook overwrites what they read, also in the middle of assembly text; markers of
// other simulators become hooks; transactions abort.
// RUN: -O2 -mrtm
#include <immintrin.h>
#include <x86intrin.h>

// CHECK-LABEL: builtin:
// CHECK: rdtsc
// CHECK: callq *2147287088
// CHECK: .long 0
unsigned long builtin(void)
{
    return __rdtsc();
}

// CHECK-LABEL: builtin_processor:
// CHECK: rdtscp
// CHECK: callq *2147287088
unsigned long builtin_processor(unsigned *cpu)
{
    return __rdtscp(cpu);
}

// The hook stands before the shift that uses its result.
// CHECK-LABEL: text:
// CHECK: rdtsc
// CHECK: .byte 255
// CHECK: .long 2147287088
// CHECK: shlq $32
unsigned long text(void)
{
    unsigned long t;
    __asm__ volatile("lfence; rdtsc\n\tshlq $32, %%rdx; orq %%rdx, %%rax # rdtsc" : "=a"(t) : : "rdx");
    return t;
}

// CHECK-LABEL: sniper:
// CHECK: xchgw %bx, %bx
// CHECK: .long 2147287096
unsigned long sniper(unsigned long command)
{
    unsigned long result;
    __asm__ __volatile__("mov %1, %%rax\n\txchg %%bx, %%bx\n" : "=a"(result) : "g"(command));
    return result;
}

// CHECK-LABEL: zsim:
// CHECK: xchgq %rcx, %rcx
// CHECK: .long 2147287096
void zsim(unsigned long op)
{
    __asm__ __volatile__("xchg %%rcx, %%rcx;" : : "c"(op));
}

// CHECK-LABEL: parsec:
// CHECK: callq *2147287096
// CHECK: {{callq|jmp}} __parsec_roi_begin
void __parsec_roi_begin(void);
void parsec(void)
{
    __parsec_roi_begin();
}

// CHECK-LABEL: itt:
// CHECK: callq *2147287096
// CHECK: callq *
extern void (*__itt_pause_ptr__3_0)(void);
void itt(void)
{
    if (__itt_pause_ptr__3_0)
        __itt_pause_ptr__3_0();
    builtin();
}

// CHECK-LABEL: transaction:
// CHECK: xbegin
// CHECK: xabort $0
int transaction(int *p)
{
    if (_xbegin() != _XBEGIN_STARTED)
        return 0;
    ++*p;
    _xend();
    return 1;
}
