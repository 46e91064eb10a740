/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes stored where a vector selects them: an instruction whose only reference is implicit. */
#include <emmintrin.h>
#include <stdio.h>

#define N 4096

static char from[N], to[N];

__attribute__((noinline)) static void once(char *p, __m128i v, __m128i mask)
{
    _mm_maskmoveu_si128(v, mask, p);
}

__attribute__((noinline)) static void row(char *p, const char *q, int n, __m128i mask)
{
    for (int i = 0; i < n; i++, p += 5)
        _mm_maskmoveu_si128(_mm_loadu_si128((const __m128i *)(q + i)), _mm_add_epi8(mask, _mm_set1_epi8((char)i)), p);
}

int main(void)
{
    long sum = 0;
    for (int i = 0; i < N; i++)
        from[i] = (char)(i * 3);
    for (int i = 0; i < 50; i++) {
        const __m128i *v = (const __m128i *)(from + i), *mask = (const __m128i *)(from + 7 * i);
        once(to + i, _mm_loadu_si128(v), i % 3 ? _mm_loadu_si128(mask) : _mm_setzero_si128());
    }
    row(to, from, 200, _mm_loadu_si128((const __m128i *)from));
    for (int i = 0; i < N; i++)
        sum += to[i] * i;
    printf("%ld\n", sum);
    return 0;
}
