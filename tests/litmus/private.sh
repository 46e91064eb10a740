#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stacks and thread-local variables in explorations: a loop that counts there does not wait for ever; what another thread has the address of is
# shared, sequentially consistent under each model, and under a weaker one that is said.
. "$(dirname "$0")/lib.sh"
value() { "$PEET_PREFIX/tests/json-get" out/stats.json "exploration.$1"; }
gaps() { sed -n 's/.*"what": "\([a-z_]*\)".*/\1/p' out/stats.json | sort | tr '\n' ' '; }
# case_is CASE OPTIMISATION MODEL COMPLETE GAPS OUTCOMES...
case_is() {
    local name=$1 level=$2 model=$3 complete=$4 gaps=$5 options=()
    shift 5
    if [ "$model" != plain ]; then
        options=(--consistency "consistency,model=$model")
    fi
    local program=$name.$level.$([ "$model" = plain ] && echo plain || echo views)
    [ -x $program ] || compile_for "$model" $program "$here/programs/private.c" "-DCASE_$name" "-$level"
    must timeout -k 1 100 "$peet" run -q -d out --cores 3 "${options[@]}" --explore all -- ./$program >text.txt 2>&1
    equal "outcomes of $name at $level under $model" "$(outcomes_of out | tr '\n' ' ')" "$* "
    equal "completeness of $name at $level under $model" "$(value complete) $(gaps)" "$complete $gaps"
}
for level in O0 O1; do
    for model in plain sc pso; do
        case_is COUNTED $level $model true "" 0 1 2 3
        case_is LOCAL $level $model true "" 0 1 2 3
    done
    for name in SHARED OWNER; do
        for model in plain sc; do
            case_is $name $level $model true "" 01 10 11
        done
        case_is $name $level tso false "stacks " 01 10 11
    done
    case_is RETURNED $level plain true "" 01 10 11
    case_is RETURNED $level tso true "" 00 01 10 11
done
exit 0
