# SPDX-License-Identifier: Apache-2.0
# A module with objects of its thread, and a program whose threads take turns.
. "$(dirname "$0")/lib.sh"

# The module always runs on the same thread, whatever contexts it has left.
cat >locals.c <<'END'
#include <peet/module.h>
static uint64_t all;
static _Thread_local uint64_t mine;
static void *create(const struct peet_env *env, const union peet_value *values) { return &all; }
static void destroy(void *self) {}
static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "all", all);
    env->stats_u64(env, node, "mine", mine);
}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    all++, mine++;
    return event->block->ninsns;
}
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "locals", .summary = "Counts twice",
    .kind = PEET_MACHINE, .needs = PEET_NEEDS_BLOCKS, .create = create, .destroy = destroy, .block = block, .stats = stats,
};
END
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o locals.so locals.c
cat >locking.c <<'END'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turns;
static void *work(void *arg)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        turns++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return turns != 300;
}
END
must "$peetcc" -O1 -pthread -o locking locking.c
must "$peet" run --quiet -n 3 -d locals --machine ./locals.so -- ./locking
all=$(value locals/stats.json locals.all) mine=$(value locals/stats.json locals.mine)
[ "$all" -gt 900 ] && [ "$all" = "$mine" ] || fail "of $all blocks a thread-local object counts $mine"
