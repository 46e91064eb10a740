/* SPDX-License-Identifier: Apache-2.0 */
/* What is translated, and the way from one block to the other. */
#include "foreign/translate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <uthash.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { CACHE_BYTES = 64 << 20, GRAIN = 1 << 16 };
#define REACH 0x70000000ull

int64_t peet__foreign_world_offset;

struct block {
    UT_hash_handle hh;
    uint64_t pc; /* the key */
    uint8_t *code, *end;
    uint16_t *offsets; /* of instructions in the code */
    struct peet_foreign_block desc;
};

static struct block *blocks;
static struct block **by_number;
static uint64_t nblocks, room;

struct link { uint8_t *site; uint64_t target; };
static struct link *links;
static uint64_t nlinks, links_room;

/* -------------------------------------------------------------------------------------------------- room */

/* Memory within reach of all of the image, before or behind it. */
static uint8_t *map_near(const struct peet__foreign_image *i)
{
    for (uint64_t distance = CACHE_BYTES; distance < REACH; distance += CACHE_BYTES)
        for (int behind = 0; behind < 2; behind++) {
            const uint64_t at = (behind ? i->hi + distance : i->lo - distance - CACHE_BYTES) & -(uint64_t)GRAIN;
            void *p = mmap((void *)at, CACHE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
            if (p == (void *)at)
                return p;
            if (p != MAP_FAILED)
                munmap(p, CACHE_BYTES);
        }
    return NULL;
}

uint8_t *peet__foreign_room(struct peet__foreign_image *i, size_t bytes)
{
    if (!i->cache) {
        i->cache = map_near(i);
        i->cache_at = i->cache;
        i->cache_end = i->cache ? i->cache + CACHE_BYTES : NULL;
    }
    return i->cache && (size_t)(i->cache_end - i->cache_at) >= bytes ? i->cache_at : NULL;
}

/* ------------------------------------------------------------------------------------------------- links */

uint64_t peet__foreign_link(uint8_t *site, uint64_t target)
{
    if (nlinks == links_room) {
        const uint64_t more = links_room ? 2 * links_room : 1 << 14;
        struct link *l = realloc(links, more * sizeof *l);
        if (!l)
            return 0;
        links = l;
        links_room = more;
    }
    links[nlinks++] = (struct link){site, target};
    return nlinks;
}

static void settle(uint64_t number, const uint8_t *code)
{
    uint8_t *site = links[number - 1].site;
    const int64_t distance = code - (site + 4);
    const int32_t near = (int32_t)distance;
    if (near == distance)
        memcpy(site, &near, 4);
}

/* ------------------------------------------------------------------------------------------------ blocks */

static void *copy(const void *from, size_t n, size_t size)
{
    void *p = malloc(n * size + 1);
    if (p)
        memcpy(p, from, n * size);
    return p;
}

static int describe(struct block *b, const struct peet__foreign_plan *p, struct peet__foreign_function *f)
{
    struct peet_foreign_block *d = &b->desc;
    struct peet_insn *insns = copy(p->insns, p->n, sizeof *insns);
    uint8_t *regs = copy(p->regs, p->nregs, 1);
    d->pc = p->pc;
    d->function = &f->pub;
    d->refs = copy(p->refs, p->nrefs, sizeof *d->refs);
    d->values = copy(p->values, p->nvalues, sizeof *d->values);
    d->insns = insns;
    d->ninsns = p->n;
    d->nrefs = p->nrefs;
    d->nvalues = p->nvalues;
    d->nslots = p->nslots;
    d->code_bytes = (uint32_t)(p->next - p->pc);
    if (!insns || !regs || !d->refs || !d->values)
        return PEET_ENOMEM;
    for (uint32_t k = 0; k < p->n; k++)
        insns[k].regs = regs + (insns[k].regs - p->regs);
    return 0;
}

static struct block *translate(struct peet__foreign_image *image, struct peet__foreign_function *f, uint64_t pc)
{
    static struct peet__foreign_plan plan;
    struct block *b = calloc(1, sizeof *b), **more;
    if (nblocks == room) {
        more = realloc(by_number, (room ? 2 * room : 4096) * sizeof *more);
        if (!more)
            return NULL;
        by_number = more;
        room = room ? 2 * room : 4096;
    }
    if (!b || PEET_FOREIGN_WORDS + PEET_FOREIGN_WORD_STEP * nblocks >= PEET_FOREIGN_WORDS_END || peet__foreign_analyse(image, pc, &plan))
        return NULL;
    struct peet__foreign_code c = {peet__foreign_room(image, PEET__FOREIGN_CODE_BYTES)};
    if (!c.at)
        return NULL;
    peet__foreign_name(image, f);
    b->pc = pc;
    b->code = c.at;
    b->desc.word = PEET_FOREIGN_WORDS + PEET_FOREIGN_WORD_STEP * nblocks;
    if (describe(b, &plan, f))
        return NULL;
    peet__foreign_emit(&c, &plan, b->desc.word);
    b->end = image->cache_at = c.at;
    b->offsets = copy(plan.offsets, plan.n, sizeof *plan.offsets);
    by_number[nblocks++] = b;
    HASH_ADD(hh, blocks, pc, sizeof b->pc, b);
    if (plan.end == PEET__FOREIGN_CALL || plan.end == PEET__FOREIGN_CALL_INDIRECT) {
        peet__foreign_counts.returns++;
        if (!peet__foreign_enter_at(image, plan.next))
            peet__foreign_counts.unsafe_returns++;
    }
    peet__foreign_counts.blocks++;
    return b;
}

/* A jump to code that is not foreign, or cannot be translated. */
static uint64_t native(uint64_t target, enum peet_foreign_kind kind)
{
    struct peet__foreign_image *any = peet__foreign_images;
    uint8_t *at;
    if (kind == PEET_FOREIGN_RETURN)
        return peet__foreign_state->native_return;
    at = peet__foreign_room(any, 64);
    if (!at)
        return target;
    struct peet__foreign_code c = {at};
    peet__put_native_jump(&c, target);
    any->cache_at = c.at;
    return (uint64_t)at;
}

static void remember(enum peet_foreign_kind kind, uint64_t target, uint64_t code)
{
    uint64_t *keys = (uint64_t *)(uintptr_t)(kind == PEET_FOREIGN_RETURN ? PEET_FOREIGN_RETURN_KEYS : PEET_FOREIGN_JUMP_KEYS);
    uint64_t *codes = (uint64_t *)(uintptr_t)(kind == PEET_FOREIGN_RETURN ? PEET_FOREIGN_RETURN_CODES : PEET_FOREIGN_JUMP_CODES);
    keys[target & 0xffff] = -target;
    codes[target & 0xffff] = code;
}

static uint64_t find(uint64_t asked, enum peet_foreign_kind kind, uint64_t link)
{
    const uint64_t target = peet_rt_foreign_allocator_instead(asked);
    struct peet__foreign_image *image = peet__foreign_image_of(target);
    struct peet__foreign_function *f = image ? peet__foreign_function_of(image, target) : NULL;
    struct block *b = NULL;
    uint64_t code;
    peet__foreign_counts.misses++;
    if (f) {
        HASH_FIND(hh, blocks, &target, sizeof target, b);
        if (!b)
            b = translate(image, f, target);
    }
    code = b ? (uint64_t)b->code : native(target, kind);
    if (b && link)
        settle(link, b->code);
    else if (!link)
        remember(kind, asked, code);
    return code;
}

const struct peet_foreign_block *peet_foreign_block(uint64_t word)
{
    const uint64_t number = (word - PEET_FOREIGN_WORDS) / PEET_FOREIGN_WORD_STEP;
    return word >= PEET_FOREIGN_WORDS && word % PEET_FOREIGN_WORD_STEP == 0 && number < nblocks ? &by_number[number]->desc : NULL;
}

static uint64_t original_in(const struct block *b, uint64_t pc)
{
    uint64_t found = b->pc;
    for (uint32_t k = 0; b->offsets && k < b->desc.ninsns && (uint64_t)b->code + b->offsets[k] <= pc; k++)
        found = b->desc.insns[k].pc;
    return found;
}

uint64_t peet_foreign_original(uint64_t pc)
{
    for (uint64_t k = 0; k < nblocks; k++)
        if (pc >= (uint64_t)by_number[k]->code && pc < (uint64_t)by_number[k]->end)
            return original_in(by_number[k], pc);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- begin */

static int is_foreign(uint64_t pc)
{
    struct peet__foreign_image *image = peet__foreign_image_of(pc);
    return image && peet__foreign_function_of(image, pc);
}

static int open_text(const struct peet__foreign_image *i)
{
    const uint64_t lo = i->lo & -4096ull, hi = (i->hi + 4095) & -4096ull;
    return mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);
}

int peet_foreign_start(int (*recorded)(uint64_t pc), struct peet_error *error)
{
    int err = peet__foreign_images_find(recorded, error);
    if (!err)
        err = peet__foreign_images_add_allocator(error);
    if (!err && (err = peet_rt_foreign_prepare(find, &peet__foreign_world_offset)) != 0)
        peet_error_set(error, err, "foreign=record: the memory from 0x%x on is taken", PEET_FOREIGN_LOW);
    for (struct peet__foreign_image *i = peet__foreign_images; !err && i; i = i->next) {
        if (open_text(i) || !peet__foreign_room(i, 64))
            return peet_error_set(error, PEET_EUNSUPPORTED, "foreign=record: this system does not let a program change its own code (%s)", i->path);
        peet__foreign_enter_functions(i);
    }
    if (!err && (err = peet_rt_foreign_begin(is_foreign)) != 0)
        peet_error_set(error, err, "out of memory");
    return err;
}
