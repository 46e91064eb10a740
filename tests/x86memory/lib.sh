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

# near WHAT NUMBER EXPECTED PERCENT
near() {
    awk -v n="$2" -v e="$3" -v p="$4" 'BEGIN { d = n - e; exit !((d < 0 ? -d : d) <= e * p / 100) }' ||
        fail "$1: $2 is not within $4 % of $3"
    echo "$1: $2, expected $3"
}
