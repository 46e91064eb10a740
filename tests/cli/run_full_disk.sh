# SPDX-License-Identifier: Apache-2.0
# A full disk, at every point of a run: a clear message, a status, no results that pass for whole ones.
. "$(dirname "$0")/lib.sh"
[ "$(uname)" = Linux ] || skip "needs Linux"
unshare=(unshare -m)
[ "$(id -u)" -eq 0 ] || unshare=(unshare -rm)
"${unshare[@]}" sh -c 'mount -t tmpfs -o size=16k none /mnt' 2>/dev/null || skip "may not mount a file system"
write_sum
must "$peetcc" -O2 -o sum sum.c
mkdir disk

# free PAGES COMMAND...: with that much room left on a small file system under ./disk
free() {
    # shellcheck disable=SC2016
    "${unshare[@]}" sh -c '
        mount -t tmpfs -o size=256k none disk || exit 99
        mkdir disk/out || exit 99
        dd if=/dev/zero of=disk/filler bs=4096 count=$((64 - $1)) 2>/dev/null
        shift
        "$@"
        status=$?
        ls -A disk/out >listing
        test ! -e disk/out/stats.json || cp disk/out/stats.json stats.json
        exit $status' sh "$@"
}
whole=
for pages in 0 1 2 3 4 8 16 40; do
    rm -f stats.json
    free $pages "$peet" run -d disk/out --machine bus -n 4 --observe counts -- ./sum 10 >out.txt 2>err.txt
    status=$?
    [ $status -ne 99 ] || fail "cannot set up the small disk: $(cat err.txt)"
    if [ $status -eq 0 ]; then
        whole=yes
        must "$json_get" stats.json totals.instructions >/dev/null
    else
        [ ! -f stats.json ] || fail "$pages pages free: half a stats.json"
        grep -q '^peet: .*No space left on device' err.txt || fail "$pages pages free: status $status: $(cat err.txt)"
        [ -z "$whole" ] || fail "less room was enough"
    fi
    leftovers=$(grep -v -x -e config.cfg -e stats.json listing)
    [ $status -eq 0 ] || [ -z "$leftovers" ] || fail "$pages pages free: left behind $leftovers"
done
[ "$whole" = yes ] || fail "no run had room enough: $(cat err.txt)"

# The outcomes of an exploration.
cat >two.c <<'END'
#include <pthread.h>
static volatile int x;
static void *one(void *p) { x = 1; return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, one, 0);
    x = 2;
    return pthread_join(t, 0);
}
END
must "$peetcc" -O1 -pthread -o two two.c
free 0 "$peet" run -q -d disk/out --explore all -- ./two 2>err.txt
status=$?
[ $status -eq 1 ] || fail "an exploration on a full disk: status $status: $(cat err.txt)"
grep -q '^peet: .*No space left on device' err.txt || fail "an exploration on a full disk: $(cat err.txt)"

# peetcc's schema file: the program itself fits, the file beside it does not.
size=$(($(stat -c %s sum) / 4096 + 2))
free $size sh -c '"$@" && true' sh "$peetcc" -O2 -o disk/sum sum.c 2>err.txt
status=$?
[ $status -ne 0 ] || fail "a schema file on a full disk went unnoticed"
grep -q 'No space left\|no space\|cannot write' err.txt || fail "peetcc on a full disk: $(cat err.txt)"

# What goes to standard output.
for words in "sims" "sims bus" "sims --json" "schema ./sum" "schema --json ./sum" "--version" "help" "run --help" "sims --usage" "trace --help"; do
    # shellcheck disable=SC2086
    "$peet" $words >/dev/full 2>err.txt && fail "peet $words on a full disk"
    grep -q '^peet: .*No space left' err.txt || fail "peet $words on a full disk: $(cat err.txt)"
done
must "$peet" run -q --observe locality -d same -- ./sum 10
must "$peet" locality signature same -o same.json
"$peet" diff same same >/dev/full 2>err.txt
equal "peet diff on a full disk" $? 2
"$peet" locality bench same.json -n 1000 -o - >/dev/full 2>err.txt
equal "peet locality bench on a full disk" $? 1
[ "$(wc -l <err.txt)" = 1 ] || fail "said twice: $(cat err.txt)"
free 0 "$peet" locality bench same.json -n 1000 -o disk/bench.c >out.txt 2>err.txt
equal "peet locality bench into a file on a full disk" $? 1
[ ! -s out.txt ] || fail "what was not written is said to be: $(cat out.txt)"

# Folders that a conversion has made, and what it has written to them.
must "$peet" run -q --observe trace -d traced -- ./two
for format in din drmemtrace; do
    for pages in 0 2; do
        # shellcheck disable=SC2016
        free "$pages" sh -c '"$@"; status=$?; ls -A disk >folders; exit $status' sh \
            "$peet" trace convert --to "$format" traced disk/converted >out.txt 2>err.txt
        equal "peet trace convert --to $format with $pages pages" $? 1
        grep -q '^peet: .*No space left on device' err.txt || fail "peet trace convert: $(cat err.txt)"
        equal "left by peet trace convert --to $format" "$(tr '\n' ' ' <folders)" "filler out "
    done
done
printf 'run,program\n' >figures.csv
# shellcheck disable=SC2016
sh -c 'ulimit -f 1; "$@"' sh "$peet" report --csv figures.csv same 2>err.txt
equal "peet report --csv without room" $? 1
equal "what was there before" "$(cat figures.csv)" 'run,program'
