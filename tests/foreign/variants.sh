#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which variants of its functions the C library takes does not depend on the host, unless somebody chooses: nothing beyond AVX2, no rep-prefixed copies.
. "$(dirname "$0")/lib.sh"
cat >copies.c <<'END'
#include <stdio.h>
#include <string.h>
static char a[1 << 20], b[1 << 20];
int main(void)
{
    unsigned long sum = 0;
    for (size_t n = 1; n < sizeof a; n = n * 3 + 1) {
        memset(a, 'x', n);
        memcpy(b, a, n);
        memmove(b + 1, b, n - 1);
        sum += strlen(b) + (unsigned long)memcmp(a, b, n) + (strstr(b, "xxxy") != NULL);
    }
    printf("%lu\n", sum);
    return 0;
}
END
must "$peetcc" -O1 -fno-builtin -o copies copies.c
# refs_of FOLDER: instructions and references of all functions of the C library
instructions_of() { value "$1/stats.json" totals.instructions; }
unset GLIBC_TUNABLES
must "$peet" run -q --foreign=record --observe counts --observe hash -d pinned -- ./copies >pinned.printed
pins=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-ERMS,-FSRM,-RTM,-Prefer_No_VZEROUPPER,-Fast_Unaligned_Load
limits=glibc.cpu.x86_data_cache_size=32768:glibc.cpu.x86_shared_cache_size=1048576:glibc.cpu.x86_non_temporal_threshold=786432
# What a processor without these would have chosen.
GLIBC_TUNABLES=glibc.cpu.hwcaps=$pins:$limits \
    must "$peet" run -q --foreign=record --observe counts --observe hash -d lesser -- ./copies >lesser.printed
same pinned.printed lesser.printed
equal "instructions with the variants of a lesser processor" "$(instructions_of pinned)" "$(instructions_of lesser)"
equal "the hash on a lesser processor" "$(value pinned/stats.json hash.hash)" "$(value lesser/stats.json hash.hash)"
# What it prefers on Intel's processors, and on those with transactional memory; the string's length moves addresses.
GLIBC_TUNABLES=glibc.cpu.hwcaps=Prefer_No_VZEROUPPER,Fast_Unaligned_Load,$pins:$limits \
    must "$peet" run -q --foreign=record --observe counts -d preferring -- ./copies >preferring.printed
same pinned.printed preferring.printed
equal "instructions with the preferences of other processors" "$(instructions_of pinned)" "$(instructions_of preferring)"
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS must "$peet" run -q --foreign=record --observe counts -d chosen -- ./copies >chosen.printed
same pinned.printed chosen.printed
if grep -q avx2 /proc/cpuinfo && [ "$(instructions_of pinned)" = "$(instructions_of chosen)" ]; then
    fail "the user's choice of variants changes nothing"
fi
# No instruction of a copy goes round by itself: with rep movsb or stosb, an instruction makes more than 64 bytes of references.
python3 - pinned/stats.json <<'END' || fail "a function of the C library makes more references than its instructions can"
import json, sys
for f in json.load(open(sys.argv[1]))["counts"]["functions"]:
    if f["image"].startswith("libc") and f["reads"] + f["writes"] > 4 * f["instructions"]:
        sys.exit(f"{f['name']}: {f['instructions']} instructions, {f['reads']} reads, {f['writes']} writes")
END
