/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that are live without having been set: a scalar conversion keeps the upper part of its vector register, and an
 * atomic access tells what its live registers hold.  What was there before, after a call that goes to the host and in a new
 * thread, must not be the host's.  Nor does it matter how they came to be zero, of which the processor keeps account: in the
 * first run of twenty.sh they do so otherwise than in the others.  General registers are live as a whole where only a byte
 * was set; what recording has left in them must not count.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int looks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double sums[4];
static int from_memory;

/* Every vector register in turn, that no choice of the compiler's decides. */
#define CONVERT(r) \
    do { \
        register double x __asm__("xmm" #r); \
        __asm__ volatile("cvtsi2sd %1, %0" : "=x"(x) : "r"(n)); \
        sum += atomic_fetch_add(&looks, 1) >= 0 ? x : 0; \
        __asm__ volatile("" : "+x"(x)); \
        sum += x; \
    } while (0)

#define ZERO(r) "pxor %%xmm" #r ",%%xmm" #r ";"

/* All vector registers are zero, one of them because that is what memory holds if `from_memory`: one block in either case, for
 * a statement with an instruction of the x87 is recorded as a whole. */
static double zeros(void)
{
    static const float zero[4] __attribute__((aligned(16)));
    register double x __asm__("xmm5");
    __asm__ volatile(ZERO(0) ZERO(1) ZERO(2) ZERO(3) ZERO(4) ZERO(5) ZERO(6) ZERO(7) ZERO(8) ZERO(9) ZERO(10) ZERO(11)
            ZERO(12) ZERO(13) ZERO(14) ZERO(15) "fnop; cmpl $0,%1; je 1f; movaps %2,%%xmm9; 1:"
        : "=x"(x)
        : "m"(from_memory), "m"(zero)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15", "cc");
    int looked = atomic_fetch_add(&looks, 1);
    __asm__ volatile("" : "+x"(x));
    return looked >= 0 ? x : 1;
}

static double convert(long n)
{
    double sum = 0;
    CONVERT(0);
    CONVERT(1);
    CONVERT(2);
    CONVERT(5);
    CONVERT(7);
    CONVERT(8);
    CONVERT(11);
    CONVERT(15);
    return sum;
}

#define LEFT(r) \
    do { \
        register long left __asm__(#r); \
        __asm__ volatile("" : "=r"(left)); \
        atomic_fetch_add(&looks, 1); \
        __asm__ volatile("" : : "r"(left)); \
    } while (0)

static long tables[4][64];

__attribute__((noinline)) static void leave(long *t, long n)
{
    __asm__ volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx; xorl %%r8d, %%r8d; xorl %%r9d, %%r9d\n"
                     "xorl %%r10d, %%r10d; xorl %%r11d, %%r11d"
        :
        :
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc");
    for (long i = 0; i < n; i++)
        if (t[i] & 1)
            t[i ^ 1]++;
        else
            t[i] += 3;
    LEFT(rcx);
    LEFT(rdx);
    LEFT(r8);
    LEFT(r9);
    LEFT(r10);
    LEFT(r11);
}

static void *run(void *arg)
{
    double *sum = arg;
    *sum = convert(3);
    for (long i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        *sum += convert(i);
        pthread_mutex_unlock(&lock);
        *sum += zeros();
        *sum += convert(i);
    }
    for (long i = 0; i < 50; i++)
        leave(tables[sum - sums], 20 + i % 4);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    int file = open("first_run", O_RDONLY);
    char first;
    if (file < 0 || read(file, &first, 1) != 1)
        return 2;
    from_memory = first == '1';
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, &sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%.0f\n", sums[0] + sums[1] + sums[2] + sums[3]);
}
