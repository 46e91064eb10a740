# SPDX-License-Identifier: Apache-2.0
# The simulated machine decides who gets a lock, and the program takes that path.  Four threads want a mutex twice each; under two
# policies they get it in two orders, both worked out here by hand, both the same in every run.
#
# A comes at 0, B at 1, C at 2, D at 3 (units of time); who has it keeps it for 10, and after its first turn comes again after
# A 5, B 3, C 25, D 1.
#
#   first come, first served                         last come, first served
#    0 A            B C D come                        0 A            B C D come
#   10 B  C D      A comes at 15                     10 D  B C      A comes at 15 (released at 10), after C
#   20 C  D A      B comes at 23                     20 A  B C      D comes at 21
#   30 D  A B                                        30 D  B C      A is done, and so is D at 40
#   40 A  B        D comes at 41                     40 C  B
#   50 B  D        C comes at 55 (released at 30)    50 B            C comes at 75 (released at 50)
#   60 D  C                                          63 B            comes 3 after it has released it at 60
#   70 C                                             75 C
. "$(dirname "$0")/lib.sh"
build order "$here/order/order.c"

# outcome ORDER: what the program computes if its threads come in this order
outcome() {
    local x=1 i letter
    for ((i = 0; i < ${#1}; i++)); do
        printf -v letter %d "'${1:i:1}"
        x=$(((x * 31 + letter - 65) & 0xffffffff))
    done
    echo "$1 $x"
}

# expect ORDER WHAT OPTIONS...: twice, with one and the same stream of events
expect() {
    local want=$1 what=$2 first='' hash run
    shift 2
    want=$(outcome "$want")
    for run in 1 2; do
        must "$peet" run --quiet --observe hash "$@" -d run -- ./order "$what" >output
        [ "$(cat output)" = "$want" ] || fail "$what, $*: '$(cat output)', not '$want'"
        hash=$(value run/stats.json hash.hash)
        [ "$hash" = "${first:=$hash}" ] || fail "$what, $*: two runs, two streams of events"
    done
}
for cores in 5 6 16; do
    expect ABCDABDC mutex --cores $cores --winner fcfs
    expect ADADCBBC mutex --cores $cores --winner lifo
done
# the queue of a ticket lock or of an MCS lock is first come, first served, whatever their traffic costs; the machine's own speed
# is all the same to the order, too
expect ABCDABDC mutex --cores 5 --lock-model ticket
expect ABCDABDC mutex --cores 5 --lock-model mcs
expect ABCDABDC mutex --cores 5 --machine bus,cache=16KiB --winner fcfs
expect ADADCBBC mutex --cores 5 --machine bus,cache=16KiB --winner lifo

# those who wait for a condition or a semaphore, in the order in which they came or the other way round; main wakes one at a
# time, long after they have all come
for what in condition semaphore; do
    expect ABCD $what --cores 5 --winner fcfs
    expect DCBA $what --cores 5 --winner lifo
done

# by chance: the seed decides, and nothing else
for seed in 1 2 3 4 5 6; do
    must "$peet" run --quiet --observe hash --cores 5 --winner random --seed $seed -d one -- ./order mutex >"by.$seed"
    must "$peet" run --quiet --observe hash --cores 5 --winner random --seed $seed -d two -- ./order mutex >again
    same "by.$seed" again "seed $seed gives two outcomes"
    [ "$(value one/stats.json hash.hash)" = "$(value two/stats.json hash.hash)" ] || fail "seed $seed gives two streams of events"
    [ "$(cat again)" = "$(outcome "$(cut -d' ' -f1 again)")" ] || fail "seed $seed: '$(cat again)'"
done
[ "$(cat by.* | sort -u | wc -l)" -gt 1 ] || fail "six seeds, one order"
