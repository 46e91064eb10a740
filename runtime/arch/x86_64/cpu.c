/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processor can do about saving its state; and the layout of saved state, for messages.
 * With the assembly beside it, all that depends on the processor.
 */
#include "internal.h"
#include "frame.h"

#include <cpuid.h>
#include <string.h>

int peet__xsave_kind;

void peet__xsave_probe(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return; /* fxsave will do */
    peet__xsave_kind = 1;
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 2))
        peet__xsave_kind = 2;
}

static void from_gregs(const greg_t *regs, uint64_t out[8])
{
    const int order[8] = {REG_RIP, REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < 8; i++)
        out[i] = (uint64_t)regs[order[i]];
}

PUBLIC void peet_ctx_registers(const struct peet_ctx *ctx, uint64_t out[8])
{
    memset(out, 0, 8 * sizeof *out);
    if (ctx->state == PEET__CTX_NEW || ctx->state == PEET__CTX_DONE)
        return;
    if (ctx->fault) {
        from_gregs(ctx->fault->uc_mcontext.gregs, out);
    } else if (ctx->stub_frame) { /* as the checking function sees them */
        const uint64_t *frame = ctx->stub_frame;
        out[0] = frame[PC];
        out[1] = (uint64_t)(frame + STUB_WORDS) + RED_ZONE_BYTES;
        out[2] = frame[RBP];
        out[3] = frame[RBX];
        out[4] = frame[R12];
        out[5] = frame[R13];
        out[6] = frame[R14];
        out[7] = frame[R15];
    } else if (ctx->uc) {
        from_gregs(ctx->uc->uc_mcontext.gregs, out);
    } else { /* the rest stands on the stack, where unwinding finds it */
        out[0] = (uint64_t)ctx->saved.pc;
        out[1] = (uint64_t)ctx->saved.rsp;
        out[2] = (uint64_t)ctx->saved.rbp;
    }
}
