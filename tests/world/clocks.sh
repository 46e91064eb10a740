# SPDX-License-Identifier: Apache-2.0
# Simulated clocks and sleeps against the times asked for, to the nanosecond, at three frequencies.
. "$(dirname "$0")/lib.sh"
build clocks
cat >want <<'END'
usleep 5000000
nanosleep 12345678
clock_nanosleep 3500000001
thrd_sleep 42
sleep 3000000000
absolute in time
past at once
absolute in time
past at once
clocks agree 1 1 1
up when the year began 1, an hour 1
stamps agree 1
resolution 1, invalid 1
no clock: -1 1
no clock: -1 1
not set: 1 1 1
own: 0
work 1 1 1 1
sleep uses 1 1
times 1
sum 1
eight sleeps at once
condition Connection timed out in time
semaphore Connection timed out in time
END
for cores in 1 8; do
    must "$peet" run --quiet --machine ideal --cores $cores -d out -- ./clocks >got
    cmp want got || fail "$cores processors: $(diff want got)"
done
# Cycles of other lengths: what is asked for is rounded up to whole cycles, and read in whole nanoseconds
must "$peet" run --quiet --machine ideal --frequency 4000000000 -d out -- ./clocks >got
sed -i 's/^thrd_sleep 4[1-3]$/thrd_sleep 42/; s/^\([a-z_]*sleep [0-9]*\)$/\1/' got
grep -q '^usleep \(4999999\|5000000\|5000001\)$' got || fail "at 4 GHz: $(cat got)"
must "$peet" run --quiet --machine ideal --frequency 1000000 -d out -- ./clocks >got
grep -q '^usleep 5000000$' got && grep -q '^sleep 3000000000$' got || fail "at 1 MHz: $(cat got)"

# plainly, time is real
./clocks >got
grep -q '^up when the year began 1' got && fail "the plain program reads a simulated clock"

must "$peetcc++" -O1 -pthread -o chrono "$programs/chrono.cpp"
must "$peet" run --quiet --machine ideal -d out -- ./chrono >got
printf 'sleep_for 1\nsleep_until 1\nwait_for 1 1\nyear 2026\n' >want
cmp want got || fail "C++: $(diff want got)"
exit 0
