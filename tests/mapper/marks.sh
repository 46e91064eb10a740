# SPDX-License-Identifier: Apache-2.0
# Marked loops: iterations are told apart, a loop may be left early, the program may end inside one.
. "$(dirname "$0")/lib.sh"
cat >marks.c <<'END'
#include <peet/doall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double row[200000];
__attribute__((noinline)) static double work(long i, long n)
{
    double sum = 0;
    for (long k = 0; k < n; k++) {
        row[k] += (double)(i ^ k);
        sum += row[k & ~3l];
    }
    return sum;
}
int main(int argc, char **argv)
{
    int mark = strcmp(argv[1], "plain") != 0, leave = strcmp(argv[1], "break") == 0, end = strcmp(argv[1], "exit") == 0;
    double sum = 0;
    if (mark)
        peet_mark_fork(-3, 13, PEET_DOALL_STATIC, 0);
    for (long i = -3; i < 13; i++) {
        if (leave && i == 7)
            break;
        if (mark)
            peet_mark_start(i);
        sum += work(i, i == 4 ? 200000 : 500 + 10 * i); /* one that no ring holds */
        if (end && i == 5) {
            puts("leaving");
            exit(4);
        }
        if (mark)
            peet_mark_finish(i);
    }
    if (mark)
        peet_mark_join();
    printf("%g\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -o marks marks.c
functions() {
    "$PEET_PREFIX/tests/json-get" -r "$1" counts.functions name calls instructions reads writes | grep '^work'
}

must "$peet" run -q --observe counts -d plain -- ./marks plain >plain.out
for cores in 1 3 16 40; do
    must "$peet" run -q --cores $cores --observe counts -d full -- ./marks full >full.out
    cmp plain.out full.out || fail "the output"
    equal "work() on $cores" "$(functions full/stats.json)" "$(functions plain/stats.json)"
    equal "iterations on $cores" "$(value full/stats.json totals.iterations)" 16
    equal "contexts on $cores" "$(value full/stats.json totals.contexts)" 17
done
# All in parallel: the time is that of the longest iteration and a little.
[ "$(value full/stats.json time.cycles)" -lt "$(value plain/stats.json time.cycles)" ] || fail "40 processors are no faster"

must "$peet" run -q --cores 4 -d left -- ./marks break >left.out
equal "iterations that ran" "$(value left/stats.json totals.iterations)" 10
equal "iterations that did not" "$(value left/stats.json totals.skipped_iterations)" 6

status=0
"$peet" run -q --cores 4 -d gone -- ./marks exit >gone.out || status=$?
equal "exit status" $status 4
equal "output" "$(cat gone.out)" leaving
equal "reason" "$(value gone/stats.json end.reason)" exit
