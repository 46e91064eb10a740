/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses by inline assembly wait for their turn, too, while another thread does the same: with vectors or the x87's
 * registers live across them, and with none.  A lock that is one statement with branches lets its holder go on.
 */
#include <pthread.h>
#include <stdio.h>

static volatile int device[32];
static pthread_barrier_t barrier;

/* Every such statement says, though nobody has written so, that it may change the x87's status word. */
static int in(volatile int *place)
{
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*place) : "memory");
    return value;
}

static void out(volatile int *place, int value)
{
    __asm__ volatile("movl %1, %0" : "=m"(*place) : "r"(value) : "memory");
}

__attribute__((noinline)) static long assembly(volatile int *mine, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        out(&mine[i & 15], i * 3);
        sum += in(&mine[(i * 5) & 15]);
    }
    return sum;
}

__attribute__((noinline)) static double assembly_vectors(volatile int *mine, const double *x, int n)
{
    double a[8] = {0, 1, 2, 3, 4, 5, 6, 7}, s = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 8; k++)
            a[k] = a[k] * 0.75 + x[i];
        out(&mine[i & 15], i);
        for (int k = 0; k < 8; k++)
            a[k] += in(&mine[(i + k) & 15]);
    }
    for (int k = 0; k < 8; k++)
        s += a[k];
    return s;
}

__attribute__((noinline)) static long double assembly_extended(volatile int *mine, int n)
{
    long double a = 1, b = 2, c = 3;
    for (int i = 0; i < n; i++) {
        a = a * 0.5L + in(&mine[i & 15]);
        b += a;
        out(&mine[i & 15], i & 7);
        c = c * 0.25L + b;
    }
    return a + b + c;
}

static unsigned lock;
static long count;

static void add_locked(void)
{
    unsigned got;
    __asm__ volatile("1:\tmovl $1, %1\n\txchgl %1, %0\n\ttestl %1, %1\n\tjz 3f\n2:\trep; nop\n\tcmpl $0, %0\n\tjne 2b\n\tjmp 1b\n3:"
                     : "+m"(lock), "=&r"(got)
                     :
                     : "memory", "cc");
    count++;
    __asm__ volatile("movl $0, %0" : "=m"(lock) : : "memory");
}

struct result {
    long sum;
    double vectors;
    long double extended;
};

static void *work(void *arg)
{
    struct result *const r = arg;
    volatile int *const mine = r->sum ? device : device + 16;
    double x[50];
    for (int i = 0; i < 50; i++)
        x[i] = i * 0.125 - 2;
    pthread_barrier_wait(&barrier);
    r->sum = assembly(mine, 70);
    r->vectors = assembly_vectors(mine, x, 50);
    r->extended = assembly_extended(mine, 40);
    for (int i = 0; i < 300; i++)
        add_locked();
    return NULL;
}

int main(void)
{
    struct result results[2] = {{0}, {1}};
    pthread_t other;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, work, &results[1]);
    work(&results[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++)
        printf("%ld %.12g %.8Lg\n", results[i].sum, results[i].vectors, results[i].extended);
    printf("%ld\n", count);
    return 0;
}
