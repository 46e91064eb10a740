# SPDX-License-Identifier: Apache-2.0
# Sourced by the lib.sh of each area, which its cases source: an empty folder to work in (the case's argument), the tools, and how a
# check fails or is skipped.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/stats.sh"
export LC_ALL=C
: "${PEET_PREFIX:?}" "${PEET_SOURCE:?}" "${PEET_PLAIN_CC:?}" "${PEET_PLAIN_CXX:?}"
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd) # the area's folder
peet=$PEET_PREFIX/bin/peet
peetcc=$PEET_PREFIX/bin/peetcc
peetcxx=$PEET_PREFIX/bin/peetcc++
export PEETCC_CLANG=$PEET_PLAIN_CC PEETCC_CLANGXX=$PEET_PLAIN_CXX
work=${1:?folder to work in}
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1
ulimit -c 0

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

# same FILE FILE [WHAT]: they have the same bytes
same() {
    cmp "$1" "$2" || fail "$1 and $2 differ: ${3:-}"
}

# equal WHAT A B: the texts are the same
equal() {
    [ "$2" = "$3" ] || fail "$1: '$2' is not '$3'"
}

# value [-r] FILE PATH...: a number or text of a JSON file
value() {
    "$PEET_PREFIX/tests/json-get" "$@" || fail "$1 has no $2"
}

# near WHAT A B PERCENT: A is no farther from B than so many hundredths of B
near() {
    awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { d = a - b; exit !((d < 0 ? -d : d) <= b * p / 100) }' ||
        fail "$1: $2 is not within $4% of $3"
    echo "$1: $2, expected $3"
}
