#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# OpenMP's environment variables mean what they mean to the ordinary library.
. "$(dirname "$0")/lib.sh"
both "$here/cases/environment.c"

# compare VARIABLE=value...: on as many processors as the ordinary library is told that there are
compare() {
    env "$@" ./plain >expected 2>/dev/null || fail "plain, $*"
    env "$@" "$peet" run --quiet --cores 4 -d run -- ./recorded >got 2>errors || fail "$*: status $?: $(cat errors)"
    [ -z "${sorted:-}" ] || { sort -o expected expected; sort -o got got; }
    cmp -s expected got || fail "$*: $(diff expected got)"
}
compare OMP_NUM_THREADS=3
compare OMP_NUM_THREADS=2,3
compare OMP_NUM_THREADS=2,3 OMP_MAX_ACTIVE_LEVELS=1
compare OMP_NUM_THREADS=2 OMP_NESTED=true
compare OMP_NUM_THREADS=2 OMP_MAX_ACTIVE_LEVELS=2
compare OMP_NUM_THREADS=4 OMP_THREAD_LIMIT=3
compare OMP_NUM_THREADS=2 OMP_CANCELLATION=true
compare OMP_NUM_THREADS=2 OMP_MAX_TASK_PRIORITY=7
compare OMP_NUM_THREADS=2 OMP_NUM_TEAMS=3 OMP_TEAMS_THREAD_LIMIT=2
for schedule in static static,4 dynamic dynamic,7 guided guided,2 auto monotonic:dynamic,3 monotonic:static nonmonotonic:guided; do
    compare OMP_NUM_THREADS=2 OMP_SCHEDULE=$schedule
done
compare OMP_NUM_THREADS=2 OMP_STACKSIZE=2M
compare OMP_NUM_THREADS=2 OMP_WAIT_POLICY=active
compare -u KMP_BLOCKTIME OMP_NUM_THREADS=2
compare -u KMP_BLOCKTIME OMP_NUM_THREADS=2 OMP_WAIT_POLICY=active
compare -u KMP_BLOCKTIME OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
compare KMP_BLOCKTIME=7 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=active
compare KMP_BLOCKTIME=infinite OMP_NUM_THREADS=2
compare OMP_NUM_THREADS=2 OMP_PLACES=threads OMP_PROC_BIND=close
compare OMP_NUM_THREADS=2 OMP_PLACES=threads
compare OMP_NUM_THREADS=2 OMP_PROC_BIND=spread
# Affinity is shown at every other level and size of region, of serial ones, too; who of a region is first is nobody's business.
for nested in true false; do
    sorted=1 compare OMP_NUM_THREADS=2,1,3 OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='level %L, thread %n of %N, below %a' OMP_NESTED=$nested
done

# Without a number: as many threads as the simulated machine has processors.
for cores in 1 3 16; do
    "$peet" run --quiet --cores $cores -d run -- ./recorded >got || fail "$cores processors"
    grep -q "^threads $cores " got || fail "$cores processors: $(sed -n 2p got)"
done

# What makes no sense is said, and ignored.
for wrong in OMP_PLACES=somewhere OMP_NUM_THREADS=many OMP_SCHEDULE=sometimes OMP_STACKSIZE=-3 OMP_DYNAMIC=perhaps OMP_MAX_ACTIVE_LEVELS=-2; do
    env "$wrong" "$peet" run --quiet --cores 2 -d run -- ./recorded >got 2>errors || fail "$wrong"
    grep -q "OpenMP: $wrong is ignored" errors || fail "$wrong: nothing said: $(cat errors)"
done

# The environment as the library shows it
OMP_DISPLAY_ENV=true OMP_NUM_THREADS=3,2 "$peet" run --quiet -d run -- ./recorded >got 2>errors
grep -q "OMP_NUM_THREADS='3,2'" errors || fail "OMP_DISPLAY_ENV: $(cat errors)"
OMP_DISPLAY_ENV=true OMP_PLACES=' {0:2}, {2}' OMP_PROC_BIND=spread,close "$peet" run --quiet --cores 4 -d run -- ./recorded >got 2>errors
grep -q "OMP_PROC_BIND='spread,close'" errors && grep -q "OMP_PLACES=' *{0:2}, {2}'" errors || fail "OMP_DISPLAY_ENV, lists: $(cat errors)"
OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='thread %n of %N' OMP_NUM_THREADS=2 "$peet" run --quiet -d run -- ./recorded >got
grep -q "^thread 1 of 2" got || fail "OMP_DISPLAY_AFFINITY: $(cat got)"

# A limit of threads holds for teams of several threads that come at once, below each other, too.
cat >limit.c <<'SOURCE'
#include <omp.h>
#include <stdio.h>
#include <unistd.h>
static int now, most;
int main(void)
{
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(5)
#pragma omp parallel num_threads(5)
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        most = ++now > most ? now : most;
        usleep(100);
#pragma omp critical
        now--;
    }
    printf("%d\n", most);
    return 0;
}
SOURCE
must "$peetcc" -O1 -fopenmp -fno-peet-schema-file -o limit limit.c
for machine in ideal bus; do
    OMP_THREAD_LIMIT=6 "$peet" run --quiet --machine $machine --cores 4 -d run -- ./limit >got 2>errors || fail "limit of threads: $(cat errors)"
    [ "$(cat got)" -le 6 ] || fail "limit of threads, on $machine: $(cat got) at once"
done
