# SPDX-License-Identifier: Apache-2.0
# The machine numa on whole programs: the checker, which has each reference for itself, finds nothing and changes nothing against
# batches and loops, for every protocol and directory; observers hear of as many misses as the machine counts.
. "$(dirname "$0")/lib.sh"
for name in barnes ocean sharing cg; do
    case $name in barnes) size="80 2" ;; ocean) size="20 10" ;; sharing) size="2000 2" ;; cg) size="300 6 1" ;; esac
    must "$peetcc" -O2 -g -pthread -fopenmp -o $name "$PEET_SOURCE/bench/threads/$name.c" -lm
    for protocol in msi mesi moesi; do
        case $protocol in msi) directory=full ;; mesi) directory=evict ;; moesi) directory=broadcast ;; esac
        for check in on off; do
            must "$peet" run -q --cores 6 --machine numa,protocol=$protocol,directory=$directory,pointers=2,nodes=3,cache=2KiB,ways=2,check=$check \
                -d $check -- ./$name 6 $size >out.$check
            for key in time.cycles numa.totals.read_misses numa.totals.upgrades numa.totals.stall_cycles numa.network.message_bytes; do
                value $check/stats.json $key
            done >values.$check
        done
        same out.on out.off "output of $name, $protocol"
        same values.on values.off "$name, $protocol: with and without the checker"
    done
    must "$peet" run -q --cores 6 --machine numa,cache=2KiB --observe dtrack -d seen -- ./$name 6 $size >out.seen
    same out.on out.seen "output of $name with an observer"
done
true
