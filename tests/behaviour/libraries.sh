#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shared objects: linked and opened later, instrumented and not, in all mixtures; archives; -static refused.
. "$(dirname "$0")/../tools/common.sh"
cd "$work" || exit 99
cat >lib.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int loads;
_Thread_local int per_thread = 4;
__attribute__((constructor)) static void up(void) { loads++; puts("library up"); }
__attribute__((destructor)) static void down(void) { puts("library down"); }
int work(int n, int (*callback)(int))
{
    int *v = malloc(sizeof *v * (unsigned)(n + 1)), sum = loads;
    for (int i = 0; i <= n; i++)
        v[i] = callback(i) + per_thread++;
    for (int i = 0; i <= n; i++)
        sum += v[i] * i;
    free(v);
    return sum;
}
C
cat >main.c <<'C'
#include <stdio.h>
int work(int n, int (*callback)(int));
static int twice(int x) { return 2 * x + 1; }
int main(void)
{
    int sum = 0;
    for (int i = 0; i < 50; i++)
        sum += work(i, twice);
    printf("%d\n", sum);
    return 0;
}
C
cat >open.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
static int thrice(int x) { return 3 * x; }
int main(int argc, char **argv)
{
    int sum = 0;
    for (int round = 0; round < 3; round++) {
        void *h = dlopen(argv[1], round == 1 ? RTLD_LAZY : RTLD_NOW);
        if (!h || argc != 2)
            return puts(dlerror()), 1;
        int (*work)(int, int (*)(int)) = (int (*)(int, int (*)(int)))dlsym(h, "work");
        for (int i = 0; i < 20; i++)
            sum += work(i, thrice);
        dlclose(h);
    }
    printf("%d\n", sum);
    return 0;
}
C
"$PEET_PLAIN_CC" -O2 -fPIC -shared -o plain.so lib.c || fail "plain library"
"$PEETCC" -O2 -fPIC -shared -o peet.so lib.c || fail "peetcc -shared"
"$PEET_PLAIN_CC" -O2 -c lib.c -o plain.o && ar rcs libplain.a plain.o
"$PEETCC" -O2 -c lib.c -o peet.o && ar rcs libpeet.a peet.o || fail "peetcc -c"
"$PEET_PLAIN_CC" -O2 -o main.plain main.c ./plain.so && ./main.plain >want.main || fail "plain program"
"$PEET_PLAIN_CC" -O2 -o open.plain open.c -ldl && ./open.plain ./plain.so >want.open || fail "plain program"

same() { # FILE FILE WHAT
    cmp "$1" "$2" || fail "$3: other output"
}
"$PEETCC" -O2 -o both main.c ./peet.so && ./both >got || fail "instrumented program and library"
same want.main got "instrumented program and library, plainly"
timeout -k 5 60 "$PEET" run --quiet -d o1 --observe counts -- ./both >got || fail "instrumented program and library under peet run"
same want.main got "instrumented program and library"
grep -q '"name": "work"' o1/stats.json && grep -q '"name": "twice"' o1/stats.json || fail "a function of the library or the program was not counted"
"$PEETCC" -O2 -o mixed main.c ./plain.so && timeout -k 5 60 "$PEET" run --quiet -d o2 --observe counts -- ./mixed >got || fail "instrumented program, plain library"
same want.main got "instrumented program, plain library"
grep -q '"name": "twice"' o2/stats.json || fail "callbacks from a plain library were not counted"
"$PEET_PLAIN_CC" -O2 -o reverse main.c ./peet.so && ./reverse >got || fail "plain program, instrumented library"
same want.main got "plain program, instrumented library"
"$PEETCC" -O2 -o archived main.c -L. -lpeet && timeout -k 5 60 "$PEET" run --quiet -d o3 -- ./archived >got || fail "instrumented archive"
same want.main got "instrumented archive"
"$PEETCC" -O2 -o opens open.c -ldl && ./opens ./peet.so >got || fail "dlopen, plainly"
same want.open got "dlopen, plainly"
timeout -k 5 60 "$PEET" run --quiet -d o4 --observe counts -- ./opens ./peet.so >got || fail "dlopen under peet run"
same want.open got "dlopen"
grep -q '"name": "work"' o4/stats.json || fail "the opened library's function was not counted"
timeout -k 5 60 "$PEET" run --quiet -d o5 -- ./opens ./plain.so >got || fail "dlopen of a plain library under peet run"
same want.open got "dlopen of a plain library"
./open.plain ./peet.so >got || fail "a plain program opens an instrumented library"
same want.open got "a plain program opens an instrumented library"

if "$PEETCC" -O2 -static -o static main.c lib.c 2>said; then fail "-static was not refused"; fi
grep -qi static said || fail "-static was refused without saying so: $(cat said)"
[ -e static ] && fail "-static left a file"

# namespaces of their own: what peetcc has compiled is refused, by an error that the program sees; what others have is opened
cat >namespaces.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static int once(int x) { return x; }
static void try(const char *path)
{
    void *h = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
    int (*work)(int, int (*)(int)) = h ? (int (*)(int, int (*)(int)))dlsym(h, "work") : NULL;
    printf("%d %s\n", work ? work(3, once) : 0, h ? "opened" : dlerror());
}
static void *in_thread(void *path) { return try(path), NULL; }
int main(int argc, char **argv)
{
    pthread_t thread;
    for (int k = 0; k < 20; k++)
        try(argv[1]);
    pthread_create(&thread, NULL, in_thread, argv[1]);
    pthread_join(thread, NULL);
    try(argv[argc - 1]);
    return 0;
}
C
"$PEET_PLAIN_CC" -O2 -fPIC -shared -o quiet.so -x c - <<<'int work(int n, int (*f)(int)) { return f(n) + 4; }' || fail "the library"
"$PEETCC" -O2 -pthread -o namespaces namespaces.c || fail "the program"
./namespaces ./peet.so ./quiet.so >want || fail "dlmopen, plainly"
[ "$(grep -c 'libpeet-rt.so: what peetcc has compiled .* namespace' want)" = 21 ] || fail "dlmopen was not refused: $(cat want)"
[ "$(tail -1 want)" = "7 opened" ] || fail "dlmopen after one that was refused: $(tail -1 want)"
for foreign in record ranges; do
    timeout -k 5 60 "$PEET" run --quiet -d o6 --foreign=$foreign -- ./namespaces ./peet.so ./quiet.so >got || fail "dlmopen, $foreign"
    same want got "dlmopen, $foreign"
done

# a library that asks for stacks that can be executed, as gcc's do whose nested functions are called by address
cat >stack.c <<'C'
#include <string.h>
int on_stack(int n)
{
    unsigned char code[] = {0x8d, 0x47, 0x01, 0xc3}; /* lea 1(%rdi), %eax; ret */
    volatile unsigned char copy[sizeof code];
    for (unsigned i = 0; i < sizeof code; i++)
        copy[i] = code[i];
    return ((int (*)(int))(void *)copy)(n);
}
C
cat >stack_main.c <<'C'
#include <pthread.h>
#include <stdio.h>
int on_stack(int);
static void *run(void *arg) { return (void *)(long)on_stack((int)(long)arg); }
int main(void)
{
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, run, (void *)6);
    pthread_join(thread, &result);
    printf("%d %ld\n", on_stack(2), (long)result);
    return 0;
}
C
"$PEET_PLAIN_CC" -w -O1 -fPIC -shared -Wl,-z,execstack -o libstack.so stack.c || fail "the library"
"$PEETCC" -O2 -pthread -o stack_main stack_main.c -L. -lstack -Wl,-rpath,"$PWD" || fail "peetcc refused it"
for foreign in record ranges off; do
    timeout 60 "$PEET" run -q --foreign=$foreign --machine bus --cores 2 -d stack.out -- ./stack_main >got 2>said ||
        { cat said; fail "--foreign=$foreign: code on the stack: status $?"; }
    [ "$(cat got)" = "3 7" ] || fail "--foreign=$foreign: code on the stack said $(cat got)"
done

# Libraries that a program opens lie where they lie with any machine and whoever looks on; one that comes again lies where it lay.
cat >places.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
static long place(const char *path, void **out)
{
    struct link_map *map = NULL;
    if ((*out = dlopen(path, RTLD_NOW)))
        dlinfo(*out, RTLD_DI_LINKMAP, &map);
    return map ? (long)map->l_addr : 0;
}
static void *ends(void *arg) { pthread_exit(arg); } /* which loads the unwinder */
int main(int argc, char **argv)
{
    void *first, *other;
    pthread_t thread;
    const long at = place(argv[1], &first), beside = place(argv[2], &other);
    if (argc > 3) {
        pthread_create(&thread, NULL, ends, NULL);
        pthread_join(thread, NULL);
    }
    dlclose(first);
    printf("%lx %lx %d\n", at, beside, place(argv[1], &first) == at && at && beside && at != beside);
    return 0;
}
C
"$PEET_PLAIN_CC" -w -O2 -fPIC -shared -o libplaces.so -xc - <<<'int one(void) { return 1; }' || fail "the library"
"$PEETCC" -O2 -fPIC -shared -o librecorded.so -xc - <<<'int two(void) { return 2; }' || fail "the recorded library"
"$PEETCC" -O2 -pthread -o places places.c -ldl || fail "peetcc refused it"
for more in "" thread; do
    rm -f places.first
    for options in "--machine ideal" "--machine bus --observe hash" "--machine numa --observe dtrack --observe counts --foreign=ranges" "--machine x86 --foreign=off"; do
        # shellcheck disable=SC2086
        timeout 60 "$PEET" run -q --cores 2 $options -d places.out -- ./places ./libplaces.so ./librecorded.so $more >got || fail "places: status $?"
        [ -f places.first ] || cp got places.first
        grep -q ' 1$' got || fail "$options: a library moved, or did not come: $(cat got)"
        cmp -s got places.first || fail "$options: libraries lie at $(cat got), not at $(cat places.first)"
    done
done

# Two libraries whose functions lie at the same offsets come and go: each has what it executed itself, however the run is made.
cat >turns.c <<'C'
long NAME(int n) { long s = 0; for (int i = 0; i < n; i++) s += i ^ s; return s; }
long work(long x) { return NAME((int)x) + 1; }
C
cat >take_turns.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    long sum = 0;
    for (int round = 0; round < 6; round++) {
        void *library = dlopen(argv[1 + round % (argc - 1)], RTLD_NOW);
        long (*work)(long) = library ? (long (*)(long))dlsym(library, "work") : 0;
        if (!work)
            return puts(dlerror()), 1;
        for (int i = 0; i < 100; i++)
            sum += work(1 + round);
        dlclose(library);
    }
    return printf("%ld\n", sum) < 0;
}
C
turns() { # WHAT RESULTS; what is aligned is another library each of the three times
    local name
    for name in alpha bravo; do
        "$PEET_PREFIX/tests/json-get" -r "$2/stats.json" counts.functions name calls | awk -v name=$name '$1 == name { sum += $2; n++ } END { exit !(sum == 300 && (n == 1 || n == 3)) }' ||
            fail "$1: $name() was not called 300 times: $("$PEET_PREFIX/tests/json-get" -r "$2/stats.json" counts.functions name calls | grep -e alpha -e bravo)"
    done
}
for build in "" -Wl,-z,max-page-size=0x200000 -fpeet-domains; do
    model="--machine bus"
    [ "$build" = -fpeet-domains ] && model="--consistency consistency,model=tso"
    for name in alpha bravo; do
        "$PEETCC" -O2 -fno-inline $build -fPIC -shared -DNAME=$name -o lib$name.so turns.c || fail "a library that takes turns"
    done
    "$PEETCC" -O2 $build -o take_turns take_turns.c -ldl || fail "peetcc refused it"
    for options in "" "--observe hash" "--foreign=ranges --machine bus" "$model --cores 2"; do
        # shellcheck disable=SC2086
        timeout 60 "$PEET" run -q $options --observe counts --observe trace -d turns.out -- ./take_turns ./libalpha.so ./libbravo.so >got || fail "turns: status $?"
        turns "$build $options" turns.out
    done
    timeout 60 "$PEET" run -q --observe counts -d turns.out -- ./take_turns ./libalpha.so ./libbravo.so >got || fail "turns: status $?"
    turns "$build counts alone" turns.out
    [ "$build" = "" ] || continue
    timeout 60 "$PEET" run -q --observe trace -d turns.trace -- ./take_turns ./libalpha.so ./libbravo.so >got || fail "turns: status $?"
    timeout 60 "$PEET" record -q -d turns.real -- ./take_turns ./libalpha.so ./libbravo.so >got || fail "turns: record: status $?"
    for trace in turns.trace turns.real; do
        timeout 60 "$PEET" run -q --from $trace --observe counts -d turns.out || fail "$trace: status $?"
        turns $trace turns.out
    done
done
exit 0
