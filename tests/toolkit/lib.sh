# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: the toolkit installed by itself, modules built against it, a program to watch.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# module NAME: examples/toolkit/NAME.c, with one compiler call against what is installed
installed=$PWD/installed
must "$PEET_CMAKE" --install "$PEET_PREFIX" --component toolkit --prefix "$installed" >install.log
mkdir -p "$installed/include/peet"
cp "$PEET_SOURCE"/schema/include/peet/{module,direct}.h "$installed/include/peet"
module() {
    must cc -shared -fPIC -O2 -Wall -Wextra -Werror -I"$installed/include" -o "$1.so" "$PEET_SOURCE/examples/toolkit/$1.c" \
        -L"$installed/lib" -lpeet-toolkit
}

# the same for one in C++
module_cxx() {
    must "$1" "$2" -shared -fPIC -O2 -Wall -Wextra -Werror -I"$installed/include" -o "$3.so" "$PEET_SOURCE/examples/toolkit/$3.cc" \
        -L"$installed/lib" -lpeet-toolkit
}

# of OUT NAME KEY: a number that a module has written
of() {
    value "$1/stats.json" "$2.$3"
}

# within WHAT NUMBER LEAST MOST
within() {
    awk -v n="$2" -v a="$3" -v b="$4" 'BEGIN { exit !(n >= a && n <= b) }' || fail "$1: $2 is not in $3 .. $4"
}

# a program that sums an array of 64 Ki longs, aligned to a page, twice; and with threads, each a part of it over and over
write_walk() {
    cat >walk.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16 };
long a[N] __attribute__((aligned(4096)));
long shared[8] __attribute__((aligned(64)));
__attribute__((noinline)) static long sum(const long *p, int n)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}
static void *work(void *arg)
{
    long me = (long)arg;
    for (int i = 0; i < 1000; i++)
        ((volatile long *)shared)[me]++;
    return NULL;
}
int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t[8];
    for (long i = 0; i < threads; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(t[i], NULL);
    if (!threads)
        {
        volatile int n = N;
        printf("%ld\n", sum(a, n) + sum(a, n));
    }
    return 0;
}
END
    must "$peetcc" -O1 -g -o walk walk.c
}

# run OUT OPTIONS... -- PROGRAM...
run() {
    local out=$1
    shift
    must timeout -k 1 100 "$peet" run -q -d "$out" "$@" >"$out.out"
}
