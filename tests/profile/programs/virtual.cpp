/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual functions, templates, a destructor, and names with what C++ allows in them. */
#include <cstdio>
#define NOINLINE __attribute__((noinline))
struct shape { virtual long area(long n) const = 0; virtual ~shape() = default; };
struct square : shape { NOINLINE long area(long n) const override { return n * n; } };
struct twice : shape { const shape &of; explicit twice(const shape &s) : of(s) {} NOINLINE long area(long n) const override { return 2 * of.area(n + 1); } };
template <typename T, int K> NOINLINE T scale(T x) { return x * K + (x > 5 ? scale<T, K / 2>(x - 1) : 0); }
template <> NOINLINE long scale<long, 0>(long x) { return x; }
struct guard { long *at; NOINLINE explicit guard(long *p) : at(p) { ++*at; } NOINLINE ~guard() { *at += 3; } };
static NOINLINE long operator"" _km(unsigned long long n) { return (long)n * 1000; }
static NOINLINE long visit(const shape &s, long n) { long c = 0; guard g(&c); return s.area(n) + scale<long, 4>(n) + c; }
int main()
{
    square s; twice t(s); twice u(t);
    long sum = 0;
    for (long i = 0; i < 15; i++)
        sum += visit(s, i) + visit(t, i) - visit(u, i) + 3_km;
    std::printf("%ld\n", sum);
}
