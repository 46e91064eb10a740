# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: a folder to work in, the tools, and how a check fails.
set -u -o pipefail
export LC_ALL=C
: "${PEET_PREFIX:?}" "${PEET_SOURCE:?}" "${PEET_PLAIN_CC:?}"
peet=$PEET_PREFIX/bin/peet
peetcc=$PEET_PREFIX/bin/peetcc
work=${1:?folder to work in}
rm -rf "$work"
mkdir -p "$work" && cd "$work" || exit 1
ulimit -c 0

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
must() {
    "$@" || fail "status $? of: $*"
}
# value FILE PATH: a number or text of a JSON file
value() {
    "$PEET_PREFIX/tests/json-get" "$1" "$2" || fail "$1 has no $2"
}
# same WHAT A B
same() {
    [ "$2" = "$3" ] || fail "$1: '$2' is not '$3'"
}
