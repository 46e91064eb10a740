#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# peet compare: a program without races or clocks is the same on any machine; a difference of known size is found where it is.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >work.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int n;
static volatile long cells[3];
__attribute__((noinline)) static void extra(void) { cells[2]++; }
__attribute__((noinline)) static void step(void) { cells[0]++; }
static void *work(void *arg)
{
    for (int i = 0; i < 200 * (int)(long)arg; i++) {
        if ((long)arg == 1 && i == 50)
            for (int k = 0; k < n; k++)
                extra();
        step();
    }
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t t[3];
    n = argc > 1 ? atoi(argv[1]) : 0;
    for (long i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, work, (void *)(i + 1));
        pthread_join(t[i], NULL);
    }
    return 0;
}
END
must "$peetcc" -O1 work.c -o work -pthread
must "$peet" run -q --machine ideal -o trace -d a -- ./work
must "$peet" run -q --machine bus -n 3 --seed 9 -o trace -d b -- ./work
must "$peet" run -q --machine ideal -o trace -d c -- ./work 7
for what in instructions calls; do
    must "$peet" compare --what $what --json a b >same.json
    equal "$what of the same program" "$(value same.json similarity_percent)" 100
done
# Seven calls more, each a call and a return, in the first thread; the others are as they were.
must "$peet" compare --what calls --effort 0 --list 5 --json a c >more.json
must python3 - more.json <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
edits = {p["a"]: p["edits"] for p in result["pairs"]}
assert edits[1] == 14 and edits[2] == edits[3] == 0, edits
first = next(p for p in result["pairs"] if p["a"] == 1)
assert first["length_b"] - first["length_a"] == 14
assert sum(d["inserted"] for d in first["differences"]) == 14 and not any(d["deleted"] for d in first["differences"])
total = sum(p["length_a"] + p["length_b"] for p in result["pairs"])
assert abs(result["similarity_percent"] - 100 * (total - 14 - edits[0]) / total) < 1e-9
END
must "$peet" compare a c >table
grep -q 'first difference' table || fail "no first difference: $(cat table)"
# Two threads that have changed places: the same instructions in another order.
cat >places.c <<'END'
#include <pthread.h>
static volatile int s;
static __attribute__((noinline)) int f(int x) { return x * 3 + 1; }
static __attribute__((noinline)) int g(int x) { return x & 1 ? x + s : x - 2; }
static void *work(void *p)
{
    int x = 1;
    for (const char *c = p; *c; c++)
        x = *c == 'a' ? f(x) : g(x);
    return (void *)(long)(x & 0);
}
int main(int argc, char **argv)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, argv[1 + i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return argc != 3;
}
END
must "$peetcc" -O1 places.c -o places -pthread
must "$peet" run -q --foreign=ranges -o trace -d placed -- ./places aaaaaaaabbbbbbbb bbbbbbbbaaaaaaaa
must "$peet" run -q --foreign=ranges -o trace -d changed -- ./places bbbbbbbbaaaaaaaa aaaaaaaabbbbbbbb
must "$peet" compare --json placed changed >places.json
equal "threads that have changed places" "$(value places.json similarity_percent)" 100
must "$peet" compare --what events placed changed >table
grep -q 'times between events, warped: [0-9]*\.[0-9] cycles apart' table || fail "no times: $(cat table)"
# Each iteration of a loop is a context: there may be thousands.
cat >many.c <<'END'
#include <peet/doall.h>
static int sums[1500];
static void part(long p, void *arg)
{
    for (long i = 0; i < p % 7; i++)
        sums[p] += i;
}
int main(void)
{
    peet_doall(0, 1500, PEET_DOALL_DEFAULT, 0, part, 0);
    return 0;
}
END
must "$peetcc" -O1 many.c -o many
must "$peet" run -q -n 2 -o trace -d many.two -- ./many
must "$peet" run -q -n 4 -o trace -d many.four -- ./many
must timeout 60 "$peet" compare --json --what calls many.two many.four >many.json
equal "thousands of contexts" "$(value many.json similarity_percent)" 100
# Sequences that are not kept in memory: the same where nothing differs, and a distance that is at least the exact one.
cat >path.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned cells[64];
__attribute__((noinline)) static void one(unsigned x) { cells[x % 64] += x; }
__attribute__((noinline)) static void two(unsigned x) { cells[x % 64] ^= x; }
int main(int argc, char **argv)
{
    unsigned x = 1, more = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    for (unsigned i = 0; i < 12000; i++) {
        x = x * 1664525 + 1013904223;
        if (x >> 31) one(x); else two(x);
        if (more && i % more == 0) { one(i); two(i); two(i); }
    }
    return 0;
}
END
must "$peetcc" -O1 path.c -o path
must "$peet" run -q -m ideal -o trace -d path.a -- ./path
must "$peet" run -q -m ideal -o trace -d path.b -- ./path 500
must "$peet" compare --effort 0 --list 100000 --json path.a path.b >exact.json
must "$peet" compare --effort 0 --list 100000 --piece 4096 --json path.a path.b >pieces.json
must "$peet" compare --list 9 --piece 4096 --json path.a path.a >itself.json
must python3 - exact.json pieces.json itself.json <<'END'
import json, sys
exact, pieces, itself = (json.load(open(name))["pairs"][0] for name in sys.argv[1:])
assert exact["length_a"] > 100000 and exact["edits"] > 500
assert pieces["edits_at_least"] <= exact["edits"] <= pieces["edits"] <= 1.1 * exact["edits"], (exact["edits"], pieces)
assert pieces["similarity_percent"] <= exact["similarity_percent"] <= pieces["similarity_at_most_percent"], pieces
assert abs(exact["similarity_percent"] - exact["similarity_at_most_percent"]) < 1e-9, exact
for key in ("a", "b", "before", "then_a", "then_b"):
    assert pieces["first_difference"][key] == exact["first_difference"][key], (pieces["first_difference"], exact["first_difference"])
assert itself["edits"] == 0 and itself["similarity_percent"] == 100 and itself["differences"] == []
for pair in (exact, pieces): # the list is the script
    listed = pair["differences"]
    assert sum(d["deleted"] + d["inserted"] for d in listed) == pair["edits"], pair["edits"]
    for d, e in zip(listed, listed[1:]):
        assert d["a"] + d["deleted"] + d["matching_after"] == e["a"] and d["b"] + d["inserted"] + d["matching_after"] == e["b"]
        assert d["matching_after"] > 0 and len(d["only_a"]) == min(d["deleted"], 8) and len(d["only_b"]) == min(d["inserted"], 8)
texts = {(d["a"], d["b"]): d for d in exact["differences"]}
both = [(d, texts[d["a"], d["b"]]) for d in pieces["differences"] if (d["a"], d["b"]) in texts]
assert len(both) > 100
for d, e in both:
    for only in ("only_a", "only_b"):
        n = min(len(d[only]), len(e[only]))
        assert d[only][:n] == e[only][:n], (d, e)
END
TMPDIR=$PWD/nowhere "$peet" compare --piece 4096 path.a path.b >said 2>&1 && fail "a temporary file without a folder"
grep -q TMPDIR said || fail "no word of TMPDIR: $(cat said)"
for wrong in 1023 x; do
    "$peet" compare --piece $wrong path.a path.b >said 2>&1 && fail "--piece $wrong was taken"
done
# The names of what differs: seven returns from extra(), and the calls of it in work().
must python3 - more.json <<'END'
import json, sys
first = next(p for p in json.load(open(sys.argv[1]))["pairs"] if p["a"] == 1)
places = [text for d in first["differences"] for text in d["only_b"]]
assert len(places) >= 7 and set(text.split("+")[0] for text in places) == {"extra", "work"}, places
assert all(len(first["first_difference"][key]) == 3 for key in ("before", "then_a", "then_b")), first["first_difference"]
END
# Functions that are chosen: step() is as it was; extra() is in one of the two only.
must "$peet" compare --functions step --json a c >step.json
equal "step() alone" "$(value step.json similarity_percent)" 100
must "$peet" compare --functions extra --what calls --json a c >extra.json
equal "extra() alone" "$(value extra.json similarity_percent)" 0
for functions in nowhere step,nowhere ''; do # of what nobody has executed, traces are not alike
    "$peet" compare --functions "$functions" a c >said 2>&1 && fail "--functions '$functions' was taken"
    grep -q "^peet: --functions: neither trace has executed a function '${functions#step,}'" said || fail "--functions '$functions': $(cat said)"
done
"$peet" compare --functions step --what events a c >said 2>&1 && fail "--functions was taken with events"
# The same functions in a program that has another one before them, and so other addresses.
{ echo '__attribute__((noinline, used)) static int before(int x) { return x * 3 + (x >> 2); }'; cat work.c; } >moved.c
must "$peetcc" -O1 moved.c -o moved -pthread
must "$peet" run -q --machine ideal -o trace -d d -- ./moved
must "$peet" compare --json a d >by_address.json
must "$peet" compare --functions common --json a d >by_name.json
equal "moved, by function" "$(value by_name.json similarity_percent)" 100
awk -v s="$(value by_address.json similarity_percent)" 'BEGIN { exit !(s < 90) }' || fail "moved code has equal addresses"
! "$peet" compare a nothing 2>said && [ "$(wc -l <said)" = 1 ] || fail "no such trace: $(cat said)"
exit 0
