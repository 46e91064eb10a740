/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache model that knows nothing of peet: one cache with LRU replacement, fed by a trace (trace.c), and a list of named
 * objects that the program itself has printed ("object NAME address bytes", addresses in hexadecimal).  Everything is
 * done by the plainest search.  It prints, for each name, accesses, misses and premature evictions:
 *     NAME reads writes misses same other
 *
 *     model CACHE_BYTES WAYS LINE_BYTES OBJECTS TRACE
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64, OBJECTS = 1 << 20 };

static struct object { uint64_t address, bytes; int name; } *objects;
static char names[NAMES][64];
static uint64_t counts[NAMES][5];
static int nnames;
static size_t nobjects;

static struct frame { uint64_t line, used; } *frames;
static uint64_t sets, ways, line_bytes, now;
static struct gone { uint64_t line; int evictor, back; } *gone;
static size_t ngone, room;

static int name_of(const char *name)
{
    for (int i = 0; i < nnames; i++)
        if (!strcmp(names[i], name))
            return i;
    snprintf(names[nnames], sizeof names[0], "%s", name);
    return nnames++;
}

static int by_address(const void *a, const void *b)
{
    const struct object *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* What is in no object is the stack if it is near its top, else the rest. */
static int owner(uint64_t address)
{
    size_t lo = 0, hi = nobjects;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (objects[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo > 0 && address - objects[lo - 1].address < objects[lo - 1].bytes)
        return objects[lo - 1].name;
    return 0;
}

static void access_line(uint64_t address, int write)
{
    uint64_t line = address / line_bytes;
    struct frame *set = &frames[line % sets * ways], *oldest = set;
    int who = owner(address);

    counts[who][write]++;
    now++;
    for (uint64_t w = 0; w < ways; w++) {
        if (set[w].used && set[w].line == line) {
            set[w].used = now;
            return;
        }
        if (set[w].used < oldest->used)
            oldest = &set[w];
    }
    counts[who][2]++;
    if (oldest->used) {
        if (ngone == room) {
            room = room ? 2 * room : 1024;
            gone = realloc(gone, room * sizeof *gone);
        }
        gone[ngone++] = (struct gone){oldest->line, who, 0};
    }
    for (size_t k = ngone; k-- > 0 && ngone - k <= sets * ways;)
        if (gone[k].line == line) {
            if (!gone[k].back)
                counts[who][gone[k].evictor == who ? 3 : 4]++;
            gone[k].back = 1;
            break;
        }
    oldest->line = line;
    oldest->used = now;
}

int main(int argc, char **argv)
{
    char text[256], name[64], kind;
    unsigned long long address, bytes;
    unsigned hw, size;
    FILE *in;

    if (argc != 6)
        return 2;
    ways = strtoull(argv[2], NULL, 10);
    line_bytes = strtoull(argv[3], NULL, 10);
    sets = strtoull(argv[1], NULL, 10) / line_bytes / ways;
    frames = calloc(sets * ways, sizeof *frames);
    objects = calloc(OBJECTS, sizeof *objects);
    name_of("(other)");
    in = fopen(argv[4], "r");
    while (in && fgets(text, sizeof text, in))
        if (sscanf(text, "object %63s %llx %llu", name, &address, &bytes) == 3)
            objects[nobjects++] = (struct object){address, bytes, name_of(name)};
    qsort(objects, nobjects, sizeof *objects, by_address);
    in = fopen(argv[5], "r");
    if (!in || !nobjects)
        return 2;
    while (fgets(text, sizeof text, in)) {
        if (sscanf(text, "%c %u %llx %u", &kind, &hw, &address, &size) != 4 || !strchr("LSM", kind))
            continue;
        for (unsigned long long at = address; at < address + size; at = (at / line_bytes + 1) * line_bytes) {
            if (kind != 'S')
                access_line(at, 0);
            if (kind != 'L')
                access_line(at, 1);
        }
    }
    for (int i = 0; i < nnames; i++)
        printf("%s %llu %llu %llu %llu %llu\n", names[i], (unsigned long long)counts[i][0], (unsigned long long)counts[i][1],
            (unsigned long long)counts[i][2], (unsigned long long)counts[i][3], (unsigned long long)counts[i][4]);
    return 0;
}
