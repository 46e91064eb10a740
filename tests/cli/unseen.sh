# SPDX-License-Identifier: Apache-2.0
# Code that peetcc has not compiled: what is called by name is counted exactly, and where the program's own time goes is said.
. "$(dirname "$0")/lib.sh"
cat >plug.c <<'END_OF_C'
long plug(long n)
{
    static long table[1000];
    long sum = 0;
    for (long i = 0; i < n; i++) {
        table[i % 1000] += i;
        sum += table[i % 1000];
    }
    return sum;
}
END_OF_C
cat >use.c <<'END_OF_C'
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
extern long linked(long);
int main(int argc, char **argv)
{
    void *handle = dlopen("./plug.so", RTLD_NOW);
    long (*plug)(long) = (long (*)(long))dlsym(handle, "plug");
    double sum = 0;
    for (int i = 0; i < 1234; i++)
        sum += pow(i, 1.0 / argc);
    for (int i = 0; i < 77; i++)
        sum += linked(i);
    sum += plug(atol(argv[1]));
    printf("%.3f\n", sum);
    return dlclose(handle);
}
END_OF_C
sed 's/plug(/linked(/' plug.c >linked.c
must "$PEET_PLAIN_CC" -O2 -shared -fPIC -o plug.so plug.c
must "$PEET_PLAIN_CC" -O2 -c -o linked.o linked.c
must "$peetcc" -O2 -fno-builtin -o use use.c linked.o -lm -ldl

must "$peet" run -d out -- ./use 30000000 >/dev/null 2>said.txt
cat said.txt
# unseen FIELD OBJECT SYMBOL
unseen() {
    python3 - "$@" <<'PY' || fail "no $1 of $3 in $2"
import json, sys
field, want, symbol = sys.argv[1:]
found = [e for e in json.load(open("out/unseen.json"))["list"] if want in e["object"] and e["symbol"] == symbol]
print(found[0][field])
PY
}
equal "calls of pow" "$(unseen calls libm.so pow)" 1234
equal "calls of an object that was linked in" "$(unseen calls use linked)" 77
equal "calls of dlsym" "$(unseen calls libc.so dlsym)" 1
python3 - <<'PY' || fail "stats.json has other calls"
import json
calls = {e["symbol"]: e["calls"] for e in json.load(open("out/stats.json"))["gaps"]["unseen"]["list"]}
raise SystemExit(not (calls["pow"] == 1234 and calls["linked"] == 77 and "plug" not in calls))
PY
equal "calls by pointer have no name" "$(unseen calls plug.so plug)" None
awk -v s="$(unseen share plug.so plug)" 'BEGIN { exit !(s > 0.5 && s <= 1) }' || fail "the plug-in's share is $(unseen share plug.so plug)"
grep -q 'of the program.s own time was spent in code that peet does not see' said.txt || fail "not said"
grep -q '^ *plug.so  *plug  *[0-9]* %' said.txt || fail "the plug-in is not named"
[ "$(awk 'length > 80' said.txt | wc -l)" -eq 0 ] || fail "lines beyond 80 columns"

# All recorded: the calls are the few of main, and nothing is worth a word.
must "$peetcc" -O2 -shared -fPIC -o plug.so plug.c
must "$peetcc" -O2 -fno-builtin -o use use.c linked.c -lm -ldl
must "$peet" run -d out -- ./use 30000000 >/dev/null 2>said.txt
grep -q 'plug.so  *plug' said.txt && fail "recorded code counts as unseen: $(cat said.txt)"
python3 - <<'PY' || fail "recorded functions are in the list"
import json
names = [e["symbol"] for e in json.load(open("out/stats.json"))["gaps"]["unseen"]["list"]]
raise SystemExit("plug" in names or "linked" in names or "pow" not in names)
PY

# A program that uses the timer's signal itself gets all that it asks for, and no more.
cat >prof.c <<'END_OF_C'
#include <signal.h>
#include <stdio.h>
static volatile int got;
static void handler(int signal) { got++; }
int main(void)
{
    signal(SIGPROF, handler);
    raise(SIGPROF);
    for (volatile long i = 0; i < 3000000; i++)
        ;
    printf("%d\n", got);
}
END_OF_C
must "$peetcc" -O1 -o prof prof.c
equal "its own SIGPROF" "$("$peet" run -q -d out -- ./prof)" 1
exit 0
