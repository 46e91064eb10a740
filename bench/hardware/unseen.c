/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that no number of a preset was looked for with: the error of a model on what it has not seen. Idioms that the other
 * programs of this folder do not have. Do not adapt the model to one of them; replace those that have been looked into.
 */
#include "kernels.h"

enum { N = 4096 };

/* utf-8 with sequences of one to three bytes: decoded, checked, counted */
static uint64_t utf8(void)
{
    static unsigned char text[3 * N + 4];
    uint64_t seed = 21, sum = 0, bad = 0;
    size_t n = 0;
    for (int i = 0; i < N; i++) {
        const uint32_t r = (uint32_t)(bench_random(&seed) >> 40),
                       c = r % 8 < 6 ? 32 + r / 8 % 90
            : r % 8 == 6             ? 0x80 + r / 8 % 0x700
                                     : 0x800 + r / 8 % 0x7000;
        if (c < 0x80) {
            text[n++] = (unsigned char)c;
        } else if (c < 0x800) {
            text[n++] = (unsigned char)(0xc0 | c >> 6);
            text[n++] = (unsigned char)(0x80 | (c & 63));
        } else {
            text[n++] = (unsigned char)(0xe0 | c >> 12);
            text[n++] = (unsigned char)(0x80 | (c >> 6 & 63));
            text[n++] = (unsigned char)(0x80 | (c & 63));
        }
    }
    for (size_t i = 0; i < n;) {
        const unsigned char b = text[i];
        const int more = b < 0x80 ? 0 : b < 0xe0 ? 1 : 2;
        uint32_t c = more == 0 ? b : more == 1 ? b & 31u : b & 15u;
        for (int k = 1; k <= more; k++) {
            bad += (text[i + (size_t)k] & 0xc0) != 0x80;
            c = c << 6 | (text[i + (size_t)k] & 63u);
        }
        sum += c;
        i += (size_t)more + 1;
    }
    return sum + bad;
}

/* products of long numbers, word by word, with carries */
static uint64_t bignum(void)
{
    static uint64_t x[64], y[64], z[128];
    uint64_t seed = 22;
    for (int i = 0; i < 64; i++) {
        x[i] = bench_random(&seed);
        y[i] = bench_random(&seed);
    }
    memset(z, 0, sizeof z);
    for (int i = 0; i < 64; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 64; j++) {
            const __uint128_t p = (__uint128_t)x[i] * y[j] + z[i + j] + carry;
            z[i + j] = (uint64_t)p;
            carry = (uint64_t)(p >> 64);
        }
        z[i + 64] = carry;
    }
    return z[17] ^ z[99];
}

/* an expression with parentheses by recursive descent */
static const char *at;
static long expression(void);
static long factor(void)
{
    long n = 0;
    if (*at == '(') {
        at++;
        n = expression();
        at++;
        return n;
    }
    while (*at >= '0' && *at <= '9')
        n = 10 * n + *at++ - '0';
    return n;
}
static long term(void)
{
    long n = factor();
    while (*at == '*' || *at == '&') {
        const char op = *at++;
        const long m = factor();
        n = op == '*' ? n * m % 10007 : n & m;
    }
    return n;
}
static long expression(void)
{
    long n = term();
    while (*at == '+' || *at == '-') {
        const char op = *at++;
        const long m = term();
        n = op == '+' ? n + m : n - m;
    }
    return n;
}
static uint64_t parse(void)
{
    static char text[N + 100];
    uint64_t seed = 23;
    size_t n = 0;
    int open = 0;
    while (n < N) {
        const unsigned r = (unsigned)(bench_random(&seed) >> 40);
        for (; (r >> 8) % 4 == 0 && open < 9 && n % 3 != 1; open++) {
            text[n++] = '(';
            if (r & 1)
                break;
        }
        n += (size_t)sprintf(text + n, "%u", r % 997);
        if (open && r % 3 == 0) {
            text[n++] = ')';
            open--;
        }
        text[n++] = "+-*&"[r >> 12 & 3];
    }
    text[n++] = '1';
    while (open--)
        text[n++] = ')';
    text[n] = 0;
    at = text;
    return (uint64_t)expression();
}

/* what fits into a knapsack, by a row of a table */
static uint64_t knapsack(void)
{
    static int best[2001];
    uint64_t seed = 24;
    memset(best, 0, sizeof best);
    for (int i = 0; i < 40; i++) {
        const int weight = 3 + (int)(bench_random(&seed) % 150), value = 1 + (int)(bench_random(&seed) % 500);
        for (int room = 2000; room >= weight; room--) {
            const int with = best[room - weight] + value;
            if (with > best[room])
                best[room] = with;
        }
    }
    return (uint64_t)best[2000];
}

/* sets joined by ranks, paths halved */
static uint64_t unions(void)
{
    static uint32_t parent[N];
    uint64_t seed = 25, joined = 0;
    for (uint32_t i = 0; i < N; i++)
        parent[i] = i;
    for (int i = 0; i < 3 * N; i++) {
        uint32_t a = (uint32_t)(bench_random(&seed) % N), b = (uint32_t)(bench_random(&seed) % N);
        while (parent[a] != a)
            a = parent[a] = parent[parent[a]];
        while (parent[b] != b)
            b = parent[b] = parent[parent[b]];
        if (a != b) {
            parent[a < b ? b : a] = a < b ? a : b;
            joined++;
        }
    }
    return joined;
}

/* a picture in bytes: 3 by 3, clamped */
static uint64_t blur(void)
{
    enum { SIDE = 96 };
    static unsigned char in[SIDE][SIDE], out[SIDE][SIDE];
    uint64_t seed = 26, sum = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        in[i / SIDE][i % SIDE] = (unsigned char)(bench_random(&seed) >> 50);
    for (int y = 1; y + 1 < SIDE; y++)
        for (int x = 1; x + 1 < SIDE; x++) {
            int s = 9 * in[y][x];
            for (int k = -1; k <= 1; k++)
                s -= in[y - 1][x + k] + in[y + 1][x + k] - in[y][x + k] / 2;
            out[y][x] = (unsigned char)(s < 0 ? 0 : s > 255 ? 255 : s);
        }
    for (int i = 0; i < SIDE * SIDE; i++)
        sum = sum * 31 + out[i / SIDE][i % SIDE];
    return sum;
}

/* codes of variable length, bit by bit through a tree */
static uint64_t huffman(void)
{
    static unsigned char bits[2 * N];
    static int16_t tree[64][2];
    uint64_t seed = 27, sum = 0;
    int nodes = 1;
    for (int symbol = 0; symbol < 31; symbol++) { /* a tree that leans to one side */
        int node = 0;
        for (;;) {
            const int side = (int)(bench_random(&seed) >> 62 != 0);
            if (tree[node][side] > 0 && symbol) {
                node = tree[node][side];
                continue;
            }
            if (tree[node][side] == 0 || nodes > 60) {
                tree[node][side] = (int16_t)-(symbol + 1);
                break;
            }
            const int16_t old = tree[node][side];
            tree[node][side] = (int16_t)nodes;
            tree[nodes][0] = old;
            tree[nodes][1] = (int16_t)-(symbol + 1);
            nodes++;
            break;
        }
    }
    for (int n = 0; n < nodes; n++)
        for (int side = 0; side < 2; side++)
            tree[n][side] = tree[n][side] ? tree[n][side] : (int16_t)-32;
    for (size_t i = 0; i < sizeof bits; i++)
        bits[i] = (unsigned char)(bench_random(&seed) >> 33 & 1);
    for (size_t i = 0, node = 0; i < sizeof bits; i++) {
        const int next = tree[node][bits[i]];
        if (next < 0)
            sum = sum * 3 + (uint64_t)-next;
        node = next < 0 ? 0 : (size_t)next;
    }
    return sum;
}

/* events by time: a wheel of lists */
struct event {
    struct event *next;
    unsigned at, kind;
};
static uint64_t wheel(void)
{
    static struct event events[256], *slots[64];
    uint64_t seed = 28, sum = 0;
    memset(slots, 0, sizeof slots);
    for (unsigned i = 0; i < 256; i++) {
        events[i] = (struct event){slots[i % 64], i % 64, i % 5};
        slots[i % 64] = &events[i];
    }
    for (unsigned now = 0; now < 700; now++) {
        struct event *e = slots[now % 64];
        slots[now % 64] = NULL;
        while (e) {
            struct event *next = e->next;
            const unsigned delay = 1 + (unsigned)(bench_random(&seed) % 63);
            switch (e->kind) {
            case 0:
                sum += now;
                break;
            case 1:
                sum ^= now << 3;
                break;
            default:
                sum = sum * 5 + e->kind;
            }
            e->at = now + delay;
            e->kind = (e->kind + delay) % 5;
            e->next = slots[e->at % 64];
            slots[e->at % 64] = e;
            e = next;
        }
    }
    return sum;
}

/* numbers as text and back, by the C library */
static uint64_t numbers(void)
{
    char text[64];
    uint64_t seed = 29, sum = 0;
    for (int i = 0; i < 150; i++) {
        const double x = (double)(bench_random(&seed) >> 30) / 1024;
        snprintf(text, sizeof text, "%.3f %d", x, i * i);
        char *end;
        sum += (uint64_t)strtod(text, &end);
        sum += (uint64_t)strtol(end, NULL, 10);
    }
    return sum;
}

/* an open hash table of short strings, deletions by marks */
static uint64_t symbols(void)
{
    enum { SLOTS = 1024 };
    static char names[700][12];
    static const char *table[SLOTS];
    static const char gone[1];
    uint64_t seed = 30, found = 0;
    memset(table, 0, sizeof table);
    for (int i = 0; i < 700; i++) {
        int n = 3 + (int)(bench_random(&seed) % 7);
        for (int k = 0; k < n; k++)
            names[i][k] = (char)('a' + bench_random(&seed) % 26);
        names[i][n] = 0;
    }
    for (int i = 0; i < 6000; i++) {
        const unsigned r = (unsigned)(bench_random(&seed) >> 40);
        const char *name = names[r % 700];
        uint32_t h = 2166136261u;
        int slot, free_slot = -1;
        for (const char *p = name; *p; p++)
            h = (h ^ (unsigned char)*p) * 16777619u;
        for (slot = (int)(h % SLOTS); table[slot]; slot = (slot + 1) % SLOTS) {
            if (table[slot] == gone)
                free_slot = free_slot < 0 ? slot : free_slot;
            else if (!strcmp(table[slot], name))
                break;
        }
        if (table[slot] && r >> 20 & 1) {
            table[slot] = gone;
        } else if (!table[slot]) {
            table[free_slot < 0 ? slot : free_slot] = name;
        } else {
            found++;
        }
        if (i % 1500 == 1499)
            memset(table, 0, sizeof table);
    }
    return found;
}

/* a triangular system, single precision, with a pivot looked for in each column */
static uint64_t gauss(void)
{
    enum { DIM = 36 };
    static float a[DIM][DIM + 1];
    uint64_t seed = 31;
    float sum = 0;
    for (int i = 0; i < DIM * (DIM + 1); i++)
        a[i / (DIM + 1)][i % (DIM + 1)] = (float)(bench_random(&seed) >> 44) / 1000;
    for (int c = 0; c < DIM; c++) {
        int pivot = c;
        for (int r = c + 1; r < DIM; r++)
            if (__builtin_fabsf(a[r][c]) > __builtin_fabsf(a[pivot][c]))
                pivot = r;
        for (int k = c; k <= DIM; k++) {
            const float t = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = t;
        }
        for (int r = c + 1; r < DIM; r++) {
            const float f = a[r][c] / a[c][c];
            for (int k = c; k <= DIM; k++)
                a[r][k] -= f * a[c][k];
        }
    }
    for (int i = 0; i < DIM; i++)
        sum += a[i][DIM];
    return (uint64_t)(int64_t)(sum * 8);
}

/* coroutines by hand: states of readers and writers on a ring */
static uint64_t ring(void)
{
    static unsigned char buffer[64];
    struct {
        int state, left;
        unsigned sum;
    } tasks[4] = {{0, 0, 1}, {0, 0, 2}, {4, 0, 3}, {4, 0, 5}};
    unsigned head = 0, tail = 0;
    uint64_t seed = 32;
    for (int tick = 0; tick < 9000; tick++) {
        const unsigned who = (unsigned)tick % 4;
        switch (tasks[who].state) {
        case 0: /* begins to write */
            tasks[who].left = 1 + (int)(bench_random(&seed) >> 61);
            tasks[who].state = 1;
            break;
        case 1:
            if (head - tail == sizeof buffer)
                break;
            buffer[head++ % sizeof buffer] = (unsigned char)(tasks[who].sum += 7);
            if (!--tasks[who].left)
                tasks[who].state = 2;
            break;
        case 2:
            tasks[who].sum ^= tasks[who].sum >> 3;
            tasks[who].state = 0;
            break;
        case 4: /* reads */
            if (head == tail)
                break;
            tasks[who].sum = tasks[who].sum * 31 + buffer[tail++ % sizeof buffer];
            tasks[who].state = tasks[who].sum & 8 ? 5 : 4;
            break;
        default:
            tasks[who].state = 4;
        }
    }
    return tasks[2].sum ^ tasks[3].sum;
}

KERNELS({"utf8", utf8}, {"bignum", bignum}, {"parse", parse}, {"knapsack", knapsack}, {"unions", unions},
    {"blur", blur}, {"huffman", huffman}, {"wheel", wheel}, {"numbers", numbers}, {"symbols", symbols},
    {"gauss", gauss}, {"ring", ring})
