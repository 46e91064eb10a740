# SPDX-License-Identifier: Apache-2.0
# A module that crashes, aborts, asks for what cannot be or never comes back ends the run: it is named, and what others have
# measured is written.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
must "$peet" run -q -d whole --observe counts -- ./sum 1000 >/dev/null
cat >odd.c <<'END_OF_C'
#include <peet/module.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef KIND
#define KIND PEET_OBSERVER
#endif
enum { NONE, CRASH, ABORT, HANG, SLEEP, FINISH, STATS, NODE, ENV, SAID, SERVICE, MADE, MADE_HANGS, SILENT, EXIT };
static const struct peet_param params[] = {
    { "does", PEET_PARAM_ENUM, "", "none", "none|crash|abort|hang|sleep|finish|stats|node|env|said|service|made|made_hangs|silent|exit", "What it does wrong" }, { 0 }
};
static const struct peet_env *env;
static uint64_t does, n;
static int *volatile nowhere;
static volatile int going = 1;
static void *create(const struct peet_env *its, const union peet_value *values)
{
    env = its;
    does = values[0].u64;
    if (does == MADE)
        *nowhere = 1;
    while (does == MADE_HANGS && going)
        ;
    return does == SILENT ? NULL : &does;
}
static void destroy(void *self) {}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    if (++n < 20)
        return 2;
    if (does == CRASH)
        *nowhere = 1;
    if (does == ABORT)
        abort();
    if (does == EXIT)
        exit(9);
    if (does == SAID)
        env->fail(env, "no more");
    if (does == SERVICE) /* of modules that need data: it is NULL */
        env->data_of(env, 0, NULL);
    while (does == HANG && going)
        ;
    while (does == SLEEP && going)
        pause();
    return 2;
}
static void finish(void *self, uint64_t end_cycles)
{
    if (does == FINISH)
        *nowhere = 1;
}
static void stats(void *self, const struct peet_env *its, struct peet_stats *node)
{
    env->stats_u64(env, node, "blocks", n);
    if (does == STATS)
        env->stats_u64(env, node, NULL, 1);
    if (does == NODE)
        env->stats_u64(env, NULL, "key", 1);
    if (does == ENV)
        env->stats_u64(NULL, NULL, NULL, 1);
}
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "odd", .summary = "Wrong on purpose", .kind = KIND,
    .needs = PEET_NEEDS_BLOCKS, .params = params, .create = create, .destroy = destroy, .block = block, .finish = finish, .stats = stats,
};
END_OF_C
must "$PEET_PLAIN_CC" -shared -fPIC -O1 -I"$PEET_PREFIX/include" -o odd.so odd.c
must "$PEET_PLAIN_CC" -shared -fPIC -O1 -DKIND=PEET_MACHINE -I"$PEET_PREFIX/include" -o machine.so odd.c

# broken WHAT TEXT: status 1, TEXT is said, results are there
broken() {
    status=0
    rm -rf out
    "$peet" run -q -d out --observe counts --observe ./odd.so,does="$1" -- ./sum 1000 >/dev/null 2>err.txt || status=$?
    cat err.txt
    [ $status -eq 1 ] || fail "$1: status $status"
    grep -q -e "^peet: odd: .*$2" err.txt || fail "$1: not said: $2"
    value out/stats.json odd.failed >failed.txt
    grep -q -e "$2" failed.txt || fail "$1: not in stats.json: $2"
}
# As far as it went: counts has seen every block, and the engine has booked all but the batch under way.
agree() {
    local seen booked
    seen=$(value out/stats.json counts.instructions) booked=$(value out/stats.json totals.instructions)
    [ "$seen" -gt 0 ] && [ "$seen" -ge "$booked" ] || fail "$1: $seen instructions seen, $booked booked"
}
must "$peet" run -q -d out --observe counts --observe ./odd.so -- ./sum 1000 >/dev/null
for what in crash abort exit said service; do
    case $what in
    crash) broken crash 'failed in its block(): Segmentation fault at address 0x0' ;;
    abort) broken abort 'failed in its block(): Aborted' ;;
    exit) broken exit 'failed in its block(): Aborted' ;; # it would have taken the run with it
    said) broken said 'no more' ;;
    service) broken service 'failed in its block(): Segmentation fault at address 0x0' ;;
    esac
    equal "$what: reason" "$(value out/stats.json end.reason)" module
    agree $what
done
# At the end nothing is lost but its own.
whole=$(value whole/stats.json totals.instructions)
for what in finish stats node env; do
    case $what in
    finish) broken finish 'failed in its finish(): Segmentation fault' ;;
    env) broken env 'failed in its stats(): Segmentation fault' ;;
    *) broken $what 'cannot add' ;;
    esac
    equal "$what: all was counted" "$(value out/stats.json counts.instructions)" "$whole"
done
# A machine, with an observer's results.
status=0
"$peet" run -q -d out --machine ./machine.so,does=crash --observe counts -- ./sum 1000 >/dev/null 2>err.txt || status=$?
[ $status -eq 1 ] && grep -q '^peet: odd: it failed in its block(): Segm' err.txt || fail "machine: status $status: $(cat err.txt)"
[ "$(value out/stats.json counts.instructions)" -gt 0 ] || fail "machine: nothing was counted"

# While it is made nothing is measured yet, but it is named.
for role in "--observe ./odd.so" "--machine ./machine.so" "--follow ./machine.so"; do
    status=0
    "$peet" run -q -d out $role,does=made -- ./sum 1000 >/dev/null 2>err.txt || status=$?
    [ $status -eq 1 ] && grep -q '^peet: odd: it failed in its create(): Segmentation fault at address 0x0' err.txt ||
        fail "made, $role: status $status: $(cat err.txt)"
    refuses 2 '^peet: odd: .*without saying why' "$peet" run -q -d out $role,does=silent -- ./sum 1000
done

# It hangs: the first signal ends the run.
set -m # not to have background jobs ignore SIGINT
for what in hang sleep; do
    for signal in INT TERM; do
        rm -rf out
        "$peet" run -q -d out --observe counts --observe ./odd.so,does=$what -- ./sum 1000 >/dev/null 2>err.txt &
        pid=$!
        for _ in $(seq 200); do [ -e out/config.cfg ] && break; sleep 0.05; done
        sleep 1
        kill -$signal $pid
        for _ in $(seq 600); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
        kill -0 $pid 2>/dev/null && kill -KILL $pid && fail "$what: SIG$signal did not end it"
        status=0
        wait $pid || status=$?
        cat err.txt
        [ $status -eq $((128 + $(kill -l $signal))) ] || fail "$what: SIG$signal: status $status"
        grep -q '^peet: odd: it hangs in its block()' err.txt || fail "$what: SIG$signal: $(cat err.txt)"
        agree "$what $signal"
    done
done
rm -rf out
"$peet" run -q -d out --observe ./odd.so,does=made_hangs -- ./sum 1000 >/dev/null 2>err.txt &
pid=$!
sleep 1.5
kill -TERM $pid
for _ in $(seq 600); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
kill -0 $pid 2>/dev/null && kill -KILL $pid && fail "a module that hangs while it is made: SIGTERM did not end it"
status=0
wait $pid || status=$?
[ $status -eq 143 ] && grep -q '^peet: odd: it hangs in its create()' err.txt || fail "made: status $status: $(cat err.txt)"
exit 0
