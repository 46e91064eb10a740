# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: an empty folder to work in, the tools, and how a check fails.
set -u -o pipefail
export LC_ALL=C
: "${PEET_PREFIX:?}" "${PEET_SOURCE:?}" "${PEET_PLAIN_CC:?}" "${PEET_PLAIN_CXX:?}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peet=$PEET_PREFIX/bin/peet
peetcc=$PEET_PREFIX/bin/peetcc
peetcxx=$PEET_PREFIX/bin/peetcc++
json_get=$PEET_PREFIX/tests/json-get
export PEETCC_CLANG=$PEET_PLAIN_CC PEETCC_CLANGXX=$PEET_PLAIN_CXX
work=${1:?folder to work in}
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

skip() {
    echo "SKIPPED: $*"
    exit 77
}

# must COMMAND...: run it; it has to succeed
must() {
    "$@" || fail "status $? of: $*"
}

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

same() {
    cmp "$1" "$2" || fail "$1 and $2 differ: ${3:-}"
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

value() {
    "$json_get" "$@" || fail "nothing at $2 in $1"
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
