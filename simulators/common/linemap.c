/* SPDX-License-Identifier: Apache-2.0 */
/* The slow half of the line map: chunks in a hash table.  See linemap.h. */
#include "linemap.h"
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct chunk {
    uint64_t number;
    UT_hash_handle hh;
    char *records;
};

void peet_sim_linemap_init(struct peet_sim_linemap *map, size_t record_bytes)
{
    memset(map, 0, sizeof *map);
    map->record_bytes = record_bytes;
    for (map->chunk_bits = 6; (2 * record_bytes) << map->chunk_bits <= PEET_SIM_LINEMAP_CHUNK_BYTES; map->chunk_bits++)
        ;
    if (record_bytes == sizeof(uint32_t))
        map->chunk_bits = PEET_SIM_LINEMAP_WORD_BITS;
    if (record_bytes == sizeof(uint64_t))
        map->chunk_bits = PEET_SIM_LINEMAP_LONG_BITS;
}

void peet_sim_linemap_fini(struct peet_sim_linemap *map)
{
    struct chunk *head = map->chunks, *c, *next;
    HASH_ITER(hh, head, c, next)
    {
        HASH_DEL(head, c);
        free(c->records);
        free(c);
    }
    map->chunks = NULL;
}

static struct chunk *chunk_new(struct peet_sim_linemap *map, uint64_t number)
{
    struct chunk *head = map->chunks, *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->number = number;
    c->records = calloc((size_t)1 << map->chunk_bits, map->record_bytes);
    if (!c->records) {
        free(c);
        return NULL;
    }
    unsigned before = HASH_COUNT(head);
    HASH_ADD(hh, head, number, sizeof c->number, c);
    if (HASH_COUNT(head) == before) { /* the table itself could not grow */
        free(c->records);
        free(c);
        return NULL;
    }
    map->chunks = head;
    map->nchunks++;
    return c;
}

/* Two chunks that want the same place of the memo, as a stack's and the heap's may by chance, take it in turns; the
 * other one is kept half the memo away. */
__attribute__((noinline)) void *peet__sim_linemap_find(struct peet_sim_linemap *map, uint64_t line)
{
    uint64_t number = line >> map->chunk_bits;
    struct chunk *head = map->chunks, *c;
    unsigned m = peet__sim_linemap_memo(number), other = m ^ 1u << (PEET_SIM_LINEMAP_MEMO_BITS - 1);
    char *records = map->memo[other].number == number + 1 ? map->memo[other].records : NULL;

    if (map->memo[m].number)
        map->memo[other] = map->memo[m];
    if (records) {
        map->memo[m].number = number + 1;
        map->memo[m].records = records;
        return peet__sim_linemap_in(map, records, line);
    }
    HASH_FIND(hh, head, &number, sizeof number, c);
    if (!c && !(c = chunk_new(map, number)))
        return NULL;
    map->memo[m].number = number + 1;
    map->memo[m].records = c->records;
    return peet__sim_linemap_in(map, c->records, line);
}

uint64_t peet_sim_linemap_next(const struct peet_sim_linemap *map, uint64_t line)
{
    const uint64_t number = line >> map->chunk_bits;
    const struct chunk *head = map->chunks, *c;
    if (map->memo[peet__sim_linemap_memo(number)].number == number + 1)
        return line;
    HASH_FIND(hh, head, &number, sizeof number, c);
    return c ? line : (number + 1) << map->chunk_bits;
}

int peet_sim_linemap_each(const struct peet_sim_linemap *map, peet_sim_linemap_visit *visit, void *self)
{
    const struct chunk *head = map->chunks;
    for (const struct chunk *c = head; c; c = c->hh.next)
        for (uint64_t i = 0; i < 1ull << map->chunk_bits; i++) {
            int stop = visit(self, (c->number << map->chunk_bits) + i, c->records + i * map->record_bytes);
            if (stop)
                return stop;
        }
    return 0;
}
