#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Public headers compile alone, as C11 and as C++17, without warnings; the module ABI has its layout.
set -u
cd "$PEET_SOURCE" || exit 99
status=0
include=()
for dir in */include; do
    include+=("-I$dir")
done
for header in */include/peet/*.h; do
    "$PEET_PLAIN_CC" -std=c11 -Wall -Wextra -Wno-unused-function -Werror "${include[@]}" -fsyntax-only -x c "$header" ||
        { echo "FAIL: $header is not self-sufficient C11"; status=1; }
    "$PEET_PLAIN_CXX" -std=c++17 -Wall -Wextra -Wno-unused-function -Werror "${include[@]}" -fsyntax-only -x c++ "$header" ||
        { echo "FAIL: $header is not self-sufficient C++17"; status=1; }
    grep -q '#ifndef PEET_' "$header" || { echo "FAIL: $header has no include guard"; status=1; }
done
"$PEET_PLAIN_CC" -std=c11 "${include[@]}" -fsyntax-only tests/structure/layout.c ||
    { echo "FAIL: the module ABI's layout is not that of its version"; status=1; }
exit $status
