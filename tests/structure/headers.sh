#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Public headers compile alone, as C and C++ of several standards and compilers, without warnings; the module ABI has its layout.
set -u
cd "$PEET_SOURCE" || exit 99
status=0
include=()
for dir in */include; do
    include+=("-I$dir")
done
include+=("-I.")
strict=(-Wall -Wextra -pedantic -Werror)
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
for header in */include/peet/*.h; do
    printf '#include "%s"\n' "$header" >"$scratch/header.c" && cp "$scratch/header.c" "$scratch/header.cc"
    for compiler in "$PEET_PLAIN_CC" gcc; do
        for standard in c11 c17; do
            "$compiler" -std=$standard "${strict[@]}" "${include[@]}" -fsyntax-only "$scratch/header.c" ||
                { echo "FAIL: $header is not self-sufficient $standard for $compiler"; status=1; }
        done
    done
    for compiler in "$PEET_PLAIN_CXX" g++; do
        for standard in c++11 c++17 c++20; do
            "$compiler" -std=$standard "${strict[@]}" "${include[@]}" -fsyntax-only "$scratch/header.cc" ||
                { echo "FAIL: $header is not self-sufficient $standard for $compiler"; status=1; }
        done
    done
    grep -q '#ifndef PEET_' "$header" || { echo "FAIL: $header has no include guard"; status=1; }
done
"$PEET_PLAIN_CC" -std=c11 "${include[@]}" -fsyntax-only tests/structure/layout.c ||
    { echo "FAIL: the module ABI's layout is not that of its version"; status=1; }
exit $status
