/* SPDX-License-Identifier: Apache-2.0 */
/* Types beyond the usual: big bit-precise integers, half floats, vector extensions, complex, packed and bit fields, cleanup attributes. */
#include <complex.h>
#include <stdint.h>
#include <stdio.h>

typedef int v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef double v16 __attribute__((vector_size(128)));

struct __attribute__((packed)) odd { char a; long b; short c; double d; };
struct fields { unsigned a : 3; int b : 11; unsigned long c : 37; _Bool d : 1; };

static int closed;
static void close_it(int *p) { closed += *p; }

__attribute__((noinline)) static v4 shuffle(v4 a, v4 b)
{
    return __builtin_shufflevector(a, b, 1, 4, 3, 6) * 3 + (a > b);
}
__attribute__((noinline)) static v8 scale(v8 a, float f)
{
    return a * f - a / (f + 1);
}
__attribute__((noinline)) static v16 wide(v16 a, int i)
{
    a[i & 15] += i;
    return a + a[(i + 3) & 15];
}
__attribute__((noinline)) static int scoped(int n)
{
    for (int i = 0; i < n; i++) {
        int x __attribute__((cleanup(close_it))) = i;
        if (i == 7)
            return x;
        if (i % 2)
            continue;
        x++;
    }
    return -1;
}

int main(void)
{
    _BitInt(256) big = 1;
    unsigned _BitInt(77) odd_size = 3;
    _Float16 half = 1.5f16;
    double complex z = 1 + 0.5 * I;
    float complex zf = 0.5f - 0.25f * I;
    struct odd o[5] = {{1, 2, 3, 4}};
    struct fields f = {0};
    v4 v = {1, 2, 3, 4}, w = {4, 3, 2, 1};
    v8 x = {1, 2, 3, 4, 5, 6, 7, 8};
    v16 y = {0};
    long r = 0;
    for (int i = 1; i < 60; i++) {
        big = big * 3 + i;
        odd_size = odd_size * odd_size + (unsigned)i;
        half = half * 1.01f16 + 0.1f16;
        z = z * z / (1.0 + z);
        zf = zf * zf * 0.5f + 0.1f;
        o[i % 5].b += i;
        o[(i + 1) % 5].d += (double)o[i % 5].b;
        f.a += (unsigned)i;
        f.b -= i;
        f.c = f.c * 5 + f.a;
        f.d ^= i & 1;
        v = shuffle(v, w + i);
        x = scale(x, 1.0f + (float)i / 100);
        y = wide(y, i);
        r += scoped(i % 12);
    }
    printf("%llx %llx %.4f %.6f %.6f %.5f\n", (unsigned long long)(big >> 40), (unsigned long long)odd_size, (double)half, creal(z), cimag(z),
        (double)crealf(zf));
    printf("%ld %g %u %d %llx %d %d %d %.4f %.3f %ld %d\n", o[3].b, o[2].d, f.a, f.b, (unsigned long long)f.c, f.d, v[0], v[3], (double)x[5], y[4], r, closed);
    return 0;
}
