# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: a record, its replay, and what of two results files must be the same.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# results FILE: all but the configuration (which names folders) and what only one of the two can say
results() {
    python3 - "$1" <<'END'
import json, sys
stats = json.load(open(sys.argv[1]))
for key in ("config", "trace", "replay", "files", "foreign"):
    stats.pop(key, None)
stats["gaps"].pop("unseen") # null in a replay
print(json.dumps(stats, indent=1))
END
}

# replayed NAME OPTIONS -- PROG...: recorded and replayed, the results are the same, and the program did not run again
replayed() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    must "$peet" run -q "${options[@]}" --observe trace -d "$name.recorded" -- "$@" >"$name.out"
    must "$peet" run -q --from "$name.recorded" -d "$name.replayed" >"$name.again"
    [ ! -s "$name.again" ] || fail "$name: the program ran again"
    results "$name.recorded/stats.json" >"$name.1"
    results "$name.replayed/stats.json" >"$name.2"
    same "$name.1" "$name.2" "$name"
    equal "$name: contexts missing" "$(value "$name.replayed/stats.json" replay.missing_contexts)" 0
    equal "$name: other answers" "$(value "$name.replayed/stats.json" replay.other_answers)" 0
}
