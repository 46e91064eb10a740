/* SPDX-License-Identifier: Apache-2.0 */
/* See explore.h. */
#include "consistency/explore.h"
#include "sync/sync.h"

#include <stdlib.h>
#include <string.h>

enum { SEEN = 16, BUSY = 128 };

/** A core, standing before something that others can notice. */
struct stand {
    struct peet_abstract_event event;
    uint64_t args[8];
    uint8_t standing;
    uint8_t began; /* it has done something since the last step: the footprint below */
    /* spinning: accesses seen since it has changed something, and how much it had read before each */
    uint64_t epoch, did_at, seen[SEEN];
    uint32_t nseen, from[SEEN], spins_from; /* spins_from: the first read of the round that it repeats */
    uint8_t spins, spins_outside;           /* outside: what it has read is not known */
    uint64_t did;                           /* steps in which it has changed something */
    /* spinning that counts: its registers are never the same, but it looks at one place, and nobody else changes
     * anything */
    struct look {
        uint64_t pc, address, foreign, own;
        uint32_t times, busy; /* busy: it has changed something itself between; so it may well get on, for a while */
    } looks[SEEN];
    uint32_t nlooks;
    struct look *look;  /* of the access before which it stands */
    uint64_t own, most; /* changes of memory that were its own; looks at one place until it has to wait */
    uint8_t counts;
    uint32_t clocks; /* it has read without anything visible between */
};

struct explore {
    struct peet_map *map;
    struct stand *stands;
    struct peet_footprint *footprint; /* of the step under way */
    uint64_t steps, epoch;            /* epoch: of memory, when the step under way began */
    unsigned acting, releases;        /* acting: whose step that is */
    uint64_t changes;                 /* epoch, without those of functions to their own frames */
    int moving;                       /* it is the model's */
    struct peet_step *unexplained;    /* that step, if somebody wants it explained */
};

void peet_map_set_chooser(struct peet_map *map, const struct peet_map_chooser *chooser)
{
    map->chooser = chooser;
}

enum peet_explore_end peet_map_explore_end(const struct peet_map *map)
{
    return (enum peet_explore_end)map->explore_end;
}

uint32_t peet_map_explore_gaps(const struct peet_map *map)
{
    return map->consistency ? map->consistency->gaps : 0;
}

int peet_map_view_read(struct peet_map *map, int processor, uint64_t address, void *bytes, size_t n)
{
    const struct peet_map_consistency *c = map->consistency;

    return c->world->read(c->world->arg, c->ops ? (unsigned)(processor + 1) : 0, address, bytes, n);
}

int64_t peet_map_context_on(const struct peet_map *map, unsigned processor)
{
    return processor < map->ncores && map->cores[processor].context ? (int64_t)map->cores[processor].context->number
                                                                    : -1;
}

/** Does somebody else notice when it happens? */
static int visible(const struct peet_abstract_event *event)
{
    switch (event->type) {
    case PEET_ABSTRACT_SYNC_INIT:
    case PEET_ABSTRACT_SYNC_DESTROY:
    case PEET_ABSTRACT_SLEEP:
    case PEET_ABSTRACT_RANGE:
    case PEET_ABSTRACT_TASK:
        return 0;
    case PEET_ABSTRACT_CLOCK:
        return peet__consistency_outside(event);
    case PEET_ABSTRACT_SYNC_GRANT:
    case PEET_ABSTRACT_THREAD_JOIN:
    case PEET_ABSTRACT_PROGRAM_EXIT:
    case PEET_ABSTRACT_CONTEXT_START: /* what a thread does before its first access may end the program */
        return 1;
    default:
        return event->type >= PEET_ABSTRACT_MUTEX_LOCK && event->type <= PEET_ABSTRACT_INTERRUPT;
    }
}

/** What a context has in places where nobody else looks: on its stack, and how often it has stored to thread-local
 * variables. */
static uint64_t private_state(const struct explore *e, const struct stand *s)
{
    const struct peet_map *map = e->map;
    const struct peet_map_context *c = map->cores[s - e->stands].context;

    return (map->ops->state ? map->ops->state(map->source, c->source) : 0) + c->private_stores;
}

/** Has the step under way changed something?  What it has in its frame, private_state() knows. */
static int changed(const struct explore *e)
{
    const struct peet_map_consistency *c = e->map->consistency;

    return c->memory_epoch - c->frame_stores != e->changes;
}

/** How often a context has changed something itself, with the step under way.  Its stores that leave a buffer do not
 * count: it does not see when. */
static uint64_t did(const struct explore *e, const struct stand *s)
{
    return s->did + (s == &e->stands[e->acting] && !e->moving && changed(e));
}

/** Would it read again what it has read? */
static int unchanged(const struct explore *e, const struct stand *s, uint32_t from)
{
    const unsigned hw = (unsigned)(s - e->stands);
    const struct peet_looked *looked = &e->map->consistency->looked[hw];
    uint64_t value;

    for (uint32_t i = from; i < looked->n; i++)
        if (peet__consistency_value(e->map, hw, looked->reads[i].address, looked->reads[i].bytes, &value) ||
            value != looked->reads[i].value)
            return 0;
    return 1;
}

/** Changes of memory but those of its functions to their own frames, which private_state() knows. */
static uint64_t others_epoch(const struct explore *e, const struct stand *s)
{
    const struct peet_map_consistency *c = e->map->consistency;

    return c->memory_epoch - c->looked[s - e->stands].framed;
}

static void forget(struct stand *s, struct peet_looked *looked)
{
    s->nseen = 0;
    looked->n = looked->more = looked->outside = 0;
}

/**
 * A context that comes to the same access with the same registers and the same stack as before, has changed nothing in
 * between, and would read the same again, will come to it again: it waits until something has changed that it has read.
 * A loop that only looks has then an end in every execution, and looks once at each value.
 */
static void note_same(struct explore *e, struct stand *s)
{
    const uint64_t epoch = others_epoch(e, s);
    struct peet_looked *looked = &e->map->consistency->looked[s - e->stands];
    uint64_t key = (s->args[0] * 0x9e3779b97f4a7c15u) ^ s->args[1];

    key = (key ^ key >> 31) * 0x9e3779b97f4a7c15u + private_state(e, s);
    if (s->did_at != did(e, s) || looked->more || (looked->outside && s->epoch != epoch))
        forget(s, looked);
    s->did_at = did(e, s);
    s->epoch = epoch;
    for (uint32_t i = 0; i < s->nseen; i++) {
        if (s->seen[i] != key)
            continue;
        if (unchanged(e, s, s->from[i])) {
            s->spins = 1;
            s->spins_from = s->from[i];
            s->spins_outside = looked->outside;
            return;
        }
        forget(s, looked);
    }
    if (s->nseen == SEEN) {
        memmove(s->seen, s->seen + 1, (SEEN - 1) * sizeof *s->seen);
        memmove(s->from, s->from + 1, (SEEN - 1) * sizeof *s->from);
        s->nseen--;
    }
    s->from[s->nseen] = looked->n;
    s->seen[s->nseen++] = key;
}

/** Would it only come round again? */
static int spins_on(const struct explore *e, struct stand *s)
{
    const uint64_t epoch = others_epoch(e, s);

    if (!s->spins || (s->epoch != epoch && (s->spins_outside || !unchanged(e, s, s->spins_from))))
        return 0;
    s->epoch = epoch;
    return 1;
}

/** Changes of memory that were this context's own, with those of the step under way. */
static uint64_t own(const struct explore *e, const struct stand *s)
{
    return s->own + (s == &e->stands[e->acting] ? e->map->consistency->memory_epoch - e->epoch : 0);
}

static uint64_t foreign(const struct explore *e, const struct stand *s)
{
    return e->map->consistency->memory_epoch - own(e, s);
}

/** A context that looks at one place again and again, with other registers each time (it counts, or has read a clock),
 * waits after so many looks. */
static void note_look(struct explore *e, struct stand *s)
{
    struct look *look = NULL;

    for (uint32_t i = 0; i < s->nlooks && !look; i++)
        if (s->looks[i].pc == s->args[0])
            look = &s->looks[i];
    if (!look) {
        look = &s->looks[s->nlooks < SEEN ? s->nlooks++ : (uint32_t)(s->args[0] / 4 % SEEN)];
        *look = (struct look){.pc = s->args[0]};
    }
    if (look->foreign != foreign(e, s))
        look->times = look->busy = 0;
    look->foreign = foreign(e, s);
    if (look->own != own(e, s))
        look->busy++, look->times = 0;
    look->own = own(e, s);
    s->counts = ++look->times > s->most || look->busy > s->most * BUSY;
    s->look = look;
}

static void note_spin(struct explore *e, struct stand *s)
{
    s->spins = s->counts = 0;
    s->look = NULL;
    s->clocks = 0;
    if (s->event.type == PEET_ABSTRACT_CLOCK)
        s->nseen = 0; /* what it has written counts as a change, if not of memory */
    if (s->event.type != PEET_ABSTRACT_ATOMIC)
        return;
    note_same(e, s);
    note_look(e, s);
}

/** A step is over: what it has changed was its own doing; what it has looked at is known now. */
static void note_step(struct explore *e, const struct peet_option *option, struct look *look)
{
    const struct peet_footprint *f = e->footprint;
    uint32_t i = 0;

    if (!option->is_move || option->move.kind != PEET_MOVE_SEE)
        e->stands[option->hw].own += e->map->consistency->memory_epoch - e->epoch;
    if (!option->is_move)
        e->stands[option->hw].did += (uint64_t)changed(e);
    e->epoch = e->map->consistency->memory_epoch;
    e->changes = e->epoch - e->map->consistency->frame_stores;
    while (look && i < f->n && (f->accesses[i].how > PEET_DEPENDS_WRITE || f->accesses[i].address >= PEET_TOKEN_OUTPUT))
        i++;
    if (look && i < f->n && look->address != f->accesses[i].address) {
        look->address = f->accesses[i].address;
        look->times = look->busy = 0;
    }
}

/** Nothing goes on but contexts that count: they look again, and time has passed.  Returns: 0 if there are none */
static int release(struct explore *e)
{
    enum { FIRST_CYCLES = 1000, DOUBLINGS = 40 };
    int any = 0;

    for (unsigned hw = 0; hw < e->map->ncores; hw++) {
        struct stand *s = &e->stands[hw];

        if (!s->standing || !s->counts || s->spins)
            continue;
        s->counts = 0;
        s->look->times = s->look->busy = 0;
        s->most *= 2;
        e->map->cores[hw].clock += (uint64_t)FIRST_CYCLES << (e->releases < DOUBLINGS ? e->releases : DOUBLINGS);
        if (e->map->cores[hw].clock > e->map->now)
            e->map->now = e->map->cores[hw].clock;
        any = 1;
    }
    e->releases++;
    return any;
}

/** A loop that waits for a time and does nothing that others could notice: time passes faster and faster. */
static void note_clock(struct explore *e, struct stand *s, struct peet_map_core *core)
{
    enum { PATIENCE = 1000, DOUBLINGS = 40 };
    const uint32_t over = ++s->clocks > PATIENCE ? s->clocks - PATIENCE : 0;

    (void)e;
    if (over)
        core->clock += 1ull << (over / 4 < DOUBLINGS ? over / 4 : DOUBLINGS);
}

static void arrivals(struct peet_map *map)
{
    if (peet__map_next_arrival(map) <= map->now)
        peet__map_arrivals(map);
}

/**
 * A context's end orders what came before it, so under a model it is a step of its own: part of the step before, it
 * would make that one, a load perhaps, need what the end needs.  (main, which is then alone, sees everything in the
 * same step: nobody acts behind an end but those that it wakes.)
 */
static int ends(const struct peet_map *map, const struct peet_abstract_event *event)
{
    return event->type == PEET_ABSTRACT_CONTEXT_EXIT;
}

/** A core goes on until it stands before something visible, or has nothing to do. */
static void advance(struct explore *e, unsigned hw)
{
    struct peet_map *map = e->map;
    struct peet_map_core *core = &map->cores[hw];
    struct stand *s = &e->stands[hw];
    struct peet_event event;
    int kind;

    map->current = hw;
    while (!map->ended && !map->error.code && !s->standing) {
        if (!core->context) {
            kind = peet__map_pick(map, hw);
            if (kind <= 0) {
                if (!kind && !core->is_idle)
                    peet__map_set_idle(map, hw);
                break;
            }
        }
        kind = peet__map_produce(map, core, &event);
        if (kind == PEET_MAP_AGAIN)
            continue;
        if (kind == PEET_MAP_BATCH) {
            peet__map_run_batch(map, hw, core, PEET_MAP_NEVER);
        } else if (kind == PEET_EVENT_BLOCK) {
            peet__map_run_block(map, hw, core, &event.block);
        } else if (kind == PEET_EVENT_ABSTRACT) {
            if (visible(&event.abstract) || ends(map, &event.abstract) ||
                peet__consistency_waits(map, hw, &event.abstract)) {
                s->standing = 1;
                s->event = event.abstract;
                if (s->event.nargs > 8)
                    s->event.nargs = 8;
                memcpy(s->args, event.abstract.args, s->event.nargs * sizeof *s->args);
                s->event.args = s->args;
                if (s->event.type == PEET_ABSTRACT_SYSCALL) /* says what has been done */
                    peet__footprint_add(e->footprint, PEET_TOKEN_OUTPUT, 1, PEET_VIEW_ALL, PEET_DEPENDS_WRITE);
                note_spin(e, s);
                break;
            }
            if (event.abstract.type == PEET_ABSTRACT_CLOCK || event.abstract.type == PEET_ABSTRACT_SLEEP)
                s->nseen = 0; /* time has passed: what it does next may be something else */
            if (event.abstract.type == PEET_ABSTRACT_CLOCK)
                note_clock(e, s, core);
            peet__map_perform(map, hw, core, &event);
        } else if (!kind) {
            peet__map_over(map, core);
        }
        map->nevents++;
        if (core->clock > map->now)
            map->now = core->clock;
        arrivals(map);
    }
    if (core->clock > map->now)
        map->now = core->clock;
}

/** Everybody who can goes on to where they stand; what one does may wake another. */
static void settle(struct explore *e)
{
    struct peet_map *map = e->map;
    int again;

    do {
        again = 0;
        arrivals(map);
        for (unsigned hw = 0; hw < map->ncores && !map->ended && !map->error.code; hw++) {
            struct peet_map_core *core = &map->cores[hw];

            if (e->stands[hw].standing || core->is_idle)
                continue;
            if (core->clock < map->now && core->context) {
                core->stalled += map->now - core->clock;
                core->clock = map->now;
            } else if (core->clock < map->now) {
                core->idle += map->now - core->clock;
                core->clock = map->now;
            }
            advance(e, hw);
            again = 1;
        }
    } while (again && !map->ended && !map->error.code);
}

/** What a context can do next: one thing, unless it signals a condition, and may wake one or another. */
static unsigned list_context(const struct explore *e, struct peet_option *out, unsigned n, unsigned hw)
{
    const struct stand *s = &e->stands[hw];
    const uint64_t number = e->map->cores[hw].context->number;
    uint32_t woken[PEET_OPTIONS_ROOM];
    unsigned nwoken = 0;

    if (s->event.type == PEET_ABSTRACT_COND_SIGNAL && s->event.nargs)
        nwoken = peet__cond_waiters(e->map, s->event.args[0], woken, PEET_OPTIONS_ROOM);
    if (nwoken < 2)
        out[n++] = (struct peet_option){.id = number, .hw = hw};
    else
        for (unsigned i = 0; i < nwoken && n < PEET_OPTIONS_ROOM; i++)
            out[n++] = (struct peet_option){.id = number | (woken[i] + 1ull) << 32, .hw = hw};
    return n;
}

/** Is somebody about to wait for a thread's end?  That step depends on nothing, and makes room for whoever is ready. */
static int will_wait(const struct explore *e)
{
    for (unsigned hw = 0; hw < e->map->ncores; hw++) {
        const struct stand *s = &e->stands[hw];

        if (s->standing && s->event.type == PEET_ABSTRACT_THREAD_JOIN && s->event.nargs &&
            peet__consistency_runs(e->map, s->args[0]))
            return 1;
    }
    return 0;
}

/** Would it only join the queue of a mutex that somebody else holds, for as long as it takes? That nobody sees: it
 * asks when the mutex is free, and who asks first then is what can be chosen. Unless somebody waits for its
 * processor. */
static int waits_for_mutex(const struct explore *e, unsigned hw)
{
    const struct stand *s = &e->stands[hw];
    const struct peet_map_context *c = e->map->cores[hw].context;
    const struct peet_map_object *o;
    uint64_t address = 0;

    if (s->event.type == PEET_ABSTRACT_SYNC_GRANT && c->relocking)
        address = c->request.args[1];
    else if (s->event.type == PEET_ABSTRACT_MUTEX_LOCK && s->event.nargs && !peet__consistency_timed(&s->event))
        address = s->args[0];
    if (!address || (e->map->nready && !will_wait(e)) || peet__lock_modelled(e->map))
        return 0;
    o = peet__sync_find(e->map, address, PEET_SYNC_MUTEX);
    return o && o->held && o->owner != c->number;
}

static unsigned list_contexts(struct explore *e, struct peet_option *out, unsigned n, int ending)
{
    struct peet_map *map = e->map;

    for (unsigned hw = 0; hw < map->ncores && n < PEET_OPTIONS_ROOM; hw++) {
        struct stand *s = &e->stands[hw];

        if (!s->standing || (s->event.type == PEET_ABSTRACT_CONTEXT_EXIT) != ending)
            continue;
        if (peet__consistency_waits(map, hw, &s->event)) {
            if (s->event.type == PEET_ABSTRACT_VIEW_LEAVE)
                map->consistency->emptied |= 1ull << hw % 64;
            continue;
        }
        if (spins_on(e, s) || waits_for_mutex(e, hw))
            continue;
        if (s->counts && s->look->foreign == foreign(e, s)) {
            map->consistency->gaps |= PEET_GAP_LOOPS;
            continue;
        }
        n = list_context(e, out, n, hw);
    }
    return n;
}

static unsigned list(struct explore *e, struct peet_option *out)
{
    struct peet_map_consistency *c = e->map->consistency;
    struct peet_move moves[PEET_OPTIONS_MOST];
    unsigned n = list_contexts(e, out, 0, 0), nmoves;

    if (c->ops && !c->sync_only) {
        nmoves = c->ops->moves(c->self, moves, PEET_OPTIONS_MOST);
        for (unsigned i = 0; i < nmoves && i < PEET_OPTIONS_MOST && n < PEET_OPTIONS_ROOM; i++)
            out[n++] = (struct peet_option){.id = 1ull << 63 | (uint64_t)moves[i].kind << 60 |
                    (uint64_t)moves[i].processor << 48 | (moves[i].id & 0xffffffffffff),
                .hw = moves[i].processor,
                .is_move = 1,
                .move = moves[i]};
    }
    return list_contexts(e, out, n, 1);
}

static int any_standing(const struct explore *e)
{
    for (unsigned hw = 0; hw < e->map->ncores; hw++)
        if (e->stands[hw].standing)
            return 1;
    return 0;
}

static void move(struct explore *e, const struct peet_move *one)
{
    struct peet_map_consistency *c = e->map->consistency;

    peet__footprint_move(e->footprint, one);
    c->moving = 1;
    c->ops->move(c->self, one);
    c->moving = 0;
}

/** Does nobody look at what this processor sees?  It has no context, or one that is going to see everything before its
 * next access. */
static int nobody_looks(const struct explore *e, unsigned hw)
{
    const struct stand *s = &e->stands[hw];

    return !e->map->cores[hw].context ||
        (s->standing &&
            (s->event.type == PEET_ABSTRACT_CONTEXT_START || s->event.type == PEET_ABSTRACT_THREAD_JOIN ||
                s->event.type == PEET_ABSTRACT_SYNC_GRANT));
}

/** Where nobody looks, nobody sees when: such a processor sees everything at once, which is part of the step before. */
static void apply_unseen(struct explore *e)
{
    struct peet_map *map = e->map;
    struct peet_map_consistency *c = map->consistency;
    struct peet_move moves[PEET_OPTIONS_MOST];
    unsigned n, i;

    if (!c->ops || c->sync_only)
        return;
    do {
        n = c->ops->moves(c->self, moves, PEET_OPTIONS_MOST);
        n = n < PEET_OPTIONS_MOST ? n : PEET_OPTIONS_MOST;
        for (i = 0; i < n && (moves[i].kind != PEET_MOVE_SEE || !nobody_looks(e, moves[i].processor)); i++)
            ;
        c->unseen = 1;
        if (i < n)
            move(e, &moves[i]);
        c->unseen = 0;
    } while (i < n);
}

/** Does there stand still what the processor's last locked operation has left? */
static void note_left(const struct peet_map *map, unsigned hw)
{
    struct peet_looked *looked = &map->consistency->looked[hw];
    uint64_t now;

    looked->as_left = looked->modified.bytes &&
        !peet__consistency_value(map, hw, looked->modified.address, looked->modified.bytes, &now) &&
        now == looked->modified.value;
}

static void take(struct explore *e, const struct peet_option *option)
{
    struct peet_map *map = e->map;
    struct peet_map_core *core = &map->cores[option->hw];
    struct stand *s = &e->stands[option->hw];
    struct peet_event event;

    if (option->is_move) {
        move(e, &option->move);
        return;
    }
    if (core->clock < map->now) {
        core->stalled += map->now - core->clock;
        core->clock = map->now;
    }
    map->current = option->hw;
    event.abstract = s->event;
    core->context->signals = (uint32_t)(option->id >> 32);
    note_left(map, option->hw);
    peet__consistency_step(map);
    s->standing = 0;
    s->spins = 0;
    peet__map_perform(map, option->hw, core, &event);
    map->nevents++;
    if (core->clock > map->now)
        map->now = core->clock;
}

/** The step under way is over, or what comes is explained by itself. */
static void explain(struct explore *e)
{
    struct peet_map_consistency *c = e->map->consistency;

    if (e->unexplained) {
        e->unexplained->made = c->made;
        e->unexplained->nmade = c->nmade;
        e->unexplained->more = c->more;
        e->map->chooser->explain(e->map->chooser->arg, e->unexplained);
    }
    e->unexplained = NULL;
    c->nmade = c->more = 0;
}

/** An option is about to be taken; explain() explains it. @args: room for a copy of the event's, as @event for one
 * of that */
static struct peet_step stands(struct explore *e, const struct peet_option *option, struct peet_abstract_event *event,
    uint64_t *args)
{
    const struct peet_map_chooser *chooser = e->map->chooser;
    const struct stand *s = &e->stands[option->hw];
    struct peet_step step = {.option = option, .context = peet_map_context_on(e->map, option->hw)};

    if (option->is_move)
        return step;
    *event = s->event;
    memcpy(args, s->args, sizeof s->args);
    event->args = args;
    step.event = event;
    step.source = e->map->cores[option->hw].context->source;
    if (chooser->stands)
        chooser->stands(chooser->arg, &step);
    return step;
}

/** Nobody can go on but those who wait for mutexes, if at all: these ask for them, as part of the step under way,
 * and wait. Then it is known who waits for whom, and they leave their processors to others. Returns: has there been
 * anybody? */
static int ask_for_mutexes(struct explore *e)
{
    struct peet_map *map = e->map;
    int any = 0;

    for (unsigned hw = 0; hw < map->ncores && !map->ended && !map->error.code; hw++) {
        const struct peet_option option = {.hw = hw, .id = peet_map_context_on(map, hw)};
        struct peet_abstract_event event;
        uint64_t args[8];
        struct peet_step step;

        if (!e->stands[hw].standing || !waits_for_mutex(e, hw))
            continue;
        explain(e);
        step = stands(e, &option, &event, args);
        take(e, &option);
        e->unexplained = map->chooser->explain ? &step : NULL;
        explain(e);
        any = 1;
    }
    return any;
}

/** See struct peet_footprint. */
static void note_emptied(struct explore *e, const struct peet_option *made)
{
    const struct stand *s = &e->stands[made->hw];
    const uint64_t processor = 1ull << made->hw % 64;

    if (made->is_move && s->standing && s->event.type == PEET_ABSTRACT_VIEW_LEAVE)
        e->footprint->emptied = processor;
    else if (!made->is_move && e->map->consistency->emptied & processor)
        e->footprint->behind = processor;
}

/** To the next choice; time passes for sleepers and deadlines only when nothing else can happen.  Returns: how many
 * options there are */
static unsigned go_on(struct explore *e, struct peet_option *out_options)
{
    struct peet_map *map = e->map;

    while (!map->ended && !map->error.code) {
        unsigned n;
        uint64_t then;

        settle(e);
        peet__consistency_came(map);
        apply_unseen(e);
        if (map->nready && !will_wait(e))
            map->consistency->gaps |= PEET_GAP_PROCESSORS;
        n = map->ended || map->error.code ? 0 : list(e, out_options);
        if (n || map->ended || map->error.code)
            return n;
        then = peet__map_next_arrival(map);
        if (then == PEET_MAP_NEVER && ask_for_mutexes(e))
            continue;
        if (then == PEET_MAP_NEVER)
            return 0;
        map->now = then > map->now ? then : map->now;
    }
    return 0;
}

static void nothing_goes_on(struct explore *e)
{
    struct peet_map *map = e->map;

    if (!any_standing(e)) {
        peet__map_stuck(map);
        return;
    }
    map->explore_end = PEET_EXPLORE_SPINNING;
    map->livelock = 1;
    peet__map_fail(map, PEET_EDEADLOCK, "livelock: every context that is not blocked only spins");
}

void peet__explore_engine(struct peet_map *map)
{
    const struct peet_map_chooser *chooser = map->chooser;
    struct explore e = {.map = map, .stands = calloc(map->ncores, sizeof *e.stands)};
    struct peet_looked *looked = calloc(map->ncores, sizeof *looked);
    struct peet_option *options = calloc(PEET_OPTIONS_ROOM, sizeof *options);
    struct peet_footprint footprint;
    struct peet_abstract_event stood;
    uint64_t stood_args[8];
    struct peet_made *made = chooser->explain ? calloc(PEET_MADE_MOST, sizeof *made) : NULL;
    struct peet_step step;
    struct peet_option chosen;
    unsigned n;

    if (!e.stands || !looked || !options || (chooser->explain && !made)) {
        free(e.stands);
        free(looked);
        free(options);
        free(made);
        peet__map_fail(map, PEET_ENOMEM, "out of memory");
        return;
    }
    for (unsigned hw = 0; hw < map->ncores; hw++)
        e.stands[hw].most = PEET_EXPLORE_LOOKS;
    footprint = (struct peet_footprint){0};
    map->consistency->footprint = e.footprint = &footprint;
    map->consistency->made = made;
    map->consistency->looked = looked;
    n = go_on(&e, options);
    while (!map->ended && !map->error.code) {
        struct look *look;
        int choice;

        if (!n) {
            if (!release(&e))
                nothing_goes_on(&e);
            n = go_on(&e, options);
            continue;
        }
        if (++e.steps > chooser->steps_most) {
            map->explore_end = PEET_EXPLORE_STEPS;
            peet__map_fail(map, PEET_ELIMIT, "given up after %llu steps", (unsigned long long)chooser->steps_most);
            break;
        }
        choice = chooser->choose(chooser->arg, options, n);
        if (choice < 0 || (unsigned)choice >= n) {
            map->explore_end = PEET_EXPLORE_ABANDONED;
            peet__map_fail(map, PEET_ELIMIT, "abandoned");
            break;
        }
        footprint = (struct peet_footprint){0};
        e.epoch = map->consistency->memory_epoch;
        e.changes = e.epoch - map->consistency->frame_stores;
        e.acting = options[choice].hw;
        e.moving = (int)options[choice].is_move;
        chosen = options[choice];
        step = stands(&e, &chosen, &stood, stood_args);
        map->consistency->nmade = map->consistency->more = 0;
        look = options[choice].is_move ? NULL : e.stands[options[choice].hw].look;
        take(&e, &chosen);
        e.unexplained = chooser->explain ? &step : NULL;
        note_emptied(&e, &chosen);
        n = go_on(&e, options);
        note_step(&e, &chosen, look);
        explain(&e);
        chooser->done(chooser->arg, &footprint);
    }
    map->consistency->footprint = NULL;
    map->consistency->made = NULL;
    map->consistency->looked = NULL;
    free(looked);
    free(options);
    free(made);
    free(e.stands);
}
