/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign code's way out of a recording; see paths.h.  Nothing in the file is trusted. */
#include "trace/path_parts.h"
#include "trace/recording_parts.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** A path that has been read. */
struct path {
    UT_hash_handle hh;
    uint64_t word;
    struct peet_foreign_block *blocks;
    uint32_t n;
};

/** All that has been read, with what the program's blocks point to. */
struct peet__recorded_paths {
    struct peet__owned owned;
    struct path *paths;
    void **items[PEET__PATH_ITEMS]; /* by number */
    size_t n[PEET__PATH_ITEMS], room[PEET__PATH_ITEMS];
};

/** Where a list of items is read; err: 0, PEET_EFORMAT or PEET_ENOMEM. */
struct reading {
    struct peet__recorded_paths *paths;
    const uint8_t *at, *end;
    int err;
};

void peet__recorded_paths_free(struct peet__recorded_paths *p)
{
    if (!p)
        return;
    HASH_CLEAR(hh, p->paths);
    for (int kind = 0; kind < PEET__PATH_ITEMS; kind++)
        free(p->items[kind]);
    peet__owned_fini(&p->owned);
    free(p);
}

/** A number that is at most @most; 0 if something is wrong. */
static uint64_t take(struct reading *r, uint64_t most)
{
    uint64_t number = 0;

    if (!r->err && (peet__take_number(&r->at, r->end, &number) || number > most))
        r->err = PEET_EFORMAT;
    return r->err ? 0 : number;
}

static int64_t take_signed(struct reading *r)
{
    const uint64_t number = take(r, UINT64_MAX);

    return (int64_t)(number >> 1 ^ -(number & 1));
}

static void *own(struct reading *r, size_t n, size_t each)
{
    void *all = r->err ? NULL : peet__owned_new(&r->paths->owned, n, each);

    if (!all && !r->err)
        r->err = PEET_ENOMEM;
    return all;
}

static const char *take_text(struct reading *r)
{
    const uint8_t *end = r->err ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
    const size_t n = end ? (size_t)(end + 1 - r->at) : 0;
    char *text = NULL;

    if (!n && !r->err)
        r->err = PEET_EFORMAT;
    if (!(text = own(r, n, 1)))
        return "";
    memcpy(text, r->at, n);
    r->at += n;
    return text;
}

static void keep(struct reading *r, enum peet__path_item kind, void *item)
{
    struct peet__recorded_paths *const p = r->paths;

    if (!r->err && p->n[kind] == p->room[kind]) {
        const size_t room = 2 * p->room[kind] + 64;
        void **more = realloc(p->items[kind], room * sizeof *more);

        if (!more) {
            r->err = PEET_ENOMEM;
        } else {
            p->items[kind] = more;
            p->room[kind] = room;
        }
    }
    if (!r->err)
        p->items[kind][p->n[kind]++] = item;
}

/** An earlier item by its number. */
static void *take_item(struct reading *r, enum peet__path_item kind)
{
    const size_t n = r->paths->n[kind];

    if (!n && !r->err)
        r->err = PEET_EFORMAT;
    const uint64_t number = take(r, n ? n - 1 : 0);
    return r->err ? NULL : r->paths->items[kind][number];
}

static void take_function(struct reading *r)
{
    struct peet_foreign_function *f = own(r, 1, sizeof *f);

    if (!f)
        return;
    f->pc = take(r, UINT64_MAX);
    f->bytes = (uint32_t)take(r, UINT32_MAX);
    f->name = take_text(r);
    f->image = take_text(r);
    keep(r, PEET__PATH_FUNCTION, f);
}

static void take_opcode(struct reading *r)
{
    struct peet_opcode *o = own(r, 1, sizeof *o);

    if (!o)
        return;
    o->klass = (uint8_t)take(r, PEET_INSN_CLASSES - 1);
    o->variant = (uint16_t)take(r, UINT16_MAX);
    o->latency_cycles = (uint32_t)take(r, UINT32_MAX);
    o->rthroughput_millicycles = (uint32_t)take(r, UINT32_MAX);
    o->uops = (uint32_t)take(r, UINT32_MAX);
    o->ports = take(r, UINT64_MAX);
    o->name = take_text(r);
    o->mnemonic = take_text(r);
    keep(r, PEET__PATH_OPCODE, o);
}

static void take_insn(struct reading *r, uint64_t pc, uint32_t nrefs, struct peet_insn *i)
{
    i->opcode = take_item(r, PEET__PATH_OPCODE);
    i->pc = pc + take(r, UINT32_MAX);
    i->flags = (uint32_t)take(r, UINT32_MAX);
    i->length_bytes = (uint8_t)take(r, UINT8_MAX);
    i->first_ref = (uint16_t)take(r, nrefs);
    i->nrefs = (uint16_t)take(r, nrefs - i->first_ref);
    i->nreads = (uint8_t)take(r, UINT8_MAX);
    i->nwrites = (uint8_t)take(r, UINT8_MAX);
    i->naddresses = (uint8_t)take(r, i->nreads);
    uint8_t *regs = own(r, (size_t)i->nreads + i->nwrites, 1);
    i->regs = regs;
    for (unsigned k = 0; k < (unsigned)i->nreads + i->nwrites && !r->err; k++)
        regs[k] = (uint8_t)take(r, PEET_REGS - 1);
}

static void take_ref(struct reading *r, uint32_t ninsns, struct peet_ref *ref)
{
    ref->insn = (uint32_t)take(r, ninsns - 1);
    ref->size_bytes = (uint16_t)take(r, UINT16_MAX);
    ref->flags = (uint16_t)take(r, UINT16_MAX);
    ref->value = (uint16_t)take(r, UINT16_MAX);
    ref->kind = (uint8_t)take(r, PEET_REF_PREFETCH);
    ref->order = (uint8_t)take(r, UINT8_MAX);
    ref->group = (uint8_t)take(r, UINT8_MAX);
}

static void take_body(struct reading *r)
{
    struct peet_foreign_block *b = own(r, 1, sizeof *b);

    if (!b)
        return;
    b->function = take_item(r, PEET__PATH_FUNCTION);
    b->pc = take(r, UINT64_MAX);
    b->code_bytes = (uint32_t)take(r, UINT32_MAX);
    b->ninsns = (uint32_t)take(r, PEET__PATH_INSNS_MAX);
    struct peet_insn *insns = own(r, b->ninsns, sizeof *insns);
    for (uint32_t k = 0; k < b->ninsns && !r->err; k++)
        take_insn(r, b->pc, PEET__PATH_REFS_MAX, &insns[k]);
    if (!b->ninsns && !r->err)
        r->err = PEET_EFORMAT;
    b->nrefs = (uint32_t)take(r, PEET__PATH_REFS_MAX);
    struct peet_ref *refs = own(r, b->nrefs, sizeof *refs);
    for (uint32_t k = 0; k < b->nrefs && !r->err; k++)
        take_ref(r, b->ninsns, &refs[k]);
    for (uint32_t k = 0; k < b->ninsns && !r->err; k++)
        if (insns[k].first_ref + insns[k].nrefs > b->nrefs)
            r->err = PEET_EFORMAT;
    b->insns = insns;
    b->refs = refs;
    keep(r, PEET__PATH_BODY, b);
}

/** Does each reference have its values? */
static int has_values(const struct peet_foreign_block *b)
{
    for (const struct peet_ref *ref = b->refs; ref < b->refs + b->nrefs; ref++) {
        const uint32_t two = (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) != 0;

        if (ref->value + two >= b->nvalues)
            return 0;
    }
    return 1;
}

/** @before: the slots of the block before it */
static void take_block(struct reading *r, uint32_t before, struct peet_foreign_block *b)
{
    const struct peet_foreign_block *body = take_item(r, PEET__PATH_BODY);

    if (!body)
        return;
    *b = *body;
    b->nslots = (uint32_t)take(r, PEET__PATH_SLOTS_MAX);
    b->nvalues = (uint32_t)take(r, 2 * PEET__PATH_REFS_MAX);
    struct peet_foreign_value *values = own(r, b->nvalues, sizeof *values);
    for (uint32_t k = 0; k < b->nvalues && !r->err; k++) {
        values[k].disp = (uint64_t)take_signed(r);
        values[k].slot[0] = (int16_t)((int)take(r, b->nslots) - 1);
        values[k].slot[1] = (int16_t)((int)take(r, b->nslots) - 1);
        values[k].multiplier = (int32_t)take_signed(r);
        values[k].fs = (uint8_t)take(r, 1);
    }
    b->values = values;
    if (!r->err && (b->nslots < before || !has_values(b)))
        r->err = PEET_EFORMAT;
}

static void take_path(struct reading *r)
{
    struct path *p = own(r, 1, sizeof *p), *same = NULL;

    if (!p)
        return;
    p->word = take(r, UINT64_MAX);
    p->n = (uint32_t)take(r, PEET_FOREIGN_MOST_BLOCKS);
    p->blocks = own(r, p->n, sizeof *p->blocks);
    for (uint32_t k = 0; k < p->n && !r->err; k++)
        take_block(r, k ? p->blocks[k - 1].nslots : 0, &p->blocks[k]);
    if (!r->err && (!p->n || !p->word))
        r->err = PEET_EFORMAT;
    if (r->err)
        return;
    HASH_FIND(hh, r->paths->paths, &p->word, sizeof p->word, same);
    if (!same)
        HASH_ADD(hh, r->paths->paths, word, sizeof p->word, p);
}

int peet__recorded_paths_read(struct peet_recording *recording, struct peet__recorded_paths **out_paths,
    struct peet_error *error)
{
    static void (*const takers[PEET__PATH_ITEMS])(struct reading *) = {
        take_function, take_opcode, take_body, take_path};
    struct reading r = {.paths = calloc(1, sizeof *r.paths)};
    const uint8_t *bytes = NULL;
    size_t n = 0;
    int err = r.paths ? peet_recording_paths_bytes(recording, &bytes, &n, error) : peet__recording_no_memory(error);

    *out_paths = r.paths;
    r.at = bytes;
    r.end = bytes + n;
    while (!err && !r.err && r.at < r.end) {
        const uint64_t kind = take(&r, PEET__PATH_ITEMS - 1);

        takers[kind](&r);
    }
    if (r.err == PEET_EFORMAT)
        return peet_error_set(error, PEET_EFORMAT, "%s: damaged: its foreign code cannot be read from byte %zu on",
            recording->path, (size_t)(r.at - bytes));
    return r.err ? peet__recording_no_memory(error) : err;
}

int peet_recording_add_path(struct peet_recording *recording, struct peet_program *program, uint64_t word,
    struct peet_error *error)
{
    struct path *p = NULL;
    int err;

    if (recording->paths)
        HASH_FIND(hh, recording->paths->paths, &word, sizeof word, p);
    if (!p)
        return 0;
    err = peet_program_add_foreign(program, word, p->blocks, p->n, error);
    return err ? err : 1;
}
