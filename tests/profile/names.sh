# SPDX-License-Identifier: Apache-2.0
# Hostile names, from a real program: a function and a lock of 10,000 characters, a source file with control characters and markup in its name, a program in a
# folder that is called like that, too; functions and a lock whose labels hold quotes, line feeds, control characters, formulae and markup. Terminal, page, CSV, GraphViz, PNML, callgrind's file, stacks and trace events stay what they are.
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
extern "C" {
pthread_mutex_t marked __asm__("lo\"ck<script>window.injected=1</script>;\x1b[31m\n=1+1|a,b") = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) long inner(long n) __asm__("in\"ner'<img src=x onerror=window.injected=1>&amp;\x1b]0;evil\x07\x7f\nfn=(1) x;y 7\\\\");
long inner(long n) { return n < 2 ? n : inner(n - 1) + inner(n - 2); }
__attribute__((noinline)) long formula(long n) __asm__("=cmd|' /C calc'!A0\t\"]; n0 -> n1 [label=\"");
long formula(long n) { return inner(n & 7) + 1; }
}
template <class T> struct box { T value; };
__attribute__((noinline)) static long $long(long n) { return n < 2 ? n : $long(n - 1) + $long(n - 2); }
template <class T> __attribute__((noinline)) static void $long(T *b)
{
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&marked);
        shared_$long[0] += formula(i);
        pthread_mutex_unlock(&marked);
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
must "$peet" report --json "$out" >report.json
"$peet" diff --json "$out" "$out" >diff.json || fail "a run differs from itself"
python3 - "$out" <<'PY' || fail "a format is broken"
import csv, json, re, subprocess, sys, xml.etree.ElementTree as xml
stats = json.load(open(sys.argv[1] + "/stats.json"))
json.load(open("report.json")), json.load(open("diff.json"))
labels = {"in\"ner'<img src=x onerror=window.injected=1>&amp;\x1b]0;evil\x07\x7f\nfn=(1) x;y 7\\", "=cmd|' /C calc'!A0\t\"]; n0 -> n1 [label=\""}
functions = stats["profile"]["functions"]
assert labels <= {f["name"] for f in functions}, [f["name"][:80] for f in functions]
assert any(l.get("name", "").startswith("lo\"ck<script>") for l in stats["sync"]["contended"]), stats["sync"]
# each function keeps its own costs in what others read
stacks = [l.rsplit(" ", 1) for l in open("stacks.txt", encoding="utf-8")]
by = {}
for stack, n in stacks:
    by[stack.split(";")[-1]] = by.get(stack.split(";")[-1], 0) + int(n)
clean = lambda s: "".join("?" if c < " " or c == "\x7f" or c == ";" else c for c in s)
in_cxx = lambda s: subprocess.run(["c++filt", "--", s], capture_output=True, text=True).stdout[:-1] if s.startswith("_Z") else s
for f in functions: # those of C++ by their names there, if these are not too long
    assert max(by.get(clean(f["name"]), 0), by.get(clean(in_cxx(f["name"])), 0)) >= f["cycles"], (f["name"][:80], f["cycles"])
rows = list(csv.reader(open("figures.csv", encoding="utf-8")))
assert any("in\"ner" in c for r in rows for c in r)
events = json.load(open("trace.json"))["traceEvents"]
assert any("lo\"ck" in json.dumps(e, ensure_ascii=False).replace("\\\"", "\"") for e in events)
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
must callgrind_annotate --threshold=100 --auto=no file.callgrind >annotated.txt
grep -q 'in"ner' annotated.txt && grep -q '=cmd|' annotated.txt || fail "functions are not in callgrind's file: $(cut -c1-300 annotated.txt)"

# A time line that is damaged or gone is missed on the page, not left out silently.
cp -r "$out" without
rm without/timeline.bin
must "$peet" report --html without.html without 2>said.txt
grep -q '^peet: the page has no time line of without: .*No such file' said.txt || fail "a time line that is gone: $(cat said.txt)"
must "$peet" report --html page.html "$out" 2>said.txt
[ ! -s said.txt ] || fail "a page: $(cat said.txt)"

for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null && browser=$name && break
done
[ -n "${browser:-}" ] || exit 0
timeout -k 1 90 $browser --headless --no-sandbox --disable-gpu --user-data-dir="$work/chrome" --enable-logging=stderr --virtual-time-budget=10000 --dump-dom \
    "file://$work/page.html#selftest" >page.dom 2>page.log || fail "the browser failed: $(tail -n 3 page.log)"
grep -i 'CONSOLE' page.log && fail "the console is not silent"
grep -q 'id="selftest"' page.dom && grep -q '"injected":false' page.dom || fail "the page: $(grep -o '<pre id="selftest">.*' page.dom | cut -c1-300)"
exit 0
