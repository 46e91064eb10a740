#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Libraries come and go while foreign code is recorded: plug-ins without a schema that call the program back, use the C library and throw; one
# with a schema; another one in the same place.  The program does what it does natively, and what the plug-ins do themselves
# and call of the C library is recorded, constructors and destructors among it.
. "$(dirname "$0")/lib.sh"
cat >plugin.cpp <<'END'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int begun = 40 + NUMBER;
struct begins { begins() { begun += NUMBER; } ~begins() { std::printf("plug-in %d ends\n", NUMBER); } } both;
extern "C" long work(long x, long (*back)(long))
{
    int values[16];
    char text[64];
    for (int k = 0; k < 16; k++)
        values[k] = (int)((x * (k + NUMBER) * 7919) % 101);
    std::qsort(values, 16, sizeof *values, by_value);
    std::snprintf(text, sizeof text, "%ld %d", x, values[7]);
    char *copy = strdup(text);
    long sum = (long)std::strlen(copy) + values[7] * NUMBER + back(x) + begun;
    std::free(copy);
    if (x % 50 == NUMBER)
        throw std::runtime_error("thrown by a plug-in");
    return sum;
}
END
cat >main.cpp <<'END'
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <exception>
static long calls;
static long back(long x) { calls++; return x % 3 ? x : back(x + 1); }
int main(int argc, char **argv)
{
    const int rounds = 4;
    for (int round = 0; round < rounds; round++)
        for (int k = 1; k < argc; k++) {
            void *library = dlopen(argv[k], RTLD_NOW | RTLD_LOCAL);
            auto work = library ? (long (*)(long, long (*)(long)))dlsym(library, "work") : nullptr;
            long sum = 0, caught = 0;
            if (!work) {
                std::printf("%s\n", dlerror());
                return 1;
            }
            for (long x = 0; x < 200; x++)
                try {
                    sum += work(x, back);
                } catch (const std::exception &e) {
                    caught += (long)std::strlen(e.what());
                }
            dlclose(library);
            std::printf("%d %d: %ld, caught %ld, %ld calls\n", round, k, sum, caught, calls);
        }
    return 0;
}
END
for number in 1 2; do
    must "$PEET_PLAIN_CXX" -O2 -w -fPIC -shared -DNUMBER=$number -o libplain$number.so plugin.cpp
done
must "$peetcxx" -O2 -w -fPIC -shared -DNUMBER=3 -o librecorded.so plugin.cpp
must "$peetcxx" -O2 -o main main.cpp -ldl
plugins="./libplain1.so ./libplain2.so ./librecorded.so"
# shellcheck disable=SC2086
must ./main $plugins >native
for time in 1 2; do
    # shellcheck disable=SC2086
    must "$peet" run -q --foreign=record --observe counts --observe hash -d out.$time -- ./main $plugins >printed.$time
    same printed.$time native "the program does not do what it does natively"
    value out.$time/stats.json hash.hash >hash.$time
done
same hash.1 hash.2 "the second run was another"
# Of 2400 calls of each kind, sorts and numbers as text come from libraries that were loaded later.
calls_of() { "$PEET_PREFIX/tests/json-get" -r out.1/stats.json counts.functions name calls | awk -v name="$1" '$1 == name { sum += $2 } END { print sum + 0 }'; }
for name in qsort snprintf strdup; do
    [ "$(calls_of $name)" -ge 2400 ] || fail "of 2400 calls of $name in plug-ins, $(calls_of $name) are recorded"
done
# Their own functions, by image: 4 times loaded, 200 calls each time.
own() { "$PEET_PREFIX/tests/json-get" -r out.1/stats.json counts.functions name image "$3" | awk -v name="$1" -v image="$2" '$1 == name && $2 == image { sum += $3; n++ } END { print sum + 0, n + 0 }'; }
for number in 1 2; do
    equal "calls of work in plug-in $number, and its entries in the list" "$(own work libplain$number.so calls)" "800 1"
    equal "constructors of plug-in $number" "$(own _GLOBAL__sub_I_plugin.cpp libplain$number.so calls)" "4 1"
done

# So many instructions as there are: a library that comes again at its place, another one, which has its own, and another file of
# the same name.
cat >loops.s <<'END'
        .globl loops
        .type loops, @function
loops:  .cfi_startproc
        mov $0, %eax            # room for a jump before what is jumped to
        mov %rdi, %rcx
1:      dec %rcx
.ifdef LONGER
        nop
.endif
        jnz 1b
        ret
        .cfi_endproc
        .size loops, . - loops
        .section .note.GNU-stack, "", @progbits
END
cat >again.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *last;
static void use(const char *name, long rounds, int keep)
{
    void *library = dlopen(name, RTLD_NOW);
    void (*loops)(long) = library ? (void (*)(long))dlsym(library, "loops") : NULL;
    if (!loops)
        exit(1);
    printf("%d", last == (void *)loops);
    last = (void *)loops;
    loops(rounds);
    if (!keep)
        dlclose(library);
}
int main(void)
{
    use("./libloops.so", 100, 0);
    use("./libloops.so", 1000, 0);
    use("./libother.so", 1000, 1);
    use("./libloops.so", 10000, 0);
    if (rename("libloops.so", "libold.so") || rename("liblonger.so", "libloops.so"))
        return 1;
    use("./libloops.so", 100000, 0);
    puts("");
    return 0;
}
END
must "$PEET_PLAIN_CC" -shared -o libloops.so loops.s
must "$PEET_PLAIN_CC" -shared -o libother.so loops.s
must "$PEET_PLAIN_CC" -shared -Wa,--defsym,LONGER=1 -o liblonger.so loops.s
must "$peetcc" -O2 -o again again.c -ldl
must "$peet" run -q --foreign=record --observe counts -d out.1 -- ./again >printed
same printed <(echo 01000) "libraries did not come where they were to"
equal "instructions of libother.so" "$(own loops libother.so instructions)" "$((3 + 2 * 1000)) 1"
equal "instructions of libloops.so" "$(own loops libloops.so instructions | cut -d' ' -f1)" "$((3 + 2 * 100 + 3 + 2 * 1000 + 3 + 2 * 10000 + 3 + 3 * 100000))"

# What was translated of a library serves when it comes again, however often.
cat >often.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    for (int k = 0; k < atoi(argv[2]); k++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        void (*loops)(long) = library ? (void (*)(long))dlsym(library, "loops") : NULL;
        if (!loops)
            return 1;
        loops(10);
        dlclose(library);
    }
    return 0;
}
END
must "$peetcc" -O2 -o often often.c -ldl
for times in 100 1000; do
    must "$peet" run -q --foreign=record --observe counts -d out.1 -- ./often ./libother.so $times
    equal "instructions of $times times libother.so" "$(own loops libother.so instructions)" "$((times * (3 + 2 * 10))) 1"
    value out.1/stats.json foreign.blocks >blocks.$times
done
[ "$(cat blocks.1000)" -lt $(($(cat blocks.100) + 100)) ] ||
    fail "a library that is opened 1000 times is translated again: $(cat blocks.1000) blocks, with 100 times $(cat blocks.100)"
