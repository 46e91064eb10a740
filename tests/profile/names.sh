# SPDX-License-Identifier: Apache-2.0
# Hostile names, from a real program: a function and a lock of 10,000 characters, a source file with control characters and markup in its name, a program in a
# folder that is called like that, too. Terminal, page, CSV, GraphViz, PNML, callgrind's file, stacks and trace events stay what they are.
. "$(dirname "$0")/../lib.sh"
folder=$'=cmd|x\e[31m<script>window.injected=1</script>\n&"\'\\"'
folder=${folder//\//:}
mkdir "$folder"
file=$folder/$'evil\e[2J<img src=x onerror=window.injected=1>&"\'.cpp'
long=$(printf 'f%.0s' $(seq 1 10000))
cat >"$file" <<C
#include <pthread.h>
static pthread_mutex_t lock_$long = PTHREAD_MUTEX_INITIALIZER;
static long shared_$long[64];
template <class T> struct box { T value; };
__attribute__((noinline)) static long $long(long n) { return n < 2 ? n : $long(n - 1) + $long(n - 2); }
template <class T> __attribute__((noinline)) static void $long(T *b)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock_$long);
        shared_$long[i % 64] += $long(long(8)) + (b != nullptr);
        pthread_mutex_unlock(&lock_$long);
    }
}
static void *work(void *) { box<box<box<box<long>>>> b{}; $long(&b); return nullptr; }
int main()
{
    pthread_t t[3];
    for (auto &one : t) pthread_create(&one, nullptr, work, nullptr);
    for (auto &one : t) pthread_join(one, nullptr);
    return 0;
}
C
must "$peetcxx" -O1 -g -pthread -o "$folder/subject" "$file"
out="$folder/results"
timeout -k 1 100 "$peet" run --machine bus,cache=1KiB --cores 3 --observe profile --observe timeline --observe dtrack --observe graph --observe references -d "$out" \
    -- "$folder/subject" >said.txt 2>page.txt || fail "the run: $(cat -v page.txt)"
must "$peet" report "$out" >report.txt
must "$peet" report "$out" "$out" >both.txt
must "$peet" report --html page.html --csv figures.csv --dot graph.dot --pnml graph.pnml --callgrind file.callgrind --collapsed stacks.txt --trace trace.json "$out" >written.txt
"$peet" diff "$out" "$out" >diff.txt || fail "a run differs from itself"
for text in page.txt report.txt both.txt written.txt diff.txt figures.csv graph.dot graph.pnml file.callgrind stacks.txt; do
    LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$text" && fail "$text: control characters: $(LC_ALL=C grep -P -m1 '[\x00-\x08\x0b-\x1f\x7f]' "$text" | cat -v | cut -c1-200)"
done
for text in page.txt report.txt both.txt; do
    [ "$(awk 'length > 80' "$text")" = "" ] || fail "$text is too wide: $(awk 'length > 80' "$text" | cut -c1-200)"
done
python3 - <<'PY' || fail "a format is broken"
import csv, json, re, xml.etree.ElementTree as xml
rows = list(csv.reader(open("figures.csv", encoding="utf-8")))
assert len(rows) > 50 and {len(r) for r in rows} == {6}, {len(r) for r in rows}
assert not any(c[:1] in "=+-@" and not re.fullmatch(r"-?[0-9.e+-]+", c) for r in rows for c in r)
net = xml.parse("graph.pnml").getroot()
ns = "{http://www.pnml.org/version-2009/grammar/pnml}"
assert len(list(net.iter(ns + "transition"))) > 10
assert len(json.load(open("trace.json"))["traceEvents"]) > 10
assert all(re.fullmatch(r".* [0-9]+\n", l) for l in open("stacks.txt", encoding="utf-8"))
dot = open("graph.dot", encoding="utf-8").read()
assert all(re.fullmatch(r'(digraph precedence \{|  node \[.*\];|  n\d+ \[label="(\\.|[^"\\])*"(, .*)?\];|  n\d+ -> n\d+ \[.*\];|\}|)', l) for l in dot.split("\n")), dot[:500]
page = open("page.html", encoding="utf-8").read()
assert page.count("</script>") == 3 and "<img src=x" not in page
PY
if command -v dot >/dev/null; then
    must dot -Tcanon graph.dot >canon.dot
fi
must callgrind_annotate file.callgrind >annotated.txt
for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null && browser=$name && break
done
[ -n "${browser:-}" ] || exit 0
timeout -k 1 90 $browser --headless --no-sandbox --disable-gpu --user-data-dir="$work/chrome" --enable-logging=stderr --virtual-time-budget=10000 --dump-dom \
    "file://$work/page.html#selftest" >page.dom 2>page.log || fail "the browser failed: $(tail -n 3 page.log)"
grep -i 'CONSOLE' page.log && fail "the console is not silent"
grep -q 'id="selftest"' page.dom && grep -q '"injected":false' page.dom || fail "the page: $(grep -o '<pre id="selftest">.*' page.dom | cut -c1-300)"
exit 0
