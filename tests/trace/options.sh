#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command line of peet trace: options stand anywhere, their values after a blank or an equals sign; each word has --help; what is
# wrong is named, with status 2, and nothing is written.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >few.c <<'C'
static int cells[100];
int main(void)
{
    for (int i = 0; i < 100; i++)
        cells[i] = i;
    return cells[5] != 5;
}
C
must "$peetcc" -O1 few.c -o few
must "$peet" run -q -o trace -d few.run -- ./few
for word in info print cut convert check; do
    must "$peet" trace $word --help >help.txt
    grep -q "Usage: peet trace $word .*TRACE" help.txt || fail "--help of $word: $(cat help.txt)"
    must "$peet" trace $word --usage >/dev/null
done

must "$peet" trace cut few.run a.peet --instructions 5-50
must "$peet" trace cut --instructions=5-50 few.run b.peet
same <("$peet" trace print a.peet) <("$peet" trace print b.peet) "the same part"
must "$peet" trace convert few.run --to=lackey a.lackey
must "$peet" trace convert --to lackey few.run b.lackey
must diff -r a.lackey b.lackey
must "$peet" trace info few.run --json >a.json
same a.json <("$peet" trace info --json few.run) "info"
must "$peet" trace print few.run --limit=3 --skip 2 >a.txt
equal "instructions printed" "$(awk '$1 == 2 { on = 1 } on && $1 ~ /^[0-9]+$/' a.txt | wc -l)" 3

# A trace of peet is one whatever its name: these endings are other tools'.
for ending in trace din; do
    cp few.run/trace.peet "few.$ending"
    must "$peet" run -q --from "few.$ending" -d few.replayed
    equal "instructions of few.$ending" "$(value few.replayed/stats.json totals.instructions)" \
        "$(value few.run/stats.json totals.instructions)"
    must "$peet" trace convert --to lackey "few.$ending" "few.$ending.lackey"
    must diff -r a.lackey "few.$ending.lackey"
done

refused() { # TEXT ARGUMENTS...
    local text=$1 status=0
    shift
    "$peet" trace "$@" >said.txt 2>&1 || status=$?
    [ $status = 2 ] && grep -q "^peet trace $1: .*$text" said.txt || fail "peet trace $*: status $status: $(cat said.txt)"
    [ ! -e no.peet ] || fail "peet trace $* has written something"
}
refused "trace is missing" info
refused "one trace" info few.run few.run
refused "unrecognized option" info --jsom few.run
refused "one trace" check few.run few.run
refused "trace is missing" check
refused "'x' is not a whole number" print --limit x few.run
refused "'-1' is not a whole number" print --skip=-1 few.run
refused "'' is not a whole number" print --context= few.run
refused "'x' is not a whole number" print --cycle x few.run
refused "not both" print --cycle 5 --skip 7 few.run
refused "one part" cut --cycles 5 --instructions 7 few.run no.peet
refused "one part" cut --cycles 5 --cycles 7 few.run no.peet
refused "which part" cut few.run no.peet
refused "OUTPUT is missing" cut --cycles 5 few.run
refused "'9-3' is not" cut --cycles=9-3 few.run no.peet
refused "'-3' is not" cut --instructions -3 few.run no.peet
refused "requires an argument" cut few.run no.peet --cycles
refused "which format" convert few.run no.peet
refused "TRACE is missing" convert --to din
refused "one trace and one output" convert --to din few.run no.peet more.peet
exit 0
