#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Observers at the commit: while one of them looks on, processors run ahead of each other, so that it is told of one processor's blocks before another's
# earlier ones; of each processor it is told in order, of all that happened and of nothing else.
export PEET_FOREIGN=ranges # told.c counts an instruction with a rep prefix once, as no code of this program has one
. "$(dirname "$0")/../tools/common.sh"
command -v jq >/dev/null || skip "jq is not installed"
compilers_for threads.c
here=$(dirname "$0")
"$peet_cc" -O2 -pthread "$here/threads.c" -o "$work/subject" || fail "peetcc refused threads.c"
"$PEET_PLAIN_CC" -shared -fPIC -O1 -I"$PEET_PREFIX/include" -o "$work/told.so" "$here/told.c" || fail "told.c does not compile"
for machine in ideal bus,cache=2KiB,line=16,ways=2 bus,cache=4KiB,line=64,ways=4,protocol=dragon; do
    for how in ahead by_block; do
        observe=(--observe "$work/told.so" --observe counts)
        [ $how = by_block ] && observe+=(--observe hash)
        "$PEET" run --quiet --machine $machine --cores 4 "${observe[@]}" -d "$work/$how" -- "$work/subject" 3 4 200 >/dev/null 2>"$work/err" </dev/null ||
            [ $? = 3 ] || { cat "$work/err" >&2; fail "$machine, $how"; }
    done
    for run in ahead by_block; do
        [ "$(jq .told.instructions "$work/$run/stats.json")" = "$(jq .totals.instructions "$work/$run/stats.json")" ] ||
            fail "$machine, $run: it was told of $(jq .told.instructions "$work/$run/stats.json") instructions"
        [ "$(jq .told.backwards "$work/$run/stats.json")" = 0 ] || fail "$machine, $run: a processor was told out of order"
    done
    [ "$(jq .told.executions "$work/ahead/stats.json")" = "$(jq .told.executions "$work/by_block/stats.json")" ] ||
        fail "$machine: another number of blocks"
    [ "$(jq .told.earlier "$work/by_block/stats.json")" = 0 ] || fail "$machine: block by block is out of order"
    [ "$(jq .told.earlier "$work/ahead/stats.json")" -gt 100 ] || fail "$machine: no processor ran ahead"
done
