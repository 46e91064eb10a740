#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# guards.cpp, plainly and with several processors; all threads at once, and one before the others.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
here=$(cd "$OLDPWD" && cd "$(dirname "$0")" && pwd)
for first in 1 4; do
    sed "s/int n = 1; n <= 4; n += 3/int n = $first; n <= 4; n += 3/" "$here/guards.cpp" >guards.cpp
    echo "0 4" >want
    "$PEETCXX" -O1 -pthread -o guards guards.cpp || fail "peetcc++ refused it"
    ./guards >got && grep -q ' 4$' got || fail "plainly: $(cat got)" # where time is the host's
    for options in "--cores 1" "--cores 4" "--cores 4 --machine bus --foreign=ranges" "--cores 3 --policy rr --seed 2"; do
        # shellcheck disable=SC2086
        timeout 60 "$PEET" run -q $options --observe hash -d out -- ./guards >got 2>said || fail "$options: status $?: $(cat said)"
        cmp -s want got || fail "$options: $(cat got), not $(cat want)"
    done
done
exit 0
