# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: an empty folder to work in, the tools, and how a check fails.
set -u -o pipefail
export LC_ALL=C
: "${PEET_PREFIX:?}" "${PEET_SOURCE:?}" "${PEET_PLAIN_CC:?}" "${PEET_PLAIN_CXX:?}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
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

# same FILE FILE WHAT
same() {
    cmp "$1" "$2" || fail "$3"
}

# value FILE PATH: a number or text of a JSON file
value() {
    "$PEET_PREFIX/tests/json-get" "$1" "$2" || fail "$1 has no $2"
}

# build NAME SOURCE FLAGS...: with peetcc or peetcc++, by the source's ending
build() {
    local name=$1 source=$2 compiler=$peetcc
    shift 2
    case $source in *.cpp) compiler=$peetcxx ;; esac
    must "$compiler" -O2 -pthread -o "$name" "$source" "$@" -lm
}

# events FILE CORES PROGRAM ARGS...: one run on `ideal`; its abstract events, less those of the heap and of the library, go to FILE
events() {
    local file=$1 cores=$2
    shift 2
    [ -f events.so ] || must "$PEET_PLAIN_CC" -shared -fPIC -O1 -I"$PEET_PREFIX/include" -o events.so "$here/events.c"
    must "$peet" run --quiet --machine ideal --cores "$cores" --observe ./events.so ${options[@]+"${options[@]}"} -d run -- "$@" >output
    grep -E -v ' (ALLOC|FREE|RANGE|SYSCALL|IO_WAIT|CLOCK) ' run/events.txt >"$file"
}
