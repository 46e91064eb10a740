# SPDX-License-Identifier: Apache-2.0
# The page: each picture is drawn, zooming and searching work, the console is silent; hostile names do nothing; long time lines become small.
. "$(dirname "$0")/../lib.sh"
cat >subject.c <<'C'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static long count, cells[4];
__attribute__((noinline)) static long inner(long n) { return n < 2 ? n : inner(n - 1) + inner(n - 2); }
__attribute__((noinline)) static void add(long v) { pthread_mutex_lock(&lock); count += v; pthread_mutex_unlock(&lock); }
static void *work(void *arg)
{
    volatile long *mine = arg;
    for (int i = 0; i < 60; i++) {
        *mine += inner(i & 7);
        add(*mine);
        if (i % 20 == 19)
            pthread_barrier_wait(&barrier);
    }
    return 0;
}
int main(void)
{
    pthread_t t[4];
    pthread_barrier_init(&barrier, 0, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, work, &cells[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    printf("%d\n", count > 0);
    return 0;
}
C
must "$peetcc" -O2 -g -pthread -o subject subject.c
observers="--observe profile --observe timeline --observe dtrack --observe graph --observe references"
must timeout -k 1 60 "$peet" run -q --machine bus,cache=1KiB --cores 4 $observers -d bus -- ./subject >said.txt
must timeout -k 1 60 "$peet" run -q --machine x86,preset=small --cores 3 $observers -d x86 -- ./subject >said.txt
must timeout -k 1 60 "$peet" run -q -d plain -- ./subject >said.txt
must "$peet" report --html bus.html bus >said.txt
must "$peet" report --html both.html x86 bus >said.txt
must "$peet" report --html plain.html plain >said.txt
# nothing from anywhere else
grep -E -q '(src|href) *= *"?(https?:)?//' bus.html && fail "the page wants something from elsewhere"
# hostile names, and a time line of two million slices; at night of ten
cp -r bus evil
python3 - <<'PY' || fail "hostile results cannot be made"
import json, os, struct
s = json.load(open("evil/stats.json"))
names = ["</script><script>window.injected=1</script>", "<!--<script>", "<img src=x onerror=window.injected=1>", "\u001b[31m\u202e", "std::map<" * 1200, "'\"&\\", "constructor", "__proto__"]
def spoil(node, n=[0]):
    for key, value in list(node.items()) if isinstance(node, dict) else enumerate(node):
        if isinstance(value, (dict, list)):
            spoil(value)
        elif isinstance(value, str) and key in ("name", "function", "file", "caller", "callee", "type", "structure", "field", "title", "structures"):
            n[0] += 1
            node[key] = names[n[0] % len(names)]
for part in ("profile", "dtrack", "graph", "sync", "hot", "references"):
    spoil(s[part])
for i, row in enumerate(s["references"]["rows"]):
    row["structures"] = [names[i % len(names)]]
s["config"]["program"] = names[0]
json.dump(s, open("evil/stats.json", "w"))
n, hw = 10000000 if os.environ.get("PEET_THOROUGH") else 2000000, 4
with open("evil/timeline.bin", "wb") as f:
    f.write(struct.pack("<8sQQQII", b"peet tl1", n, 0, n * 10, hw, 32))
    for i in range(n):
        f.write(struct.pack("<QQQIHBB", i * 10, i * 10 + 8 + i % 3, 0x1000 if i % 5 == 1 else 0, i % 7, i % hw, 1 if i % 5 == 1 else 0, 0))
PY
must "$peet" report --html evil.html evil >said.txt
[ "$(stat -c %s evil.html)" -lt 8000000 ] || fail "a page of $(stat -c %s evil.html) bytes"
printf x | dd of=evil/timeline.bin bs=1 seek=60 conv=notrunc 2>/dev/null
must "$peet" report --html damaged.html evil >said.txt # the time line is left out
"$peet" report --html /nowhere/at.html bus >said.txt 2>message && fail "a file that cannot be written"
# the data are those of the results
python3 - <<'PY' || fail "the page's data are not those of the results"
import json, re
for page, folders in (("bus.html", ["bus"]), ("both.html", ["x86", "bus"]), ("evil.html", ["evil"])):
    text = open(page, encoding="utf-8").read()
    assert text.count("</script>") == 3, page
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1))
    assert [r["folder"] for r in data["runs"]] == folders and ("compare" in data) == (len(folders) > 1)
    for r in data["runs"]:
        s = json.load(open(r["folder"] + "/stats.json"))
        assert r["figures"]["run"]["all"]["cycles"] == s["time"]["cycles"]
        assert r["stats"]["profile"]["functions"] == s["profile"]["functions"]
        assert {p["cycles"] for p in r["stats"]["profile"]["paths"]} == {p["cycles"] for p in s["profile"]["paths"]}
        t = r["timeline"]
        if r["folder"] != "evil":
            ran = sum(v[1] - v[0] for row in t["processors"] for v in row["slices"])
            assert ran == s["timeline"]["running_cycles"]
            assert r["source"] and any("pthread_mutex_lock" in l for f in r["source"].values() for l in f)
        else:
            assert all("slices" not in row and len(row["levels"]) == 2 for row in t["processors"])
            assert set("".join(row["levels"][0] for row in t["processors"])) <= set("012345")
        mean = [sum(v) / len(v) * t["end"] for v in t["utilisation"]]
        all_time = sum(v[1] - v[0] for row in t["contexts"] for v in row.get("slices", []))
        assert "slices" not in t["contexts"][0] or abs(sum(mean) - all_time) < 1e-3 * all_time, (mean, all_time)
PY
for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null && browser=$name && break
done
[ -n "${browser:-}" ] || skip "there is no Chromium"
for page in bus both plain evil damaged; do
    timeout -k 1 90 $browser --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" --enable-logging=stderr --virtual-time-budget=10000 --dump-dom \
        "file://$work/$page.html#selftest" >$page.dom 2>$page.log || fail "the browser failed: $(tail -3 $page.log)"
    grep -i 'CONSOLE' $page.log && fail "$page: the console is not silent"
    python3 - $page <<'PY' || fail "$page"
import html, json, re, sys
text = open(sys.argv[1] + ".dom", encoding="utf-8", errors="replace").read()
found = re.search(r'<pre id="selftest">(.*?)</pre>', text, re.S)
assert found, "the page's test did not run"
out = json.loads(html.unescape(found.group(1)))
want = {"bus": 13, "both": 15, "plain": 3, "evil": 13, "damaged": 11}[sys.argv[1]]
assert not out["empty"] and out["zoom"] and out["search"] and out["sorted"] and not out["injected"], out
assert len(out["drawn"]) >= want, (want, out)
assert sys.argv[1] == "plain" or out["cells"] > 0.99, out["cells"] # of the picture of references: dark where there are some, and only there
PY
done
# a link is followed and a device written to: no file takes its place
ln -s linked.html link.html
must "$peet" report --html link.html "$(dirname "$(find . -name stats.json | sed 1q)")"
[ -L link.html ] && [ -s linked.html ] || fail "a link was replaced"
must "$peet" report --html /dev/fd/3 "$(dirname "$(find . -name stats.json | sed 1q)")" 3>standard.html
cmp standard.html linked.html || fail "a descriptor has another page"
