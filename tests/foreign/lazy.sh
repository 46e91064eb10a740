#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One library calls another one's function for the first time: by way of the dynamic linker, which is not seen.  The function is,
# from its first instruction on; also if this is its only call, if it has variants, and if the program has one of that name.
. "$(dirname "$0")/lib.sh"
cat >below.c <<'END'
int below(int x) { int s = 0; for (int i = 0; i < x; i++) s += i ^ x; return s; }
int once(int x) { int s = 1; for (int i = 0; i < x; i++) s = s * 3 + i; return s; }
static int simple(int x) { int s = 2; for (int i = 0; i < x; i++) s = s * 5 + i; return s; }
static int (*choose(void))(int) { return simple; }
int variants(int x) __attribute__((ifunc("choose")));
int hidden_by_another(int x) { return x; }
END
cat >above.c <<'END'
int below(int), once(int), variants(int), hidden_by_another(int);
int above(int x) { return below(x) + 1; }
int above_once(int x) { return once(x) + variants(x) + hidden_by_another(x) + 1; }
END
cat >calls.c <<'END'
#include <stdio.h>
int above(int), above_once(int);
int hidden_by_another(int x) { return x + 1; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 5; i++)
        sum += above(100);
    printf("%d\n", sum + above_once(1000));
    return 0;
}
END
must "$PEET_PLAIN_CC" -O1 -shared -fPIC -o libbelow.so below.c
must "$PEET_PLAIN_CC" -O1 -shared -fPIC -Wl,-z,lazy -o libabove.so above.c -L. -lbelow "-Wl,-rpath,$PWD"
must "$peetcc" -O1 -o calls calls.c -L. -labove "-Wl,-rpath,$PWD"
must "$PEET_PLAIN_CC" -O1 -o calls.plain calls.c -L. -labove "-Wl,-rpath,$PWD"
must ./calls.plain >plain.printed
must "$peet" run -q --foreign=record --observe counts -d lazy -- ./calls >printed
same printed plain.printed
# of FUNCTION: its calls, and its instructions
of() { "$PEET_PREFIX/tests/json-get" -r lazy/stats.json counts.functions name calls instructions | awk -v name="$1" '$1 == name { print $2, $3 }'; }
equal "the program's own function: calls" "$(of hidden_by_another | cut -d' ' -f1)" 1
command -v valgrind >/dev/null || skip "there is no valgrind"
must valgrind -q --tool=callgrind --callgrind-out-file=lazy.callgrind ./calls.plain >valgrind.printed
callgrind_annotate --threshold=100 lazy.callgrind >lazy.txt || fail "callgrind_annotate"
for function in below:5 once:1 simple:1; do
    calls=${function#*:} name=${function%:*}
    expected=$(awk -v name=":$name " 'index($0, name) { gsub(",", "", $1); print $1; exit }' lazy.txt)
    equal "$name: calls and instructions" "$(of "$name")" "$calls $expected"
done
exit 0
