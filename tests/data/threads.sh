# SPDX-License-Identifier: Apache-2.0
# Threads: thread-local variables of each are one structure, stacks are one; and nobody's addresses, nor the time, change because
# data structures are watched, though threads allocate beside each other.
. "$(dirname "$0")/lib.sh"
cat >threads.c <<'END'
#include <pthread.h>
#include <stdlib.h>
__thread volatile long mine[4];
static volatile long shared[64];
struct cell { struct cell *next; volatile long value; };
static void *work(void *arg)
{
    struct cell *list = NULL, *cell;
    unsigned seed = (unsigned)(long)arg;
    volatile char *many[40] = {0};
    for (int i = 0; i < 900; i++) {
        unsigned k = (seed = seed * 1103515245 + 12345) >> 16;
        free((void *)many[k % 40]);
        many[k % 40] = malloc(k % 700 + 1);
        many[k % 40][0] = 1;
        mine[i % 4] = i;
        shared[(long)arg] = i;
        if (i % 3 == 0) {
            cell = malloc(sizeof *cell);
            cell->next = list;
            cell->value = i;
            list = cell;
        }
    }
    for (int i = 0; i < 40; i++) free((void *)many[i]);
    while ((cell = list)) { list = cell->next; free(cell); }
    return NULL;
}
int main(void)
{
    pthread_t t[6];
    for (long i = 0; i < 6; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    return 0;
}
END
must "$peetcc" -O2 -g -pthread -o threads threads.c
for machine in ideal bus; do
    observe out --cores 4 --machine $machine -- ./threads
    has out tls mine objects 7 live 1 references 5400
    has out global shared references 5400
    has out heap cell objects 1800 live 0 bytes 28800 type 'struct cell' flags 2
    has out heap 'many\[\]' objects 5400 live 0
    # a block that another thread has got before its release was delivered is the other's
    n=$(field out heap 'many\[\]' references)
    [ $((n > 5400 ? n - 5400 : 5400 - n)) -le 50 ] || fail "$n references of 5400 to blocks"
done
for machine in ideal bus; do
    for g in sync 50; do
        options="-q --cores 4 --machine $machine --granularity $g --observe ./addresses.so"
        # shellcheck disable=SC2086
        must "$peet" run $options -d alone -- ./threads
        # shellcheck disable=SC2086
        must "$peet" run $options -d watched --observe ./structures.so -- ./threads
        same alone/addresses.txt watched/addresses.txt "$machine at $g"
    done
done

# errno is the program's, though somebody looks who allocates, and from where.
cat >errno.c <<'END'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *allocates(void *arg)
{
    for (int i = 0; i < 50; i++) {
        errno = (int)(long)arg;
        free(realloc(strdup("a string that the C library allocates"), 5000));
        free(malloc(100));
        if (errno != (int)(long)arg) {
            printf("errno became %d\n", errno);
            exit(1);
        }
    }
    return NULL;
}
int main(void)
{
    pthread_t t[3];
    printf("errno is %d at the beginning\n", errno);
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, allocates, (void *)(i + 1));
    allocates((void *)77L);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    return errno != 77;
}
END
must "$peetcc" -O1 -g -pthread -o errno errno.c
must ./errno >expected
must "$peet" run -q --cores 2 --machine bus --observe dtrack -d errno.out -- ./errno >said
same expected said "errno"
