#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Algorithms: right in every execution under sequential consistency and, with their fences and orders, under the models for which they were
# written.  With one left out, exploration finds a violating execution under the model that permits it, and its token repeats it.
# programs.sh FOLDER PROGRAM MODEL-THAT-BREAKS-IT MODELS-THAT-IT-STANDS...
. "$(dirname "$0")/lib.sh"
name=$2 breaks=$3
shift 3
source=$here/programs/$name.c
compile_for plain plain "$source" -O2
compile_for plain plain_broken "$source" -O2 -DBROKEN
compile_for views right "$source" -O2
compile_for views broken "$source" -O2 -DBROKEN

good() {
    local lines
    lines=$(outcomes_of "$1")
    [ "$(echo "$lines" | wc -l)" = 1 ] && ! grep -q '"status": 1' "$1/stats.json" || fail "$2: outcomes: $lines"
}
explore sc 3 plain ./plain
good sc "sequentially consistent"
explore sc 3 plain ./plain_broken
good sc "sequentially consistent, without fences"
for model in "$@"; do
    explore "out.$model" 3 "$model" ./right
    good "out.$model" "with its fences, under $model"
done
explore bad 3 "$breaks" ./broken
text=$(outcomes_of bad | grep -v -x -F -f <(outcomes_of sc) | sed -n 1p)
[ -n "$text" ] || fail "no violation found under $breaks: $(outcomes_of bad)"
token=$(token_of bad "$text")
status=0
"$peet" run -q -d again --cores 3 --consistency "consistency,model=$breaks" --replay-token "$token" -- ./broken >again.txt || status=$?
equal "the output of token $token" "$(cat again.txt)" "$text"
equal "the exit status of token $token" "$status" 1
echo "$name: '$text' under $breaks, repeated by $token"
