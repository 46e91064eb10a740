/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "rig_folder.h"
#include "modules/modhost.h"
#include "base/stats.h"

static void rig_fail(const struct peet_env *env, const char *format, ...)
{
    struct rig *rig = env->host;
    va_list args;
    if (rig->failures++)
        return;
    va_start(args, format);
    vsnprintf(rig->failure, sizeof rig->failure, format, args);
    va_end(args);
}

/* As the mapper does it: others at once, the one that runs after its block. */
static void rig_not_ready_until(const struct peet_env *env, unsigned hw, uint64_t cycles)
{
    struct rig *rig = env->host;
    uint64_t *clock = rig->running && rig->current == hw ? &rig->not_ready : &rig->clock[hw];
    *clock = cycles > *clock ? cycles : *clock;
}

void (*rig_prepare)(struct rig *rig);

int rig_open(struct rig *rig, unsigned hws, uint64_t seed, ...)
{
    union peet_value values[RIG_PARAMS];
    struct peet_error error = {0};
    const char *name;
    va_list args;
    memset(rig, 0, sizeof *rig);
    rig->env = (struct peet_env){.abi = PEET_MODULE_ABI,
        .struct_size = sizeof rig->env,
        .cores = hws,
        .hw_contexts = hws,
        .seed = seed,
        .output_dir = rig_folder(),
        .fail = rig_fail,
        .not_ready_until = rig_not_ready_until,
        .host = rig};
    peet_stats_install(&rig->env);
    for (unsigned i = 0; peet_module.params[i].name; i++)
        if (peet_modhost_value(&peet_module.params[i], "default", peet_module.params[i].def, &values[i], &error))
            rig_fail(&rig->env, "%s", error.message);
    va_start(args, seed);
    while ((name = va_arg(args, const char *))) {
        const char *text = va_arg(args, const char *);
        unsigned i = 0;
        while (peet_module.params[i].name && strcmp(peet_module.params[i].name, name))
            i++;
        if (!peet_module.params[i].name)
            rig_fail(&rig->env, "no parameter %s", name);
        else if (peet_modhost_value(&peet_module.params[i], "test", text, &values[i], &error))
            rig_fail(&rig->env, "%s", error.message);
    }
    va_end(args);
    if (rig_prepare)
        rig_prepare(rig);
    rig->bus = rig->failures ? NULL : peet_module.create(&rig->env, values);
    return rig->bus ? 0 : -1;
}

void rig_close(struct rig *rig)
{
    if (rig->bus)
        peet_module.destroy(rig->bus);
    json_decref(rig->stats);
}

static void begin(struct rig *rig, unsigned hw)
{
    rig->running = 1;
    rig->current = hw;
    rig->not_ready = 0;
}

static void end(struct rig *rig, unsigned hw, uint64_t cycles)
{
    rig->clock[hw] += cycles;
    rig->clock[hw] = rig->not_ready > rig->clock[hw] ? rig->not_ready : rig->clock[hw];
    rig->running = 0;
}

uint64_t rig_event(struct rig *rig, unsigned hw, const struct peet_block_event *event)
{
    uint64_t before = rig->clock[hw];
    if (rig->bus->ntemplates && !event->block->id) /* made by hand, another each time */
        rig->bus->templates[0].known = 0;
    begin(rig, hw);
    end(rig, hw, peet_module.block(rig->bus, hw, event, before));
    return rig->clock[hw] - before;
}

size_t rig_blocks(struct rig *rig, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t until)
{
    size_t done = 0;
    begin(rig, hw);
    end(rig, hw, peet_module.blocks(rig->bus, hw, events, n, rig->clock[hw], until, &done));
    return done;
}

uint64_t rig_loop(struct rig *rig, unsigned hw, const struct peet_block_event *event, uint64_t until)
{
    uint64_t turns = 0;
    begin(rig, hw);
    end(rig, hw, peet_module.loop(rig->bus, hw, event, rig->clock[hw], until, &turns));
    return turns;
}

uint64_t rig_block(struct rig *rig, unsigned hw, const struct rig_ref *refs, unsigned n, unsigned more)
{
    enum { MOST = 64 };
    struct peet_ref out[MOST];
    uint64_t values[2 * MOST];
    struct peet_block block = {.ninsns = n + more, .nrefs = n, .refs = out, .flags = PEET_BLOCK_SIMPLE};
    if (n > MOST)
        abort();
    for (unsigned i = 0; i < n; i++) {
        const struct rig_ref *r = &refs[i];
        out[i] = (struct peet_ref){.insn = i,
            .size_bytes = (uint16_t)r->size,
            .flags = (uint16_t)r->flags,
            .value = (uint16_t)block.nvalues,
            .kind = (uint8_t)r->kind};
        values[block.nvalues++] = r->address;
        if (r->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
            values[block.nvalues++] = r->count;
            block.flags = 0;
        } else {
            block.reads += r->kind == PEET_REF_LOAD;
            block.writes += r->kind == PEET_REF_STORE;
            block.modifies += r->kind == PEET_REF_MODIFY;
        }
    }
    struct peet_block_event event = {&block, values, hw, 1, NULL};
    return rig_event(rig, hw, &event);
}

uint64_t rig_read(struct rig *rig, unsigned hw, uint64_t address, unsigned size)
{
    struct rig_ref ref = {PEET_REF_LOAD, address, size, 0, 0};
    return rig_block(rig, hw, &ref, 1, 0);
}

uint64_t rig_write(struct rig *rig, unsigned hw, uint64_t address, unsigned size)
{
    struct rig_ref ref = {PEET_REF_STORE, address, size, 0, 0};
    return rig_block(rig, hw, &ref, 1, 0);
}

void rig_finish(struct rig *rig)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < RIG_HWS; i++)
        end = rig->clock[i] > end ? rig->clock[i] : end;
    peet_module.finish(rig->bus, end);
    json_decref(rig->stats);
    rig->stats = json_object();
    peet_module.stats(rig->bus, &rig->env, peet_stats_node(rig->stats));
}

json_t *rig_node(struct rig *rig, const char *path)
{
    json_t *node = rig->stats;
    while (node && *path) {
        char key[100];
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        node = json_is_array(node) ? json_array_get(node, strtoul(key, NULL, 10)) : json_object_get(node, key);
        path += n + (path[n] != 0);
    }
    return node;
}

uint64_t rig_u64(struct rig *rig, const char *path)
{
    json_t *node = rig_node(rig, path);
    if (!json_is_integer(node)) {
        fprintf(stderr, "no integer: %s\n", path);
        abort();
    }
    return (uint64_t)json_integer_value(node);
}

double rig_f64(struct rig *rig, const char *path)
{
    json_t *node = rig_node(rig, path);
    if (!json_is_number(node)) {
        fprintf(stderr, "no number: %s\n", path);
        abort();
    }
    return json_number_value(node);
}
