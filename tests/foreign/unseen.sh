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
