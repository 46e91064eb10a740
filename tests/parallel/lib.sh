# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: programs and the events that they cause.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

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
