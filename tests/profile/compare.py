# SPDX-License-Identifier: Apache-2.0
"""compare.py STATS CALLGRIND...: the profile's calls and inclusive instructions, reads and writes, held against callgrind's.

All arcs between functions of the program itself are compared, and the own costs of the functions; arcs into the C library, which peet
does not see, are taken away from what callgrind counts for their callers.  What the C library calls is compared by callee: peet takes
who called the library for the caller."""
import collections
import json
import re
import sys


def plain(name):
    """callgrind calls the deeper levels of a recursion f'2."""
    return re.sub(r"'[0-9]+$", "", name)


def read(name):
    """callgrind's file: own costs by function, arcs with calls and inclusive costs."""
    own, arcs, objects = collections.defaultdict(lambda: [0, 0, 0]), {}, {}
    events, fn, ob, cob, cfn, calls = [], None, None, None, None, None
    for line in open(name, encoding="utf-8", errors="surrogateescape"):
        line = line.rstrip("\n")
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("ob="):
            ob = line[3:]
        elif line.startswith("fn="):
            fn = plain(line[3:])
            objects[fn] = ob
            cob = ob
        elif line.startswith("cob="):
            cob = line[4:]
        elif line.startswith("cfn="):
            cfn = plain(line[4:])
            objects.setdefault(cfn, cob)
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])
        elif re.match(r"[+\-*0-9]", line):
            cost = [int(x) for x in line.split()[1:]]
            cost += [0] * (len(events) - len(cost))
            three = [cost[events.index(e)] if e in events else 0 for e in ("Ir", "Dr", "Dw")]
            if calls is None:
                own[fn] = [a + b for a, b in zip(own[fn], three)]
            else:
                n, before = arcs.get((fn, cfn), (0, [0, 0, 0]))
                arcs[fn, cfn] = (n + calls, [a + b for a, b in zip(before, three)])
                calls, cob = None, ob
    return own, arcs, objects


def main():
    stats = json.load(open(sys.argv[1]))
    own, arcs, objects = read(sys.argv[2])
    profile = stats["profile"]
    keys = ("instructions", "reads", "writes")
    mine = {f["name"]: f for f in profile["functions"] if f["image"] != "peet"}
    theirs = collections.defaultdict(lambda: (0, [0, 0, 0]))
    by_callee = [collections.defaultdict(lambda: [0, 0, 0, 0]) for _ in range(2)]  # by callee, theirs and mine: calls, inclusive costs
    for (a, b), value in arcs.items():
        by_callee[0][b] = [x + y for x, y in zip(by_callee[0][b], [value[0]] + value[1])]
        if a in mine and b in mine:
            theirs[a, b] = value
    seen = collections.defaultdict(lambda: (0, [0, 0, 0]))
    for c in profile["calls"]:
        by_callee[1][c["callee"]] = [x + y for x, y in zip(by_callee[1][c["callee"]], [c["calls"]] + [c["inclusive_" + k] for k in keys])]
        if c["caller"] in mine and c["callee"] in mine:
            n, cost = seen[c["caller"], c["callee"]]
            seen[c["caller"], c["callee"]] = (n + c["calls"], [x + c["inclusive_" + k] for x, k in zip(cost, keys)])
    # what calls foreign code, itself or further down, has inclusive costs that peet cannot know: only its calls are compared
    foreign = {a for a, b in arcs if b not in mine}
    direct = set(foreign)
    while True:
        more = {a for a, b in arcs if b in foreign} | foreign
        if more == foreign:
            break
        foreign = more
    bad = 0
    for name in sorted(mine):
        cost = [mine[name][k] for k in keys]
        if name not in own or own[name] != cost:
            print("own cost of", name, cost, "callgrind:", own.get(name))
            bad += 1
        if name in by_callee[0]:
            want, have = ([t[name][0]] if name in foreign else t[name] for t in by_callee)
            if want != have:
                print("all calls of", name, have, "callgrind:", want)
                bad += 1
    for pair in sorted(set(seen) | set(theirs)):
        if pair[0] in direct and pair not in theirs:
            continue  # by way of the C library
        if seen[pair] != theirs[pair] and (pair[1] not in foreign or seen[pair][0] != theirs[pair][0]):
            print("calls", pair, seen[pair], "callgrind:", theirs[pair])
            bad += 1
    # the sums over functions, lines, paths and contexts are the totals
    totals = profile["totals"]
    for key in totals:
        for part in ("functions", "lines", "paths", "contexts"):
            found = sum(x.get(key, 0) for x in profile[part])
            if found != totals[key]:
                print("sum of", key, "over", part, found, "total", totals[key])
                bad += 1
    if totals["instructions"] != stats["totals"]["instructions"]:
        print("instructions", totals["instructions"], stats["totals"]["instructions"])
        bad += 1
    whole = sum(h["busy_cycles"] + h["stalled_cycles"] for h in stats["hw"])
    if totals["cycles"] != whole:
        print("cycles", totals["cycles"], "of", whole)
        bad += 1
    if not theirs or len(mine) < 4:
        print("nothing was compared:", len(theirs), len(mine))
        bad += 1
    print(len(mine), "functions,", len(theirs), "arcs compared,", bad, "differences")
    sys.exit(1 if bad else 0)


main()
