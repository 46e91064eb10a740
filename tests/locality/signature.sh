#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signature files: bad ones are refused by name; halves of a run and contexts add up to the whole; 24 numbers alone will do.
. "$(dirname "$0")/lib.sh"
cat >small.c <<'END'
#include <stdlib.h>
static int a[1 << 15];
int main(void)
{
    unsigned x = 1, sum = 0;
    for (int i = 0; i < 300000; i++) {
        x = x * 1103515245 + 12345;
        sum += a[x >> 17]++ + a[i & 1023];
    }
    return sum == 1;
}
END
must "$peetcc" -O1 -o small small.c
run --observe locality -d out -- ./small || fail "run"
must "$peet" locality signature out -o whole.json
must "$peet" locality signature whole.json -o again.json
same whole.json again.json "a signature is not what was written"

n=$(python3 -c 'import json; print(len(json.load(open("out/stats.json"))["locality"]["windows"]))')
[ "$n" -ge 2 ] || fail "only $n windows"
for ((i = 0; i < n; i++)); do
    must "$peet" locality signature out --part window=$i -o window.$i.json
done
must "$peet" locality merge window.*.json -o merged.json
same whole.json merged.json "windows do not add up to the run"
must "$peet" locality signature out -p context=0 -o context.json
same whole.json context.json "the only context is not the run"
grep -qE '0x|small|/' whole.json && fail "there is more than numbers in it"

# bad FILE PATTERN PYTHON: whole.json with a change is refused, with a message that matches
bad() {
    python3 - "$2" <<PY || fail "python"
import json
s = json.load(open("whole.json"))
$3
json.dump(s, open("$1", "w"))
PY
    "$peet" locality report "$1" >out.txt 2>err.txt && fail "$1 is taken"
    grep -q "$1.*$2" err.txt || fail "$1: $(cat err.txt)"
}
bad falls.json 'not monotone' 's["reuse_cdf"][5] = 0.0001; del s["counts"]'
bad above.json 'not a number from 0 to 1' 's["alphas"][2] = 1.5'
bad negative.json 'not a number from 0 to 1' 's["reuse_cdf"][0] = -0.1'
bad version.json 'version 2' 's["version"] = 2'
bad format.json 'not a locality signature' 's["format"] = "other"'
bad fewer.json 'not a list of 17' 's["reuse_cdf"].pop()'
bad sum.json 'adds up' 's["counts"]["reuse"][3][4] += 1'
bad count.json 'no count' 's["counts"]["reuse"][3][4] = "many"'
bad same.json 'more than' 's["counts"]["same"][1][0] = 10 ** 9'
bad strided.json '"strided".* is more than' 's["counts"]["strided"][2] = 10 ** 9'
bad inverse.json 'not monotone' 'r = s["counts"]["reuse"][7]; r[0] += r[18]; r[18] = 0'
bad other.json 'not what the counts say' 's["alphas"][0] = 0.001'
bad depths.json 'depths_lines' 's["depths_lines"][3] = 9'
for part in context=x context=0x; do
    "$peet" locality signature out -p $part -o x.json 2>err.txt && fail "$part is taken"
done
head -c 900 whole.json >short.json
"$peet" locality report short.json 2>err.txt && fail "short.json is taken"
grep -q short.json err.txt || fail "short.json: $(cat err.txt)"
"$peet" locality report none.json 2>err.txt && fail "none.json is taken"
"$peet" locality signature out -p function=main -o x.json 2>err.txt && fail "a part that is not there is taken"
"$peet" locality trace whole.json --threads 2 -o x.din 2>err.txt && fail "trace takes --threads"
[ -e x.json ] || [ -e x.din ] && fail "a file of what failed is there"

# files of before have no "strided"
python3 - <<'PY'
import json
s = json.load(open("whole.json"))
del s["counts"]["strided"]
json.dump(s, open("before.json", "w"))
PY
must "$peet" locality report before.json whole.json >/dev/null
python3 - <<'PY'
import json
s = json.load(open("whole.json"))
del s["counts"]
json.dump(s, open("numbers.json", "w"))
PY
must "$peet" locality predict -n 100000 numbers.json >predicted
for cache in 32KiB,3,64 1000,0,64; do
    "$peet" locality predict -n 1000 -c $cache numbers.json >said 2>&1 && fail "taken: $cache"
    grep -q "'$cache' is no whole number of sets" said || fail "$cache: $(cat said)"
done
must "$peet" locality predict --json -n 100000 -c 32KiB,8,64 -c 1MiB,0,512 whole.json >predicted.json
python3 - <<'PY' || fail "predicted"
import json
l = json.load(open("predicted.json"))
s = json.load(open("whole.json"))
assert abs(l[1]["hit_rate"] - s["reuse_cdf"][11]) < 1e-9, l  # fully associative, 2048 lines: said by the signature
assert 0 < l[0]["hit_rate"] <= 1
PY
must "$peet" locality report whole.json numbers.json --plot surfaces.svg --csv curves.csv >report
grep -q '<svg' surfaces.svg || fail "no picture"
equal "rows of the curves" "$(wc -l <curves.csv)" $((1 + 8 * 17 + 17))
must "$peet" locality mix whole.json=2 numbers.json=1 -n 20000 -o mixed.json

# What takes a while says how far it is, on a terminal alone; the stream is the same.
"$peet" locality trace whole.json -n 200000 -o quiet.din >said.txt 2>err.txt || fail "trace"
[ ! -s err.txt ] || fail "no terminal, and yet: $(cat err.txt)"
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    script -qec "stty cols 60; '$peet' locality trace whole.json -n 200000 -o told.din" told.tty >/dev/null </dev/null
    tr '\r' '\n' <told.tty | grep -a -q 'peet: stream 1 of 1, 200000 references: [0-9]* %, about [0-9]* s' ||
        fail "no progress line on a terminal: $(cat -v told.tty)"
    tr '\r' '\n' <told.tty | awk '/references: / && length($0) > 62 && !/bytes/ { exit 1 }' || fail "it is wider than the terminal"
    cmp -s quiet.din told.din || fail "another stream on a terminal"
fi
