/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How callgrind counts, case by case: each case is a function of its own with the instructions under
 * test and a ret (one instruction, one read), and the self cost that callgrind gives it.  Run without
 * arguments under callgrind it executes every case; with an argument it prints the table that
 * exact_compare --table takes.  CONVENTIONS.md says what follows from it.
 */
#include <stdio.h>

__attribute__((aligned(64))) unsigned char buf[8192], buf2[8192], left[16], right[16];

void target(void);
__attribute__((naked, noinline)) void target(void)
{
    __asm__ volatile("ret");
}

/* X(name, instructions, reads, writes, assembly); the ret is counted in */
#define CASES(X) \
    /* control flow and the stack */ \
    X(ret, 1, 1, 0, "") \
    X(call, 2, 1, 1, "call target") \
    X(callmem, 4, 2, 2, "leaq target(%rip),%rax; movq %rax,buf(%rip); call *buf(%rip)") \
    X(push, 3, 1, 1, "pushq %rax; addq $8,%rsp") \
    X(pushmem, 3, 2, 1, "pushq buf(%rip); addq $8,%rsp") \
    X(popmem, 3, 2, 1, "subq $8,%rsp; popq buf(%rip)") \
    X(leave, 4, 2, 1, "pushq %rbp; movq %rsp,%rbp; leave") \
    X(enter, 3, 2, 1, "enter $16,$0; leave") \
    X(pushf, 3, 2, 1, "pushfq; popfq") \
    X(jmp, 2, 1, 0, "jmp 1f; nop; 1:") \
    X(jcc_taken, 3, 1, 0, "cmpq %rax,%rax; je 1f; nop; 1:") \
    X(jcc_not, 4, 1, 0, "cmpq %rax,%rax; jne 1f; nop; 1:") \
    X(jrcxz, 3, 1, 0, "xorl %ecx,%ecx; jrcxz 1f; nop; 1:") \
    X(loop10, 12, 1, 0, "movl $10,%ecx; 1: loop 1b") \
    X(tailjmp, 1, 0, 0, "jmp target") \
    X(syscall, 3, 1, 0, "movl $39,%eax; syscall") \
    /* plain references */ \
    X(load, 2, 2, 0, "movq buf(%rip), %rax") \
    X(store, 2, 1, 1, "movq %rax, buf(%rip)") \
    X(movbe, 2, 2, 0, "movbel buf(%rip),%eax") \
    X(bigalign, 2, 2, 0, "movq buf+60(%rip),%rax") \
    X(split_page, 2, 2, 0, "movq buf+4093(%rip),%rax") \
    X(movups, 2, 2, 0, "movups buf+4(%rip),%xmm0") \
    X(movaps_st, 2, 1, 1, "movaps %xmm0,buf(%rip)") \
    X(movss, 2, 2, 0, "movss buf(%rip),%xmm0") \
    X(movlps, 2, 2, 0, "movlps buf(%rip),%xmm0") \
    X(movhps_st, 2, 1, 1, "movhps %xmm0,buf(%rip)") \
    X(addsd, 2, 2, 0, "addsd buf(%rip),%xmm0") \
    X(pinsrw, 2, 2, 0, "pinsrw $1,buf(%rip),%xmm0") \
    X(pextrd, 2, 1, 1, "pextrd $1,%xmm0,buf(%rip)") \
    X(movnti, 2, 1, 1, "movnti %rax,buf(%rip)") \
    X(movddup, 2, 2, 0, "movddup buf(%rip),%xmm0") \
    X(pmovzxbw, 2, 2, 0, "pmovzxbw buf(%rip),%xmm0") \
    X(fsload, 2, 2, 0, "movq %fs:0,%rax") \
    X(fsstore, 3, 2, 1, "movq %fs:-8,%rax; movq %rax,%fs:-8") \
    X(cmpmem, 2, 2, 0, "cmpq $1, buf(%rip)") \
    X(testmem, 2, 2, 0, "testq %rax, buf(%rip)") \
    X(setcc_mem, 3, 1, 1, "cmpq %rax,%rax; sete buf(%rip)") \
    X(cmov_mem_taken, 3, 2, 0, "cmpq %rax,%rax; cmoveq buf(%rip),%rcx") \
    X(cmov_mem_not, 3, 2, 0, "cmpq %rax,%rax; cmovneq buf(%rip),%rcx") \
    X(imulmem, 2, 2, 0, "imulq $3,buf(%rip),%rax") \
    X(mulmem, 2, 2, 0, "mulq buf(%rip)") \
    X(divmem, 4, 2, 1, "movq $3,buf(%rip); xorl %edx,%edx; divq buf(%rip)") \
    X(mulx, 2, 2, 0, "mulxq buf(%rip),%rax,%rcx") \
    X(bextr, 2, 2, 0, "bextrq %rax, buf(%rip),%rcx") \
    X(crc, 2, 2, 0, "crc32q buf(%rip),%rax") \
    X(popcnt, 2, 2, 0, "popcntq buf(%rip),%rax") \
    X(btmem, 2, 2, 0, "btq $3, buf(%rip)") \
    X(btmemreg, 3, 2, 0, "movl $3,%eax; btq %rax, buf(%rip)") \
    X(deadload, 3, 2, 0, "movq buf(%rip),%rax; movq $0,%rax") \
    X(deadcmp, 3, 2, 0, "cmpq $1,buf(%rip); testq %rax,%rax") \
    /* modify: one write, no read */ \
    X(addmem, 2, 1, 1, "addq $1, buf(%rip)") \
    X(incmem, 2, 1, 1, "incq buf(%rip)") \
    X(notmem, 2, 1, 1, "notq buf(%rip)") \
    X(negmem, 2, 1, 1, "negq buf(%rip)") \
    X(adcmem, 3, 1, 1, "clc; adcq $0,buf(%rip)") \
    X(sbbmem, 3, 1, 1, "clc; sbbq %rax,buf(%rip)") \
    X(shlmem, 2, 1, 1, "shlq $3, buf(%rip)") \
    X(shlclmem0, 3, 1, 1, "xorl %ecx,%ecx; shlq %cl, buf(%rip)") \
    X(rolmem, 2, 1, 1, "rolq $3,buf(%rip)") \
    X(rclmem, 2, 1, 1, "rclq $1,buf(%rip)") \
    X(shldmem, 2, 1, 1, "shldq $3,%rax,buf(%rip)") \
    X(btsmem, 2, 1, 1, "btsq $3, buf(%rip)") \
    X(btsmemreg, 3, 1, 1, "movl $3,%eax; btsq %rax, buf(%rip)") \
    X(xaddnl, 2, 1, 1, "xaddq %rax, buf(%rip)") \
    /* locked: a read and a write; compare-and-exchange: one write */ \
    X(lockadd, 2, 2, 1, "lock addq $1, buf(%rip)") \
    X(lockaddb, 2, 2, 1, "lock addb $1,buf(%rip)") \
    X(lockinc, 2, 2, 1, "lock incq buf(%rip)") \
    X(lockdec, 2, 2, 1, "lock decl buf(%rip)") \
    X(lockor, 2, 2, 1, "lock orl $0,-64(%rsp)") \
    X(lockneg, 2, 2, 1, "lock negq buf(%rip)") \
    X(lockbts, 2, 2, 1, "lock btsq $3,buf(%rip)") \
    X(xadd, 2, 2, 1, "lock xaddq %rax, buf(%rip)") \
    X(xchg, 2, 2, 1, "xchgq %rax, buf(%rip)") \
    X(xchgb, 2, 2, 1, "xchgb %al,buf(%rip)") \
    X(cmpxchg_ok, 4, 1, 2, "movq $5,%rax; movq %rax,buf(%rip); lock cmpxchgq %rcx, buf(%rip)") \
    X(cmpxchg_fail, 4, 1, 2, "movq $5,%rax; movq $6,buf(%rip); lock cmpxchgq %rcx, buf(%rip)") \
    X(cmpxchgnl, 4, 1, 2, "movq $5,%rax; movq $6,buf(%rip); cmpxchgq %rcx, buf(%rip)") \
    X(cmpxchg8b, 4, 2, 2, "pushq %rbx; lock cmpxchg8b buf(%rip); popq %rbx") \
    X(cmpxchg16b, 4, 2, 2, "pushq %rbx; lock cmpxchg16b buf(%rip); popq %rbx") \
    /* rep: an instruction for each element and one that finds none left */ \
    X(rep_movsb0, 5, 1, 0, "xorl %ecx,%ecx; leaq buf(%rip),%rsi; leaq buf2(%rip),%rdi; rep movsb") \
    X(rep_movsb1, 6, 2, 1, "movl $1,%ecx; leaq buf(%rip),%rsi; leaq buf2(%rip),%rdi; rep movsb") \
    X(rep_movsb10, 15, 11, 10, "movl $10,%ecx; leaq buf(%rip),%rsi; leaq buf2(%rip),%rdi; rep movsb") \
    X(rep_movsq10, 15, 11, 10, "movl $10,%ecx; leaq buf(%rip),%rsi; leaq buf2(%rip),%rdi; rep movsq") \
    X(rep_stosb10, 15, 1, 10, "movl $10,%ecx; xorl %eax,%eax; leaq buf2(%rip),%rdi; rep stosb") \
    X(rep_stosq10, 15, 1, 10, "movl $10,%ecx; xorl %eax,%eax; leaq buf2(%rip),%rdi; rep stosq") \
    X(rep_stosq0, 5, 1, 0, "xorl %ecx,%ecx; xorl %eax,%eax; leaq buf2(%rip),%rdi; rep stosq") \
    X(movsb, 4, 2, 1, "leaq buf(%rip),%rsi; leaq buf2(%rip),%rdi; movsb") \
    X(stosq, 3, 1, 1, "leaq buf2(%rip),%rdi; stosq") \
    X(lodsq, 3, 2, 0, "leaq buf2(%rip),%rsi; lodsq") \
    X(repne_scasb, 12, 8, 1, "movl $100,%ecx; movb $1,buf2+6(%rip); movb $1,%al; leaq buf2(%rip),%rdi; repne scasb") \
    X(repe_cmpsb, 12, 15, 1, "movl $100,%ecx; movb $9,left+6(%rip); leaq left(%rip),%rsi; leaq right(%rip),%rdi; repe cmpsb") \
    /* x87 and control words: one reference whatever the size */ \
    X(fldt, 3, 2, 0, "fldt buf(%rip); fstp %st(0)") \
    X(fstpt, 3, 1, 1, "fld1; fstpt buf(%rip)") \
    X(fldl, 3, 2, 0, "fldl buf(%rip); fstp %st(0)") \
    X(fstpl, 3, 1, 1, "fld1; fstpl buf(%rip)") \
    X(fildq, 3, 2, 0, "fildq buf(%rip); fstp %st(0)") \
    X(fistpq, 3, 1, 1, "fld1; fistpq buf(%rip)") \
    X(fiadd, 4, 2, 0, "fld1; fiadds buf(%rip); fstp %st(0)") \
    X(fcompl, 3, 2, 0, "fld1; fcompl buf(%rip)") \
    X(fstps, 3, 1, 1, "fld1; fstps buf(%rip)") \
    X(fnstcw, 2, 1, 1, "fnstcw buf(%rip)") \
    X(fldcw, 3, 2, 1, "fnstcw buf(%rip); fldcw buf(%rip)") \
    X(fnstsw, 2, 1, 1, "fnstsw buf(%rip)") \
    X(stmxcsr, 2, 1, 1, "stmxcsr buf(%rip)") \
    X(ldmxcsr, 3, 2, 1, "stmxcsr buf(%rip); ldmxcsr buf(%rip)") \
    X(fnstenv, 2, 1, 1, "fnstenv buf(%rip)") \
    /* vector references */ \
    X(vmovupd256, 3, 2, 0, "vmovupd buf+4(%rip),%ymm0; vzeroupper") \
    X(vmovupd256st, 3, 1, 1, "vmovupd %ymm0,buf+4(%rip); vzeroupper") \
    X(vbroadcastsd, 3, 2, 0, "vbroadcastsd buf(%rip),%ymm0; vzeroupper") \
    X(vbroadcastf128, 3, 2, 0, "vbroadcastf128 buf(%rip),%ymm0; vzeroupper") \
    X(vinsertf128, 3, 2, 0, "vinsertf128 $1,buf(%rip),%ymm0,%ymm0; vzeroupper") \
    X(vextractf128, 3, 1, 1, "vextractf128 $1,%ymm0,buf(%rip); vzeroupper") \
    X(vcvtdq2pd, 3, 2, 0, "vcvtdq2pd buf(%rip),%ymm1; vzeroupper") \
    X(vcvtpd2ps, 3, 2, 0, "vcvtpd2psy buf(%rip),%xmm1; vzeroupper") \
    X(vpermd, 3, 2, 0, "vpermd buf(%rip),%ymm1,%ymm1; vzeroupper") \
    X(vpermpd, 3, 2, 0, "vpermpd $3,buf(%rip),%ymm1; vzeroupper") \
    X(vdpps, 3, 2, 0, "vdpps $255,buf(%rip),%ymm0,%ymm0; vzeroupper") \
    X(vmovntps, 3, 1, 1, "vmovntps %ymm1,buf(%rip); vzeroupper") \
    /* vector references that VEX splits */ \
    X(cvtps2pd, 2, 3, 0, "cvtps2pd buf(%rip),%xmm0") \
    X(vcvtps2pd, 3, 5, 0, "vcvtps2pd buf(%rip),%ymm1; vzeroupper") \
    X(vmovddup, 3, 3, 0, "vmovddup buf(%rip),%ymm0; vzeroupper") \
    X(vperm2f128, 3, 3, 0, "vperm2f128 $3,buf(%rip),%ymm1,%ymm1; vzeroupper") \
    X(vperm2i128, 3, 3, 0, "vperm2i128 $0x31,buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(fma_ss, 3, 2, 0, "vfmadd231ss buf(%rip),%xmm0,%xmm1; vzeroupper") \
    X(fma_sd, 3, 2, 0, "vfmadd231sd buf(%rip),%xmm0,%xmm1; vzeroupper") \
    X(fma_ps128, 3, 5, 0, "vfmadd132ps buf(%rip),%xmm0,%xmm1; vzeroupper") \
    X(fma_pd128, 3, 3, 0, "vfmadd213pd buf(%rip),%xmm0,%xmm1; vzeroupper") \
    X(fma_ps256, 3, 9, 0, "vfnmadd231ps buf(%rip),%ymm0,%ymm1; vzeroupper") \
    X(fma_addsub, 3, 9, 0, "vfmaddsub231ps buf(%rip),%ymm0,%ymm1; vzeroupper") \
    X(vfmadd, 3, 5, 0, "vfmadd231pd buf(%rip),%ymm0,%ymm1; vzeroupper") \
    /* masked moves: an instruction for each lane that happens, no reference */ \
    X(vmaskmovpd_0, 4, 1, 0, "vpxor %xmm1,%xmm1,%xmm1; vmaskmovpd buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(vmaskmovpd_half, 6, 1, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vmaskmovpd buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(vmaskmovpd_1, 8, 1, 0, "vpcmpeqd %ymm1,%ymm1,%ymm1; vmaskmovpd buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(vmaskmovpd_st_0, 4, 1, 0, "vpxor %xmm1,%xmm1,%xmm1; vmaskmovpd %ymm0,%ymm1,buf(%rip); vzeroupper") \
    X(vmaskmovpd_st_1, 8, 1, 0, "vpcmpeqd %ymm1,%ymm1,%ymm1; vmaskmovpd %ymm0,%ymm1,buf(%rip); vzeroupper") \
    X(vmaskmovps_128, 8, 1, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vmaskmovps buf(%rip),%xmm1,%xmm0; vzeroupper") \
    X(vmaskmovps_half, 8, 1, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vmaskmovps buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(vpmaskmovd_half, 8, 1, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vpmaskmovd buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(vpmaskmovd_st_half, 8, 1, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vpmaskmovd %ymm0,%ymm1,buf(%rip); vzeroupper") \
    X(vpmaskmovq_1, 8, 1, 0, "vpcmpeqd %ymm1,%ymm1,%ymm1; vpmaskmovq buf(%rip),%ymm1,%ymm0; vzeroupper") \
    X(maskmovdqu_0, 5, 1, 1, "leaq buf(%rip),%rdi; pxor %xmm1,%xmm1; maskmovdqu %xmm1,%xmm0; nop") \
    X(maskmovdqu_1, 5, 1, 1, "leaq buf(%rip),%rdi; pcmpeqd %xmm1,%xmm1; maskmovdqu %xmm1,%xmm0; nop") \
    /* gathers: a read for every lane, whether it happens or not */ \
    X(vgatherdpd, 6, 5, 0, "vpcmpeqd %ymm1,%ymm1,%ymm1; vpxor %xmm2,%xmm2,%xmm2; leaq buf(%rip),%rax; vgatherdpd %ymm1,(%rax,%xmm2,8),%ymm0; vzeroupper") \
    X(vgatherdpd_0, 6, 5, 0, "vpxor %xmm1,%xmm1,%xmm1; vpxor %xmm2,%xmm2,%xmm2; leaq buf(%rip),%rax; vgatherdpd %ymm1,(%rax,%xmm2,8),%ymm0; vzeroupper") \
    X(vgatherdpd_half, 6, 5, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vpxor %xmm2,%xmm2,%xmm2; leaq buf(%rip),%rax; vgatherdpd %ymm1,(%rax,%xmm2,8),%ymm0; vzeroupper") \
    X(vpgatherdd, 6, 9, 0, "vpcmpeqd %ymm1,%ymm1,%ymm1; vpxor %xmm2,%xmm2,%xmm2; leaq buf(%rip),%rax; vpgatherdd %ymm1,(%rax,%ymm2,4),%ymm0; vzeroupper") \
    X(vpgatherqd, 6, 5, 0, "vpcmpeqd %xmm1,%xmm1,%xmm1; vpxor %xmm2,%xmm2,%xmm2; leaq buf(%rip),%rax; vpgatherqd %xmm1,(%rax,%ymm2,4),%xmm0; vzeroupper") \
    X(vpgatherdq_1, 6, 5, 0, "vpcmpeqd %ymm1,%ymm1,%ymm1; vpxor %xmm2,%xmm2,%xmm2; leaq buf(%rip),%rax; vpgatherdq %ymm1,(%rax,%xmm2,8),%ymm0; vzeroupper") \
    /* bit tests of a register by a register: through memory below the stack */ \
    X(bt64, 2, 2, 1, "btq %rax,%rcx") \
    X(bt32, 2, 2, 1, "btl %eax,%ecx") \
    X(bts64, 2, 2, 2, "btsq %rax,%rcx") \
    X(btr32, 2, 2, 2, "btrl %eax,%ecx") \
    X(btc64, 2, 2, 2, "btcq %rax,%rcx") \
    X(bt_immediate, 2, 1, 0, "btq $3,%rcx") \
    X(bts_immediate, 2, 1, 0, "btsq $3,%rcx") \
    /* hints, fences, padding: no reference */ \
    X(prefetch, 2, 1, 0, "prefetcht0 buf(%rip)") \
    X(prefetchw, 2, 1, 0, "prefetchw buf(%rip)") \
    X(clflush, 2, 1, 0, "clflush buf(%rip)") \
    X(mfence, 2, 1, 0, "mfence") \
    X(pause, 2, 1, 0, "pause") \
    X(nop, 2, 1, 0, "nop") \
    X(nopw, 2, 1, 0, ".byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0") \
    X(lnop, 2, 1, 0, "nopl 8(%rax,%rax)") \
    X(datanop, 2, 1, 0, ".byte 0x66,0x66,0x66,0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0") \
    X(endbr, 2, 1, 0, "endbr64") \
    X(vzeroupper, 2, 1, 0, "vzeroupper") \
    X(rdtsc, 2, 1, 0, "rdtsc") \
    X(cpuid, 6, 2, 1, "pushq %rbx; xorl %eax,%eax; xorl %ecx,%ecx; cpuid; popq %rbx")

#define DEFINE(name, ir, dr, dw, code) \
    void case_##name(void); \
    __attribute__((naked, noinline)) void case_##name(void) \
    { \
        __asm__ volatile(code "\n\tret"); \
    }
CASES(DEFINE)

int main(int argc, char **argv)
{
    if (argc > 1) {
        printf("object %s\n", argv[1]);
#define PRINT(name, ir, dr, dw, code) printf("case_%s %d %d %d\n", #name, ir, dr, dw);
        CASES(PRINT)
        return 0;
    }
#define CALL(name, ir, dr, dw, code) case_##name();
    CASES(CALL)
    return 0;
}
