/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: blocks made into records that core.c can run through: what kind each instruction is, which registers it waits
 * for and gives, what units it takes and for how long.  Done once for each block, when it first comes.
 *
 * Costs are those of LLVM's scheduling model for the mcpu (env->cost()).  Without one, latency and micro-ops that the
 * schema has from the compilation are used, and units are without limit.
 */
#include "core_replay.h"
#include "corrections.h"
#include "memory_fast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RSP = 4 };

/* ------------------------------------------------------------------------------------------ the processor */

static int units_named(const struct x86 *x, const char *key, const char *names, uint64_t *out)
{
    const struct peet_processor *p = x->processor;
    char one[64];

    *out = 0;
    for (int n; sscanf(names, " %63s%n", one, &n) == 1; names += n) {
        const int r = x86_resource_named(p, one);

        if (r < 0) {
            x->env->fail(x->env, "mcpu=%s: %s has \"%s\", and the model has no units of that name", p->name, key, one);
            return -1;
        }
        *out |= x->unit_masks[r];
    }
    return 0;
}

/** One more queue.  Returns: its number */
static uint32_t add_buffer(struct x86 *x, uint32_t entries)
{
    const uint64_t size = (uint64_t)entries * x->config.scheduler_scale_percent / 100;

    x->buffer_sizes[x->nbuffers] = size ? (uint32_t)size : 1;
    return x->nbuffers++;
}

/** Schedulers that belong to units: those of the preset that are not of one resource that has a queue in the model.
 * Returns: 0, or -1 after env->fail() */
static int unit_queues(struct x86 *x)
{
    for (uint32_t i = 0; i < x->config.nunit_queues && x->nbuffers < X86_BUFFERS; i++) {
        const struct x86_unit_queue *queue = &x->config.unit_queues[i];
        const int r = x86_resource_named(x->processor, queue->units);

        if (r >= 0 && x->processor->resources[r].buffer > 0)
            continue;
        if (units_named(x, "unit_queues", queue->units, &x->queues[x->nqueues].units))
            return -1;
        x->queues[x->nqueues].buffer = add_buffer(x, queue->entries);
        for (uint64_t m = x->queues[x->nqueues].units & ~x->queued_units; m; m &= m - 1)
            x->scheduler_of[__builtin_ctzll(m)] = (uint8_t)x->queues[x->nqueues].buffer;
        x->queued_units |= x->queues[x->nqueues].units;
        x->nqueues++;
    }
    return 0;
}

/** Entries of the queue that a resource has in the model, or as the preset says instead. */
static uint32_t queue_of(const struct x86 *x, const struct peet_resource *resource)
{
    for (uint32_t i = 0; i < x->config.nunit_queues; i++)
        if (!strcmp(x->config.unit_queues[i].units, resource->name))
            return x->config.unit_queues[i].entries;
    return (uint32_t)resource->buffer;
}

int x86_digest_processor(struct x86 *x)
{
    const struct peet_processor *p = x->processor;

    if (!p)
        return 0;
    if (p->nresources > sizeof x->buffer_of / sizeof *x->buffer_of) {
        x->env->fail(x->env, "mcpu=%s: a model with %u resources is more than can be simulated", p->name,
            p->nresources);
        return -1;
    }
    for (uint32_t r = 0; r < p->nresources; r++) {
        const struct peet_resource *resource = &p->resources[r];

        x->buffer_of[r] = -1;
        if (resource->nparts)
            continue;
        for (uint32_t u = 0; u < resource->units; u++) {
            if (x->nunits == X86_UNITS) {
                x->env->fail(x->env, "mcpu=%s: a model with more than %d units cannot be simulated", p->name,
                    X86_UNITS);
                return -1;
            }
            x->unit_names[x->nunits] = resource->name;
            x->unit_masks[r] |= 1ull << x->nunits++;
        }
    }
    /* Groups, and groups of groups: parts may come later in the list. */
    for (unsigned round = 0; round < 4; round++)
        for (uint32_t r = 0; r < p->nresources; r++)
            for (uint32_t k = 0; k < p->resources[r].nparts; k++)
                x->unit_masks[r] |= x->unit_masks[p->resources[r].parts[k]];
    if (unit_queues(x))
        return -1;
    for (uint32_t r = 0; r < p->nresources; r++)
        if (p->resources[r].buffer > 0 && x->nbuffers < X86_BUFFERS && !(x->unit_masks[r] & x->queued_units))
            x->buffer_of[r] = (int8_t)add_buffer(x, queue_of(x, &p->resources[r]));
    if (units_named(x, "turn_units", x->config.turn_units, &x->turn_units))
        return -1;
    if (!*x->config.turn_units)
        x->turn_units = ~0ull;
    return x86_corrections_check(x);
}

void x86_digest_fini(struct x86 *x)
{
    x86_corrections_fini(x);
    for (uint32_t i = 0; i < x->ncodes; i++) {
        free(x->codes[i].ops);
        free(x->codes[i].refs);
    }
    free(x->codes);
    free(x->uses);
    free(x->more);
    free(x->schedulers);
}

/* ------------------------------------------------------------------------------------------ instructions */

static int begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

static uint8_t branch_of(const struct peet_insn *insn)
{
    const int indirect = (insn->flags & PEET_INSN_INDIRECT) != 0;

    switch (insn->opcode->klass) {
    case PEET_INSN_BRANCH:
        return BRANCH_COND;
    case PEET_INSN_JUMP:
        return indirect ? BRANCH_JUMP_INDIRECT : BRANCH_DIRECT;
    case PEET_INSN_CALL:
        return indirect ? BRANCH_CALL_INDIRECT : BRANCH_CALL;
    case PEET_INSN_RETURN:
        return BRANCH_RETURN;
    }
    return BRANCH_NONE;
}

static uint8_t kind_of(const struct peet_block *block, const struct peet_insn *insn)
{
    const char *name = insn->opcode->name;
    const struct peet_ref *ref = &block->refs[insn->first_ref];

    if (begins(name, "MFENCE"))
        return OP_FENCE;
    if (begins(name, "LFENCE"))
        return OP_LOAD_FENCE;
    if (begins(name, "SFENCE"))
        return OP_STORE_FENCE;
    if (begins(name, "PAUSE"))
        return OP_PAUSE;
    if (begins(name, "CPUID") || begins(name, "SERIALIZE") || begins(name, "SYSCALL"))
        return OP_SERIALIZE;
    if (insn->opcode->klass == PEET_INSN_FENCE)
        return OP_FENCE;
    if (insn->opcode->klass == PEET_INSN_ATOMIC)
        return OP_LOCKED;
    if (!insn->nrefs)
        return OP_PLAIN;
    if (insn->nrefs > 1 || ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL) || ref->kind == PEET_REF_PREFETCH ||
        !ref->size_bytes)
        return OP_MEMORY;
    return ref->kind == PEET_REF_LOAD ? OP_LOAD : ref->kind == PEET_REF_STORE ? OP_STORE : OP_MODIFY;
}

/** Instructions whose change of the stack pointer the front end follows by itself. */
static int by_stack_engine(const struct peet_insn *insn)
{
    const char *name = insn->opcode->name;

    return begins(name, "PUSH") || begins(name, "POP") || insn->opcode->klass == PEET_INSN_CALL ||
        insn->opcode->klass == PEET_INSN_RETURN;
}

/**
 * Of an instruction's latency, what its load takes: as long after issue as the model lets its other operands come, or a
 * simple load's.  Returns: cycles, 0 if it does not load, or if the model's latencies do not hold the load
 */
static unsigned load_part(const struct x86 *x, const struct peet_cost *cost, const struct x86_op *op)
{
    int most = 0;

    if ((op->kind != OP_LOAD && op->kind != OP_MODIFY && op->kind != OP_MEMORY) || x->loads_before)
        return 0;
    for (unsigned i = 0; cost && i < cost->nadvances; i++)
        most = cost->advances[i] > most ? cost->advances[i] : most;
    return most > (int)x->model_load_cycles ? (unsigned)most : x->model_load_cycles;
}

/**
 * Does memory renaming know an instruction? Moves of whole integer registers, and operations of one cycle on memory.
 * @move: the beginning of the names of such moves
 */
static int renamed(const struct peet_insn *insn, const struct peet_ref *ref, uint8_t kind, const char *const *moves)
{
    static const char *const changes[] = {
        "ADD", "ADC", "SUB", "SBB", "INC", "DEC", "AND", "OR", "XOR", "NEG", "NOT", "SHL", "SHR", "SAR", NULL};
    const char *name = insn->opcode->name;

    if (ref->size_bytes != 4 && ref->size_bytes != 8)
        return 0;
    for (const char *const *one = kind == OP_MODIFY ? changes : moves; *one; one++)
        if (begins(name, *one) && (kind != OP_MODIFY || (name[strlen(*one)] >= '0' && name[strlen(*one)] <= '9')))
            return 1;
    return 0;
}

static int renames_load(const struct peet_insn *insn, const struct peet_ref *ref, uint8_t kind)
{
    static const char *const moves[] = {"MOV32rm", "MOV64rm", "POP64r", NULL};

    return renamed(insn, ref, kind, moves);
}

static int renames_store(const struct peet_insn *insn, const struct peet_ref *ref, uint8_t kind)
{
    static const char *const moves[] = {"MOV32m", "MOV64m", "PUSH64r", "PUSH64i", NULL};

    return renamed(insn, ref, kind, moves);
}

static int more_operand(struct x86 *x, struct x86_op *op, uint8_t reg, int written, int cycles)
{
    if (x->nmore == x->more_room) {
        uint32_t room = x->more_room ? 2 * x->more_room : 256;
        struct x86_operand *more = realloc(x->more, room * sizeof *more);

        if (!more)
            return -1;
        x->more = more;
        x->more_room = room;
    }
    if (op->nmore == UINT8_MAX)
        return 0;
    x->more[x->nmore++] = (struct x86_operand){reg, (uint8_t)written, (int16_t)cycles};
    op->nmore++;
    return 0;
}

static int in(const uint8_t *list, unsigned n, uint8_t reg)
{
    for (unsigned i = 0; i < n; i++)
        if (list[i] == reg)
            return 1;
    return 0;
}

/**
 * How much later than issue an operand may come that is not of an address.  A pipeline that has its loads before its
 * operations wants all other operands when it operates, whatever it loads; but an lea operates where addresses are
 * made, and a conditional branch a stage later.
 */
static int advance_of(const struct x86 *x, const struct peet_insn *insn, const struct x86_op *op, uint8_t reg,
    int model)
{
    int loads = op->kind == OP_LOAD || op->kind == OP_MODIFY;

    if (x->loads_before) {
        if (op->early)
            return -(int)op->early;
        if (op->branch == BRANCH_COND && reg == PEET_REG_FLAGS && x->config.branch_pairing == X86_ON)
            return 1;
        return loads && !x->model_operands ? 0 : model;
    }
    return x->config.folded_loads == FOLDED_SPLIT && loads && !model && insn->naddresses ? (int)x->model_load_cycles
                                                                                         : model;
}

/** What it waits for.  Returns: 0, or -1 out of memory */
static int reads(struct x86 *x, const struct peet_insn *insn, const struct peet_cost *cost, struct x86_op *op,
    int engine)
{
    int breaks = cost && cost->zero_idiom;
    unsigned naddresses = 0, ndata = 0;

    for (unsigned i = 0; i < insn->naddresses; i++) {
        if (insn->regs[i] >= PEET_REGS || in(op->addresses, naddresses, insn->regs[i]))
            continue;
        if (naddresses < X86_ADDRESSES)
            op->addresses[naddresses++] = insn->regs[i];
        else if (more_operand(x, op, insn->regs[i], 0, 0))
            return -1;
    }
    for (unsigned i = insn->naddresses; i <= insn->nreads; i++) {
        int advance = cost && i - insn->naddresses < cost->nadvances ? cost->advances[i - insn->naddresses] : 0;
        uint8_t reg;

        if (i < insn->nreads) {
            reg = insn->regs[i];
            if (reg >= PEET_REGS || (engine && reg == RSP) || (breaks && reg != PEET_REG_FLAGS))
                continue;
            advance = advance_of(x, insn, op, reg, advance);
        } else { /* the rest of the register that is written in part */
            if (!(insn->flags & PEET_INSN_PARTIAL) || x->config.partial_writes != PARTIAL_MERGE || !insn->nwrites)
                break;
            reg = insn->regs[insn->nreads];
            advance = 0;
        }
        if (ndata < X86_DATA) {
            op->advances[ndata] = (int8_t)advance;
            op->data[ndata++] = reg;
        } else if (more_operand(x, op, reg, 0, advance)) {
            return -1;
        }
    }
    return 0;
}

/** What waits for it.  Returns: 0, or -1 out of memory */
static int writes(struct x86 *x, const struct peet_insn *insn, const struct peet_cost *cost, unsigned load,
    struct x86_op *op, int engine)
{
    const uint8_t *regs = insn->regs + insn->nreads;
    unsigned n = 0;

    for (unsigned i = 0; i < insn->nwrites; i++) {
        int cycles = cost && i < cost->nwrites ? cost->writes[i] : op->latency + (int)load;

        if (regs[i] >= PEET_REGS || (engine && regs[i] == RSP))
            continue;
        if (load)
            cycles = cycles >= (int)load ? cycles - (int)load : -1 - cycles;
        cycles = cycles < INT16_MAX ? cycles : INT16_MAX;
        if (n < X86_WRITES) {
            op->latencies[n] = (int16_t)cycles;
            op->writes[n++] = regs[i];
        } else if (more_operand(x, op, regs[i], 1, cycles)) {
            return -1;
        }
    }
    return 0;
}

static int operands(struct x86 *x, const struct peet_insn *insn, const struct peet_cost *cost, unsigned load,
    struct x86_op *op)
{
    int engine = x->config.stack_engine == X86_ON && by_stack_engine(insn);

    op->more = x->nmore;
    return reads(x, insn, cost, op, engine) || writes(x, insn, cost, load, op, engine) ? -1 : 0;
}

/** The number of a set of units; X86_STRETCHES: there are more sets than are kept apart. */
static uint8_t stretch_of(struct x86 *x, uint64_t mask)
{
    for (uint32_t i = 0; i < x->nstretches; i++)
        if (x->stretches[i] == mask)
            return (uint8_t)i;
    if (x->nstretches == X86_STRETCHES)
        return X86_STRETCHES;
    x->stretches[x->nstretches] = mask;
    return (uint8_t)x->nstretches++;
}

/** One of these units is taken: they are of one group, with all that were so before. */
static void group_units(struct x86 *x, uint64_t mask)
{
    uint64_t group = mask;

    for (uint64_t m = mask; m; m &= m - 1)
        group |= x->unit_groups[__builtin_ctzll(m)];
    for (uint64_t m = group; m; m &= m - 1)
        x->unit_groups[__builtin_ctzll(m)] = group;
}

static int add_use(struct x86 *x, struct x86_op *op, uint64_t mask, const struct peet_resource_use *use)
{
    if (op->nuses == X86_USES)
        return 0;
    group_units(x, mask);
    if (x->nuses == x->uses_room) {
        uint32_t room = x->uses_room ? 2 * x->uses_room : 1024;
        struct x86_use *more = realloc(x->uses, room * sizeof *more);

        if (!more)
            return -1;
        x->uses = more;
        x->uses_room = room;
    }
    x->uses[x->nuses++] =
        (struct x86_use){mask, use->first_cycle, (uint16_t)(use->end_cycle - use->first_cycle), stretch_of(x, mask), 0};
    op->nuses++;
    return 0;
}

/** The units that an instruction takes, and the scheduler queues that it waits in.  Returns: 0, or -1 out of memory */
static int units(struct x86 *x, const struct peet_cost *cost, struct x86_op *op)
{
    const struct peet_processor *p = x->processor;

    op->first_use = x->nuses;
    for (unsigned i = 0; i < cost->nuses; i++) {
        const struct peet_resource_use *use = &cost->uses[i];
        uint64_t mask = use->resource < p->nresources ? x->unit_masks[use->resource] : 0;

        if (!mask || use->end_cycle <= use->first_cycle)
            continue;
        if (use->reserved) {
            for (; mask; mask &= mask - 1)
                if (add_use(x, op, mask & -mask, use))
                    return -1;
        } else {
            for (unsigned u = 0; u < (use->units ? use->units : 1); u++)
                if (add_use(x, op, mask, use))
                    return -1;
        }
    }
    op->flags |= OP_SHORT_USES;
    for (unsigned i = 0; i < op->nuses; i++) {
        unsigned end = x->uses[op->first_use + i].first + x->uses[op->first_use + i].cycles;

        op->span = (uint16_t)(end > op->span ? end : op->span);
        if (x->uses[op->first_use + i].first || x->uses[op->first_use + i].cycles != 1)
            op->flags &= (uint8_t)~OP_SHORT_USES;
    }
    if (op->nuses == 1 && op->flags & OP_SHORT_USES)
        op->flags |= OP_ONE_USE;
    for (unsigned i = 0; i < op->nuses && x->config.unit_choice == UNITS_TURN; i++)
        op->turns |= (x->uses[op->first_use + i].units & x->turn_units) != 0;
    for (uint64_t m = cost->buffers; m; m &= m - 1) {
        int8_t buffer = x->buffer_of[__builtin_ctzll(m)];

        if (buffer >= 0 && op->nbuffers < sizeof op->buffers)
            op->buffers[op->nbuffers++] = (uint8_t)buffer;
    }
    if (op->nbuffers && !op->span)
        op->span = 1;
    return 0;
}

/** Blocks that stand for library calls: their references count, not the instructions that were chosen to make them. */
static int stands_for_call(const struct peet_block *block)
{
    return block->pc < X86_SYNTHETIC_PC;
}

static int digest_insn(struct x86 *x, const struct peet_block *block, const struct peet_insn *insn, struct x86_op *op)
{
    int call = stands_for_call(block);
    /* no operation; LLVM's models have it as a system instruction, of 100 micro-ops on Zen */
    const int landing = begins(insn->opcode->name, "ENDBR");
    const struct peet_cost *model = x->processor && !call && !landing ? x->env->cost(x->env, x->processor, insn) : NULL;
    struct x86_corrected corrected;
    const struct peet_cost *cost = model ? x86_correct(x, insn, model, &corrected) : NULL;
    uint32_t latency = cost ? cost->latency_cycles : insn->opcode->latency_cycles,
             uops = landing ? 1
        : cost              ? cost->uops
                            : insn->opcode->uops;
    uint32_t load;

    op->kind = kind_of(block, insn);
    op->branch = branch_of(insn);
    op->length_bytes = insn->length_bytes;
    op->first_ref = insn->first_ref;
    op->nrefs = insn->nrefs;
    op->uops = (uint16_t)(uops < 1000 ? uops : 1000);
    if (insn->flags & PEET_INSN_REP ||
        (insn->opcode->klass == PEET_INSN_STRING && insn->nrefs && block->refs[insn->first_ref].flags & PEET_REF_RANGE))
        op->flags |= OP_REP;
    if (op->flags & OP_REP) /* its time is that of the bytes that it moves, and a start */
        latency = 0;
    if (call)
        op->flags &= (uint8_t)~OP_REP;
    if (op->kind == OP_PLAIN && cost &&
        ((cost->zero_idiom && !cost->latency_cycles && !cost->nuses) ||
            (cost->eliminated && x->config.move_elimination == X86_ON)))
        op->flags |= OP_NOTHING;
    if (cost && cost->begins_group)
        op->flags |= OP_FIRST;
    if (cost && cost->ends_group)
        op->flags |= OP_LAST;
    if (insn->opcode->klass == PEET_INSN_NOP || landing)
        latency = 0;
    load = load_part(x, cost, op);
    if (load > latency) /* a store with other references: no result of what it loads */
        load = latency;
    op->load_extra = (uint8_t)(load > x->model_load_cycles ? load - x->model_load_cycles : 0);
    if (x->config.vector_load_cycles && load > x->model_load_cycles)
        op->load_extra = (uint8_t)(x->config.vector_load_cycles > x->model_load_cycles
                ? x->config.vector_load_cycles - x->model_load_cycles
                : 0);
    if (op->kind == OP_LOAD && insn->naddresses > 1)
        op->load_extra = (uint8_t)(op->load_extra + x->config.index_cycles);
    latency -= load;
    if (x->loads_before && op->kind == OP_PLAIN && begins(insn->opcode->name, "LEA"))
        op->early = (uint8_t)x->address_lead;
    op->latency = (uint16_t)(latency < UINT16_MAX ? latency : UINT16_MAX);
    memset(op->addresses, X86_READY, sizeof op->addresses);
    memset(op->data, X86_READY, sizeof op->data);
    memset(op->writes, X86_SINK, sizeof op->writes);
    if (!call && operands(x, insn, cost, load, op))
        return -1;
    if (x->renaming && (op->kind == OP_STORE || op->kind == OP_MODIFY))
        op->renames = (uint8_t)renames_store(insn, &block->refs[insn->first_ref], op->kind);
    op->latency = (uint16_t)(op->latency + op->early); /* until it retires */
    if (!op->nmore && op->data[0] == X86_READY)
        op->flags |= OP_ADDRESSES_ONLY;
    else if (!op->nmore && op->addresses[0] == X86_READY && !op->advances[0] && !op->advances[1] && !op->advances[2])
        op->flags |= OP_DATA_ONLY;
    op->place = x86_stacks_place(&x->stacks, block->function, insn->line);
    if (op->place == UINT32_MAX)
        return -1;
    return cost && !(op->flags & OP_NOTHING) && insn->opcode->klass != PEET_INSN_NOP ? units(x, cost, op) : 0;
}

/** In order: of the units that an instruction could take, the one that the next one needs is left to that. */
static void spare_units(struct x86 *x, const struct x86_op *ops, uint32_t n)
{
    for (uint32_t i = 0; i + 1 < n; i++)
        for (uint32_t k = 0; ops[i].flags & OP_ONE_USE && k < ops[i + 1].nuses; k++) {
            struct x86_use *use = &x->uses[ops[i].first_use];
            const struct x86_use *next = &x->uses[ops[i + 1].first_use + k];

            if (!next->first && !(next->units & (next->units - 1)) && next->units & use->units)
                use->spare = (uint8_t)(1 + __builtin_ctzll(next->units));
        }
}

/** Does an instruction become one with the conditional branch behind it? Not one that writes memory. */
static int fuses(const struct x86 *x, const struct peet_insn *insn, const struct x86_op *op)
{
    static const char *const all[] = {"CMP", "TEST", "ADD", "SUB", "INC", "DEC", "AND", "OR", "XOR"};
    const char *name = insn->opcode->name;

    if (op->kind != OP_PLAIN && op->kind != OP_LOAD)
        return 0;
    for (unsigned i = 0; i < (x->config.fusion == FUSION_ARITHMETIC ? sizeof all / sizeof *all : 2); i++)
        if (begins(name, all[i]) && name[strlen(all[i])] >= '0' && name[strlen(all[i])] <= '9')
            return 1;
    return 0;
}

/**
 * What sets the flags and the conditional branch that ends the block as one micro-op. It takes the unit of the branch
 * if it has but one of its own, and the branch is known when the flags are.
 */
static void fuse(const struct x86 *x, const struct peet_block *block, struct x86_op *ops)
{
    struct x86_op *branch, *op;

    if (block->ninsns < 2)
        return;
    branch = &ops[block->ninsns - 1];
    op = branch - 1;
    if (branch->branch != BRANCH_COND || branch->kind != OP_PLAIN || !fuses(x, &block->insns[block->ninsns - 2], op))
        return;
    if (op->nuses == 1 && branch->nuses == 1 && op->flags & branch->flags & OP_ONE_USE)
        op->first_use = branch->first_use;
    branch->uops = branch->latency = 0;
    branch->nuses = branch->nbuffers = 0;
    branch->span = 0;
    branch->flags = (uint8_t)((branch->flags & ~(OP_ONE_USE | OP_SHORT_USES)) | OP_NOTHING);
}

/** The schedulers of these units: a number in x86.schedulers.  Returns: -1 out of memory */
static int schedulers_of(struct x86 *x, uint64_t units)
{
    struct x86_schedulers *s = x->schedulers;

    for (uint32_t i = 0; i < x->nschedulers; i++)
        if (s[i].units == units)
            return (int)i;
    if (x->nschedulers == x->schedulers_room) {
        uint32_t room = x->schedulers_room ? 2 * x->schedulers_room : 16;

        s = room > UINT16_MAX ? NULL : realloc(x->schedulers, room * sizeof *s);
        if (!s)
            return -1;
        x->schedulers = s;
        x->schedulers_room = room;
    }
    s = &x->schedulers[x->nschedulers];
    *s = (struct x86_schedulers){.units = units};
    for (uint64_t m = units; m; m &= m - 1) {
        const uint8_t buffer = x->scheduler_of[__builtin_ctzll(m)];

        if (memchr(s->buffers, buffer, s->n))
            continue;
        s->firsts[s->n] = m & -m;
        s->buffers[s->n++] = buffer;
    }
    return (int)x->nschedulers++;
}

/** In which of the schedulers that belong to units it may wait: those of the first unit that is chosen at dispatch, else
 * of the first that has one.  Returns: 0, or -1 out of memory */
static int find_schedulers(struct x86 *x, struct x86_op *op)
{
    int use = -1, schedulers;
    uint64_t units;

    for (int i = op->nuses; i-- > 0;)
        if (x->uses[op->first_use + (unsigned)i].units & x->queued_units)
            use = i;
    for (int i = op->turns ? op->nuses : 0; i-- > 0;)
        if (x->uses[op->first_use + (unsigned)i].units & x->queued_units & x->turn_units)
            use = i;
    op->queued = use >= 0;
    op->queued_use = (uint8_t)(use > 0 ? use : 0);
    if (use < 0)
        return 0;
    units = x->uses[op->first_use + (unsigned)use].units & x->queued_units;
    op->queued_turn = op->turns && units & x->turn_units;
    schedulers = schedulers_of(x, units);
    if (schedulers < 0)
        return -1;
    op->schedulers = (uint16_t)schedulers;
    if (!op->span)
        op->span = 1;
    return 0;
}

static uint8_t issue_of(const struct x86_op *op)
{
    if (op->turns)
        return !op->nuses ? ISSUE_FUSED : op->queued && op->flags & OP_ONE_USE ? ISSUE_BOUND : ISSUE_TURN;
    return op->flags & OP_ONE_USE   ? ISSUE_ONE
        : op->flags & OP_SHORT_USES ? ISSUE_SHORT
        : op->nuses                 ? ISSUE_ALL
                                    : ISSUE_AT_ONCE;
}

/** May the block be repeated from what it did before? */
static uint32_t replayable(const struct peet_block *block, const struct x86_op *ops)
{
    for (uint32_t i = 0; i + 1 < block->ninsns; i++)
        if (ops[i].branch)
            return 0;
    return block->nrefs <= X86_REFERENCE_ANSWERS / 4;
}

/** Where the lines of the code end. What stands for a call has none. */
static void find_lines(const struct peet_block *block, struct x86_op *ops)
{
    enum { LINE_BYTES = 64 };
    uint64_t pc = block->pc, line = (pc - 1) / LINE_BYTES;

    for (uint32_t i = 0; i < block->ninsns; i++, pc += ops[i - 1].length_bytes) {
        const uint64_t last = (pc + ops[i].length_bytes - 1) / LINE_BYTES;

        ops[i].lines = (uint8_t)((last != line ? LINE_NEXT : 0) | (!i && last != pc / LINE_BYTES ? LINE_ENTRY : 0));
        line = last;
    }
}

static uint8_t plain_kind(const struct peet_ref *ref)
{
    if (ref->kind > PEET_REF_STORE || ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL))
        return 0;
    return 1 + (ref->kind == PEET_REF_LOAD ? X86_LOAD : X86_STORE);
}

const struct x86_code *x86_digest(struct x86 *x, const struct peet_block *block)
{
    struct x86_code *code;

    if (block->id >= x->ncodes) {
        uint32_t n = x->ncodes ? x->ncodes : 1024;

        while (n <= block->id)
            n *= 2;
        code = realloc(x->codes, n * sizeof *code);
        if (!code) {
            x->env->fail(x->env, "out of memory for %u blocks", n);
            return NULL;
        }
        memset(code + x->ncodes, 0, (n - x->ncodes) * sizeof *code);
        x->codes = code;
        x->ncodes = n;
    }
    code = &x->codes[block->id];
    code->ops = calloc(block->ninsns ? block->ninsns : 1, sizeof *code->ops);
    for (uint32_t i = 0; code->ops && i < block->ninsns; i++)
        if (digest_insn(x, block, &block->insns[i], &code->ops[i])) {
            free(code->ops);
            code->ops = NULL;
        }
    code->refs = calloc(block->nrefs ? block->nrefs : 1, sizeof *code->refs);
    if (!code->ops || !code->refs) {
        x->env->fail(x->env, "out of memory for a block of %u instructions", block->ninsns);
        return NULL;
    }
    code->nops = block->ninsns;
    if (x->config.core == CORE_INORDER)
        spare_units(x, code->ops, code->nops);
    if (x->config.fusion != FUSION_OFF && !stands_for_call(block))
        fuse(x, block, code->ops);
    for (uint32_t i = 0; x->queued_units && i < code->nops; i++)
        if (find_schedulers(x, &code->ops[i])) {
            x->env->fail(x->env, "out of memory for the schedulers of instructions");
            return NULL;
        }
    code->uops = 0;
    for (uint32_t i = 0; i < code->nops; i++) {
        code->ops[i].issue = issue_of(&code->ops[i]);
        code->uops += code->ops[i].uops;
    }
    if (x->config.fetch_past_line == X86_OFF && !stands_for_call(block))
        find_lines(block, code->ops);
    code->replayable = replayable(block, code->ops);
    for (uint32_t i = 0; i < block->nrefs; i++)
        code->refs[i] = (struct x86_code_ref){x86_memory_pc(block, i), block->refs[i].value,
            block->refs[i].size_bytes ? block->refs[i].size_bytes : 1, 0, plain_kind(&block->refs[i])};
    for (uint32_t i = 0; x->renaming && i < block->ninsns; i++)
        if (code->ops[i].kind == OP_LOAD || code->ops[i].kind == OP_MODIFY)
            code->refs[code->ops[i].first_ref].renames =
                (uint8_t)renames_load(&block->insns[i], &block->refs[code->ops[i].first_ref], code->ops[i].kind);
    if (code->nops) {
        code->ends = code->ops[code->nops - 1].branch;
        code->branch_pc = block->pc + block->code_bytes - code->ops[code->nops - 1].length_bytes;
        code->first_place = code->ops[0].place;
        code->last_place = code->ops[code->nops - 1].place;
    }
    code->first_line = block->pc / x->line_bytes;
    code->last_line = (block->pc + (block->code_bytes ? block->code_bytes - 1 : 0)) / x->line_bytes;
    code->block = block;
    return code;
}
