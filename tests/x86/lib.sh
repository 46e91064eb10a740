# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases of the machine x86.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
json_get=$PEET_PREFIX/tests/json-get

# run SETTINGS ARGUMENTS...: a run on the machine x86 with these settings; results in folder "out".  Options: $options
options=
run() {
    local settings=$1
    shift
    timeout -k 1 120 "$peet" run -q $options -d out --machine "x86${settings:+,$settings}" -- "$@" >said 2>errors ||
        { cat errors; fail "status $? of x86,$settings: $*"; }
}

# cycles FUNCTION: of the last run
cycles() {
    awk -F, -v f="\"$1\"" '$1 == "function" && $2 == f { print $5; found = 1 } END { exit !found }' out/x86-stacks.csv ||
        fail "no function $1 in x86-stacks.csv"
}
