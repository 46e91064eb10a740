#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every source file is as .clang-format has it; tables that are better by hand say so (clang-format off).  Pointers are
# tested in one way: `p` and `!p` in conditions.
set -u
cd "${1:-$PEET_SOURCE}" || exit 99
tool=clang-format-22
command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
# What tests, examples and pages show or count by line keeps its lines.
folders="schema compiler-pass runtime threadlib simulators mapper cli tools bench tests/unit"
find $folders -name '*.[ch]' -o -name '*.cpp' | sort >"${TMPDIR:-/tmp}/peet-format.$$"
trap 'rm -f "${TMPDIR:-/tmp}/peet-format.$$"' EXIT
[ -s "${TMPDIR:-/tmp}/peet-format.$$" ] || { echo "FAIL: no sources"; exit 1; }
wrong=$(xargs -P "$(nproc)" -n 60 "$tool" --dry-run --ferror-limit=1 <"${TMPDIR:-/tmp}/peet-format.$$" 2>&1 |
    sed -n 's/^\([^ :]*\):\([0-9]*\):.*clang-format-violations.*/\1:\2/p')
[ -z "$wrong" ] || { echo "FAIL: not as .clang-format has it; $tool -i FILE mends it:"; echo "$wrong"; exit 1; }
wrong=$(xargs grep -nE '== NULL\b|\bif \([^()]* != NULL\)' <"${TMPDIR:-/tmp}/peet-format.$$" | grep -v '^tests/')
[ -z "$wrong" ] || { echo "FAIL: a pointer compared with NULL where p or !p would do:"; echo "$wrong"; exit 1; }
wc -l <"${TMPDIR:-/tmp}/peet-format.$$"
