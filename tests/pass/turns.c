// SPDX-License-Identifier: Apache-2.0
// Before an atomic or volatile access a word says whether others are alive: a comparison and a jump that is
// not taken where the flags are free, the hook itself where they are not.  Plain accesses do not ask, nor
// do those to a local variable that nobody else can reach.
// RUN: -O2 -fno-unroll-loops
#include <stdatomic.h>

atomic_long counter;
volatile int device;
long plain;

// CHECK-LABEL: add:
// CHECK: cmpl $0, 2147287104
// CHECK-NEXT: jne [[OUT:.L[a-z0-9]+]]
// CHECK: lock
// CHECK: [[OUT]]:
// CHECK-NEXT: leaq -128(%rsp), %rsp
// CHECK-NEXT: .cfi_adjust_cfa_offset 128
// CHECK-NEXT: callq *2147287080
// CHECK: leaq 128(%rsp), %rsp
void add(void)
{
    counter++;
}

// CHECK-LABEL: wait_for:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK: cmpl $0, 2147287104
// CHECK: device(%rip)
// CHECK: jne {{\.LBB|.*}}
void wait_for(int value)
{
    while (device != value)
        ;
}

// The flags of the first access are used behind the second.
// CHECK-LABEL: between:
// CHECK: cmpl $0, 2147287104
// CHECK: lock
// CHECK-NOT: 2147287104
// CHECK: leaq -128(%rsp), %rsp
// CHECK-NEXT: .cfi_adjust_cfa_offset 128
// CHECK-NEXT: callq *2147287080
// CHECK: movl $1, device(%rip)
// CHECK-NOT: {{(cmp|test)[lq]}}
// CHECK: {{jn?e}}
void last(void);
void more(void);
void between(void)
{
    int is_last = atomic_fetch_sub(&counter, 1) == 1;
    device = 1;
    if (is_last)
        last();
    else
        more();
}

// CHECK-LABEL: ordinary:
// CHECK-NOT: 2147287104
// CHECK-NOT: 2147287080
// CHECK: ret
long ordinary(long n)
{
    volatile long mine = n;
    for (long i = 0; i < 9; i++)
        mine += plain;
    return mine;
}

// A loop without end waits, and one that a compiler barrier makes look again, whatever it looks at.
// CHECK-LABEL: forever:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK: cmpl $0, 2147287104
// CHECK: jmp {{\.LBB[0-9_]+}}
// CHECK-LABEL: look_again:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK: cmpl $0, 2147287104
// CHECK: plain(%rip)
void forever(void)
{
    for (;;)
        ;
}
void look_again(void)
{
    while (!plain)
        __asm__ volatile("" ::: "memory");
}

// A fence waits, and so does a library's operation that is too wide for an instruction.
// CHECK-LABEL: fence:
// CHECK: cmpl $0, 2147287104
// CHECK: {{mfence|lock}}
// CHECK-LABEL: wide:
// CHECK: cmpl $0, 2147287104
// CHECK: callq __atomic_load
void fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
struct big { long a[4]; };
_Atomic(struct big) object;
long wide(void)
{
    struct big b = object;
    return b.a[3];
}

// A loop that only takes time waits when it is left, not in each round.
// CHECK-LABEL: barriers:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK-NOT: 2147287104
// CHECK: jne {{\.LBB[0-9_]+}}
// CHECK: cmpl $0, 2147287104
// CHECK: ret
// CHECK-LABEL: pauses:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK-NOT: 2147287104
// CHECK: pause
// CHECK-NOT: 2147287104
// CHECK: jne {{\.LBB[0-9_]+}}
// CHECK: cmpl $0, 2147287104
// CHECK: ret
// CHECK-LABEL: pauses_and_looks:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK: cmpl $0, 2147287104
// CHECK: pause
void barriers(long n)
{
    for (long i = 0; i < n; i++)
        __asm__ volatile("" ::: "memory");
}
void pauses(long n)
{
    for (long i = 0; i < n; i++)
        __builtin_ia32_pause();
}
void pauses_and_looks(void)
{
    while (!plain)
        __builtin_ia32_pause();
}
