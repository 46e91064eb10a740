# SPDX-License-Identifier: Apache-2.0
# The books: totals are the sums over functions, whoever listens; each processor's time adds up.
. "$(dirname "$0")/lib.sh"
cat >books.c <<'END'
#include <peet/doall.h>
#include <string.h>
static long from[3000], to[3000];
__attribute__((noinline)) static void copy(void *d, const void *s) { __builtin_memcpy_inline(d, s, 2400); }
static void body(long i, void *arg)
{
    for (long k = 0; k < 100; k++)
        to[3 * k + i % 3] += from[k] * i;
    copy(to + 300 * i, from);
}
int main(void)
{
    peet_doall(0, 10, PEET_DOALL_GUIDED, 0, body, 0);
    peet_doall(0, 0, PEET_DOALL_GUIDED, 0, body, 0);
    return (int)(to[5] & 1);
}
END
must "$peetcc" -O2 -o books books.c
for machine in ideal ideal,cost=instructions bus; do
    for cores in 1 4 13; do
        must "$peet" run -q --cores $cores --machine $machine --observe counts -d with -- ./books
        must "$peet" run -q --cores $cores --machine $machine -d without -- ./books
        for key in instructions reads writes; do
            sum=$("$PEET_PREFIX/tests/json-get" -r with/stats.json counts.functions $key | awk '{ n += $1 } END { print n }')
            equal "$key on $cores of $machine" "$(value with/stats.json totals.$key)" "$sum"
            equal "$key without an observer" "$(value without/stats.json totals.$key)" "$sum"
        done
        sum=$("$PEET_PREFIX/tests/json-get" -r with/stats.json hw instructions | awk '{ n += $1 } END { print n }')
        equal "instructions of the processors" "$sum" "$(value with/stats.json totals.instructions)"
        time=$(value with/stats.json time.cycles)
        equal "time without an observer" "$(value without/stats.json time.cycles)" "$time"
        n=0
        while read -r busy stalled idle; do
            equal "cycles of processor $n" $((busy + stalled + idle)) "$time"
            n=$((n + 1))
        done < <("$PEET_PREFIX/tests/json-get" -r with/stats.json hw busy_cycles stalled_cycles idle_cycles)
        equal "processors" $n $cores
    done
done
