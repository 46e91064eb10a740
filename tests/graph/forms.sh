# SPDX-License-Identifier: Apache-2.0
# Work, span and parallelism against closed forms; time on p processors of `ideal` between the bounds; the same graph on every machine; the token game.
export PEET_FOREIGN=ranges # the closed forms are those of the program alone
. "$(dirname "$0")/../lib.sh"
cat >shapes.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <peet/doall.h>
static long cells[1024];
static long depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
/* 500 rounds: the unit of all that follows */
__attribute__((noinline)) void unit(void) { for (volatile long i = 0; i < 500; i++) ; }
static void one(long i, void *arg) { (void)arg; unit(); cells[i]++; }
static void pair(long i, void *arg) { long s = *(long *)arg; unit(); cells[2 * i * s] += cells[2 * i * s + s]; }
static void item(long i, void *arg)
{
    (void)arg;
    for (long stage = 0; stage < 5; stage++) {
        PEET_WAIT((i - 1) * 5 + stage);
        unit();
        PEET_POST(i * 5 + stage);
    }
}
static void *half(void *arg)
{
    long level = (long)arg;
    pthread_t left, right;
    unit();
    if (level == depth)
        return NULL;
    pthread_create(&left, NULL, half, (void *)(level + 1));
    pthread_create(&right, NULL, half, (void *)(level + 1));
    pthread_join(left, NULL);
    pthread_join(right, NULL);
    return NULL;
}
static void *phases(void *arg) { for (int i = 0; i < 6; i++) { unit(); if ((i ^ (int)(long)arg) & 1) unit(); pthread_barrier_wait(&barrier); } return NULL; }
static void *locked(void *arg) { for (int i = 0; i < 5; i++) { pthread_mutex_lock(&lock); unit(); pthread_mutex_unlock(&lock); } return arg; }
static void threads(int n, void *(*f)(void *))
{
    pthread_t t[8];
    for (long i = 0; i < n; i++)
        pthread_create(&t[i], NULL, f, (void *)i);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}
int main(int argc, char **argv)
{
    const char *shape = argc > 1 ? argv[1] : "";
    if (!strcmp(shape, "doall"))
        peet_doall(0, 24, PEET_DOALL_DYNAMIC, 1, one, NULL);
    if (!strcmp(shape, "tree"))
        for (long s = 1; s < 32; s *= 2)
            peet_doall(0, 32 / (2 * s), PEET_DOALL_DYNAMIC, 1, pair, &s);
    if (!strcmp(shape, "pipeline"))
        peet_doacross_loop(0, 9, PEET_DOALL_DYNAMIC, 1, item, NULL);
    if (!strcmp(shape, "forkjoin")) {
        depth = 4;
        half((void *)0);
    }
    if (!strcmp(shape, "barriers")) {
        pthread_barrier_init(&barrier, NULL, 4);
        threads(4, phases);
    }
    if (!strcmp(shape, "locks"))
        threads(6, locked);
    return 0;
}
C
must "$peetcc" -O1 -g -pthread -o shapes shapes.c
for shape in none doall tree pipeline forkjoin barriers locks; do
    for cores in 1 2 4 7; do
        must timeout -k 1 60 "$peet" run -q --cores $cores --observe graph -d $shape.$cores -- ./shapes $shape
    done
    must timeout -k 1 60 "$peet" run -q --machine bus --cores 3 --observe graph -d $shape.bus -- ./shapes $shape
    must "$peet" report --dot $shape.dot --pnml $shape.pnml $shape.4 >said.txt
done
python3 - <<'PY' || fail "the graphs are wrong"
import json, xml.etree.ElementTree as xml
runs = ("1", "2", "4", "7", "bus")
graphs = {}
for shape in ("none", "doall", "tree", "pipeline", "forkjoin", "barriers", "locks"):
    for run in runs:
        stats = json.load(open(f"{shape}.{run}/stats.json"))
        g = stats["graph"]
        # the list of nodes and edges again, by an independent walk
        nodes, edges = g["node_list"], g["edge_list"]
        before = {n["id"]: [] for n in nodes}
        for e in edges:
            before[e["to"]].append((e["from"], e["kind"]))
        ends = {}
        for locks in (False, True):
            for weight in ("instructions", "cycles"):
                end, left = {}, [n["id"] for n in nodes]
                while left:
                    later = []
                    for i in left:
                        need = [f for f, kind in before[i] if locks or kind != "order"]
                        if all(f in end for f in need):
                            end[i] = max([end[f] for f in need], default=0) + nodes[i][weight]
                        else:
                            later.append(i)
                    assert len(later) < len(left), "a circle"
                    left = later
                key = "span_with_locks_" + weight if locks else "span_" + weight
                assert max(end.values()) == g[key], (shape, run, key, max(end.values()), g[key])
                ends[key] = end
        for weight in ("instructions", "cycles"):
            assert sum(n[weight] for n in nodes) == g["work_" + weight], (shape, run)
        assert g["work_instructions"] == stats["totals"]["instructions"]
        path = g["critical_path"]
        assert sum(nodes[i]["cycles"] for i in path) == g["span_cycles"], (shape, run)
        assert all(any(f == a for f, _ in before[b]) for a, b in zip(path, path[1:]))
        assert sum(f["instructions"] for f in g["critical_functions"]) == sum(nodes[i]["instructions"] for i in path)
        width = g["window_cycles"]
        area = sum(p * min(width, g["span_cycles"] - k * width) for k, p in enumerate(g["parallelism_over_time"]))
        assert abs(area - g["work_cycles"]) < 1e-6 * g["work_cycles"] + 1, (shape, run, area)
        if run != "bus":
            p, time = int(run), stats["time"]["cycles"]
            least = max(g["work_cycles"] / p, g["span_cycles"])
            most = g["work_cycles"] / p + g["span_with_locks_cycles"]
            assert least <= time <= most, (shape, run, least, time, most)
        # what is the same on every machine
        fixed = {k: v for k, v in g.items() if k != "run_order" and not k.startswith("span_with_locks")}
        fixed["edge_list"] = [e for e in edges if e["kind"] != "order"]
        fixed.pop("edges")
        if shape in graphs:
            assert fixed == graphs[shape], (shape, run, [k for k in fixed if fixed[k] != graphs[shape][k]])
        graphs[shape] = fixed
    # closed forms: u is one unit; what threads and loops add to it is less than a twentieth of it
    g = graphs[shape]
    if shape == "none":
        continue
    nodes = g["node_list"]
    u = max(n["instructions"] for n in nodes) if shape not in ("barriers",) else min(n["instructions"] for n in nodes if n["instructions"] > 400)
    work, span = {"doall": (24, 1), "tree": (31, 5), "pipeline": (45, 13), "forkjoin": (31, 5), "barriers": (36, 12), "locks": (30, 5)}[shape]
    assert abs(g["work_instructions"] - work * u) < 0.05 * work * u + 100, (shape, g["work_instructions"], work * u)
    assert abs(g["span_instructions"] - span * u) < 0.05 * span * u + 100, (shape, g["span_instructions"], span * u)
    if shape == "locks":
        whole = json.load(open("locks.4/stats.json"))["graph"]
        assert abs(whole["span_with_locks_instructions"] - 30 * u) < 0.05 * 30 * u, "locks make it serial"
    # the token game: the run's order can be fired, each transition once, and nothing is left
    run = json.load(open(shape + ".4/stats.json"))["graph"]
    net = xml.parse(shape + ".pnml").getroot()
    ns = "{http://www.pnml.org/version-2009/grammar/pnml}"
    begin = {p.get("id"): int(getattr(p.find(ns + "initialMarking/" + ns + "text"), "text", 0) or 0) for p in net.iter(ns + "place")}
    needs, gives = {}, {}
    for arc in net.iter(ns + "arc"):
        a, b = arc.get("source"), arc.get("target")
        (gives.setdefault(a, []).append(b) if a.startswith("t") else needs.setdefault(b, []).append(a))
    assert len(run["run_order"]) == len(run["node_list"]) == len(set(run["run_order"]))

    def play(order):
        marking = dict(begin)
        for n in order:
            for p in needs["t%d" % n]:
                if marking[p] != 1:
                    return False
                marking[p] -= 1
            for p in gives.get("t%d" % n, ()):
                marking[p] += 1
        return not any(marking.values())

    assert play(run["run_order"]) and not play(run["run_order"][::-1]) and not play(run["run_order"][1:]), shape
PY
if command -v dot >/dev/null; then
    must dot -Tsvg doall.dot >doall.svg
fi
grep -q '^digraph' doall.dot || fail "no graph for GraphViz"
# a limit is an error that says what to do
"$peet" run -q --observe graph,limit=10 -d few -- ./shapes doall 2>message && fail "more nodes than the limit"
grep -q 'limit=N' message || fail "no advice: $(cat message)"
exit 0
