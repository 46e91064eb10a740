#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a kill or a full disk leaves can be read; what is damaged is refused with one message.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
must "$peetcc" -O2 -g "$here/threads.c" -o threads -pthread
must "$peet" run -q --machine bus -n 4 -o trace -d whole -- ./threads >whole.out
must "$peet" trace check whole >checked
bytes=$(stat -c %s whole/trace.peet)

mkdir -p cut
# A byte changed anywhere is noticed.
for place in $((bytes / 4)) $((bytes / 2)) $((bytes - 100)); do
    cp whole/trace.peet cut/trace.peet
    printf '\x5a\xa5\x3c' | dd of=cut/trace.peet bs=1 seek=$place conv=notrunc 2>/dev/null
    status=0
    "$peet" trace check cut >said 2>&1 || status=$?
    [ $status != 0 ] || grep -q 'cut off' said || fail "a changed byte at $place is not noticed: $(cat said)"
    [ $status -lt 3 ] || fail "a changed byte at $place: status $status"
done
echo 'no trace at all' >cut/trace.peet
! "$peet" run -q --from cut -d again 2>said && grep -q 'not a trace' said || fail "a foreign file: $(cat said)"
! "$peet" run -q --from nothing -d again 2>said && [ "$(wc -l <said)" = 1 ] || fail "no folder: $(cat said)"
! "$peet" run -q --from whole -d whole 2>said && grep -q 'holds the trace' said || fail "into its own folder: $(cat said)"

# What is wrong with the settings of a trace is called by the trace's name.
must cc -shared -fPIC -O2 -I"$PEET_PREFIX/include" -o gone.so "$PEET_SOURCE/examples/module/minimal.c"
must "$peet" run -q --observe trace --machine ./gone.so -d gone -- ./threads >gone.out
rm gone.so
! "$peet" run -q --from gone -d again 2>said && grep -q '/gone/trace.peet: settings:[0-9]*: .*gone.so: cannot open the module' said || fail "a module that has gone: $(cat said)"

# Killed in the middle: what was written is there.
cat >long.c <<'END'
#include <stdio.h>
static volatile long n;
int main(void) { for (;;) n++; }
END
must "$peetcc" -O2 long.c -o long
setsid "$peet" run -q -o trace -d killed -- ./long 2>/dev/null &
all=$! seen=0 last=0
while [ $seen -lt 3 ]; do # frames with words, each behind the last
    kill -0 $all || fail "a run that does not end has ended"
    sleep 0.2
    "$peet" trace info --json killed >info 2>said || continue
    words=$(value info words)
    [ "$words" = "$last" ] || seen=$((seen + 1)) last=$words
done
kill -KILL -- -$all
wait $all 2>/dev/null
must "$peet" trace info killed >info
grep -q 'cut off' info || fail "a killed run: $(cat info)"
must "$peet" trace check killed

mkdir -p amid && cp killed/trace.peet amid/trace.peet # damage is no cut
printf '\x5a\xa5\x3c' | dd of=amid/trace.peet bs=1 seek=$(($(stat -c %s killed/trace.peet) / 3)) conv=notrunc 2>/dev/null
! "$peet" trace check amid >said 2>&1 && grep -q damaged said || fail "damage amid a killed run's trace: $(cat said)"
must "$peet" run -q --from killed -d again
equal "how a trace that was cut off ends" "$(value again/stats.json end.reason)" "trace ends"

# Cut off anywhere: nothing but a clear message, or a shorter trace that can be replayed.
shorter=0
bytes=$(stat -c %s killed/trace.peet)
for left in 0 $((bytes / 10 + 1)) $((bytes * 6 / 10)) $((bytes * 9 / 10)) $((bytes - 1)); do
    mkdir -p cut && head -c $left killed/trace.peet >cut/trace.peet
    status=0
    "$peet" run -q --from cut -d again 2>said || status=$?
    [ $status -lt 3 ] && [ "$(wc -l <said)" -le 2 ] || fail "cut at $left of $bytes bytes: status $status, $(cat said)"
    [ $status = 0 ] && shorter=$((shorter + 1))
done
[ $shorter -gt 0 ] || fail "no trace that was cut off could be replayed"

# A full disk: the process that writes the trace may write no more.  The run goes on to its end, says so, and what was written can be read.
cat >scatter.c <<'END'
#include <stdio.h>
static volatile unsigned char cells[1 << 22];
int main(void)
{
    unsigned x = 1;
    for (int i = 0; i < 30000000; i++) {
        x = x * 1664525 + 1013904223;
        cells[x >> 10]++;
    }
    puts("ended");
    return 0;
}
END
must "$peetcc" -O2 scatter.c -o scatter
"$peet" run -q -o trace -d full -- ./scatter >out 2>said &
run=$!
writer=
for ((i = 0; i < 400 && ${#writer} == 0; i++)); do
    for child in $(cat /proc/$run/task/*/children 2>/dev/null); do
        for one in $(cat /proc/"$child"/task/*/children 2>/dev/null); do
            [ "$(cat /proc/"$one"/comm 2>/dev/null)" != peet-trace ] || writer=$one
        done
    done
    sleep 0.02
done
[ -n "$writer" ] || fail "no process writes the trace"
must prlimit --pid "$writer" --fsize=2000000
status=0
wait $run || status=$?
equal "status with a full disk" $status 1
equal "the program's output" "$(cat out)" ended
grep -q 'cannot write the trace' said || fail "a full disk: $(cat said)"
must "$peet" trace check full
must "$peet" run -q --from full -d afterwards
[ "$(value afterwards/stats.json totals.instructions)" -gt 100000 ] || fail "nothing is left of it"

# It is full at once: threads have written much by then, and main() little, without which nobody begins.
cat >pair.c <<'END'
#include <pthread.h>
#include <stdio.h>
static volatile unsigned cells[2][1 << 18];
static void *work(void *p)
{
    unsigned x = 1;
    for (int i = 0; i < 1500000; i++) {
        x = x * 1664525 + 1013904223;
        cells[(long)p][x >> 14]++;
    }
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    puts("ended");
    return 0;
}
END
must "$peetcc" -O2 pair.c -o pair -pthread
for kilobytes in 1000 3000; do
    status=0
    (
        ulimit -f $kilobytes
        exec "$peet" run -q -o trace -d soon -- ./pair
    ) >out 2>said || status=$?
    equal "status with a disk that is full at once" $status 1
    must "$peet" trace check soon
    must "$peet" run -q --from soon -d afterwards
    [ "$(value afterwards/stats.json totals.instructions)" -gt 100000 ] || fail "nothing is left of the first $kilobytes KB"
done

# One that ends before its first context has nothing to convert.
bytes=0
until [ $bytes -gt 200000 ] || "$peet" trace info empty.peet 2>/dev/null | grep " 0 contexts" >/dev/null; do
    bytes=$((bytes + 256))
    head -c $bytes soon/trace.peet >empty.peet
done
for format in din drmemtrace; do
    "$peet" trace convert --to $format empty.peet nothing 2>said && fail "nothing was converted, and nothing said"
    grep "no context is in it" said >/dev/null || fail "of a trace without contexts: $(cat said)"
    [ ! -e nothing ] || fail "something was written of a trace without contexts"
done
exit 0
