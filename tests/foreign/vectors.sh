#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In code that peetcc has not compiled a gather is one reference, and so is a store of the bytes that a vector selects, whose
# operand is implicit.
. "$(dirname "$0")/lib.sh"
grep -q avx2 /proc/cpuinfo || skip "this processor has no AVX2"
cat >lanes.c <<'END'
#include <immintrin.h>
#include <stdio.h>
static double table[64];
static char bytes[16];
__attribute__((noinline)) double gathered(__m128i index)
{
    __m256d v = _mm256_i32gather_pd(table, index, 8);
    return _mm_cvtsd_f64(_mm256_castpd256_pd128(v));
}
__attribute__((noinline)) void selected(__m128i v, __m128i mask)
{
    _mm_maskmoveu_si128(v, mask, bytes);
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 64; i++)
        table[i] = i;
    for (int i = 0; i < 10; i++) {
        sum += gathered(_mm_setr_epi32(i, 5, 6, 7));
        selected(_mm_set1_epi8((char)i), _mm_set1_epi8(-1));
    }
    printf("%g %d\n", sum, bytes[15]);
}
END
must "$PEET_PLAIN_CC" -O2 -march=x86-64-v3 -o lanes lanes.c
must "$peet" run -q --foreign=record --observe counts,convention=plain -d lanes.out -- ./lanes >printed
equal "what it prints" "$(cat printed)" "45 9"
counted() {
    jq -r ".counts.functions[] | select(.name == \"$1\") | \"\\(.calls) \\(.reads) \\(.writes)\"" lanes.out/stats.json
}
# a call's return is a read
equal "the references of gathers" "$(counted gathered)" "10 20 0"
equal "the references of stores" "$(counted selected)" "10 10 10"
