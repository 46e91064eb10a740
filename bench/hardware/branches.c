/* SPDX-License-Identifier: Apache-2.0 */
/* Branches: those that data decide, switches, loops of few turns, indirect calls. */
#include "kernels.h"

enum { N = 4096, SIDE = 64 };

static int values[N], scratch[N];

static void fill(uint64_t seed)
{
    for (int i = 0; i < N; i++)
        values[i] = (int)(bench_random(&seed) >> 40);
}

static uint64_t merge(void)
{
    int *from = values, *to = scratch;
    fill(11);
    for (int width = 1; width < N; width *= 2) {
        for (int at = 0; at < N; at += 2 * width) {
            int i = at, j = at + width, k = at;
            while (i < at + width && j < at + 2 * width) {
                if (from[i] <= from[j])
                    to[k++] = from[i++];
                else
                    to[k++] = from[j++];
            }
            while (i < at + width)
                to[k++] = from[i++];
            while (j < at + 2 * width)
                to[k++] = from[j++];
        }
        int *t = from;
        from = to;
        to = t;
    }
    return (uint64_t)(unsigned)from[77];
}

static uint64_t bisect(void)
{
    uint64_t seed = 12, sum = 0;
    for (int i = 0; i < N; i++)
        values[i] = 3 * i;
    for (int i = 0; i < 2000; i++) {
        int key = (int)(bench_random(&seed) % (3 * N)), low = 0, high = N;
        while (low + 1 < high) {
            int middle = (low + high) / 2;
            if (values[middle] <= key)
                low = middle;
            else
                high = middle;
        }
        sum += (uint64_t)low;
    }
    return sum;
}

static uint64_t heap(void)
{
    fill(13);
    for (int end = N, start = N / 2; end > 1;) {
        int i, moved;
        if (start > 0) {
            moved = values[--start];
        } else {
            moved = values[--end];
            values[end] = values[0];
        }
        for (i = start; 2 * i + 1 < end;) {
            int child = 2 * i + 1;
            if (child + 1 < end && values[child + 1] > values[child])
                child++;
            if (values[child] <= moved)
                break;
            values[i] = values[child];
            i = child;
        }
        values[i] = moved;
    }
    return (uint64_t)(unsigned)values[99];
}

static uint64_t life(void)
{
    static unsigned char now[SIDE][SIDE], next[SIDE][SIDE];
    uint64_t seed = 14, alive = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        now[i / SIDE][i % SIDE] = bench_random(&seed) >> 62 == 0;
    for (int generation = 0; generation < 5; generation++) {
        for (int y = 1; y < SIDE - 1; y++)
            for (int x = 1; x < SIDE - 1; x++) {
                int around = -now[y][x];
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        around += now[y + dy][x + dx];
                next[y][x] = around == 3 || (around == 2 && now[y][x]);
            }
        memcpy(now, next, sizeof now);
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        alive += now[i / SIDE][i % SIDE];
    return alive;
}

static uint64_t machine(void)
{
    static unsigned char code[N];
    uint64_t seed = 15, a = 1, b = 2, flags = 0;
    for (int i = 0; i < N; i++)
        code[i] = (unsigned char)(bench_random(&seed) >> 61);
    for (int i = 0; i < N; i++)
        switch (code[i]) {
        case 0:
            a += b;
            break;
        case 1:
            b ^= a << 3;
            break;
        case 2:
            a = a * 5 + 1;
            break;
        case 3:
            b -= a;
            break;
        case 4:
            flags += a > b;
            break;
        case 5:
            a = b >> 7 | a << 9;
            break;
        case 6:
            b += flags;
            break;
        default:
            a ^= 0x5555;
        }
    return a ^ b ^ flags;
}

static uint64_t next_plus(uint64_t x)
{
    return x + 3;
}
static uint64_t next_times(uint64_t x)
{
    return x * 5;
}
static uint64_t next_shift(uint64_t x)
{
    return x ^ x >> 3;
}
static uint64_t next_not(uint64_t x)
{
    return ~x;
}

static uint64_t indirect(void)
{
    static uint64_t (*const functions[])(uint64_t) = {next_plus, next_times, next_shift, next_not};
    uint64_t x = 1;
    for (int i = 0; i < N; i++)
        x = functions[(i * i >> 3 ^ i) & 3](x);
    return x;
}

static uint64_t scan(void)
{
    static char text[N + 1];
    uint64_t seed = 16, words = 0, numbers = 0;
    int inside = 0;
    for (int i = 0; i < N; i++)
        text[i] = "etaoin shrdlu 0123.,"[bench_random(&seed) % 20];
    for (const char *p = text; *p; p++) {
        if (*p >= 'a' && *p <= 'z') {
            words += !inside;
            inside = 1;
        } else if (*p >= '0' && *p <= '9') {
            numbers = numbers * 10 + (uint64_t)(*p - '0');
            inside = 0;
        } else {
            inside = 0;
        }
    }
    return words ^ numbers;
}

KERNELS({"merge", merge}, {"bisect", bisect}, {"heap", heap}, {"life", life}, {"machine", machine},
    {"indirect", indirect}, {"scan", scan})
