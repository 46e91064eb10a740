# SPDX-License-Identifier: Apache-2.0
# A profile whose blocks are counted in machine code says the same, to the last number, as one that gets every block as an event: while `hash` looks
# on, nothing is counted in code, and while dtrack does, which wants to hear of lost lines, bus takes each miss the long way.
. "$(dirname "$0")/../lib.sh"
must "$peetcxx" -O2 -g -pthread -o leaving "$here/leaving.cpp"
for name in back callbacks jumps recursion sort state tails unseen vectors; do
    must "$peetcc" -O2 -g -o $name "$here/programs/$name.c" -lm
done
for name in vm queens; do
    must "$peetcc" -O2 -g -o $name "$PEET_SOURCE/bench/programs/$name.c"
done
alike() {
    local cores=$1 machine=$2
    shift 2
    must timeout -k 1 100 "$peet" run -q --machine "$machine" --cores $cores --observe profile -d counted -- "$@" >counted.txt
    must timeout -k 1 100 "$peet" run -q --machine "$machine" --cores $cores --observe profile --observe hash --observe dtrack -d seen -- "$@" >seen.txt
    same counted.txt seen.txt
    same_stats 'del(.peet, .config, .hash, .host, .dtrack)' '.profile.functions | length > 1' {seen,counted}/stats.json ||
        fail "$cores processors, $machine, $*: other numbers"
}
machines=(ideal bus,cache=2KiB,line=32,ways=4,cpi=0.7,protocol=msi bus,cache=3KiB,line=64,ways=16,hit_cycles=2,protocol=dragon numa,cache=8KiB)
[ -z "${PEET_THOROUGH:-}" ] ||
    machines+=(bus bus,cache=4KiB,line=16,ways=2 bus,cache=8KiB,line=8,ways=8,protocol=write-once bus,cache=32KiB,line=64,ways=8)
for machine in "${machines[@]}"; do
    for cores in 1 4; do
        alike $cores $machine ./leaving 2
    done
done
some=2
[ -z "${PEET_THOROUGH:-}" ] || some=${#machines[@]}
for name in back callbacks jumps recursion sort state tails unseen vectors; do # each on two of them by turns, or on all
    for machine in "${machines[@]:0:$some}"; do
        alike 1 $machine ./$name
    done
    machines=("${machines[@]:1}" "${machines[0]}")
done
alike 1 ideal ./vm 10000 12 # an interpreter: blocks that come often, by turns
alike 1 bus ./vm 3000 6
alike 1 bus ./queens 9
# libraries' operations on ranges, several threads at once: some of what is counted is undone
cat >sorts.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { THREADS = 4, KEYS = 900 };
static unsigned keys[THREADS][KEYS], copies[THREADS][KEYS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int less(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}
static void *sort(void *arg)
{
    const long me = (long)arg;
    unsigned state = (unsigned)me + 7;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < KEYS; i++)
            keys[me][i] = state = state * 1664525 + 1013904223;
        qsort(keys[me], KEYS, sizeof keys[me][0], less);
        pthread_mutex_lock(&lock);
        memcpy(copies[me], keys[me], sizeof keys[me]);
        if (memcmp(copies[me], copies[(me + 1) % THREADS], 64) < 0)
            state++;
        pthread_mutex_unlock(&lock);
        memset(keys[me], round, 100 * (size_t)(me + 1));
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[THREADS];
    unsigned sum = 0;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, sort, (void *)i);
    for (long i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        sum += copies[i][KEYS / 2];
    printf("%u\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o sorts sorts.c
for machine in ideal bus,cache=2KiB,line=32,ways=4; do
    for cores in 1 3 4; do
        alike $cores $machine ./sorts
    done
done
# what a library calls is below the function that went there by a tail call, and a call in pieces is one
must "$peet" run -q --foreign=ranges --observe profile --observe counts -d unseen.out -- ./unseen >said.txt
equal "who sorts" "$(jq -r '[.profile.calls[] | select(.callee == "compare" or .callee == "qsort") | .caller] | unique | join(" ")' unseen.out/stats.json)" sort
equal "calls of qsort()" "$(jq '[.profile.functions[] | select(.name == "qsort").calls] | add' unseen.out/stats.json)" \
    "$(jq '[.counts.functions[] | select(.name == "qsort").calls] | add' unseen.out/stats.json)"
# code of libraries, too, where blocks of several functions stand in one piece of machine code
for name in callbacks unseen; do
    for run in counted seen; do
        observe=(--observe profile)
        [ $run = counted ] || observe+=(--observe hash)
        must timeout -k 1 100 "$peet" run -q --foreign=record --machine bus "${observe[@]}" -d $run -- ./$name >$run.txt
    done
    same_stats 'del(.peet, .config, .hash, .host)' '.profile.functions | length > 1' {seen,counted}/stats.json ||
        fail "$name with its libraries: other numbers"
done
# call sites of one function have a path each, and the same path of two contexts is one
cat >sites.c <<'END'
#include <pthread.h>
static volatile int sum;
__attribute__((noinline)) static void leaf(void) { sum++; }
static void *work(void *n)
{
    leaf();
    for (int i = 0; i < *(int *)n; i++)
        leaf();
    return 0;
}
int main(void)
{
    static int n[2] = {3, 5};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, work, &n[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
END
must "$peetcc" -O1 -g -pthread -o sites sites.c
must "$peet" run -q --observe profile --cores 2 -d sites.out -- ./sites
equal "paths to leaf(): line and calls" '[[6,2],[8,8]]' \
    "$(jq -c '[.profile.paths[] | select(.function == "leaf") | [.line, .calls]] | sort' sites.out/stats.json)"
equal "instructions of leaf(): of all contexts, and by itself" \
    "$(jq '[.profile.contexts[].functions[] | select(.name == "leaf").instructions] | add' sites.out/stats.json)" \
    "$(jq '[.profile.functions[] | select(.name == "leaf").instructions] | add' sites.out/stats.json)"
# what a machine charges a context before its first function is in all sums, too
cat >outside.c <<'END'
int main(void)
{
    static long a[64];
    for (int r = 0; r < 3; r++)
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 64; i++)
            a[i] += i;
    return a[5] != 15;
}
END
must "$peetcc" -O1 -g -fopenmp -o outside outside.c
for machine in ideal bus numa x86; do
    must timeout -k 1 60 "$peet" run -q --machine $machine --cores 4 --observe profile -d outside.out -- ./outside
    jq -r '.profile as $p | "functions", "lines", "paths", "contexts" | . as $sums | "instructions", "cycles", "waited_cycles" |
        "\(.) of \($sums): \($p.totals[.] // 0) \([$p[$sums][][.] // 0] | add)"' outside.out/stats.json >sums.txt
    [ "$(wc -l <sums.txt)" = 12 ] || fail "$machine: no sums: $(cat sums.txt)"
    awk -v machine=$machine '$(NF - 1) != $NF { print machine ": " $0; wrong = 1 } END { exit wrong }' sums.txt || fail "sums differ from totals"
done
