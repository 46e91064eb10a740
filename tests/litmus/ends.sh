#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Executions that crash or deadlock are outcomes as others are, and their tokens repeat them.
. "$(dirname "$0")/lib.sh"
compile_for plain ends "$here/programs/ends.c" -O2
explore out 3 plain ./ends
equal "outcomes" "$(outcomes_of out | tr '\n' ' ')" "7 deadlock signal "
# token_of_end END
token_of_end() {
    awk -F'"' -v want="$1" '/"end": / { how = $4 } /"token": / { if (how == want) { print $4; exit } }' <(sed -n '/^ "exploration": {/,/^ }/p' out/stats.json)
}
status=0
"$peet" run -q -d again --cores 3 --replay-token "$(token_of_end deadlock)" -- ./ends >again.txt 2>&1 || status=$?
equal "status of the deadlock, repeated" "$status" 3
status=0
("$peet" run -q -d again --cores 3 --replay-token "$(token_of_end signal)" -- ./ends) >again.txt 2>&1 || status=$?
equal "status of the crash, repeated" "$status" 139
