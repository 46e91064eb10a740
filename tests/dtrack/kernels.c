/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose memory behaviour is known, one for each word on the command line.  Each prints where its objects are, as
 * "object NAME address bytes", for the model.
 *     walk      a matrix by rows, four times
 *     columns   the same by columns
 *     list      a linked list whose nodes are shuffled in memory
 *     hash      a table of chains
 *     conflict  two arrays that fall into the same sets, in turn
 *     allocator nodes out of an allocator of the program's own
 *     reuse     memory that is one structure's, then another's
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 128, NODES = 4000, KEYS = 3000, BUCKETS = 512, CONFLICT = 1024, PASSES = 4 };

struct node { struct node *next; long value; char filler[48]; };
struct entry { struct entry *chain; unsigned key; unsigned count; };

static double matrix[ROWS][COLUMNS] __attribute__((aligned(64)));
static struct entry *buckets[BUCKETS] __attribute__((aligned(64)));
/* 32 KiB apart, as a direct-mapped cache of that size or less has them in the same place */
static struct { long left[CONFLICT]; char gap[32768 - CONFLICT * sizeof(long)]; } one __attribute__((aligned(32768)));
static long right[CONFLICT] __attribute__((aligned(32768)));

static unsigned seed = 1;
static unsigned random_below(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % n;
}

static void object(const char *name, const void *address, size_t bytes)
{
    printf("object %s %llx %zu\n", name, (unsigned long long)(uintptr_t)address, bytes);
}

static long walk(int by_columns)
{
    double sum = 0;
    object("matrix", matrix, sizeof matrix);
    for (int pass = 0; pass < PASSES; pass++)
        if (by_columns)
            for (int j = 0; j < COLUMNS; j++)
                for (int i = 0; i < ROWS; i++)
                    sum += matrix[i][j] += 1;
        else
            for (int i = 0; i < ROWS; i++)
                for (int j = 0; j < COLUMNS; j++)
                    sum += matrix[i][j] += 1;
    return (long)sum;
}

static long list(void)
{
    struct node **all = malloc(NODES * sizeof *all), *first;
    long sum = 0;
    object("all", all, NODES * sizeof *all);
    for (int i = 0; i < NODES; i++) {
        struct node *node = malloc(sizeof *node);
        node->value = i;
        all[i] = node;
        object("node", node, sizeof *node);
    }
    for (int i = NODES - 1; i > 0; i--) {
        int j = (int)random_below((unsigned)i + 1);
        struct node *keep = all[i];
        all[i] = all[j];
        all[j] = keep;
    }
    for (int i = 0; i + 1 < NODES; i++)
        all[i]->next = all[i + 1];
    all[NODES - 1]->next = NULL;
    first = all[0];
    for (int pass = 0; pass < PASSES; pass++)
        for (struct node *n = first; n; n = n->next)
            sum += n->value;
    return sum;
}

static long hash(void)
{
    long found = 0;
    object("buckets", buckets, sizeof buckets);
    for (int i = 0; i < 4 * KEYS; i++) {
        unsigned key = random_below(KEYS) * 2654435761u;
        struct entry *e = buckets[key >> 23], *entry;
        while (e && e->key != key)
            e = e->chain;
        if (e) {
            e->count++;
            found++;
            continue;
        }
        entry = malloc(sizeof *entry);
        object("entry", entry, sizeof *entry);
        *entry = (struct entry){buckets[key >> 23], key, 1};
        buckets[key >> 23] = entry;
    }
    return found;
}

static long conflict(void)
{
    long sum = 0;
    object("one", &one, sizeof one);
    object("right", right, sizeof right);
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < CONFLICT; i++)
            sum += one.left[i] + right[i];
    return sum;
}

/* Nodes out of chunks: what dtrack sees allocated is the chunks. */
static long allocator(void)
{
    char *chunk = NULL;
    size_t used = 0, room = 0;
    struct node *first = NULL;
    long sum = 0;
    for (int i = 0; i < NODES; i++) {
        if (used == room) {
            room = 100 * sizeof(struct node);
            chunk = malloc(room);
            object("chunk", chunk, room);
            used = 0;
        }
        struct node *n = (struct node *)(chunk + used);
        used += sizeof *n;
        n->value = i;
        n->next = first;
        first = n;
    }
    for (int pass = 0; pass < PASSES; pass++)
        for (struct node *n = first; n; n = n->next)
            sum += n->value;
    return sum;
}

static long reuse(void)
{
    volatile long sum = 0;
    for (int pass = 0; pass < 50; pass++) {
        long *numbers = malloc(4096);
        for (int i = 0; i < 512; i++)
            numbers[i] = i;
        for (int i = 0; i < 512; i++)
            sum += numbers[i];
        free(numbers);
        char *bytes = malloc(4096);
        for (int i = 0; i < 4096; i++)
            bytes[i] = (char)i;
        for (int i = 0; i < 4096; i++)
            sum += bytes[i];
        free(bytes);
    }
    return sum;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long result = !strcmp(what, "walk") ? walk(0) : !strcmp(what, "columns") ? walk(1) : !strcmp(what, "list") ? list() : !strcmp(what, "hash") ? hash()
        : !strcmp(what, "conflict") ? conflict() : !strcmp(what, "allocator") ? allocator() : !strcmp(what, "reuse") ? reuse() : -1;
    printf("result %ld\n", result);
    return result < 0;
}
