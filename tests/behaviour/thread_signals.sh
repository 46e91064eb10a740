#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signals and threads under simulation, on one processor and on several, with both ways to switch contexts.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/thread_signals.c
cd "$work" || exit 99
run() { # LEVEL CORES SETTINGS
    "$PEETCC" -w $1 -o prog "$source" -pthread || fail "peetcc refused it at $1"
    env "$3" timeout 60 "$PEET" run --quiet --cores $2 -d out -- ./prog >got 2>said || { cat got said; fail "$*: status $?"; }
    grep -q '^signals and threads agree$' got || { cat got; fail "$*: no proper end"; }
}
run -O2 1 PEET_SWITCH=assembly
run -O2 8 PEET_SWITCH=assembly
run -O0 2 PEET_SWITCH=ucontext
run -O2 2 PEET_FSGSBASE=off
exit 0
