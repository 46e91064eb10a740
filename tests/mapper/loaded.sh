# SPDX-License-Identifier: Apache-2.0
# A library that is loaded while the program runs brings its schema along.
. "$(dirname "$0")/lib.sh"
cat >twice.c <<'END'
static long calls;
__attribute__((noinline)) static long half(long x) { return x / 2 + calls; }
long twice(long x) { calls++; return 2 * x + half(x); }
END
cat >main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
    long sum = 0;
    for (int round = 0; round < 3; round++) {
        void *library = dlopen("./libtwice.so", RTLD_NOW);
        long (*twice)(long) = library ? (long (*)(long))dlsym(library, "twice") : 0;
        if (!twice)
            return 1;
        for (long i = 0; i < 100; i++)
            sum += twice(i);
    }
    printf("%ld\n", sum);
    return 0;
}
END
must "$peetcc" -O2 -fPIC -shared -o libtwice.so twice.c
must "$peetcc" -O2 -o main main.c -ldl
must ./main >plain.out
must "$peet" run -q --observe counts -d out -- ./main >out.txt
cmp plain.out out.txt || fail "the output"
calls=$("$PEET_PREFIX/tests/json-get" -r out/stats.json counts.functions name calls | awk '$1 == "twice" { print $2 }')
equal "calls of twice()" "$calls" 300
