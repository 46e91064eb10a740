# SPDX-License-Identifier: Apache-2.0
# A graph whose blocks are counted in machine code is the graph of one that gets every block as an event: while `hash` looks on, nothing is counted in
# code.
. "$(dirname "$0")/../lib.sh"
must "$peetcxx" -O2 -g -pthread -o leaving "$here/../profile/leaving.cpp"
for machine in ideal bus,cache=4KiB,line=16,ways=2 bus,protocol=dragon,cpi=0.7 x86; do
    for cores in 1 4; do
        for run in counted seen; do
            observe=(--observe graph)
            [ $run = counted ] || observe+=(--observe hash)
            must timeout -k 1 100 "$peet" run -q --machine $machine --cores $cores "${observe[@]}" -d $run -- ./leaving 2 >$run.txt
        done
        same counted.txt seen.txt
        same_stats 'del(.peet, .config, .hash, .host)' '.graph.work_instructions > 10000 and (.graph.node_list | length) > 8' \
            {seen,counted}/stats.json || fail "$cores processors, $machine: other numbers"
    done
done
