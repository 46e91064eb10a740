/* SPDX-License-Identifier: Apache-2.0 */
/* Integers: sorting, permutations, recursion, sieves, multiplication, division, bits. */
#include "kernels.h"

enum { SORTED = 500, SIEVE = 8191, DIM = 40, DISKS = 14 };

static int list[5001], a[DIM][DIM], b[DIM][DIM], c[DIM][DIM];

static void fill_list(int n)
{
    int seed = 74755;
    for (int i = 0; i < n; i++) {
        seed = (seed * 1309 + 13849) & 65535;
        list[i] = seed - 32768;
    }
}

static uint64_t bubble(void)
{
    fill_list(SORTED);
    for (int top = SORTED - 1; top > 0; top--)
        for (int i = 0; i < top; i++)
            if (list[i] > list[i + 1]) {
                int t = list[i];
                list[i] = list[i + 1];
                list[i + 1] = t;
            }
    return (uint64_t)(unsigned)list[SORTED / 2];
}

static void sort_part(int *v, int low, int high)
{
    int i = low, j = high, pivot = v[(low + high) / 2];
    do {
        while (v[i] < pivot)
            i++;
        while (pivot < v[j])
            j--;
        if (i <= j) {
            int t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
    } while (i <= j);
    if (low < j)
        sort_part(v, low, j);
    if (i < high)
        sort_part(v, i, high);
}

static uint64_t quick(void)
{
    fill_list(5000);
    sort_part(list, 0, 4999);
    return (uint64_t)(unsigned)list[1234];
}

static int permuted[9];
static unsigned long permutations;

static void swap_ints(int *x, int *y)
{
    int t = *x;
    *x = *y;
    *y = t;
}

static __attribute__((noinline)) void permute(int n)
{
    permutations++;
    if (n == 1)
        return;
    permute(n - 1);
    for (int k = n - 1; k >= 1; k--) {
        swap_ints(&permuted[n], &permuted[k]);
        permute(n - 1);
        swap_ints(&permuted[n], &permuted[k]);
    }
}

static uint64_t perm(void)
{
    for (int i = 0; i < 9; i++)
        permuted[i] = i;
    permutations = 0;
    permute(7);
    return permutations;
}

static int row_free[9], up_free[17], down_free[17], column_of[9];

static __attribute__((noinline)) unsigned place_queen(int column)
{
    unsigned found = 0;
    for (int row = 1; row <= 8; row++) {
        if (!row_free[row] || !up_free[row + column] || !down_free[row - column + 8])
            continue;
        column_of[column] = row;
        row_free[row] = up_free[row + column] = down_free[row - column + 8] = 0;
        found += column == 8 ? 1 : place_queen(column + 1);
        row_free[row] = up_free[row + column] = down_free[row - column + 8] = 1;
    }
    return found;
}

static uint64_t board(void)
{
    for (int i = 0; i < 9; i++)
        row_free[i] = 1;
    for (int i = 0; i < 17; i++)
        up_free[i] = down_free[i] = 1;
    return place_queen(1);
}

static struct disk {
    int size, next;
} disks[DISKS + 5];
static int stack_top[4], free_disk, moves;

static int new_disk(void)
{
    int i = free_disk;
    free_disk = disks[i].next;
    return i;
}

static void push_disk(int size, int s)
{
    int i = new_disk();
    disks[i].next = stack_top[s];
    disks[i].size = size;
    stack_top[s] = i;
}

static int pop_disk(int s)
{
    int i = stack_top[s], size = disks[i].size, next = disks[i].next;
    disks[i].next = free_disk;
    free_disk = i;
    stack_top[s] = next;
    return size;
}

static __attribute__((noinline)) void move_tower(int from, int to, int n)
{
    if (n > 1)
        move_tower(from, 6 - from - to, n - 1);
    push_disk(pop_disk(from), to);
    moves++;
    if (n > 1)
        move_tower(6 - from - to, to, n - 1);
}

static uint64_t towers(void)
{
    for (int i = 1; i < DISKS + 5; i++)
        disks[i].next = i - 1;
    free_disk = DISKS + 4;
    memset(stack_top, 0, sizeof stack_top);
    moves = 0;
    for (int n = DISKS; n >= 1; n--)
        push_disk(n, 1);
    move_tower(1, 2, DISKS);
    return (uint64_t)moves;
}

static uint64_t sieve(void)
{
    static char composite[SIEVE];
    unsigned count = 0;
    memset(composite, 0, sizeof composite);
    for (int i = 2; i < SIEVE; i++)
        if (!composite[i]) {
            count++;
            for (int k = i + i; k < SIEVE; k += i)
                composite[k] = 1;
        }
    return count;
}

static uint64_t intmm(void)
{
    uint64_t seed = 7, sum = 0;
    for (int i = 0; i < DIM * DIM; i++) {
        a[i / DIM][i % DIM] = (int)(bench_random(&seed) % 120);
        b[i / DIM][i % DIM] = (int)(bench_random(&seed) % 120);
    }
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++) {
            int s = 0;
            for (int k = 0; k < DIM; k++)
                s += a[i][k] * b[k][j];
            c[i][j] = s;
            sum += (uint64_t)(unsigned)s;
        }
    return sum;
}

static uint64_t divide(void)
{
    uint64_t sum = 0;
    for (uint64_t n = 1; n < 3000; n++)
        for (uint64_t x = n * 2654435761u % 1000003 + 1; x; x /= 3 + (n & 3))
            sum += x % (n + 7);
    return sum;
}

static uint64_t collatz(void)
{
    uint64_t longest = 0;
    for (uint64_t n = 1; n < 2000; n++) {
        uint64_t steps = 0;
        for (uint64_t x = n; x != 1; steps++)
            x = x & 1 ? 3 * x + 1 : x / 2;
        longest = steps > longest ? steps : longest;
    }
    return longest;
}

static uint64_t crc(void)
{
    static uint32_t table[256];
    uint32_t sum = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t x = i;
        for (int k = 0; k < 8; k++)
            x = x & 1 ? x >> 1 ^ 0xedb88320u : x >> 1;
        table[i] = x;
    }
    for (uint32_t i = 0; i < 20000; i++)
        sum = table[(sum ^ i * 167) & 255] ^ sum >> 8;
    return sum;
}

static __attribute__((noinline)) unsigned long fib(unsigned long n)
{
    return n < 2 ? 1 : fib(n - 2) + fib(n - 1);
}

static uint64_t fibonacci(void)
{
    return fib(20);
}

static __attribute__((noinline)) int ackermann_of(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann_of(m - 1, 1) : ackermann_of(m - 1, ackermann_of(m, n - 1));
}

static uint64_t ackermann(void)
{
    return (uint64_t)ackermann_of(2, 60);
}

static uint64_t fannkuch(void)
{
    enum { N = 7 };
    int order[N], work[N], count[N], r = N;
    uint64_t most = 0;
    for (int i = 0; i < N; i++)
        order[i] = i;
    for (;;) {
        for (; r != 1; r--)
            count[r - 1] = r;
        uint64_t flips = 0;
        memcpy(work, order, sizeof work);
        for (int first; (first = work[0]) != 0; flips++)
            for (int i = 0, j = first; i < j; i++, j--) {
                int t = work[i];
                work[i] = work[j];
                work[j] = t;
            }
        most = flips > most ? flips : most;
        for (;;) {
            if (r == N)
                return most;
            int first = order[0];
            for (int i = 0; i < r; i++)
                order[i] = order[i + 1];
            order[r] = first;
            if (--count[r] > 0)
                break;
            r++;
        }
    }
}

struct record {
    struct record *next;
    int kind, number;
    char text[32];
};

static __attribute__((noinline)) int compare_records(const struct record *x, const struct record *y)
{
    return x->kind == y->kind ? strcmp(x->text, y->text) : x->kind - y->kind;
}

static __attribute__((noinline)) void change_record(struct record *to, const struct record *from, int n)
{
    *to = *from;
    to->kind = n & 3;
    to->number = from->number + n;
    if (to->next)
        to->next->number = to->number;
}

/* assignments of records, short strings and calls, as in synthetic benchmarks of systems programming */
static uint64_t records(void)
{
    struct record one = {NULL, 1, 2, "DHRYSTONE PROGRAM, SOME STRING"}, two = {&one, 2, 3, ""};
    uint64_t sum = 0;
    for (int i = 0; i < 5000; i++) {
        strcpy(two.text, "DHRYSTONE PROGRAM, 2'ND STRING");
        two.next = &one;
        change_record(&two, &one, i);
        sum += (uint64_t)(compare_records(&one, &two) > 0) + (uint64_t)(unsigned)two.number;
        one.text[i & 15] = (char)('A' + i % 26);
    }
    return sum;
}

static uint64_t bits(void)
{
    uint64_t seed = 99, sum = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t x = bench_random(&seed), y = x;
        y = (y & 0x5555555555555555u) + (y >> 1 & 0x5555555555555555u);
        y = (y & 0x3333333333333333u) + (y >> 2 & 0x3333333333333333u);
        y = (y & 0x0f0f0f0f0f0f0f0fu) + (y >> 4 & 0x0f0f0f0f0f0f0f0fu);
        sum += y * 0x0101010101010101u >> 56;
        sum ^= __builtin_bswap64(x) << (x & 31);
        sum += (uint64_t)__builtin_ctzll(x | 1 << 20);
    }
    return sum;
}

KERNELS({"bubble", bubble}, {"quick", quick}, {"perm", perm}, {"board", board}, {"towers", towers}, {"sieve", sieve},
    {"intmm", intmm}, {"divide", divide}, {"collatz", collatz}, {"crc", crc}, {"fibonacci", fibonacci},
    {"ackermann", ackermann}, {"fannkuch", fannkuch}, {"records", records}, {"bits", bits})
