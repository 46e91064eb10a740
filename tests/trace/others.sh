#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Traces of others on our machines.  The traces are written here, from the formats' documentation; what the machines count is held against a
# model of a cache with least recently used replacement.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
mkdir pair
python3 - <<'END' >wanted || fail "the traces"
import json, random, struct
random.seed(5)

def walk(n, base):
    """Instructions: a loop that is left and entered again; (pc, length, taken or None, [(kind, address, size)])"""
    out = []
    while len(out) < n:
        pc = 0x401000 + 0x100 * random.randrange(4)
        for k in range(random.randrange(2, 9)):
            refs = [("LS"[random.randrange(2)], base + 8 * random.randrange(12000), 8) for _ in range(random.randrange(3))]
            if len(set(kind for kind, _, _ in refs)) > 1:
                refs.sort()
            out.append((pc, 3 + k % 3, None, refs))
            pc += 3 + k % 3
        out.append((pc, 2, True, []))
    return out

def misses(insns, line=64, sets=64, ways=8):
    cache, missed = [[] for _ in range(sets)], 0
    for _, _, _, refs in insns:
        for _, address, size in refs:
            tag = address // line
            lines = cache[tag % sets]
            missed += tag not in lines
            if tag in lines:
                lines.remove(tag)
            lines.append(tag)
            if len(lines) > ways:
                lines.pop(0)
    return missed

def lackey(path, insns):
    with open(path, "w") as out:
        out.write("==1== Lackey, a trace\n")
        for pc, length, _, refs in insns:
            out.write("I  %08x,%d\n" % (pc, length))
            out.writelines(" %s %08x,%d\n" % ref for ref in refs)

def din(path, insns):
    with open(path, "w") as out:
        for pc, _, _, refs in insns:
            out.write("2 %x\n" % pc)
            out.writelines("%d %x\n" % ("LS".index(kind), address) for kind, address, _ in refs)

def champsim(path, insns):
    with open(path, "wb") as out:
        for pc, _, taken, refs in insns:
            loads = [a for k, a, _ in refs if k == "L"][:4]
            stores = [a for k, a, _ in refs if k == "S"][:2]
            regs = (26, 0, 26, 0, 0, 0) if taken else (70, 0, 71, 200, 0, 0)
            out.write(struct.pack("<QBB2B4B2Q4Q", pc, taken is not None, taken is not None, *regs, *(stores + [0, 0])[:2], *(loads + [0] * 4)[:4]))

def drmemtrace(path, insns, thread):
    with open(path, "wb") as out:
        put = lambda kind, size, address: out.write(struct.pack("<HHQ", kind, size, address))
        put(25, 0, 5)
        put(28, 18, 0x1)  # a file type: some marker
        put(22, 4, thread)
        put(24, 4, 77)
        for pc, length, taken, refs in insns:
            put(11 if taken else 10, length, pc)
            for kind, address, size in refs:
                put("LS".index(kind), size, address)
        put(23, 4, thread)
        put(26, 0, 0)

a, b = walk(30000, 0x10000000), walk(20000, 0x20000000)
lackey("one.lackey", a)
din("one.din", a)
champsim("one.champsimtrace", a)
drmemtrace("one.trace", a, 1)
drmemtrace("pair/first.trace", a, 1)
drmemtrace("pair/second.trace", b, 2)

def say(insns):
    kinds = [kind for _, _, _, refs in insns for kind, _, _ in refs]
    return {"instructions": len(insns), "reads": kinds.count("L"), "writes": kinds.count("S"), "misses": misses(insns)}
print(json.dumps({"a": say(a), "b": say(b)}))
END
wanted() {
    python3 -c "import json; print(json.load(open('wanted'))['$1']['$2'])"
}
bus=bus,cache=32KiB,line=64,ways=8
for one in one.lackey one.din one.champsimtrace one.trace; do
    must "$peet" run -q --from $one --machine $bus -d $one.bus 2>said
    grep -q 'the format .* says no' said || fail "$one: nothing says what is missing"
    for count in instructions reads writes; do
        equal "$one: $count" "$(value $one.bus/stats.json totals.$count)" "$(wanted a $count)"
    done
    equal "$one: misses" "$(value $one.bus/stats.json bus.caches.0.misses)" "$(wanted a misses)"
done
for machine in x86 numa ideal; do
    must "$peet" run -q --from one.champsimtrace --machine $machine -o locality -o dtrack -d $machine
    for count in instructions reads writes; do
        equal "$machine: $count" "$(value $machine/stats.json totals.$count)" "$(wanted a $count)"
    done
done

# A folder is a set of contexts, each on a processor of its own if there are as many.
must "$peet" run -q --from pair --machine $bus -d two
equal "contexts" "$(value two/stats.json totals.contexts)" 2
equal "processors" "$(value two/stats.json config.cores)" 2
equal "instructions of both" "$(value two/stats.json totals.instructions)" $(($(wanted a instructions) + $(wanted b instructions)))
equal "misses of the first" "$(value two/stats.json bus.caches.0.misses)" "$(wanted a misses)"
equal "misses of the second" "$(value two/stats.json bus.caches.1.misses)" "$(wanted b misses)"

# What a run leaves is a trace of our own: it is whole, says what was given, and runs again.
must "$peet" trace check two
must "$peet" trace convert --to lackey two back
cmp one.lackey <(echo '==1== Lackey, a trace'; cat back/context.0.lackey) || fail "lackey from drmemtrace by way of ours"
must "$peet" run -q --from two --machine $bus -d again
results two/stats.json >1
results again/stats.json >2
same 1 2 "converted, and run again"
must "$peet" trace convert --to peet --from lackey one.lackey one.peet
must "$peet" run -q --from one.peet --machine $bus -d three
equal "misses from one.peet" "$(value three/stats.json bus.caches.0.misses)" "$(wanted a misses)"

# What is wrong is said once, and nothing stays.
printf '2 zz\n' >bad.din
! "$peet" run -q --from bad.din --machine ideal -d bad 2>said || fail "a damaged trace runs"
[ "$(grep -c 'record 1' said)" = 1 ] && [ ! -e bad/trace.peet ] || fail "damaged: $(cat said)"
: >empty.din
! "$peet" run -q --from empty.din --machine ideal -d bad 2>said || fail "an empty trace runs"
! "$peet" trace convert --to peet empty.din bad.peet 2>>said || fail "an empty trace is converted"
[ "$(grep -c 'empty.din: there is no instruction in it' said)" = 2 ] && [ ! -e bad.peet ] || fail "empty: $(cat said)"
"$peet" trace info one.peet >info.txt
grep -q '^  made      of one.lackey, in the format lackey$' info.txt && ! grep -q machine info.txt || fail "$(cat info.txt)"
# What no program executes: the machines and the formats have no room for it.
impossible() { # WHAT NAME LINES
    printf '%b' "$3" >"$2"
    for machine in ideal numa x86; do
        ! timeout 100 "$peet" run -q --from "$2" --machine $machine -d bad 2>said || fail "$2 runs on $machine"
        grep -q "$1" said || fail "$2 on $machine: $(cat said)"
    done
    ! "$peet" trace convert --to peet "$2" bad.peet 2>said && grep -q "$1" said && [ ! -e bad.peet ] || fail "$2: $(cat said)"
}
impossible 'last page' end.lackey ' M fffffffffffffffe,8\n'
impossible 'last page' end.din '0 ffffffffffffffff\n'
impossible 'more than 15 bytes' wide.lackey 'I  00400000,99\n'
impossible 'more than 65535 bytes' large.lackey 'I  00400000,4\n S 1000,100000\n'
mkdir mixed && cp one.din one.lackey mixed
! "$peet" run -q --from mixed --machine ideal -d bad 2>said || fail "files of two formats run"
grep -q 'of the format lackey among files of the format din' said || fail "mixed: $(cat said)"
exit 0
