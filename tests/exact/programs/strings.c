/* SPDX-License-Identifier: Apache-2.0 */
/* String loops: own and library string functions, big constant copies that become rep movs and rep stos. */
#include <stdio.h>
#include <string.h>

#ifdef SMALL
#define SHARE 4 /* Valgrind is slow */
#else
#define SHARE 1
#endif

struct block { char bytes[1000]; };
struct record { long key; char text[392]; };

static struct block blocks[8];
static struct record records[16], sorted[16];
static char text[4096], reversed[4096], zeros[2048];

__attribute__((noinline)) static size_t own_length(const char *s)
{
    const char *p = s;
    while (*p)
        p++;
    return (size_t)(p - s);
}

__attribute__((noinline)) static void reverse(char *to, const char *from)
{
    size_t n = own_length(from);
    for (size_t i = 0; i < n; i++)
        to[i] = from[n - 1 - i];
    to[n] = 0;
}

__attribute__((noinline)) static int words(const char *s)
{
    int n = 0, in = 0;
    for (; *s; s++) {
        int letter = (*s | 32) >= 'a' && (*s | 32) <= 'z';
        n += letter && !in;
        in = letter;
    }
    return n;
}

__attribute__((noinline)) static void copy_blocks(void)
{
    for (int i = 1; i < 8; i++)
        blocks[i] = blocks[i - 1];
    __builtin_memset(zeros, 0, sizeof zeros);
    __builtin_memcpy(&blocks[0], &text[17], sizeof blocks[0]);
}

__attribute__((noinline)) static long by_value(struct record r, int i)
{
    r.text[i] = 7;
    return r.key + r.text[i + 1] + r.text[i];
}

__attribute__((noinline)) static void insertion_sort(int n)
{
    for (int i = 0; i < n; i++) {
        struct record r = records[i];
        int j = i;
        for (; j > 0 && sorted[j - 1].key > r.key; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = r;
    }
}

__attribute__((noinline)) static int find(const char *in, const char *what)
{
    int n = 0;
    for (size_t length = strlen(what); (in = strchr(in, *what)); in++)
        n += strncmp(in, what, length) == 0;
    return n;
}

int main(void)
{
    for (int i = 0; i < 4000; i++)
        text[i] = "The quick brown fox, jumps; over 9 lazy dogs. "[i * 7 % 46];
    for (int i = 0; i < 16; i++) {
        records[i].key = i * 7 % 16;
        memset(records[i].text, 'a' + i, sizeof records[i].text);
    }
    long sum = 0;
    for (int round = 0; round < 30 / SHARE; round++) {
        reverse(reversed, text);
        sum += words(round & 1 ? reversed : text);
        copy_blocks();
        insertion_sort(16);
        sum += by_value(sorted[round % 16], round);
        sum += find(text, "qk");
    }
    printf("%ld %zu %.10s %ld %d\n", sum, own_length(reversed), reversed, sorted[3].key, blocks[7].bytes[500]);
    return 0;
}
