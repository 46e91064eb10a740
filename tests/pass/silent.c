// SPDX-License-Identifier: Apache-2.0
// A loop of one block whose references can all be followed is exactly the loop of the plain program;
// behind its jump it records once where its index has come to.
// RUN: -O2 -fno-unroll-loops -fno-vectorize
// CHECK-LABEL: axpy:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK-NOT: 2147287040
// CHECK: mulsd
// CHECK-NOT: 2147287040
// CHECK: jne {{\.LBB[0-9_]+}}
// CHECK-NEXT: {{\.Lpeet[0-9]+e[0-9]+:}}
// CHECK-NEXT: movq $-{{[0-9]+}}, ([[C:%r[a-z0-9]+]])
// CHECK-NEXT: movq %r{{[a-z0-9]+}}, 8([[C]])
// CHECK-NEXT: leaq 16([[C]]), [[C]]
void axpy(double *x, const double *y, double a, long n)
{
    for (long i = 0; i < n; i++)
        x[i] += a * y[i];
}

// A stride that is in a register is recorded before the loop.
// CHECK-LABEL: column:
// CHECK: {{\.LBB[0-9_]+}}: # =>This Inner Loop
// CHECK-NOT: 2147287040
// CHECK: addsd (%[[P:r[a-z0-9]+]])
// CHECK-NOT: 2147287040
// CHECK: jne {{\.LBB[0-9_]+}}
double column(const double *x, long n, long width)
{
    double s = 0;
    for (long i = 0; i < n; i++)
        s += x[i * width];
    return s;
}
