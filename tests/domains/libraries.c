/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of both kinds, linked and loaded, used while references go to a view: everybody sees everybody's stores. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

long add(long *word, long n);
long each(long *words, long n, long (*f)(long));
extern long table[];

static long calls, words[600];

static long next(long x)
{
    calls++;
    return x + calls;
}

static int use(const char *what, long (*add_to)(long *, long), long (*for_each)(long *, long, long (*)(long)), long *seen)
{
    long word = 1, sum = 0, first, *heap = malloc(sizeof *heap);
    *heap = 40;
    first = add_to(heap, 2);
    add_to(&word, 3);
    for (long i = 0; i < 600; i++)
        words[i] = i;
    calls = 0;
    long said = for_each(words, 600, next);
    for (long i = 0; i < 600; i++)
        sum += words[i];
    printf("%s: %ld %ld %ld %ld %d %ld\n", what, first, *heap, word, calls, said == sum, seen[10]);
    free(heap);
    return said != sum;
}

int main(int argc, char **argv)
{
    int bad = use("linked", add, each, table);
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 9;
        }
        bad |= use("loaded", (long (*)(long *, long))dlsym(library, "add"), (long (*)(long *, long, long (*)(long)))dlsym(library, "each"),
            (long *)dlsym(library, "table"));
        dlclose(library);
    }
    return bad;
}
