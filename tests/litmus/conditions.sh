#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Condition variables in explorations: any waiter may be woken, and who is woken has its mutex when it gets it, not at once.
. "$(dirname "$0")/lib.sh"
for case in TAKEN WHICH; do
    compile_for views program "$here/programs/conditions.c" -O1 -DCASE_$case
    for model in plain tso; do
        [ $case$model != WHICHtso ] || [ -n "${PEET_THOROUGH:-}" ] || continue
        explore out 3 $model ./program
        equal "outcomes of $case under $model" "$(outcomes_of out | tr '\n' ';')" "0;1;"
        for outcome in 0 1; do # its token wakes the same one
            must "$peet" run -q -d again --cores 3 $([ $model = plain ] || echo --consistency consistency,model=$model) \
                --replay-token "$(token_of out $outcome)" -- ./program >got.txt
            equal "$case under $model, repeated" "$(cat got.txt)" "$outcome"
        done
    done
done
exit 0
