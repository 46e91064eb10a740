// SPDX-License-Identifier: Apache-2.0
// Without derivation every base is recorded in the block that uses it.
// RUN: -O2 -fno-unroll-loops -fno-vectorize -fpeet-derive=0
// CHECK-LABEL: axpy:
// CHECK: {{\.LBB[0-9_]+}}:
// CHECK: movq $-{{[0-9]+}}, ([[C:%r[a-z0-9]+]])
// CHECK-NEXT: movq %{{r[a-z0-9]+}}, 8([[C]])
// CHECK-NEXT: movq %{{r[a-z0-9]+}}, 16([[C]])
void axpy(double *x, const double *y, double a, long n)
{
    for (long i = 0; i < n; i++)
        x[i] += a * y[i];
}
