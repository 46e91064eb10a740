# SPDX-License-Identifier: Apache-2.0
# Doacross: the example in its three forms gives the plain result, plainly and simulated; on the ideal machine no wait ends
# before its post; what can never be posted is said.
export PEET_FOREIGN=ranges # the times are known of the program alone
. "$(dirname "$0")/lib.sh"
build wavefront "$PEET_SOURCE/examples/doacross/wavefront.c"
for arguments in "1 1 1" "40 130 16" "100 64 64"; do
    must ./wavefront $arguments function >expected
    for form in function statement marker; do
        must ./wavefront $arguments $form >output
        same expected output "plainly, $arguments $form"
        for cores in 1 3 8; do
            for schedule in dynamic static; do
                must "$peet" run --quiet --cores $cores --schedule $schedule --chunk 1 -d run -- ./wavefront $arguments $form >output
                same expected output "$arguments $form, $schedule, on $cores processors"
            done
        done
    done
done

# a WAIT goes on at or after its POST, whatever the form; and the rows really run side by side
for form in function statement marker; do
    events all 8 ./wavefront 40 512 32 $form
    awk '$5 == "POST" { posted[$7] = $1 }
        $5 == "WAIT" && $7 >= 0 { wants[$3] = $7; if (!($7 in posted)) next; went($3, $1) }
        $5 == "SYNC_GRANT" && $7 == 44 { went($3, $1) }
        function went(context, time) { n++; if (!(wants[context] in posted) || posted[wants[context]] > time) { bad = 1; print } }
        END { exit bad || n != 39 * 16 }' all >said || fail "$form: a wait ended before its post: $(head -n 1 said)"
    eight=$(value run/stats.json time.cycles)
    must "$peet" run --quiet -d one -- ./wavefront 40 512 32 $form >output
    [ $((eight * 4)) -lt "$(value one/stats.json time.cycles)" ] || fail "$form: 8 processors take $eight cycles"
done

# mistakes
cat >wrong.c <<'END'
#include <peet/doall.h>
static void later(long i, void *unused) { PEET_WAIT(i + 1); PEET_POST(i); }
static void never(long i, void *unused) { PEET_WAIT(i - 1); if (i != 2) PEET_POST(i); }
int main(int argc, char **argv)
{
    struct peet_doacross own;
    switch (argc > 1 ? argv[1][0] : 0) {
    case 'l': peet_doacross_loop(0, 5, PEET_DOALL_DYNAMIC, 1, later, 0); break;
    case 'n': peet_doacross_loop(0, 5, PEET_DOALL_DYNAMIC, 1, never, 0); break;
    case 'o': PEET_POST(3); break;
    default: /* in any order, more than once, far apart; begun anew */
        for (int again = 0; again < 2; again++) {
            peet_doacross_init(&own, 10);
            for (long i = 99; i >= 10; i--)
                peet_doacross_post(&own, i), peet_doacross_post(&own, i * 1000);
            for (long i = -5; i < 100; i++)
                peet_doacross_wait(&own, i), peet_doacross_wait(&own, i < 10 ? i : i * 1000);
            peet_doacross_destroy(&own);
        }
    }
    return 0;
}
END
build wrong wrong.c
must ./wrong
must "$peet" run --quiet -d run -- ./wrong
says() { # STATUS PATTERN COMMAND...
    local want=$1 pattern=$2 status=0
    shift 2
    "$@" >output 2>said || status=$?
    [ $status = "$want" ] || fail "status $status, not $want: $*"
    grep -E -q "$pattern" said || fail "not said: '$pattern' by $*: $(cat said)"
}
says 134 'WAIT for iteration 1, which has not been posted' ./wrong later
says 134 'WAIT for iteration 2, which has not been posted \(all before 2 have' ./wrong never
says 134 'PEET_POST\(3\) outside a doacross loop' ./wrong outside
says 3 'deadlock' "$peet" run --quiet --cores 2 -d run -- ./wrong never
