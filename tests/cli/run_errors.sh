# SPDX-License-Identifier: Apache-2.0
# peet run with wrong input: a clear message, a status, and nothing made.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c
must "$PEET_PLAIN_CC" -O2 -o plain sum.c
run() { local status=$1 text=$2; shift 2; refuses "$status" "$text" "$peet" run "$@"; absent peet.out out; }

# Options.
run 2 '^peet: no program to run'
run 2 'unrecognized option' --corse 4 -- ./sum
run 2 '^peet: --cores: .*0' --cores 0 -- ./sum
run 2 '^peet: --cores: .*-1' --cores=-1 -- ./sum
run 2 '^peet: --cores: .*many' --cores many -- ./sum
run 2 '^peet: --cores: ' --cores 99999999999999999999 -- ./sum
run 2 '^peet: --granularity: .*word' --granularity word -- ./sum
run 2 '^peet: --granularity: ' --granularity 0 -- ./sum
run 2 '^peet: --seed: .*x' --seed x -- ./sum
run 2 '^peet: --policy: .*lifo' --policy lifo -- ./sum
run 2 '^peet: --quantum: ' --quantum 0 -- ./sum
run 2 '^peet: --schedule: ' --schedule statik -- ./sum
run 2 '^peet: --output: ' -d '' -- ./sum
run 2 "^peet: --machine bus,,: there is no parameter between two commas" --machine bus,, -- ./sum
run 2 "^peet: --machine bus,cache=4KiB,: there is no parameter after the last comma" --machine bus,cache=4KiB, -- ./sum
run 2 "^peet: --observe counts,: there is no parameter" --observe counts, -- ./sum
run 2 "^peet: --machine bus,cache=4KiB,line=16,cache=8KiB: 'cache' is given twice" --machine bus,cache=4KiB,line=16,cache=8KiB -- ./sum
run 2 "'cache' is not of the form key=value" --machine bus,cache,line=16 -- ./sum
run 2 "'=3' is not of the form key=value" --machine bus,=3 -- ./sum
run 2 '^peet: nowhere.cfg: cannot read the configuration file: No such file' --config nowhere.cfg -- ./sum
run 2 "^peet: the program's name is empty" -- ''
refuses 2 '^peet: no program to run; usage: peet whatif ' "$peet" whatif
refuses 2 '^peet: no program to run; usage: peet whatif ' "$peet" whatif --machine bus --
refuses 2 "^peet whatif: --top: '--' is not a whole number" "$peet" whatif --top -- ./sum
refuses 2 "^peet whatif: option '--try' requires an argument" "$peet" whatif --try
refuses 2 "^peet whatif: --top: 'many' is not a whole number" "$peet" whatif --machine bus --top many -- ./sum
refuses 2 "^peet whatif: --try: 'perfect=' is not a change" "$peet" whatif --try perfect= -- ./sum
refuses 2 "^peet whatif: unrecognized option '--wider'" "$peet" whatif --wider -- ./sum
absent peet.out

# Options that would have no effect, or contradict each other.
run 2 '^peet: --until failure: it is of --explore only' --until failure -- ./sum
run 2 '^peet: --explore-limit: it is of --explore all only' --explore 5 --explore-limit 3 -- ./sum
run 2 '^peet: --explore-steps: it is of --explore and' --explore-steps 3 -- ./sum
run 2 '^peet: --explore makes executions, --replay-token repeats one' --explore all --replay-token c.1 -- ./sum
run 2 '^peet: observers and an exploration exclude each other: counts' --explore all --observe counts -- ./sum
run 2 '^peet: --consistency-sync: of which model' --consistency-sync sync -- ./sum
run 2 '^peet: --quantum: it is of the policy rr only' --quantum 500 -- ./sum
refuses 2 '^peet whatif: --top: what --try says' "$peet" whatif --top 1 --try cores=2 -- ./sum
refuses 2 "^peet whatif: --try: 'cores=2.cores=4' sets cores twice" "$peet" whatif --try cores=2+cores=4 -- ./sum
refuses 2 "^peet whatif: --try: '.*' sets machine.cache twice" "$peet" whatif --try machine.cache=8KiB+cores=4+machine.cache=8KiB -- ./sum
refuses 2 "^peet whatif: --try: '.*' sets scale=ns::f twice" "$peet" whatif --try scale=ns::f:2+scale=ns::g:2+scale=ns::f:3 -- ./sum
refuses 2 '^peet report: --measure: it says what --collapsed' "$peet" report --measure reads
refuses 2 '^peet report: --top: ' "$peet" report --top 2 --csv x.csv
refuses 2 '^peet diff: --top: --json has all' "$peet" diff --top 2 --json a b
refuses 2 '^peet costs: --list: only the names of all processors; leave out ./sum' "$peet" costs --list ./sum
refuses 2 '^peet sweep: --parallel or --slurm, once' "$peet" sweep --parallel --slurm plan
refuses 2 '^peet sweep: --jobs: Slurm decides' "$peet" sweep --slurm --jobs 2 plan
refuses 2 '^peet compare: --what: --average is of events' "$peet" compare --average --what calls a b
refuses 2 '^peet compare: --effort: --average' "$peet" compare --average --effort 5 a b
refuses 2 '^peet compare: --piece: events are kept' "$peet" compare --average --piece 2000 a b
refuses 2 '^peet compare: --band: it is of the times' "$peet" compare --band 5 a b
refuses 2 '^peet locality: "peet locality phases" has no such option' "$peet" locality phases a --part run -o x.c
# A word of the command line stands against a file's.
printf 'explore = "all";\nuntil = "failure";\n' >explore.cfg
run 2 'c.1' -c explore.cfg --replay-token c.1 -- ./sum
printf 'explore = "all";\nreplay_token = "c.1";\n' >both.cfg
run 2 '^peet: --explore makes executions' -c both.cfg -- ./sum

# Granularity that the program was not compiled for.
run 2 'compiled for granularity iteration.*-fpeet-granularity=block' --granularity block -- ./sum
run 2 'compiled for granularity iteration.*-fpeet-granularity=ref' --granularity ref -- ./sum

# The program.
run 2 '^peet: cannot run ./nowhere: No such file' -- ./nowhere
run 2 '^peet: cannot run nowhere: it is not on PATH$' -- nowhere
PATH=/usr/bin:/bin run 2 '^peet: cannot run plain: it is not on PATH; write \./ before it' -- plain
run 2 '^peet: cannot run \./: it is a folder' -- ./
run 2 '^peet: cannot run ./sum.c: Permission denied' -- ./sum.c
run 2 '^peet: ./plain was not built by peetcc: it carries no schema' --foreign=ranges -- ./plain
run 2 '^peet: /bin/true was not built by peetcc' --foreign=ranges -- /bin/true
printf '#!/bin/sh\nexec ./sum\n' >script && chmod +x script
run 2 '^peet: ./script was not built by peetcc: it is a script' -- ./script
echo text >text && chmod +x text
run 2 '^peet: ./text was not built by peetcc: it is not an ELF' -- ./text
: >empty && chmod +x empty
run 2 '^peet: ./empty was not built by peetcc' -- ./empty
head -c 4096 sum >short && chmod +x short
run 2 '^peet: cannot run ./short: the file is cut off' -- ./short
refuses 2 "this is no stats.json of peet run" "$peet" report text
must "$peetcc" -shared -fPIC -o library.so sum.c
run 2 '^peet: cannot run ./library.so: it is a shared library' -- ./library.so
head -c 300 sum >cut && chmod +x cut
run 2 '^peet: .*cut' -- ./cut

# The results folder.
echo file >file
run 1 '^peet: .*file.*Not a directory' -d file -- ./sum
[ "$(cat file)" = file ] || fail "file was changed"
run 1 '^peet: .*file/below.*Not a directory' -d file/below -- ./sum
run 1 '^peet: .*/proc/nowhere' -d /proc/nowhere/out -- ./sum
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    run 1 '^peet: .*locked.*Permission denied' -d locked/out -- ./sum
    run 1 '^peet: .*locked.*Permission denied' -d locked -- ./sum
    chmod 755 locked
elif unshare -m true 2>/dev/null; then
    mkdir readonly
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tmpfs -o ro none readonly && exec "$@"' sh "$peet" run -d readonly/out -- ./sum >out.txt 2>err.txt
    [ $? -eq 1 ] && grep -q '^peet: .*readonly/out.*Read-only file system' err.txt || fail "read-only file system: $(cat err.txt)"
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tmpfs -o ro none readonly && exec "$@"' sh "$peet" run -d readonly -- ./sum >out.txt 2>err.txt
    [ $? -eq 1 ] && grep -q '^peet: .*readonly.*Read-only file system' err.txt || fail "read-only file system: $(cat err.txt)"
    [ ! -s out.txt ] || fail "the program ran"
fi

# Verbs.
refuses 2 '^peet: there is no verb' "$peet" rum
refuses 2 '^usage: peet' "$peet"
refuses 2 'no verb' "$peet" help rum
for words in --help help "help run" "help sims" "help schema" "run --help" "sims --help" "schema --help" --version "run --version"; do
    # shellcheck disable=SC2086
    must "$peet" $words >text 2>err && [ -s text ] && [ ! -s err ] || fail "peet $words"
done
"$peet" --version >/dev/full 2>err && fail "a full disk went unnoticed"
grep -q '^peet: .*No space' err || fail "full disk: $(cat err)"
