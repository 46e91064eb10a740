# SPDX-License-Identifier: Apache-2.0
# peet whatif on programs whose answers are known: an unbalanced loop, a lock that serialises half, a false share, memory that is half as far, phases of
# unequal length between barriers, a function that takes half of its time.
export PEET_FOREIGN=ranges # the gains are known of the program alone
. "$(dirname "$0")/../lib.sh"
cat >subject.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <peet/doall.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct { long a; } counters[4] __attribute__((aligned(64)));
static char walked[1 << 16];
__attribute__((noinline)) static void unit(long n) { for (volatile long i = 0; i < n; i++) ; }
static void part(long i, void *arg) { (void)arg; unit(i < 8 ? 4000 : 100); }
static void *half(void *arg)
{
    for (int i = 0; i < 8; i++) {
        unit(500);
        pthread_mutex_lock(&lock);
        unit(500);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
static pthread_barrier_t barrier;
/* each thread has 1, 2, 3 and 4 parts to do, in another order, so that one has 4 in each phase */
static void *phases(void *arg)
{
    long me = (long *)arg - &counters[0].a;
    for (int i = 0; i < 8; i++) {
        unit(500 * (((me / (long)(sizeof counters[0] / sizeof(long)) + i) & 3) + 1));
        pthread_barrier_wait(&barrier);
    }
    return 0;
}
static void *both(void *arg)
{
    for (int i = 0; i < 8; i++) {
        pthread_mutex_lock(&lock);
        unit(500);
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&barrier);
    }
    return arg;
}
static void *share(void *arg) { volatile long *mine = arg; for (int i = 0; i < 2000; i++) ++*mine; return 0; }
static void *(*body(const char *what))(void *)
{
    return !strcmp(what, "phases") ? phases : !strcmp(what, "both") ? both : !strcmp(what, "lock") ? half : !strcmp(what, "share") ? share : 0;
}
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t t[4];
    if (!strcmp(what, "loop"))
        peet_doall(0, 32, PEET_DOALL_DEFAULT, 0, part, NULL);
    pthread_barrier_init(&barrier, 0, 4);
    for (int i = 0; i < 4 && body(what); i++)
        pthread_create(&t[i], 0, body(what), &counters[i]);
    for (int i = 0; i < 4 && body(what); i++)
        pthread_join(t[i], 0);
    for (long i = 0; i < (1 << 16) && !strcmp(what, "walk"); i += 64)
        walked[i]++;
    return 0;
}
C
must "$peetcc" -O1 -g -pthread -o subject subject.c
whatif() { timeout -k 1 100 "$peet" whatif "$@" >out.txt 2>table.txt || fail "whatif $*: $(cat table.txt)"; }
# 8 long iterations of 4000 and 24 short ones of 100 on 4 processors: dealt in parts of 8, one has all long ones; one by one each has two
whatif -d loop --try schedule=dynamic+chunk=1 --try cores=8 --cores 4 -- ./subject loop
# half of each thread's work is under the lock: 4 threads on 4 processors take about (8 + 1/2 ...) lock times; one processor takes twice that
whatif -d lock --try cores=1 --try cores=2 --try lock-model=ticket --cores 4 -- ./subject lock
whatif -d share --try pad=counters:64 --machine bus,line=64 --cores 4 -- ./subject share
whatif -d walk --try machine.memory_latency_cycles=20 --machine bus,memory_latency_cycles=40,line=64 -- ./subject walk
whatif -d wide --wide --top 1 --plot wide.svg --machine bus --cores 2 -- ./subject lock
# nobody waits: on any machine. A processor is left for main()
for machine in ideal bus numa x86; do
    whatif -d free.$machine --try free=lock --try free=locks --try scale=unit:0.5 --try scale=unit:2 --try cores=1 --machine $machine --cores 5 -- ./subject lock
    whatif -d phases.$machine --try free=barriers --try free=barrier --machine $machine --cores 5 -- ./subject phases
    whatif -d both.$machine --try free=barriers --try free=barriers+free=lock --machine $machine --cores 5 -- ./subject both
done
# a supposition that changes nothing gains nothing, also where contexts go from processor to processor
for machine in ideal bus numa; do
    whatif -d nothing.$machine --try scale=unit:1 --machine $machine --cores 3 -- ./subject phases
    equal "gain of nothing on $machine" 0 "$(jq '.runs[1].saved_cycles' nothing.$machine/whatif.json)"
done
must timeout -k 1 60 "$peet" run -q --observe profile -d profiled -- ./subject lock
whatif -d exact --try scale=unit:0.5 --try scale=unit:0 --try scale=half:0.25+scale=unit:0.75 -- ./subject lock
python3 - <<'PY' || fail "the gains are not those that are known"
import json
def cycles(name): return {r["what"]: r["cycles"] for r in json.load(open(name + "/whatif.json"))["runs"]}
def near(a, b, part=0.06): assert abs(a - b) <= part * b, (a, b, c)
c = cycles("loop")
u = c["as it is"] / 32000 # the unit: 8 times 4000 one after the other
near(c["schedule=dynamic + chunk=1"], (8 * 4000 + 24 * 100) / 4 * u, 0.12)
near(c["cores=8"], 4 * 4000 * u, 0.12)
c = cycles("lock")
u = c["cores=1"] / (4 * 8 * 1000)
near(c["as it is"], (4 * 8 * 500 + 500) * u, 0.1)
near(c["cores=2"], 4 * 8 * 1000 / 2 * u, 0.1)
c = cycles("share")
assert c["pad=counters:64"] * 3 < c["as it is"], c
a, b = (json.load(open("walk/%d/stats.json" % i)) for i in (0, 1))
assert a["time"]["cycles"] - b["time"]["cycles"] == 20 * a["bus"]["memory"]["reads_lines"], "each line comes 20 cycles sooner"
for machine in "ideal", "bus", "numa", "x86":
    c = cycles("free." + machine)
    near(c["free=lock"], c["cores=1"] / 4, 0.08)
    assert c["free=lock"] == c["free=locks"] and c["as it is"] > 1.8 * c["free=lock"]
    near(c["scale=unit:0.5"], c["as it is"] / 2, 0.12)
    near(c["scale=unit:2"], c["as it is"] * 2, 0.12)
    c = cycles("phases." + machine)
    near(c["free=barriers"], c["as it is"] * 10 / 16, 0.05)
    assert c["free=barrier"] == c["free=barriers"]
    c = cycles("both." + machine)
    near(c["free=barriers"], c["as it is"], 0.05) # the lock serialises it all, with barriers or without
    near(c["free=barriers + free=lock"], c["as it is"] / 4, 0.2)
profile = {f["name"]: f["cycles"] for f in json.load(open("profiled/stats.json"))["profile"]["functions"]}
c = cycles("exact")
for what, saved in (("scale=unit:0.5", profile["unit"] / 2), ("scale=unit:0", profile["unit"]),
                    ("scale=half:0.25 + scale=unit:0.75", profile["unit"] / 4 + profile["half"] * 3 / 4)):
    assert abs(c["as it is"] - saved - c[what]) <= 2, (what, c, profile)
wide = cycles("wide")
for what in ("cores=4", "half the memory's latency", "lock-model=tas", "lock-model=mcs", "free locks", "free lock", "unit in half the time"):
    assert what in wide, (what, wide)
PY
# the picture: a bar for each change, as long as its gain, to the left if it is a loss; the greatest gain on top
python3 - <<'PY' || fail "the picture is not that of the gains: $(cat wide.svg)"
import json
import xml.etree.ElementTree as tree
runs = json.load(open("wide/whatif.json"))["runs"]
order = sorted(runs[1:], key=lambda r: (r["cycles"], r["run"]))
gain = [100 * r["saved_cycles"] / runs[0]["cycles"] for r in order]
svg = tree.parse("wide.svg").getroot()
words = ["".join(t.itertext()).strip() for t in svg.iter() if t.tag.endswith("}text")]
assert [w for w in words if w in {r["what"] for r in order}] == [r["what"] for r in order], words
assert [w for w in words if "speed-up" in w] == ["%.1f %%, speed-up %.3f" % (g, r["speedup"]) for g, r in zip(gain, order)], words
bars = []
for p in svg.iter():
    if p.tag.endswith("}polygon") and p.get("points"):
        x = [float(c.split(",")[0]) for c in p.get("points").split()]
        bars.append(max(x) - min(x))
assert len(bars) >= len([g for g in gain if abs(g) > 1]) >= 2, (bars, gain)
assert abs(bars[0] / bars[1] - gain[0] / gain[1]) < 0.05 * gain[0] / gain[1] + 0.02, (bars, gain)
PY
"$peet" whatif -d never --plot picture.bmp -- ./subject 2>message && fail "a picture of unknown type"
grep -q 'must end with .svg' message && [ ! -e never ] || fail "the program has run for a picture that cannot be: $(cat message)"
# functions in less time where a bus is busy nearly all the time: its transactions remain, so that hardly anything is gained, and nobody is made to
# wait in the past
must "$peetcc" -O2 -g -o shallow "$PEET_SOURCE/examples/shallow/shallow.c" -lm
whatif -d busy --try scale=fluxes:0.5 --try scale=time_filter:0.5 --try scale=new_level:0 --try scale=new_level:0.7 --try scale=new_level:3 \
    --machine bus,cache=8KiB --cores 4 -- ./shallow 32 32 2
# a run that ends otherwise is not compared
cat >ends.c <<'C'
#include <unistd.h>
int main(void) { for (volatile int i = 0; i < 1000; i++) { } return sysconf(_SC_NPROCESSORS_ONLN) > 1; }
C
must "$peetcc" -O1 -o ends ends.c
status=0
timeout -k 1 100 "$peet" whatif -d otherwise --try free=nosuch --try cores=2 --try machine.cost=instructions --plot otherwise.svg --machine ideal -- ./ends >out.txt 2>table.txt || status=$?
[ $status = 2 ] || fail "status $status, though a run could not be made"
grep -q 'cores=2 ended with another status' table.txt && grep -q '^ *cores=2 .* - *- *2$' table.txt || fail "what ended otherwise: $(cat table.txt)"
grep -q "the run with free=nosuch left no results: --free: nobody has waited for a lock or barrier 'nosuch' (" table.txt || fail "what could not be tried: $(cat table.txt)"
cat >more.c <<'C'
#include <unistd.h>
int main(void) { for (volatile int i = 0; i < 100000 * sysconf(_SC_NPROCESSORS_ONLN); i++) { } return 0; }
C
must "$peetcc" -O1 -o more more.c
timeout -k 1 100 "$peet" whatif -d more.out --try cores=2 --try machine.cost=unit --machine ideal -- ./more >out.txt 2>more.txt || fail "$(cat more.txt)"
grep -q '^  run 1 executes [0-9.]* % more instructions than run 0: ' more.txt || fail "nothing is said of a run that does more: $(cat more.txt)"
grep -q 'run 2 executes' more.txt && fail "a run that does the same is said to do something else: $(cat more.txt)"
grep -q 'cores=2' otherwise.svg && fail "what ended otherwise is drawn"
python3 - <<'PY' || fail "what a busy bus allows"
import json
runs = json.load(open("busy/whatif.json"))["runs"]
stats = json.load(open("busy/0/stats.json"))
busy = stats["bus"]["bus"]["utilisation"]
assert busy > 0.7, busy
for r in runs:
    end = json.load(open("busy/%d/stats.json" % r["run"]))["end"]
    assert end == stats["end"] and not r["ended_otherwise"], (r, end)
    assert r["cycles"] >= busy * runs[0]["cycles"] * 0.98, (r, runs[0])
assert [r["ended_otherwise"] for r in json.load(open("otherwise/whatif.json"))["runs"]] == [False, True, True, False]
PY
# the table begins with the run as it is, then goes by gain
awk 'NR > 2 && /%/ { sub(/ %/, ""); for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9]+\.[0-9]$/) { if (seen && $i > last) exit 1; last = $i; seen = 1; break } } END { exit !seen }' table.txt ||
    fail "not by gain: $(cat table.txt)"
# memory of two kinds that one place allocates, which no debug information tells apart: one name, tried once
cat >places.c <<'C'
#include <sys/mman.h>
#include <stdlib.h>
#ifdef LIBRARY
enum { BYTES = 1 << 14 };
char *get(int mapped)
{
    return mapped ? mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : malloc(BYTES);
}
#else
extern char *get(int mapped);
int main(int argc, char **argv)
{
    long sum = 0;
    for (int round = 0; round <= argc; round++) {
        volatile char *p = get(round);
        for (int i = 0; i < 1 << 14; i += 64)
            p[i] = (char)i;
        for (int i = 0; i < 1 << 14; i += 64)
            sum += p[i];
    }
    return sum == 1 && argv[0][0];
}
#endif
C
must "${PEET_PLAIN_CC:-clang}" -O2 -DLIBRARY -fPIC -shared -o libplaces.so places.c
"$peetcc" -O2 -o places places.c -L. -lplaces -Wl,-rpath,"$PWD"
must "$peet" whatif --json --cores 1 --machine bus,cache=4KiB --observe dtrack -d places.out -- ./places >places.json
jq -e '[.runs[].what | select(test("^perfect main[+]0x[0-9a-f]+$"))] | length == 1' places.json >/dev/null ||
    fail "not one trial of main's memory: $(jq -c '[.runs[].what]' places.json)"
jq -e '[.runs[] | .cycles] | all(. != null and . > 0)' places.json >/dev/null || fail "a trial without a result: $(cat places.json)"
"$peet" whatif --try nosuch=3 -- ./subject 2>message && fail "an unknown change"
grep -q "cannot be tried" message || fail "no advice: $(cat message)"
# names that are not there, and what does not go together
refused() { "$peet" run -q -d refused "${@:2}" -- ./subject lock 2>message && fail "$*"; grep -q "$1" message || fail "$*: $(cat message)"; }
refused "no function 'nosuch'" --scale nosuch:0.5
refused "lock or barrier 'nosuch'" --free nosuch --cores 4
refused 'FUNCTION:FACTOR' --scale unit
refused 'FUNCTION:FACTOR' --scale unit:-1
refused 'FUNCTION:FACTOR' --scale unit:nan
refused 'lock-model=none' --free lock --lock-model ttas
exit 0
