// SPDX-License-Identifier: Apache-2.0
// A copy is known by what it was copied from: the argument is recorded once, although its own register is overwritten and
// the copy made before anything needed it.
// RUN: -O2
// CHECK-LABEL: copies:
// CHECK: movq %rdi, 8([[C:%r[a-z0-9]+]])
// CHECK: movq %rdi, [[COPY:%r[a-z0-9]+]]
// CHECK: movq 16(%rdi), %rdi
// CHECK: movq $-2, ([[C]])
// CHECK-NEXT: leaq 8([[C]]), [[C]]
// CHECK: cmpq $0, ([[COPY]])
struct node {
    struct node *child[2];
    long value;
};

long copies(const struct node *n, long bound, void (*f)(long))
{
    if (n->value > bound)
        return 1;
    if (n->child[0])
        f(n->value);
    return n->value;
}
