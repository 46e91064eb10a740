#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Presets load and run; what cannot be is refused with the key and the reason.
. "$(dirname "$0")/lib.sh"
cat >sum.c <<'END'
#include <stdio.h>
int main(void)
{
    volatile int s = 0;
    for (int i = 0; i < 100; i++)
        s += i;
    printf("%d\n", s);
    return 0;
}
END
must "$peetcc" -O1 -o sum sum.c

# An access to the last byte of all addresses has no line behind it.
cat >last.c <<'END'
int main(void)
{
    __builtin_prefetch((void *)-1L);
    return 0;
}
END
must "$peetcc" -O1 -o last last.c
for core in ooo inorder simple; do
    run "core=$core" ./last
done

config() { "$json_get" out/stats.json "x86.config.$1"; }

for file in "$PEET_PREFIX"/share/peet/presets/*.cfg; do
    name=$(basename "$file" .cfg)
    run "preset=$name" ./sum
    equal "output under $name" "$(cat said)" 4950
    equal "mcpu of $name" "$(config mcpu)" "$(sed -n 's/^mcpu = "\(.*\)";.*/\1/p' "$file")"
    equal "mispredict_cycles of $name" "$(config mispredict_cycles)" "$(sed -n 's/^mispredict_cycles = \([0-9]*\);.*/\1/p' "$file")"
    run "preset=$file,mispredict_cycles=77" ./sum
    equal "a parameter over the preset $name" "$(config mispredict_cycles)" 77
    for branch in gshare bimodal perfect; do # whatever the preset says of a predictor that corrects itself
        run "preset=$name,branch=$branch" ./sum
        equal "branch=$branch with the preset $name" "$(config override_cycles)" 0
    done
done
run "preset=none,mcpu=haswell,memory=flat" ./sum
equal "mcpu" "$(config mcpu)" haswell
equal "a front end without a width of its own" "$(config fetch_uops)" 0
equal "window of LLVM's model" "$(config window_uops)" 192

# refuses TEXT SETTINGS: status 2, and TEXT (grep -E) among what is said
refuses() {
    local status=0
    timeout -k 1 60 "$peet" run -q -d refused --machine "x86,$2" -- ./sum >said 2>errors || status=$?
    [ $status -eq 2 ] || fail "status $status, not 2, of x86,$2: $(cat errors)"
    grep -E -q -e "$1" errors || fail "not said: '$1' of x86,$2: $(cat errors)"
    [ ! -s said ] || fail "the program ran with x86,$2"
}
refuses "preset=nosuch: there is no .*nosuch.cfg; presets are: .*zen4" preset=nosuch
refuses "preset=./nosuch.cfg: No such file" preset=./nosuch.cfg
refuses "mcpu=skylak: .*skylake" mcpu=skylak
refuses "threads" threads=9
refuses "dispatch_uops" dispatch_uops=17
refuses "fetch_uops" fetch_uops=17
refuses "fetch_past_taken=off: .*fetch_uops" fetch_past_taken=off
refuses "fetch_past_line=off: .*fetch_uops" fetch_past_line=off
refuses "override_cycles: .*fetch_uops" override_cycles=3
refuses "override_cycles: .*branch=tage" preset=zen4,branch=gshare,override_cycles=3
refuses "override_cycles: .*power of two" fetch_uops=8,override_cycles=3,override_entries=100
refuses "fetch_queue_uops=3: no room for .*fetch_uops=4" fetch_uops=4,fetch_queue_uops=3
refuses "btb_entries=12: not 4 times a power of two" btb_entries=12
refuses "window_uops=2: not enough" window_uops=2,dispatch_uops=4
refuses "store_queue=1: fewer entries than threads=2" threads=2,store_queue=1
refuses "smt=shared: .*use smt=partitioned" core=inorder,threads=2,smt=shared
refuses "l1d" l1d_bytes=1000
refuses "'windw_uops'|windw_uops" windw_uops=4

printf 'mcpu = "znver4";\nwindow_uops = 200;\nwindwo = 3;\n' >bad.cfg
refuses "bad.cfg:3: unknown key 'windwo'" preset=./bad.cfg
printf 'window_uops = 20000;\n' >bad.cfg
refuses "bad.cfg:1: window_uops: out of range" preset=./bad.cfg
printf 'core = "fast";\n' >bad.cfg
refuses "bad.cfg:1: core: not a value" preset=./bad.cfg
printf 'core = = 3;\n' >bad.cfg
refuses "bad.cfg:1: syntax error" preset=./bad.cfg
printf 'window_uops = -3;\n' >bad.cfg
refuses "bad.cfg:1: window_uops: below 0" preset=./bad.cfg
printf 'window_uops = 3.5;\n' >bad.cfg
refuses "bad.cfg:1: window_uops: must be" preset=./bad.cfg
for wrong in '3:must be a list' '( 3 ):must be a list of groups' '( { latency = 3; } ):without opcodes' \
    '( { opcodes = "ADD*"; latncy = 3; } ):has opcodes' '( { opcodes = "ADD*"; busy = 0; } ):has opcodes' \
    "( $(for ((i = 0; i < 65; i++)); do printf '{ opcodes = "A"; }%s' "$([ $i = 64 ] || echo ,)"; done) ):too many"; do
    printf 'window_uops = 200;\ncorrections = %s;\n' "${wrong%%:*}" >bad.cfg
    refuses "bad.cfg:2: corrections: ${wrong#*:}" preset=./bad.cfg
done
echo "configurations: all right"
