# SPDX-License-Identifier: Apache-2.0
# A limit of the size of files, which holds for files in memory, too, is a full disk to peet: it says so, leaves nothing half
# written, and nobody is killed by SIGXFSZ but a program that writes too much itself.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
must "$peet" run -q --machine bus --observe trace -d traced -- ./sum 1000 >sum.txt
limited() { # KIB COMMAND...
    (
        ulimit -f "$1"
        shift
        "$@" >out.txt 2>err.txt
    )
}
must limited 64 "$peet" run -q -d limited --machine bus -- ./sum 10
must "$json_get" limited/stats.json totals.instructions >/dev/null
for words in "trace convert --to din traced converted" "trace cut --cycles 0-9 traced part" "report --html page.html traced" \
    "record -q -d recorded -- ./sum 10"; do
    # shellcheck disable=SC2086
    limited 4 "$peet" $words
    equal "status of peet $words" $? 1
    grep -q '^peet: .*File too large' err.txt || fail "peet $words with small files: $(cat err.txt)"
done
cat >writes.c <<'C'
#include <stdio.h>
int main(void)
{
    FILE *out = fopen("written", "w");

    for (int i = 0; i < 100000; i++)
        fputs("a line of text\n", out);
    return 0;
}
C
must "$peetcc" -O1 -o writes writes.c
limited 0 "$peet" whatif -d tried --machine bus -- ./writes
equal "a first run without room" $? 1
limited 64 "$peet" run -q -d ended -- ./writes
equal "a program that writes too much" $? $((128 + $(kill -l XFSZ)))
must test -s ended/stats.json
no_leftovers
