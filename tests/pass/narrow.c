// SPDX-License-Identifier: Apache-2.0
// A register of which only the lowest byte is live: what is above it may be anything, and does not count when a context that
// waits is compared with itself.  The first word says which registers are live, the second has rax as a byte.
// RUN: -O2
// CHECK-LABEL: lock:
// CHECK: movb $1, [[B:%[a-d]l]]
// CHECK: cmpl $0, 2147287104
// CHECK: xchgb [[B]], (%rdi)
// CHECK: callq *2147287080
// CHECK: .long 192681
// CHECK: .long 65536
// CHECK: leaq 128(%rsp), %rsp
#include <stdatomic.h>

void lock(atomic_flag *f)
{
    while (atomic_flag_test_and_set(f))
        ;
}
