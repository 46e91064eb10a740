# SPDX-License-Identifier: Apache-2.0
# The demo, with few processors: it ends well, its pictures are pictures, and its table says what the runs' stats.json say.
. "$(dirname "$0")/lib.sh"
case ${PEET_SANITIZED:-OFF} in ON | 1 | TRUE) echo "a sanitised runtime library cannot be linked to a plain program"; exit 0 ;; esac
PEET_DEMO_PROCESSORS="1 8" must bash "$examples/demo.sh" "$PEET_PREFIX" "$work/demo" >table
grep -q "byte for byte" table || fail "the demo does not say that the outputs agree"
for picture in execution-time bus-utilisation bus-over-time; do
    [ "$(head -c 4 demo/$picture.png | tail -c 3)" = PNG ] || fail "$picture.png is no picture"
    grep -q '</svg>' demo/$picture.svg || fail "$picture.svg is no picture"
done
[ "$(wc -l <demo/points.tsv)" = 2 ] || fail "points.tsv has not two lines"
cycles=$(value demo/runs/8-128KiB-8/stats.json time.cycles)
[ "$(awk '$1 == 8 { print $4 }' demo/points.tsv)" = "$cycles" ] || fail "points.tsv and stats.json disagree"
# windows: their mean, weighted by their width, is the average utilisation
value -r demo/runs/8-128KiB-8/stats.json bus.bus.windows cycle utilisation |
    awk -v end="$cycles" -v average="$(value demo/runs/8-128KiB-8/stats.json bus.bus.utilisation)" '
        { if (NR > 1) sum += last * ($1 - from); from = $1; last = $2 }
        END { sum += last * (end - from); d = sum / end - average; exit !(d < 1e-6 && d > -1e-6) }' ||
    fail "the windows do not add up to the average"
