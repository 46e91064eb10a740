#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh FUZZER KIND SECONDS PEETCC: seeds a corpus with real schemas, then fuzzes for a bounded time.
set -eu
fuzzer=$1 kind=$2 seconds=$3 peetcc=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/corpus"
cat >"$dir/a.c" <<'C'
#include <stdio.h>
#include <string.h>
__thread int t;
static double x[64], y[64];
int f(int n, char *s) { switch (n) { case 1: return s[1]; case 2: return s[7]; case 3: return s[9]; case 4: return n * s[2]; } return n > 4 ? f(n - 1, s + 1) : (int)strlen(s); }
int main(int c, char **v) { for (int i = 0; i < 64; i++) x[i] += y[i] * c; t += f(c, v[0]); __asm__ volatile("nop"); return printf("%d %f\n", t, x[3]) < 0; }
C
i=0
for flags in -O0 -O2 '-O3 -march=x86-64-v3' '-O2 -fPIC -shared' '-Os -g' '-O0 -gdwarf-4'; do
    i=$((i + 1))
    # shellcheck disable=SC2086
    "$peetcc" $flags -fno-peet-schema-file -o "$dir/a$i" "$dir/a.c"
    if [ "$kind" != schema ]; then
        cp "$dir/a$i" "$dir/corpus/elf$i"
    else
        objcopy --dump-section .peet.schema="$dir/corpus/s$i" "$dir/a$i"
    fi
done
exec_status=0
"$fuzzer" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$dir/" "$dir/corpus" >"$dir/log" 2>&1 || exec_status=$?
tail -n 12 "$dir/log"
exit $exec_status
