# SPDX-License-Identifier: Apache-2.0
# What dtrack says of threads whose blocks machine code takes, while processors run ahead of each other, is what it says when it gets every
# block as an event, in the order of time, as it does while `hash` looks on.  Its patterns are samples and may differ there.  numa makes reports
# before the blocks of its batch are shown, so that the places of falsely shared lines may, too.
. "$(dirname "$0")/lib.sh"
threads=$PEET_SOURCE/bench/threads
others=()
alike() {
    local machine=$1
    shift
    for run in taken seen; do
        observe=(--observe dtrack "${others[@]}")
        [ $run = taken ] || observe+=(--observe hash)
        must timeout -k 1 120 "$peet" run -q --cores 4 --machine "$machine" "${observe[@]}" -d $run -- "$@" >$run.txt
    done
    places=.dtrack.nothing shared='[.dtrack.structures[].sharing.lines | add] | add > 0'
    [ $machine != numa ] || places=.dtrack.falsely_shared_lines[].accesses
    [ $machine != ideal ] || shared=true
    same_stats "del(.peet, .config, .hash, .host, .profile, $places, .dtrack.structures[].pattern, .dtrack.structures[].regular_share, .dtrack.structures[].stride_entropy_bits) |
        .dtrack.tables |= map(select(.title != \"what they are\"))" "$shared" {seen,taken}/stats.json ||
        fail "$machine: $*: other numbers, or nothing is shared"
}
small=8KiB,ways=2,line=64
machines=(bus,cache=$small,classify=on numa)
programs=('lu 4 48 8' 'radix 4 20000 2' 'barnes 4 300 2' 'water 4 64 2' 'tasks 4 3000' 'pipeline 4 400' 'mg 4 3 3')
if [ -n "${PEET_THOROUGH:-}" ]; then
    machines+=(bus bus,cache=32KiB,ways=8,line=64 bus,cache=4KiB,ways=1,line=32,protocol=dragon bus,cache=2KiB,ways=2,line=16,protocol=firefly
        bus,cache=4KiB,ways=2,line=64,protocol=through bus,cache=$small,cpi=0.7 bus,cache=4KiB,line=128,protocol=berkeley ideal)
    programs+=('lu 4 64 16' 'fft 4 8 2' 'ocean 4 34 6' 'sharing 4 2000 4' 'cg 4 400 4 4' 'is 4 10000 3')
fi
for program in "${programs[@]}"; do
    name=${program%% *}
    libraries=(-pthread -lm)
    case $name in cg | mg | is) libraries=(-fopenmp -lm) ;; esac
    must "$peetcc" -O2 -g -o $name "$threads/$name.c" "${libraries[@]}"
    for machine in "${machines[@]}"; do
        alike $machine ./$program
    done
done
[ -n "${PEET_THOROUGH:-}" ] || alike bus ./tasks 4 3000
# The same block, in other structures with each thread.
must "$peetcc" -O2 -g -pthread -o structures "$here/structures.c"
for machine in "${machines[@]}"; do
    alike $machine ./structures 2000
done
# Threads that look at memory again and again, whose rounds the program does not go.
must "$peetcc" -O2 -g -pthread -o spins "$PEET_SOURCE/tests/direct/spins.c"
for seed in 1 2; do
    alike bus,cache=$small,classify=on ./spins $seed 4 40
done
# Another observer that is told what is final, and is to see a block before what the machine reports of it.
others=(--observe profile)
alike bus,cache=$small,classify=on ./tasks 4 3000
alike bus,cache=$small,classify=on ./barnes 4 300 2

# One thread: patterns, too, whoever stands beside it and before it, and in a replay.
for machine in ideal bus x86; do
    must "$peet" run -q --machine $machine --observe dtrack -d alone -- ./lu 1 64 8 >alone.txt
    must "$peet" run -q --machine $machine --observe hash --observe trace --observe dtrack -d beside -- ./lu 1 64 8 >beside.txt
    must "$peet" run -q --from beside --machine $machine --observe dtrack -d replayed
    for other in beside replayed; do
        same_stats .dtrack 'any(.structures[]; .stride_entropy_bits > 0)' {alone,$other}/stats.json || fail "$machine: dtrack $other: other patterns"
    done
done
