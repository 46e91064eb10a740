// SPDX-License-Identifier: Apache-2.0
// A loop over arrays needs its bases once: in the loop only the blocks' numbers are written.
// RUN: -O2 -fno-unroll-loops -fno-vectorize
// CHECK-LABEL: positive:
// CHECK: {{=>This Inner Loop}}
// The cursor stays in a register round the loop: it is stored, not loaded.
// CHECK: cmpq %gs:2147287048, [[C:%r[a-z0-9]+]]
// CHECK-NEXT: jae
// CHECK-NEXT: movq $-{{[0-9]+}}, ([[C]])
// CHECK-NEXT: leaq 8([[C]]), [[C]]
// CHECK-NEXT: movq [[C]], %gs:2147287040
// CHECK: ucomisd
void positive(double *x, const double *y, double a, long n)
{
    for (long i = 0; i < n; i++)
        if (y[i] > a)
            x[i] += 1 / y[i];
}
