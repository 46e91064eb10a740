# SPDX-License-Identifier: Apache-2.0
# Perfect memory: the data moves as ever, so that misses stay what they are, but nobody waits for what is perfect.
. "$(dirname "$0")/lib.sh"
cat >walk.c <<'END'
#include <stdlib.h>
volatile int far[1 << 16];
int main(void)
{
    volatile int *own = malloc(1 << 18);
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 1 << 16; i += 16) {
            far[i] = i;
            own[i] = i;
        }
    return 0;
}
END
must "$peetcc" -O2 -g -o walk walk.c
run() {
    local dir=$1
    shift
    must "$peet" run -q --machine bus,cache=16KiB -d "$dir" "$@" -- ./walk
}
run plain
run global --perfect far
run heap --perfect walk.c:5
run both --perfect far --perfect main.own
run all --perfect '*'
for dir in global heap both all; do
    for key in misses reads writes; do
        equal "$key of $dir" "$(value $dir/stats.json bus.totals.$key)" "$(value plain/stats.json bus.totals.$key)"
    done
done
plain=$(value plain/stats.json bus.totals.stall_cycles)
equal "nobody waits" "$(value all/stats.json bus.totals.stall_cycles)" 0
# whoever waits waits for one or the other: what the one saves is what is left without the other
global=$(value global/stats.json bus.totals.stall_cycles) heap=$(value heap/stats.json bus.totals.stall_cycles)
both=$(value both/stats.json bus.totals.stall_cycles)
awk -v g="$global" -v h="$heap" -v p="$plain" 'BEGIN { exit !(g < 0.7 * p && h < 0.7 * p) }' || fail "$global and $heap of $plain cycles stalled"
# what is left: the few references to other data wait for the bus, which the perfect data's lines still use
awk -v b="$both" -v p="$plain" 'BEGIN { exit !(b < 0.25 * p) }' || fail "both: $both of $plain cycles stalled"
