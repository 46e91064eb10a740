# SPDX-License-Identifier: Apache-2.0
# A race-free program has one event stream per machine, however finely it is stopped.
. "$(dirname "$0")/lib.sh"
cat >free.c <<'END'
#include <peet/doall.h>
#include <stdio.h>
static double a[4096], part[16];
static void body(long i, void *arg)
{
    double sum = 0;
    for (long k = 256 * i; k < 256 * (i + 1); k++) {
        a[k] = a[k] * 0.5 + (double)k;
        sum += k % 3 ? a[k] : -a[k];
    }
    part[i] += sum;
}
int main(void)
{
    double sum = 0;
    for (int round = 0; round < 5; round++)
        peet_doall(0, 16, (enum peet_doall_schedule)(round % 3), 0, body, 0);
    for (int i = 0; i < 16; i++)
        sum += part[i];
    printf("%.17g\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -fpeet-granularity=block -o free free.c
for policy in fcfs rr affinity; do
    first=
    for granularity in sync 1000 7 1 block; do
        must "$peet" run -q --cores 3 --policy $policy --machine bus --granularity $granularity --observe hash -d out -- ./free >out.txt
        got=$(value out/stats.json hash.hash)
        first=${first:-$got}
        equal "$policy at $granularity" "$got" "$first"
    done
done
