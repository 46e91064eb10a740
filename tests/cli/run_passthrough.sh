# SPDX-License-Identifier: Apache-2.0
# The subject sees what it would see without peet, and what it does comes out unchanged.
. "$(dirname "$0")/lib.sh"
cat >echo.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char line[200], folder[1000];
    for (int i = 0; i < argc; i++)
        printf("argument %d [%s]\n", i, argv[i]);
    for (char **e = environ; *e; e++)
        printf("environment [%s]\n", *e);
    printf("HOME %s, NOTHING %s, PEET_CONFIG %s\n", getenv("HOME"), getenv("NOTHING") ? "set" : "unset",
        getenv("PEET_CONFIG") ? "set" : "unset");
    while (fgets(line, sizeof line, stdin))
        printf("input %s", line);
    printf("folder %s\n", getcwd(folder, sizeof folder));
    printf("next descriptor %d\n", open("/dev/null", O_RDONLY));
    fflush(stdout);
    fprintf(stderr, "a word on standard error\n");
    if (write(1, "\0\377binary", 8) != 8)
        return 99;
    return argc > 1 ? atoi(argv[1]) : 0;
}
END
must "$PEET_PLAIN_CC" -O2 -o echo echo.c && mv echo plain_echo
must "$peetcc" -O2 -o echo echo.c
mkdir plain && mv plain_echo plain/echo
mkdir peet && mv echo peet/echo

both() {
    (cd plain && printf 'one\ntwo\n' | env -i HOME=/home/me "TEXT=a b=c" EMPTY= PATH=.:/bin "$@") >plain.out 2>plain.err
    local expected=$? got
    (cd peet && printf 'one\ntwo\n' | env -i HOME=/home/me "TEXT=a b=c" EMPTY= PATH=.:/bin ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
        "$peet" run -q ${observers[@]+"${observers[@]}"} -d ../results -- "$@") >peet.out 2>peet.err
    got=$?
    sed -i 's|/plain$|/peet|' plain.out
    sed -i '/^environment \[ASAN_OPTIONS=/d' peet.out
    [ $expected -eq $got ] || fail "status $got, not $expected: $* ($(cat peet.err))"
    same plain.out peet.out "output of $*"
    same plain.err peet.err "standard error of $*"
}
observers=()
both ./echo
observers=(--observe dtrack --observe races) # which look at debug information and stacks
both ./echo
observers=()
both ./echo 0
both echo 1 "two words" '' '*' --cores -- "tab	and
newline"
for status in 1 2 3 77 126 127 128 255; do
    both ./echo $status
done

# Without peet run, the instrumented program behaves the same.
(cd peet && printf 'one\ntwo\n' | env -i HOME=/home/me "TEXT=a b=c" EMPTY= PATH=.:/bin ./echo 5 x) >peet.out 2>peet.err
[ $? -eq 5 ] || fail "status of the program by itself"
(cd plain && printf 'one\ntwo\n' | env -i HOME=/home/me "TEXT=a b=c" EMPTY= PATH=.:/bin ./echo 5 x) >plain.out 2>plain.err
sed -i 's|/plain$|/peet|' plain.out
same plain.out peet.out "the program by itself"

# Closed standard descriptors, output to a full disk: the program notices, not we.
must "$peet" run -q -d results -- peet/echo <&- >out.txt
"$peet" run -q -d results -- peet/echo </dev/null >&- 2>/dev/null
[ $? -eq 99 ] || fail "closed standard output"

status=0
"$peet" run -d results -- peet/echo 6 </dev/null >out.txt 2>&- || status=$?
[ "$status" -eq 6 ] || fail "closed standard error: status $status"
grep -q 'peet:' results/config.cfg results/stats.json && fail "messages went into a file"
"$peet" run -q -d results -- ./nowhere 2>&-
[ $? -eq 2 ] || fail "closed standard error, wrong program"
"$peet" --version >&- 2>/dev/null && fail "closed standard output went unnoticed"

# Files written by the subject, and children of its own.
cat >child.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
int main(void)
{
    FILE *f = fopen("made", "w");
    fprintf(f, "text\n");
    fclose(f);
    int status = system("cat made; test -z \"$PEET_CONFIG\" || echo PEET_CONFIG is set; ls /proc/self/fd | wc -w; exit 4");
    return WEXITSTATUS(status);
}
END
must "$PEET_PLAIN_CC" -O2 -o child child.c
./child >expected
[ $? -eq 4 ] || fail "child"
must "$peetcc" -O2 -o child child.c
"$peet" run -q -d results -- ./child >got
[ $? -eq 4 ] || fail "status of a child's parent"
same expected got "a child's output"
