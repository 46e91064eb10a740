# SPDX-License-Identifier: Apache-2.0
# The examples: results as without peet, totals on several machines, and no perturbation: every event is where it was.
. "$(dirname "$0")/lib.sh"
arguments() {
    case $1 in
        simplex) echo 300 4 ;;
        resonance) echo 80 ;;
        quake) echo 8 4 ;;
        compile) echo 8 ;;
    esac
}
for program in simplex resonance quake compile; do
    must "$PEET_PLAIN_CC" -O2 -g -o plain "$examples/$program.c" -lm
    must "$peetcc" -O2 -g -o $program "$examples/$program.c" -lm
    must ./plain $(arguments $program) >expected
    run --machine $bus --observe hash -d without -- ./$program $(arguments $program) >got || fail "$program"
    same expected got "$program"
    run --machine $bus --observe hash --observe dtrack -d with -- ./$program $(arguments $program) >got || fail "$program with dtrack"
    same expected got "$program with dtrack"
    equal "$program: every event and its time" "$(value with/stats.json hash.hash)" "$(value without/stats.json hash.hash)"
    total with/stats.json
    for machine in bus,cache=4KiB,ways=1,line=16,fetch=unified bus,cache=16KiB,ways=4,line=128,classify=on; do
        run --machine $machine --observe dtrack -d other -- ./$program $(arguments $program) >got || fail "$program on $machine"
        total other/stats.json
    done
done
