# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: an empty folder to work in, names of the tools, and how a check fails.
set -u -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${PEET_PREFIX:?}" "${PEET_SOURCE:?}"
CC=${PEET_PLAIN_CC:-clang-22}
peet=$PEET_PREFIX/bin/peet
peetcc=$PEET_PREFIX/bin/peetcc
examples=$PEET_SOURCE/examples
work=${1:?folder to work in}
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# must COMMAND...: run it; it has to succeed
must() {
    "$@" || fail "status $? of: $*"
}

# same FILE FILE WHAT
same() {
    cmp "$1" "$2" || fail "$3"
}

# value FILE PATH: one number or text out of a JSON file
value() {
    [ -x ./peet-stat ] || must "$CC" -O1 -o peet-stat "$examples/tools/peet-stat.c" -ljansson
    ./peet-stat "$@" || fail "no $2 in $1"
}

# plain OUT SOURCE ARGS...: the uninstrumented program, without any part of peet but the headers
plain() {
    local out=$1
    shift
    must "$CC" -I"$PEET_PREFIX/include" -o "$out" "$@" "$here/plain_doall.c" -lm
}
