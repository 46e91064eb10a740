# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
CC=$PEET_PLAIN_CC
examples=$PEET_SOURCE/examples

# plain OUT SOURCE ARGS...: the uninstrumented program, without any part of peet but the headers
plain() {
    local out=$1
    shift
    must "$CC" -I"$PEET_PREFIX/include" -o "$out" "$@" "$here/plain_doall.c" -lm
}
