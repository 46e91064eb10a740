# SPDX-License-Identifier: Apache-2.0
# Modules that say what cannot be: the run ends with module, operation and value, never with a result that is nonsense.
. "$(dirname "$0")/lib.sh"
export PEET_FOREIGN=ranges # the first blocks that the module meets are the program's own
write_sum
must "$peetcc" -O2 -o sum sum.c
cat >odd.c <<'END_OF_C'
#include <peet/module.h>
enum { NONE, MINUS, MAX, PAST, FAR, ABSTRACT, SUM, LOOP };
static const struct peet_param params[] = {
    { "does", PEET_PARAM_ENUM, "", "none", "none|minus|max|past|far|abstract|sum|loop", "What it does wrong" }, { 0 }
};
static const struct peet_env *env;
static uint64_t does, n;
static void *create(const struct peet_env *its, const union peet_value *values)
{
    env = its;
    does = values[0].u64;
    return &does;
}
static void destroy(void *self) {}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    if (++n < 5)
        return 2;
    if (does == PAST)
        env->not_ready_until(env, hw, now - 1);
    if (does == FAR)
        env->not_ready_until(env, hw, UINT64_MAX);
    return does == MINUS ? (uint64_t)-5 : does == MAX ? UINT64_MAX : does == SUM ? (1ull << 56) - 1 : 2;
}
static uint64_t loop(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until, uint64_t *turns)
{
    *turns = does == SUM ? 1 : event->turns;
    if (does == SUM)
        return (1ull << 56) - 1;
    return does == LOOP ? (uint64_t)-1000 : 2 * event->turns;
}
static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    return does == ABSTRACT ? (uint64_t)-7 : 0;
}
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "odd", .summary = "Wrong on purpose", .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ABSTRACT, .params = params, .create = create, .destroy = destroy, .block = block,
    .abstract = abstract, .loop = loop,
};
END_OF_C
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o odd.so odd.c

# wrong WHAT TEXT: it ends with status 1 and says TEXT
wrong() {
    status=0
    "$peet" run -q -d out --machine ./odd.so,does="$1" -- ./sum 1000 >/dev/null 2>err.txt || status=$?
    cat err.txt
    [ $status -eq 1 ] || fail "$1: status $status"
    grep -q -e "^peet: odd: $2" err.txt || fail "$1: not said: $2"
}
must "$peet" run -q -d out --machine ./odd.so -- ./sum 1000 >/dev/null
wrong minus 'block().*18446744073709551611.*(-5 as'
wrong max 'block().*18446744073709551615'
wrong sum 'with the 72057594037927935 cycles of loop() the clock of hardware context 0 passes 2^62'
wrong loop 'loop().*18446744073709550616.*(-1000 as'
wrong abstract 'abstract().*18446744073709551609'
wrong past 'not_ready_until() of hardware context 0 with cycle \([0-9]*\), which is past at cycle'
wrong far 'not_ready_until() of hardware context 0 with cycle 18446744073709551615'

# In pull form the machine charges.
cat >pull.c <<'END_OF_C'
#include <peet/module.h>
static const struct peet_env *env;
static void *create(const struct peet_env *its, const union peet_value *values) { env = its; return &env; }
static void destroy(void *self) {}
static int run(void *self)
{
    struct peet_pull event;
    for (int n = 0; env->pull(env, 0, &event) == 0 && event.kind != PEET_PULL_END; n++)
        if (event.kind == PEET_PULL_BLOCK || event.kind == PEET_PULL_ABSTRACT)
            env->charge(env, 0, n < 20 ? 3 : (uint64_t)-3);
    return 0;
}
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "odd", .summary = "Wrong on purpose", .kind = PEET_MACHINE,
    .create = create, .destroy = destroy, .main = run,
};
END_OF_C
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o odd.so pull.c
status=0
"$peet" run -q -d out --machine ./odd.so -- ./sum 1000 >/dev/null 2>err.txt || status=$?
[ $status -eq 1 ] && grep -q '^peet: odd: charge().*(-3 as' err.txt || fail "pull form: status $status: $(cat err.txt)"

# Services at the wrong time or with what cannot be; observers do not make time; a follower's times are looked at, too.
cat >services.c <<'END_OF_C'
#include <peet/module.h>
#include <string.h>
#ifndef KIND
#define KIND PEET_MACHINE
#endif
static const struct peet_param params[] = { { "does", PEET_PARAM_STRING, "", "none", "", "What it does wrong" }, { 0 } };
static const struct peet_env *env;
static const char *does;
static uint64_t n;
#define DOES(what) (!strcmp(does, what))
static void *create(const struct peet_env *its, const union peet_value *values)
{
    const struct peet_memory_level none[] = { { 0 } }, one[] = { { "L1", 1024, 64, 1 } };
    env = its;
    does = values[0].string;
    if (DOES("early"))
        env->not_ready_until(env, 0, 5);
    if (DOES("levels"))
        env->describe_memory(env, none, 1);
    if (DOES("null"))
        env->describe_memory(env, NULL, 1);
    if (KIND == PEET_MACHINE)
        env->describe_memory(env, one, 1);
    return &n;
}
static void destroy(void *self) {}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct peet_memory_event e = { .type = PEET_MEMORY_MISS, .level = 1, .other = PEET_MEMORY_NOBODY };
    const struct peet_memory_level one[] = { { "L1", 1024, 64, 1 } };
    if (++n != 7)
        return 1;
    if (DOES("wait"))
        env->not_ready_until(env, hw, now + 100);
    if (DOES("past"))
        env->not_ready_until(env, hw, now - 1);
    if (DOES("far"))
        env->not_ready_until(env, hw, UINT64_MAX);
    if (DOES("clock"))
        env->clock(env, 77);
    if (DOES("charge"))
        env->charge(env, 0, 5);
    if (DOES("hertz"))
        env->set_frequency(env, 5);
    if (DOES("late"))
        env->describe_memory(env, one, 1);
    if (DOES("whose"))
        e.hw = 99;
    if (DOES("who"))
        e.other = 98;
    if (DOES("what"))
        e.type = 77;
    if (DOES("why"))
        e.cause = 99;
    if (DOES("long"))
        e.cycles = UINT64_MAX;
    if (KIND == PEET_MACHINE || DOES("miss"))
        env->report(env, &e, 1);
    if (DOES("file"))
        env->write_file(env, "stats.json", "x", 1);
    return DOES("minus") ? (uint64_t)-5 : 1;
}
#ifdef FEWER
static uint64_t blocks(void *self, unsigned hw, const struct peet_block_event *events, size_t k, uint64_t now, uint64_t until, size_t *done)
{
    uint64_t cycles = 0;
    for (*done = 0; *done < k; ++*done)
        cycles += block(self, hw, events + *done, now + cycles);
    if (DOES("fewer"))
        *done = k - 1;
    return cycles;
}
#endif
static void stats(void *self, const struct peet_env *its, struct peet_stats *node)
{
    env->stats_u64(env, node, "key", 1);
    if (DOES("twice"))
        env->stats_u64(env, node, "key", 2);
    for (int i = 0; DOES("deep") && i < 100000; i++)
        node = env->stats_object(env, node, "in");
}
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "odd", .summary = "Wrong on purpose", .kind = KIND,
    .needs = PEET_NEEDS_BLOCKS, .params = params, .create = create, .destroy = destroy, .block = block, .stats = stats,
#ifdef FEWER
    .blocks = blocks,
#endif
};
END_OF_C
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o machine.so services.c
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -DKIND=PEET_OBSERVER -I"$PEET_PREFIX/include" -o observer.so services.c
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -DFEWER -I"$PEET_PREFIX/include" -o fewer.so services.c

# service STATUS WHAT TEXT OPTIONS...: with each of them it ends with that status and says TEXT
service() {
    local wanted=$1 what=$2 text=$3 option
    shift 3
    for option; do
        status=0
        "$peet" run -q -d out -o dtrack $option,does="$what" -- ./sum 1000 >/dev/null 2>err.txt || status=$?
        [ $status -eq $wanted ] || fail "$option, $what: status $status: $(cat err.txt)"
        [ $wanted -eq 0 ] || grep -q -e "^peet: .*odd: $text" err.txt || fail "$option, $what: not said: $text: $(cat err.txt)"
    done
}
machine="--machine ./machine.so" follower="--follow ./machine.so" observer="--observe ./observer.so"
service 0 none '' "$machine" "$follower" "$observer"
service 0 wait '' "$machine" "$follower"
service 1 wait "not_ready_until(): time is the machine's" "$observer"
service 1 past 'not_ready_until() of hardware context 0 with cycle [0-9]*, which is past at cycle' "$machine" "$follower"
service 1 far 'not_ready_until() .*beyond 2^62' "$machine" "$follower"
service 2 early 'not_ready_until() in create()' "$machine"
service 2 levels 'describe_memory(): level 1 of 1 lacks' "$machine"
service 2 null 'describe_memory(): level 1 of 1 lacks' "$machine"
service 1 late 'describe_memory(): outside create()' "$machine" "$observer"
service 1 clock 'clock(): there is no hardware context 77' "$machine" "$follower" "$observer"
service 1 charge 'charge() of hardware context 0 outside main()' "$machine" "$follower" "$observer"
service 1 hertz 'set_frequency()' "$machine" "$follower" "$observer"
service 1 miss 'report(): only the machine has a memory system' "$observer"
service 1 whose 'report() with a hardware context that cannot be: .*hardware context 99' "$machine"
service 1 who 'report() with another hardware context that cannot be: .*other 98' "$machine"
service 1 what 'report() with a type that cannot be: type 77' "$machine"
service 1 why 'report() with a cause that cannot be: .*cause 99' "$machine"
service 1 long 'report() with a number of cycles that cannot be: .*18446744073709551615 cycles' "$machine"
service 1 file "write_file(): 'stats.json' is not a name that" "$machine" "$follower" "$observer"
service 1 minus 'block() of hardware context 0 said .* it took .*([-0-9]* as' "$machine" "$follower"
service 1 fewer 'blocks() took [0-9]* of [0-9]* blocks' "--follow ./fewer.so"
service 1 twice "statistics: cannot add 'key' (it is there already)" "$machine" "$follower" "$observer"
service 1 deep "statistics: cannot add 'in' (objects within objects, too deep)" "$machine" "$follower" "$observer"
