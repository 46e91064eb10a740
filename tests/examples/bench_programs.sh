# SPDX-License-Identifier: Apache-2.0
# The bench programs, small: the same output plain, recorded, and simulated on the bus machine with a counting observer.
. "$(dirname "$0")/lib.sh"
bench=$PEET_SOURCE/bench/programs
while read -r program arguments; do
    must "$CC" -O2 -o $program.plain "$bench/$program.c" -lm
    must "$peetcc" -O2 -o $program "$bench/$program.c" -lm
    must ./$program.plain $arguments >expected
    must ./$program $arguments >got
    same expected got "$program, recorded"
    must "$peet" run --quiet --machine bus,protocol=illinois --observe counts -d out -- ./$program $arguments >got
    same expected got "$program, simulated"
    for key in instructions reads writes; do
        sum=$(value -r out/stats.json counts.functions $key | awk '{ s += $1 } END { printf "%.0f", s }')
        [ "$sum" = "$(value out/stats.json totals.$key)" ] || fail "$program: $key of the functions add up to $sum, not the total"
    done
done <<'LIST'
fft 8 2
radix 5000 2
lu 60 8
ocean 32 20
nbody 200 2
cg 500 6 1
hash 2000 2
matmul 40 16 2
quicksort 5000 3
edit 200 2
lz 20000 2
chase 1000 2
sha 5000 2
text 1000 2
vm 2000 2
queens 7
LIST
