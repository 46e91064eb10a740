# SPDX-License-Identifier: Apache-2.0
# A balanced doall on the ideal machine takes S + ceil(n / P) c cycles: S and c follow from n = 0 and n = 1, everything
# else has to be met to the cycle.
. "$(dirname "$0")/lib.sh"
# Cycles to the last one, of the program's own code.
export PEET_FOREIGN=ranges
must "$peetcc" -O2 -o balanced "$here/balanced.c"

cycles() { # ITERATIONS PROCESSORS SCHEDULE
    must "$peet" run --quiet --machine ideal --cores "$2" --schedule "$3" -d run -- ./balanced "$1" >/dev/null
    value run/stats.json time.cycles
}
for schedule in static dynamic guided; do
    none=$(cycles 0 1 $schedule) two=$(cycles 2 1 $schedule) four=$(cycles 4 1 $schedule)
    c=$(((four - two) / 2))
    [ $c -gt 1000 ] || fail "an iteration of 1000 steps takes $c cycles"
    S=$((two - 2 * c))
    # a loop of no iterations may skip what a fork costs, no more
    [ $none -le $S ] && [ $((S - none)) -lt 1000 ] || fail "$schedule: no iterations take $none cycles, sequential part of others $S"
    for pair in 16:1 16:2 16:4 16:8 16:16 1024:8 12:4; do
        n=${pair%:*} p=${pair#*:}
        want=$((S + (n + p - 1) / p * c))
        got=$(cycles $n $p $schedule)
        if [ $schedule = guided ]; then
            # portions shrink: no better than balanced, no worse than one portion more
            [ $got -ge $want ] && [ $got -le $((want + (n + p - 1) / p * c)) ] || fail "guided, $n on $p: $got cycles, balanced $want"
        else
            [ $got = $want ] || fail "$schedule, $n iterations on $p processors: $got cycles, not $want"
        fi
    done
done
