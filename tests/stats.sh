# SPDX-License-Identifier: Apache-2.0
# Sourced by lib.sh and tools/common.sh.

# same_stats FILTER CONDITION A B: two stats.json are the same but for what the filter of jq takes out, and the condition holds for what it leaves.
# One jq for both: it takes longer than many of the runs that are compared.
same_stats() {
    jq -n -e "[inputs | $1] | length == 2 and .[0] == .[1] and (.[0] | $2)" "$3" "$4" >/dev/null && return
    local differences
    differences=$(diff <(jq -S "$1" "$3") <(jq -S "$1" "$4")) && echo "they are the same, but this does not hold: $2"
    head -n 40 <<<"$differences"
    return 1
}
