/* SPDX-License-Identifier: Apache-2.0 */
/* See consistency.h. */
#include "consistency/consistency.h"
#include "sync/sync.h"
#include "consistency/explore.h"
#include "base/stats.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------------------- footprints */

/** An access to bytes, not one of a model's conditions. */
static int is_access(unsigned how)
{
    return how <= PEET_DEPENDS_WRITE || how >= PEET_HOW_ADDS;
}

void peet__footprint_add(struct peet_footprint *f, uint64_t address, uint64_t bytes, unsigned view, unsigned how)
{
    if (f->all || !bytes)
        return;
    for (uint32_t i = 0; i < f->n; i++) {
        struct peet_access *a = &f->accesses[i];

        if (a->view != view || a->address != address || a->bytes != bytes)
            continue;
        if (a->how == how)
            return;
        if (is_access(a->how) && is_access(how)) { /* two different ones: one of them writes */
            a->how = PEET_DEPENDS_WRITE;
            return;
        }
    }
    if (f->n == PEET_FOOTPRINT_MOST) {
        f->all = 1;
        return;
    }
    f->accesses[f->n++] = (struct peet_access){address, bytes, (uint8_t)view, (uint8_t)how};
}

void peet__footprint_move(struct peet_footprint *f, const struct peet_move *move)
{
    const unsigned view = move->processor + 1;

    switch (move->kind) {
    case PEET_MOVE_PERFORM: /* its own processor has seen it before */
        peet__footprint_add(f, move->address, move->size_bytes, PEET_VIEW_OTHERS + view, PEET_DEPENDS_WRITE);
        break;
    case PEET_MOVE_SEE:
        peet__footprint_add(f, move->address, move->size_bytes, view, PEET_DEPENDS_WRITE);
        break;
    case PEET_MOVE_MEMORY:
        peet__footprint_add(f, move->address, move->size_bytes, PEET_VIEW_MEMORY, PEET_DEPENDS_WRITE);
        break;
    default:
        f->all = 1;
        break;
    }
}

/** Is there a view in both? */
static int meet(unsigned a, unsigned b)
{
    if (a == b || a == PEET_VIEW_ALL || b == PEET_VIEW_ALL || a == PEET_VIEW_LIBRARY || b == PEET_VIEW_LIBRARY)
        return 1;
    if (a == PEET_VIEW_ONE || b == PEET_VIEW_ONE)
        return 0;
    if (a >= PEET_VIEW_OTHERS && a != PEET_VIEW_MEMORY)
        return b != a - PEET_VIEW_OTHERS;
    if (b >= PEET_VIEW_OTHERS && b != PEET_VIEW_MEMORY)
        return a != b - PEET_VIEW_OTHERS;
    return 0;
}

static enum peet_relation relation(const struct peet_access *earlier, const struct peet_access *later)
{
    if (earlier->address >= later->address + later->bytes || later->address >= earlier->address + earlier->bytes ||
        !meet(earlier->view, later->view))
        return PEET_RELATION_NONE;
    if (earlier->how >= PEET_HOW_ADDS && earlier->how == later->how && earlier->address == later->address &&
        earlier->bytes == later->bytes)
        return PEET_RELATION_NONE;
    if (is_access(earlier->how) && is_access(later->how))
        return earlier->how | later->how ? PEET_RELATION_RACE : PEET_RELATION_NONE;
    if (earlier->how != PEET_DEPENDS_ENABLES)
        return PEET_RELATION_NONE;
    return later->how == PEET_DEPENDS_NEEDS ? PEET_RELATION_NEEDS
        : later->how == PEET_DEPENDS_WAITS  ? PEET_RELATION_WAITS
                                            : PEET_RELATION_NONE;
}

enum peet_relation peet__footprint_relation(const struct peet_footprint *earlier, const struct peet_footprint *later)
{
    enum peet_relation most = earlier->all || later->all ? PEET_RELATION_RACE : PEET_RELATION_NONE;

    for (uint32_t i = 0; i < earlier->n; i++)
        for (uint32_t k = 0; k < later->n; k++) {
            enum peet_relation one = relation(&earlier->accesses[i], &later->accesses[k]);

            most = one > most ? one : most;
        }
    return most;
}

int peet__footprint_meets(const struct peet_footprint *a, const struct peet_footprint *b, unsigned view)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++)
            if ((a->accesses[i].view == view || b->accesses[k].view == view) &&
                relation(&a->accesses[i], &b->accesses[k]))
                return 1;
    return 0;
}

int peet__footprint_shares(const struct peet_footprint *a, const struct peet_footprint *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++)
            if (a->accesses[i].address < PEET_TOKEN_OUTPUT && relation(&a->accesses[i], &b->accesses[k]))
                return 1;
    return 0;
}

int peet__footprint_conflict(const struct peet_footprint *a, const struct peet_footprint *b)
{
    return peet__footprint_relation(a, b) != PEET_RELATION_NONE || peet__footprint_relation(b, a) != PEET_RELATION_NONE;
}

static void touch(struct peet_map_consistency *c, uint64_t address, uint64_t bytes, unsigned view, int write)
{
    if (c->footprint)
        peet__footprint_add(c->footprint, address, bytes, view, write ? PEET_DEPENDS_WRITE : PEET_DEPENDS_READ);
}

/* ------------------------------------------------------------------------------------------- services for the model */

static void view_read(const struct peet_views *views, unsigned view, uint64_t address, void *bytes, size_t n)
{
    const struct peet_map_consistency *c = views->host;

    if (c->world->read(c->world->arg, view, address, bytes, n))
        memset(bytes, 0, n);
}

static void view_perform(const struct peet_views *views, uint64_t to, uint64_t address, const void *bytes, size_t n)
{
    struct peet_map_consistency *c = views->host;
    const uint64_t all = (2ull << views->processors) - 1;
    uint8_t before[64];

    /* a lock that is found taken is written with what it holds: nothing has changed */
    if ((to & all) != all || n > sizeof before || c->world->read(c->world->arg, 0, address, before, n) ||
        memcmp(before, bytes, n))
        c->memory_epoch++;
    c->world->perform(c->world->arg, to, address, bytes, n); /* what is not mapped any more has nobody to see it */
    /*
     * Of moves the explorer says what they touch.  Whatever else a step performs counts as seen by all, also where
     * stores of their own hide it: steps that only hide it could be exchanged with it, and then it is seen by what
     * comes before them.
     */
    if (!c->moving && c->commuting && c->footprint)
        peet__footprint_add(c->footprint, address, n, PEET_VIEW_ALL, c->commuting);
    else if (!c->moving)
        touch(c, address, n, PEET_VIEW_ALL, 1);
}

static void view_depends(const struct peet_views *views, uint64_t first, uint64_t n, unsigned how)
{
    struct peet_map_consistency *c = views->host;

    /* the step that it is part of would have come without it */
    if (c->footprint && !(c->unseen && how >= PEET_DEPENDS_NEEDS))
        peet__footprint_add(c->footprint, PEET_TOKEN_MODEL | first, n, PEET_VIEW_ALL, how);
}

static size_t view_commit(const struct peet_views *views, unsigned processor, uint64_t to)
{
    struct peet_map_consistency *c = views->host;

    c->memory_epoch++;
    return c->world->commit(c->world->arg, processor + 1, to & ~(2ull << processor));
}

static void view_refresh(const struct peet_views *views, unsigned processor)
{
    struct peet_map_consistency *c = views->host;

    c->world->refresh(c->world->arg, processor + 1);
}

static int perform_pending(struct peet_map *map);

/* ------------------------------------------------------------------------------------------------- life and death */

int peet_map_set_consistency(struct peet_map *map, const struct peet_module *module, const struct peet_consistency *ops,
    const union peet_value *values, const struct peet_map_views *world, int sync_only, int exploring,
    struct peet_error *error)
{
    struct peet_map_consistency *c = calloc(1, sizeof *c);
    int err;

    if (!c)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    map->consistency = c;
    map->perform_pending = perform_pending;
    if (map->machine && map->machine->module->main)
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "%s brings its own main loop: no consistency models and no explorations with it",
            map->machine->module->name);
    c->module = module;
    c->world = world;
    c->sync_only = (uint8_t)(sync_only != 0);
    c->exploring = (uint8_t)(exploring != 0);
    if (!module)
        return 0;
    if (map->ncores > PEET_CONSISTENCY_PROCESSORS)
        return peet_error_set(error, PEET_ELIMIT, "%s: %u processors; views can be had for %d", module->name,
            map->ncores, PEET_CONSISTENCY_PROCESSORS);
    if (sync_only && !ops->synchronise)
        return peet_error_set(error, PEET_EINVALID, "%s: offers no interaction at synchronisations only", module->name);
    if (exploring && !ops->moves)
        return peet_error_set(error, PEET_EINVALID, "%s: offers no moves(), so it cannot be explored", module->name);
    c->views = (struct peet_views){PEET_CONSISTENCY_ABI, sizeof c->views, map->ncores, (uint32_t)(exploring != 0),
        view_read, view_perform, view_commit, view_refresh, c, view_depends, (uint32_t)(sync_only != 0)};
    err = peet__map_module_new(map, module, values, 0, 0, &c->instance, error);
    if (err)
        return err;
    c->self = c->instance->self;
    if (ops->begin(c->self, &c->views))
        return peet_error_set(error, PEET_EMODULE, "%s",
            map->error.code ? map->error.message : "the model cannot begin");
    c->ops = ops;
    return 0;
}

void peet__consistency_free(struct peet_map *map)
{
    if (!map->consistency)
        return;
    peet__map_module_free(map->consistency->instance);
    free(map->consistency);
    map->consistency = NULL;
    map->perform_pending = NULL;
}

int peet_map_consistency_stats(struct peet_map *map, json_t *root)
{
    struct peet_map_consistency *c = map->consistency;
    json_t *node;

    if (!c || !c->module)
        return 0;
    node = json_object();
    if (!node || json_object_set_new(root, c->module->name, node))
        return -1;
    if (c->module->stats)
        c->module->stats(c->self, &c->instance->env, (struct peet_stats *)node);
    return json_object_set_new(node, "shared_stores", peet_stats_u64(c->stores));
}

/* -------------------------------------------------------------------------------------------------------- orderings */

static unsigned order_of_insn(const struct peet_block *block, const struct peet_insn *insn)
{
    const char *name = insn->opcode->mnemonic;
    const struct peet_ref *ref = insn->nrefs ? &block->refs[insn->first_ref] : NULL;

    if (insn->opcode->klass == PEET_INSN_ATOMIC)
        return PEET_ORDERING_FULL;
    if (insn->opcode->klass == PEET_INSN_FENCE)
        return !strcmp(name, "sfence") ? PEET_ORDERING_STORES
            : !strcmp(name, "lfence")  ? PEET_ORDERING_ACQUIRE
                                       : PEET_ORDERING_FULL;
    if (!ref || !(ref->flags & PEET_REF_ATOMIC))
        return 0;
    if (ref->kind == PEET_REF_MODIFY)
        return PEET_ORDERING_FULL;
    if (ref->kind == PEET_REF_STORE)
        return ref->order >= PEET_ORDER_RELEASE ? PEET_ORDERING_BEFORE_STORE : 0;
    return ref->order == PEET_ORDER_SEQ_CST ? PEET_ORDERING_FULL | PEET_ORDERING_LOAD
        : ref->order >= PEET_ORDER_ACQUIRE  ? PEET_ORDERING_ACQUIRE
                                            : 0;
}

unsigned peet__consistency_ordering(struct peet_map *map, uint64_t pc)
{
    const struct peet_block *block = map->ops->block_of_turn ? map->ops->block_of_turn(map->source, pc) : NULL;

    if (!block)
        return PEET_ORDERING_FULL; /* nothing known: the safe side */
    return block->ninsns ? order_of_insn(block, &block->insns[0]) : 0;
}

int peet__consistency_runs(struct peet_map *map, uint64_t number)
{
    const struct peet_map_thread *t = number == PEET_NEVER ? NULL : peet__thread_find(map, number);

    return t && t->context && !t->detached && !t->joiner;
}

unsigned peet__consistency_meaning(struct peet_map *map, const struct peet_abstract_event *event)
{
    switch (event->type) {
    case PEET_ABSTRACT_ATOMIC:
        return event->nargs ? peet__consistency_ordering(map, event->args[0]) : PEET_ORDERING_FULL;
    case PEET_ABSTRACT_ALLOC:
    case PEET_ABSTRACT_FREE:
    case PEET_ABSTRACT_PHASE:
    case PEET_ABSTRACT_ROI_BEGIN:
    case PEET_ABSTRACT_ROI_END:
    case PEET_ABSTRACT_CLOCK:
    case PEET_ABSTRACT_RANGE:
    case PEET_ABSTRACT_TASK:
    case PEET_ABSTRACT_THREAD_DETACH:
    case PEET_ABSTRACT_INTERRUPT:
        return 0;
    case PEET_ABSTRACT_MUTEX_LOCK:
    case PEET_ABSTRACT_MUTEX_TRYLOCK:
    case PEET_ABSTRACT_RWLOCK_READ:
    case PEET_ABSTRACT_RWLOCK_WRITE:
    case PEET_ABSTRACT_RWLOCK_TRYREAD:
    case PEET_ABSTRACT_RWLOCK_TRYWRITE:
    case PEET_ABSTRACT_SEM_WAIT:
    case PEET_ABSTRACT_SEM_TRYWAIT:
    case PEET_ABSTRACT_WAIT:
    case PEET_ABSTRACT_ONCE_BEGIN:
        return PEET_ORDERING_ACQUIRE | PEET_ORDERING_FULL;
    case PEET_ABSTRACT_THREAD_CREATE:
    case PEET_ABSTRACT_CONTEXT_EXIT:
        return PEET_ORDERING_RELEASE | PEET_ORDERING_SEEN;
    /* what the thread has stored is seen by everybody; what it has seen, not yet here.  One that waits: SYNC_GRANT */
    case PEET_ABSTRACT_THREAD_JOIN:
        return event->nargs && peet__consistency_runs(map, event->args[0]) ? 0 : PEET_ORDERING_ACQUIRE;
    default: /* all that synchronises, and all whose effects others see: threads, loops, system calls, library code */
        return PEET_ORDERING_FULL;
    }
}

/* ----------------------------------------------------------------------------------------------------------- stores */

/** A piece of a store of the core's context that is in its view already. */
static void store(struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes, unsigned flags, uint64_t now)
{
    struct peet_map_consistency *c = map->consistency;
    uint8_t piece[64];

    c->stores++;
    c->memory_epoch += !(flags & PEET_STORE_LOCKED);
    while (bytes) {
        uint32_t n = bytes < sizeof piece ? (uint32_t)bytes : (uint32_t)sizeof piece;
        struct peet_store one = {address, n, flags, piece};

        c->world->stored(c->world->arg, hw + 1, address, n);
        if (!c->world->read(c->world->arg, hw + 1, address, piece, n))
            c->ops->store(c->self, hw, &one, now);
        address += n;
        bytes -= n;
    }
}

static int has_register(const uint8_t *regs, unsigned n, unsigned which)
{
    return n && memchr(regs, (int)which, n) != NULL;
}

/** Does somebody behind this instruction of a block look at the flags that it leaves?  Calls and returns hand none on.
 */
static int flags_seen(const struct peet_block *block, uint32_t at)
{
    for (uint32_t i = at + 1; i < block->ninsns; i++) {
        const struct peet_insn *insn = &block->insns[i];

        if (has_register(insn->regs, insn->nreads, PEET_REG_FLAGS))
            return 1;
        if (has_register(insn->regs + insn->nreads, insn->nwrites, PEET_REG_FLAGS) ||
            insn->opcode->klass == PEET_INSN_CALL || insn->opcode->klass == PEET_INSN_RETURN)
            return 0;
    }
    return 1;
}

/** Is it one of the locked operations that change places with their like?  Returns: PEET_HOW_..., 0: no */
static unsigned commutes(const struct peet_block *block, const struct peet_ref *ref)
{
    static const struct {
        const char *name;
        uint8_t how;
    } kinds[] = {{"inc", PEET_HOW_ADDS}, {"dec", PEET_HOW_ADDS}, {"add", PEET_HOW_ADDS}, {"sub", PEET_HOW_ADDS},
        {"and", PEET_HOW_ANDS}, {"or", PEET_HOW_ORS}, {"xor", PEET_HOW_XORS}};
    const struct peet_insn *insn = &block->insns[ref->insn];

    if (insn->opcode->klass != PEET_INSN_ATOMIC || ref->kind != PEET_REF_MODIFY || insn->nwrites != 1 ||
        insn->regs[insn->nreads] != PEET_REG_FLAGS)
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(insn->opcode->mnemonic, kinds[i].name))
            return flags_seen(block, ref->insn) ? 0 : kinds[i].how;
    return 0;
}

int peet__consistency_value(const struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes,
    uint64_t *out_value)
{
    const struct peet_map_consistency *c = map->consistency;
    uint64_t words[8] = {0}, hash = 0;

    if (bytes > sizeof words || c->world->read(c->world->arg, c->ops ? hw + 1 : 0, address, words, bytes))
        return -1;
    for (size_t i = 0; i < (bytes + 7) / 8; i++)
        hash = i ? (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u + words[i] : words[i];
    *out_value = hash;
    return 0;
}

static void note_read(const struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes)
{
    struct peet_looked *looked = &map->consistency->looked[hw];
    uint64_t value;

    if (looked->n == PEET_LOOKED_MOST || peet__consistency_value(map, hw, address, bytes, &value))
        looked->more = 1;
    else
        looked->reads[looked->n++] = (struct peet_read){address, bytes, value};
}

/** Has the locked operation that has just been made found what it leaves?  So a lock that is taken is tried again. */
static int leaves_it(const struct peet_map *map, unsigned hw, uint64_t address, uint64_t bytes)
{
    struct peet_looked *looked = map->consistency->looked ? &map->consistency->looked[hw] : NULL;
    struct peet_read now = {address, bytes, 0};
    int same;

    if (!looked || peet__consistency_value(map, hw, address, bytes, &now.value))
        return 0;
    same = looked->as_left && looked->modified.address == address && looked->modified.bytes == bytes &&
        looked->modified.value == now.value;
    looked->modified = now;
    looked->as_left = 0;
    return same;
}

/** A call that leads to no entry leads to code that is not seen; so may a jump that ends a function. */
static void note_call(struct peet_map_consistency *c, unsigned hw, const struct peet_block *block)
{
    struct peet_looked *looked = &c->looked[hw];
    const struct peet_block *caller = looked->calling;

    if (caller && !(block->flags & PEET_BLOCK_ENTRY))
        looked->outside = 1;
    looked->calling = block->ninsns && block->insns[block->ninsns - 1].opcode->klass == PEET_INSN_CALL ? block : NULL;
    if (c->gaps & PEET_GAP_UNSEEN || !c->world->unseen || !c->world->concurrent(c->world->arg))
        return;
    if ((caller && !(block->flags & PEET_BLOCK_ENTRY) && c->world->unseen(c->world->arg, caller, 1)) ||
        c->world->unseen(c->world->arg, block, 0))
        c->gaps |= PEET_GAP_UNSEEN;
}

static void note_framed(struct peet_map_consistency *c, unsigned hw, int stores)
{
    c->frame_stores += (uint64_t)stores;
    if (c->looked)
        c->looked[hw].framed += (uint64_t)stores;
}

/** On a stack: the same in all views, at once. */
static void one_for_all(struct peet_map_consistency *c, uint64_t address, uint64_t bytes, int writes)
{
    c->private_stores += (uint64_t)writes;
    c->memory_epoch += (uint64_t)writes;
    touch(c, address, bytes, PEET_VIEW_ONE, writes);
}

static void note_made(struct peet_map_consistency *c, const struct peet_made *made)
{
    if (c->made && c->nmade == PEET_MADE_MOST)
        c->more++;
    else if (c->made)
        c->made[c->nmade++] = *made;
}

static void reference(struct peet_map *map, unsigned hw, const struct peet_block *block, const struct peet_ref *ref,
    const uint64_t *values, uint64_t now)
{
    struct peet_map_consistency *c = map->consistency;
    const int modelled = c->ops && !c->sync_only && c->world->concurrent(c->world->arg);
    const struct peet_insn *insn = &block->insns[ref->insn];
    const int writes = ref->kind == PEET_REF_STORE || ref->kind == PEET_REF_MODIFY;
    const unsigned commuting = c->footprint ? commutes(block, ref) : 0;
    unsigned flags = 0;

    if (ref->flags & PEET_REF_TLS && writes && c->exploring && map->cores[hw].context)
        map->cores[hw].context->private_stores++;
    if (ref->kind == PEET_REF_PREFETCH || ref->flags & PEET_REF_FETCH ||
        /* its own, unless its address has been given away: then it waits */
        (ref->flags & (PEET_REF_STACK | PEET_REF_TLS) && !(block->flags & PEET_BLOCK_TURN)))
        return;
    if (!c->footprint && (!modelled || !writes))
        return;
    if (insn->opcode->klass == PEET_INSN_ATOMIC)
        flags |= PEET_STORE_LOCKED;
    if (ref->flags & PEET_REF_ATOMIC && ref->order >= PEET_ORDER_RELEASE && ref->kind == PEET_REF_STORE)
        flags |= PEET_STORE_RELEASE;
    for (struct peet_ref_iter it = peet_ref_begin(ref, values); it.count; it.count--, it.address += (uint64_t)it.step) {
        uint64_t bytes = ref->size_bytes;

        if (ref->flags & PEET_REF_RANGE && it.step == (int64_t)ref->size_bytes) { /* all of it at once */
            bytes *= it.count;
            it.count = 1;
        }
        if (c->looked && ref->kind != PEET_REF_STORE)
            note_read(map, hw, it.address, bytes);
        note_made(c,
            &(struct peet_made){
                it.address, bytes, ref->kind, (flags & PEET_STORE_LOCKED) != 0, insn->line, hw, block->function});
        if (modelled && !c->world->shared(c->world->arg, it.address)) {
            note_framed(c, hw, writes && ref->flags & PEET_REF_STACK);
            one_for_all(c, it.address, bytes, writes);
            continue;
        }
        if (ref->kind != PEET_REF_STORE && !commuting)
            touch(c, it.address, bytes, modelled ? hw + 1 : PEET_VIEW_ALL, 0);
        if (!writes)
            continue;
        if (ref->kind == PEET_REF_MODIFY && !(flags & PEET_STORE_LOCKED) && c->exploring &&
            c->world->concurrent(c->world->arg))
            c->gaps |= PEET_GAP_WHOLE;
        c->commuting = (uint8_t)commuting;
        if (modelled) {
            store(map, hw, it.address, bytes, flags, now);
        } else {
            c->memory_epoch += !(flags & PEET_STORE_LOCKED && leaves_it(map, hw, it.address, bytes));
            note_framed(c, hw, (ref->flags & PEET_REF_STACK) != 0);
            if (commuting)
                peet__footprint_add(c->footprint, it.address, bytes, PEET_VIEW_ALL, commuting);
            else if (!(flags & PEET_STORE_LOCKED) || !peet__consistency_as_before(map, hw, it.address, bytes))
                touch(c, it.address, bytes, PEET_VIEW_ALL, 1);
        }
        c->commuting = 0;
    }
}

void peet__consistency_blocks(struct peet_map *map, struct peet_map_core *core, const struct peet_block_event *events,
    unsigned n)
{
    struct peet_map_consistency *c = map->consistency;
    const unsigned hw = (unsigned)(core - map->cores);
    uint64_t own[64];

    if (c->locked && c->ops) { /* sync_only: what it has done is everybody's at once */
        c->locked = 0;
        c->ops->synchronise(c->self, hw, PEET_ORDERING_FULL, core->clock);
    } else if (c->sync_only && c->ops && c->ops->step && !c->exploring && c->world->concurrent(c->world->arg)) {
        c->ops->step(c->self, hw, core->clock);
    }
    if (!c->footprint && (!c->ops || c->sync_only || !c->world->concurrent(c->world->arg)))
        return;
    for (unsigned i = 0; i < n; i++) {
        const struct peet_block *block = events[i].block;
        const uint64_t *values = events[i].values;

        if (c->looked)
            note_call(c, hw, block);
        if (!values || !block->nrefs)
            continue;
        for (uint64_t turn = 0; turn < events[i].turns; turn++) {
            if (turn && block->nvalues > sizeof own / sizeof *own) { /* nobody has asked for loops then */
                peet__map_fail(map, PEET_ESTREAM, "consistency: a loop's block with %u values", block->nvalues);
                return;
            }
            if (events[i].turns > 1 && block->nvalues <= sizeof own / sizeof *own) {
                for (uint32_t v = 0; v < block->nvalues; v++)
                    own[v] = events[i].values[v] + (uint64_t)events[i].strides[v] * turn;
                values = own;
            }
            for (uint32_t r = 0; r < block->nrefs; r++)
                reference(map, hw, block, &block->refs[r], values, core->clock);
        }
    }
}

void peet__consistency_library(struct peet_map *map, struct peet_map_core *core, const struct peet_block_event *event)
{
    struct peet_map_consistency *c = map->consistency;

    if (!c->footprint || (!c->made && !c->world->concurrent(c->world->arg)))
        return;
    for (uint32_t r = 0; r < event->block->nrefs; r++) {
        const struct peet_ref *ref = &event->block->refs[r];
        const int writes = ref->kind == PEET_REF_STORE || ref->kind == PEET_REF_MODIFY;

        if (ref->kind == PEET_REF_PREFETCH || ref->flags & PEET_REF_FETCH)
            continue;
        for (struct peet_ref_iter it = peet_ref_begin(ref, event->values); it.count;
            it.count--, it.address += (uint64_t)it.step) {
            uint64_t bytes = ref->size_bytes;

            if (ref->flags & PEET_REF_RANGE && it.step == (int64_t)ref->size_bytes) {
                bytes *= it.count;
                it.count = 1;
            }
            note_made(c,
                &(struct peet_made){
                    it.address, bytes, ref->kind, 0, 0, (uint32_t)(core - map->cores), event->block->function});
            if (!c->world->concurrent(c->world->arg))
                continue;
            touch(c, it.address, bytes, PEET_VIEW_LIBRARY, writes);
            c->memory_epoch += (uint64_t)writes;
        }
    }
}

/* ---------------------------------------------------------------------------------------------------------- events */

static void order(struct peet_map *map, unsigned hw, unsigned ordering, uint64_t now)
{
    struct peet_map_consistency *c = map->consistency;

    if (!c->ops || !ordering)
        return;
    if (c->sync_only)
        c->ops->synchronise(c->self, hw, ordering, now);
    else
        c->ops->order(c->self, hw, ordering, now);
}

int peet__consistency_waits(struct peet_map *map, unsigned hw, const struct peet_abstract_event *event)
{
    struct peet_map_consistency *c = map->consistency;
    unsigned ordering;

    if (!c->ops || c->sync_only || !c->ops->waits || !(ordering = peet__consistency_meaning(map, event)))
        return 0;
    return c->ops->waits(c->self, hw, ordering);
}

int peet__consistency_outside(const struct peet_abstract_event *event)
{
    return event->type == PEET_ABSTRACT_CLOCK && event->nargs > 1;
}

/**
 * OpenMP's runtime, whose own references are not seen, takes a turn for a datum before it looks at it and changes it;
 * and it looks again when a sleep on a semaphore is over.
 */
static void touch_ordered(struct peet_map *map, struct peet_map_context *context,
    const struct peet_abstract_event *event)
{
    if (event->type == PEET_ABSTRACT_ATOMIC && event->nargs && map->ops->block_of_turn &&
        !map->ops->block_of_turn(map->source, event->args[0]))
        context->ordered = event->args[0];
    else if (event->type != PEET_ABSTRACT_SEM_WAIT &&
        (event->type != PEET_ABSTRACT_SYNC_GRANT || context->request.type != PEET_ABSTRACT_SEM_WAIT))
        return;
    if (context->ordered)
        touch(map->consistency, context->ordered, 1, PEET_VIEW_ALL, 1);
}

int peet__consistency_timed(const struct peet_abstract_event *event)
{
    static const struct {
        uint8_t type, deadline;
    } waits[] = {{PEET_ABSTRACT_THREAD_JOIN, 1}, {PEET_ABSTRACT_MUTEX_LOCK, 2}, {PEET_ABSTRACT_RWLOCK_READ, 2},
        {PEET_ABSTRACT_RWLOCK_WRITE, 2}, {PEET_ABSTRACT_COND_WAIT, 3}, {PEET_ABSTRACT_SEM_WAIT, 1},
        {PEET_ABSTRACT_IO_WAIT, 2}};

    if (event->type == PEET_ABSTRACT_SLEEP || (event->type == PEET_ABSTRACT_CLOCK && !peet__consistency_outside(event)))
        return 1;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (event->type == waits[i].type && event->nargs > waits[i].deadline && event->args[waits[i].deadline] &&
            event->args[waits[i].deadline] != PEET_NEVER)
            return 1;
    return 0;
}

/** A mutex, beyond that the order of steps that use it is seen: who takes it has to wait until it has been given back,
 * and would not if the other one had taken it later. */
static void touch_mutex(struct peet_map *map, const struct peet_map_core *core, uint64_t address, int takes)
{
    const struct peet_map_object *o = takes ? NULL : peet__sync_find(map, address, PEET_SYNC_MUTEX);

    touch(map->consistency, address, 1, PEET_VIEW_ALL, 1);
    if (peet__lock_modelled(map)) /* it is memory, and who asks can always go on */
        return;
    if (takes || (o && o->held && o->owner == core->context->number))
        peet__footprint_add(map->consistency->footprint, address, 1, PEET_VIEW_ALL,
            takes ? PEET_DEPENDS_WAITS : PEET_DEPENDS_ENABLES);
}

/** What an abstract event shares with others, for the footprint. */
static void touch_event(struct peet_map *map, const struct peet_map_core *core, const struct peet_abstract_event *event)
{
    struct peet_map_consistency *c = map->consistency;

    if (!c->footprint)
        return;
    touch_ordered(map, core->context, event);
    /* who joins a thread that is over comes after its end; who joins it before waits, and it makes no difference */
    if (event->type == PEET_ABSTRACT_CONTEXT_EXIT && core->context->thread)
        peet__footprint_add(c->footprint, PEET_TOKEN_THREAD + core->context->thread->number, 1, PEET_VIEW_ALL,
            PEET_DEPENDS_ENABLES);
    else if (event->type == PEET_ABSTRACT_THREAD_JOIN && event->nargs && !peet__consistency_runs(map, event->args[0]))
        peet__footprint_add(c->footprint, PEET_TOKEN_THREAD + event->args[0], 1, PEET_VIEW_ALL, PEET_DEPENDS_NEEDS);
    else if (event->type == PEET_ABSTRACT_SYNC_GRANT && core->context->relocking)
        touch_mutex(map, core, core->context->request.args[1], 1);
    else if ((event->type == PEET_ABSTRACT_MUTEX_LOCK || event->type == PEET_ABSTRACT_MUTEX_UNLOCK) && event->nargs)
        touch_mutex(map, core, event->args[0],
            event->type == PEET_ABSTRACT_MUTEX_LOCK && !peet__consistency_timed(event));
    else if (event->type >= PEET_ABSTRACT_SYNC_INIT && event->type <= PEET_ABSTRACT_WAIT && event->nargs) {
        touch(c, event->args[0], 1, PEET_VIEW_ALL, event->type != PEET_ABSTRACT_SEM_VALUE);
        if (event->type == PEET_ABSTRACT_COND_WAIT)
            touch_mutex(map, core, event->args[1], 0);
    } else if (event->type == PEET_ABSTRACT_LOOP_NEXT || event->type == PEET_ABSTRACT_LOOP_INIT) {
        touch(c, event->args[0], 1, PEET_VIEW_ALL, 1);
    } else if (event->type == PEET_ABSTRACT_SYSCALL || event->type == PEET_ABSTRACT_PROGRAM_EXIT ||
        peet__consistency_outside(event)) {
        touch(c, PEET_TOKEN_OUTPUT, 1, PEET_VIEW_ALL, 1);
    }
}

/** Of these nothing is left if the context waits, or is over, before its next step: nobody has looked. */
static int comes(unsigned type)
{
    return type == PEET_ABSTRACT_SYNC_GRANT || type == PEET_ABSTRACT_CONTEXT_START ||
        type == PEET_ABSTRACT_VIEW_LEAVE || type == PEET_ABSTRACT_THREAD_JOIN;
}

void peet__consistency_event(struct peet_map *map, struct peet_map_core *core, const struct peet_abstract_event *event)
{
    struct peet_map_consistency *c = map->consistency;
    const unsigned hw = (unsigned)(core - map->cores);
    unsigned ordering;

    c->events++;
    ordering = peet__consistency_meaning(map, event);
    if (event->type != PEET_ABSTRACT_VIEW_LEAVE && !(ordering & PEET_ORDERING_LOAD) &&
        ordering & (PEET_ORDERING_FULL | PEET_ORDERING_RELEASE))
        c->emptied &= ~(1ull << hw % 64);
    touch_event(map, core, event);
    if (event->type != PEET_ABSTRACT_ATOMIC && event->type != PEET_ABSTRACT_YIELD &&
        event->type != PEET_ABSTRACT_CLOCK && event->type != PEET_ABSTRACT_SLEEP)
        c->memory_epoch++;
    if (c->exploring && peet__consistency_timed(event))
        c->gaps |= PEET_GAP_TIME;
    if (!c->ops)
        return;
    if (c->exploring && !c->sync_only && comes(event->type) && !peet__consistency_waits(map, hw, event)) {
        c->came |= ordering ? 1ull << hw : 0;
        return;
    }
    if (event->type == PEET_ABSTRACT_ATOMIC) {
        core->context->ordering = (uint8_t)(ordering | 128);
        return;
    }
    if (!c->sync_only && c->ops->step)
        c->ops->step(c->self, hw, core->clock);
    order(map, hw, ordering, core->clock);
}

void peet__consistency_access(struct peet_map *map, struct peet_map_core *core)
{
    struct peet_map_consistency *c = map->consistency;
    const unsigned hw = (unsigned)(core - map->cores), ordering = core->context->ordering & 127u;

    core->context->ordering = 0;
    if (!c->ops)
        return;
    if (c->sync_only) { /* relaxed and volatile accesses too: programs synchronise by them */
        c->locked = 1;
        order(map, hw, ordering | PEET_ORDERING_ACQUIRE, core->clock);
        return;
    }
    if (c->ops->step)
        c->ops->step(c->self, hw, core->clock);
    order(map, hw, ordering, core->clock);
}

/* map->perform_pending */
static int perform_pending(struct peet_map *map)
{
    struct peet_map_consistency *c = map->consistency;
    const uint64_t before = c->memory_epoch;

    if (c->exploring || c->sync_only)
        return 0;
    for (unsigned p = 0; p < map->ncores; p++)
        order(map, p, PEET_ORDERING_FULL, map->cores[p].clock);
    return c->memory_epoch != before;
}

void peet__consistency_came(struct peet_map *map)
{
    struct peet_map_consistency *c = map->consistency;
    struct peet_footprint *kept = c->footprint;

    /* Sooner is not another execution than later: what comes after it can be seen at any time, as moves say */
    c->footprint = NULL;
    for (; c->came; c->came &= c->came - 1) {
        const unsigned hw = (unsigned)__builtin_ctzll(c->came);

        if (map->cores[hw].context)
            order(map, hw, PEET_ORDERING_FULL, map->cores[hw].clock);
    }
    c->footprint = kept;
}

void peet__consistency_switch(struct peet_map *map, unsigned hw)
{
    struct peet_map_consistency *c = map->consistency;

    if (c->ops && c->exploring && !c->sync_only) {
        c->came |= 1ull << hw;
        return;
    }
    order(map, hw, PEET_ORDERING_FULL, map->cores[hw].clock);
}

void peet_map_alone(struct peet_map *map)
{
    struct peet_map_consistency *c = map->consistency;
    struct peet_footprint *kept;

    if (!c || !c->ops)
        return;
    /* Nobody looks: the step that left one context alone, the end of another, does not come after what others did */
    kept = c->footprint;
    c->footprint = NULL;
    for (unsigned p = 0; p < map->ncores; p++)
        order(map, p, PEET_ORDERING_FULL, map->cores[p].clock);
    c->footprint = kept;
    for (unsigned p = 0; p < map->ncores; p++) /* no view may hold what main memory is going to leave behind */
        c->world->refresh(c->world->arg, p + 1);
}
