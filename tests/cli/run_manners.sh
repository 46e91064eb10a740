# SPDX-License-Identifier: Apache-2.0
# Small manners of `peet run`: what it leaves, says, refuses, and keeps to itself.
. "$(dirname "$0")/lib.sh"
write_sum
must "$peetcc" -O2 -o sum sum.c

# A folder that is used again has this run's files and no others; strangers' files stay.
must "$peet" run -q --machine x86 --observe trace -d reused -- ./sum >/dev/null
[ -s reused/x86-stacks.csv ] && [ -s reused/trace.peet ] || fail "x86 or trace has written no file"
echo mine >reused/notes.txt
must "$peet" run -q -d reused -- ./sum >/dev/null
absent reused/x86-stacks.csv reused/trace.peet
[ "$(ls reused | tr '\n' ' ')" = "config.cfg notes.txt stats.json unseen.json " ] || fail "in the folder: $(ls reused)"
# ... and a damaged list cannot reach outside of it.
mkdir victim && echo keep >victim/file && echo keep >beside
echo '{"files": ["../beside", "../victim/file", ".", "..", "", 7, "stats.json"]}' >reused/stats.json
must "$peet" run -q -d reused -- ./sum >/dev/null
[ -f beside ] && [ -f victim/file ] || fail "files outside the folder were removed"

# One observer given twice: parameters add up; contradictions are refused, and nothing vanishes.
must "$peet" run -q -o dtrack,top=7 -o dtrack,lines=3 -d twice -- ./sum >/dev/null
grep -q '^7.3$' < <("$json_get" -r twice/stats.json config.observers parameters.top parameters.lines) || fail "parameters of two -o dtrack"
refuses 2 'top=5 was given before' "$peet" run -q -o dtrack,top=5 -o dtrack,top=9 -d twice -- ./sum
must "$peet" run -q -o dtrack,top=5 -o dtrack,top=5 -d twice -- ./sum >/dev/null
echo 'observers = ( { module = "dtrack"; parameters = { top = 5; }; } );' >file.cfg
must "$peet" run -q -c file.cfg -o dtrack,top=9 -d twice -- ./sum >/dev/null
equal "the command line overrules a file" "$("$json_get" -r twice/stats.json config.observers parameters.top)" 9
echo 'observers = ( { module = "dtrack"; parameters = { top = 5; }; }, { module = "dtrack"; parameters = { lines = 3; top = 4; }; } );' >two.cfg
refuses 2 'two.cfg:1: top: top = 5 was given before' "$peet" run -q -c two.cfg -d twice -- ./sum
sed -i 's/top = 4/top = 5/' two.cfg
must "$peet" run -q -c two.cfg -d twice -- ./sum >/dev/null

# --json=FILE: not among what the program says.
cat >speaks.c <<'END'
#include <stdio.h>
int main(void) { return fputs("{ not JSON\n", stderr) < 0; }
END
must "$peetcc" -O1 -o speaks speaks.c
must "$peet" run -q --json=kept.json -d json -- ./speaks 2>err
[ "$(cat err)" = "{ not JSON" ] || fail "--json=FILE: standard error: $(cat err)"
equal "--json=FILE" "$(value kept.json totals.instructions)" "$(value json/stats.json totals.instructions)"
must "$peet" run --json --json=kept.json -d json -- ./sum >/dev/null 2>shown.json
equal "--json --json=FILE" "$(value shown.json totals.instructions)" "$(value kept.json totals.instructions)"
status=0
"$peet" run -q --json=/nowhere/x -d json -- ./sum >/dev/null 2>err || status=$?
[ $status -eq 2 ] && grep -q "^peet: --json: cannot write /nowhere/x" err || fail "--json into no folder: status $status, $(cat err)"
refuses 2 'json=: the name' "$peet" run -q --json= -d json -- ./sum

# Numbers of a file are what stands there, however large.
for number in 4294967297 99999999999 18446744073709551615 18446744073709551617 0x100000000000000001 99999999999999999999999999L; do
    echo "cores = $number;" >large.cfg
    refuses 2 "large.cfg:1: cores: ${number%L} is out of range: must be 1 to 65536" "$peet" run -q -c large.cfg -d large -- ./sum
done
printf '# 99999999999 "\n/* 99999999999 " */ cores = 2; // 99999999999\nseed = 18446744073709551615; quantum_cycles = 99999999999;\nio_cycles_per_byte = 1e3;
arguments = ( "99999999999", "a\\"99999999999" );\n' >large.cfg
must "$peet" run -q -c large.cfg -d large -- ./sum 3 >/dev/null
equal "seed" "$(value large/stats.json config.seed)" 18446744073709551615
equal "quantum" "$(value large/stats.json config.quantum_cycles)" 99999999999
equal "cost of a byte" "$(value large/stats.json config.io_cycles_per_byte)" 1000
echo 'cores = -1;' >large.cfg
refuses 2 "large.cfg:1: cores: '-1' is not a whole number" "$peet" run -q -c large.cfg -d large -- ./sum

# Every granularity that peetcc takes is in the manual and in the guide.
"$peetcc" -fpeet-granularity=none -c sum.c 2>err && fail "granularity none"
for word in $(sed -n 's/.*unknown granularity; use //p' err | tr -d ','); do
    [ "$word" = or ] && continue
    grep -q -w "$word" "$PEET_SOURCE/docs/man/peetcc.1" || fail "granularity $word is not in peetcc(1)"
    grep -q "granularity=.*\b$word\b\|or \`$word\`" "$PEET_SOURCE/docs/GUIDE.md" || fail "granularity $word is not in the guide"
done

# exec() is no exit with status 0.
cat >replace.c <<'END'
#include <unistd.h>
int main(void) { execl("/bin/sh", "sh", "-c", "exit 5", (char *)0); return 3; }
END
must "$peetcc" -O1 -o replace replace.c
status=0
"$peet" run -q -d exec -- ./replace 2>err || status=$?
equal "status of what was executed" $status 5
[ ! -s err ] || fail "--quiet says: $(cat err)"
equal "reason" "$(value exec/stats.json end.reason)" exec
equal "program" "$(value exec/stats.json end.program)" /bin/sh
"$json_get" exec/stats.json end.status >/dev/null 2>&1 && fail "exec has an exit status"

# Threads that the end has cut off: in the results; with --quiet nowhere else.
cat >cut.c <<'END'
#include <pthread.h>
#include <unistd.h>
static void *wait(void *arg) { for (;;) pause(); return arg; }
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 30; i++)
        pthread_create(&thread, 0, wait, 0);
    return 0;
}
END
must "$peetcc" -O1 -pthread -o cut cut.c
must "$peet" run -q -d cut.out -- ./cut 2>err
[ ! -s err ] || fail "--quiet says: $(cat err)"
equal "threads left" "$(value cut.out/stats.json end.threads_left)" 30
must "$peet" run -d cut.out -- ./cut 2>err
grep -q '30 other threads were not over' err || fail "threads that are cut off are not named"

# An interrupt is no crash.
cat >turns.c <<'END'
#include <stdio.h>
int main(void) { puts("ready"); fflush(stdout); for (volatile long i = 0;; i++) ; }
END
must "$peetcc" -O1 -o turns turns.c
set -m # not "&" in a script: the shell has background jobs ignore SIGINT
for signal in INT TERM; do
    rm -f out.txt
    "$peet" run -q -d interrupted -- ./turns >out.txt 2>err &
    pid=$!
    for _ in $(seq 200); do grep -q -s ready out.txt && break; sleep 0.05; done
    kill -$signal $pid
    wait $pid
    status=$?
    equal "status after SIG$signal" $status $((128 + $(kill -l $signal)))
    equal "lines said after SIG$signal" "$(wc -l <err)" 1
    grep -q '^peet: .*ended from outside, at cycle [0-9]*; the results up to then are in .*/stats.json$' err || fail "SIG$signal: $(cat err)"
    equal "reason" "$(value interrupted/stats.json end.reason)" signal
    [ "$(value interrupted/stats.json totals.instructions)" -gt 10 ] || fail "no results up to SIG$signal"
done
set +m

# Memory that is limited, by the shell or by the program itself, costs no results.
cat >limit.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
int main(void)
{
    struct rlimit limit = { 64 << 20, 64 << 20 }, now;
    char *small, *large;
    if (setrlimit(RLIMIT_AS, &limit) || getrlimit(RLIMIT_AS, &now) || now.rlim_cur != limit.rlim_cur || now.rlim_max != limit.rlim_max)
        return 1;
    small = malloc(1 << 20);
    large = malloc(200 << 20);
    printf("%d %d %d", small != NULL, large != NULL, large == NULL && errno == ENOMEM);
    large = mmap(0, 200 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf(" %d %d", large != MAP_FAILED, errno == ENOMEM);
    large = realloc(small, 200 << 20);
    printf(" %d %d", large != NULL, errno == ENOMEM);
    large = mmap(0, 30 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 10; i++) { /* what is mapped over itself takes no more, and what is unmapped twice gives no more */
        large = mmap(large, 20 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        printf(" %d %d", large != MAP_FAILED, munmap(large + (20 << 20), 10 << 20));
    }
    printf(" %d", mremap(large, 20 << 20, 100 << 20, MREMAP_MAYMOVE) != MAP_FAILED);
    printf(" %d", mmap(0, 60 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    limit.rlim_cur = 70 << 20;
    printf(" %d\n", setrlimit(RLIMIT_AS, &limit) != 0 && errno == EINVAL);
    fflush(stdout);
    return 0;
}
END
must "$peetcc" -O1 -fno-builtin -o limit limit.c
if [ -z "${PEET_SANITIZED:-}" ] || [ "$PEET_SANITIZED" = OFF ]; then # a sanitizer wants terabytes of address space
    for foreign in ranges auto; do # peet's allocator and the C library's
        must "$peet" run -q --foreign=$foreign -d limited -- ./limit >out.txt
        equal "under its own limit, $foreign" "$(cat out.txt)" "$("$PEET_PLAIN_CC" -O1 -fno-builtin -o plain limit.c && ./plain)"
        [ -s limited/stats.json ] || fail "no results under the program's own limit"
    done
    for kilobytes in 300000 600000 1000000; do
        (ulimit -v $kilobytes; "$peet" run -q --machine bus --cores 2 -d shell -- ./sum 2>err >/dev/null) || fail "ulimit -v $kilobytes: $(cat err)"
        [ -s shell/stats.json ] || fail "no results under ulimit -v $kilobytes"
    done
fi

# On a terminal: the program's own lines begin where a line begins, and the progress line says how long it takes if that can be known.
if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    cat >tells.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/* Of the computer, in seconds: the simulated clock says nothing of when progress is shown. */
static double now(void)
{
    char text[64] = "";
    const int fd = open("/proc/uptime", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || close(fd) != 0)
        exit(1);
    return atof(text);
}
int main(void)
{
    static volatile long n;
    for (int k = 0; k < 4; k++) {
        for (double begin = now(); now() < begin + 0.9;)
            for (long i = 0; i < 100000; i++)
                n++;
        fprintf(stderr, k % 2 ? "half %d;" : "line %d\n", k);
    }
    fputs("\n", stderr);
    return 0;
}
END
    must "$peetcc" -O1 -o tells tells.c
    script -qec "stty cols 80; '$peet' run -d tty.out -- ./tells" first.tty >/dev/null </dev/null
    grep -q 'peet: .* cycles, .* instructions' first.tty || fail "no progress line on a terminal"
    for text in 'line 0' 'half 1' 'line 2' 'half 3'; do
        tr '\r' '\n' <first.tty | grep -a -q -e "s$text" && fail "'$text' sticks to the progress line"
        tr '\r' '\n' <first.tty | grep -a -q -e "^.\[K$text" -e "^$text" || fail "'$text' does not begin a line: $(cat -v first.tty)"
    done
    tr '\r' '\n' <first.tty | grep -a -q 'half 1; \{80\}$' || fail "the progress line writes over what the program has begun"
    tr '\r' '\n' <first.tty | awk 'length($0) > 160 { exit 1 }' || fail "the progress line is wider than the terminal"
    script -qec "stty cols 80; '$peet' run -d tty.out -- ./tells" second.tty >/dev/null </dev/null
    tr '\r' '\n' <first.tty | grep -a -q 'to go' && fail "a first run says how long it takes"
    tr '\r' '\n' <second.tty | grep -a -q 'peet: [0-9]* %, about [0-9]* s to go; ' || fail "a second run does not say how long it takes"
    for expected in tty.out "$(sed -n 's/^  "instructions": \([0-9]*\),*$/\1/p' tty.out/stats.json | sed -n 1p)" 900T; do
        rm -rf fresh.out
        script -qec "stty cols 80; '$peet' run --expect $expected -d fresh.out -- ./tells" third.tty >/dev/null </dev/null
        tr '\r' '\n' <third.tty | grep -a -q 'peet: [0-9]* %, about [0-9]* s to go; ' && shown=1 || shown=0
        [ $shown = "$([ "$expected" = 900T ] && echo 0 || echo 1)" ] || fail "--expect $expected: $(tr '\r' '\n' <third.tty | tail -2)"
    done
fi
for wrong in 0 12x nowhere -3 99999999999999999999; do
    "$peet" run --expect $wrong -d wrong.out -- ./tells 2>complaint
    [ $? = 2 ] && grep -q -- '--expect' complaint || fail "--expect $wrong: $(cat complaint)"
done
# Whichever call executes another program, results are there; one that finds nothing to execute ends nothing.
cat >replace.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char *to[] = { argv[2], NULL };
    static volatile long sum;
    for (int i = 0; i < 1000; i++)
        sum += i;
    if (!strcmp(argv[1], "execv"))
        execv(argv[2], to);
    if (!strcmp(argv[1], "execvp"))
        execvp(argv[2], to);
    if (!strcmp(argv[1], "execveat"))
        execveat(AT_FDCWD, argv[2], to, environ, 0);
    if (!strcmp(argv[1], "syscall"))
        syscall(SYS_execveat, AT_FDCWD, argv[2], to, environ, 0);
    if (!strcmp(argv[1], "empty"))
        execveat(open(argv[2], O_RDONLY), "", to, environ, AT_EMPTY_PATH);
    if (!strcmp(argv[1], "files"))
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 });
    if (!strcmp(argv[1], "size"))
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, 100 });
    for (int i = 0; i < 1000; i++)
        sum += i;
    printf("%s\n", strerror(errno));
    return 6;
}
END
must "$peetcc" -O1 -o replace replace.c
for call in execv execvp execveat syscall empty; do
    must "$peet" run -q -d replaced -- ./replace $call /bin/true >/dev/null
    equal "$call: how it ended" "$(value replaced/stats.json end.reason)" exec
done
mkdir -p path/tool && printf '#!/no/such/interpreter\n' >script && chmod +x script
for what in "execv /" "execv ./script" "execvp ./script" "execveat ./script" "syscall /"; do
    status=0
    "$peet" run -q -d replaced -- ./replace $what >said.txt 2>&1 || status=$?
    equal "$what: status" $status 6
    equal "$what: how it ended" "$(value replaced/stats.json end.reason)" exit
    same said.txt <(./replace $what) "$what"
done
status=0
PATH=$PWD/path:$PATH "$peet" run -q -d replaced -- ./replace execvp tool >said.txt 2>&1 || status=$?
equal "a folder on the way" "$status $(value replaced/stats.json end.reason)" "6 exit"
# Only the kernel knows that this is no program.
printf 'no program\n' >unknown && chmod +x unknown
status=0
"$peet" run -q -d replaced -- ./replace execv ./unknown >said.txt 2>&1 || status=$?
[ $status -eq 6 ] && grep -q '^peet: the program could not replace itself by ./unknown (Exec format error): .* not in the results' said.txt ||
    fail "no program: $status, $(cat said.txt)"

# Limits that the program sets itself cost no results.
for limit in files size; do
    status=0
    "$peet" run -q -d limited -- ./replace $limit >/dev/null 2>err.txt || status=$?
    [ $status -eq 6 ] || fail "a limit on $limit: status $status: $(cat err.txt)"
    equal "a limit on $limit: how it ended" "$(value limited/stats.json end.reason)" exit
    "$peet" report limited >/dev/null || fail "a limit on $limit: no report"
done

# "-" is standard output: behind what stands there, and nothing but the file.
must "$peet" report --csv figures.csv limited >/dev/null
{ echo before && must "$peet" report --csv - limited; } >>all.txt
echo after >>all.txt
{ echo before && cat figures.csv && echo after; } >expected.txt
same all.txt expected.txt "figures on standard output"
must "$peet" report --csv /dev/stdout limited | cat >piped.csv
same piped.csv figures.csv "figures through a pipe"
[ ! -e ./- ] || fail "a file is called -"
