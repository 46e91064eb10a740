#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The comparisons can fail: streams and results that were tampered with are found to differ.
. "$(dirname "$0")/../tools/common.sh"
need_valgrind
cat >"$work/subject.c" <<'C'
#include <stdio.h>
static long cells[300];
__attribute__((noinline)) static long walk(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        cells[i * 7 % 300] += i;
        sum += cells[i];
    }
    return sum;
}
int main(void)
{
    printf("%ld\n", walk(300));
    return 0;
}
C
"$PEET_PLAIN_CC" -O1 -o "$work/plain" "$work/subject.c" && "$PEETCC" -O1 -o "$work/peet" "$work/subject.c" || fail "compilation"
"$PEET" run --quiet --foreign=ranges --observe counts --observe "$PEET_TOOLS/tally.so" --observe "$PEET_TOOLS/streamdump.so" -d "$work/out" -- "$work/peet" >/dev/null ||
    fail "peet run"
valgrind --tool=lackey $VEX --trace-mem=yes --log-file="$work/trace" "$work/plain" >/dev/null
$CALLGRIND --callgrind-out-file="$work/callgrind" "$work/plain" >/dev/null 2>&1

stream() { "$PEET_TOOLS/lackey_compare" "$work/plain" "$work/trace" "$work/peet" "$1" >"$work/said"; }
stream "$work/out/stream.txt" || fail "the stream itself differs: $(cat "$work/said")"
n=$(grep -n '^L' "$work/out/stream.txt" | sed -n '200s/:.*//p')
for edit in "${n}d" "${n}s/ 8\$/ 4/" "${n}s/^L/S/" "${n}s/[08] 8\$/4 8/" "${n}p" '$d' "$((n - 1))s/X \\([0-9]*\\) [0-9a-f]*/X \\1 1/"; do
    sed "$edit" "$work/out/stream.txt" >"$work/bad"
    cmp -s "$work/bad" "$work/out/stream.txt" && fail "edit $edit changed nothing"
    stream "$work/bad"
    status=$?
    [ $status = 1 ] || [ $status = 3 ] || fail "edit $edit was not noticed: $(cat "$work/said")"
done

counts() { "$PEET_TOOLS/exact_compare" "$work/plain" "$work/callgrind" "$1" >"$work/said"; }
counts "$work/out/stats.json" || fail "the counts themselves differ: $(cat "$work/said")"
jq '(.counts.functions[] | select(.name == "walk") | .instructions) += 1' "$work/out/stats.json" >"$work/bad.json" || fail "jq"
cmp -s "$work/bad.json" "$work/out/stats.json" && fail "the statistics were not changed"
counts "$work/bad.json" 2>>"$work/said" && fail "a wrong count was not noticed"
echo "all tampering noticed"
