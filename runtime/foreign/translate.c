/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is translated, and the way from one trace to the other.
 *
 * A trace is translated twice, as in Dynamo: when control comes to its first block, and again when it has been executed
 * often.  The first one follows fall-throughs and counts; the second one follows what was counted.  Blocks, and with them
 * all that is recorded, are the same: where a block ends depends on where it begins alone.
 */
#include "foreign/translate.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <uthash.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { CACHE_BYTES = 64 << 20, LEAST_CACHE_BYTES = 4 << 20, GRAIN = 1 << 16 };
#define REACH 0x70000000ull

int64_t peet__foreign_world_offset;

struct peet__foreign_trace {
    UT_hash_handle hh;
    uint64_t pc; /* the key */
    uint8_t *arrival, *code, *end;
    uint16_t *offsets; /* of instructions in the code */
    uint32_t n;        /* of its blocks */
    uint64_t first;    /* number */
    struct peet_foreign_block *descs;
    uint64_t links; /* direct jumps that lead here: the last one's number; 0: none */
    struct peet__foreign_image *image;
    struct peet__foreign_trace *next;     /* of the image's */
    struct peet__foreign_profile profile; /* counts NULL: has none */
};

static struct peet__foreign_trace *traces;
/* By number: each trace has one for each of its blocks, with which a path may end. */
static struct peet__foreign_trace **by_word;
static uint64_t nwords, room;
/* Those that may be made anew: their first numbers.  A trace that has been stays as it is, for its words, and for who is on his way
 * through it; its first instruction becomes a jump to the new one. */
static uint64_t *young, nyoung, young_room;

struct link {
    uint8_t *site;               /* NULL: it is gone */
    uint64_t target, next;       /* next: of those that lead to the same trace */
    uint64_t next_from, next_to; /* of those of the same image's translations, and to the same image's code */
    int32_t asks;                /* the displacement to where the translator is asked */
};
static struct link *links;
static uint64_t nlinks, links_room;

/* -------------------------------------------------------------------------------------------------- room */

/* Memory within reach of all of the image, before or behind it. */
static uint8_t *map_near(const struct peet__foreign_image *i, size_t bytes)
{
    for (uint64_t distance = bytes; distance < REACH; distance += bytes)
        for (int behind = 0; behind < 2; behind++) {
            const uint64_t at = (behind ? i->hi + distance : i->lo - distance - bytes) & -(uint64_t)GRAIN;
            void *p = mmap((void *)at, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
            if (p == (void *)at)
                return p;
            if (p != MAP_FAILED)
                munmap(p, bytes);
        }
    return NULL;
}

/* All that a program loads, libraries by the hundred perhaps, shares what is within reach. */
static void make_cache(struct peet__foreign_image *i)
{
    enum { TIMES = 16 }; /* as much as its text, translated twice */
    const size_t wanted = TIMES * (i->hi - i->lo);
    size_t bytes = CACHE_BYTES;
    while (bytes > LEAST_CACHE_BYTES && bytes / 2 >= wanted)
        bytes /= 2;
    for (i->cache = NULL; !i->cache && bytes >= LEAST_CACHE_BYTES; bytes /= 2) {
        i->cache = map_near(i, bytes);
        i->cache_bytes = bytes;
    }
    i->cache_at = i->cache;
    i->cache_end = i->cache ? i->cache + i->cache_bytes : NULL;
    i->is_full = !i->cache;
}

static void more_cache(struct peet__foreign_image *i)
{
    if (i->nspent == PEET_FOREIGN_CACHES) {
        i->is_full = 1;
        return;
    }
    if (i->cache)
        i->spent[i->nspent++] = (struct peet__foreign_cache){i->cache, i->cache_at, i->cache_bytes};
    make_cache(i);
}

/* Whether a place lies in the image's translations. */
static int is_in_cache(const struct peet__foreign_image *i, uint64_t pc)
{
    int is = i->cache && pc >= (uint64_t)i->cache && pc < (uint64_t)i->cache_at;
    for (unsigned k = 0; k < i->nspent && !is; k++)
        is = pc >= (uint64_t)i->spent[k].begin && pc < (uint64_t)i->spent[k].at;
    return is;
}

uint8_t *peet__foreign_room(struct peet__foreign_image *i, size_t bytes)
{
    if (!i->is_full && (!i->cache || (size_t)(i->cache_end - i->cache_at) < bytes))
        more_cache(i);
    return !i->is_full ? i->cache_at : NULL;
}

/* ------------------------------------------------------------------------------------------------- links */

uint64_t peet__foreign_link(struct peet__foreign_image *from, uint8_t *site, struct peet__foreign_image *to,
    uint64_t target)
{
    if (nlinks == links_room) {
        const uint64_t more = links_room ? 2 * links_room : 1 << 14;
        struct link *l = realloc(links, more * sizeof *l);
        if (!l)
            return 0;
        links = l;
        links_room = more;
    }
    links[nlinks] =
        (struct link){.site = site, .target = target, .next_from = from->links_from, .next_to = to->links_to};
    memcpy(&links[nlinks].asks, site, sizeof links->asks);
    return from->links_from = to->links_to = ++nlinks;
}

static void aim(uint8_t *site, const uint8_t *code)
{
    if (!site)
        return;
    const int64_t distance = code - (site + 4);
    const int32_t near = (int32_t)distance;
    if (near == distance)
        memcpy(site, &near, 4);
}

static void settle(uint64_t number, struct peet__foreign_trace *t)
{
    struct link *const link = &links[number - 1];
    link->next = t->links;
    t->links = number;
    aim(link->site, t->code);
}

/* ------------------------------------------------------------------------------------------------ blocks */

static void *copy(const void *from, size_t n, size_t size)
{
    void *p = malloc(n * size + 1);
    if (p)
        memcpy(p, from, n * size);
    return p;
}

static int describe(struct peet_foreign_block *d, const struct peet__foreign_plan *p,
    const struct peet__foreign_part *part, struct peet__foreign_function *f)
{
    struct peet_insn *insns = copy(p->insns + part->insn, part->ninsns, sizeof *insns);
    uint8_t *regs = copy(p->regs, p->nregs, 1);
    d->pc = part->pc;
    d->function = peet__foreign_name(p->image, f, part->pc);
    d->refs = copy(p->refs + part->ref, part->nrefs, sizeof *d->refs);
    d->values = copy(p->values + part->value, part->nvalues, sizeof *d->values);
    d->insns = insns;
    d->ninsns = part->ninsns;
    d->nrefs = part->nrefs;
    d->nvalues = part->nvalues;
    d->nslots = peet__foreign_kept(p, part);
    d->code_bytes = (uint32_t)(part->next - part->pc);
    if (!d->function || !insns || !regs || !d->refs || !d->values)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < part->ninsns; k++)
        insns[k].regs = regs + (insns[k].regs - p->regs);
    return 0;
}

/* Room for one more trace.  Returns: whether there is */
static int make_room(void)
{
    if (nwords + PEET__FOREIGN_PARTS > room) {
        struct peet__foreign_trace **more = realloc(by_word, (2 * room + 1024) * sizeof *more);
        if (!more)
            return 0;
        by_word = more;
        room = 2 * room + 1024;
    }
    return PEET_FOREIGN_WORDS + PEET_FOREIGN_WORD_STEP * (nwords + PEET__FOREIGN_PARTS) < PEET_FOREIGN_WORDS_END;
}

/* Where its calls return to leads to translations. */
static void enter_returns(struct peet__foreign_image *image, const struct peet__foreign_plan *p)
{
    for (uint32_t k = 0; k < p->nparts; k++) {
        const struct peet__foreign_part *part = &p->parts[k];
        if (part->end != PEET__FOREIGN_CALL && part->end != PEET__FOREIGN_CALL_INDIRECT)
            continue;
        peet__foreign_counts.returns++;
        if (peet__foreign_enter_at(image, part->next))
            continue;
        peet__foreign_counts.unsafe_returns++;
        peet__foreign_enter_called(image, part->next);
    }
}

/* What its stubs ask the dynamic linker for, which goes on to the original code, leads to translations. */
static void enter_asked_for(const struct peet__foreign_image *image, const struct peet__foreign_trace *t)
{
    for (uint32_t k = 0; k < t->n; k++)
        if (t->descs[k].function->name && strcmp(t->descs[k].function->name, PEET_FOREIGN_STUBS) == 0)
            peet__foreign_enter_asked_for(image, t->descs[k].pc, t->descs[k].pc + t->descs[k].code_bytes);
}

/* Room for counters, within reach of the image's translations and in lines of their own.  NULL: none */
static uint64_t *counters(struct peet__foreign_image *i, uint32_t n)
{
    if ((size_t)(i->cache_end - i->cache_at) < PEET__FOREIGN_CODE_BYTES + n * sizeof(uint64_t) + 4096)
        return NULL;
    i->cache_end -= n * sizeof(uint64_t);
    return (uint64_t *)(uintptr_t)i->cache_end;
}

/* Its executions are counted.  Returns: whether they are */
static int begin_profile(struct peet__foreign_trace *t, struct peet__foreign_plan *p)
{
    if (nyoung == young_room) {
        uint64_t *more = realloc(young, (2 * young_room + 1024) * sizeof *more);
        if (!more)
            return 0;
        young = more;
        young_room = 2 * young_room + 1024;
    }
    t->profile.parts = copy(p->parts, p->nparts, sizeof *p->parts);
    t->profile.nparts = p->nparts;
    t->profile.counts = t->profile.parts ? counters(t->image, 1 + p->nparts) : NULL;
    p->counts = t->profile.counts;
    if (p->counts)
        young[nyoung++] = nwords;
    return p->counts != NULL;
}

/* @profile: of traces; NULL: this one is to make its own */
static struct peet__foreign_trace *translate(struct peet__foreign_image *image, uint64_t pc,
    peet__foreign_profile_of *profile)
{
    static struct peet__foreign_plan plan;
    if (image->is_full)
        return NULL;
    struct peet__foreign_trace *t = make_room() ? calloc(1, sizeof *t) : NULL;
    if (!t || peet__foreign_analyse(image, pc, profile, &plan))
        return NULL;
    t->image = image;
    t->pc = pc;
    plan.counts = NULL;
    if (!profile && plan.n)
        begin_profile(t, &plan);
    struct peet__foreign_code c = {.image = image, .at = peet__foreign_room(image, PEET__FOREIGN_CODE_BYTES)};
    if (!c.at || !(t->descs = calloc(plan.nparts, sizeof *t->descs)))
        return NULL;
    t->arrival = c.at;
    peet__put_arrival(&c, peet__foreign_dead_at(image, pc));
    t->code = c.at;
    t->n = plan.nparts;
    t->first = nwords;
    for (uint32_t k = 0; k < plan.nparts; k++)
        if (describe(&t->descs[k], &plan, &plan.parts[k], peet__foreign_function_of(image, plan.parts[k].pc)))
            return NULL;
    peet__foreign_emit(&c, &plan, PEET_FOREIGN_WORDS + PEET_FOREIGN_WORD_STEP * t->first);
    t->end = image->cache_at = c.at;
    t->offsets = copy(plan.offsets, plan.n, sizeof *plan.offsets);
    for (uint32_t k = 0; k < t->n; k++)
        by_word[nwords++] = t;
    t->next = image->traces;
    image->traces = t;
    enter_returns(image, &plan);
    enter_asked_for(image, t);
    peet__foreign_counts.blocks += plan.nparts;
    return t;
}

/* -------------------------------------------------------------------------------------------- made anew */

static const struct peet__foreign_profile *profile_of(uint64_t pc)
{
    struct peet__foreign_trace *t;
    HASH_FIND(hh, traces, &pc, sizeof pc, t);
    return t && t->profile.counts ? &t->profile : NULL;
}

static void make_anew(struct peet__foreign_trace *old)
{
    enum { JUMP_BYTES = 5 };
    struct peet__foreign_trace *t = translate(old->image, old->pc, profile_of), *replaced = NULL;
    if (!t)
        return;
    peet__foreign_counts.anew++;
    t->profile = old->profile;
    HASH_REPLACE(hh, traces, pc, sizeof t->pc, t, replaced);
    for (uint64_t k = old->links, next; k; k = next) {
        next = links[k - 1].next;
        settle(k, t);
    }
    for (uint32_t table = PEET_FOREIGN_JUMPS; table < PEET_FOREIGN_END; table += PEET_FOREIGN_TABLE_BYTES) {
        struct peet_foreign_place *const place = (struct peet_foreign_place *)(uintptr_t)table + (t->pc & 0xffff);
        if (place->code == (uint64_t)old->arrival)
            place->code = (uint64_t)t->arrival;
    }
    *old->code = 0xe9;
    aim(old->code + JUMP_BYTES - 4, t->code);
}

/* Looks at so many of those that are young, each time at others.  Those that are looked at and stay are put to where they were, and
 * the last ones come in place of those that do not. */
static void improve_some(uint64_t most)
{
    enum { OFTEN = 64 };
    static uint64_t at;
    if (_r_debug.r_state == RT_DELETE)
        return; /* the text of some image may be gone, and the dynamic linker tells when it knows of it no more */
    for (most = most < nyoung ? most : nyoung; most && nyoung; most--) {
        at = at < nyoung ? at : 0;
        struct peet__foreign_trace *const t = by_word[young[at]];
        if (t->image && (t->image->is_gone || t->profile.counts[0] < OFTEN)) {
            at++;
            continue;
        }
        young[at] = young[--nyoung];
        if (t->image)
            make_anew(t);
    }
}

/* Whose locks do nothing in a process of one thread. */
static int is_c_library(const struct peet__foreign_image *i)
{
    return strncmp(i->name, "libc.so", 7) == 0 || strncmp(i->name, "ld-linux", 8) == 0;
}

/* Whose translation a place in the cache belongs to; NULL: it is none. */
static const struct peet__foreign_image *translated_image(uint64_t pc)
{
    for (const struct peet__foreign_image *i = peet__foreign_images; i; i = i->next)
        if (is_in_cache(i, pc))
            return i;
    return NULL;
}

static int improve(uint64_t pc)
{
    enum { SOME = 1024 }; /* this comes often, and in large programs 100,000 are young */
    improve_some(SOME);
    const struct peet__foreign_image *const image = translated_image(pc);
    return image && !is_c_library(image);
}

/* A way out of translations, to code that is not foreign or cannot be translated.  The tables of the dispatcher forget
 * it. */
struct way_out {
    UT_hash_handle hh;
    uint64_t target; /* the key */
    uint64_t code;
};
static struct way_out *ways_out;
static uint8_t *ways_begin, *ways_at; /* they may lie anywhere */

static uint64_t new_way_out(uint64_t target)
{
    enum { BYTES = 64, ROOM = 64 << 20 }; /* a million of them */
    if (!ways_begin) {
        void *all =
            mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ways_begin = ways_at = all == MAP_FAILED ? NULL : all;
    }
    if (!ways_begin || ways_at + BYTES > ways_begin + ROOM)
        abort(); /* out of memory */
    struct peet__foreign_code c = {.at = ways_at};
    const uint64_t code = (uint64_t)ways_at;
    peet__put_arrival(&c, 0);
    peet__put_native_jump(&c, target);
    ways_at = c.at;
    return code;
}

static int is_way_out(uint64_t pc)
{
    return ways_begin && pc >= (uint64_t)ways_begin && pc < (uint64_t)ways_at;
}

static uint64_t native(uint64_t target, enum peet_foreign_kind kind)
{
    struct way_out *way;
    if (kind == PEET_FOREIGN_RETURN)
        return peet__foreign_state->native_return;
    HASH_FIND(hh, ways_out, &target, sizeof target, way);
    if (way)
        return way->code;
    if (!(way = calloc(1, sizeof *way)))
        abort(); /* out of memory */
    way->target = target;
    way->code = new_way_out(target);
    HASH_ADD(hh, ways_out, target, sizeof target, way);
    return way->code;
}

static void remember(enum peet_foreign_kind kind, uint64_t target, uint64_t code)
{
    struct peet_foreign_place *places =
        (void *)(uintptr_t)(kind == PEET_FOREIGN_RETURN ? PEET_FOREIGN_RETURNS : PEET_FOREIGN_JUMPS);
    places[target & 0xffff] = (struct peet_foreign_place){-target, code};
}

int peet__foreign_can_translate(uint64_t pc)
{
    struct peet__foreign_image *image = peet__foreign_image_of(pc);
    return image && peet__foreign_function_of(image, pc) && peet_rt_foreign_instead(pc) == pc;
}

static uint64_t find(uint64_t asked, enum peet_foreign_kind kind, uint64_t link)
{
    const uint64_t target = peet_rt_foreign_instead(asked);
    struct peet__foreign_image *image = peet__foreign_image_of(target);
    struct peet__foreign_function *f = image ? peet__foreign_function_of(image, target) : NULL;
    enum { SOMETIMES = 64 };
    static uint64_t next_look = SOMETIMES;
    struct peet__foreign_trace *b = NULL;
    uint64_t code;
    if (++peet__foreign_counts.misses >= next_look) { /* at all that are young: in large programs there are 100,000 */
        improve_some(nyoung);
        next_look = peet__foreign_counts.misses + SOMETIMES + nyoung / SOMETIMES;
    }
    if (f) {
        HASH_FIND(hh, traces, &target, sizeof target, b);
        if (!b && (b = translate(image, target, NULL)) != NULL)
            HASH_ADD(hh, traces, pc, sizeof b->pc, b);
    }
    peet__foreign_counts.without_room += f && !b;
    code = b ? (uint64_t)b->arrival : native(target, kind);
    if (b && link)
        settle(link, b);
    else if (!link)
        remember(kind, asked, code);
    return code;
}

const struct peet_foreign_block *peet_foreign_path(uint64_t word, uint32_t *out_n)
{
    const uint64_t number = (word - PEET_FOREIGN_WORDS) / PEET_FOREIGN_WORD_STEP;
    if (word < PEET_FOREIGN_WORDS || word % PEET_FOREIGN_WORD_STEP != 0 || number >= nwords)
        return NULL;
    *out_n = (uint32_t)(number - by_word[number]->first) + 1;
    return by_word[number]->descs;
}

static uint64_t original_in(const struct peet__foreign_trace *t, uint64_t pc)
{
    uint64_t found = t->pc;
    for (uint32_t part = 0, n = 0; part < t->n; part++)
        for (uint32_t k = 0; k < t->descs[part].ninsns; k++, n++) {
            if (!t->offsets || (uint64_t)t->code + t->offsets[n] > pc)
                return found;
            found = t->descs[part].insns[k].pc;
        }
    return found;
}

int peet_foreign_is_translated(uint64_t pc)
{
    return translated_image(pc) != NULL || is_way_out(pc);
}

uint64_t peet_foreign_original(uint64_t pc)
{
    for (uint64_t k = 0; k < nwords; k += by_word[k]->n)
        if (pc >= (uint64_t)by_word[k]->arrival && pc < (uint64_t)by_word[k]->end)
            return original_in(by_word[k], pc);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- begin */

static int is_foreign(uint64_t pc)
{
    struct peet__foreign_image *image = peet__foreign_image_of(pc);
    return image && peet__foreign_function_of(image, pc);
}

/* Its text may be changed from now on, and nothing is yet. */
static int allow(struct peet__foreign_image *i)
{
    for (unsigned k = 0; k < i->npieces; k++) {
        const uint64_t lo = i->pieces[k].lo & -4096ull, hi = (i->pieces[k].hi + 4095) & -4096ull;
        if (mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
            return PEET_EUNSUPPORTED;
    }
    return peet__foreign_room(i, 64) ? 0 : PEET_EUNSUPPORTED;
}

int peet__foreign_open(struct peet__foreign_image *i)
{
    const int err = allow(i);
    if (err)
        return err;
    i->is_gone = 0;
    if (i->nentries)
        peet__foreign_enter_again(i);
    else
        peet__foreign_enter_functions(i);
    return 0;
}

static void forget_trace(struct peet__foreign_trace *t)
{
    struct peet__foreign_trace *current;
    HASH_FIND(hh, traces, &t->pc, sizeof t->pc, current);
    if (current == t)
        HASH_DEL(traces, t);
    t->image = NULL;
    t->next = NULL;
    t->arrival = t->code = t->end = NULL;
    t->profile.counts = NULL;
}

/* The tables know nothing any more of what begins in the image. */
static void forget_places(const struct peet__foreign_image *i)
{
    const uint64_t end = i->hi - i->lo < 0x10000 ? i->hi : i->lo + 0x10000;
    for (uint32_t table = PEET_FOREIGN_JUMPS; table < PEET_FOREIGN_END; table += PEET_FOREIGN_TABLE_BYTES)
        for (uint64_t pc = i->lo; pc < end; pc++) {
            struct peet_foreign_place *const place = (struct peet_foreign_place *)(uintptr_t)table + (pc & 0xffff);
            if (-place->key >= i->lo && -place->key < i->hi)
                *place = (struct peet_foreign_place){0, 0};
        }
}

/* A program may unload libraries by the hundred, and load them again: only what is the image's is looked at, and what was made for
 * it stays. */
void peet__foreign_close(struct peet__foreign_image *i)
{
    const uint64_t to = i->links_to;
    i->is_gone = 1;
    i->links_to = 0;
    for (uint64_t k = to, next; k; k = next) { /* its own may stay as they are */
        struct link *const link = &links[k - 1];
        next = link->next_to;
        if (!link->site)
            continue;
        if (!is_in_cache(i, (uint64_t)link->site))
            memcpy(link->site, &link->asks, sizeof link->asks);
        link->next_to = i->links_to;
        i->links_to = k;
    }
    forget_places(i);
}

void peet__foreign_forget(struct peet__foreign_image *i)
{
    for (struct peet__foreign_trace *t = i->traces, *next; t; t = next) {
        next = t->next;
        forget_trace(t);
    }
    for (uint64_t k = i->links_from; k; k = links[k - 1].next_from)
        links[k - 1].site = NULL;
    i->traces = NULL;
    i->links_from = 0;
    i->nentries = 0;
    if (i->cache)
        munmap(i->cache, i->cache_bytes);
    while (i->nspent) {
        i->nspent--;
        munmap(i->spent[i->nspent].begin, i->spent[i->nspent].bytes);
    }
    i->cache = i->cache_at = i->cache_end = NULL;
    i->is_full = 0;
    i->nfillings = 0;
}

int peet_foreign_start(int (*recorded)(uint64_t pc), int (*look)(uint64_t pc), struct peet_error *error)
{
    int err = peet__foreign_images_find(recorded, error);
    if (!err)
        err = peet__foreign_images_add_allocator(error);
    if (!err)
        peet__foreign_want();
    if (!err && (err = peet_rt_foreign_prepare(find, improve, &peet__foreign_world_offset)) != 0)
        err = peet_error_set(error, PEET_EUNSUPPORTED, "foreign=record: the memory from 0x%x on is taken",
            PEET_FOREIGN_LOW);
    for (struct peet__foreign_image *i = peet__foreign_images; !err && i; i = i->next)
        if (allow(i))
            return peet_error_set(error, PEET_EUNSUPPORTED,
                "foreign=record: this system does not let a program change its own code (%s)", i->path);
    for (struct peet__foreign_image *i = peet__foreign_images; !err && i; i = i->next)
        peet__foreign_enter_functions(i);
    if (!err)
        peet__foreign_objects_begin(recorded, look);
    if (!err && (err = peet_rt_foreign_begin(is_foreign, peet_foreign_is_translated)) != 0)
        peet_error_set(error, err, "out of memory");
    return err;
}
