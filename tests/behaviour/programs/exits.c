/* SPDX-License-Identifier: Apache-2.0 */
/* Exit status: out of nested calls, with handlers registered during exit, more than 8 bits. */
#include <stdio.h>
#include <stdlib.h>

static int order;
static void second(void) { printf("second %d\n", ++order); }
static void late(void) { printf("late %d\n", ++order); }
static void first(void)
{
    printf("first %d\n", ++order);
    atexit(late);
}

__attribute__((constructor(200))) static void early(void) { printf("constructor %d\n", ++order); }
__attribute__((constructor(150))) static void earlier(void) { printf("earlier constructor %d\n", ++order); }
__attribute__((destructor)) static void ending(void) { printf("destructor %d\n", ++order); }

__attribute__((noinline, noreturn)) static void leave(int n)
{
    volatile char room[500];
    room[n] = 1;
    if (n == 0)
        exit(0x12a + room[0]);
    leave(n - 1);
}

int main(void)
{
    atexit(second);
    atexit(first);
    leave(10);
}
