#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Backtraces have the lines of calls, and inlined functions; llvm-symbolizer says the same of the same addresses.
. "$(dirname "$0")/lib.sh"
command -v llvm-symbolizer-22 >/dev/null || skip "llvm-symbolizer-22 is not installed"
cat >crash.cc <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
namespace shapes {
struct table {
    int *cells;
    inline void put(long i, int value)
    {
        cells[i] = value;
    }
    __attribute__((noinline)) void fill(long n)
    {
        for (long i = 0; i < n; i++)
            put(i, (int)i);
    }
};
}
static inline int compare_with(const int *a, const int *b)
{
    return *a < *b ? -1 : *a > *b;
}
static int compare(const void *a, const void *b)
{
    if (*(const int *)a == 7)
        abort();
    return compare_with((const int *)a, (const int *)b);
}
static void *work(void *argument)
{
    shapes::table t = {(int *)argument};
    t.fill(3);
    return NULL;
}
static struct { long users; pthread_mutex_t lock; } guarded[3];
static inline void twice(void)
{
    pthread_mutex_lock(&guarded[1].lock);
    pthread_mutex_lock(&guarded[1].lock);
}
int main(int argc, char **argv)
{
    int numbers[] = {5, 2, 7, 1};
    pthread_t thread;
    if (!strcmp(argv[1], "sort"))
        qsort(numbers, 4, sizeof *numbers, compare);
    if (!strcmp(argv[1], "wait"))
        twice();
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return argc;
}
END
must "$peetcc++" -O2 -g -no-pie -pthread -o crash crash.cc

# The program's own frames: function, file, line.  Of a function that is not inlined, stats.json has the symbol.
frames() {
    must jq -r "$1"' | .backtrace[] | select(.file | endswith("crash.cc")) | "\(.function) \(.file):\(.line)"' out/stats.json
}
check() { # MODE STATUS QUERY
    status=0
    "$peet" run -q -n 2 -d out -- ./crash "$1" 2>err || status=$?
    equal "status of $1" $status "$2"
    frames "$3" >got
    must jq -r "$3"' | .backtrace | to_entries[] | select(.value.file | endswith("crash.cc")) | select(.value.inlined | not) | [.key, .value.pc] | @tsv' out/stats.json >places
    while read -r number pc; do # a return address stands behind its call
        llvm-symbolizer-22 --obj=crash --output-style=GNU "$(printf '%#x' $((number == 0 || ($4 && number == 1) ? pc : pc - 1)))"
    done <places | grep . | paste -d ' ' - - | sed 's/ (discriminator [0-9]*)//; s/ [^ ]*\// /' >wanted
    sed 's/ [^ ]*\// /; s/^_ZN6shapes5table4fillEl /shapes::table::fill(long) /; s/^_ZL4workPv /work(void*) /; s/^_ZL7comparePKvS0_ /compare(void const*, void const*) /' got >shown
    sed 's/put(long, int)/put/; s/twice()/twice/' wanted >said
    [ "$(wc -l <shown)" -ge 2 ] || fail "$1: no frames: $(cat err)"
    same said shown "frames of $1"
}
check thread 139 .end 1 # the fault is in an inlined function, which has frame 0
grep -q '#0 .* in shapes::table::put (crash.cc:9), inlined$' err || fail "not shown as inlined: $(cat err)"
grep -q '#1 .* in shapes::table::fill(long) (crash.cc:14)$' err || fail "no line: $(cat err)"
check sort 134 .end 0
grep -q ' in main (crash.cc:4[0-9])$' err || fail "main's line: $(cat err)"
check wait 3 '.end.blocked[0]' 0
grep -q '#0 .* in pthread_mutex_lock$' err || fail "what main() waits in: $(cat err)"
grep -q 'context 0 waits for mutex guarded\[1\].lock (0x[0-9a-f]*), which it holds itself' err || fail "the lock's name: $(cat err)"
grep -q ' in twice (crash.cc:38), inlined$' err || fail "where it waits: $(cat err)"
! grep -q 'libpeet-rt\|__libc_start' err || fail "frames that are not the program's: $(cat err)"

# a line table alone
must "$peetcc++" -O2 -gline-tables-only -pthread -o crash crash.cc
status=0
"$peet" run -q -d out -- ./crash thread 2>err || status=$?
equal "status" $status 139
grep -q ' in work(void\*) (crash.cc:31)$' err || fail "with -gline-tables-only: $(cat err)"

# without debug information the functions are named all the same
must "$peetcc++" -O2 -pthread -o crash crash.cc
status=0
"$peet" run -q -d out -- ./crash thread 2>err || status=$?
equal "status" $status 139
grep -q ' in shapes::table::fill(long)' err || fail "without -g: $(cat err)"

# of the OpenMP library's own code nothing is shown, either
cat >regions.c <<'END'
#include <omp.h>
static omp_lock_t lock;
int main(void)
{
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        omp_set_lock(&lock); /* here */
        if (omp_get_thread_num() < 2)
            omp_set_lock(&lock);
    }
    return 0;
}
END
must "$peetcc" -O1 -g -fopenmp -o regions regions.c
status=0
"$peet" run -q -n 2 -d out -- ./regions 2>err || status=$?
equal "status of the regions" $status 3
! grep -q 'libpeet' err || fail "frames of peet's: $(cat err)"
grep -q " in main.omp_outlined.* (regions.c:$(sed -n '/;  *.. here/=' regions.c))" err || fail "where it waits: $(cat err)"
# a call of a null pointer, a block freed twice, a fault at the first instruction of a library's function
cat >ends.c <<'END'
#include <stdlib.h>
#include <string.h>
int first(volatile int *p);
static void (*volatile nothing)(void);
int main(int argc, char **argv)
{
    char *volatile block = malloc(10);
    if (!strcmp(argv[1], "null"))
        nothing(), argc++; /* 9 */
    if (!strcmp(argv[1], "first"))
        return first(NULL) + argc; /* 11 */
    free(block);
    free(block), argc++; /* 13 */
    return argc;
}
END
echo 'int first(volatile int *p) { return *p; }' >first.c
must cc -O2 -g -fPIC -shared -o libfirst.so first.c
must "$peetcc" -O1 -g -o ends ends.c -L. -lfirst -Wl,-rpath,"$PWD"
for case in "null 139 9" "first 139 11" "twice 134 13"; do
    read -r mode wanted line <<<"$case"
    status=0
    "$peet" run -q -d out -- ./ends "$mode" 2>err || status=$?
    equal "status of $mode" $status "$wanted"
    grep -q " in main (ends.c:$line)" err || fail "$mode: no line $line of main: $(cat err)"
done

# more than are shown
cat >deep.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static int down(volatile int n) { return n ? down(n - 1) + n : (abort(), 0); }
int main(int argc, char **argv) { return down(atoi(argv[1])); }
C
must "$peetcc" -O1 -o deep deep.c
"$peet" run -q -d out -- ./deep 200 2>err && fail "a deep abort ended well"
grep -q 'and more: these are the innermost 64$' err || fail "nothing is said of more frames: $(tail -2 err)"
"$peet" run -q -d out -- ./deep 3 2>err && fail "an abort ended well"
grep -q 'and more' err && fail "there are no more frames: $(cat err)"
exit 0
