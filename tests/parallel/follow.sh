# SPDX-License-Identifier: Apache-2.0
# Followers: a follower that is the machine again has the machine's results to the last cycle; the machine has the results that it
# has without followers; on one processor, where nobody's time decides what the program does, a follower counts what a run of its
# own counts.  config.cfg repeats the run, and what cannot follow is refused.
. "$(dirname "$0")/lib.sh"

# module FILE NAME N: the object of the Nth module of that name in a stats.json: the machine's comes before the followers'
module() {
    awk -v key="\"$2\":" -v wanted="$3" '
        !depth && $1 == key && $2 == "{" { depth = 1; ours = ++seen == wanted; next }
        depth { depth += gsub(/[{[]/, "&") - gsub(/[]}]/, "&"); sub(/^ +/, "") }
        depth && ours' "$1"
}
# counters: what does not depend on time
counters() { grep -Ev 'cycles|utilisation'; }

for name in barnes ocean sharing tasks cg; do
    case $name in barnes) size="80 2" ;; ocean) size="24 10" ;; sharing) size="2000 2" ;; tasks) size=4000 ;; cg) size="300 6 1" ;; esac
    must "$peetcc" -O2 -g -pthread -fopenmp -o $name "$PEET_SOURCE/bench/threads/$name.c" -lm
    for machine in bus,cache=4KiB,line=64,ways=4 bus,cache=2KiB,protocol=dragon,replacement=random numa,cache=4KiB,ways=2; do
        kind=${machine%%,*}
        must "$peet" run -q --cores 4 --machine $machine -d alone -- ./$name 4 $size >out.alone
        must "$peet" run -q --cores 4 --machine $machine --follow $machine --follow ideal --follow bus,cache=1KiB --observe hash -d with -- \
            ./$name 4 $size >out.with
        same out.alone out.with "output of $name with followers"
        equal "cycles of $name on $machine with followers" "$(value with/stats.json time.cycles)" "$(value alone/stats.json time.cycles)"
        module alone/stats.json $kind 1 >machine.json
        module with/stats.json $kind 1 >again.json
        module with/stats.json $kind 2 >follower.json
        [ "$(wc -l <machine.json)" -gt 20 ] || fail "no results of $machine"
        same machine.json again.json "$name on $machine, with followers"
        same machine.json follower.json "$name: $machine as a follower of itself"
        equal "module of follower 3" "$(value with/stats.json followers.2.module)" bus
    done
    for machine in bus,cache=4KiB,line=64,ways=4 bus,cache=1KiB,fetch=split numa,cache=4KiB,protocol=moesi; do
        kind=${machine%%,*}
        must "$peet" run -q --machine $machine -d alone -- ./$name 1 $size >out.alone
        must "$peet" run -q --machine ideal --follow $machine -d with -- ./$name 1 $size >out.with
        module alone/stats.json $kind 1 | counters >machine.json
        module with/stats.json $kind 1 | counters >follower.json
        [ "$(wc -l <machine.json)" -gt 20 ] || fail "no counters of $machine"
        same machine.json follower.json "$name: $machine alone and as a follower of ideal, one processor"
    done
done

# Who else looks on changes nothing for them, though blocks may come one at a time or several then, and allocations as events.
must "$peetcc" -O2 -pthread -o threads "$PEET_SOURCE/tests/direct/threads.c"
for machine in bus numa; do
    for observer in counts hash dtrack; do
        must "$peet" run -q --cores 3 --machine $machine --follow bus,line=128 --follow numa,line=32 --observe $observer -d with-$observer -- ./threads 2 6 40
        for which in bus numa; do
            [ $which = $machine ] && n=2 || n=1
            module with-$observer/stats.json $which $n >$which-$observer.json
            [ "$(wc -l <$which-$observer.json)" -gt 20 ] || fail "no results of the follower $which"
            same $which-counts.json $which-$observer.json "follower $which of $machine, with $observer"
        done
    done
done

# The configuration that a run leaves makes the same run again.
must "$peet" run -q --cores 2 --machine bus --follow bus,cache=1KiB --follow bus,cache=8KiB -d first -- ./ocean 2 16 5 >out.first
must "$peet" run -q --config first/config.cfg -d second >out.second
for which in 0 1; do
    module first/stats.json bus $((which + 2)) >one.json
    module second/stats.json bus $((which + 2)) >other.json
    [ -s one.json ] || fail "no follower $which"
    same one.json other.json "follower $which from config.cfg"
done

# refuses TEXT OPTIONS...: the run does not start, and says why
refuses() {
    local text=$1
    shift
    if "$peet" run -q -d wrong "$@" -- ./ocean 2 16 5 >refused 2>&1; then fail "accepted: $*"; fi
    grep -q "$text" refused || fail "$*: not said: $text: $(cat refused)"
}
refuses "is an observer" --follow counts
refuses "cache=3" --follow bus,cache=3
refuses "goes by abstract events" --follow x86
refuses "exclude each other" --follow bus --explore 10
true
