#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# OMP_PLACES and OMP_PROC_BIND: as the ordinary library has places here, where it knows the list, else by the book.
. "$(dirname "$0")/lib.sh"
both "$here/cases/places.c"
mine() { # mine CORES ENVIRONMENT...
    local cores=$1
    shift
    env "$@" "$peet" run --quiet --cores "$cores" -d run -- ./recorded 2>errors || fail "places, $*: $(cat errors)"
}
told() { # told EXPECTED OMP_PLACES: of four processors
    local expected=$1 got
    got=$(mine 4 OMP_PLACES="$2")
    [ "$got" = "$expected bind 4" ] || fail "OMP_PLACES=$2: $got"
}
here_cores=$(nproc)
if [ "$(OMP_PROC_BIND=true ./plain)" = "$(mine "$here_cores" OMP_PROC_BIND=true)" ]; then # no siblings, and no gaps in numbers
    for variables in X= OMP_PROC_BIND=false "OMP_PROC_BIND=false OMP_PLACES={0}" OMP_PLACES=threads "OMP_PLACES={0},{1}" "OMP_PLACES={0:2},{2:2}" \
        "OMP_PLACES={0:2}:2:2" "OMP_PLACES={0:2}:2" "OMP_PLACES=0,1" "OMP_PLACES={1,0}" "OMP_PLACES={1}:3:-1" "OMP_PLACES={1:2:-1}" "OMP_PLACES={0}:2:0" \
        "OMP_PLACES={0:0}" "OMP_PLACES={9999}" "OMP_PLACES={0}," "OMP_PLACES={0}{1}" "OMP_PLACES={0:2},threads" "OMP_PLACES={-1}" OMP_PLACES=dies "OMP_PLACES=threads(0)"; do
        # shellcheck disable=SC2086 # several variables
        expected=$(env $variables ./plain 2>/dev/null)
        # shellcheck disable=SC2086
        got=$(mine "$here_cores" $variables)
        [ "$got" = "$expected" ] || fail "$variables: $got, and not $expected"
    done
fi
told '2: {0,1} {2,3}' '{0:2},{2:2}'
told '2: {0,1} {2,3}' ' { 0 : 2 } : 2 : 2 '
told '3: {0,1} {1,2} {2,3}' '{0:2}:3'
told '2: {0,2} {1,3}' '{0:2:2},{1:2:2}'
told '2: {0,3} {1,2,3}' '{0:4,!1,!2},!{0}'
told '4: {3} {2} {1} {0}' '{3}:4:-1'
told '2: {2,3} {3}' '{2:8}:3'
told '1: {0,1,2,3}' sockets
told '2: {0} {1}' 'cores (2)'
# neither
[ "$(mine 4 X=)" = '1: {0,1,2,3} bind 0' ] || fail "no places asked for: $(mine 4 X=)"
[ "$(mine 4 OMP_PROC_BIND=close)" = '4: {0} {1} {2} {3} bind 3' ] || fail "OMP_PROC_BIND alone: $(mine 4 OMP_PROC_BIND=close)"
