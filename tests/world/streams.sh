# SPDX-License-Identifier: Apache-2.0
# Streams: over pipes between threads, with every kind of buffering and every way to read; formats; fortified forms.
. "$(dirname "$0")/lib.sh"
build streams -w
both streams
printf '%s\n' one two three >lines
cat >copy.c <<'C'
#include <stdio.h>
int main(void)
{
    char line[100];
    int n = 0, c;
    while (n < 2 && fgets(line, sizeof line, stdin))
        printf("%d: %s", ++n, line);
    while ((c = getchar()) != EOF)
        putchar(c);
    return fflush(stdout) + ferror(stdin);
}
C
must "$peetcc" -O1 -o copy copy.c
printf '1: one\n2: two\nthree\n' >want
must "$peet" run --quiet --machine ideal -d out -- ./copy <lines >got
cmp want got || fail "standard input from a file"
(printf 'one\nt'; sleep 0.3; printf 'wo\nthree\n') | "$peet" run --quiet --machine ideal -d out -- ./copy >got || fail "status of copy"
cmp want got || fail "standard input from a slow pipe: $(diff want got)"
build streams -w -O2 -D_FORTIFY_SOURCE=2
both streams
exit 0
