#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A trace with foreign code: replayed where it was taken, all numbers are the same, also without the program; parts of it have together
# the instructions of the whole; what is printed has the libraries' functions.
. "$(dirname "$0")/../trace/lib.sh"
cat >work.c <<'END'
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *work(void *p)
{
    double sum = 0;
    for (int k = 1; k < 300; k++)
        sum += cbrt(k) * sin(k);
    char *text = malloc(100);
    snprintf(text, 100, "%f", sum);
    *(double *)p = atof(text);
    free(text);
    return 0;
}
int main(void)
{
    double sum[3];
    int n[200];
    pthread_t t[3];
    for (int i = 0; i < 200; i++)
        n[i] = rand() % 1000;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, &sum[i]);
    qsort(n, 200, sizeof *n, by);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    printf("%f %f %f %d\n", sum[0], sum[1], sum[2], n[100]);
    return 0;
}
END
must "$peetcc" -O2 -g -o work work.c -lm -pthread
for machine in bus x86; do
    replayed $machine --foreign=record --machine $machine --cores 3 -o hash -o counts -o dtrack -- ./work
done
mv work moved.away
must "$peet" run -q --from bus.recorded -d gone
equal "hash without the program" "$(value gone/stats.json hash.hash)" "$(value bus.recorded/stats.json hash.hash)"

# Instructions of libraries are printed, function by function as many as the run counted.
"$peet" trace print --limit 1000000000 bus.recorded >printed
must python3 - <<'END'
import collections, json
counted, printed = collections.Counter(), collections.Counter()
for f in json.load(open("bus.recorded/stats.json"))["counts"]["functions"]:
    if f["image"] in ("libc.so.6", "libm.so.6"):
        counted[f["name"]] += f["instructions"]
for line in open("printed"):
    words = line.split()
    if words[0].isdigit() and len(words) > 3:
        printed[words[3]] += 1
most = counted.most_common(12)
assert sum(n for _, n in most) > 200000 and counted["cbrt"] > 10000, most
assert all(printed[name] == n for name, n in most), [(name, n, printed[name]) for name, n in most]
END

# Parts of each context lie side by side: together they have the whole's instructions.
whole=$(value bus.recorded/stats.json totals.instructions)
for at in 1000 20011; do
    must "$peet" trace cut --instructions 0-$at bus.recorded first.peet
    must "$peet" trace cut --instructions $at- bus.recorded second.peet
    must "$peet" run -q --machine ideal --from first.peet -d first
    must "$peet" run -q --machine ideal --from second.peet -d second
    equal "instructions of both parts" "$(($(value first/stats.json totals.instructions) + $(value second/stats.json totals.instructions)))" "$whole"
done

# A program that peetcc has never seen.
printf '%s\n' 5 3 9 1 >lines
must "$peet" run -q --foreign=record --machine bus -o hash -o trace -d sorted -- sort -n lines >printed
must "$peet" run -q --from sorted -d sorted.again
equal "hash of sort's replay" "$(value sorted.again/stats.json hash.hash)" "$(value sorted/stats.json hash.hash)"
exit 0
