// SPDX-License-Identifier: Apache-2.0
// A program that defines only two functions of an allocator.  They are asked on the program's behalf and for nobody else, and
// not before it begins. The C library asks for room for a thread's values of keys, too.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_BYTES = 1 << 20 };
static _Alignas(16) char pool[POOL_BYTES];
static atomic_size_t used;
static atomic_int begun, released, values;
static pthread_key_t key; /* the last one of many */

void *calloc(size_t n, size_t each)
{
    const size_t bytes = (n * each + 15) & ~(size_t)15, at = atomic_fetch_add(&used, bytes);
    if (at + bytes > POOL_BYTES)
        abort();
    values += n == 32 && each == 2 * sizeof(void *); /* for values of threads */
    return pool + at;
}

/* What malloc() has given is not given back. */
void free(void *p)
{
    if (!begun)
        abort();
    released += (char *)p >= pool && (char *)p < pool + POOL_BYTES;
}

static void *thread(void *who)
{
    for (int i = 0; i < 20; i++)
        free(strdup(who));
    if (pthread_getspecific(key) || pthread_setspecific(key, who) || pthread_getspecific(key) != who)
        abort();
    return strcpy(calloc(1, 8), who);
}

int main(void)
{
    begun = 1;
    char *grown = realloc(malloc(10), 1000), *large = malloc(1 << 20);
    strcpy(grown, "grown");
    free(large);
    if (dlsym(RTLD_DEFAULT, "no such function"))
        return 1;
    printf("%s, %d\n", grown, strstr(dlerror(), "no such function") != NULL);
    free(grown);
    for (int i = 0; i < 40; i++)
        pthread_key_create(&key, NULL);
    const int before = released;
    pthread_t threads[3];
    static char names[3][2] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread, names[i]);
    for (int i = 0; i < 3; i++) {
        void *name;
        pthread_join(threads[i], &name);
        printf("%s", (char *)name);
        free(name);
    }
    printf("\n%d released, %d for values\n", released - before, values);
    return 0;
}
