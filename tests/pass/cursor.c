// SPDX-License-Identifier: Apache-2.0
// From record to record a register that holds nothing carries the cursor, over jumps and where ways come together; it is
// loaded at a function's entry and behind calls.  The control page has it at each record.
// RUN: -O2
// CHECK-LABEL: cursor:
// CHECK: movq %gs:2147287040, [[C:%r[a-z0-9]+]]
// CHECK-NEXT: cmpq %gs:2147287048, [[C]]
// CHECK: movq [[C]], %gs:2147287040
// CHECK: jg [[OUT:\.LBB[0-9_]+]]
// CHECK-NOT: 2147287040,
// CHECK: movq $-{{[0-9]+}}, ([[C]])
// CHECK: leaq {{[0-9]+}}([[C]]), [[C]]
// CHECK-NEXT: movq [[C]], %gs:2147287040
// CHECK-NOT: 2147287040,
// CHECK: callq
// CHECK: movq %gs:2147287040, [[C]]
// CHECK-NEXT: cmpq %gs:2147287048, [[C]]
// CHECK-NOT: 2147287040,
// CHECK: [[OUT]]:
// CHECK-NEXT: movq $-{{[0-9]+}}, ([[C]])
// CHECK-NOT: 2147287040,
// CHECK: .Lpeet0s0:
struct node {
    struct node *child;
    long value;
};

long cursor(const struct node *n, long bound, void (*f)(long))
{
    if (n->value > bound)
        return 1;
    if (n->child)
        f(n->value);
    return n->value;
}
