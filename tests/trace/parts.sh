#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# peet trace cut anywhere: the parts of a trace together are the trace, and each part runs on every machine.  With PEET_THOROUGH traces are
# longer, cut at five times as many places, and each part runs on all machines in place of two.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
places=2
[ -z "${PEET_THOROUGH:-}" ] || places=10
must "$peetcc" -O2 -g ${PEET_THOROUGH:+-DSIZE=10} "$here/mix.c" -o mix -pthread
must "$peetcc++" -O2 "$here/unwind.cpp" -o unwind -pthread
must "$peetcc" -O2 "$here/handlers.c" -o handlers -pthread
must "$peetcc" -O2 -fopenmp "$here/openmp.c" -o openmp
must "$peetcc" -O2 "$here/loops.c" -o loops
machines=('-m ideal' '-m x86 -n 3' '-m numa -o counts' '-m bus -o dtrack')
for program in mix unwind handlers openmp loops; do
    some=("${machines[@]::2}")
    [ -z "${PEET_THOROUGH:-}" ] || some=("${machines[@]}")
    machines=("${machines[@]:1}" "${machines[0]}")
    must "$peet" run -q -m bus -n 4 -o trace -d $program.run -- ./$program >$program.out
    must python3 "$here/parts.py" "$peet" $program.run cycles $places "${some[@]}"
    must python3 "$here/parts.py" "$peet" $program.run instructions $places '-m ideal -n 2' '-m bus -o hash'
done

# The states that a trace keeps of itself, every 65536 words: from there on everything is numbered and decoded as from the beginning.
cat >long.c <<'C'
#include <stdio.h>
static unsigned cells[1 << 16];
static struct {
    long words[100];
} lines[16];
static unsigned hash(unsigned x) { return x % 3 ? cells[x % 65536] * 7 + x : x / 5; }
int main(void)
{
    unsigned x = 1;
    for (int i = 0; i < 36000; i++) {
        x = x * 1664525 + 1013904223;
        cells[x >> 16] = hash(x >> 3) ^ x;
        if (i % 64 == 0) /* by rep movs, whose rounds are instructions, too */
            __builtin_memcpy_inline(&lines[x % 16], &lines[x >> 28], sizeof lines[0]);
    }
    printf("%u\n", x);
    return 0;
}
C
must "$peetcc" -Os long.c -o long
must "$peet" run -q -m bus -o trace -d long.run -- ./long >long.out
must "$peet" trace print --limit 100000000 long.run >long.all
last=$(tail -n 1 long.all | awk '{ print $1 }')
[ "$last" -gt 500000 ] || fail "the program is too short: $last"
equal "instructions by the last one's number" $((last + 1)) "$(value long.run/stats.json totals.instructions)"
[ "$(grep -vc '^context\|^ *\*' long.all)" -lt "$last" ] || fail "no instruction with rounds"
for skip in 65537 300000 $((last - 10)); do
    must "$peet" trace print --skip $skip --limit 100 long.run | grep -v '^context' >there
    awk -v n=$skip '$1 == n { on = 1 } $1 == n + 100 { exit } on' long.all >expected
    same expected there "from instruction $skip on"
done
must python3 "$here/parts.py" "$peet" long.run instructions $places '-m bus'

# A part may take the place of the whole; what cannot be written leaves what was there; a device stays one.
cp long.run/trace.peet itself.peet
must "$peet" trace cut --instructions 1000-900000 long.run expected.peet
must "$peet" trace cut --instructions 1000-900000 itself.peet itself.peet
cmp expected.peet itself.peet || fail "a part in the place of its whole"
(ulimit -f 16 && trap '' XFSZ && ! "$peet" trace cut --instructions 2000-800000 long.run itself.peet 2>said) || fail "a part that is too long: $(cat said)"
cmp expected.peet itself.peet || fail "what was there is gone"
grep -q 'can be read' said && fail "nothing can be read: $(cat said)"
[ "$(ls | grep -c '^itself')" = 1 ] || fail "left behind: $(ls -d itself*)"
ln -s itself.peet link.peet
must "$peet" trace cut --instructions 1000-900000 link.peet link.peet
[ -L link.peet ] && [ ! -L itself.peet ] && must "$peet" trace check link.peet >said || fail "a part in the place of a link's whole: $(cat said)"
for signal in INT TERM; do # sent while it is written, if this is quick enough
    bash -c 'trap - INT && exec "$@"' - "$peet" trace cut --instructions 1000-900000 long.run ended.peet 2>said &
    until compgen -G 'ended.peet*' >/dev/null || ! kill -0 $! 2>/dev/null; do :; done
    kill -$signal $! 2>/dev/null
    wait $!
    [ -z "$(compgen -G 'ended.peet.*')" ] || fail "left behind by $signal: $(ls ended*)"
    rm -f ended.peet
done
ln -s /dev/null device
must "$peet" trace cut --instructions 1000-9000 long.run device
printf 'I  400000,4\n L 2000,8\n' >one.lackey
must "$peet" trace convert --to peet one.lackey device
[ -L device ] || fail "a file has taken the place of a device"

# A part of a part is a part.
must "$peet" trace cut --instructions 3000-20000 mix.run outer.peet
must "$peet" trace cut --instructions 7000-9000 outer.peet inner.peet
must "$peet" trace cut --instructions 7000-9000 mix.run once.peet
for trace in inner once; do
    must "$peet" trace print --limit 100000000 $trace.peet | sed 's/ branch.*taken/ branch/' >$trace.txt
done
same once.txt inner.txt "a part of a part"
must "$peet" run -q --from inner.peet -m bus -d inner

# Real runs, too: the order of requests goes on in each part.
must "$peet" record -q -d real -- ./mix >mix.real
must "$peet" run -q --from real -m ideal -d whole
for part in 0-6000 6000-12000 12000-; do
    must "$peet" trace cut --instructions $part real part.peet
    must "$peet" run -q --from part.peet -m bus -n 3 -d "part.$part"
done
equal "instructions of the parts of a real run" \
    "$(($(value part.0-6000/stats.json totals.instructions) + $(value part.6000-12000/stats.json totals.instructions) + $(value part.12000-/stats.json totals.instructions)))" \
    "$(value whole/stats.json totals.instructions)"

# Who waits for ever in a part waits for what is outside of it, as the program's end; but not if the run ended in a deadlock.
must "$peet" trace cut --cycles $(($(value openmp.run/stats.json time.cycles) - 20))- openmp.run last.peet
must "$peet" run -q --from last.peet -m ideal -d last
equal "the end of a last part" "$(value last/stats.json end.reason)" "trace ends"
cat >again.c <<'C'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void)
{
    for (volatile int i = 0; i < 100; i++)
        ;
    pthread_mutex_lock(&lock);
    return pthread_mutex_lock(&lock);
}
C
must "$peetcc" -O1 again.c -o again -pthread
"$peet" run -q -o trace -d again.run -- ./again 2>said && fail "no deadlock"
must "$peet" trace cut --instructions 50- again.run part.peet
must "$peet" trace cut --instructions 60- part.peet again.peet
for part in part again; do
    status=0
    "$peet" run -q --from $part.peet -m ideal -d deadlocked 2>said || status=$?
    equal "status of $part of a deadlock" $status 3
done

# A lock that is held across the cut excludes the others.
cat >held.c <<'C'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static volatile long x, y;
static void *other(void *arg)
{
    for (int i = 0; i < 3000; i++)
        y++;
    pthread_mutex_lock(&lock);
    x++;
    pthread_mutex_unlock(&lock);
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 1000; k++)
            x++;
        pthread_mutex_lock(&gate); /* a slice ends */
        pthread_mutex_unlock(&gate);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(t, 0);
    return 0;
}
C
must "$peetcc" -O2 held.c -o held -pthread
must "$peet" run -q -m ideal -n 2 -o trace -d held.run -- ./held
middle=$(($(value held.run/stats.json time.cycles) / 20))
must "$peet" trace cut --cycles $middle- held.run held.peet
must "$peet" run -q --from held.peet -m ideal -n 2 -d held.part
waited=$(value held.part/stats.json sync.mutex.waited_cycles)
awk -v w="$waited" -v all="$(value held.run/stats.json time.cycles)" 'BEGIN { exit !(w > all / 2) }' || fail "the other thread waited $waited cycles only"
equal "waits that had to be ended" "$(value held.part/stats.json replay.forced)" 0

# What a part says of its beginning may be wrong or hostile: a message, or a replay that ends.
for wrong in '{"contexts":[]}' '{"contexts":[{"stream":99999,"ready":0}]}' '{"contexts":[{"stream":0,"ready":0,"over":true}]}' '{"contexts":7}' '{}' \
    '{"contexts":[{"stream":0,"ready":0,"held":[[25,1,0,-1],[25,1,0,-1],[39],[9999,1],[28,5,5,5,5,5,5,5,5,5],[57,1,-1,1,0,0],[]],"again":[0,25,1,0,-1]}]}' \
    '{"contexts":[{"stream":0,"ready":-1,"again":[4294967296,20,0,0,0,0,0,0]}]}' '{"contexts":[{"stream":0,"ready":0,"again":[0,58,1,2,3]}]}' \
    '{"contexts":[{"stream":0,"ready":0,"again":[0,3,0,9,0,0,0,0]},{"stream":0,"ready":0,"context":0},{"stream":1,"ready":0,"held":[[25,1,0,-1]]}]}' \
    '{"contexts":[{"stream":0,"ready":0,"again":[0,33,1,2,0,-1],"threads":-1,"forks":-1}],"next_context":-1,"first_cycle":-1}'; do
    for trace in mix.run/trace.peet inner.peet; do
        must "$PEET_TOOLS/redescribe" $trace hostile.peet "$wrong"
        status=0
        timeout 60 "$peet" run -q --from hostile.peet -m ideal -d hostile >said 2>&1 || status=$?
        [ $status -le 3 ] || fail "$wrong: status $status, $(head -c 500 said)"
        status=0
        "$peet" trace cut --instructions 100-200 hostile.peet again.peet >said 2>&1 || status=$?
        [ $status -lt 3 ] || fail "$wrong: cut: status $status, $(head -c 500 said)"
    done
done
for wrong in '--cycles 5-5' '--cycles 9-3' '--cycles x' '--instructions -3' '--cycles 1 --instructions 2' ''; do
    status=0
    "$peet" trace cut $wrong mix.run no.peet >said 2>&1 || status=$?
    [ $status = 2 ] && [ ! -e no.peet ] || fail "'$wrong': status $status"
done
"$peet" trace cut --cycles 99999999999- mix.run no.peet 2>said && fail "a part beyond the end"
grep -q 'nothing lies there' said && [ ! -e no.peet ] || fail "beyond the end: $(cat said)"

# A part that begins inside of a region of interest is inside of it: by cycles, the parts' regions add up to the whole's.
cat >region.c <<'C'
#include <peet/roi.h>
#include <pthread.h>
static long a[4096], b[4096];
static pthread_barrier_t barrier;
static void *work(void *argument)
{
    const long number = (long)argument;
    for (int i = 0; i < 4096; i++)
        a[i] ^= number;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        peet_roi_begin();
    pthread_barrier_wait(&barrier);
    for (long i = number; i < 4096; i += 3)
        b[i] += a[i] * i;
    pthread_barrier_wait(&barrier);
    if (!number)
        peet_roi_end();
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 4096; i++)
        a[i] += b[i];
    return argument;
}
int main(void)
{
    pthread_t threads[3];
    pthread_barrier_init(&barrier, 0, 3);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
C
must "$peetcc" -O1 -o region region.c -pthread
must "$peet" run -q -n 3 -o trace -d region.run -- ./region
inside=$(value region.run/stats.json roi.instructions) end=$(value region.run/stats.json time.cycles) sum=0 begun=0
for ((part = 0; part < 7; part++)); do
    last=$((part == 6 ? end + 1 : end * (part + 1) / 7))
    must "$peet" trace cut --cycles $((end * part / 7))-$last region.run region.part
    must "$peet" run -q -n 3 --from region.part -d part
    sum=$((sum + $(value part/stats.json roi.instructions))) begun=$((begun + ($(value part/stats.json roi.instructions) > 0)))
    must "$peet" run -q -n 3 --from region.part --roi=only -o counts -d only
    equal "part $part, the region alone" "$(value only/stats.json counts.instructions)" "$(value part/stats.json roi.instructions)"
done
equal "instructions of the region, in parts" $sum "$inside"
[ $begun -ge 2 ] || fail "the region is in one part: nothing has been tried"
exit 0
