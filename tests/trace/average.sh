#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# peet compare --average: of runs that differ in one place it is what most of them did, and says where the others did not.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >work.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long cells[2];
static int where, extra;
static void *work(void *arg)
{
    for (int i = 0; i < 40; i++) {
        long n = 100 + 10 * (i % 7) + ((long)arg == 1 && i == where ? extra : 0);
        for (long k = 0; k < n; k++)
            __asm__ volatile("" : "+r"(k));
        pthread_mutex_lock(&lock);
        cells[0]++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t t[2];
    where = argc > 1 ? atoi(argv[1]) : 0;
    extra = argc > 2 ? atoi(argv[2]) : 0;
    for (long i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, work, (void *)(i + 1));
        pthread_join(t[i], NULL);
    }
    return 0;
}
END
must "$peetcc" -O1 work.c -o work -pthread
# As many digits in each: what takes them apart is part of the run where libraries are recorded.
for run in "a 00 0000" "b 00 0000" "c 20 5000" "d 30 3000" "e 00 0000"; do
    set -- $run
    must "$peet" run -q --machine ideal -o trace -d $1 -- ./work $2 $3
done
must "$peet" compare --average --json a b c d e >average.json
must python3 - average.json <<'END'
import json, sys
result = {c["context"]: c for c in json.load(open(sys.argv[1]))["contexts"]}
assert len(result) == 3, result.keys()
# Context 2 begins later where 1 took longer; which instructions ask for the place differs by a cycle or two.
assert all(e["deviation_cycles"] < 2 for e in result[2]["events"][1:])
first = result[1]
away = {r["trace"]: r["time_warp_cycles"] for r in first["runs"]}
assert max(away[r] for r in "abe") < 10 and away["c"] > away["d"] > 2500, away
assert first["medoid"] in "abe"
apart = sorted(((e["deviation_cycles"], i, e["event"]) for i, e in enumerate(first["events"])), reverse=True)
assert [place for deviation, place, event in apart[:2]] == [2 * 20, 2 * 30], apart[:3]
assert all(event == "mutex lock" for deviation, place, event in apart[:2]) and apart[2][0] < 2, apart[:3]
for (deviation, place, event), run in zip(apart, "cd"):
    assert abs(5 * deviation - away[run]) < 10, (deviation, away)
END
must "$peet" compare --average a b c d e >table
grep -q 'furthest apart' table || fail "no places: $(cat table)"
[ "$(awk 'length > 80' table | wc -l)" = 0 ] || fail "wider than 80 columns"
must "$peet" compare --average --json e a >two.json
equal "contexts of two runs" "$(jq '.contexts | length' two.json)" 3
for wrong in "--average a" "--average --functions work a b" "a b c"; do
    "$peet" compare $wrong >said 2>&1 && fail "'$wrong' was taken"
done
"$peet" compare --average a missing >said 2>&1 && fail "a trace that is not there was taken"
exit 0
