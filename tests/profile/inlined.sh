# SPDX-License-Identifier: Apache-2.0
# Lines of code that is inlined: in the function's own file they are its own; from another file they are that of the call, at each depth.
. "$(dirname "$0")/../lib.sh"
printf '\n%.0s' {1..99} >far.h
cat >>far.h <<'END'
static inline long deep(volatile long *a, long n)
{
    long s = 0;
    for (long i = 0; i < n; i++)
        s += a[i & 7];
    return s;
}
static inline long far(volatile long *a, long n) { return deep(a, n) + deep(a + 1, n); }
END
cat >near.c <<'END'
#include "far.h"
static volatile long a[16];
static inline long near(long n)
{
    long s = 0;
    for (long i = 0; i < n; i++)
        s += a[i & 3];
    return s;
}
int main(void)
{
    long s = near(500);
    s += far(a, 1000);
    s += deep(a, 300);
    return s < 0;
}
END
must "$peetcc" -O2 -fno-unroll-loops -g -o near near.c
must "$peet" run -q --foreign=ranges --observe profile -d out -- ./near
reads() { jq "[.profile.lines[] | select(.line == $1) | .reads] | add // 0" out/stats.json; }
equal "reads of the line in near()" "$(reads 7)" 500
equal "reads of the call of far()" "$(reads 13)" 2000
equal "reads of the call of deep()" "$(reads 14)" 300
equal "lines beyond the file" "$(jq '[.profile.lines[] | select(.line > 16)] | length' out/stats.json)" 0
exit 0
