# SPDX-License-Identifier: Apache-2.0
# What a run leaves: stats.json with the keys that others rely on, the effective configuration, the table.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -g -o sum sum.c
must "$peet" run -n 4 --machine bus,protocol=berkeley,cache=128KiB,line=8 --observe counts -d a/b/out -- ./sum 300 >out.txt 2>table.txt
[ "$(cat out.txt)" = "$("$PEET_PLAIN_CC" -O2 -o plain sum.c && ./plain 300)" ] || fail "the program's output"
stats=a/b/out/stats.json
for key in peet.version time.cycles totals.instructions totals.blocks totals.reads totals.writes config.cores config.machine.module \
    config.machine.parameters.protocol; do
    value $stats $key >/dev/null
done
[ "$(value $stats config.cores)" = 4 ] || fail "config.cores"
[ "$(value $stats config.machine.parameters.protocol)" = berkeley ] || fail "config.machine"
[ "$("$json_get" -r $stats hw '#' | wc -l)" -eq 4 ] || fail "hw[] is not one per processor"
[ "$("$json_get" -r $stats contexts '#' | wc -l)" -ge 1 ] || fail "contexts[] is empty"
# Totals, per processor and per function: three counts of one thing.
totals=$(value $stats totals.instructions)
[ "$("$json_get" -r $stats hw instructions | awk '{ s += $1 } END { print s }')" = "$totals" ] || fail "hw[].instructions do not add up"
for what in instructions reads writes; do
    [ "$("$json_get" -r $stats counts.functions $what | awk '{ s += $1 } END { print s }')" = "$(value $stats totals.$what)" ] ||
        fail "counts.functions[].$what do not add up"
done
[ "$("$json_get" -r $stats counts.functions name calls | awk '$1 == "sum" { print $2 }')" = 1 ] || fail "sum was called once"

# The table: not too wide, and with the figures of stats.json.
awk 'length($0) > 100 { exit 1 }' table.txt || fail "the table is wider than 100 columns"
grouped=$(printf "%s" "$totals" | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta')
grep -q -e "instructions *$grouped" table.txt || fail "instructions in the table"
grep -q 'results in a/b/out$' table.txt || fail "the table does not say where the results are"
[ -f a/b/out/config.cfg ] || fail "no config.cfg"

# Quiet is quiet; --json is stats.json.
"$peet" run -q -d quiet -- ./sum >/dev/null 2>err || fail "quiet run"
[ ! -s err ] || fail "--quiet says: $(cat err)"
"$peet" run --json -d json -- ./sum >/dev/null 2>printed || fail "--json run"
[ "$(value printed totals.instructions)" = "$(value json/stats.json totals.instructions)" ] || fail "--json"

# Not a terminal: no progress line.
grep -q $'\r' table.txt && fail "a progress line in a file"

# An earlier run's results do not outlive the start of a new one that fails.
cat >dies.c <<'END'
#include <unistd.h>
#include <sys/syscall.h>
int main(void) { __asm__ volatile("syscall" : : "a"(231), "D"(0)); }
END
must "$peetcc" -O1 -o dies dies.c
must "$peet" run -q -d reused -- ./sum >/dev/null
"$peet" run -q -d reused -- ./dies 2>err && fail "a run without results succeeded"
grep -q '^peet: .*stats.json was not written' err || fail "no word about missing results: $(cat err)"
absent reused/stats.json

# A wrong option does not cost the results that are there.
must "$peet" run -q -d reused -- ./sum >/dev/null
"$peet" run -q -d reused --cores 0 -- ./sum 2>/dev/null && fail "cores 0"
[ -f reused/stats.json ] || fail "results lost to a wrong option"

# Two runs in one folder.
cat >waits.c <<'END'
#include <stdio.h>
int main(void) { return getchar() == EOF; }
END
must "$peetcc" -O1 -o waits waits.c
mkfifo input
"$peet" run -q -d shared -- ./waits <input &
first=$!
exec 9>input
for _ in $(seq 100); do [ -f shared/config.cfg ] && break; sleep 0.1; done
refuses 2 '^peet: another run is writing to shared' "$peet" run -d shared -- ./sum
echo x >&9
exec 9>&-
wait $first || fail "the first run: status $?"
no_leftovers

# What cannot be seen is said, in stats.json and in the table.
cat >unseen.c <<'END'
#include <stdatomic.h>
struct large { long part[4]; };
static _Atomic struct large large;
static _Atomic __int128 wide;
int main(void)
{
    struct large one = { { 1, 2, 3, 4 } };
    long v = 0;
    atomic_store(&large, one);
    one = atomic_load(&large);
    wide += 3;
    __asm__ volatile("fnop; incq %0" : "+m"(v));
    return (int)(one.part[3] + (long)wide + v - 8);
}
END
cat >saves.c <<'END'
static _Alignas(16) char area[512];
int main(void)
{
    __builtin_ia32_fxsave(area);
    return 0;
}
END
must "$peetcc" -O1 -mfxsr -o saves saves.c
must "$peet" run -q -d saves.out -- ./saves
[ "$(value saves.out/stats.json gaps.asm_statements)" = 1 ] || fail "an instruction whose references are not understood in stats.json"
if "$PEET_PLAIN_CC" -w -o plain unseen.c -latomic 2>/dev/null; then
    must "$peetcc" -w -O1 -o unseen unseen.c -latomic
    must "$peet" run --foreign=ranges -d unseen.out -- ./unseen 2>table.txt
    [ "$(value unseen.out/stats.json gaps.asm_statements)" = 1 ] || fail "inline assembly in stats.json"
    grep -q '1 inline assembly statements' table.txt || fail "inline assembly in the table"
    for name in $(nm -D --undefined-only unseen | grep -o '__atomic_[a-z_0-9]*'); do
        grep -q "\"$name\"" unseen.out/stats.json || fail "$name is not in stats.json"
    done
    grep -q 'not observable in libatomic: __atomic_' table.txt || fail "libatomic in the table: $(cat table.txt)"
    awk 'length($0) > 100 { exit 1 }' table.txt || fail "the table is wider than 100 columns"
fi
