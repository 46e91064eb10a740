#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A context that looks at a plain variable for ever gives its processor to one that waits for it, as from a kernel.
. "$(dirname "$0")/../tools/common.sh"
source=$(dirname "$(readlink -f "$0")")/slices.c
cd "$work" || exit 99
"$PEETCC" -O2 -pthread -o prog "$source" || fail "peetcc refused it"
run() { # FOLDER OPTION...
    local folder=$1
    shift
    timeout -k 10 100 "$PEET" run --quiet --observe hash -d "$folder" "$@" >got 2>said || { cat said; fail "$*: status $?"; }
    sed -n '/"hash": "/p' "$folder/stats.json" >"hash.$folder"
    cycles=$(jq .time.cycles "$folder/stats.json")
    [ -s "hash.$folder" ] || fail "$*: no hash"
}
for call in once kill malloc getpid access nothing; do
    run first -- ./prog $call
    [ "$(cat got)" = over ] || fail "$call: $(cat got)"
done
# again, replayed, and with shorter slices
whole=$cycles
run second --observe trace -- ./prog nothing
diff hash.first hash.second || fail "another hash"
run replayed --from second
diff hash.first hash.replayed || fail "another hash when replayed"
echo 'slice_cycles = 100000;' >short.cfg
run short -c short.cfg -- ./prog nothing
[ "$cycles" -lt $((whole / 4)) ] || fail "$cycles cycles with short slices, $whole with long ones"
for policy in affinity rr; do
    run $policy --policy $policy -- ./prog nothing
done
exit 0
