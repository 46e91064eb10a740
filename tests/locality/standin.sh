#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With prefetchers a program and its stand-in hit alike: a signature says which references to far lines are strided, and the
# stand-in walks through memory as often.
. "$(dirname "$0")/lib.sh"
cat >scan.c <<'END'
#include <stdlib.h>
enum { N = 1 << 14, FEW = 1 << 9 };
static volatile unsigned a[N], b[N], few[FEW];
int main(int argc, char **argv)
{
    unsigned x = (unsigned)argc, sum = 0;
    int rounds = atoi(argv[1]);
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < N; i++) {
            x = x * 1103515245 + 12345;
            sum += a[i] + (i % 8 ? 0 : few[x >> 23]);
            b[i] = sum;
        }
    return sum == 1;
}
END
cat >jump.c <<'END'
#include <stdlib.h>
enum { N = 1 << 17 };
static volatile unsigned a[N], b[N / 64];
int main(int argc, char **argv)
{
    unsigned x = (unsigned)argc, sum = 0;
    int rounds = atoi(argv[1]);
    for (int i = 0; i < rounds * N; i++) {
        x = x * 1103515245 + 12345;
        sum += i % 8 ? b[x >> 21] : a[x >> 15];
    }
    return sum == 1;
}
END
# hits FOLDER: of the first level, in per cent
hits() {
    python3 - "$1" <<'PY'
import json, sys
l1d = json.load(open(sys.argv[1] + "/stats.json"))["x86"]["memory"]["l1d"]
print(100 - 100 * (l1d["read_misses"] + l1d["write_misses"]) / (l1d["reads"] + l1d["writes"]))
PY
}
while read -r name rounds; do
    must "$peetcc" -O1 -fno-vectorize -fno-unroll-loops -o $name $name.c
    run --observe locality,windows=off,lines=off -d $name.out -- ./$name $rounds || fail "$name"
    must "$peet" locality signature $name.out -o $name.json
    must "$peet" locality bench $name.json -n 60000 -o $name.made.c
done <<LIST
scan 32
jump 4
LIST
must "$PEET_PLAIN_CC" -O2 -Wall -Wextra -Werror -pthread -o scan.plain scan.made.c
must ./scan.plain 100000 2
for name in scan jump; do
    must "$peetcc" -O2 -pthread -o $name.made $name.made.c
    for preset in zen4 ${PEET_THOROUGH:+skylake}; do
        run --machine x86,preset=$preset -d $name.$preset -- ./$name $([ $name = scan ] && echo 32 || echo 4) || fail "$name on $preset"
        run --machine x86,preset=$preset --roi=only -d $name.made.$preset -- ./$name.made 500000 || fail "$name.made on $preset"
        python3 -c "
import sys
a, b = $(hits $name.$preset), $(hits $name.made.$preset)
print('$name on $preset: %.2f, its stand-in %.2f per cent' % (a, b))
sys.exit(abs(a - b) > 2)" || fail "$name on $preset"
    done
done
# walked FILE: the share of its elements that the walk takes
walked() { sed -n '/^static const uint32_t order_0/,/^}/p' "$1" | grep -o '[0-9]*,' | tr -d , | awk '{ n++; walked += int($1 / 32) % 2 } END { print walked / n }'; }
awk "BEGIN { exit !($(walked scan.made.c) > 0.04 && $(walked jump.made.c) < 0.05) }" ||
    fail "walked: $(walked scan.made.c) of scan's elements, $(walked jump.made.c) of jump's"
# Of references to far lines, nearly all of scan's are strided, and hardly any of jump's.
python3 - <<'PY' || fail "strided"
import json
def far(name):
    c = json.load(open(name + ".json"))["counts"]
    return sum(c["strided"][9:18]) / sum(c["reuse"][3][9:18])
print("strided: %.3f of scan, %.3f of jump" % (far("scan"), far("jump")))
assert far("scan") > 0.95 and far("jump") < 0.05
PY
# Sampled, it is nearly the same.
run --observe locality,mode=sampled,one_of=8 -d sampled.out -- ./scan 120 || fail "sampled"
must "$peet" locality signature sampled.out -o sampled.json
python3 - <<'PY' || fail "sampled"
import json
c = json.load(open("sampled.json"))["counts"]
share = sum(c["strided"][10:]) / sum(c["reuse"][3][10:])
print("strided, sampled: %.3f" % share)
assert share > 0.85
PY
