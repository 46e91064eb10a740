# SPDX-License-Identifier: Apache-2.0
# Flame graph, callgrind's file and the page say the same of each function, itself and with all that it calls: stacks are added up here, callgrind_annotate reads
# callgrind's file, a browser draws the page, of which the table of functions and the widths of the flame graph are read.
. "$(dirname "$0")/../lib.sh"
command -v callgrind_annotate >/dev/null || skip "there is no callgrind_annotate"
cat >subject.c <<'C'
#include <pthread.h>
static volatile long data[4096];
__attribute__((noinline)) static long walk(long from) { long s = 0; for (int k = 0; k < 64; k++) s += data[(from * 64 + k * 16) & 4095]; return s; }
__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static long odd(long n);
__attribute__((noinline)) static long even(long n) { return n == 0 ? walk(n) : odd(n - 1) + 1; }
__attribute__((noinline)) static long odd(long n) { return n == 0 ? walk(n + 1) : even(n - 1) + 1; }
__attribute__((noinline)) static long jump(long n) { return walk(n ^ 5); }
__attribute__((noinline)) static long both(long n) { return jump(n) + walk(n) + even(n & 7); }
static void *work(void *arg)
{
    long s = 0;
    for (long i = 0; i < 20; i++)
        s += both(i + (long)arg) + fib(6) + walk(i);
    return (void *)s;
}
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return both(3) < 0;
}
C
must "$peetcc" -O2 -g -pthread -o subject subject.c
for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null && browser=$name && break
done
for out in ideal bus numa x86; do
    machine=$out
    [ $out != bus ] || machine=bus,cache=1KiB
    must timeout -k 1 100 "$peet" run -q --machine $machine --cores 3 --observe profile -d $out -- ./subject >said.txt
    must "$peet" report --callgrind $out.callgrind --html $out.html $out >said.txt
    for measure in instructions reads writes cycles stall_cycles; do
        [ "$(jq ".profile.totals.$measure // 0" $out/stats.json)" != 0 ] || continue
        must "$peet" report --collapsed $out.$measure.stacks --measure $measure $out >said.txt
    done
    must callgrind_annotate --threshold=100 --auto=no $out.callgrind >$out.self
    must callgrind_annotate --threshold=100 --auto=no --inclusive=yes $out.callgrind >$out.inclusive
    [ -z "${browser:-}" ] || timeout -k 1 90 $browser --headless --no-sandbox --disable-gpu --user-data-dir="$work/chrome" --virtual-time-budget=10000 --dump-dom \
        "file://$work/$out.html" >$out.dom 2>$out.log || fail "the browser failed: $(tail -n 3 $out.log)"
done
python3 - "${browser:+dom}" <<'PY' || fail "they disagree"
import html.parser, os, re, sys
KNOWN = {"Ir": "instructions", "Dr": "reads", "Dw": "writes"}

def annotated(path):
    """What callgrind_annotate prints: function -> event -> number"""
    names, out = [], {}
    for line in open(path):
        if line.startswith("Events shown:"):
            names = [KNOWN.get(n, n) for n in line.split(":", 1)[1].split()]
        found = re.search(r"subject\.c:(\w+)(?: \[.*\])?$", line.rstrip())
        if found and names:
            numbers = re.findall(r"(?<![\w.])([\d,]+|\.)(?: \( ?[\d.]+%\))?(?=\s)", line[:found.start()])
            assert len(numbers) == len(names), (path, line, numbers)
            assert found.group(1) not in out, (path, line)
            out[found.group(1)] = {n: int(v.replace(",", "")) if v != "." else 0 for n, v in zip(names, numbers)}
    return out

class Page(html.parser.HTMLParser):
    """Rows of the table of functions, and the flame graph's rectangles"""
    def __init__(self):
        super().__init__()
        self.rows, self.rects, self.where, self.cell, self.flame, self.head, self.depth = [], [], None, None, False, [], 0
    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag == "section":
            self.where = a.get("id")
        if tag == "svg":
            self.flame = "flame" in a.get("class", "")
        if tag == "rect" and self.flame:
            self.rects.append((float(a["x"]), float(a["y"]), float(a["width"])))
        if self.where == "functions" and tag == "tr":
            self.rows.append([])
        if self.where == "functions" and tag in ("td", "th"):
            self.rows[-1].append("")
            self.cell = True
    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cell = False
        if tag == "svg":
            self.flame = False
    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data

for out in ("ideal", "bus", "numa", "x86"):
    own, inclusive = annotated(out + ".self"), annotated(out + ".inclusive")
    assert {"main", "work", "walk", "fib", "even", "odd", "both", "jump"} <= set(own), own
    rows = {}
    if sys.argv[1] == "dom":
        page = Page()
        page.feed(open(out + ".dom", encoding="utf-8").read())
        head = page.rows[0]
        rows = {r[0]: dict(zip(head, r)) for r in page.rows[1:]}
        assert {"walk", "fib"} <= set(rows), (out, rows)
    compared = 0
    for measure in ("instructions", "reads", "writes", "cycles", "stall_cycles"):
        if not os.path.exists(f"{out}.{measure}.stacks"):
            continue
        self, all_of, prefixes, total = {}, {}, {}, 0
        for line in open(f"{out}.{measure}.stacks"):
            stack, n = line.rsplit(" ", 1)
            frames, n = stack.split(";"), int(n)
            total += n
            if stack != "(outside functions)":
                self[frames[-1]] = self.get(frames[-1], 0) + n
                for f in set(frames):
                    all_of[f] = all_of.get(f, 0) + n
                for k in range(len(frames)):
                    prefixes[tuple(frames[:k + 1])] = prefixes.get(tuple(frames[:k + 1]), 0) + n
        for f, costs in own.items():
            assert costs[measure] == self.get(f, 0), (out, measure, f, costs, self)
            # callgrind_annotate counts what a recursive function calls once for each call
            if f not in ("fib", "even", "odd"):
                assert inclusive.get(f, {measure: 0})[measure] == all_of.get(f, 0), (out, measure, f, inclusive.get(f), all_of)
            else:
                assert inclusive[f][measure] >= all_of.get(f, 0)
            if rows and measure != "writes" and f in rows:
                number = lambda s: int(re.sub(r"[^\d]", "", s) or 0)
                column = measure.replace("_", " ")
                assert number(rows[f][column]) == self.get(f, 0), (out, measure, f, rows[f], self)
                if "inclusive " + column in rows[f]:
                    said = number(rows[f]["inclusive " + column])
                    # odd() is only ever within even()'s recursion: what it calls even() for is on even()'s path
                    assert all_of[f] <= said <= inclusive[f][measure] if f == "odd" else said == all_of.get(f, 0), (out, measure, f, rows[f], all_of)
                compared += 1
        if rows and measure == "cycles":
            width = max(w for _, _, w in page.rects)
            drawn = sorted(w / width * total for _, y, w in page.rects if y > 0)
            want = sorted(v for v in prefixes.values() if v >= total / 4000)
            assert len(drawn) == len(want) and all(abs(a - b) < 1e-6 * total for a, b in zip(drawn, want)), (out, drawn, want)
    assert not rows or compared > 20, compared
PY
exit 0
