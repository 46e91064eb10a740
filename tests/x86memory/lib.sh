# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# run OUT OPTIONS... -- PROGRAM...
run() {
    local out=$1
    shift
    must timeout -k 1 100 "$peet" run -q -d "$out" "$@" >"$out.out"
}

# of OUT KEY
of() {
    value "$1/stats.json" "$2"
}
