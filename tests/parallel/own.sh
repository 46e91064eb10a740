# SPDX-License-Identifier: Apache-2.0
# own.sh FOLDER PROGRAM: a parallel program gives the output of its plain run on 1, 2, 4 and 16 processors, with as many threads as
# processors or more, and two runs have one stream of events.
. "$(dirname "$0")/lib.sh"
source=$2
build subject "$source"
for threads in 1 4 9; do
    must timeout 60 ./subject $threads >expected </dev/null
    for cores in 1 2 4 16; do
        first=''
        for run in 1 2; do
            must timeout 100 "$peet" run --quiet --machine ideal --cores $cores --observe hash -d run -- ./subject $threads >output </dev/null
            same expected output "$threads threads on $cores processors"
            hash=$(value run/stats.json hash.hash)
            [ "$hash" = "${first:=$hash}" ] || fail "$threads threads on $cores processors: two runs, two streams of events"
        done
    done
done
# caches and a bus that they share change the times, not the results
for cores in 3 8; do
    must timeout 100 "$peet" run --quiet --machine bus,cache=16KiB,line=64 --cores $cores -d run -- ./subject 9 >output </dev/null
    same expected output "9 threads on $cores processors of bus"
done
