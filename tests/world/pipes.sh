# SPDX-License-Identifier: Apache-2.0
# Pipes, FIFOs and event counters between threads: what comes out is what the plain program prints, and the run does not hang.
. "$(dirname "$0")/lib.sh"
build pipes
both pipes
# the same with time slices and affinity, and at a finer grain
for options in "--policy rr --quantum 1000" "--policy affinity"; do
    # shellcheck disable=SC2086
    timeout 120 "$peet" run --quiet --machine ideal --cores 2 $options -d out -- ./pipes >got || fail "$options: status $?"
    cmp -s want got || fail "$options: $(diff want got | sed -n '1,5p')"
done
must "$peetcc" -O1 -pthread -D_GNU_SOURCE -fpeet-granularity=block -o fine "$programs/pipes.c"
timeout 120 "$peet" run --quiet --machine ideal --cores 2 --granularity block -d out -- ./fine >got || fail "by blocks: status $?"
cmp -s want got || fail "by blocks: $(diff want got | sed -n '1,5p')"
# who waits for the world outside for long is not told that it waits for a thread
printf '#include <unistd.h>\nint main(void) { char c; return read(0, &c, 1) != 1; }\n' >reader.c
must "$peetcc" -O1 -o reader reader.c
{ sleep 11; echo; } | timeout 60 "$peet" run --quiet -d out -- ./reader 2>got.err || fail "a late line: status $?"
[ -s got.err ] && fail "a late line: $(cat got.err)"
exit 0
