# SPDX-License-Identifier: Apache-2.0
# Threads that wait for the same descriptor, and terminals whose both ends are the program's.
. "$(dirname "$0")/lib.sh"
build tokens
both tokens
for options in "--policy rr --quantum 500" "--machine bus --granularity 3" "--policy affinity --seed 9"; do
    # shellcheck disable=SC2086
    timeout 60 "$peet" run --quiet --cores 3 $options -d out -- ./tokens >got 2>got.err || fail "$options: status $?: $(tail -3 got.err)"
    cmp -s want got || fail "$options: $(diff want got | sed -n '1,5p')"
done
exit 0
