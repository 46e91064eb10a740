# SPDX-License-Identifier: Apache-2.0
# Followers in processes of their own have the results that they have in one process, on one processor of the host; by the tags of their
# caches they have those that they have block by block, reference by reference (check=on).  Also of blocks that come into being while the
# program runs: operations of the C library, code that is translated, libraries that are loaded.  A follower's process that is killed fails alone.
. "$(dirname "$0")/lib.sh"

[ "$(nproc)" -gt 1 ] || echo "one processor: there is nothing to compare with"
[ -n "$(command -v taskset)" ] || exit 77

# follower FILE N: the object of the Nth follower, from 1, of a stats.json, as text without its number
follower() {
    awk -v wanted="$2" '
        /^ "followers": / { inside = 1 }
        inside && /^ \],?$/ { exit }
        inside && /^   "number": / { n++; next }
        inside && n == wanted && /^   / { print }' "$1"
}

cat >ranges.c <<'END2'
#include <dlfcn.h>
#include <peet/roi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char shared[1 << 14];
static int (*late)(int);
static void *work(void *arg)
{
    char own[3000];
    for (int i = 0; i < 40; i++) {
        memset(own, i, sizeof own);
        memcpy(shared + 64 * i, own, 200 + (size_t)arg);
        own[i] = (char)late(memcmp(shared, own, 100));
    }
    return memchr(own, 3, sizeof own) ? arg : 0;
}
static int compare(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
int main(void)
{
    pthread_t threads[3];
    late = (int (*)(int))dlsym(dlopen("./late.so", RTLD_NOW), "late");
    peet_roi_begin();
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (long i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    peet_roi_end();
    qsort(shared, 500, 1, compare);
    printf("%d\n", shared[400]);
    return 0;
}
END2
cat >late.c <<'END2'
static int table[999];
int late(int by)
{
    int sum = 0;
    for (int i = 0; i < 999; i += 7)
        sum += table[i] += by & 3;
    return sum;
}
END2
must "$peetcc" -O2 -shared -fPIC -o late.so late.c
must "$peetcc" -O2 -pthread -o ranges ranges.c -ldl
for name in barnes fft lu mg pipeline; do
    must "$peetcc" -O2 -pthread -fopenmp -o $name "$PEET_SOURCE/bench/threads/$name.c" -lm
done

# compare PROGRAM OPTIONS...: three runs with the same followers
compare() {
    local program=$1 machines n=0 follow=() checked=()
    shift
    machines="bus,cache=4KiB,line=64 bus,cache=2KiB,ways=4,line=16,cpi=1.3 bus,protocol=dragon,cache=8KiB bus,protocol=berkeley,cache=8KiB \
        bus,cache=4KiB,protocol=through bus,cache=4KiB,replacement=random bus,cache=8KiB,classify=off"
    for machine in $machines; do
        follow+=(--follow "$machine")
        checked+=(--follow "$machine,check=on")
    done
    # shellcheck disable=SC2086
    for run in away here checked; do
        local with=("${follow[@]}") where=()
        [ $run != here ] || where=(taskset -c "$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')")
        [ $run != checked ] || with=("${checked[@]}")
        # the same modules in all: where the kernel puts a library that the program loads depends on what is there
        with+=(--follow numa,cache=4KiB --follow bus,arbitration=rr --follow ideal)
        must ${where[@]+"${where[@]}"} "$peet" run -q --cores 4 --machine bus,cache=16KiB "$@" "${with[@]}" -d $run -- ./$program >out.$run
    done
    same out.away out.here "output of $program"
    for machine in $machines numa bus,arbitration ideal; do
        n=$((n + 1))
        follower away/stats.json $n >one
        [ -s one ] || fail "no follower $n"
        follower here/stats.json $n >other
        same one other "$program: follower $n, $machine, in its own process and in one for all"
    done
    n=0
    for machine in $machines; do
        n=$((n + 1))
        follower away/stats.json $n >one
        follower checked/stats.json $n >other
        [ "$(wc -l <one)" -gt 20 ] || fail "no results of follower $n"
        same one other "$program: follower $n, $machine, by tags and reference by reference"
    done
}
compare "barnes 4 60 2"
compare "fft 4 8 2"
compare "lu 4 48 16"
compare "mg 4 3 2" --observe hash
compare "pipeline 4 200"
compare ranges
compare ranges --foreign=record
compare ranges --lock-model ttas
compare ranges --roi=only

# What lies outside regions of interest, followers do not see either.
must "$peet" run -q --cores 4 --roi=only --machine bus,cache=16KiB --follow bus,cache=16KiB -d regions -- ./ranges >out.regions
for what in reads writes hits misses; do
    equal "$what of the follower in regions" "$(value regions/stats.json followers.0.bus.totals.$what)" "$(value regions/stats.json bus.totals.$what)"
done
[ "$(value regions/stats.json bus.totals.reads)" -lt "$(value regions/stats.json totals.reads)" ] ||
    fail "all of the program lies in regions"

# The machine itself, running ahead and reference by reference, where two references of a block come to lie in one line.
for machine in bus,cache=2KiB,ways=4,line=8 bus,cache=2KiB,ways=4,line=16; do
    for run in ahead checked; do
        check=off
        [ $run = ahead ] || check=on
        must "$peet" run -q --cores 4 --machine $machine,check=$check -d $run -- ./lu 4 48 16 >out.$run
        grep -A200 '^ "bus": ' $run/stats.json >bus.$run
    done
    same bus.ahead bus.checked "lu on $machine, running ahead and checked"
done
true
