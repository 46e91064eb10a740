/* SPDX-License-Identifier: Apache-2.0 */
/* An observer: mispredicted conditional branches of each context, by predictor.  A branch's outcome is the block that
 * comes next: the one behind it in the code, or another.
 *   peet run --observe ./branch.so,predictor=gshare -- ./shallow */
#include <stdlib.h>
#include <peet/module.h>
#include <peet/toolkit/branch.h>

enum { CONTEXTS = 1024 };
struct branches { struct peet_sim_branch predictor; const struct peet_block *last[CONTEXTS]; uint64_t branches, wrong; };

static const struct peet_param params[] = {
    {"predictor", PEET_PARAM_ENUM, "", "tage", PEET_SIM_DIRECTIONS, "always taken, two-bit counters, gshare, TAGE"}, {0}};

static void *create(const struct peet_env *env, const union peet_value *v)
{
    struct peet_sim_branch_config config = {.direction = (enum peet_sim_direction)v[0].u64, .table_bits = 13, .history_bits = 13,
        .btb_sets = 512, .btb_ways = 8, .return_entries = 16, .indirect_bits = 9};
    struct branches *b = calloc(1, sizeof *b);
    if (config.direction == PEET_SIM_TAGE)
        config.history_bits = 130;
    if (!b || peet_sim_branch_init(&b->predictor, &config)) {
        env->fail(env, "out of memory");
        return NULL;
    }
    return b;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    struct branches *b = self;
    const struct peet_block **last = &b->last[event->context % CONTEXTS], *next = event->block;
    (void)hw, (void)now;
    if (*last && (*last)->ninsns) {
        const struct peet_insn *insn = &(*last)->insns[(*last)->ninsns - 1];
        int onward = next->function == (*last)->function && next->index == (*last)->index + 1;
        if (insn->opcode->klass == PEET_INSN_BRANCH) {
            b->branches++;
            b->wrong += peet_sim_branch_conditional(&b->predictor, insn->pc, !onward, next->pc) == PEET_SIM_BRANCH_WRONG;
        }
    }
    *last = next;
    return 0;
}

static void stats(void *self, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "branches", ((struct branches *)self)->branches);
    env->stats_u64(env, node, "mispredicted", ((struct branches *)self)->wrong);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI, .struct_size = sizeof peet_module, .name = "branch", .kind = PEET_OBSERVER,
    .summary = "mispredicted branches", .needs = PEET_NEEDS_BLOCKS, .params = params,
    .create = create, .destroy = free, .block = block, .stats = stats};
