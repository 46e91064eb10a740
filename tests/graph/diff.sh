# SPDX-License-Identifier: Apache-2.0
# peet diff: a run does not differ from itself or its repetition; a change is found, the largest first; thresholds and exit statuses.
. "$(dirname "$0")/../lib.sh"
cat >subject.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static long t[4096];
__attribute__((noinline)) static long steady(long n) { long s = 0; for (long i = 0; i < n; i++) s += t[i * 7 % 4096]; return s; }
__attribute__((noinline)) static long changed(long n) { long s = 0; for (long i = 0; i < n; i++) s ^= t[i % 64] + i; return s; }
int main(int argc, char **argv) { long n = argc > 1 ? atol(argv[1]) : 1000; printf("%ld\n", steady(1000) + changed(n)); return 0; }
C
must "$peetcc" -O2 -g -o subject subject.c
for n in 1000 1100; do
    must timeout -k 1 60 "$peet" run -q --machine bus,cache=4KiB --observe profile -d n$n -- ./subject $n >said.txt
done
must timeout -k 1 60 "$peet" run -q --machine bus,cache=4KiB --observe profile -d again -- ./subject 1000 >said.txt
must "$peet" diff n1000 again >same.txt
grep -q 'no difference' same.txt || fail "a repetition differs: $(cat same.txt)"
status() { "$peet" diff "$@" >out.txt 2>message; echo $?; }
equal "a change" "$(status n1000 n1100)" 1
[ "$(awk 'length > 80' out.txt)" = "" ] || fail "too wide"
equal "worse" "$(status --worse n1000 n1100)" 1
equal "not worse" "$(status --worse -m cycles n1100 n1000)" 0
equal "beyond the threshold" "$(status --threshold 1 -g run -m cycles n1000 n1100)" 1
equal "within the threshold" "$(status --threshold 50 -g run -m cycles n1000 n1100)" 0
equal "one folder" "$(status n1000)" 2
equal "no folder" "$(status n1000 nowhere)" 2
equal "a bad threshold" "$(status --threshold much n1000 n1100)" 2
equal "with a picture" "$(status --top 3 --plot diff.svg n1000 n1100)" 1
python3 - <<'PY' || fail "the picture is not what is shown: $(cat out.txt)"
import re
import xml.etree.ElementTree as tree
words = ["".join(t.itertext()).strip() for t in tree.parse("diff.svg").getroot().iter() if t.tag.endswith("}text")]
shown, titles = [], []
for line in open("out.txt"):
    if re.match(r"  (\w+)(: .*)?:\n", line):
        titles.append(line.strip().rstrip(":").split(":")[0])
    change = re.search(r" ([-+][\d.]+ %|new)$", line)
    if change:
        shown.append(change[1])
assert len(titles) >= 5 and [w for w in words if w in titles] == titles, (titles, words)
assert len(shown) > 10 and [w for w in words if re.fullmatch(r"[-+][\d.]+ %|new", w)] == shown, (shown, words)
PY
equal "a picture of no difference" "$(status --plot none.svg n1000 again)" 0
grep -q 'no difference' none.svg || fail "the picture does not say that there is none"
equal "a picture of unknown type" "$(status --plot diff.bmp n1000 n1100)" 2
# what did not end by itself is named; what is no result is refused
cat >ends.c <<'C'
#include <stdlib.h>
int main(int argc, char **argv) { for (volatile int i = 0; i < 1000; i++) { } if (argc > 1) abort(); return argv == 0; }
C
must "$peetcc" -O1 -o ends ends.c
"$peet" run -q -d aborted -- ./ends now >said.txt 2>&1 && fail "an abort"
must "$peet" run -q -d whole -- ./ends
equal "an aborted run" "$(status whole aborted)" 1
grep -q '^  aborted: did not end by itself (signal)$' out.txt || fail "diff: $(cat out.txt)"
must "$peet" report whole aborted >out.txt
equal "runs that did not end" "$(grep 'did not end' out.txt)" "  aborted: did not end by itself (signal)"
mkdir other
echo '{"name": "package", "version": 3}' >other/stats.json
for verb in "report other" "report whole other" "report --html page.html other" "diff whole other"; do
    "$peet" $verb >out.txt 2>message
    equal "$verb" $? 2
    grep -q 'not a results folder of peet run' message || fail "$verb: $(cat message)"
done
"$peet" diff --json -g function n1000 n1100 >diff.json
python3 - <<'PY' || fail "the differences are not those of the results"
import json
a, b = (json.load(open(d + "/stats.json")) for d in ("n1000", "n1100"))
d = json.load(open("diff.json"))
assert d and d == sorted(d, key=lambda x: (x["group"], -x["weight"], x["item"], x["measure"]))
first = {f["name"]: f for f in a["profile"]["functions"]}
second = {f["name"]: f for f in b["profile"]["functions"]}
found = {(x["item"], x["measure"]): (x["first"], x["second"]) for x in d}
for name in first:
    for key, value in first[name].items():
        if isinstance(value, int) and key not in ("id", "line"):
            other = second[name].get(key, 0)
            assert (value != other) == ((name, key) in found), (name, key)
            if value != other:
                assert found[name, key] == (value, other)
own = [x for x in d if x["measure"] == "instructions"]
assert own and all(x["item"] == "changed" for x in own), own
PY
exit 0
