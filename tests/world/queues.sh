# SPDX-License-Identifier: Apache-2.0
# Message queues between threads of one program.
. "$(dirname "$0")/lib.sh"
build queues
both queues
for machine in ideal bus; do
    timeout 60 "$peet" run --quiet --machine $machine --cores 4 -d out -- ./queues turns >got 2>got.err ||
        fail "turns on $machine: status $?: $(cat got got.err)"
done
exit 0
