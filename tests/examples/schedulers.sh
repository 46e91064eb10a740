# SPDX-License-Identifier: Apache-2.0
# Schedulers of one's own (examples/scheduling), on machines that know nothing of them.
. "$(dirname "$0")/lib.sh"
# Cycles to the last one, of the program's own code.
export PEET_FOREIGN=ranges
must cc -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o minimal.so "$examples/module/minimal.c" # a machine
must "$peetcc" -O2 -o maximum "$examples/maximum/maximum.c"
must ./maximum 8 2000 >expected
for module in fair newest pauses; do
    must cc -shared -fPIC -O2 -Wall -Wextra -Werror -I"$PEET_PREFIX/include" -o $module.so "$examples/scheduling/$module.c"
done
cat >order.c <<'END'
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int order[6], n;
static void *run(void *arg)
{
    pthread_mutex_lock(&lock);
    order[n++] = (int)(long)arg;
    pthread_mutex_unlock(&lock);
    return 0;
}
int main(int argc, char **argv)
{
    pthread_t threads[6];
    if (argc > 1)
        pthread_mutex_lock(&lock);
    for (long i = 0; i < 6; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    if (argc > 1) {
        for (volatile int i = 0; i < 100000; i++)
            ;
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < 6; i++)
        printf("%d", order[i]);
    puts("");
    return 0;
}
END
must "$peetcc" -O1 -pthread -o order order.c
for machine in ideal bus x86; do
    for policy in fcfs:012345 ./newest.so:543210; do # one processor: threads start in the order in which it takes them
        must "$peet" run --quiet --machine $machine --policy ${policy%:*} -d order.out -- ./order >got
        [ "$(cat got)" = ${policy#*:} ] || fail "$machine, --policy $policy: $(cat got)"
    done
    for winner in fcfs:012345 lifo:543210 ./newest.so:543210; do # all wait for one lock; on x86 they come to it in another order
        [ $machine != x86 ] || [ $winner = ./newest.so:543210 ] || continue
        must "$peet" run --quiet --machine $machine --cores 7 --winner ${winner%:*} -d order.out -- ./order locked >got
        [ "$(cat got)" = ${winner#*:} ] || fail "$machine, --winner $winner: $(cat got)"
    done
done

# The effective configuration repeats the run, also elsewhere; files name modules, too; the last word holds.
mkdir -p elsewhere
(cd elsewhere && "$peet" run --quiet -c ../order.out/config.cfg -d again -- ../order locked) >got || fail "the effective configuration, elsewhere"
[ "$(cat got)" = 543210 ] || fail "the effective configuration, elsewhere: $(cat got)"
echo 'policy = "./newest.so"; observers = ( { module = "counts"; } );' >policy.cfg
must "$peet" run --quiet -c policy.cfg -d order.out -- ./order >got
[ "$(cat got)" = 543210 ] || fail "a policy from a file: $(cat got)"
"$PEET_PREFIX/tests/json-get" -r order.out/stats.json counts.functions '#' >/dev/null ||
    fail "a policy takes the observers' place"
must "$peet" run --quiet -c policy.cfg --policy fcfs -d order.out -- ./order >got
[ "$(cat got)" = 012345 ] || fail "--policy fcfs over a file: $(cat got)"

# fair: of two threads on one processor that yield all the time, and one of which does three times the work of the other in between, each
# gets half of the instructions until one is done; first come, first served gives the one three quarters.
cat >share.c <<'END'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
static volatile int done;
static long rounds[2];
static void *run(void *arg)
{
    const long me = (long)arg;
    for (; !done; rounds[me]++) {
        for (volatile int i = 0; i < (me ? 900 : 300); i++)
            ;
        if (rounds[me] == 3000)
            done = 1;
        sched_yield();
    }
    return 0;
}
int main(void)
{
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%ld\n", rounds[0] / (rounds[1] ? rounds[1] : 1));
    return 0;
}
END
must "$peetcc" -O1 -pthread -o share share.c
for policy in fcfs:1 ./fair.so:2 ; do
    must "$peet" run --quiet --policy ${policy%:*} -d share.out -- ./share >got
    [ "$(cat got)" -ge ${policy#*:} ] && [ "$(cat got)" -le $((${policy#*:} * 3 / 2)) ] || fail "--policy $policy: $(cat got) rounds for one"
done
[ "$(value share.out/stats.json fair.picks_out_of_turn)" -gt 100 ] || fail "fair never chose another than the first"

# not_ready_until(): all time is instructions and pauses, and pauses are stalls.
must "$peet" run --quiet --machine ./pauses.so,burst=1000,rest=500 -d pauses.out -- ./maximum 8 2000 >got
same expected got "pauses"
instructions=$(value pauses.out/stats.json totals.instructions) pauses=$(value pauses.out/stats.json pauses.pauses)
[ "$pauses" -gt 5 ] || fail "pauses: $pauses pauses in $instructions instructions"
[ "$(value pauses.out/stats.json time.cycles)" = $((instructions + 500 * pauses)) ] || fail "pauses: time"
[ "$("$PEET_PREFIX/tests/json-get" -r pauses.out/stats.json hw stalled_cycles)" = $((500 * pauses)) ] || fail "pauses: stalls"

# Refused: who decides nothing of the kind, is no observer, is not there; a choice beyond the list ends the run.
says() {
    local text=$1
    shift
    "$peet" run --quiet -d bad "$@" -- ./order >/dev/null 2>message && fail "accepted: $*"
    grep -q -e "$text" message || fail "$*: $(cat message)"
}
cat >wrong.c <<'END'
#include <peet/module.h>
static void *create(const struct peet_env *env, const union peet_value *values) { static int one; (void)env, (void)values; return &one; }
static void destroy(void *self) { (void)self; }
static unsigned pick_context(void *self, unsigned hw, const uint32_t *ready, unsigned n, uint64_t now) { (void)self, (void)hw, (void)ready, (void)now; return n; }
const struct peet_module peet_module = { .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "wrong", .kind = PEET_OBSERVER,
    .summary = "wrong", .create = create, .destroy = destroy, .pick_context = pick_context };
END
must cc -shared -fPIC -O2 -Wall -Wextra -Werror -I"$PEET_PREFIX/include" -o wrong.so wrong.c
says 'has no pick_winner()' --winner ./wrong.so
says 'give it with --machine' --policy ./minimal.so
says 'nowhere.so' --policy ./nowhere.so
says "fcfs|rr|affinity" --policy newest.so
says 'wrong: pick_context() chose entry [0-9]* of' --policy ./wrong.so
says "unknown parameter\|no parameter" --policy ./newest.so,speed=3
