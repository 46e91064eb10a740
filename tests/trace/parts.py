# SPDX-License-Identifier: Apache-2.0
# parts.py PEET RUN UNIT PLACES MACHINE...: cuts the trace of a run at random places, and holds the parts against the whole: what each context executes and
# asks for, one part behind the other, is what it executes and asks for in the whole; each part runs on each machine, and so do all of them together.
import collections, json, random, re, shutil, subprocess, sys

def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, (words, done.returncode, done.stderr)
    return done.stdout

def printed(peet, trace, *options):
    """By context: instructions with their numbers and references, and events. Where the last branch of a part goes is the next part's to know."""
    text = call(peet, "trace", "print", "--limit", "1000000000", *options, trace)
    text = text.replace(" branch taken", " branch").replace(" branch not-taken", " branch")
    sequences, pieces = {}, re.split(r"^context (\d+)\n", text, flags=re.MULTILINE)
    assert not pieces[0], pieces[0][:100]
    for context, piece in zip(pieces[1::2], pieces[2::2]):
        lines = piece.splitlines()
        events = [line for line in lines if line.startswith("           *")]
        if len(events) < len(lines):
            sequences[int(context), "instruction"] = [line for line in lines if not line.startswith("           *")]
        if events:
            sequences[int(context), "event"] = events
    return sequences

peet, run, unit, places, *machines = sys.argv[1:]
whole = printed(peet, run)
alone = collections.Counter(int(n) for n in re.findall(r"^context (\d+)$", call(peet, "trace", "print", "--limit", "0", run), flags=re.MULTILINE))
stats = json.load(open(run + "/stats.json"))
top = stats["time"]["cycles"] if unit == "cycles" else max(len(s) for (_, kind), s in whole.items() if kind == "instruction")
random.seed(run + unit)
borders = [0] + sorted(random.sample(range(1, top), int(places))) + [""]
seen, sums = {}, {machine: [0, 0, 0] for machine in machines}
for first, last in zip(borders, borders[1:]):
    try:
        call(peet, "trace", "cut", "--" + unit, "%s-%s" % (first, last), run, "part.peet")
    except AssertionError as refused:
        assert "nothing lies there" in str(refused), refused
        continue
    call(peet, "trace", "check", "part.peet")
    part = printed(peet, "part.peet")
    for context in sorted({context for context, _ in part if unit == "cycles" and alone[context] == 1})[:4]:
        on = printed(peet, run, "--context", str(context), "--cycle", str(first)) # from there to its end, without the others
        for kind in "instruction", "event":
            sequence = part.get((context, kind), [])
            there = on.get((context, kind), []) # where an instruction goes on to may not be known yet: it is of the part before
            assert sequence in (there[:len(sequence)], there[1:len(sequence) + 1]), (context, kind, first, last)
    for key, sequence in part.items():
        seen.setdefault(key, []).extend(sequence)
    for machine in machines:
        shutil.rmtree("part", ignore_errors=True)
        call(peet, "run", "-q", "--from", "part.peet", "-d", "part", *machine.split())
        totals = json.load(open("part/stats.json"))["totals"]
        sums[machine] = [a + totals[key] for a, key in zip(sums[machine], ("instructions", "reads", "writes"))]
for key in whole:
    assert seen.get(key) == whole[key], (borders, key, next(
        ((a, b) for a, b in zip(seen.get(key, []) + ["end"], whole[key] + ["end"]) if a != b), None))
assert set(seen) == set(whole), borders
expected = [stats["totals"][key] for key in ("instructions", "reads", "writes")]
for machine in machines:
    assert sums[machine] == expected, (borders, machine, sums[machine], expected)
