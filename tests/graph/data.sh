# SPDX-License-Identifier: Apache-2.0
# Data that tasks hand to each other, against what the program does: the same on every machine, each word once however often it is read.
. "$(dirname "$0")/../lib.sh"
cat >subject.c <<'C'
#include <pthread.h>
#include <peet/doall.h>
enum { THREADS = 4, IN = 1024, OUT = 256 };
static int in[THREADS][IN], out[THREADS][OUT];
static long chain[5][64];
static pthread_barrier_t barrier;
static volatile int sum;
static void *work(void *arg)
{
    long t = (long)arg;
    for (int k = 0; k < 3; k++)              /* three times the same data */
        for (int i = 0; i < IN; i++)
            out[t][i % OUT] += in[t][i];
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < OUT / 2; i++)        /* half of the neighbour's */
        sum += out[(t + 1) % THREADS][i];
    return 0;
}
static void item(long i, void *arg)
{
    (void)arg;
    PEET_WAIT(i - 1);
    for (int k = 0; k < 64; k++)
        chain[i + 1][k] = chain[i][k] + 1;
    PEET_POST(i);
}
int main(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < IN; k++)
            in[i][k] = i + k;
    pthread_barrier_init(&barrier, 0, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < OUT; k++)
            sum += out[i][k];
    peet_doacross_loop(0, 4, PEET_DOALL_DYNAMIC, 1, item, 0);
    for (int k = 0; k < 64; k++)
        sum += chain[4][k];
    return 0;
}
C
must "$peetcc" -O1 -g -pthread -fno-vectorize -o subject subject.c
run() { must timeout -k 1 60 "$peet" run -q "${@:2}" -d "$1" -- ./subject; }
run one --observe graph,data=on
run four --cores 4 --observe graph,data=on
run bus --machine bus --cores 3 --observe graph,data=on
run blocks --cores 4 --observe graph,data=on --observe hash # nobody gets many turns in one event
run without --cores 4 --observe graph
must "$peet" report --dot data.dot four >said.txt
python3 - <<'PY' || fail "the data that tasks share are wrong"
import json, re
def load(name): return json.load(open(name + "/stats.json"))["graph"]
g = load("four")
tasks = {(d["from"], d["to"]): d["bytes"] for d in g["task_data"]}
own = lambda i: "main/thread%d" % i
first = min(int(re.search("thread([0-9]+)", d["to"]).group(1)) for d in g["task_data"] if "thread" in d["to"])
loop = [k for k in tasks if "loop" in k[0]][0][0].split("[")[0]
few = 200 # what main() and the libraries hand over besides
for i in range(4):
    t, other = own(first + i), own(first + (i + 1) % 4)
    assert 4 * 1024 <= tasks["main", t] <= 4 * 1024 + few, (t, tasks)
    assert 4 * 256 <= tasks[t, "main"] <= 4 * 256 + few, (t, tasks)
    assert 4 * 128 <= tasks[other, t] <= 4 * 128 + few, (t, tasks)
    assert tasks.get((t, other), 0) <= few, (t, tasks)
for i in range(3):
    assert 512 <= tasks["%s[%d]" % (loop, i), "%s[%d]" % (loop, i + 1)] <= 512 + few, tasks
assert 256 <= tasks["%s[3]" % loop, "main"] <= 256 + few, tasks # the low half of each
nodes = {n["id"]: n["task"] for n in g["node_list"]}
assert sum(d["bytes"] for d in g["data_list"]) == g["shared_bytes"]
by = {}
for d in g["data_list"]:
    a, b = nodes[d["from"]], nodes[d["to"]]
    if a != b:
        by[a, b] = by.get((a, b), 0) + d["bytes"]
assert by == tasks
# on any machine; `sum`, which all add to without a lock, goes from hand to hand as the run has it
known = lambda g: {k: v // 256 for k, v in ((((d["from"], d["to"])), d["bytes"]) for d in g["task_data"]) if v >= 256}
for other in ("one", "bus", "blocks"):
    assert known(load(other)) == known(g), other
assert load("blocks")["data_list"] == g["data_list"]
assert "data_list" not in load("without")
labels = [int(x) for x in re.findall(r'label="([0-9]+) bytes"', open("data.dot").read())]
assert sum(labels) == g["shared_bytes"]
PY
if command -v dot >/dev/null; then
    must dot -Tsvg data.dot >data.svg
fi
exit 0
