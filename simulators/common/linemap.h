/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sparse array over the memory lines of a program: one zero-initialised record for every line that was
 * ever asked for.  Lines come in chunks of neighbours; a chunk is found through uthash, and a small
 * memo in front of it answers nearly every question.  Called by simulators on misses, not on hits.
 */
#ifndef PEET_SIM_LINEMAP_H
#define PEET_SIM_LINEMAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_LINEMAP_CHUNK_BYTES = 1 << 15, PEET_SIM_LINEMAP_MEMO_BITS = 10 };

struct peet_sim_linemap {
    size_t record_bytes;
    unsigned chunk_bits; /* lines of a chunk, as a power of two */
    void *chunks;        /* uthash head */
    uint64_t nchunks;
    struct {
        uint64_t number; /* chunk number + 1; 0 = empty */
        char *records;
    } memo[1 << PEET_SIM_LINEMAP_MEMO_BITS];
};

/** peet_sim_linemap_init() - an empty map; @record_bytes: size of one record, a multiple of its alignment */
void peet_sim_linemap_init(struct peet_sim_linemap *map, size_t record_bytes);
void peet_sim_linemap_fini(struct peet_sim_linemap *map);

/* Neighbours do not get in each other's way, and few are needed at a time (Fibonacci hashing: Knuth, The Art of
 * Computer Programming 3, 6.4). */
static inline unsigned peet__sim_linemap_memo(uint64_t chunk)
{
    return (unsigned)(chunk * 0x9e3779b97f4a7c15u >> (64 - PEET_SIM_LINEMAP_MEMO_BITS));
}

static inline void *peet__sim_linemap_in(const struct peet_sim_linemap *map, char *records, uint64_t line)
{
    return records + (line & ((1ull << map->chunk_bits) - 1)) * map->record_bytes;
}

/** The slow half of peet_sim_linemap_get(). */
void *peet__sim_linemap_find(struct peet_sim_linemap *map, uint64_t line);

/**
 * peet_sim_linemap_get() - the record of a line, made (all zero) if need be
 *
 * Returns: the record, valid until fini; NULL only if memory ran out, and then the map is unchanged.  A line
 * that was got once is always got again.
 */
static inline void *peet_sim_linemap_get(struct peet_sim_linemap *map, uint64_t line)
{
    uint64_t chunk = line >> map->chunk_bits;
    unsigned m = peet__sim_linemap_memo(chunk);
    if (map->memo[m].number == chunk + 1)
        return peet__sim_linemap_in(map, map->memo[m].records, line);
    return peet__sim_linemap_find(map, line);
}

/** peet_sim_linemap_next() - this line, if it or a neighbour has a record; else the first line of the next chunk of
 * neighbours, which may have none either */
uint64_t peet_sim_linemap_next(const struct peet_sim_linemap *map, uint64_t line);

/* peet_sim_linemap_get() where it is known that chunks have 1 << @bits lines, and records 1 << @shift bytes. */
static inline void *peet__sim_linemap_known(struct peet_sim_linemap *map, uint64_t line, unsigned bits, unsigned shift)
{
    uint64_t chunk = line >> bits;
    unsigned m = peet__sim_linemap_memo(chunk);
    if (__builtin_expect(map->memo[m].number != chunk + 1, 0))
        return peet__sim_linemap_find(map, line);
    void *record = map->memo[m].records + ((line & ((1u << bits) - 1)) << shift);
    if (!record) /* never: callers' checks are for the slow half alone */
        __builtin_unreachable();
    return record;
}

/** Lines of a chunk, as a power of two, where records have 32 bits. */
enum { PEET_SIM_LINEMAP_WORD_BITS = 13 };
/** peet_sim_linemap_word() - peet_sim_linemap_get() of a map whose records are words of 32 bits */
static inline uint32_t *peet_sim_linemap_word(struct peet_sim_linemap *map, uint64_t line)
{
    enum { SHIFT = 2 };
    return (uint32_t *)peet__sim_linemap_known(map, line, PEET_SIM_LINEMAP_WORD_BITS, SHIFT);
}

/** Lines of a chunk, as a power of two, where records have 64 bits. */
enum { PEET_SIM_LINEMAP_LONG_BITS = 12 };
/** peet_sim_linemap_long() - peet_sim_linemap_get() of a map whose records are words of 64 bits */
static inline uint64_t *peet_sim_linemap_long(struct peet_sim_linemap *map, uint64_t line)
{
    enum { SHIFT = 3 };
    return (uint64_t *)peet__sim_linemap_known(map, line, PEET_SIM_LINEMAP_LONG_BITS, SHIFT);
}

/** Of a line and its record.  Returns: 0 to go on */
typedef int peet_sim_linemap_visit(void *self, uint64_t line, void *record);

/**
 * peet_sim_linemap_each() - all records, those of neighbours of lines that were got among them, in no order
 * Returns: what the last visit returned
 */
int peet_sim_linemap_each(const struct peet_sim_linemap *map, peet_sim_linemap_visit *visit, void *self);

/** peet_sim_linemap_prefetch() - a line's record will soon be asked for */
static inline void peet_sim_linemap_prefetch(const struct peet_sim_linemap *map, uint64_t line)
{
    uint64_t chunk = line >> map->chunk_bits;
    unsigned m = peet__sim_linemap_memo(chunk);
    if (map->memo[m].number == chunk + 1)
        __builtin_prefetch(peet__sim_linemap_in(map, map->memo[m].records, line), 1);
}

#ifdef __cplusplus
}
#endif
#endif
