/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One processor that is interrupted at many times: threads that sleep while another one works in loops, so that blocks and
 * turns have to end where somebody becomes ready.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static double table[4096];
static unsigned woken[3];

static void *sleeper(void *arg)
{
    const long number = (long)arg;
    for (unsigned k = 0; k < 200; k++) {
        nanosleep(&(struct timespec){0, 137 * (number + 1) + k}, NULL);
        woken[number]++;
        table[(k * 97 + (unsigned)number) % 4096] += 1;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    double sum = 0;
    for (long k = 0; k < 3; k++)
        pthread_create(&threads[k], NULL, sleeper, (void *)k);
    for (unsigned round = 0; round < 60; round++)
        for (unsigned k = 0; k < 4096; k++) {
            table[k] = table[k] * 0.5 + round;
            sum += table[(k * 61) & 4095];
        }
    for (unsigned k = 0; k < 3; k++)
        pthread_join(threads[k], NULL);
    printf("%u %u %u %.3f\n", woken[0], woken[1], woken[2], sum);
    return 0;
}
