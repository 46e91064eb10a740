#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Libraries' operations on ranges: an observer that counts some of them by range() is shown the others, and together that is what it
# is shown of them when another one looks on, too.
export PEET_FOREIGN=ranges # it is about operations on ranges
. "$(dirname "$0")/../tools/common.sh"
command -v jq >/dev/null || skip "jq is not installed"
here=$(dirname "$0")
cat >"$work/subject.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char from[4096], to[4096];
int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 0, sum = 0;
    for (unsigned i = 0; i < n; i++) {
        memcpy(to + i % 512, from + i * 7 % 512, 1 + i * 13 % 900);
        memset(from + i % 64, (int)i, 1 + i % 77);
        sum += (unsigned char)to[i % 4096];
    }
    printf("%u\n", sum);
    return 0;
}
END
compilers_for "$work/subject.c"
"$peet_cc" -O2 "$work/subject.c" -o "$work/subject" || fail "peetcc refused subject.c"
"$PEET_PLAIN_CC" -shared -fPIC -O1 -I"$PEET_PREFIX/include" -o "$work/ranges.so" "$here/ranges_told.c" || fail "ranges_told.c does not compile"
of() { jq "$1" "$work/$2/stats.json"; }
for machine in ideal bus,cache=4KiB,line=64,ways=4; do
    "$PEET" run --quiet --machine $machine --observe "$work/ranges.so" -d "$work/alone" -- "$work/subject" 3000 >/dev/null || fail "$machine, alone"
    "$PEET" run --quiet --machine $machine --observe "$work/ranges.so" --observe hash -d "$work/both" -- "$work/subject" 3000 >/dev/null || fail "$machine, both"
    [ "$(of .ranges.told both)" = 0 ] || fail "$machine: it was asked though another one looks on"
    [ "$(of .ranges.told alone)" -gt 30000 ] || fail "$machine: it was not asked"
    [ "$(of .ranges.shown alone)" -gt 30000 ] || fail "$machine: it was not shown what it wanted to see"
    [ "$(of '.ranges.told + .ranges.shown' alone)" = "$(of .ranges.shown both)" ] ||
        fail "$machine: $(of .ranges.told alone) and $(of .ranges.shown alone), but $(of .ranges.shown both)"
    [ "$(of .totals.cycles alone)" = "$(of .totals.cycles both)" ] || fail "$machine: another time"
done
