# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: what those of the peet command share.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
json_get=$PEET_PREFIX/tests/json-get

# refuses STATUS TEXT COMMAND...: it has to end with STATUS and say TEXT (a grep -E pattern) on standard
# error, in lines that begin with who speaks, and nothing on standard output
refuses() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >refused.out 2>refused.err </dev/null || status=$?
    cat refused.err
    [ "$status" -eq "$wanted" ] || fail "status $status, not $wanted, of: $*"
    grep -E -q -e "$text" refused.err || fail "not said: '$text' by: $*"
    [ ! -s refused.out ] || fail "standard output of: $*"
    rm -f refused.out refused.err
}

absent() {
    local path
    for path in "$@"; do
        [ ! -e "$path" ] || fail "$path was left behind"
    done
}

# no name with a temporary's ending, nowhere below here
no_leftovers() {
    local found
    found=$(find . -regextype posix-extended -regex '.*\.([A-Za-z0-9]{6}|tmp[^/]*)$' ! -name '*.schema' ! -name '*.config')
    [ -z "$found" ] || fail "left behind: $found"
}

# a small program with a call, a loop, an array and output that depends on its arguments
write_sum() {
    cat >sum.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static long table[1000];
__attribute__((noinline)) long sum(const long *t, int n)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        s += t[i] * (i & 3);
    return s;
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100;
    for (int i = 0; i < n; i++)
        table[i] = (i * 7919) % 1009;
    printf("%ld\n", sum(table, n));
    return 0;
}
END
}
