# SPDX-License-Identifier: Apache-2.0
# Modules that say what cannot be: the run ends with module, operation and value, never with a result that is nonsense.
. "$(dirname "$0")/lib.sh"
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
