/* SPDX-License-Identifier: Apache-2.0 */
/* A rig for the machine numa: the module driven through its descriptor, one reference or block at a time.  One test
 * file includes it. */
#ifndef PEET_TEST_NUMARIG_H
#define PEET_TEST_NUMARIG_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "modules/modhost.h"
#include "base/stats.h"
#include "numa/numa.h"
#include "run_suite.h"

enum { RIG_HWS = 8 };

struct numarig {
    struct peet_env env;
    char failure[400]; /* the first fail() */
    struct numa *numa;
    uint64_t clock[RIG_HWS], not_ready;
};

static inline void numarig_fail(const struct peet_env *env, const char *format, ...)
{
    struct numarig *rig = env->host;
    va_list args;
    if (*rig->failure)
        return;
    va_start(args, format);
    vsnprintf(rig->failure, sizeof rig->failure, format, args);
    va_end(args);
}

static inline void numarig_not_ready(const struct peet_env *env, unsigned hw, uint64_t cycles)
{
    struct numarig *rig = env->host;
    (void)hw;
    rig->not_ready = cycles;
}

/** numarig_open() - a machine; @settings: "name=value name=value".  Returns: 0, or -1 if it was refused */
static inline int numarig_open(struct numarig *rig, unsigned hws, const char *settings)
{
    union peet_value values[64];
    char text[512], *rest = text, *word;
    struct peet_error error = {0};
    memset(rig, 0, sizeof *rig);
    rig->env = (struct peet_env){.abi = PEET_MODULE_ABI,
        .struct_size = sizeof rig->env,
        .cores = hws,
        .hw_contexts = hws,
        .fail = numarig_fail,
        .not_ready_until = numarig_not_ready,
        .host = rig,
        .seed = 1};
    peet_stats_install(&rig->env);
    for (unsigned i = 0; peet_module.params[i].name; i++)
        if (peet_modhost_value(&peet_module.params[i], "default", peet_module.params[i].def, &values[i], &error))
            numarig_fail(&rig->env, "%s", error.message);
    snprintf(text, sizeof text, "%s", settings);
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');
        unsigned i = 0;
        *value++ = 0;
        while (peet_module.params[i].name && strcmp(peet_module.params[i].name, word))
            i++;
        if (!peet_module.params[i].name ||
            peet_modhost_value(&peet_module.params[i], "test", value, &values[i], &error))
            numarig_fail(&rig->env, "%s=%s: %s", word, value, error.message);
    }
    rig->numa = *rig->failure ? NULL : peet_module.create(&rig->env, values);
    return rig->numa ? 0 : -1;
}

static inline void numarig_close(struct numarig *rig)
{
    if (rig->numa)
        peet_module.destroy(rig->numa);
}

/** numarig_refer() - one reference as a block that costs nothing.  Returns: cycles that it waited */
static inline uint64_t numarig_refer(struct numarig *rig, unsigned hw, uint64_t address, unsigned size,
    enum peet_ref_kind kind)
{
    const struct peet_ref ref = {.size_bytes = (uint16_t)size, .kind = (uint8_t)kind};
    const struct peet_block block = {.flags = PEET_BLOCK_SIMPLE, .ninsns = 1, .nrefs = 1, .nvalues = 1, .refs = &ref};
    const struct peet_block_event event = {&block, &address, hw, 1, NULL};
    const uint64_t before = rig->clock[hw];
    rig->not_ready = 0;
    rig->clock[hw] += peet_module.block(rig->numa, hw, &event, before);
    if (rig->not_ready > rig->clock[hw])
        rig->clock[hw] = rig->not_ready;
    return rig->clock[hw] - before;
}

static inline uint64_t numarig_random(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

#endif
