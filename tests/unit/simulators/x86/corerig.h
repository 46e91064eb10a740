/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bench for the x86 machine's cores: drives the module through its descriptor, as peet does, with blocks made by hand
 * and a flat memory.  There is no model of a processor: latencies and micro-ops are those of the opcodes below, and
 * units are without limit, so that times have closed forms.
 */
#ifndef PEET_TEST_CORERIG_H
#define PEET_TEST_CORERIG_H

#include "x86/core.h"
#include "rig_folder.h"
#include "run_suite.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modules/modhost.h"
#include "base/stats.h"

enum { RIG_VALUES = 200, RIG_INSNS = 600 };

struct rig {
    struct peet_env env;
    char failure[600];
    unsigned failures;
    char settings[600]; /* in pieces: values of parameters point here */
    struct x86 *x;
    uint64_t clock[64];
};

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

/* ---- a processor, for tests that want one: two units for integers, one of them for branches and slow ones, one for
 * loads, one for stores */

static const uint32_t rig_parts_01[] = {0, 1}, rig_parts_all[] = {0, 1, 2, 3};
static const struct peet_resource rig_resources[] = {
    {"P0", 1, -1, 0, NULL},
    {"P1", 1, -1, 0, NULL},
    {"P2", 1, 6, 0, NULL},
    {"P3", 1, -1, 0, NULL},
    {"P01", 2, -1, 2, rig_parts_01},
    {"ALL", 4, 14, 4, rig_parts_all},
};
static const struct peet_processor rig_processor = {.name = "rig",
    .dispatch_uops = 4,
    .window_uops = 40,
    .load_cycles = 4,
    .mispredict_cycles = 12,
    .nresources = 6,
    .resources = rig_resources,
    .retire_uops = 6,
    .load_queue = 12,
    .store_queue = 8};

/* The same, in order. */
static const struct peet_processor rig_in_order = {.name = "rig, in order",
    .dispatch_uops = 4,
    .window_uops = 40,
    .load_cycles = 4,
    .mispredict_cycles = 12,
    .nresources = 6,
    .resources = rig_resources,
    .load_queue = 12,
    .store_queue = 8,
    .in_order = 1};

/** For the machines that are opened from now on. */
static enum { RIG_NONE, RIG_OUT_OF_ORDER, RIG_IN_ORDER, RIG_PROCESSORS } rig_with_processor;

static const struct peet_processor *rig_find_processor(const struct peet_env *env, const char *mcpu)
{
    return rig_with_processor == RIG_IN_ORDER ? &rig_in_order : &rig_processor;
}

static const struct peet_cost *rig_cost(const struct peet_env *env, const struct peet_processor *processor,
    const struct peet_insn *insn)
{
    static const struct peet_resource_use any[] = {{4, 0, 1, 1, 0}}, one[] = {{1, 0, 1, 1, 0}},
                                          slow[] = {{0, 0, 20, 1, 0}, {1, 2, 3, 1, 0}},
                                          three[] = {{4, 0, 1, 2, 0}, {0, 1, 3, 1, 0}}, load[] = {{2, 0, 1, 1, 0}},
                                          store[] = {{3, 0, 1, 1, 0}, {4, 0, 1, 1, 0}}, branch[] = {{0, 0, 1, 1, 0}},
                                          fold[] = {{1, 0, 1, 1, 0}, {2, 0, 1, 1, 0}};
    static const int8_t late[] = {3}, later[] = {8};
    static const struct peet_cost costs[] = {
        {.uops = 1, .latency_cycles = 1, .nuses = 1, .uses = any, .known = 1, .buffers = 1 << 5},
        {.uops = 1, .latency_cycles = 3, .nuses = 1, .uses = one, .known = 1, .buffers = 1 << 5},
        {.uops = 2, .latency_cycles = 24, .nuses = 2, .uses = slow, .known = 1, .buffers = 1 << 5},
        {.uops = 10, .latency_cycles = 4, .nuses = 2, .uses = three, .known = 1, .begins_group = 1, .buffers = 1 << 5},
        {.uops = 1, .latency_cycles = 4, .nuses = 1, .uses = load, .known = 1, .buffers = 1 << 2 | 1 << 5},
        {.uops = 2, .latency_cycles = 1, .nuses = 2, .uses = store, .known = 1, .ends_group = 1, .buffers = 1 << 5},
        {.uops = 1, .latency_cycles = 1, .nuses = 1, .uses = branch, .known = 1, .buffers = 1 << 5},
        {.uops = 1,
            .latency_cycles = 3,
            .nuses = 2,
            .uses = fold,
            .nadvances = 1,
            .advances = late,
            .known = 1,
            .buffers = 1 << 5},
        {.uops = 1,
            .latency_cycles = 11,
            .nuses = 2,
            .uses = fold,
            .nadvances = 1,
            .advances = later,
            .known = 1,
            .buffers = 1 << 5},
    };
    static const char *const names[] = {
        "ADD", "MUL", "SLOW", "BIG", "MOV64rm", "MOV64mr", "JCC_1", "MUL64rm", "MULPDrm"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(insn->opcode->name, names[i]))
            return &costs[i];
    return &costs[0];
}

/** rig_open() - a machine of so many cores, without preset, memory=flat; @settings: "a=1,b=2".  Returns: 0, -1 if
 * refused */
static inline int rig_open(struct rig *rig, unsigned cores, const char *settings)
{
    union peet_value values[RIG_VALUES];
    struct peet_error error = {0};
    char *save = NULL;

    memset(rig, 0, sizeof *rig);
    rig->env = (struct peet_env){.abi = PEET_MODULE_ABI,
        .struct_size = sizeof rig->env,
        .cores = cores,
        .hw_contexts = cores,
        .seed = 1,
        .output_dir = rig_folder(),
        .fail = rig_fail,
        .host = rig};
    peet_stats_install(&rig->env);
    if (rig_with_processor) {
        rig->env.processor = rig_find_processor;
        rig->env.cost = rig_cost;
    }
    for (unsigned i = 0; peet_module.params[i].name; i++)
        if (peet_modhost_value(&peet_module.params[i], "default", peet_module.params[i].def, &values[i], &error))
            rig_fail(&rig->env, "%s", error.message);
    snprintf(rig->settings, sizeof rig->settings, "preset=none,memory=flat%s%s", *settings ? "," : "", settings);
    for (char *one = strtok_r(rig->settings, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
        char *text = strchr(one, '=');
        unsigned i = 0;

        *text++ = 0;
        while (peet_module.params[i].name && strcmp(peet_module.params[i].name, one))
            i++;
        if (!peet_module.params[i].name)
            rig_fail(&rig->env, "no parameter %s", one);
        else if (peet_modhost_value(&peet_module.params[i], "test", text, &values[i], &error))
            rig_fail(&rig->env, "%s", error.message);
        else if (peet_module.params[i].type == PEET_PARAM_STRING)
            values[i].string = text;
    }
    rig->x = rig->failures ? NULL : peet_module.create(&rig->env, values);
    return rig->x ? 0 : -1;
}

static inline void rig_close(struct rig *rig)
{
    char path[PATH_MAX + 32];

    if (rig->x)
        peet_module.destroy(rig->x);
    snprintf(path, sizeof path, "%s/x86-stacks.csv", rig_folder());
    unlink(path); /* the next rig's file would be renamed over it, for which ext4 waits for the disk */
}

/* ---- a program of blocks */

static const struct peet_opcode rig_add = {
    .name = "ADD", .mnemonic = "add", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT};
static const struct peet_opcode rig_mul = {
    .name = "MUL", .mnemonic = "mul", .latency_cycles = 3, .uops = 1, .klass = PEET_INSN_INT_MUL};
static const struct peet_opcode rig_slow = {
    .name = "SLOW", .mnemonic = "slow", .latency_cycles = 100, .uops = 1, .klass = PEET_INSN_INT};
static const struct peet_opcode rig_big = {
    .name = "BIG", .mnemonic = "big", .latency_cycles = 1, .uops = 10, .klass = PEET_INSN_INT};
static const struct peet_opcode rig_load = {
    .name = "MOV64rm", .mnemonic = "mov", .latency_cycles = 4, .uops = 1, .klass = PEET_INSN_MOVE};
static const struct peet_opcode rig_fold = {
    .name = "MUL64rm", .mnemonic = "mul", .latency_cycles = 7, .uops = 1, .klass = PEET_INSN_INT_MUL};
static const struct peet_opcode rig_lea = {
    .name = "LEA64r", .mnemonic = "lea", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_INT};
static const struct peet_opcode rig_store = {
    .name = "MOV64mr", .mnemonic = "mov", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_MOVE};
static const struct peet_opcode rig_change = {
    .name = "ADD64mr", .mnemonic = "add", .latency_cycles = 6, .uops = 1, .klass = PEET_INSN_INT};
static const struct peet_opcode rig_locked = {
    .name = "LOCK_ADD64mr", .mnemonic = "lock add", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_ATOMIC};
static const struct peet_opcode rig_mfence = {
    .name = "MFENCE", .mnemonic = "mfence", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_FENCE};
static const struct peet_opcode rig_branch = {
    .name = "JCC_1", .mnemonic = "jcc", .latency_cycles = 1, .uops = 1, .klass = PEET_INSN_BRANCH};

static const struct peet_function rig_function = {
    .name = "f", .file = "f.c", .image = "f", .pc = 0x400000, .nblocks = 1};

struct rig_code {
    struct peet_block block;
    struct peet_insn insns[RIG_INSNS];
    struct peet_ref refs[RIG_INSNS];
    uint8_t regs[RIG_INSNS][4];
    uint64_t values[RIG_INSNS];
};

/** rig_block() - an empty block with this id; blocks of one index after the other follow one another */
static inline struct rig_code *rig_block(uint32_t id)
{
    struct rig_code *c = calloc(1, sizeof *c);

    c->block = (struct peet_block){.function = &rig_function,
        .pc = 0x400000 + id * 0x1000,
        .id = id,
        .index = id,
        .insns = c->insns,
        .refs = c->refs,
        .flags = PEET_BLOCK_SIMPLE};
    return c;
}

/** rig_insn() - @to, @from, @by: registers, -1: none; @by is of the address if it has one; @size 0: no reference */
static inline void rig_insn(struct rig_code *c, const struct peet_opcode *opcode, int to, int from, int by,
    enum peet_ref_kind kind, uint64_t address, unsigned size)
{
    uint32_t i = c->block.ninsns++, n = 0;
    struct peet_insn *insn = &c->insns[i];

    *insn = (struct peet_insn){.pc = c->block.pc + 4 * i,
        .opcode = opcode,
        .line = i + 1,
        .length_bytes = 4,
        .regs = c->regs[i],
        .first_ref = (uint16_t)c->block.nrefs};
    if (by >= 0) {
        c->regs[i][n++] = (uint8_t)by;
        insn->naddresses = size != 0;
    }
    if (from >= 0)
        c->regs[i][n++] = (uint8_t)from;
    insn->nreads = (uint8_t)n;
    if (to >= 0)
        c->regs[i][n++] = (uint8_t)to;
    insn->nwrites = (uint8_t)(n - insn->nreads);
    if (size) {
        insn->nrefs = 1;
        c->refs[c->block.nrefs] = (struct peet_ref){
            .insn = i, .size_bytes = (uint16_t)size, .value = (uint16_t)c->block.nvalues, .kind = (uint8_t)kind};
        c->values[c->block.nvalues++] = address;
        c->block.nrefs++;
    }
    c->block.code_bytes += 4;
}

static inline struct peet_block_event rig_event(const struct rig_code *c, uint32_t context)
{
    return (struct peet_block_event){.block = &c->block, .values = c->values, .context = context, .turns = 1};
}

/** rig_run() - the block once more.  Returns: its cycles */
static inline uint64_t rig_run(struct rig *rig, unsigned hw, const struct rig_code *c)
{
    struct peet_block_event event = rig_event(c, hw);
    uint64_t cycles = peet_module.block(rig->x, hw, &event, rig->clock[hw]);

    rig->clock[hw] += cycles;
    return cycles;
}

/** rig_steady() - cycles of `times` executions, when as many have gone before */
static inline uint64_t rig_steady(struct rig *rig, unsigned hw, const struct rig_code *c, unsigned times)
{
    uint64_t cycles = 0;

    for (unsigned i = 0; i < times; i++)
        rig_run(rig, hw, c);
    for (unsigned i = 0; i < times; i++)
        cycles += rig_run(rig, hw, c);
    return cycles;
}

static inline uint64_t rig_random(uint64_t *state, uint64_t n)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) % n;
}

#endif
