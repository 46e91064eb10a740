#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Locked operations that change nothing (a compare-and-exchange that fails, an exchange for what is there) have read: explorations of
# random programs have exactly the outcomes of all interleavings, which are enumerated here without knowing of peet, and a program in
# which all fail has no more executions than the order of its threads' ends makes.  Another seed and number: locked.sh FOLDER SEED COUNT
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >interpreter.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* a thread is one argument, an operation of it four characters: kind, variable, two numbers */
static atomic_int variables[2];
static char *threads[8];
static int seen[8][8];
static void *run(void *arg)
{
    const int t = (int)(long)arg, n = (int)strlen(threads[t]) / 4;
    char ops[64];
    memcpy(ops, threads[t], sizeof ops);
    for (int k = 0; k < n; k++) {
        atomic_int *x = &variables[ops[4 * k + 1] - '0'];
        int a = ops[4 * k + 2] - '0', b = ops[4 * k + 3] - '0';
        switch (ops[4 * k]) {
        case 'l': seen[t][k] = atomic_load(x); break;
        case 's': atomic_store(x, a); break;
        case 'x': seen[t][k] = atomic_exchange(x, a); break;
        case 'a': seen[t][k] = atomic_fetch_add(x, a); break;
        case 'c': seen[t][k] = atomic_compare_exchange_strong(x, &a, b) ? 8 : a; break;
        }
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t t[8];
    for (int k = 1; k < argc; k++)
        memcpy(threads[k - 1] = calloc(1, 64), argv[k], strlen(argv[k]));
    for (long k = 0; k < argc - 1; k++)
        pthread_create(&t[k], NULL, run, (void *)k);
    for (int k = 0; k < argc - 1; k++)
        pthread_join(t[k], NULL);
    for (int k = 0; k < argc - 1; k++)
        for (size_t i = 0; i < strlen(argv[k + 1]) / 4; i++)
            printf("%d ", seen[k][i]);
    printf("%d %d\n", variables[0], variables[1]);
    return 0;
}
END
must "$peetcc" -O1 -pthread -fpeet-granularity=ref -o interpreter interpreter.c
python3 - "$peet" "${2:-1}" "${3:-25}" <<'END' || fail "outcomes of explorations are not those of all interleavings"
import json, random, subprocess, sys

peet, rng, count = sys.argv[1], random.Random(int(sys.argv[2])), int(sys.argv[3])

def operation():
    kind = rng.choice("llsxaccccc")
    return kind + str(rng.randrange(2)) + str(rng.randrange(3) if kind != "a" else rng.randrange(2)) + str(rng.randrange(3))

def step(op, variables):
    x, a, b = int(op[1]), int(op[2]), int(op[3])
    old, new, got = variables[x], None, 0
    if op[0] == "l":
        new, got = old, old
    elif op[0] == "s":
        new = a
    elif op[0] == "x":
        new, got = a, old
    elif op[0] == "a":
        new, got = old + a, old
    else:
        new, got = (b, 8) if old == a else (old, old)
    return tuple(new if k == x else v for k, v in enumerate(variables)), got

def outcomes(threads):
    found, visited = set(), set()
    todo = [((0,) * len(threads), (0, 0), tuple(() for _ in threads))]
    while todo:
        state = todo.pop()
        if state in visited:
            continue
        visited.add(state)
        at, variables, seen = state
        over = True
        for t, ops in enumerate(threads):
            if at[t] == len(ops):
                continue
            over = False
            after, got = step(ops[at[t]], variables)
            todo.append((at[:t] + (at[t] + 1,) + at[t + 1:], after, seen[:t] + (seen[t] + (got,),) + seen[t + 1:]))
        if over:
            found.add(" ".join(str(v) for one in seen for v in one) + " %d %d" % variables)
    return found

def explore(threads):
    subprocess.run([peet, "run", "-q", "--cores", str(len(threads) + 1), "--explore", "all", "-d", "explored", "--", "./interpreter"] +
        ["".join(ops) for ops in threads], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    e = json.load(open("explored/stats.json"))["exploration"]
    assert e["complete"], e
    return {o["output"].strip() for o in e["list"]}, e["executions"]

total = 0
for number in range(count):
    threads = [[operation() for _ in range(rng.choice((2, 2, 3) if n == 2 else (1, 2)))] for n in [rng.choice((2, 3))] for _ in range(n)]
    expected = outcomes(threads)
    got, executions = explore(threads)
    total += executions
    assert got == expected, (number, threads, "missing", sorted(expected - got), "too many", sorted(got - expected))
print(count, "programs,", total, "executions")
got, executions = explore([["c012", "c012"]] * 3)
assert got == {"0 0 0 0 0 0 0 0"} and executions <= 6, (got, executions)
END
