# SPDX-License-Identifier: Apache-2.0
# The bench runs small programs through all its variants and prints ratios, also for programs of others with a build of their
# own; what it says as JSON is what it measured; wrong arguments are refused.
. "$(dirname "$0")/lib.sh"
bench() { bash "$PEET_SOURCE/bench/run.sh" --prefix "$PEET_PREFIX" --quick --reps 1 --no-extras --out "$work/results" "$@"; }
must bench --variants "recording ideal bus" queens >table
grep -Eq '^queens +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ *$' table || fail "no line of numbers: $(cat table)"
[ "$(awk -F'\t' 'NR > 1 && $10 == "ok"' results/measurements.tsv | wc -l)" = 4 ] || fail "not four measurements"

# A suite of our own: a build command in a folder, $THREADS in arguments and input, a variable, and a program that differs.
mkdir -p suite/echo/inputs
cat >suite/echo/echo.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char line[80] = "";
    const char *variable = getenv("BENCH_TEST");
    if (!fgets(line, sizeof line, stdin))
        return 1;
    printf("%s %s %s", argc > 2 ? argv[2] : "none", variable ? variable : "unset", line);
#ifdef DIFFER
    printf("%p\n", (void *)main);
#endif
    return 0;
}
END
for threads in 1 2 3; do echo "input $threads" >suite/echo/inputs/p$threads; done
cat >suite/programs.list <<'END'
# name | quick | full | libraries | folder | build | program | input | compare
good  | BENCH_TEST=x$THREADS a b$THREADS | | | echo | $CC $CFLAGS -o bin.out echo.c | bin.out | inputs/p$THREADS
other | | | | echo | $CC $CFLAGS -DDIFFER -fPIE -pie -o other echo.c | | inputs/p3
free  | | | | echo | $CC $CFLAGS -DDIFFER -fPIE -pie -o free echo.c | | inputs/p3 | any
END
must bench --programs suite --variants "recording ideal" --processors "1,3" --json good free >good.json
for row in 0 1 2 3 4 5; do
    equal "processors of measurement $row" "$(value good.json measurements.$row.processors)" $((row < 3 ? 1 : 3))
    equal "verdict of measurement $row" "$(value good.json measurements.$row.verdict)" ok
done
for row in 1 3 5; do # ideal of good on 1 and on 3 processors, and of free
    equal "variant of row $row" "$(value good.json ratios.$row.variant)" ideal
    [ "$(value good.json ratios.$row.instructions)" -gt 0 ] || fail "row $row has no instructions"
    value good.json ratios.$row.cpu_s >cpu
done
equal "programs on 3 processors" "$(value good.json geomeans.2.programs)" 1
# a difference is a failure that is told
if bench --programs suite --variants ideal other >table 2>errors; then fail "an output that differs was accepted: $(cat table)"; fi
grep -q "problems" errors && grep -q "differs" results/problems.txt || fail "the difference is not told: $(cat errors)"
for wrong in "--reps 0" "--nonsense" "no-such-program" "--processors 0" "--programs nowhere"; do
    bench $wrong >/dev/null 2>&1 && fail "accepted: $wrong"
done

# The threaded programs say the same whatever the number of threads, natively and simulated.
list=$(awk -F'|' '!/^#/ { gsub(/ /, "", $1); print $1 }' "$PEET_SOURCE/bench/threads/programs.list")
[ "$(echo $list | wc -w)" = 12 ] || fail "not twelve threaded programs: $list"
for name in $list; do
    case $name in
    lu) size="64 8" ;; fft) size="8 1" ;; radix) size="3000 1" ;; ocean) size="16 10" ;; barnes) size="80 2" ;; water) size="24 2" ;;
    tasks) size=3000 ;; sharing) size="1000 2" ;; pipeline) size=60 ;; cg) size="200 6 1" ;; mg) size="3 2" ;; is) size="3000 2" ;;
    *) fail "no size for $name" ;;
    esac
    must "$PEET_PLAIN_CC" -O2 -pthread -fopenmp -o plain "$PEET_SOURCE/bench/threads/$name.c" -lm
    must "$PEET_PREFIX/bin/peetcc" -O2 -pthread -fopenmp -o with "$PEET_SOURCE/bench/threads/$name.c" -lm
    must ./plain 1 $size >expected
    for threads in 3 4; do
        must ./plain $threads $size >got
        cmp -s expected got || fail "$name: $threads threads say $(cat got), one $(cat expected)"
        must "$PEET_PREFIX/bin/peet" run -q --machine bus --cores $threads -d run -- ./with $threads $size >got
        cmp -s expected got || fail "$name: $threads simulated threads say $(cat got), one $(cat expected)"
    done
done
true

# A program that a bench does not know is refused before anything is measured.
for script in x86 domains recording hardware calibrate "traces --dynamorio ."; do
    read -r name options <<<"$script"
    bash "$PEET_SOURCE/bench/$name.sh" --prefix "$PEET_PREFIX" $options nosuch >said 2>&1 && fail "$name.sh takes any name"
    grep -q "^$name.sh: no program 'nosuch'; there are: .*queens" said || fail "$name.sh says: $(cat said)"
done
