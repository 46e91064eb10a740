#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What kind of branch each executed instruction is, in the formats that say it, against the disassembly of the same program compiled without peet.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v objdump >/dev/null || skip "there is no objdump"
must "$peetcc" -O2 -g "$here/calls.c" -o calls
must "$PEET_PLAIN_CC" -O2 -g "$here/calls.c" -o plain
must "$peet" run -q --machine ideal -o trace -d run -- ./calls >out
must "$peet" trace print --limit 100000000 run >printed
for format in champsim drmemtrace; do
    must "$peet" trace convert --to $format run $format
done
objdump -d --no-show-raw-insn plain >disassembly
python3 - <<'END' || fail "the kinds of branches"
import collections, re, struct

# the kind by function and offset in it, as the disassembler sees it
told, function = {}, None
for line in open("disassembly"):
    head = re.match(r"([0-9a-f]+) <(.*)>:", line)
    if head:
        start, function = int(head[1], 16), head[2]
        continue
    insn = re.match(r" *([0-9a-f]+):\t(?:notrack |bnd |rep |repz )*(\w+) *(.*)", line)
    if insn:
        name, operand = insn[2], insn[3]
        told[function, int(insn[1], 16) - start] = (
            "return" if name.startswith("ret") else
            "indirect-call" if name.startswith("call") and operand.startswith("*") else
            "call" if name.startswith("call") else
            "indirect-jump" if name.startswith("jmp") and operand.startswith("*") else
            "jump" if name.startswith("jmp") else
            "branch" if name.startswith("j") else "")

entry, executed, seen = {}, [], collections.Counter()
for line in open("printed"):
    insn = re.match(r" *\d+ ([0-9a-f]{12}) +\d+ (\w+)(?: (branch|jump|indirect-jump|call|indirect-call|return))?(?: |$)", line.rstrip())
    if insn and insn[2] in ("main", "add", "twice", "flip", "by_memory", "by_register", "by_jump", "by_switch"):
        pc, kind = int(insn[1], 16), insn[3] or ""
        entry.setdefault(insn[2], pc) # a function is entered at its first instruction
        offset = pc - entry[insn[2]]
        assert told[insn[2], offset] == kind, (insn[2], hex(offset), told[insn[2], offset], kind)
        executed.append((pc, kind))
        seen[kind] += 1
assert set(seen) == {"", "branch", "jump", "indirect-jump", "call", "indirect-call", "return"}, seen
known = {pc for pc, _ in executed}

records = list(struct.iter_unpack("<HHQ", open("drmemtrace/trace/context.0.trace", "rb").read()))
kinds = {10: "", 11: "jump", 12: "indirect-jump", 14: "call", 15: "indirect-call", 16: "return", 48: "branch", 49: "branch"}
assert [(a, kinds[t]) for t, _, a in records if t in kinds and a in known] == executed, "drmemtrace"

# ChampSim tells them apart by the registers (its inc/instruction.h): ip 26, stack 6, flags 25, any other
def champsim(writes, reads):
    ip, stack, flags, other = 26 in reads, 6 in reads, 25 in reads, bool(reads - {0, 6, 25, 26})
    if 26 not in writes:
        return ""
    if 6 in writes:
        return "return" if not ip else "indirect-call" if other else "call"
    return "branch" if ip and (flags or other) else "jump" if ip else "indirect-jump"
with open("champsim/context.0.champsimtrace", "rb") as f:
    mine = [(r[0], champsim(set(r[3:5]), set(r[5:9]))) for r in struct.iter_unpack("<QBB2B4B2Q4Q", f.read()) if r[0] in known]
assert mine == executed, "champsim"
END
exit 0
