/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processor can do about saving its state; what foreign code is told that it can do; and the layout of saved
 * state, for messages.
 * With the assembly beside it, all that depends on the processor.
 */
#include "internal.h"
#include "frame.h"

#include <cpuid.h>
#include <string.h>

int peet__xsave_kind;
void peet__foreign_cpuid(uint64_t *frame);

void peet__xsave_probe(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
        return; /* fxsave will do */
    peet__xsave_kind = 1;
    if (__get_cpuid_count(0xd, 1, &a, &b, &c, &d) && (a & 2))
        peet__xsave_kind = 2;
}

/* What foreign code is told of the processor, as it is told everywhere: one with all that x86-64-v3 has, as far as this one
 * has it, and nothing else.  AMD's, for some (libgcc's __builtin_cpu_supports()) ask only makers that they know what a
 * processor can do; of a family that there is not, so that nobody expects more of it. */
void peet__foreign_cpuid(uint64_t *frame)
{
    enum { BASIC = 7, EXTENDED = 0x80000001, SIGNATURE = 0xff00f00 };
    const uint32_t leaf = (uint32_t)frame[RAX], sub = (uint32_t)frame[RCX];
    uint32_t a = 0, b = 0, c = 0, d = 0;
    if (leaf == 1 || leaf == BASIC || leaf == EXTENDED)
        __cpuid_count(leaf, sub, a, b, c, d);
    switch (leaf) {
    case 0:
        a = BASIC;
        memcpy(&b, "Auth", sizeof b), memcpy(&d, "enti", sizeof d), memcpy(&c, "cAMD", sizeof c);
        break;
    case 1:
        a = SIGNATURE;
        b = 8 << 8; /* clflush: lines of 64 bytes */
        c &= bit_SSE3 | bit_SSSE3 | bit_FMA | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_MOVBE | bit_POPCNT |
            bit_XSAVE | bit_OSXSAVE | bit_AVX | bit_F16C;
        d &= bit_CMPXCHG8B | bit_CMOV | bit_MMX | bit_FXSAVE | bit_SSE | bit_SSE2 | 1 /* x87 */ | 1 << 4 /* rdtsc */ |
            1 << 19 /* clflush */;
        break;
    case BASIC:
        a = c = d = 0;
        b = sub == 0 ? b & (bit_BMI | bit_AVX2 | bit_BMI2) : 0;
        break;
    case 0x80000000:
        a = EXTENDED;
        break;
    case EXTENDED:
        a = b = 0;
        c &= bit_LAHF_LM | bit_ABM;
        d &= bit_LM | 1 << 11 /* syscall */ | 1 << 20 /* nx */ | 1 << 27 /* rdtscp */;
        break;
    default: /* nothing is known of it */
        break;
    }
    frame[RAX] = a, frame[RBX] = b, frame[RCX] = c, frame[RDX] = d;
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
