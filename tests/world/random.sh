# SPDX-License-Identifier: Apache-2.0
# Random numbers come from the seed of the run: the same twice, others with another seed; plainly, they are random.
. "$(dirname "$0")/lib.sh"
must "$peetcc++" -O1 -fstack-protector-all -pthread -o random "$programs/random.cpp"
for k in 1 2; do
    must "$peet" run --quiet --machine ideal --observe hash -d out.$k -- ./random >got.$k
    must ./random >plain.$k
done
cmp got.1 got.2 || fail "two runs differ: $(diff got.1 got.2)"
equal "hash of two runs" "$(value out.1/stats.json hash.hash)" "$(value out.2/stats.json hash.hash)"
cmp -s plain.1 plain.2 && fail "plain runs are not random"
must "$peet" run --quiet --machine ideal --seed 7 -d out -- ./random >got.3
[ "$(head -1 got.3)" != "$(head -1 got.1)" ] || fail "the seed makes no difference"
equal "words of each line" "$(awk '{print NF}' got.1 | xargs)" "4 3 2"
exit 0
