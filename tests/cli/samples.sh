# SPDX-License-Identifier: Apache-2.0
# Where a program's own time goes is sampled by a timer.  No call of the program is cut short by it, and programs with a profiler of
# their own have SIGPROF to themselves.
. "$(dirname "$0")/lib.sh"
export PEET_FOREIGN=ranges # code that is recorded is not unseen: there is nothing to sample
for program in calm profiler; do
    must "$PEET_PLAIN_CC" -O1 -pthread -o plain "$here/programs/$program.c"
    must ./plain 3 >expected
    must "$peetcc" -O1 -pthread -o $program "$here/programs/$program.c"
    for cores in 1 2; do
        must timeout -k 1 60 "$peet" run -q --cores $cores -d out -- ./$program 3 >got
        same expected got "$program, $cores processors"
    done
done
# There are samples, or nothing would have been tried: a library that peetcc has not compiled takes most of the time.
cat >plug.c <<'END'
double spend(int n)
{
    double sum = 0;
    for (int i = 1; i < n; i++)
        sum += 1.0 / i;
    return sum;
}
END
cat >use.c <<'END'
#include <stdio.h>
double spend(int n);
int main(void) { return printf("%.3f\n", spend(20000000)) < 0; }
END
must "$PEET_PLAIN_CC" -O2 -shared -fPIC -o libplug.so plug.c
must "$peetcc" -O1 -o use use.c -L. -lplug -Wl,-rpath,"$PWD"
must "$peet" run -q -d out -- ./use >/dev/null
awk -v share="$(value out/unseen.json share)" 'BEGIN { exit !(share > 0.3) }' || fail "of unseen code: $(value out/unseen.json share)"
