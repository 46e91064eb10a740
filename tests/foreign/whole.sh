#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that peetcc has never seen, as the distribution has them: recorded whole, they print what they print natively, and do the same
# in each run; their own code makes the instructions that callgrind counts.  What cannot be recorded is refused with the reason.
. "$(dirname "$0")/lib.sh"
seq 1 700 | awk '{ print $1 * 7919 % 1009, "line", $1 }' >lines
echo 'define f(n) { if (n < 2) return n; return f(n - 1) + f(n - 2) } f(12)' >fib.bc
# try NAME PROGRAM ARGUMENT...: without the program, nothing
tried=
try() {
    local name=$1 status time
    shift
    command -v "$1" >/dev/null || return 0
    "$@" <lines >native.out 2>native.err
    status=$?
    for time in $(seq "${varies:-2}"); do
        "$peet" run -q --foreign=record --observe counts --observe hash -d "$name.$time" -- "$@" <lines >"$name.printed" 2>"$name.err"
        equal "the status of $name" $? $status
        same "$name.printed" native.out "$name does not print what it prints natively: $(head -c 200 "$name.err")"
        value "$name.$time/stats.json" hash.hash >"hash.$time"
    done
    [ "${varies:-2}" != 2 ] || same hash.1 hash.2 "the second run of $name was another"
    tried+=" $name"
}
try sort sort -n lines
try grep grep -c '1[0-9]*2 line' lines
try sed sed -e 's/line/row/g' -e '5,20d' lines
try gzip gzip -nc lines
try xz xz -c -1 lines
try awk awk '{ n[$1 % 7] += $3 } END { for (k = 0; k < 7; k++) print k, n[k] }' lines
try bc bc fib.bc
try sqlite3 sqlite3 :memory: 'create table t(a, b); with recursive n(x) as (select 1 union all select x + 1 from n where x < 50) insert into t select x, x || "t" from n; select sum(a), count(b) from t'
# what a process has of its own is in these runs: times, numbers of processes, seeds of hashes
varies=1
try perl perl -e 'my %h; while (<>) { $h{$_ % 10} += $_ } print "$_ $h{$_}\n" for sort keys %h' lines
try python3 /usr/bin/python3 -c 'import re, json; print(json.dumps({"a": [1, 2]}), re.sub("a+", "b", "caat"), sum(x * x for x in range(500)))'
try find find /usr/include -maxdepth 1 -name 'st*.h'
[ -n "$tried" ] || skip "none of the programs is installed"
echo "recorded:$tried"

# own_of FOLDER PROGRAM: instructions of the program's own code
own_of() { "$PEET_PREFIX/tests/json-get" -r "$1/stats.json" counts.functions image instructions | awk -v image="$2" '$1 == image { sum += $2 } END { print sum + 0 }'; }
if command -v valgrind >/dev/null; then
    # What comes before main() and the constructors is not recorded.
    for name in sort sed; do
        case " $tried " in *" $name "*) ;; *) continue ;; esac
        arguments=(-n lines)
        [ $name = sort ] || arguments=(-e 's/line/row/g' -e '5,20d' lines)
        must valgrind --tool=callgrind --vex-iropt-level=0 --compress-strings=no --compress-pos=no --callgrind-out-file=counted $name "${arguments[@]}" >printed 2>valgrind.printed
        counted=$(awk -v own="/$name\$" '/^ob=/ { mine = $0 ~ own; next } /^calls=/ { skip = 1; next } /^[0-9]/ { if (!skip && mine) sum += $2; skip = 0 } END { print sum + 0 }' counted)
        recorded=$(own_of $name.1 $name)
        echo "$name: $recorded instructions of its own, callgrind counts $counted"
        [ "$counted" -gt 10000 ] && [ $((counted - recorded)) -lt 500 ] && [ $((recorded - counted)) -lt 500 ] ||
            fail "$name: $recorded instructions of its own, but callgrind counts $counted"
    done
fi

"$peet" run -q -d out -- sort lines >printed 2>report && [ -z "${PEET_FOREIGN:-}" ] && fail "a program of others was run without --foreign=record"
[ -n "${PEET_FOREIGN:-}" ] || grep -q 'not built by peetcc.*--foreign=record' report || fail "the refusal does not say what would do: $(cat report)"
echo 'int main(void) { return 0; }' >static.c
if "$PEET_PLAIN_CC" -static -o static static.c 2>/dev/null; then
    "$peet" run -q --foreign=record -d out -- ./static 2>report && fail "a statically linked program was taken"
    grep -q 'linked statically' report || fail "the refusal of a static program does not say why: $(cat report)"
fi
must "$PEET_PLAIN_CC" -o other static.c
chmod u+s other
"$peet" run -q --foreign=record -d out -- ./other 2>report && fail "a set-user-ID program was taken"
grep -q 'set-user-ID' report || fail "the refusal of a set-user-ID program does not say why: $(cat report)"
exit 0
