#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All litmus tests under all models at -O1 and -O2, and random ones: what the quick cases of the test suite take samples of.  Says how long each took.
# all.sh BUILD-FOLDER [MODEL...]
set -u
here=$(cd "$(dirname "$0")" && pwd)
export PEET_PREFIX=$(cd "${1:-build}" && pwd) PEET_SOURCE=$(cd "$here/../.." && pwd) PEET_PLAIN_CC=${PEET_PLAIN_CC:-clang-22} PEET_PLAIN_CXX=${PEET_PLAIN_CXX:-clang++-22}
export LITMUS_SECONDS=${LITMUS_SECONDS:-3000}
shift
status=0
for model in ${*:-plain sc tso pso pc wo rc}; do
    for level in O1 O2; do
        began=$SECONDS
        bash "$here/outcomes.sh" "$PEET_PREFIX/tests/litmus/all.$model.$level" "$model" "$level" all || status=1
        echo "$model -$level: $((SECONDS - began)) s"
    done
    [ "$model" = plain ] || bash "$here/outcomes.sh" "$PEET_PREFIX/tests/litmus/all.$model.random" "$model" O1 random 1 100 || status=1
done
exit $status
