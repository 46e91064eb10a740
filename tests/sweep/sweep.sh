# SPDX-License-Identifier: Apache-2.0
# A sweep of 100 runs (200 at full length) that is killed at random goes on and ends with the same table; failures are kept apart; other ways to start runs give the same numbers.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/subject.sh"
runs=100 kills=5 policies='"fcfs"'
[ -z "${PEET_THOROUGH:-}" ] || runs=200 kills=12 policies='"fcfs", "affinity"'
cat >plan.cfg <<END
grid = {
    machine = ("ideal", "bus,cache=1KiB", "bus,cache=4KiB", "bus,cache=4KiB,protocol=berkeley");
    cores = (1, 3, 4, 7, 10);
    arguments = ("2", "4", "8", "16", "32");
    policy = ($policies);
};
END
"$peet" sweep -d whole plan.cfg -- ./subject >whole.txt 2>message || fail "the sweep: $(cat message)"
equal "runs" "$(ls whole/runs | wc -l)" $runs
[ "$(awk 'length > 80' whole.txt)" = "" ] || fail "too wide"
# each row is what that run alone gives
must "$peet" run -q --machine bus,cache=1KiB --cores 3 -d alone -- ./subject 16 >said.txt
python3 - $runs <<'PY' || fail "the table is not what the runs give"
import csv, json, sys
runs = int(sys.argv[1])
alone = json.load(open("alone/stats.json"))
rows = list(csv.DictReader(open("whole/table.csv")))
assert len(rows) == runs and len({r["key"] for r in rows}) == runs and all(r["state"] == "done" for r in rows)
row = [r for r in rows if (r["machine"], r["cores"], r["arguments"]) == ("bus,cache=1KiB", "3", "16") and r.get("policy", "fcfs") == "fcfs"]
assert len(row) == 1 and float(row[0]["cycles"]) == alone["time"]["cycles"] and float(row[0]["cache_misses"]) == alone["bus"]["totals"]["misses"], row
PY
# killed again and again
RANDOM=7
for ((round = 0; round < kills; round++)); do
    setsid "$peet" sweep -d killed plan.cfg -- ./subject >killed.txt 2>message &
    sweep=$!
    sleep "0.$((RANDOM % 8 + 1))"
    kill -9 -- -$sweep 2>/dev/null
    wait $sweep 2>/dev/null
done
[ "$(ls killed/runs | wc -l)" -gt 0 ] || fail "nothing was done before the kills"
"$peet" sweep -d killed plan.cfg -- ./subject >killed.txt 2>message || fail "going on: $(cat message)"
same whole/table.csv killed/table.csv "after kills"
same whole.txt killed.txt
grep -q part < <(ls killed/runs) && fail "something was left under way"
# the sweep alone is killed, and its run goes on: it is waited for, and counts
cat >slow.c <<'C'
int main(void) { for (volatile long i = 0; i < 200000000; i++) { } return 0; }
C
must "$peetcc" -O1 -o slow slow.c
echo 'grid = { cores = 1; };' >slow.cfg
"$peet" sweep -d alone.killed slow.cfg -- ./slow >slow.txt 2>message &
sweep=$!
for ((i = 0; i < 100; i++)); do
    [ -n "$(ls alone.killed/runs/*.part/output.txt 2>/dev/null)" ] && break
    sleep 0.1
done
kill -9 $sweep
wait $sweep 2>/dev/null
"$peet" sweep -d alone.killed slow.cfg -- ./slow >slow.txt 2>message || fail "a run of a sweep that was killed: $(cat message)"
equal "runs" "$(ls alone.killed/runs | wc -l) $(ls alone.killed/failed | wc -l)" "1 0"
# a plan that has grown runs what is new only
touch stamp
sed 's/"32"/"32", "64"/' plan.cfg >more.cfg
"$peet" sweep -d killed more.cfg -- ./subject >more.txt 2>message || fail "a grown plan: $(cat message)"
equal "new runs" "$(find killed/runs -mindepth 1 -maxdepth 1 -newer stamp | wc -l)" $((runs / 5))
# failures
cat >bad.cfg <<'END'
grid = { cores = (1, 2); arguments = ("4", "13", "14"); };
list = ( { machine = "nosuch"; } );
END
"$peet" sweep -d bad bad.cfg -- ./subject >bad.txt 2>message && fail "failures are no success"
grep -q '5 of 7 runs failed' message || fail "failures: $(cat message)"
equal "failed" "$(ls bad/failed | wc -l)" 5
equal "done" "$(ls bad/runs | wc -l)" 2
grep -q '^signal 6' bad/failed/*/status && grep -q '^status 5' bad/failed/*/status || fail "no status"
grep -q nosuch bad/failed/*/messages.txt || fail "no message of a run that could not begin"
# what a plan can get wrong
for wrong in 'grid = { nosuch = (1); };' 'grid = { cores = (); };' 'cores = 3;' 'grid = {' '' 'list = ( 5 );'; do
    echo "$wrong" >wrong.cfg
    "$peet" sweep -d wrong wrong.cfg -- ./subject >out.txt 2>message
    equal "status of: $wrong" $? 2
    grep -q 'wrong.cfg' message || fail "no place: $(cat message)"
done
"$peet" sweep -d wrong plan.cfg >out.txt 2>message && fail "no program"
# the picture
"$peet" sweep -d whole --plot plot.svg plan.cfg -- ./subject >out.txt 2>message || fail "--plot: $(cat message)"
python3 -c 'import xml.dom.minidom as m; m.parse("plot.svg")' || fail "plot.svg is no picture"
# settings that differ late in their text are curves of their own, each in the order of the numbers
long=bus,protocol=berkeley,cache=64KiB,line=16,memory_latency_cycles=10,ways
cat >curves.cfg <<END
grid = { machine = ("$long=1", "$long=2"); cores = (4, 1, 2); arguments = "8"; };
END
"$peet" sweep -d curves --plot curves.svg curves.cfg -- ./subject >out.txt 2>message || fail "curves: $(cat message)"
python3 - <<'PY' || fail "the curves are not there"
import re
import xml.etree.ElementTree as tree
curves = []
for g in tree.parse("curves.svg").getroot().iter():
    if re.fullmatch("gnuplot_plot_[0-9]+", g.get("id", "")):
        lines = [[float(x) for x in re.findall(r"[ML]([\d.]+),", p.get("d"))] for p in g.iter() if p.tag.endswith("}path")]
        curves.append(max(lines, key=len)[-3:]) # after the line in the key
assert len(curves) == 2 and all(len(x) == 3 and x == sorted(x) for x in curves), curves
PY
"$peet" sweep -d never --plot plot.bmp curves.cfg -- ./subject >out.txt 2>message && fail "a picture of unknown type"
PATH=/nowhere "$peet" sweep -d never --plot plot.svg curves.cfg -- ./subject >out.txt 2>message && fail "a picture without gnuplot"
grep -q 'gnuplot is not on PATH' message || fail "no gnuplot: $(cat message)"
echo 'grid = { machine = ("ideal", "bus"); arguments = "8 x"; };' >words.cfg
"$peet" sweep -d never --plot plot.svg words.cfg -- ./subject >out.txt 2>message && fail "a picture with nothing to draw against"
grep -q 'is a number in each run' message || fail "no numbers: $(cat message)"
PATH=/nowhere "$peet" whatif -d never --plot plot.svg -- ./subject 8 >out.txt 2>message && fail "whatif: a picture without gnuplot"
grep -q 'gnuplot is not on PATH' message || fail "whatif, no gnuplot: $(cat message)"
[ ! -e never ] || fail "runs for a picture that cannot be"
echo 'list = ( { cores = 1; arguments = "13"; }, { cores = 2; arguments = "13"; } );' >none.cfg
"$peet" sweep -d none --plot none.svg none.cfg -- ./subject >out.txt 2>message && fail "a picture of nothing"
grep -q 'no run has ended' message || fail "why there is no picture: $(cat message)"
# other ways
cat >few.cfg <<'END'
grid = { machine = ("ideal", "bus,cache=1KiB"); cores = (2, 4); arguments = ("8"); };
END
! "$peet" sweep -d none nosuch.cfg -- ./subject 2>message && grep -q "plan 'nosuch.cfg' cannot be read: No such file" message || fail "no plan: $(cat message)"
"$peet" sweep -d here few.cfg -- ./subject >here.txt 2>message || fail "few: $(cat message)"
"$peet" sweep -d here few.cfg -- ./subject >again.txt 2>message || fail "few, again: $(cat message)"
! grep -q 'older than the program' message || fail "results are called old: $(cat message)"
touch -d '+1 minute' subject
"$peet" sweep -d here few.cfg -- ./subject >again.txt 2>message || fail "few, with another program: $(cat message)"
grep -q '4 of 4 runs are older than the program, .* without here/runs they are' message || fail "old results are not called so: $(cat message)"
touch subject
# What is under way ends with the sweep.
cat >endless.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    FILE *out = fopen("endless.pid", "w");
    fprintf(out, "%d\n", (int)getpid());
    fclose(out);
    for (volatile long i = 0;; i++)
        ;
}
END
must "$peetcc" -O1 -o endless endless.c
echo 'grid = { cores = (1); };' >one.cfg
"$peet" sweep -d ended one.cfg -- "$PWD/endless" >ended.txt 2>message &
sweep=$!
for ((i = 0; i < 600; i++)); do
    [ -s endless.pid ] && break
    sleep 0.1
done
[ -s endless.pid ] || fail "the run does not begin: $(cat message)"
kill -TERM $sweep
wait $sweep
for ((i = 0; i < 600; i++)); do
    kill -0 "$(cat endless.pid)" 2>/dev/null || break
    sleep 0.1
done
! kill -0 "$(cat endless.pid)" 2>/dev/null || fail "a run goes on when its sweep has ended"
if command -v parallel >/dev/null; then
    "$peet" sweep -d spread --parallel few.cfg -- ./subject >spread.txt 2>message || fail "--parallel: $(cat message)"
    same here/table.csv spread/table.csv "GNU parallel"
fi
# Slurm: where a cluster is; else a stand-in for sbatch that does with an array what Slurm does
if ! command -v sbatch >/dev/null || ! sinfo -h >/dev/null 2>&1; then
    mkdir bin
    cat >bin/sbatch <<'SH'
#!/bin/bash
for word; do
    case $word in
    --array=*) array=${word#--array=} ;;
    --*) ;;
    *) script=$word ;;
    esac
done
for ((i = ${array%-*}; i <= ${array#*-}; i++)); do
    SLURM_ARRAY_TASK_ID=$i bash "$script"
done
SH
    chmod +x bin/sbatch
    PATH=$PWD/bin:$PATH
fi
"$peet" sweep -d array --slurm few.cfg -- ./subject >array.txt 2>message || fail "--slurm: $(cat message)"
same here/table.csv array/table.csv "Slurm"
exit 0
