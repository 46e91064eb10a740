#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A system in QEMU runs three programs of four threads each at once, whose stacks lie at the same addresses.  What the plug-in takes out is what peet
# records of the same programs.  Skipped where QEMU or a kernel is not there; PEET_TEST_KERNEL may name one.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
qemu=$PEET_PREFIX/bin/peet-qemu

# of_step FOLDER COUNT: what the observer counts says of the function step()
of_step() {
    python3 -c "import json, sys; print(sum(f['$2'] for f in json.load(open('$1/stats.json'))['counts']['functions'] if f['name'] == 'step'))"
}

# What the command refuses it refuses before anything boots.
! "$qemu" -d out 2>said || fail "no program"
equal "no program" "$(cat said)" 'peet-qemu: no program is named; "peet-qemu --help" says how it is called'
! "$qemu" --other -d out ./program 2>said || fail "an option that is not there"
grep -q 'no option --other' said || fail "another option: $(cat said)"
must "$qemu" --help >said
grep -q 'peet-qemu \[--kernel' said || fail "no usage: $(cat said)"

# What the system and the plug-in are told, by tools in their places: words with blanks, names with commas, no trace of an earlier system.
mkdir fake 'out,side' 'out,side/1'
printf '#!/bin/sh\ncat >/dev/null; cp programs "$KEPT/programs"\n' >fake/cpio
printf '#!/bin/sh\nprintf "%%s\\n" "$@" >"$KEPT/words"\necho peet-init: done >"$KEPT/out,side/console.txt"\n' >fake/qemu-system-x86_64
chmod +x fake/*
printf 'int main(void) { return 0; }\n' >plain.c
must "$PEET_PLAIN_CC" -static plain.c -o 'pl,ain'
echo old >'out,side/1/trace.peet'
KEPT=$PWD PATH=$PWD/fake:$PATH "$qemu" --kernel plain.c -d 'out,side' './pl,ain' 'two words' '' last 2>said && fail "a trace of an earlier system is taken"
grep -q 'program 1 has executed no marker' said || fail "no marker: $(cat said)"
equal "the list of programs" "$(tr '\037' '|' <programs)" '/p1/pl,ain|two words||last'
grep -q 'out=.*/out,,side,p1=.*/pl,,ain$' words || fail "the plug-in's options: $(cat words)"
# ended STATUS LINE...: it ends so if that is what the system printed
ended() {
    local status=0 expected=$1
    shift
    printf '%s\r\n' "$@" 'peet-init: done' >console
    KEPT=$PWD PATH=$PWD/fake:$PATH "$qemu" --kernel plain.c -d 'out,side' './pl,ain' --and './pl,ain' 2>said || status=$?
    equal "status after $*" "$status" "$expected"
}
printf '#!/bin/sh\nfor p in 1 2; do mkdir -p "$KEPT/out,side/$p"; : >"$KEPT/out,side/$p/trace.peet"; done\ncp "$KEPT/console" "$KEPT/out,side/console.txt"\n' >fake/qemu-system-x86_64
ended 0 'all is well'
ended 3 'peet-init: program 2 ended with status 3'
ended 139 'no line feedpeet-init: program 2 ended with status 3' 'peet-init: program 1 was killed by signal 11'
ended 0 'peet-init: process 70 was killed by signal 9'
grep -q 'process 70' said || fail "a process that was killed: $(cat said)"
kernel=${PEET_TEST_KERNEL:-$(find /boot -maxdepth 1 -name 'vmlinuz-*' -readable 2>/dev/null | sort -V | tail -n 1)}
for tool in qemu-system-x86_64 cpio; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -n "$kernel" ] || { echo "skipped: no kernel in /boot, and PEET_TEST_KERNEL names none"; exit 77; }
must "$PEET_PLAIN_CC" -O2 -I"$PEET_PREFIX/include" -pthread "$here/marked.c" -o dynamic
! "$qemu" --kernel "$kernel" -d out ./dynamic 2>said || fail "a dynamically linked program"
grep -q 'linked dynamically' said || fail "$(cat said)"

for p in 1 2 3; do
    must "$PEET_PLAIN_CC" -O2 -DPROGRAM=$p -I"$PEET_PREFIX/include" -static -pthread "$here/marked.c" -o plain$p
    must "$peetcc" -O2 -DPROGRAM=$p -I"$PEET_PREFIX/include" -pthread "$here/marked.c" -o recorded$p
    must "$peet" run -q -m ideal -n 4 -o trace -d own$p -- ./recorded$p
done
must "$qemu" --kernel "$kernel" --cpus 2 --limit 800 -d system ./plain1 --and ./plain2 --and ./plain3
for p in 1 2 3; do
    must "$peet" trace check system/$p
    must "$peet" compare --functions step --effort 0 --json system/$p own$p >$p.json
    must python3 - $p.json <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert len(result["pairs"]) == 5 and result["alone"] == 0, "five threads each"
assert result["similarity_percent"] == 100 and not any(pair["edits"] for pair in result["pairs"]), result
assert all(pair["length_a"] > 10000 for pair in result["pairs"] if pair["a"]), "nothing was compared"
END
    # their references, too, on a machine
    must "$peet" run -q --from system/$p --machine bus -n 4 -o counts -d machine$p
    must "$peet" run -q --from own$p --machine bus -n 4 -o counts -d ownmachine$p
    for count in reads writes; do
        equal "program $p: $count of step()" "$(of_step machine$p $count)" "$(of_step ownmachine$p $count)"
    done
done
exit 0
