#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# costs.sh SOURCE PROCESSORS FLAGS...: what every instruction of a program costs by `peet costs`, held against llvm-mca's tables for the
# disassembly of the same source compiled with the same flags and no pass, on each of the processors (on those after a bar only with
# PEET_THOROUGH).  One binary for all.
. "$(dirname "$0")/../tools/common.sh"
source=$1 processors=$2
shift 2
[ -n "${PEET_THOROUGH:-}" ] || processors=${processors%%|*}
processors=${processors/|/ }
command -v llvm-mca-22 >/dev/null && command -v llvm-objdump-22 >/dev/null || skip "llvm-mca-22 or llvm-objdump-22 is not installed"
compilers_for "$source"
"$peet_cc" "$@" -w -o "$work/recorded" "$source" -lm || fail "peetcc ended with status $?"
"$plain_cc" "$@" -w -o "$work/plain" "$source" -lm || fail "clang ended with status $?"
"$PEET" costs --json "$work/recorded" >"$work/any.json" || fail "peet costs ended with status $?"
llvm-objdump-22 -d --no-show-raw-insn --no-print-imm-hex "$work/plain" | "$PEET_TOOLS/costs_compare" list "$work/any.json" "$work/plain.s" ||
    fail "the instructions are not the same"
status=0
for processor in $processors; do
    "$PEET" costs --json -mcpu="$processor" "$work/recorded" >"$work/peet.json" || fail "peet costs ended with status $?"
    llvm-mca-22 -mtriple=x86_64-linux-gnu -mcpu="$processor" --instruction-tables --json "$work/plain.s" >"$work/mca.json" 2>"$work/mca.err" ||
        { head "$work/mca.err"; fail "llvm-mca ended with status $?"; }
    "$PEET_TOOLS/costs_compare" check "$work/peet.json" "$work/mca.json" "$(dirname "$0")/known.txt" || status=1
done
exit $status
