#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Functions have the addresses that they have in the program as the plain compiler makes it: lines of code begin where they do there.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >prog.c <<'C'
#include <stdio.h>
int second(int n), third(const int *v, int n);
__attribute__((noinline)) int first(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
int main(void) { int v[10] = {1, 2, 3}; printf("%d\n", first(100) + second(7) + third(v, 10)); return 0; }
C
cat >more.c <<'C'
int second(int n), third(const int *v, int n);
int second(int n) { return n < 2 ? 1 : second(n - 1) + second(n - 2); }
int third(const int *v, int n) { int s = 0; for (int i = 0; i < n; i++) if (v[i] % 3) s += v[i]; return s; }
C
for flags in "-O2" "-O1" "-O2 -falign-loops=32" "-O2 -ffunction-sections"; do
    # shellcheck disable=SC2086
    "$PEET_PLAIN_CC" $flags -o plain prog.c more.c || fail "plain compiler, $flags"
    # shellcheck disable=SC2086
    "$PEETCC" $flags -o recorded prog.c more.c || fail "peetcc $flags"
    nm plain | awk '$3 ~ /^(main|first|second|third)$/ { print $3, $1 }' | sed 's/ 0*/ 0x/' | sort >want
    "$PEET" schema recorded | awk '$1 == "function" && $2 ~ /^(main|first|second|third)$/ { print $2, substr($5, 1) }' | tr -d , | sort >got
    [ "$(wc -l <want)" = 4 ] || fail "$flags: nm lists $(cat want)"
    cmp -s want got || fail "$flags: plain addresses $(tr '\n' ' ' <want), in the schema $(tr '\n' ' ' <got)"
done
exit 0
