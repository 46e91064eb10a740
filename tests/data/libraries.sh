# SPDX-License-Identifier: Apache-2.0
# Shared libraries, linked and loaded while the program runs: their globals, thread-local variables and allocations.
. "$(dirname "$0")/lib.sh"
early=1 # a constructor of the library that is linked, whose block is referenced once
cat >linked.c <<'END'
#include <stdlib.h>
volatile int linked_table[30];
static volatile int hidden;
__thread volatile int linked_own;
volatile long *volatile linked_kept;
__attribute__((constructor)) static void early(void) { linked_kept = malloc(80); }
void linked_work(void)
{
    for (int i = 0; i < 30; i++) linked_table[i] = i;
    hidden = 1;
    linked_own = 2;
    linked_kept[4] = 1;
    volatile char *block = malloc(64);
    block[5] = 1;
    free((void *)block);
}
END
sed 's/linked/loaded/g; s/30/40/g' linked.c >loaded.c
cat >main.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
void linked_work(void);
int main(void)
{
    linked_work();
    void *handle = dlopen("./loaded.so", RTLD_NOW);
    if (!handle) return puts(dlerror());
    ((void (*)(void))dlsym(handle, "loaded_work"))();
    return 0;
}
END
for debug in -g ''; do
    must "$peetcc" -O1 $debug -fPIC -shared -o linked.so linked.c
    must "$peetcc" -O1 $debug -fPIC -shared -o loaded.so loaded.c
    must "$peetcc" -O1 $debug -o main main.c ./linked.so
    observe out -- ./main
    has out global linked_table bytes 120 references 30
    has out tls linked_own references 1
    has out global loaded_table bytes 160 references 40
    equal "statics of two files" "$(grep -c '^global	hidden	' out/structures.txt)" 2
    equal "their references" "$(awk -F'\t' '$2 == "hidden" { n += $13 } END { print n }' out/structures.txt)" 2
done
must "$peetcc" -O1 -g -fPIC -shared -o linked.so linked.c
must "$peetcc" -O1 -g -fPIC -shared -o loaded.so loaded.c
must "$peetcc" -O1 -g -o main main.c ./linked.so
observe out -- ./main
equal "blocks of both" "$(awk -F'\t' '$2 == "block" { print $3, $5, $13 }' out/structures.txt | sed 's,/[^ ]*/,,' | sort | tr '\n' ';')" \
    'volatile char linked.c 1;volatile char loaded.c 1;'
equal "blocks of constructors" "$(awk -F'\t' '$2 ~ /_kept/ && $1 == "heap" { print $3, $13 }' out/structures.txt | tr '\n' ';')" 'volatile long 1;volatile long 1;'
