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
[ "${PEET_SANITIZED:-OFF}" = OFF ] || exit 0 # libraries are not recorded there

# Whoever looks on, the program opens a library that needs others with as many instructions, and its keys have the same numbers: what
# observers and machines need, and what finds the callers of allocations, must not be seen.
cat >thread.cpp <<'END'
#include <cmath>
#include <map>
#include <string>
#include <thread>
static std::map<std::string, int> names;
static double sum;
static std::thread early([] {
    for (int k = 0; k < 100; k++)
        names[std::to_string(k)] = k, sum += std::log2(k + 1.0);
});
extern "C" int work()
{
    early.join();
    return (int)sum + (int)names.size();
}
END
cat >opens.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    void *volatile memory = malloc(100);
    void *library = dlopen("./libthread.so", RTLD_NOW);
    int (*work)(void) = library ? (int (*)(void))dlsym(library, "work") : NULL;
    pthread_key_t key;
    pthread_key_create(&key, NULL);
    free(memory);
    printf("%d, key %u\n", work ? work() : -1, key);
    return library ? dlclose(library) : 1;
}
END
must "$peetcxx" -O2 -fPIC -shared -pthread -o libthread.so thread.cpp
must "$peetcc" -O2 -pthread -o opens opens.c -ldl
for who in "ideal --observe hash" "ideal --observe dtrack" "ideal --observe dtrack --observe timeline --observe graph" "x86 --observe hash"; do
    # shellcheck disable=SC2086
    must "$peet" run -q --cores 2 --foreign=record --machine $who -d out -- ./opens >printed
    echo "$("$PEET_PREFIX/tests/json-get" out/stats.json totals.instructions) instructions, printed $(cat printed)" >>seen
done
equal "ways in which the program went" "$(sort -u seen | wc -l)" 1
