# SPDX-License-Identifier: Apache-2.0
# What dtrack says of threads whose blocks machine code takes is what it says when it gets every block as an event, as it does while `hash`
# looks on.  Its patterns are samples and may differ.  numa makes reports before the blocks of its batch are shown, so that the places of falsely
# shared lines may, too.
. "$(dirname "$0")/lib.sh"
threads=$PEET_SOURCE/bench/threads
alike() {
    local machine=$1
    shift
    for run in taken seen; do
        observe=(--observe dtrack)
        [ $run = taken ] || observe+=(--observe hash)
        must timeout -k 1 120 "$peet" run -q --cores 4 --machine "$machine" "${observe[@]}" -d $run -- "$@" >$run.txt
        places=.dtrack.nothing
        [ $machine != numa ] || places=.dtrack.falsely_shared_lines[].accesses
        must jq -S "del(.peet, .config, .hash, .host, .dtrack.structures[].regular_share, .dtrack.structures[].stride_entropy_bits, $places)" \
            $run/stats.json >$run.json
        jq -e '[.dtrack.structures[].sharing.lines | add] | add > 0' $run.json >/dev/null || fail "$machine: $*: nothing is shared"
    done
    diff seen.json taken.json >different.txt || fail "$machine: $*: $(head -20 different.txt)"
}
for name in radix barnes water tasks; do
    must "$peetcc" -O2 -g -pthread -o $name "$threads/$name.c" -lm
done
machines=(bus,cache=8KiB,ways=2,line=64,classify=on numa)
[ -z "${PEET_THOROUGH:-}" ] || machines+=(bus,cache=32KiB,ways=8,line=64 bus,cache=4KiB,ways=1,line=32,protocol=dragon
    bus,cache=4KiB,ways=2,line=64,protocol=through bus,cache=8KiB,ways=2,line=64,cpi=0.7)
for machine in "${machines[@]}"; do
    alike $machine ./radix 4 20000 2
    alike $machine ./barnes 4 300 2
    alike $machine ./water 4 64 2
    alike $machine ./tasks 4 3000
done
