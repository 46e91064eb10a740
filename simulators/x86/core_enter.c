/* SPDX-License-Identifier: Apache-2.0 */
/* x86: control comes to a block: the branch before it is resolved, its own is looked up, its lines of code are fetched. */
#include "core_front.h"

/** Instructions come by the line, and stay at hand for a few lines. */
static void fetch(struct x86_thread *t, const struct x86_code *code)
{
    struct x86 *x = t->cpu->x;

    for (uint64_t line = code->first_line; line <= code->last_line; line++) {
        uint64_t *slot = &t->fetched[line % 8], now;
        struct x86_access access = {.address = line * x->line_bytes,
            .size_bytes = x->line_bytes,
            .core = t->cpu->number,
            .hw = t->hw,
            .kind = X86_FETCH,
            .block = code->block};
        struct x86_outcome out;

        if (*slot == line)
            continue;
        *slot = line;
        now = later(t->dispatch, t->front.from);
        x86_memory_access(x->memory, &access, now, &out);
        if (out.served != X86_L1 || out.tlb_cycles)
            x86_core_hold_front(t, out.done_cycles, out.tlb_cycles > (out.done_cycles - now) / 2 ? CPI_TLB : CPI_FETCH);
    }
}

/** The next block of the context tells where the last branch went. */
static void resolve(struct x86_thread *t, const struct peet_block *next)
{
    const struct x86_branch last = t->last;
    const struct x86_config *config = &t->cpu->x->config;
    struct peet_sim_branch *p = &t->predictor;
    enum peet_sim_branch_wrong wrong = PEET_SIM_BRANCH_RIGHT;
    uint64_t after = last.pc + last.op->length_bytes;
    int onward = goes_on(&last, next);

    t->last.op = NULL;
    if ((last.op->branch == BRANCH_DIRECT || last.op->branch == BRANCH_JUMP_INDIRECT) &&
        next->function != last.block->function && peet_sim_branch_back(p, next->pc))
        return; /* a function's last jump was to code that nobody tells of, and that has returned for it */
    switch (last.op->branch) {
    case BRANCH_COND:
        wrong = peet_sim_branch_conditional(p, last.pc, !onward, next->pc);
        break;
    case BRANCH_DIRECT:
        wrong = peet_sim_branch_direct(p, last.pc, next->pc);
        break;
    case BRANCH_JUMP_INDIRECT:
        wrong = peet_sim_branch_indirect(p, last.pc, next->pc);
        break;
    case BRANCH_CALL:
    case BRANCH_CALL_INDIRECT:
        if (onward || next->pc < X86_SYNTHETIC_PC) /* it was to code without a schema, and is back */
            break;
        wrong = last.op->branch == BRANCH_CALL ? peet_sim_branch_direct(p, last.pc, next->pc)
                                               : peet_sim_branch_indirect(p, last.pc, next->pc);
        peet_sim_branch_call(p, after);
        break;
    case BRANCH_RETURN:
        wrong = peet_sim_branch_return(p, next->pc);
        break;
    default:
        break;
    }
    if (wrong == PEET_SIM_BRANCH_WRONG) {
        t->mispredicts++;
        x86_core_hold_front(t,
            last.complete + config->mispredict_cycles - 1 -
                less(t->cpu->x->address_lead, config->mispredict_cycles - 1),
            CPI_BRANCH);
    } else if (wrong == PEET_SIM_BRANCH_NO_TARGET) {
        x86_core_hold_front(t, t->dispatch + config->resteer_cycles, CPI_BRANCH);
    } else if (wrong == PEET_SIM_BRANCH_LATE) {
        t->late = t->fetch_parts != 0;
    }
}

static void predict(struct x86_thread *t, const struct x86_code *code)
{
    const struct peet_block *block = code->block;

    if (t->last.op && t->cpu->x->config.branch != BRANCH_PERFECT)
        resolve(t, block);
    else if (__builtin_expect(t->unseen, 0))
        peet_sim_branch_back(&t->predictor, block->pc);
    t->unseen = block->pc < X86_SYNTHETIC_PC;
    t->last.op = NULL;
    if (code->ends == BRANCH_COND)
        peet_sim_branch_soon(&t->predictor, code->branch_pc);
}

void x86_core_enter(struct x86_thread *t, const struct x86_code *code)
{
    predict(t, code);
    if (t->cpu->x->memory)
        fetch(t, code);
}

void x86_core_follow(struct x86_thread *t, const struct x86_code *code)
{
    const struct x86_op *last = code->nops ? &code->ops[code->nops - 1] : NULL;

    if (!last) /* the last branch goes on to what follows */
        return;
    predict(t, code);
    if (last->branch)
        x86_core_last_branch(t, last, code->block, t->frontier);
}
