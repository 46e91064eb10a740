# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: a folder to work in, the tools, and how a check fails.
set -u -o pipefail
export LC_ALL=C
: "${PEET_PREFIX:?}" "${PEET_SOURCE:?}" "${PEET_PLAIN_CC:?}" "${PEET_PLAIN_CXX:?}"
peet=$PEET_PREFIX/bin/peet
peetcc=$PEET_PREFIX/bin/peetcc
programs=$PEET_SOURCE/tests/world/programs
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
same() {
    [ "$2" = "$3" ] || fail "$1: '$2' is not '$3'"
}
# build NAME [FLAG...]: plain.NAME and NAME
build() {
    local name=$1
    shift
    must "$PEET_PLAIN_CC" -O1 -pthread -D_GNU_SOURCE -o "plain.$name" "$programs/$name.c" "$@"
    must "$peetcc" -O1 -pthread -D_GNU_SOURCE -o "$name" "$programs/$name.c" "$@"
}
# both NAME [ARGUMENT...]: the output is that of the plain program: plainly, and simulated on 1 and 4 processors
both() {
    local name=$1 cores
    shift
    timeout 60 "./plain.$name" "$@" >want 2>want.err </dev/null
    local status=$?
    timeout 60 "./$name" "$@" >got 2>got.err </dev/null
    same "status of $name $*, not simulated" $? $status
    cmp -s want got || fail "$name $*, not simulated: $(diff want got | head -5)"
    for cores in 1 4; do
        timeout 60 "$peet" run --quiet --machine ideal --cores $cores -d out -- "./$name" "$@" >got 2>got.err </dev/null
        same "status of $name $* on $cores: $(tail -3 got.err)" $? $status
        cmp -s want got || fail "$name $* on $cores: $(diff want got | head -5)"
    done
}
