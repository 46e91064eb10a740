# SPDX-License-Identifier: Apache-2.0
# Names of temporary files come from the seed of the run, and are otherwise what the C library makes; one that exists is
# passed over.
. "$(dirname "$0")/lib.sh"
build names
mkdir files
same_but_names() { cmp -s <(grep -v ^= "$1") <(grep -v ^= "$2") || fail "$3: $(diff "$1" "$2")"; }
must ./plain.names files >want
must ./names files >plain
same_but_names want plain "not simulated"
cmp -s want plain && fail "plain runs make the same names"
for k in 1 2; do
    must "$peet" run --quiet --machine ideal --observe hash -d out.$k -- ./names files >got.$k
    same_but_names want got.$k "simulated"
done
cmp got.1 got.2 || fail "two runs differ: $(diff got.1 got.2)"
equal "hash of two runs" "$(value out.1/stats.json hash.hash)" "$(value out.2/stats.json hash.hash)"
equal "files that are left" "$(ls files)" ""
must "$peet" run --quiet --machine ideal --seed 7 -d out -- ./names files >seeded
cmp -s seeded got.1 && fail "the seed makes no difference"
first=$(sed -n '1s/= //p' got.1)
echo kept >"$first"
must "$peet" run --quiet --machine ideal -d out -- ./names files >third
same_but_names want third "beside a file of the first name"
[ "$(sed -n '1s/= //p' third)" != "$first" ] || fail "a name was taken that exists"
equal "the file that was there" "$(cat "$first")" kept
exit 0
