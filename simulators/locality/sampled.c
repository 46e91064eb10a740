/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces by sampling.  Three parts of a reuse distance's range are observed in three ways:
 *
 *  - on top of the stack: of every reference, by comparing its address with the last one;
 *  - near (fewer than 2^(rate + NEAR) other lines): in *bursts*, stretches of the stream that have an exact surface of their own;
 *  - far: of blocks of 512 bytes whose hash is below a limit, one of 2^rate.  Their reuse distances among themselves are those
 *    of the stream, divided by 2^rate (Waldspurger and others, "Efficient MRC Construction with SHARDS", FAST 2015).  The
 *    limit is halved when there are more than so many blocks; blocks above it are forgotten.
 *
 * A program with few blocks has rate 0: all is exact, and there are no bursts.
 */
#include "sampled.h"

#include <stdlib.h>
#include <string.h>

enum { NEAR = 3, BURST = 1 << 14, WARM = 1 << 13, PERIOD = 1 << 19 };

struct estimate { double reuse[PEET_SIM_WIDTHS][PEET_SIM_BUCKETS], same[PEET_SIM_HALVINGS][PEET_SIM_BUCKETS]; };

struct locality_sampled {
    uint64_t last, left, pause; /* address; references until the burst begins, warms up or ends; between bursts */
    enum { PAUSED, WARMING, COUNTING } phase;
    unsigned rate;
    uint64_t salt, most, blocks, since; /* since: references since the last burst, with this one */
    int begun, failed;
    struct peet_sim_surface *far, *near;
    struct peet_sim_tally all; /* what is on top */
    struct estimate seen;    /* of followed blocks, by distance in the stream, each 2^rate times */
    struct peet_sim_tally burst;
    struct estimate bursts;  /* shares, times the references for which a burst stands */
};

static uint64_t hash(const struct locality_sampled *s, uint64_t block)
{
    uint64_t x = (block ^ s->salt) * 0x9e3779b97f4a7c15u;

    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

static inline int followed(const struct locality_sampled *s, uint64_t block)
{
    return !s->rate || !(hash(s, block) >> (64 - s->rate));
}

static int drop(void *arg, uint64_t block)
{
    return !followed(arg, block);
}

/** One reference that is not on top at all widths, of a block that is followed. */
static void follow(struct locality_sampled *s, uint64_t address, int top)
{
    struct peet_sim_tally scratch = { 0 };
    struct peet_sim_found found;
    double weight = (double)(1ull << s->rate);

    if (peet_sim_surface_find(s->far, address, &scratch, &found)) {
        s->failed = 1;
        return;
    }
    for (unsigned w = (unsigned)top; w < PEET_SIM_WIDTHS; w++) {
        unsigned b = found.bucket[w], to = b >= PEET_SIM_BEYOND ? b : b + s->rate > 16 ? PEET_SIM_BEYOND : b ? b + s->rate : s->rate ? 1 : 0;

        s->seen.reuse[w][to] += weight;
        if (w < PEET_SIM_HALVINGS && b != PEET_SIM_COLD)
            s->seen.same[w][to] += weight * found.same[w];
    }
    if (found.bucket[0] == PEET_SIM_COLD && ++s->blocks > s->most && s->rate < 16) {
        if (!s->rate++ && !s->near) { /* bursts begin */
            s->phase = PAUSED;
            s->left = 1;
        }
        s->blocks = peet_sim_surface_drop(s->far, drop, s);
    }
}

/** A burst stands for all references since the one before. */
static void end_burst(struct locality_sampled *s)
{
    double n, weight = (double)s->since;

    peet_sim_tally_settle(&s->burst);
    n = (double)s->burst.references;
    for (unsigned w = 0; n > 0 && w < PEET_SIM_WIDTHS; w++)
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) {
            s->bursts.reuse[w][k] += weight * (double)s->burst.reuse[w][k] / n;
            if (w < PEET_SIM_HALVINGS && k < PEET_SIM_COLD)
                s->bursts.same[w][k] += weight * (double)s->burst.same[w][k] / n;
        }
    s->burst = (struct peet_sim_tally){ 0 };
    s->since = 0;
}

static void turn_phase(struct locality_sampled *s)
{
    switch (s->phase) {
    case PAUSED:
        s->phase = WARMING;
        s->left = WARM;
        s->near = s->rate ? peet_sim_surface_new() : NULL;
        s->failed |= s->rate && !s->near;
        break;
    case WARMING:
        s->phase = COUNTING;
        s->left = BURST - WARM;
        break;
    case COUNTING:
        s->phase = PAUSED;
        s->left = s->pause;
        s->pause += s->pause < PERIOD ? s->pause / 32 : 0; /* short runs have bursts, too */
        end_burst(s);
        peet_sim_surface_free(s->near);
        s->near = NULL;
        break;
    }
}

int locality__sampled_reference(struct locality_sampled *s, uint64_t address)
{
    uint64_t x = address ^ s->last;
    int top = !s->begun || x >> PEET_SIM_WIDEST_SHIFT ? 0 : PEET_SIM_WIDEST_SHIFT - (63 - __builtin_clzll(x | 2));

    top = top > PEET_SIM_WIDTHS ? PEET_SIM_WIDTHS : top;
    s->begun = 1;
    s->last = address;
    s->all.top[top]++;
    s->since++;
    if (LOCALITY_UNLIKELY(s->near != NULL)) {
        struct peet_sim_tally warm = { 0 };

        s->failed |= peet_sim_surface_reference(s->near, address, s->phase == COUNTING ? &s->burst : &warm) < 0;
    }
    if (LOCALITY_UNLIKELY(!--s->left))
        turn_phase(s);
    if (top < PEET_SIM_WIDTHS && followed(s, address >> PEET_SIM_WIDEST_SHIFT))
        follow(s, address, top);
    return -s->failed;
}

struct locality_sampled *locality__sampled_new(uint64_t most_blocks, uint64_t seed)
{
    struct locality_sampled *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->far = peet_sim_surface_new();
    s->most = most_blocks;
    s->salt = seed;
    s->left = s->pause = BURST;
    if (s->far)
        return s;
    free(s);
    return NULL;
}

void locality__sampled_free(struct locality_sampled *s)
{
    if (!s)
        return;
    peet_sim_surface_free(s->far);
    peet_sim_surface_free(s->near);
    free(s);
}

/* ---------------------------------------------------------------------------------------------- the estimate */

/** Shares of the references of one width that are not on top; @near: the last bucket that bursts tell. */
static void combine(const struct locality_sampled *s, unsigned w, unsigned near, double *reuse, double *same)
{
    double n = 0, all = 0, far = 0, sum = 0, nobody[PEET_SIM_BUCKETS] = { 0 };
    const double *seen_same = w < PEET_SIM_HALVINGS ? s->seen.same[w] : nobody;

    for (unsigned k = 1; k < PEET_SIM_BUCKETS; k++) {
        n += s->bursts.reuse[w][k];
        all += s->seen.reuse[w][k];
    }
    if (!s->rate || n <= 0)
        near = 0;
    for (unsigned k = 1; k < PEET_SIM_BUCKETS; k++) {
        int burst = k <= near;

        reuse[k] = burst ? s->bursts.reuse[w][k] / n : all > 0 ? s->seen.reuse[w][k] / all : 0;
        same[k] = burst ? (w < PEET_SIM_HALVINGS ? s->bursts.same[w][k] / n : 0) : all > 0 ? seen_same[k] / all : 0;
        *(burst ? &sum : &far) += reuse[k];
    }
    for (unsigned k = near + 1; k < PEET_SIM_BUCKETS; k++) { /* far reuse gets what bursts leave */
        double factor = far > 0 && near ? (sum < 1 ? 1 - sum : 0) / far : 1;

        reuse[k] *= factor;
        same[k] *= factor;
    }
}

void locality__sampled_tally(struct locality_sampled *s, struct peet_sim_tally *out)
{
    struct peet_sim_tally top = s->all;
    uint64_t above[PEET_SIM_BUCKETS];

    peet_sim_tally_settle(&top);
    end_burst(s);
    *out = top;
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        double reuse[PEET_SIM_BUCKETS] = { 0 }, same[PEET_SIM_BUCKETS] = { 0 }, others = (double)(top.references - top.reuse[w][0]), sum = 0;
        uint64_t hits = top.reuse[w][0], before = 0;

        combine(s, w, s->rate + NEAR, reuse, same);
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++) { /* sums are rounded, so that all add up; a narrow width never hits more often than a wider one */
            sum += reuse[k];
            hits = k == PEET_SIM_COLD ? top.references : top.reuse[w][0] + (uint64_t)(sum * others + 0.5);
            hits = hits > top.references ? top.references : hits;
            hits = w && hits > above[k] ? above[k] : hits < before ? before : hits;
            out->reuse[w][k] = hits - before;
            above[k] = before = hits;
            if (k && w < PEET_SIM_HALVINGS && k < PEET_SIM_COLD) {
                uint64_t n = (uint64_t)(same[k] * others + 0.5);

                out->same[w][k] = n < out->reuse[w][k] ? n : out->reuse[w][k];
            }
        }
    }
}

unsigned locality__sampled_rate(const struct locality_sampled *s)
{
    return s->rate;
}
