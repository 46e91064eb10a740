#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Long runs: what is recorded, replayed and read takes as much memory at its end as after a twentieth of it.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >walk.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static unsigned cells[4096];
int main(int argc, char **argv)
{
    unsigned x = 1, rounds = (unsigned)atoi(argv[1]);
    for (unsigned i = 0; i < rounds; i++) {
        x = x * 1664525 + 1013904223;
        if (x >> 31)
            cells[x >> 8 & 4095] += i;
        else
            cells[x >> 9 & 4095] ^= x;
    }
    printf("%u\n", cells[x & 4095]);
    return 0;
}
END
must "$peetcc" -O1 walk.c -o walk
# peak COMMAND...: the largest resident set of the command and all that it starts, in KiB
peak() {
    python3 -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if status == 0 else "failed")' "$@"
}
for rounds in 500000 10000000; do
    {
        echo "recorded $(peak "$peet" run -q -m ideal -o trace -d long -- ./walk $rounds)"
        echo "replayed $(peak "$peet" run -q --from long -d again)"
        echo "checked $(peak "$peet" trace check long)"
        echo "real $(peak "$peet" record -q -d real -- ./walk $rounds)"
        echo "words $(value long/stats.json trace.words)"
    } >peaks.$rounds
done
must python3 - peaks.500000 peaks.10000000 <<'END'
import sys
few, many = ({line.split()[0]: int(line.split()[1]) for line in open(name)} for name in sys.argv[1:])
assert many["words"] > 15 * few["words"] > 10_000_000, (few, many)
for what in ("recorded", "replayed", "checked", "real"): # the words alone would be 150 MB
    assert many[what] < few[what] + 8192, (what, few, many)
END
exit 0
