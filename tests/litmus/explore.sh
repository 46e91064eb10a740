#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What an exploration says of itself: that it is complete only if it is, what it has not done, how executions ended, and by its exit status; signals
# from outside; tokens that do not belong here.
. "$(dirname "$0")/lib.sh"

build() { # CASE OUT OPTIONS...
    local name=$1 out=$2
    shift 2
    must "$peetcc" -O1 -pthread "-DCASE_$name" "$@" -o "$out" "$here/programs/explored.c" 2>build.txt
}
# run STATUS OPTIONS... -- PROGRAM...: an exploration with this exit status; its table is in table.txt, nothing comes from standard output
run() {
    local want=$1 status=0
    shift
    timeout -k 1 "${LITMUS_SECONDS:-300}" "$peet" run -d out --explore all "$@" >stdout.txt 2>table.txt || status=$?
    equal "status of $*" "$status" "$want"
    equal "standard output of $*" "$(cat stdout.txt)" ""
    [ -s table.txt ] || fail "no table: $*"
}
value() { "$PEET_PREFIX/tests/json-get" out/stats.json "exploration.$1"; }
gaps() { sed -n 's/.*"what": "\([a-z_]*\)".*/\1/p' out/stats.json | sort | tr '\n' ' '; }
is() { # COMPLETE GAPS OUTCOMES: outcomes as outcomes_of() has them, a blank behind each
    equal "complete" "$(value complete)" "$1"
    equal "what is not explored" "$(gaps)" "$2"
    equal "outcomes" "$(outcomes_of out | tr '\n' ';')" "$3"
}

# a read-modify-write is three steps, if the program was compiled for it; else that is said, and on the terminal too
build ADD add.plain
build ADD add -fpeet-granularity=ref
build ADD add.views -fpeet-granularity=ref -fpeet-domains
for size in 0 1; do
    [ $size = 0 ] && want="begun 1;begun 2;" || want="begun 10;begun 5;"
    run 0 --cores 3 -- ./add 2 $size
    is true "" "$want"
    for model in sc tso rc; do
        run 0 --cores 3 --consistency "consistency,model=$model" -- ./add.views 2 $size
        is true "" "$want"
    done
done
run 0 --cores 3 -- ./add.plain
is false "plain_references " "begun 2;"
grep -q "fpeet-granularity=ref" table.txt || fail "the terminal does not say how to compile"
grep -q "not all that can be" table.txt || fail "the terminal claims too much"

# fewer processors than threads that could go on; main waits, and needs none
run 0 --cores 2 -- ./add
is true "" "begun 1;begun 2;"
run 0 --cores 1 -- ./add
equal "processors" "$(gaps)" "processors "

# inline assembly: its instructions are seen; a statement that is more than these counts, if it may refer to memory
build ASM asm -fpeet-granularity=ref
run 0 --cores 3 -- ./asm
is true "" "begun 1;begun 2;"
build OPAQUE opaque -fpeet-granularity=ref
run 0 --cores 3 -- ./opaque
equal "assembly" "$(value complete) $(gaps)" "false assembly "
build FENCE fence -fpeet-granularity=ref
run 0 --cores 3 -- ./fence
is true "" "begun 1;begun 2;"

# what ends the program before anything was to be chosen
build ABORT abort -fpeet-granularity=ref
run 4 --cores 2 -- ./abort 1
is true "" "begun ;signal;"
grep -q "in thread" table.txt || fail "the user's own frame is not in the report"
build ABORT_JOINED abort.joined -fpeet-granularity=ref
run 4 --cores 2 -- ./abort.joined 1
is true "" "signal;"
run 4 --cores 2 --until failure -- ./abort 1
equal "until failure" "$(value complete) $(gaps)" "false stopped "
token=$(sed -n 's/.*"token": "\([^"]*\)".*/\1/p' out/stats.json | tail -1)

# executions that fail in the same places: each report has names and lines, though they were read for the first one
cat >each.c <<'END'
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static atomic_int x;
static inline __attribute__((always_inline)) void give_up(int i)
{
    printf("%d", i), fflush(stdout);
    abort();
}
static void *thread(void *number)
{
    x = (int)(long)number;
    return NULL;
}
int main(void)
{
    pthread_t t[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    give_up(x);
}
END
must "$peetcc" -O1 -g -pthread -fpeet-granularity=ref -o each each.c 2>build.txt
run 4 --cores 4 -- ./each
equal "outcomes" "$(value outcomes)" 3
for frame in "in give_up (each.c:9), inlined" "in main (each.c:23)"; do
    equal "reports with '$frame'" "$(grep -c -F "$frame" table.txt)" 3
done

# a token belongs to a program, its arguments, a number of processors, a model
status=0
("$peet" run -q -d again --cores 2 --replay-token "$token" -- ./abort 1) >again.txt 2>&1 || status=$?
equal "status of the abort, repeated" "$status" 134
refuses() { # WHAT OPTIONS...
    local what=$1 status=0
    shift
    "$peet" run -q -d again "$@" >again.txt 2>&1 || status=$?
    equal "status of a token elsewhere" "$status" 2
    grep -q -e "--replay-token: .*$what" again.txt || fail "it does not say what is different: $(cat again.txt)"
}
refuses "--cores 2" --cores 3 --replay-token "$token" -- ./abort 1
refuses "program" --cores 2 --replay-token "$token" -- ./abort.joined 1
refuses "arguments" --cores 2 --replay-token "$token" -- ./abort 2
for other in --winner=lifo --lock-model=ticket --seed=2; do
    refuses "another --winner" --cores 2 $other --replay-token "$token" -- ./abort 1
done
run 0 --cores 3 --consistency consistency,model=tso -- ./add.views
token=$(sed -n 's/.*"token": "\([^"]*\)".*/\1/p' out/stats.json | tail -1)
refuses "consistency" --cores 3 --consistency consistency,model=pso --replay-token "$token" -- ./add.views
refuses "is not a token" --cores 3 --replay-token "${token%.*}" -- ./add.views

# why an outcome came: a load sees an old value, as the store stands in the other's buffer still
grep -E '^(#|iwp2[.]3[.]a/amd4 )' "$table" >one.txt
must "$litmus" generate one.txt >program.c
compile_for views program program.c -O1
explore out 3 tso ./program iwp2.3.a/amd4
token=$(token_of out "0 0 x=1 y=1")
must "$peet" run -d again --cores 3 --consistency consistency,model=tso --replay-token "$token" --explain -- ./program iwp2.3.a/amd4 >stdout.txt 2>table.txt
equal "what the explained execution says" "$(cat stdout.txt)" "0 0 x=1 y=1"
first_of() { grep -n -m 1 "$1" table.txt | cut -d: -f1; }
old=$(grep -o -m 1 'reads [xy]: 0; context [12] sees 1' table.txt | cut -c7) # the second to load: the other has stored by then
[ -n "$old" ] || fail "no old value is explained: $(cat table.txt)"
[ "$(first_of "reads $old: 0; context")" -lt "$(first_of "store $old = 1 leaves the buffer")" ] || fail "the store leaves before the old value is read"
[ "$(first_of "writes $old = 1")" -lt "$(first_of "reads $old: 0")" ] || fail "the store does not come before the old value is read"
grep -q '"others_see": ' again/stats.json || fail "the explanation is not in stats.json"

# executions that differ in nothing are left out: a ring of six has 2^6 - 1 outcomes, and so many orders of what depends on each other; locked additions have one
build RING ring -fpeet-granularity=ref
run 0 --cores 7 -- ./ring 6
equal "outcomes of a ring" "$(value complete) $(value outcomes) $(value executions)" "true 63 63"
build SUM sum -fpeet-granularity=ref
run 0 --cores 4 -- ./sum 3
is true "" "begun 18;"
equal "executions of a sum" "$(value executions)" 1
build SUM sum.views -fpeet-granularity=ref -fpeet-domains
for model in sc tso rc; do
    run 0 --cores 4 --consistency "consistency,model=$model" -- ./sum.views 3
    is true "" "begun 18;"
done
build LAST last -fpeet-granularity=ref
run 0 --cores 3 -- ./last
is true "" "begun 1;begun 2;"

# contexts that wait by looking: every execution ends
build YIELD yield -fpeet-granularity=ref
run 0 --cores 2 -- ./yield 1
is true "" "begun seen;"
for how in COUNT CLOCK; do
    build $how wait -fpeet-granularity=ref
    run 0 --cores 2 -- ./wait 1 1
    equal "outcomes of a loop that waits ($how)" "$(outcomes_of out | tr '\n' ';')" 'begun at once\nseen;begun seen;'
    grep -q loops < <(gaps) || fail "nothing is said of the loop"
done

# a loop that waits looks once at each value, whatever else changes; what the library looks at is not known
must "$peetcc" -O1 -pthread -fpeet-granularity=ref -fpeet-domains -DCASE_DEKKER -o looks "$here/programs/looks.c"
for model in sc tso ${PEET_THOROUGH:+pso}; do
    run 0 --cores 3 --consistency "consistency,model=$model" -- ./looks
    [ $model = sc ] && want="00;" most=25 || want="00;01;10;11;" most=1000
    is true "" "$want"
    [ "$(value executions)" -le $most ] || fail "Dekker's algorithm under $model takes $(value executions) executions"
done
for level in O0 O1; do
    must "$peetcc" -$level -pthread -fpeet-granularity=ref -fpeet-domains -DCASE_TICKET -o looks "$here/programs/looks.c"
    run 0 --cores 3 --consistency consistency,model=pso -- ./looks
    is true "" "01;10;"
    must "$peetcc" -$level -pthread -fpeet-granularity=ref -DCASE_LIBRARY -o looks "$here/programs/looks.c"
    run 0 --cores 3 -- ./looks
    equal "outcomes of a loop in the library" "$(outcomes_of out | tr '\n' ';')" "2;"
done

# a lock by exchange: who finds it taken changes nothing, and waits
for level in O0 O2; do
    must "$peetcc" -$level -pthread -fpeet-granularity=ref -DCASE_FLAG -o looks "$here/programs/looks.c"
    run 0 --cores 3 --explore-limit 1000 -- ./looks
    is true "" "01;10;"
done

# more choices than once were possible, and more than are possible
build MANY many -fpeet-granularity=ref
run 0 --cores 3 -- ./many 2 1200
is true "" "begun 1;begun 2;"
run 0 --cores 3 --explore-limit 1 -- ./many 2 9000
grep -q choices < <(gaps) || fail "nothing is said of too many choices: $(gaps)"
grep -q 16384 table.txt || fail "the limit is not named"
equal "the end of an execution of more choices" "$(outcomes_of out)" "begun 2"
token=$(token_of out "begun 2")
status=0
timeout -k 1 60 "$peet" run -q -d again --cores 3 --replay-token "$token" -- ./many 2 9000 >again.txt || status=$?
equal "what repeats it" "$status $(cat again.txt)" "0 begun 2"

# OpenMP's runtime decides who makes a single region and who takes a task, and nobody sees what it references
cat >single.c <<'END'
#include <omp.h>
#include <stdio.h>
static int x, y;
int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp single nowait
        x = omp_get_thread_num();
#pragma omp single
        y = omp_get_thread_num();
    }
    printf("%d%d\n", x, y);
}
END
cat >task.c <<'END'
#include <omp.h>
#include <stdio.h>
static int x;
int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
    {
#pragma omp task
        x = omp_get_thread_num();
    }
    printf("%d\n", x);
}
END
for name in single task; do
    must "$peetcc" -O1 -fopenmp -fpeet-granularity=ref -o "$name" "$name.c" 2>build.txt
done
run 0 --cores 2 -- ./single
is true "" "00;01;10;11;"
run 0 --cores 2 -- ./task
is true "" "0;1;"

# a signal from outside ends the search with what it has
build LONG long -fpeet-granularity=ref
for signals in "INT TERM" "TERM"; do
    timeout -k 1 "${LITMUS_SECONDS:-300}" "$peet" run -d out --cores 4 --explore all --explore-limit 100000000 -- ./long 3 >stdout.txt 2>table.txt &
    pid=$!
    sleep 1
    for signal in $signals; do
        kill -s "$signal" "$(pgrep -P $pid -x peet || echo $pid)"
    done
    status=0
    wait $pid || status=$?
    equal "status of an interrupted search ($signals)" "$status" 5
    equal "completeness of an interrupted search" "$(value complete)" false
    grep -q interrupted < <(gaps) || fail "it does not say that it was interrupted"
    grep -q signal < <(outcomes_of out) && fail "an execution died of the signal"
    [ "$(value executions)" -ge 1 ] || fail "nothing is left of an interrupted search"
done
exit 0
