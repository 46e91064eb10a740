# SPDX-License-Identifier: Apache-2.0
# A preset is a chip: its shared cache and memory channels are there however many cores run, more cores add chips, and say so; the
# program's clocks and the seconds of the results follow its frequency.
. "$(dirname "$0")/lib.sh"
cat >walk.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
    const size_t n = (12u << 20) / sizeof(long); /* three slices of zen4's eight, all of its L2 twelve times */
    long *a = calloc(n, sizeof *a), sum = 0;
    struct timespec begin, end;
    for (size_t i = 0; i < n; i += 8)
        a[i] = (long)i;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < n; i += 8)
            sum += a[i];
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%ld %.0f\n", sum, (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec));
}
END_OF_C
must "$peetcc" -O2 -o walk walk.c
lines=$((12 * 1048576 / 64))

# Eight slices of 4 MiB with one core as with eight: the rounds after the first find their lines there.
for cores in 1 8; do
    run zen$cores --machine x86,preset=zen4 --cores $cores -- ./walk
    equal "$cores cores: slices" "$(of zen$cores x86.memory.l3_slices)" 8
    equal "$cores cores: channels" "$(of zen$cores x86.memory.memory_channels)" 4
    misses=$(($(of zen$cores x86.memory.l3.read_misses) + $(of zen$cores x86.memory.l3.write_misses)))
    [ $misses -lt $((lines * 11 / 10)) ] || fail "$cores cores: $misses misses of the L3 for $lines lines"
done
equal "the other cores are idle: same time" "$(of zen1 time.cycles)" "$(of zen8 time.cycles)"
# A chip of one core has one slice, which is too small.
run alone --machine x86,preset=zen4,chip_cores=1 -- ./walk
equal "a slice" "$(of alone x86.memory.l3_slices)" 1
[ "$(of alone x86.memory.l3.read_misses)" -gt $((2 * lines)) ] || fail "12 MiB fit into 4"

# More cores than a chip has.
must "$peet" run -q -d nine --machine x86,preset=zen4 --cores 9 -- ./walk >nine.out 2>nine.err
grep -q '^peet: x86: 9 cores are more than the 8 of a chip: 2 chips with 16 L3 slices and 8 memory channels' nine.err || fail "said: $(cat nine.err)"
equal "chips" "$(of nine x86.memory.chips)" 2
equal "slices of both" "$(of nine x86.memory.l3_slices)" 16

# Time: 3.5 GHz, or what the user says.
equal "frequency" "$(of zen1 time.frequency_hz)" 3500000000
near "seconds" "$(of zen1 time.seconds)" "$(awk -v c="$(of zen1 time.cycles)" 'BEGIN { printf "%.12f", c / 3.5e9 }')" 0.01
ns=$(cut -d' ' -f2 zen1.out)
run fast --machine x86,preset=zen4 --frequency 7G -- ./walk
equal "user's frequency" "$(of fast time.frequency_hz)" 7000000000
near "half the time" "$(cut -d' ' -f2 fast.out)" $((ns / 2)) 1
run same -c zen1/config.cfg -- ./walk
equal "by the configuration" "$(of same time.frequency_hz)" 3500000000
run plain --machine ideal -- ./walk
equal "without a machine's own" "$(of plain time.frequency_hz)" 1000000000

# Beyond what the directory knows: refused, at once.
"$peet" run -q -d many --machine x86 --cores 65536 -- ./walk >many.out 2>many.err && fail "65536 cores were accepted"
grep -q 'cores=65536: the directory knows up to 4096' many.err || fail "65536 cores: $(cat many.err)"
