#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is said to be unseen: nearly all of a program that lives in a library, if libraries run as they are; nothing of that library if they
# are recorded.
. "$(dirname "$0")/lib.sh"
cat >lives.c <<'END'
#include <stdio.h>
int main(void)
{
    char text[200];
    unsigned long sum = 0;
    for (int k = 0; k < 100000; k++)
        sum += (unsigned long)snprintf(text, sizeof text, "%d %s %.3f", k, "some text", k / 7.0);
    printf("%lu\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -o lives lives.c
# share_of FOLDER OBJECT: hundredths of the samples that the list gives to functions of objects whose name begins so
share_of() {
    python3 - "$1/unseen.json" "$2" <<'END'
import json, sys
said = json.load(open(sys.argv[1]))
print(round(100 * sum(one["share"] or 0 for one in said["list"] if one["object"].startswith(sys.argv[2]))))
END
}
must "$peet" run -q --foreign=ranges -d ranges -- ./lives >plain.printed
must "$peet" run -q --foreign=record -d record -- ./lives >record.printed
same record.printed plain.printed
[ "$(share_of ranges libc)" -ge 50 ] || fail "unseen, the C library is only $(share_of ranges libc) % of the program"
[ "$(share_of record libc)" -le 5 ] || fail "recorded, the C library is still $(share_of record libc) % unseen"
[ "$(share_of record '?')" -le 5 ] || fail "translated code is taken for unseen code: $(share_of record '?') %"
# Calls by name of what was recorded, in a library and in an object that was linked in, are none to what is unseen.
cat >calls.c <<'END'
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
struct three {
    long part[3];
};
static _Atomic struct three wide;
double linked(double x);
int main(int argc, char **argv)
{
    double sum = atomic_load(&wide).part[2];
    for (int k = 0; k < 100; k++)
        sum += sin(k * argc) + linked(k);
    printf("%.3f %s\n", sum, argv[0]);
    return 0;
}
END
echo 'double linked(double x) { return x * x + 1; }' >linked.c
must "$PEET_PLAIN_CC" -O2 -c linked.c
must "$peetcc" -O2 -w -o calls calls.c linked.o -lm -latomic
must "$peet" run -q --foreign=record -d record -- ./calls >record.printed
equal "calls to what is recorded" "$(value record/stats.json gaps.unseen.calls)" 0
must "$peet" run -q --foreign=record --observe trace -d kept -- ./calls >kept.printed
must "$peet" run -q --from kept -d again
for run in record kept again; do
    equal "functions of libatomic that are recorded, $run" "$(jq -c .gaps.atomic_library_functions $run/stats.json)" "[]"
done
must "$peet" run -q --foreign=ranges -d ranges -- ./calls >ranges.printed
equal "calls to what is not" "$(value ranges/stats.json gaps.unseen.calls)" 201
equal "functions of libatomic that are not" "$(jq -c .gaps.atomic_library_functions ranges/stats.json)" '["__atomic_load"]'
