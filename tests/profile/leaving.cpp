// SPDX-License-Identifier: Apache-2.0
// leaving ROUNDS: all ways in which control comes into a function and leaves it: calls, tail calls, recursion, longjmp over frames, exceptions,
// signal handlers, callbacks of the library, threads that wait for each other.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <stdexcept>

static const int THREADS = 4, CELLS = 4096;
static long cells[THREADS][CELLS];
static volatile sig_atomic_t handled;
static std::mutex lock;
static long shared;

__attribute__((noinline)) static long leaf(long *at, long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += at[i * 7 % CELLS] += i;
    return sum;
}

__attribute__((noinline)) static long tail(long *at, long n)
{
    return n > 40 ? leaf(at, n) : tail(at, n * 3 + 1);
}

__attribute__((noinline)) static long deep(long *at, long n, std::jmp_buf *out)
{
    if (n == 0) {
        if (out)
            std::longjmp(*out, 1);
        throw std::runtime_error("deep");
    }
    return deep(at, n - 1, out) + at[n];
}

__attribute__((noinline)) static long jumps(long *at, long n)
{
    std::jmp_buf back;
    if (setjmp(back) == 0)
        return deep(at, n, &back);
    return leaf(at, n);
}

__attribute__((noinline)) static long throws(long *at, long n)
{
    try {
        return deep(at, n, nullptr);
    } catch (const std::exception &e) {
        return leaf(at, static_cast<long>(std::strlen(e.what())));
    }
}

static void handler(int)
{
    handled = handled + 1;
    cells[0][handled % CELLS]++;
}

static int compare(const void *left, const void *right)
{
    const long a = *static_cast<const long *>(left), b = *static_cast<const long *>(right);
    return (a > b) - (a < b);
}

__attribute__((noinline)) static long odd(long n);
__attribute__((noinline)) static long even(long n)
{
    return n == 0 ? 1 : odd(n - 1) + 1;
}
static long odd(long n)
{
    return n == 0 ? 0 : even(n - 1) + 1;
}

static void *run(void *arg)
{
    long *mine = static_cast<long *>(arg), sum = 0;
    for (int r = 0; r < 12; r++) {
        sum += tail(mine, r) + jumps(mine, 3 + r) + throws(mine, 2 + r) + even(9 + r);
        std::qsort(mine, 50 + static_cast<size_t>(r), sizeof *mine, compare);
        std::memmove(mine + 100, mine, 64 * sizeof *mine);
        const std::lock_guard<std::mutex> hold(lock);
        shared += leaf(mine, 20);
    }
    return reinterpret_cast<void *>(sum);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
    long sum = 0;
    std::signal(SIGUSR1, handler);
    for (int r = 0; r < rounds; r++) {
        pthread_t threads[THREADS];
        for (int k = 0; k < THREADS; k++)
            pthread_create(&threads[k], nullptr, run, cells[k]);
        for (int k = 0; k < THREADS; k++) {
            void *result;
            pthread_join(threads[k], &result);
            sum += reinterpret_cast<long>(result);
            std::raise(SIGUSR1);
        }
    }
    std::printf("%ld %ld %d\n", sum, shared, static_cast<int>(handled));
}
