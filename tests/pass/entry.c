// SPDX-License-Identifier: Apache-2.0
// The landing mark of indirect branches stays first; the check of the ring is at the entry; its slow
// path stands behind the function and steps over the red zone.
// RUN: -O2 -fcf-protection=branch
// CHECK-LABEL: entry:
// CHECK: endbr64
// CHECK: movq %gs:2147287040,
// CHECK-NEXT: cmpq %gs:2147287048,
// CHECK-NEXT: jae [[SLOW:\.Lpeet[0-9]+s0]]
// CHECK-NEXT: leaq .Lpeet{{[0-9]+}}b0(%rip),
// CHECK: ret
// CHECK: .cfi_def_cfa %rsp, 8
// CHECK-NEXT: [[SLOW]]:
// CHECK-NEXT: leaq -128(%rsp), %rsp
// CHECK-NEXT: .cfi_adjust_cfa_offset 128
// CHECK-NEXT: callq *2147287056
// CHECK-NEXT: leaq 128(%rsp), %rsp
// CHECK-NEXT: .cfi_adjust_cfa_offset -128
// CHECK-NEXT: jmp
// CHECK: .section .peet.schema,"ao",@progbits,.L{{.*}}
int entry(int *p)
{
    return *p;
}
