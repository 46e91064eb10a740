#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A loop of 48 equal iterations on the ideal machine, where a block takes its schema cost and synchronisation nothing, takes
# S + (48 / p) c on p processors, to the cycle: with 48 threads that share p processors, and with p threads that the mapper deals
# iterations to.  S and c follow from two of the runs; all others must agree.
. "$(dirname "$0")/lib.sh"
# Cycles to the last one, of the program's own code.
export PEET_FOREIGN=ranges

program() { # SCHEDULE
    cat <<END
static volatile int sink[64];
__attribute__((noinline)) static void work(int i)
{
    int x = i;
    for (int k = 0; k < 5000; k++)
        x = x * 3 + 1;
    sink[i] = x;
}
int main(void)
{
#pragma omp parallel for schedule($1)
    for (int i = 0; i < 48; i++)
        work(i);
    return 0;
}
END
}

cycles() { # THREADS PROCESSORS
    OMP_NUM_THREADS=$1 "$peet" run --quiet --machine ideal --cores "$2" -d run -- ./program >output 2>&1 || fail "$1 threads, $2 processors: $(cat output)"
    value run/stats.json time.cycles
}

# A team of one has its loop at once and asks for no chunks: where threads are as many as processors, there are two at least.
for schedule in "static, 1" dynamic; do
    program "$schedule" >program.c
    must "$peetcc" -O1 -fopenmp -fno-peet-schema-file -o program program.c
    case $schedule in
    static*) list="1 2 3 4 6 8 12 16" ;;
    *) list="2 3 4 6 8 12 16" ;;
    esac
    threads() { [[ $schedule == static* ]] && echo 48 || echo "$1"; }
    all=$(cycles 48 48) half=$(cycles "$(threads 24)" 24)
    c=$((half - all)) S=$((all - c))
    [ $c -gt 10000 ] && [ $S -gt 0 ] || fail "$schedule: an iteration takes $c cycles, the rest $S"
    for p in $list; do
        got=$(cycles "$(threads "$p")" "$p") want=$((S + 48 / p * c))
        [ "$got" = $want ] || fail "$schedule on $p processors: $got cycles, not $want"
    done
    echo "$schedule: $S + 48 / p * $c cycles"
done
