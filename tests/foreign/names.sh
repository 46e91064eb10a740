#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Functions inside of a library, which it does not export, have names if its debug information is there, detached, by its build identity.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >library.c <<'END'
__attribute__((noinline)) static int hidden_inside(volatile int *x)
{
    return ++*x;
}
int exported(int n)
{
    volatile int x = n;
    return hidden_inside(&x) + hidden_inside(&x);
}
END
printf 'int exported(int);\nint main(void) { return exported(2) != 7; }\n' >main.c
must "$PEET_PLAIN_CC" -O1 -shared -fPIC -Wl,--build-id -o library.so library.c
must "$peetcc" -O1 -o main main.c ./library.so
id=$(readelf -n library.so | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || fail "no build identity"
mkdir -p "debug/.build-id/${id:0:2}"
must objcopy --only-keep-debug library.so "debug/.build-id/${id:0:2}/${id:2}.debug"
must strip library.so
calls() { jq -r --arg name "$1" '[.counts.functions[] | select(.name == $name and .image == "library.so") | .calls] | add // 0' "$2/stats.json"; }
PEET_DEBUG_DIR=$PWD/debug must "$peet" run -q --observe counts -d named -- ./main
equal "calls of a hidden function" "$(calls hidden_inside named)" 2
equal "calls of an exported one" "$(calls exported named)" 1
equal "instructions by object" "$(jq '[.hot.images[] | select(.image == "library.so" or .image == "main") | .instructions] | sort' named/stats.json)" \
    "$(jq '[[.counts.functions[] | select(.image == "library.so")], [.counts.functions[] | select(.image | endswith("main"))] | map(.instructions) | add] | sort' named/stats.json)"
# Without it, or with what is no such file, the place in the library is the name.
echo 'nothing of the kind' >"debug/.build-id/${id:0:2}/${id:2}.debug"
for folder in "$PWD/debug" /nonexistent; do
    PEET_DEBUG_DIR=$folder must "$peet" run -q --observe counts -d places -- ./main
    equal "calls by name" "$(calls hidden_inside places)" 0
    equal "calls of an exported one" "$(calls exported places)" 1
    place=$(jq -r '.counts.functions[] | select(.image == "library.so" and .name != "exported") | .name' places/stats.json)
    [[ $place == library.so+0x* ]] || fail "no place: $place"
done

# Code that no frame describes is not the function's before it: it has its symbol's name, with or without a size, or the place.
cat >bare.s <<'END'
    .text
    .globl framed
    .type framed, @function
framed:
    .cfi_startproc
    movl $1, %eax
    ret
    .cfi_endproc
    .size framed, .-framed
    .type bare, @function
bare:
    movl $2, %eax
    jmp next
    .type next, @function
next:
    addl $3, %eax
    ret
    .size next, .-next
    .globl calls_bare
    .type calls_bare, @function
calls_bare:
    .cfi_startproc
    call framed
    call bare
    call bare
    ret
    .cfi_endproc
    .size calls_bare, .-calls_bare
    .section .note.GNU-stack,"",@progbits
END
printf 'int calls_bare(void);\nint main(void) { return calls_bare() != 5; }\n' >calls.c
must "$PEET_PLAIN_CC" -shared -Wl,-Bsymbolic -o libbare.so bare.s
must "$peetcc" -O1 -o calls calls.c ./libbare.so
of_bare() { jq -r '[.counts.functions[] | select(.image == "libbare.so") | "\(.name) \(.calls) \(.instructions)"] | sort | join(", ")' bare/stats.json; }
must "$peet" run -q --observe counts --observe profile -d bare -- ./calls
equal "code without frames" "$(of_bare)" "bare 2 4, calls_bare 1 4, framed 1 2, next 2 4"
must strip libbare.so
must "$peet" run -q --observe counts --observe profile -d bare -- ./calls
[[ $(of_bare) =~ ^calls_bare\ 1\ 4,\ framed\ 1\ 2,\ libbare.so\+0x[0-9a-f]*\ 2\ 8$ ]] || fail "code without frames and names: $(of_bare)"
exit 0
