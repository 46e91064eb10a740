# SPDX-License-Identifier: Apache-2.0
# Calls that wait for nobody (names of files, descriptors, System V objects, queues) take their turn in simulated time.
. "$(dirname "$0")/lib.sh"
build look_late
both look_late
for options in "--machine ideal" "--machine bus" "--machine ideal --foreign=ranges"; do
    # shellcheck disable=SC2086
    timeout 100 "$peet" run --quiet $options --cores 10 -d out -- ./look_late turns >got 2>got.err ||
        fail "$options: status $?: $(cat got got.err)"
done
exit 0
