#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The formats of others, read by readers that are written here from the formats' documentation: as many instructions, loads, stores and branches as the
# run had, with the same addresses in each format.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
must "$peetcc" -O2 -g "$here/threads.c" -o threads -pthread
must "$peet" run -q --machine ideal -n 4 --ranges off --foreign auto -o trace -o counts,convention=plain -d run -- ./threads >out
for format in din lackey champsim drmemtrace; do
    must "$peet" trace convert --to $format run $format
done
python3 - run/stats.json <<'END' || fail "the formats"
import glob, json, struct, sys
stats = json.load(open(sys.argv[1]))
totals = stats["counts"]  # a rep instruction is one

def lackey(path):
    for line in open(path):
        kind, rest = line.split(None, 1)
        address, size = rest.split(",")
        yield kind, int(address, 16), int(size)

def din(path):
    for line in open(path):
        label, address = line.split()
        yield "LSI"[int(label)], int(address, 16)

def drmemtrace(path):
    data = open(path, "rb").read()
    assert len(data) % 12 == 0
    records = list(struct.iter_unpack("<HHQ", data))
    assert records[0][0] == 25 and records[0][2] == 5, "header, version"
    assert records[-1][0] == 26 and records[-2][0] == 23, "footer, thread exit"
    assert [r[0] for r in records[1:7]] == [28, 28, 22, 24, 28, 28]
    for at, (kind, size, address) in enumerate(records):
        if kind in (10, 11, 12, 14, 15, 16, 48, 49):
            if kind in (12, 15, 16):
                assert records[at - 1][0:2] == (28, 29), "an indirect branch without a target"
            yield "I", address, size, kind
        elif kind == 0:
            yield "L", address, size, kind
        elif kind == 1:
            yield "S", address, size, kind

def champsim(path):
    data = open(path, "rb").read()
    assert len(data) % 64 == 0
    return struct.iter_unpack("<QBB2B4B2Q4Q", data)

contexts = len(glob.glob("lackey/context.*"))
assert contexts == stats["totals"]["contexts"] == 9, contexts
sums = dict.fromkeys("ILSM", 0)
for n in range(contexts):
    a = list(lackey("lackey/context.%d.lackey" % n))
    for kind, _, _ in a:
        sums[kind] += 1
    # what a modification is in the other formats: a load and a store
    data = [(k, addr, size) for kind, addr, size in a for k in (("L", "S") if kind == "M" else (kind,))]
    assert [(k, addr) for k, addr, _ in data] == list(din("din/context.%d.din" % n)), "din"
    b = list(drmemtrace("drmemtrace/trace/context.%d.trace" % n))
    assert data == [(k, addr, size) for k, addr, size, _ in b], "drmemtrace"
    # a conditional branch is taken if and only if the next instruction is not the one after it
    insns = [(addr, size, kind) for k, addr, size, kind in b if k == "I"]
    wrong = sum(kind in (48, 49) and (kind == 48) != (insns[i + 1][0] != addr + size) for i, (addr, size, kind) in enumerate(insns[:-1]))
    assert not wrong, "%d branches go the wrong way" % wrong
    c = list(champsim("champsim/context.%d.champsimtrace" % n))
    # a record has room for four loads and two stores: an instruction with more of them, such as rep movs, takes several
    taken, loads, stores = [], [], []
    for k, _, _, _ in b:
        if k == "I":
            loads.append(0), stores.append(0)
        elif k == "L":
            loads[-1] += 1
        else:
            stores[-1] += 1
    for insn, nloads, nstores in zip(insns, loads, stores):
        taken += [insn] * max(1, -(-nloads // 4), -(-nstores // 2))
    insns = taken
    assert [r[0] for r in c] == [addr for addr, _, _ in insns], "champsim: instructions"
    assert sorted(x for r in c for x in r[11:15] if x) == sorted(addr for k, addr, _ in data if k == "L"), "champsim: loads"
    assert sorted(x for r in c for x in r[9:11] if x) == sorted(addr for k, addr, _ in data if k == "S"), "champsim: stores"
    for r, (_, _, kind) in zip(c, insns):
        assert r[1] == (kind != 10) and r[2] == (kind not in (10, 49)), "champsim: branches"
        reads, writes = set(r[5:9]), set(r[3:5])
        known = {10: None, 11: "jump", 12: "indirect jump", 48: "conditional", 49: "conditional", 14: "call", 15: "indirect call", 16: "return"}[kind]
        ip, stack, flags, other = 26 in reads, 6 in reads, 25 in reads, bool(reads - {0, 6, 25, 26})
        if 26 not in writes:
            told = None
        elif not stack and not flags and not other:
            told = "jump"
        elif not stack and not ip and not flags and other:
            told = "indirect jump"
        elif not stack and ip and 6 not in writes and (flags or other):
            told = "conditional"
        elif stack and ip and 6 in writes and not flags:
            told = "indirect call" if other else "call"
        elif stack and not ip and 6 in writes:
            told = "return"
        else:
            told = "other"
        assert told == known, (told, known)
assert sums["I"] == totals["instructions"], (sums, totals)
assert sums["L"] + sums["M"] == totals["reads"] and sums["S"] + sums["M"] == totals["writes"], (sums, totals)
END

# What is read is what was written: there and back again.
must "$peet" trace convert --to drmemtrace lackey/context.1.lackey there.trace
must "$peet" trace convert --to lackey there.trace back.lackey
sed 's/^ M \(.*\)/ L \1\n S \1/' lackey/context.1.lackey >expected.lackey
same expected.lackey back.lackey "lackey -> drmemtrace -> lackey"
must "$peet" trace convert --to champsim champsim/context.2.champsimtrace again.champsim
cmp <(od -An -v -tx8 -w64 champsim/context.2.champsimtrace | awk '{ print $1 }') <(od -An -v -tx8 -w64 again.champsim | awk '{ print $1 }') || fail "champsim again"

# The order of synchronisation is by time.
awk '!/^#/ && $2 < last { exit 1 } !/^#/ { last = $2 }' drmemtrace/order.txt || fail "the order of events goes back in time"
[ "$(grep -c 'barrier wait' drmemtrace/order.txt)" = 32 ] || fail "$(grep -c 'barrier wait' drmemtrace/order.txt) waits at the barrier"

# A folder has the files of the last trace that was written there, and no others of its format.
must "$peet" trace convert --to lackey run again.folder
printf 'int main(void) { return 0; }\n' >one.c
must "$peetcc" -o one one.c
must "$peet" run -q --observe trace -d one.run -- ./one
must "$peet" trace convert --to lackey one.run again.folder
[ "$(ls again.folder)" = $'context.0.lackey\norder.txt' ] || fail "of an earlier trace: $(ls again.folder)"

printf 'no trace' >no.peet
"$peet" trace convert --to lackey no.peet no.folder 2>said
equal "no trace" $? 2
[ "$(wc -l <said)" = 1 ] || fail "no trace: $(cat said)"

# The first half of a trace is a trace.
half=$(($(value run/stats.json time.cycles) / 2))
must "$peet" trace cut --cycles $half run half.peet
must "$peet" trace check half.peet
must "$peet" run -q --from half.peet -d halved
awk -v a="$(value halved/stats.json totals.instructions)" -v b="$(value run/stats.json totals.instructions)" 'BEGIN { exit !(a > 0 && a < b) }' || fail "half a trace"

# What is damaged is refused.
for bad in 'lackey:I  zz,3' 'lackey:Q  10,3' 'din:9 100' 'din:2' 'drmemtrace:garbage' 'champsim:short' 'lackey:I  10,300'; do
    printf '%s\n' "${bad#*:}" >bad
    ! "$peet" trace convert --from "${bad%%:*}" --to din bad worse 2>said || fail "accepted: $bad"
    grep -q 'record 1' said && [ "$(wc -l <said)" = 1 ] && [ ! -e worse ] || fail "$bad: $(cat said)"
done
exit 0
