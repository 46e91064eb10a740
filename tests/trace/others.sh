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

# Compressed files are named, alone and in a folder.
mkdir packed && gzip -c one.din >packed/one.din.gz
for one in packed packed/one.din.gz; do
    ! "$peet" run -q --from $one --machine ideal -d bad 2>said || fail "$one runs"
    grep -q 'one.din.gz: it is compressed: unpack it first' said || fail "$one: $(cat said)"
done

# What is odd in drmemtrace, and short jumps in champsim, which does not say lengths.
python3 - <<'END' || fail "odd traces"
import struct
put = lambda kind, size, address: struct.pack("<HHQ", kind, size, address)
def drmemtrace(name, version, records):
    with open(name, "wb") as out:
        out.write(put(25, 0, version) + put(28, 12, version) + put(22, 4, 7) + records + put(23, 4, 7) + put(26, 0, 0))
# a bundle: its instructions lie behind the one before
drmemtrace("bundle.trace", 5, put(10, 4, 0x400000) + put(17, 3, 0x030204) + put(0, 8, 0x1000) + put(17, 1, 0x05) + put(10, 2, 0x500000))
drmemtrace("bundles.trace", 5, put(10, 4, 0x400000) + put(17, 9, 0x030204))
drmemtrace("alone.trace", 5, put(17, 2, 0x0204))
drmemtrace("turns.trace", 5, put(10, 4, 0x400000) + put(22, 4, 8) + put(10, 4, 0x400004))
old = champsim = b""
for i in range(300):
    taken = i % 3 == 0 # over one instruction of four bytes
    old += put(10, 3, 0x400000) + put(13, 2, 0x400003) + (b"" if taken else put(10, 4, 0x400005)) + put(11, 2, 0x400009)
    for pc, branch, went, reads in ((0x400000, 0, 0, b"\0\0"), (0x400003, 1, taken, b"\x1a\x19"), (0x400005, 0, 0, b"\0\0"), (0x400009, 1, 1, b"\x1a\0")):
        if not taken or pc != 0x400005:
            champsim += struct.pack("<QBB2B2s2B", pc, branch, went, 26 if branch else 0, 0, reads, 0, 0) + bytes(48)
drmemtrace("old.trace", 2, old)
open("short.champsim", "wb").write(champsim)
END
for one in bundle.trace short.champsim old.trace; do
    must "$peet" run -q --from $one --machine x86 -d odd.$one 2>said
    must "$peet" trace convert --to champsim odd.$one odd.$one.champsim
done
must "$peet" trace convert --to lackey bundle.trace bundle.lackey
printf 'I  %s\n' 00400000,4 00400004,4 00400008,2 0040000a,3 >bundle.wanted
printf ' L 00001000,8\nI  0040000d,5\nI  00500000,2\n' >>bundle.wanted
same bundle.lackey bundle.wanted "a bundle"
must "$peet" trace convert --to champsim old.trace old.champsim
for one in odd.short.champsim.champsim/context.0.champsimtrace odd.old.trace.champsim/context.0.champsimtrace old.champsim; do
    python3 - $one short.champsim <<'END' || fail "$one: other branches are taken"
import struct, sys
went = [[r[2] for r in struct.iter_unpack("<QBB54x", open(name, "rb").read()) if r[1]] for name in sys.argv[1:]]
sys.exit(went[0] != went[1] or len(went[0]) != 600)
END
done
for one in "bundles: a bundle of more than 8" "alone: a bundle without an instruction" "turns: .*thread 8, and before it thread 7"; do
    ! "$peet" run -q --from "${one%%:*}.trace" --machine ideal -d bad 2>said || fail "$one runs"
    grep -q "${one#*: }" said || fail "$one: $(cat said)"
done
impossible 'a line is I, L, S or M' size.lackey 'I  00400000,4\n L 1000,4294967300\n'
impossible 'a line is I, L, S or M' minus.lackey 'I  00400000,4\n L -7fffffffffff,4\n'
exit 0
