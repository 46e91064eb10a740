/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench for the bus machine: drives the module through its descriptor, as peet does, with blocks made
 * by hand.  Tests of simulators/bus only.
 */
#ifndef PEET_TEST_RIG_H
#define PEET_TEST_RIG_H

#include <jansson.h>
#include <stdlib.h>
#include "bus/bus.h"
#include "bus/check.h"

/** The protocols of bus, each with its "allocate"; those that write back, and all. */
#define RIG_WRITE_BACK_PROTOCOLS \
    {"write-once", "protocol"}, {"synapse", "protocol"}, {"berkeley", "protocol"}, {"illinois", "protocol"}, \
        {"msi", "protocol"}, {"moesi", "protocol"}, {"firefly", "protocol"}, {"dragon", "protocol"}
#define RIG_PROTOCOLS RIG_WRITE_BACK_PROTOCOLS, {"through", "no"}, {"through", "yes"}

enum { RIG_PARAMS = 32, RIG_HWS = 64 };

struct rig {
    struct peet_env env;
    char failure[600]; /* the first env->fail() */
    unsigned failures;
    struct bus *bus; /* NULL if refused */
    uint64_t clock[RIG_HWS];
    json_t *stats;
    int running; /* inside a block of context current; not_ready is for after it */
    unsigned current;
    uint64_t not_ready;
};

/** If set, called with the environment before the machine is made. */
extern void (*rig_prepare)(struct rig *rig);

/** rig_open() - a machine for so many hardware contexts; settings: name, text, …, NULL.  Returns: 0, -1 if refused */
int rig_open(struct rig *rig, unsigned hws, uint64_t seed, ...) __attribute__((sentinel));
void rig_close(struct rig *rig);

struct rig_ref {
    enum peet_ref_kind kind;
    uint64_t address;
    unsigned size, flags; /* enum peet_ref_flags */
    uint64_t count;       /* ranges: elements, conditionals: the condition */
};

/** rig_event() - a block as the machine gets it, at the context's clock.  Returns: cycles, busy and stalled */
uint64_t rig_event(struct rig *rig, unsigned hw, const struct peet_block_event *event);
/** rig_blocks(), rig_loop() - the same through blocks() and loop().  Returns: how many blocks or turns were taken */
size_t rig_blocks(struct rig *rig, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t until);
uint64_t rig_loop(struct rig *rig, unsigned hw, const struct peet_block_event *event, uint64_t until);
/** rig_block() - one block with one instruction per reference and @more without, at the context's clock.  Returns:
 * cycles */
uint64_t rig_block(struct rig *rig, unsigned hw, const struct rig_ref *refs, unsigned n, unsigned more);
uint64_t rig_read(struct rig *rig, unsigned hw, uint64_t address, unsigned size);
uint64_t rig_write(struct rig *rig, unsigned hw, uint64_t address, unsigned size);

/** rig_finish() - the end, at the latest clock; rig_u64() and rig_f64() then read the statistics by "a.b.3.c" */
void rig_finish(struct rig *rig);
uint64_t rig_u64(struct rig *rig, const char *path);
double rig_f64(struct rig *rig, const char *path);
json_t *rig_node(struct rig *rig, const char *path);

/** A reproducible random number below n, unlike the module's own. */
static inline uint64_t rig_random(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

#endif
