# SPDX-License-Identifier: Apache-2.0
# The bench runs one small program through all its variants and prints ratios; wrong arguments are refused.
. "$(dirname "$0")/lib.sh"
must bash "$PEET_SOURCE/bench/run.sh" --prefix "$PEET_PREFIX" --quick --reps 1 --no-cachegrind --no-extras --out "$work/results" queens >table
grep -Eq '^queens +[0-9.]+ +[0-9.]+ .*[0-9.]+ .*[0-9.]+ ' table || fail "no line of numbers: $(cat table)"
[ "$(awk -F'\t' '!/^#/ && $8 == "ok"' results/measurements.tsv | wc -l)" = 4 ] || fail "not four measurements"
for wrong in "--reps 0" "--nonsense" "no-such-program"; do
    bash "$PEET_SOURCE/bench/run.sh" --prefix "$PEET_PREFIX" --quick $wrong >/dev/null 2>&1 && fail "accepted: $wrong"
done
true
