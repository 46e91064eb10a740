# SPDX-License-Identifier: Apache-2.0
# Modules and their parameters, wrong and foreign ones, and one of our own built outside the tree.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
run() { local text=$1; shift; refuses 2 "$text" "$peet" run "$@"; absent peet.out; }

run "did you mean 'bus'" --machine buss -- ./sum
run "^peet: .*no module 'zzzzzzzz'" --machine zzzzzzzz -- ./sum
run "did you mean 'counts'" --observe count -- ./sum
run "unknown parameter 'protocl'.*did you mean 'protocol'" --machine bus,protocl=msi -- ./sum
run 'protocol=berkely' --machine bus,protocol=berkely -- ./sum
run 'bus.*cache' --machine bus,cache=manybytes -- ./sum
run 'bus.*cache' --machine bus,cache=0 -- ./sum
run 'bus' --machine bus,cache -- ./sum
run 'counts' --machine counts -- ./sum
run 'bus' --observe bus -- ./sum
run 'nowhere/none.so' --machine nowhere/none.so -- ./sum
echo text >text.so
run 'text.so' --machine ./text.so -- ./sum

# A cache that is no multiple of its ways and lines is the module's own business to refuse.
"$peet" run -d odd --machine bus,cache=100001 -- ./sum >out.txt 2>err.txt && fail "a cache of 100001 bytes was accepted"
grep -q 'cache' err.txt || fail "a cache of 100001 bytes: $(cat err.txt)"
[ ! -s out.txt ] || fail "the program ran on a machine that does not exist"
absent odd/stats.json

write_module() {
    cat >mine.c <<END
#include <peet/module.h>
static const struct peet_param params[] = {
    { "step", PEET_PARAM_U64, "cycles", "3", "1..100", "Cost of a block" },
    { 0 }
};
static uint64_t step;
static void *create(const struct peet_env *env, const union peet_value *values) { step = values[0].u64; return &step; }
static void destroy(void *self) {}
static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now) { return step; }
const struct peet_module peet_module = {
    .abi = $1, .struct_size = $2, .name = "mine", .summary = "A module of our own", .kind = $3,
    .needs = PEET_NEEDS_BLOCKS, .params = params, .create = create, .destroy = destroy, .block = block,
};
END
    must "$PEET_PLAIN_CC" -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o mine.so mine.c
}
write_module 999 'sizeof(struct peet_module)' PEET_MACHINE
run 'mine.so.*999' --machine ./mine.so -- ./sum
refuses 2 'mine.so.*999' "$peet" sims ./mine.so
write_module PEET_MODULE_ABI 8 PEET_MACHINE
run 'mine.so' --machine ./mine.so -- ./sum
write_module PEET_MODULE_ABI 'sizeof(struct peet_module)' 7
run 'mine.so' --machine ./mine.so -- ./sum

# A good one: its parameters are listed, and every block takes what was asked for.
write_module PEET_MODULE_ABI 'sizeof(struct peet_module)' PEET_MACHINE
must "$peet" sims ./mine.so >listed
grep -q 'step.*cycles.*default 3.*1\.\.100' listed || fail "parameters: $(cat listed)"
run "unknown parameter 'stop'.*did you mean 'step'" --machine ./mine.so,stop=4 -- ./sum
run "unknown parameter 'zz' .*peet sims \./mine\.so. lists them" --machine ./mine.so,zz=4 -- ./sum
run 'step=101' --machine ./mine.so,step=101 -- ./sum
for step in 3 7; do
    must "$peet" run -q -d out --machine ./mine.so,step=$step -- ./sum 50 >/dev/null
    blocks=$(value out/stats.json totals.blocks) cycles=$(value out/stats.json time.cycles)
    [ "$cycles" -eq $((blocks * step)) ] || fail "$blocks blocks of $step cycles took $cycles"
done
