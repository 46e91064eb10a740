# SPDX-License-Identifier: Apache-2.0
# Costs of instructions on a processor of choice: what `peet costs` shows and refuses, and a module of our own that asks for them while the
# program runs: both say the same of one binary on different processors.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -g -o sum sum.c

must "$peet" costs --list >names
for name in skylake-avx512 sapphirerapids znver4 haswell icelake-server atom silvermont x86-64; do
    grep -qx "$name" names || fail "$name is not listed"
done
every=3 # third processor that is listed; each at night, fewer in the sanitized build
[ -z "${PEET_SANITIZED:-}" ] || [ "$PEET_SANITIZED" = OFF ] || every=24
[ -z "${PEET_THOROUGH:-}" ] || every=1
for name in $(awk -v n=$every 'NR % n == 0' names); do
    "$peet" costs -mcpu="$name" >shown || fail "peet costs -mcpu=$name ended with status $?"
    grep -q "^$name, by the scheduling model of LLVM 22" shown || fail "$name: $(head -1 shown)"
done
refuses 2 "no processor 'skylake-avx12'; did you mean 'skylake-avx512'" "$peet" costs --mcpu=skylake-avx12 ./sum
refuses 2 "no processor 'riscv'" "$peet" costs -mcpu=riscv ./sum
refuses 2 'no function is named, or matches, product' "$peet" costs ./sum product
refuses 2 'carries no schema' "$peet" costs /bin/true
refuses 2 'nowhere' "$peet" costs ./nowhere
refuses 2 'one program and one function' "$peet" costs ./sum sum more
must "$peet" costs -m znver4 ./sum 's?m' >shown
grep -q '^function sum (.*sum.c:[0-9]*)' shown || fail "function sum is not shown"
grep -q '^function main' shown && fail "function main is shown"
grep -q 'MOV64rm\|IMUL64rr\|ADD64rr' shown || fail "no instructions: $(cat shown)"

# Three ways to name a processor, and the JSON form
must "$peet" costs --json -mcpu=haswell ./sum sum >a.json
must "$peet" costs --json --mcpu haswell ./sum sum >b.json
cmp a.json b.json || fail "-mcpu=haswell and --mcpu haswell differ"
[ "$("$json_get" a.json processor.name)" = haswell ] || fail "JSON: the processor's name"
[ "$("$json_get" a.json processor.dispatch_uops)" = 4 ] || fail "JSON: a Haswell dispatches 4 micro-operations"
[ "$("$json_get" a.json functions.0.name)" = sum ] || fail "JSON: the function's name"

# A table that is not there, is damaged, or another version's
mkdir -p lib/peet
refuses 1 'costs.bin.*No such file' env PEET_LIB="$PWD/lib" "$peet" costs
table=$PEET_PREFIX/lib/peet/costs.bin
head -c 100000 "$table" >lib/peet/costs.bin
refuses 2 'damaged table of costs' env PEET_LIB="$PWD/lib" "$peet" costs
{ head -c 8 "$table"; printf '\011\0\0\0'; tail -c +13 "$table"; } >lib/peet/costs.bin
refuses 2 'version 9; this peet reads version' env PEET_LIB="$PWD/lib" "$peet" costs
echo nonsense >lib/peet/costs.bin
refuses 2 'not a table of instruction costs' env PEET_LIB="$PWD/lib" "$peet" costs

# A module asks: micro-operations and latencies of all that is executed, and of sum() alone.
cat >mine.c <<'END'
#include <peet/module.h>
#include <string.h>
static const struct peet_param params[] = { { "mcpu", PEET_PARAM_STRING, "", "x86-64", "", "Processor" }, { 0 } };
static struct mine { const struct peet_env *env; const struct peet_processor *processor; uint64_t insns, uops, latency, guesses, executed[64]; } mine;
static void *create(const struct peet_env *env, const union peet_value *values)
{
    mine.env = env;
    mine.processor = env->processor(env, values[0].string);
    if (!mine.processor) {
        env->fail(env, "mine: %s", env->processor_error(env));
        return 0;
    }
    return &mine;
}
static void destroy(void *self) {}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    if (strcmp(event->block->function->name, "sum"))
        return 1;
    mine.executed[event->block->index & 63] += event->turns;
    for (unsigned i = 0; i < event->block->ninsns; i++) {
        const struct peet_cost *cost = mine.env->cost(mine.env, mine.processor, &event->block->insns[i]);
        mine.insns += event->turns, mine.uops += event->turns * cost->uops, mine.latency += event->turns * cost->latency_cycles;
        mine.guesses += !cost->known;
    }
    return 1;
}
static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "insns", mine.insns);
    env->stats_u64(env, node, "uops", mine.uops);
    env->stats_u64(env, node, "latency_cycles", mine.latency);
    env->stats_u64(env, node, "guesses", mine.guesses);
    struct peet_stats *list = env->stats_array(env, node, "executed");
    for (unsigned i = 0; i < 64; i++)
        env->stats_u64(env, list, 0, mine.executed[i]);
}
const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof(struct peet_module), .name = "mine", .summary = "Sums up costs", .kind = PEET_MACHINE,
    .needs = PEET_NEEDS_BLOCKS, .params = params, .create = create, .destroy = destroy, .block = block, .stats = stats,
};
END
must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o mine.so mine.c
"$peet" run -d refused --machine ./mine.so,mcpu=haswel -- ./sum >out.txt 2>err.txt && fail "haswel was accepted"
grep -q "did you mean 'haswell'" err.txt || fail "haswel: $(cat err.txt)"
for name in haswell znver4; do
    must "$peet" run --quiet -d "$name.out" --machine ./mine.so,mcpu="$name" -- ./sum 77 >out.txt
    must "$peet" costs --json -mcpu="$name" ./sum sum >all.json
    insns=$("$json_get" "$name.out/stats.json" mine.insns) uops=0 latency=0 n=0
    for ((b = 0; ; b++)); do
        index=$("$json_get" all.json "functions.0.blocks.$b.index" 2>/dev/null) || break
        times=$("$json_get" "$name.out/stats.json" "mine.executed.$index")
        for ((i = 0; ; i++)); do
            one=$("$json_get" all.json "functions.0.blocks.$b.instructions.$i.uops" 2>/dev/null) || break
            uops=$((uops + times * one)) n=$((n + times))
            latency=$((latency + times * $("$json_get" all.json "functions.0.blocks.$b.instructions.$i.latency_cycles")))
        done
    done
    echo "$name: $insns instructions, $uops uops, latencies $latency"
    [ "$insns" = "$n" ] && [ "$insns" -gt 50 ] || fail "$name: $insns instructions were executed, not $n"
    [ "$("$json_get" "$name.out/stats.json" mine.uops)" = "$uops" ] || fail "$name: micro-operations"
    [ "$("$json_get" "$name.out/stats.json" mine.latency_cycles)" = "$latency" ] || fail "$name: latencies"
    [ "$("$json_get" "$name.out/stats.json" mine.guesses)" = 0 ] || fail "$name: guesses"
done
cmp -s haswell.out/stats.json znver4.out/stats.json && fail "both processors are the same"
no_leftovers
