/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of numbers over buckets that grow by powers of two, four to each: values below 8 have a bucket of
 * their own, larger ones are known to a quarter.
 */
#ifndef PEET_SIM_HISTOGRAM_H
#define PEET_SIM_HISTOGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PEET_SIM_HISTOGRAM_BUCKETS = 8 + 4 * 61 };

struct peet_sim_histogram {
    uint64_t count, sum, least, most; /* least and most mean something if count */
    uint64_t buckets[PEET_SIM_HISTOGRAM_BUCKETS];
};

/** The bucket of a value. */
static inline uint32_t peet_sim_histogram_bucket(uint64_t value)
{
    uint32_t log;

    if (value < 8)
        return (uint32_t)value;
    log = 63 - (uint32_t)__builtin_clzll(value);
    return 8 + 4 * (log - 3) + (uint32_t)(value >> (log - 2) & 3);
}

/** The least value of a bucket. */
static inline uint64_t peet_sim_histogram_from(uint32_t bucket)
{
    if (bucket < 8)
        return bucket;
    return (4 + (uint64_t)(bucket - 8) % 4) << ((bucket - 8) / 4 + 1);
}

static inline void peet_sim_histogram_add(struct peet_sim_histogram *h, uint64_t value, uint64_t times)
{
    if (!times)
        return;
    h->least = !h->count || value < h->least ? value : h->least;
    h->most = !h->count || value > h->most ? value : h->most;
    h->count += times;
    h->sum += value * times;
    h->buckets[peet_sim_histogram_bucket(value)] += times;
}

/** peet_sim_histogram_quantile() - a lower bound of the value below which the fraction lies (0..1); 0 if empty */
static inline uint64_t peet_sim_histogram_quantile(const struct peet_sim_histogram *h, double fraction)
{
    double want = fraction * (double)h->count, seen = 0;

    for (uint32_t i = 0; i < PEET_SIM_HISTOGRAM_BUCKETS; i++) {
        seen += (double)h->buckets[i];
        if (h->buckets[i] && seen >= want)
            return peet_sim_histogram_from(i) < h->least ? h->least : peet_sim_histogram_from(i);
    }
    return h->count ? h->most : 0;
}

#ifdef __cplusplus
}
#endif
#endif
