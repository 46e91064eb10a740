#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Many libraries, whose translations all want to lie near them, and a library's function of one byte, to which a short jump has to lead.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
n=60
{
    echo '#include <stdio.h>'
    echo 'void only_returns(void); int after_it(int x);'
    for i in $(seq $n); do echo "int f$i(int x);"; done
    echo 'int main(void) { int x = 1; void (*volatile call)(void) = only_returns;'
    for i in $(seq $n); do echo "x = f$i(x);"; done
    echo 'for (int k = 0; k < 3; k++) call();'
    echo 'printf("%d\n", after_it(x)); return 0; }'
} >many.c
libraries=()
for i in $(seq $n); do
    echo "int f$i(int x) { return x * $i % 1009 + $i; }" >f$i.c
    must "$PEET_PLAIN_CC" -O2 -shared -fPIC -o libf$i.so f$i.c
    libraries+=(./libf$i.so)
done
cat >short.s <<'END'
    .text
    .p2align 4
    .globl only_returns
    .type only_returns, @function
only_returns:
    .cfi_startproc
    ret
    .cfi_endproc
    .size only_returns, .-only_returns
    nop
    .byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 # one long nop, which is not taken for filling
    nop
    nop
    .p2align 4
    .globl after_it
    .type after_it, @function
after_it:
    .cfi_startproc
    leal 1(%rdi), %eax
    ret
    .cfi_endproc
    .size after_it, .-after_it
    .section .note.GNU-stack,"",@progbits
END
must "$PEET_PLAIN_CC" -shared -o libshort.so short.s
must "$peetcc" -O2 -o many many.c "${libraries[@]}" ./libshort.so -Wl,-rpath,"$PWD"
must ./many >native.txt
must "$peet" run -q --foreign=record -o profile -d recorded -- ./many >said.txt
same native.txt said.txt "sixty libraries"
"$PEET_PREFIX/tests/json-get" -r recorded/stats.json profile.functions name >functions.txt
equal "functions of libraries that are recorded" "$(grep -cx 'f[0-9]*' functions.txt)" $n
equal "... of one byte and behind it" "$(grep -cx 'only_returns\|after_it' functions.txt)" 2
exit 0
