#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Debug information survives the pass: a debugger stops at lines, shows variables and the call stack.
. "$(dirname "$0")/../tools/common.sh"
command -v gdb >/dev/null || skip "gdb is not installed"
cd "$work" || exit 99
cat >prog.c <<'C'
#include <stdio.h>
static int table[8];
__attribute__((noinline)) static int inner(int index, int value)
{
    table[index & 7] += value;
    return table[index & 7];     /* line 6 */
}
__attribute__((noinline)) static int outer(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += inner(i, i * 2);  /* line 12 */
    return sum;
}
int main(void)
{
    printf("%d\n", outer(20));
    return 0;
}
C
"$PEETCC" -g -O0 -o prog prog.c || fail "peetcc -g"
gdb -q -batch -nx -ex 'set confirm off' -ex 'break prog.c:6 if index == 5' -ex run -ex 'print value' -ex 'print index' -ex backtrace \
    -ex 'info line 12' -ex continue ./prog >said 2>&1
grep -q '\$1 = 10' said && grep -q '\$2 = 5' said || { cat said; fail "variables are not shown"; }
grep -qE '#1 .*outer .*prog.c:12' said && grep -qE '#2 .*main .*prog.c:17' said || { cat said; fail "the call stack is not shown"; }
grep -q 'Line 12 of "prog.c" starts at' said || { cat said; fail "no line table"; }
"$PEETCC" -g -O2 -o prog prog.c || fail "peetcc -g -O2"
gdb -q -batch -nx -ex 'break inner' -ex run -ex backtrace ./prog >said 2>&1
grep -qE '#1 .*outer' said && grep -qE '#2 .*main' said || { cat said; fail "the call stack of optimised code is not shown"; }
exit 0
