/* SPDX-License-Identifier: Apache-2.0 */
/* races: copied
 *
 * Functions of the C library that compare and search read whole vectors, beyond what they are asked for.  Others may write there.
 * What is copied is read as it was asked for. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct place {
    char mine[8], others[56];
} __attribute__((aligned(64))) one, other, third = {.mine = "seven.."};
static char copied[64];
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static void *(*volatile search)(const void *, int, size_t) = memchr;
static size_t (*volatile length)(const char *) = strlen;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile fill)(void *, int, size_t) = memset;

static void *writer(void *arg)
{
    fill(one.others, 1, sizeof one.others);
    fill(other.others, 2, sizeof other.others);
    for (size_t i = 0; i < sizeof third.others; i++)
        third.others[i] = 3;
    fill(copied, 4, sizeof copied);
    return arg;
}

static void *reader(void *arg)
{
    char to[64];
    if (compare(one.mine, other.mine, sizeof one.mine) || search(other.mine, 'x', sizeof other.mine) ||
        length(third.mine) != 7)
        abort();
    copy(to, copied, sizeof to);
    return to[0] == 77 ? arg : NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
