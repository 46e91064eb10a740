#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Executions that crash or deadlock are outcomes as others are, and their tokens repeat them.
. "$(dirname "$0")/lib.sh"
# ends_of OUTDIR: status and output of each outcome
ends_of() { awk -F'"' '/"status": / { status = $3 } /"output": / { print status $4 }' <(sed -n '/^ "exploration": {/,/^ }/p' "$1/stats.json") | sort; }
compile_for plain ends "$here/programs/ends.c" -O2
explore out 3 plain ./ends
equal "outcomes" "$(outcomes_of out | tr '\n' ' ')" "7 deadlock signal "
# token_of_end END
token_of_end() {
    awk -F'"' -v want="$1" '/"end": / { how = $4 } /"token": / { if (how == want) { print $4; exit } }' <(sed -n '/^ "exploration": {/,/^ }/p' out/stats.json)
}
status=0
"$peet" run -q -d again --cores 3 --replay-token "$(token_of_end deadlock)" -- ./ends >again.txt 2>&1 || status=$?
equal "status of the deadlock, repeated" "$status" 3
status=0
("$peet" run -q -d again --cores 3 --replay-token "$(token_of_end signal)" -- ./ends) >again.txt 2>&1 || status=$?
equal "status of the crash, repeated" "$status" 139

# the program's end comes before, between and behind what a thread does
cat >want.txt <<'END'

seen 
seen thread 
seen thread y 
seen y 
seen y thread 
thread 
thread y 
y 
y thread 
END
for by in CALLS STREAMS; do
    compile_for plain leaves "$here/programs/leaves.c" -O2 -D$by
    compile_for views leaves.views "$here/programs/leaves.c" -O2 -D$by
    explore out 2 plain ./leaves
    outcomes_of out >got.txt
    same want.txt got.txt "outcomes of a program that ends while a thread goes on ($by)"
    for model in tso rc; do
        explore "out.$model" 2 "$model" ./leaves.views
        outcomes_of "out.$model" >got.txt
        same want.txt got.txt "the same under $model ($by)"
    done
done

# ... and so do the ends that several threads ask for
compile_for plain leaves_twice "$here/programs/leaves_twice.c" -O2
explore out 3 plain ./leaves_twice
ends_of out >got.txt
printf '%s\n' ": 0," ": 0,flushed\n" ": 2,flushed\n" ": 3," >want.txt
same want.txt got.txt "outcomes of a program that three threads end"

# others act behind the last thing that a thread does before it crashes, and what they do does not keep it from that
for how in "ABORTS : 134, : 134,seen" "DIVIDES : 134, : 134,seen : 136, : 136,seen"; do
    compile_for views crashes "$here/programs/crashes.c" -O2 "-D${how%% *}"
    sed 's/ : /\n: /g; s/^[^\n]*\n//' <<<"$how" >want.txt
    for model in plain tso; do
        explore "out.$model" 3 $model ./crashes
        ends_of "out.$model" >got.txt
        same want.txt got.txt "outcomes of a program that crashes (${how%% *}, $model)"
    done
done
