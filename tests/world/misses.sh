# SPDX-License-Identifier: Apache-2.0
# Ranges reach the machine: a copy larger than the cache misses once for each of its lines, by the library as by a loop; and
# a small one, done twice, the first time only.
. "$(dirname "$0")/lib.sh"
# Misses to the last one: those of the copies alone, without the library's own stack and tables.
export PEET_FOREIGN=ranges
must "$peetcc" -O1 -fno-builtin -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -o misses "$programs/misses.c"
misses() {
    must "$peet" run --quiet --machine bus,cache=16KiB,line=64,ways=4 -d out -- ./misses "$@" >/dev/null
    value out/stats.json bus.totals.misses
}
# about WHAT GOT WANT: the program's own lines (stack, constants) differ by a few from case to case
about() {
    [ "$2" -ge "$3" ] && [ "$2" -le $(($3 + 8)) ] || fail "$1: $2, not $3"
}
# lines of 64 bytes in 512 KiB and in 4 KiB
base=$(misses library nothing)
for what in "copy 16384 128" "fill 8192 64" "search 8192 64"; do
    # shellcheck disable=SC2086
    set -- $what
    for how in library loop; do
        about "misses of $how $1" $(($(misses $how "$1") - base)) "$2"
        about "misses of $how $1, small" $(($(misses $how "$1" small) - base)) "$3"
    done
done
exit 0
