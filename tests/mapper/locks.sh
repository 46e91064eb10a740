# SPDX-License-Identifier: Apache-2.0
# Lock models on a machine with caches: mutual exclusion, their references, the same run twice.
. "$(dirname "$0")/lib.sh"
cat >count.c <<'END'
#include <pthread.h>
#include <stdio.h>
enum { THREADS = 8, TURNS = 100 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static long counts[2][16];
static void *work(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&lock);
        for (int k = 0; k < 16; k++)
            counts[0][k]++;
        pthread_mutex_unlock(&lock);
        pthread_spin_lock(&spin);
        counts[1][0]++;
        pthread_spin_unlock(&spin);
    }
    return arg;
}
int main(void)
{
    pthread_t thread[THREADS];
    pthread_spin_init(&spin, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    printf("%ld %ld %ld\n", counts[0][0], counts[0][15], counts[1][0]);
    return 0;
}
END
must "$peetcc" -O2 -pthread -o count count.c
# calls FILE NAME: how often a function of the report was called, 0 if never
calls() {
    "$PEET_PREFIX/tests/json-get" -r "$1" counts.functions name calls | awk -v name="$2" 'index($0, name) == 1 { n = $NF } END { print n + 0 }'
}
for machine in ideal bus; do
    for cores in 1 3 8; do
        for model in none tas ttas ticket mcs; do
            for winner in fcfs random; do # with one processor or one for each, random and the second time are for the thorough tests
                [ $winner = fcfs ] || [ $cores = 3 ] || [ -n "${PEET_THOROUGH:-}" ] || continue
                options="--machine $machine --cores $cores --lock-model $model --winner $winner --spin-quantum 500"
                must "$peet" run -q $options --observe hash --observe counts -d a -- ./count >a.out
                equal "counts, $options" "$(cat a.out)" "800 800 800"
                [ $cores = 3 ] || [ -n "${PEET_THOROUGH:-}" ] || continue
                must "$peet" run -q $options --observe hash -d b -- ./count >b.out
                equal "the second time, $options" "$(value b/stats.json hash.hash) $(value b/stats.json time.cycles)" \
                    "$(value a/stats.json hash.hash) $(value a/stats.json time.cycles)"
            done
            modified=$(calls a/stats.json "lock model: atomic")
            written=$(calls a/stats.json "lock model: write")
            case $model in
            none) [ "$modified" -eq 0 ] && [ "$written" -eq 0 ] || fail "$options: references without a model" ;;
            ticket) equal "draws, $options" "$modified" 1600 ;; # one for each lock, one store for each unlock
            *) [ "$modified" -ge 1600 ] || fail "$options: only $modified atomic references" ;;
            esac
            case $model in
            tas | ttas | ticket) equal "releases, $options" "$written" 1600 ;;
            esac
        done
    done
done
# The run's order of lock holders is the policy's: another one, another hash.
must "$peet" run -q --cores 8 --observe hash -d a -- ./count >a.out
must "$peet" run -q --cores 8 --winner lifo --observe hash -d b -- ./count >b.out
[ "$(value a/stats.json hash.hash)" != "$(value b/stats.json hash.hash)" ] || fail "fcfs and lifo are the same"
for bad in "--lock-model mcd" "--winner fcf" "--frequency 0" "--spin-quantum 0" "--ranges maybe"; do
    "$peet" run $bad -- ./count 2>err.txt && fail "$bad was taken"
    grep -q -- "${bad%% *}" err.txt || fail "the message does not name $bad"
done
grep -q "did you mean 'fcfs'" <("$peet" run --winner fcf -- ./count 2>&1) || fail "no nearest name"
