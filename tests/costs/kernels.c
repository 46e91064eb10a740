/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As many different instructions as possible: every operation on every type, with operands in registers, in memory, as
 * constants, and read-modify-write; on vectors as wide as the target has.  Used by costs.sh; never run.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define KEEP __attribute__((noinline, used))

/* -------------------------------------------------------------------------------------- scalars */

#define BINARY(T, name, op) \
    KEEP T T##_##name##_rr(T a, T b) { return a op b; } \
    KEEP T T##_##name##_rm(T a, const T *b) { return a op *b; } \
    KEEP void T##_##name##_mr(T *a, T b) { *a = *a op b; } \
    KEEP T T##_##name##_ri(T a) { return a op 11; } \
    KEEP T T##_##name##_rI(T a) { return a op 113; } \
    KEEP void T##_##name##_mi(T *a) { *a = *a op 7; } \
    KEEP T T##_##name##_both(const T *a, const T *b, long i) { return a[i] op b[2 * i]; }
#define COMPARE(T) \
    KEEP int T##_lt(T a, T b) { return a < b; } \
    KEEP int T##_eqm(T a, const T *b) { return a == *b; } \
    KEEP T T##_max(T a, T b) { return a > b ? a : b; } \
    KEEP T T##_pick(T a, T b, const T *c) { return a <= b ? *c : b; } \
    KEEP int T##_branch(T *a, T b, int n) { int k = 0; for (int i = 0; i < n; i++) if (a[i] > b) { k++; a[i] = b; } return k; }
#define INTEGER(T) \
    BINARY(T, add, +) BINARY(T, sub, -) BINARY(T, mul, *) BINARY(T, div, /) BINARY(T, rem, %) BINARY(T, and, &) BINARY(T, or, |) \
    BINARY(T, xor, ^) COMPARE(T) \
    KEEP T T##_shl(T a, T b) { return a << (b & 7); } \
    KEEP T T##_shr(T a, T b) { return a >> (b & 7); } \
    KEEP T T##_shl3(T a) { return a << 3; } \
    KEEP T T##_shr1(T a) { return a >> 1; } \
    KEEP void T##_shlm(T *a) { *a <<= 2; } \
    KEEP void T##_shr1m(T *a) { *a >>= 1; } \
    KEEP T T##_neg(T a) { return -a; } \
    KEEP T T##_not(T a) { return ~a; } \
    KEEP void T##_negm(T *a) { *a = -*a; } \
    KEEP void T##_incm(T *a) { ++*a; } \
    KEEP int T##_test(T a, T b) { return (a & b) != 0; } \
    KEEP int T##_testi(T a) { return (a & 0x14) == 0; } \
    KEEP T T##_exchange(T *a, T b) { return __atomic_exchange_n(a, b, 5); } \
    KEEP T T##_fetch(T *a, T b) { return __atomic_fetch_add(a, b, 5); } \
    KEEP void T##_addlock(T *a, T b) { __atomic_fetch_add(a, b, 5); } \
    KEEP int T##_cas(T *a, T b, T c) { return __atomic_compare_exchange_n(a, &b, c, 0, 5, 5); } \
    KEEP T T##_long(const unsigned char *p, const signed char *q) { return (T)(*p + *q); } \
    KEEP double T##_double(T a) { return a; } \
    KEEP float T##_floatm(const T *a) { return *a; } \
    KEEP T T##_from(double a) { return (T)a; } \
    KEEP T T##_fromf(const float *a) { return (T)*a; } \
    KEEP T T##_address(T a, T b) { return a + 4 * b + 17; } \
    KEEP T *T##_pointer(T *a, long b) { return a + 3 * b + 1; } \
    KEEP void T##_store(T *a, long i, T b) { a[i] = b; a[i + 1] = 5; }
typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64;
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
INTEGER(i8) INTEGER(u8) INTEGER(i16) INTEGER(u16) INTEGER(i32) INTEGER(u32) INTEGER(i64) INTEGER(u64)

#define FLOATING(T, s) \
    BINARY(T, add, +) BINARY(T, sub, -) BINARY(T, mul, *) BINARY(T, div, /) COMPARE(T) \
    KEEP T T##_sqrt(T a) { return __builtin_sqrt##s(a); } \
    KEEP T T##_sqrtm(const T *a) { return __builtin_sqrt##s(*a); } \
    KEEP T T##_abs(T a) { return __builtin_fabs##s(a); } \
    KEEP T T##_neg(T a) { return -a; } \
    KEEP T T##_fma(T a, T b, T c) { return a * b + c; } \
    KEEP T T##_fmam(T a, T b, const T *c) { return a * *c - b; } \
    KEEP T T##_floor(T a) { return __builtin_floor##s(a); } \
    KEEP T T##_zero(void) { return 0; } \
    KEEP long T##_round(T a) { return (long)a; } \
    KEEP T T##_copysign(T a, T b) { return __builtin_copysign##s(a, b); }
FLOATING(float, f) FLOATING(double, )
KEEP float narrow(double a) { return (float)a; }
KEEP double widen(float a) { return a; }
KEEP double widenm(const float *a) { return *a; }
KEEP u64 bits(double a) { u64 b; memcpy(&b, &a, 8); return b; }
KEEP float frombits(u32 a) { float b; memcpy(&b, &a, 4); return b; }

KEEP int clz32(u32 a) { return __builtin_clz(a); }
KEEP int clz64(u64 a) { return __builtin_clzll(a); }
KEEP int ctz32(u32 a) { return __builtin_ctz(a); }
KEEP int ctz64(u64 a) { return __builtin_ctzll(a); }
KEEP int pop32(u32 a) { return __builtin_popcount(a); }
KEEP int pop64m(const u64 *a) { return __builtin_popcountll(*a); }
KEEP u32 swap32(u32 a) { return __builtin_bswap32(a); }
KEEP u64 swap64(const u64 *a) { return __builtin_bswap64(*a); }
KEEP u16 swap16(u16 a) { return __builtin_bswap16(a); }
KEEP u32 rotl(u32 a) { return a << 5 | a >> 27; }
KEEP u64 rotl1(u64 a) { return a << 1 | a >> 63; }
KEEP u64 rotr(u64 a, int n) { return a >> (n & 63) | a << (-n & 63); }
KEEP u64 funnel(u64 a, u64 b) { return a << 9 | b >> 55; }
KEEP u64 funneln(u64 a, u64 b, int n) { return __builtin_elementwise_fshl(a, b, (u64)n); }
KEEP unsigned __int128 wide(unsigned __int128 a, unsigned __int128 b) { return a * b + (a >> 3) - b; }
KEEP u64 high(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
KEEP i64 highs(i64 a, i64 b) { return (i64)((__int128)a * b >> 64); }
KEEP int bit(u64 a, int n) { return a >> n & 1; }
KEEP u64 setbit(u64 a, int n) { return a | (u64)1 << n; }
KEEP u64 clearlow(u64 a) { return a & (a - 1); }
KEEP u64 lowest(u64 a) { return a & -a; }
KEEP u64 masklow(u64 a) { return a ^ (a - 1); }
KEEP u64 andnot(u64 a, u64 b) { return ~a & b; }
KEEP u64 field(u64 a) { return a >> 7 & 0x3ff; }
KEEP int overflow(int a, int b, int *c) { return __builtin_add_overflow(a, b, c); }
KEEP u64 carry(u64 *a, const u64 *b, int n) { unsigned long long c = 0; for (int i = 0; i < n; i++) a[i] = __builtin_addcll(a[i], b[i], c, &c); return c; }
KEEP long select3(long a, long b, long c, long d) { return a > b ? c : d; }
KEEP int parity(u32 a) { return __builtin_parity(a); }
KEEP void clear(char *a) { memset(a, 0, 96); }
KEEP void copy(char *a, const char *b) { memcpy(a, b, 77); }
KEEP long double extended(long double a, double b, int c) { return (a + b) * c / (a - 1) + __builtin_sqrtl(b); }
KEEP int jump(int a)
{
    switch (a) {
    case 0: return 11;
    case 1: return narrow(a) > 1;
    case 2: return clz32((u32)a);
    case 3: return jump(a - 1) + 4;
    case 4: return pop32((u32)a) * 2;
    case 5: return (int)high(1, (u64)a);
    }
    return 0;
}
KEEP int call(int (*f)(int, long), int a) { return f(a, 3) + f(2 * a, 4); }
KEEP int tail(int (*f)(int), int a) { return f(a + 1); }
KEEP int tailm(int (**f)(int), int a) { return f[2](a + 1); }
KEEP void fence(int *a, int *b) { *a = 1; __atomic_thread_fence(5); *b = 2; __builtin_prefetch(a + 64); }
KEEP void many(int *a, int b, int c, int d, int e, int f, int g, int h)
{
    int x[40];
    for (int i = 0; i < 40; i++)
        x[i] = a[i] * b + c;
    a[0] = x[d & 31] + x[e & 31] - x[f & 31] * x[g & 31] + h;
}

/* -------------------------------------------------------------------------------------- vectors */

#if defined(__AVX512F__)
#define WIDE 64
#elif defined(__AVX__)
#define WIDE 32
#else
#define WIDE 16
#endif
#define VECTORS(T, bytes) typedef T T##x##bytes __attribute__((vector_size(bytes)));
#define VECTOR_INTEGER(V, T, n) \
    KEEP V V##_add(V a, V b) { return a + b; } \
    KEEP V V##_subm(V a, const V *b) { return a - *b; } \
    KEEP V V##_mul(V a, V b) { return a * b; } \
    KEEP V V##_and(V a, V b) { return a & b; } \
    KEEP V V##_orm(V a, const V *b) { return a | *b; } \
    KEEP V V##_xor(V a, V b) { return a ^ b; } \
    KEEP V V##_andn(V a, V b) { return ~a & b; } \
    KEEP V V##_shl(V a) { return a << 3; } \
    KEEP V V##_shr(V a) { return a >> 2; } \
    KEEP V V##_shv(V a, V b) { return a << (b & (T)7); } \
    KEEP V V##_eq(V a, V b) { return (V)(a == b); } \
    KEEP V V##_gt(V a, V b) { return (V)(a > b); } \
    KEEP V V##_max(V a, V b) { return __builtin_elementwise_max(a, b); } \
    KEEP V V##_minm(V a, const V *b) { return __builtin_elementwise_min(a, *b); } \
    KEEP V V##_abs(V a) { V b; for (int i = 0; i < n; i++) b[i] = a[i] < 0 ? -a[i] : a[i]; return b; } \
    KEEP V V##_select(V a, V b, V c) { V d; for (int i = 0; i < n; i++) d[i] = a[i] > b[i] ? c[i] : b[i]; return d; } \
    KEEP V V##_splat(T a) { return (V){ 0 } + a; } \
    KEEP V V##_splatm(const T *a) { return (V){ 0 } + *a; } \
    KEEP V V##_insert(V a, T b) { a[1] = b; return a; } \
    KEEP T V##_extract(V a) { return a[1]; } \
    KEEP T V##_sum(V a) { T s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; } \
    KEEP V V##_ones(void) { return (V){ 0 } - 1; } \
    KEEP V V##_zero(void) { return (V){ 0 }; } \
    KEEP void V##_store(V *a, V b) { *a = b; } \
    KEEP void V##_loose(char *a, const char *b) { V v; memcpy(&v, b, sizeof v); v += 1; memcpy(a, &v, sizeof v); } \
    KEEP V V##_swap(V a) { V b; for (int i = 0; i < n; i++) b[i] = a[n - 1 - i]; return b; } \
    KEEP V V##_zip(V a, V b) { V c; for (int i = 0; i < n; i++) c[i] = i % 2 ? b[i / 2] : a[i / 2]; return c; }
#define VECTOR_FLOATING(V, T, n) \
    KEEP V V##_add(V a, V b) { return a + b; } \
    KEEP V V##_subm(V a, const V *b) { return a - *b; } \
    KEEP V V##_mul(V a, V b) { return a * b; } \
    KEEP V V##_mulm(V a, const V *b) { return a * *b; } \
    KEEP V V##_div(V a, V b) { return a / b; } \
    KEEP V V##_divm(V a, const V *b) { return a / *b; } \
    KEEP V V##_sqrt(V a) { return __builtin_elementwise_sqrt(a); } \
    KEEP V V##_abs(V a) { return __builtin_elementwise_abs(a); } \
    KEEP V V##_neg(V a) { return -a; } \
    KEEP V V##_fma(V a, V b, V c) { return a * b + c; } \
    KEEP V V##_fmam(V a, V b, const V *c) { return *c - a * b; } \
    KEEP V V##_floor(V a) { return __builtin_elementwise_floor(a); } \
    KEEP V V##_select(V a, V b, V c) { V d; for (int i = 0; i < n; i++) d[i] = a[i] < b[i] ? c[i] : b[i]; return d; } \
    KEEP V V##_max(V a, V b) { V d; for (int i = 0; i < n; i++) d[i] = a[i] > b[i] ? a[i] : b[i]; return d; } \
    KEEP V V##_splatm(const T *a) { return (V){ 0 } + *a; } \
    KEEP V V##_splat(T a) { V v; for (int i = 0; i < n; i++) v[i] = a; return v; } \
    KEEP T V##_sum(V a) { T s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; } \
    KEEP V V##_swap(V a) { V b; for (int i = 0; i < n; i++) b[i] = a[n - 1 - i]; return b; } \
    KEEP V V##_zip(V a, V b) { V c; for (int i = 0; i < n; i++) c[i] = i % 2 ? b[i / 2] : a[i / 2]; return c; } \
    KEEP V V##_blend(V a, V b) { V c = a; for (int i = 0; i < n; i += 2) c[i] = b[i]; return c; } \
    KEEP V V##_insert(V a, T b) { a[0] = b; return a; } \
    KEEP void V##_store(V *a, V b) { *a = b; } \
    KEEP V V##_ints(const T *a, const int *b) { V v; for (int i = 0; i < n; i++) v[i] = a[i] * b[i]; return v; }
#define ALL(bytes) \
    VECTORS(i8, bytes) VECTORS(i16, bytes) VECTORS(i32, bytes) VECTORS(i64, bytes) VECTORS(u8, bytes) VECTORS(u16, bytes) VECTORS(u32, bytes) \
    VECTORS(float, bytes) VECTORS(double, bytes) \
    VECTOR_INTEGER(i8x##bytes, i8, bytes) VECTOR_INTEGER(i16x##bytes, i16, bytes / 2) VECTOR_INTEGER(i32x##bytes, i32, bytes / 4) \
    VECTOR_INTEGER(i64x##bytes, i64, bytes / 8) VECTOR_INTEGER(u8x##bytes, u8, bytes) VECTOR_INTEGER(u16x##bytes, u16, bytes / 2) \
    VECTOR_INTEGER(u32x##bytes, u32, bytes / 4) VECTOR_FLOATING(floatx##bytes, float, bytes / 4) VECTOR_FLOATING(doublex##bytes, double, bytes / 8)
ALL(16)
#if WIDE >= 32
ALL(32)
#endif
#if WIDE >= 64
ALL(64)
#endif

/* Loops that the compiler makes vectors of. */
#define LOOP(name, A, B, expression) KEEP void loop_##name(A *restrict a, const B *restrict b, int n) { for (int i = 0; i < n; i++) a[i] = expression; }
LOOP(convert, double, i32, b[i] * 0.5) LOOP(convertf, float, i32, (float)b[i]) LOOP(toint, i32, double, (i32)b[i]) LOOP(tointf, i32, float, (i32)b[i])
LOOP(narrow, float, double, (float)b[i]) LOOP(widen, double, float, b[i]) LOOP(bytes, i32, u8, b[i] + 1) LOOP(words, i32, i16, a[i] + b[i] * b[n - i])
LOOP(pack, u8, i16, (u8)(b[i] > 255 ? 255 : b[i] < 0 ? 0 : b[i])) LOOP(pack16, i16, i32, (i16)(b[i] >> 3)) LOOP(long, i64, i32, (i64)b[i] * b[i])
LOOP(average, u8, u8, (u8)((a[i] + b[i] + 1) >> 1)) LOOP(difference, i32, u8, b[i] > a[i] ? b[i] - (i32)a[i] : (i32)a[i] - b[i])
LOOP(gather, double, i32, a[i] + ((const double *)b)[b[i]]) LOOP(masked, double, double, b[i] > 0 ? a[i] / b[i] : a[i]) LOOP(count, u64, u64, (u64)__builtin_popcountll(b[i]))
LOOP(saturate, u8, u8, (u8)(a[i] + b[i] > 255 ? 255 : a[i] + b[i])) LOOP(sqrt, float, float, __builtin_sqrtf(b[i])) LOOP(reciprocal, float, float, 1 / b[i])
KEEP double dot(const double *a, const double *b, int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
KEEP int sad(const u8 *a, const u8 *b, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]; return s; }
KEEP i32 dot16(const i16 *a, const i16 *b, int n) { i32 s = 0; for (int i = 0; i < n; i++) s += a[i] * b[i]; return s; }
KEEP void stride(float *a, const float *b, int n) { for (int i = 0; i < n; i++) a[i] = b[3 * i] + b[3 * i + 1] * b[3 * i + 2]; }
KEEP void transpose(double *restrict a, const double *restrict b) { for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) a[4 * i + j] = b[4 * j + i]; }

int main(void)
{
    return 0;
}
