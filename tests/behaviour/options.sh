#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Code generation options on one program: each is either compiled correctly or refused clearly.  What the program says without the pass
# is asked once for each program, and with the option itself only if that could be what is different.  +: with PEET_THOROUGH only.
. "$(dirname "$0")/../tools/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work" || exit 99
bad=0 refused=0 done=0
expect() { # NAME OPTION...
    local name=$1
    shift
    "$plain_cc" -w -O2 "$@" -o plain "$file" -lm 2>/dev/null || return
    ./plain >"$name.want" 2>/dev/null
    echo $? >"$name.status"
}
as_expected() { # STATUS: of the program whose output is in got
    [ "$1" = "$(cat "$want.status")" ] && cmp -s "$want.want" got && return
    [ "$want" = plainly ] && return 1
    want=plainly
    expect plainly $options && as_expected "$1"
}
while read -r source options; do
    case $source in '' | \#*) continue ;; +*) [ -n "${PEET_THOROUGH:-}" ] || continue ;; esac
    source=${source#+}
    file=$here/../exact/programs/$source
    compilers_for "$file"
    want=$source
    [ -e "$want.want" ] || expect "$want" || fail "the plain compiler refused $source"
    if ! "$peet_cc" -w -O2 $options -o subject "$file" -lm 2>said; then
        "$plain_cc" -w -O2 $options -o plain "$file" -lm 2>/dev/null || { echo "not in this compiler: $options"; continue; }
        refused=$((refused + 1))
        if grep -qE 'peet' said && ! grep -qE 'PLEASE submit a bug report|Stack dump' said; then
            echo "refused: $options: $(grep -m1 peet said)"
        else
            echo "FAIL: $options: refused unclearly: $(head -3 said)"
            bad=1
        fi
        continue
    fi
    ./subject >got 2>/dev/null
    as_expected $? || { echo "FAIL: $options: the plain run differs"; bad=1; }
    timeout -k 5 60 "$PEET" run --quiet -d out --observe counts -- ./subject >got 2>said
    as_expected $? || { echo "FAIL: $options: peet run differs: $(head -2 said)"; bad=1; }
    done=$((done + 1))
done <<'LIST'
+frames.c -fstack-protector-all
frames.c -fstack-clash-protection
frames.c -mno-red-zone
frames.c -fzero-call-used-regs=all
+frames.c -ftrivial-auto-var-init=pattern
frames.c -mstackrealign
frames.c -mstack-alignment=64
frames.c -fsanitize=safe-stack
callbacks.c -fcf-protection=full
callbacks.c -mretpoline
+callbacks.c -mspeculative-load-hardening
+callbacks.c -fno-plt
callbacks.c -fpatchable-function-entry=6,2
callbacks.c -finstrument-functions
callbacks.c -pg
callbacks.c -fprofile-instr-generate
callbacks.c -fsplit-stack
interpreter.c -fno-jump-tables
+interpreter.c -fPIC
+interpreter.c -fno-pie -no-pie -mcmodel=medium
interpreter.c -fno-pie -no-pie -mcmodel=large
+vector.c -mavx2
vector.c -mfma -mavx2
+vector.c -mno-sse3
vector.c -ffast-math -mavx512f
vector.c -march=sapphirerapids -mprefer-vector-width=512
stencil.c -funroll-loops
+stencil.c -fexperimental-library -fno-vectorize -fno-slp-vectorize
+stencil.c -mllvm -enable-post-misched=false
stencil.c -falign-functions=64 -falign-loops=64
recursion.c -fno-asynchronous-unwind-tables -fno-unwind-tables
recursion.c -fbasic-block-sections=all
recursion.c -fsplit-machine-functions
recursion.c -flto
recursion.c -m32
+nested.c -mllvm -align-all-blocks=4
bits.c -mbmi -mbmi2 -mlzcnt -mpopcnt -madx
strings.c -minline-all-stringops
+strings.c -fno-builtin
atomics.c -mcx16
+local.c -ftls-model=initial-exec
local.c -fPIC -mtls-dialect=gnu2
local.c -femulated-tls
jumps.c -mbranches-within-32B-boundaries
+jumps.c -fexceptions -funwind-tables
jumps.c -fno-omit-frame-pointer -momit-leaf-frame-pointer
+virtual.cpp -fno-rtti -fvisibility=hidden
virtual.cpp -fsanitize=cfi-icall
LIST
# what is refused by function says which option to leave out
! "$PEETCC" -w -O2 -fPIC -mtls-dialect=gnu2 -c -o local.o "$here/../exact/programs/local.c" 2>said &&
    grep -q 'leave out -mtls-dialect=gnu2' said || { echo "FAIL: what -mtls-dialect=gnu2 is refused with: $(head -3 said)"; bad=1; }
echo "$done compiled and right, $refused refused"
[ "$done" -gt 20 ] || fail "hardly anything was compiled"
exit $bad
