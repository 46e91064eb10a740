/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: how an instance is made from its descriptor and parameters, and the services of struct peet_env that it
 * calls.
 *
 * A module that does what it must not (a service at the wrong time, a value out of range) ends the run with a message
 * that names it.  Its results are not asked for.  A follower is a machine that looks on: its failures are reported with
 * its number.
 */
#include "state/map.h"
#include "consistency/consistency.h"
#include "engine/follow.h"
#include "base/splitmix.h"
#include "base/stats.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static struct peet_map_module *of(const struct peet_env *env)
{
    return env->host;
}

static void fail_with(struct peet_map_module *m, const char *format, va_list ap)
{
    char text[900];

    vsnprintf(text, sizeof text, format, ap);
    if (!m->failed)
        m->failed = strdup(text);
    if (m->follower)
        peet__map_fail(m->map, PEET_EMODULE, "follower %u, %s: %s", m->follower, m->module->name, text);
    else
        peet__map_fail(m->map, PEET_EMODULE, "%s: %s", m->module->name, text);
}

static __attribute__((format(printf, 2, 3))) void fail(const struct peet_env *env, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fail_with(of(env), format, ap);
    va_end(ap);
}

void peet__map_module_fail(struct peet_map_module *m, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fail_with(m, format, ap);
    va_end(ap);
}

static struct peet_map_module *module_of(const struct peet_map *map, unsigned i)
{
    return !i ? map->machine : i <= map->nobservers ? map->observers[i - 1] : NULL;
}

const struct peet_module *peet_map_module(const struct peet_map *map, unsigned i)
{
    const struct peet_map_module *m = module_of(map, i);

    return m ? m->module : NULL;
}

const struct peet_module *peet_map_module_ending(const struct peet_map *map, int *out_stats)
{
    *out_stats = map->ending_stats;
    return map->ending ? map->ending->module : NULL;
}

const char *peet_map_module_error(const struct peet_map *map, unsigned i)
{
    const struct peet_map_module *m = module_of(map, i);

    return m ? m->failed : NULL;
}

void peet_map_module_broke(struct peet_map *map, const struct peet_module *module, const char *why)
{
    struct peet_map_module *m;

    for (unsigned i = 0; (m = module_of(map, i)) != NULL; i++)
        if (m->module == module)
            peet__map_module_fail(m, "%s", why);
}

uint64_t peet__map_take_time(struct peet_map_module *m, unsigned hw, uint64_t clock, uint64_t cycles,
    const char *operation)
{
    char negative[48] = "";

    if ((int64_t)cycles < 0)
        snprintf(negative, sizeof negative, " (%lld as a signed number)", (long long)cycles);
    if (cycles >> PEET_MAP_LONG_LOG2)
        peet__map_module_fail(m,
            "%s() of hardware context %u said at cycle %llu that it took %llu cycles%s: not a time", operation, hw,
            (unsigned long long)clock, (unsigned long long)cycles, negative);
    else if (clock + cycles >= PEET_MAP_TIME_END)
        peet__map_module_fail(m, "with the %llu cycles of %s() the clock of hardware context %u passes 2^62 cycles",
            (unsigned long long)cycles, operation, hw);
    else
        return cycles;
    return 0;
}

/** Until when nobody can be made to wait any more.  In pull form each hardware context has a present of its own. */
static uint64_t present(const struct peet_map *map, const struct peet_map_core *core)
{
    const struct peet_map_core *acting = &map->cores[map->current];

    if (core == acting && core->context)
        return core->clock;
    if (map->pulling)
        return core->clock < map->now ? core->clock : map->now;
    return acting->context && acting->clock > map->now ? acting->clock : map->now;
}

static __attribute__((format(printf, 2, 3))) void note(const struct peet_env *env, const char *format, ...)
{
    const struct peet_map_module *m = of(env);
    char text[900];
    va_list ap;
    int length = snprintf(text, sizeof text, "%s: ", m->module->name);

    va_start(ap, format);
    vsnprintf(text + length, sizeof text - (size_t)length, format, ap);
    va_end(ap);
    if (m->map->config.note)
        m->map->config.note(text);
}

static void set_frequency(const struct peet_env *env, uint64_t hz)
{
    struct peet_map_module *m = of(env);

    if (m->module->kind != PEET_MACHINE || !hz || hz > 1000000000000)
        fail(env, "set_frequency() of %llu: it is for machines, from 1 to 10^12 hertz", (unsigned long long)hz);
    else if (m->self)
        fail(env, "set_frequency() outside create(): clocks have been read already");
    else if (!m->map->frequency_given)
        m->map->config.frequency_hz = hz;
}

/** For the acting core it takes effect when its event's own cost has been charged; others at once. */
static void not_ready_until(const struct peet_env *env, unsigned hw, uint64_t cycles)
{
    struct peet_map *map = of(env)->map;
    struct peet_map_core *core;

    if (of(env)->module->kind != PEET_MACHINE) {
        fail(env, "not_ready_until(): time is the machine's; observers only look on");
        return;
    }
    if (!of(env)->self || (of(env)->follower ? of(env)->finished : map->ended)) {
        fail(env, "not_ready_until() %s", of(env)->self ? "after the end of the program" : "in create()");
        return;
    }
    if (hw >= map->ncores) {
        fail(env, "not_ready_until(): there is no hardware context %u", hw);
        return;
    }
    if (cycles >= PEET_MAP_TIME_END) {
        fail(env, "not_ready_until() of hardware context %u with cycle %llu: beyond 2^62, not a time", hw,
            (unsigned long long)cycles);
        return;
    }
    if (of(env)->follower) { /* a matter of its own clocks */
        if (cycles < of(env)->clocks[hw] && hw == map->current)
            fail(env, "not_ready_until() of hardware context %u with cycle %llu, which is past at cycle %llu", hw,
                (unsigned long long)cycles, (unsigned long long)of(env)->clocks[hw]);
        else if (cycles > of(env)->clocks[hw])
            of(env)->clocks[hw] = cycles;
        return;
    }
    core = &map->cores[hw];
    if (map->supposed && (hw != map->current || !core->context)) {
        cycles += (uint64_t)core->last_supposed;
        if (cycles <= core->clock)
            return; /* it was promised what it did not wait for in the time that is supposed */
    }
    if (cycles < present(map, core) && !map->supposed) {
        fail(env, "not_ready_until() of hardware context %u with cycle %llu, which is past at cycle %llu", hw,
            (unsigned long long)cycles, (unsigned long long)present(map, core));
        return;
    }
    if (hw == map->current && core->context) {
        if (cycles > core->not_ready)
            core->not_ready = cycles;
        return;
    }
    if (core->is_idle && cycles > map->now)
        peet__map_wake(map, hw, map->now); /* idle up to now, then not ready; then it looks for work */
    if (cycles > core->clock && !core->is_idle) {
        core->stalled += cycles - core->clock;
        core->opened += cycles - core->clock;
        if (map->runs_ahead)
            peet_program_direct_later(map->program, hw, cycles - core->clock);
        core->clock = cycles;
        peet__map_rekey(map, hw + 1, cycles);
    }
}

static int64_t supposed(const struct peet_env *env, unsigned hw)
{
    const struct peet_map *map = of(env)->map;

    return hw < map->ncores ? map->cores[hw].supposed : 0;
}

static const struct peet_function *function_of_pc(const struct peet_env *env, uint64_t runtime_pc)
{
    struct peet_map *map = of(env)->map;

    return map->ops->function_of_pc ? map->ops->function_of_pc(map->source, runtime_pc) : NULL;
}

static uint64_t mix(uint64_t x)
{
    return peet__splitmix64(&x);
}

/** Seeds of different modules have nothing in common, and do not depend on who else is there. */
static uint64_t seed_of(const struct peet_map *map, const struct peet_module *module, int is_machine)
{
    return mix(map->config.seed + mix(is_machine ? 0 : XXH64(module->name, strlen(module->name), 0)));
}

int peet__map_module_new(struct peet_map *map, const struct peet_module *module, const union peet_value *values,
    int is_machine, unsigned follower, struct peet_map_module **out_module, struct peet_error *error)
{
    struct peet_map_module *m = calloc(1, sizeof *m);

    *out_module = NULL;
    if (!m)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", module->name);
    m->map = map;
    m->module = module;
    m->follower = follower;
    if (follower && !(m->clocks = calloc(map->ncores, sizeof *m->clocks))) {
        free(m);
        return peet_error_set(error, PEET_ENOMEM, "follower %u, %s: out of memory", follower, module->name);
    }
    m->env = (struct peet_env){
        .abi = PEET_MODULE_ABI,
        .struct_size = sizeof m->env,
        .cores = map->config.cores,
        .hw_contexts = map->ncores,
        .seed = seed_of(map, module, is_machine),
        .output_dir = map->config.output_dir ? map->config.output_dir : ".",
        .fail = fail,
        .not_ready_until = not_ready_until,
        .clock = peet__map_clock,
        .pull = peet__map_pull,
        .charge = peet__map_pull_charge,
        .function_of_pc = function_of_pc,
        .host = m,
        .set_frequency = set_frequency,
        .note = note,
        .times_apart = map->supposed != NULL,
        .supposed = supposed,
    };
    peet__map_reports(map, &m->env);
    peet__map_costs(&m->env);
    peet__map_data_services(map, &m->env);
    if (follower) { /* nobody listens to what it says of its memory; single-cycle memory is the machine's alone */
        m->env.reports = 0;
        m->env.perfect = 0;
    }
    peet_stats_install(&m->env);
    m->self = module->create(&m->env, values);
    if (!m->self || map->error.code) {
        if (!map->error.code)
            peet_error_set(error, PEET_EMODULE, "%s: it refused its configuration without saying why", module->name);
        else
            peet_error_set(error, map->error.code, "%s", map->error.message);
        peet__map_module_free(m);
        return map->error.code ? map->error.code : PEET_EMODULE;
    }
    /* one that asks what lies at an address is told at once, before that changes */
    m->queued = follower && module->needs & PEET_NEEDS_BLOCKS && !(module->needs & PEET_NEEDS_DATA);
    if (m->queued && peet__map_queue_new(map)) {
        peet__map_module_free(m);
        return peet_error_set(error, PEET_ENOMEM, "follower %u, %s: out of memory", follower, module->name);
    }
    if (m->queued)
        m->follow = peet__follow_new(module, m->self, map->ncores);
    *out_module = m;
    return 0;
}

void peet__map_module_free(struct peet_map_module *module)
{
    if (!module)
        return;
    if (module->self && !module->failed)
        module->module->destroy(module->self);
    peet__follow_free(module->follow);
    free(module->clocks);
    free(module->failed);
    free(module);
}

uint64_t peet__map_end_of(const struct peet_map *map, const struct peet_map_module *m)
{
    uint64_t end = map->end_cycles;

    for (unsigned i = 0; m->follower && i < map->ncores; i++)
        end = m->clocks[i] > end ? m->clocks[i] : end;
    return end;
}

int peet_map_wants_addresses(const struct peet_map *map)
{
    uint32_t needs = map->machine ? map->machine->module->needs : 0;

    if (map->consistency && peet__consistency_references(map))
        return 1;
    if (map->machine && map->machine->module->main)
        needs |= PEET_NEEDS_ADDRESSES;
    for (unsigned i = 0; i < map->nobservers; i++)
        needs |= map->observers[i]->module->needs;
    return (needs & PEET_NEEDS_ADDRESSES) != 0;
}
