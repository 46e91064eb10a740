/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign code's way into a recording; see paths.h.  path_reader.c reads what is written here. */
#include "trace/path_parts.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/** An item that has been written: its kind and description.  Equal descriptions are one item. */
struct known {
    UT_hash_handle hh;
    uint64_t number;
    uint8_t bytes[];
};

struct peet_path_writer {
    struct known *known;
    uint64_t counts[PEET__PATH_ITEMS];
    struct peet__bytes item, body;
    int err;
};

int peet_path_writer_new(struct peet_path_writer **out_writer)
{
    *out_writer = calloc(1, sizeof **out_writer);
    return *out_writer ? 0 : PEET_ENOMEM;
}

void peet_path_writer_free(struct peet_path_writer *w)
{
    struct known *k, *next;

    if (!w)
        return;
    HASH_ITER(hh, w->known, k, next)
    {
        HASH_DEL(w->known, k);
        free(k);
    }
    peet__bytes_fini(&w->item);
    peet__bytes_fini(&w->body);
    free(w);
}

static void put(struct peet_path_writer *w, struct peet__bytes *to, uint64_t number)
{
    w->err |= peet__bytes_number(to, number);
}

static void put_signed(struct peet_path_writer *w, struct peet__bytes *to, int64_t number)
{
    put(w, to, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static void put_text(struct peet_path_writer *w, struct peet__bytes *to, const char *text)
{
    w->err |= peet__bytes_add(to, text ? text : "", text ? strlen(text) + 1 : 1);
}

/** The number of an item, which goes to @out if it is new. */
static uint64_t number_of(struct peet_path_writer *w, const struct peet__bytes *item, struct peet__bytes *out)
{
    struct known *k = NULL;

    if (w->err)
        return 0;
    HASH_FIND(hh, w->known, item->at, item->n, k);
    if (k)
        return k->number;
    k = malloc(sizeof *k + item->n);
    if (!k) {
        w->err = PEET_ENOMEM;
        return 0;
    }
    memcpy(k->bytes, item->at, item->n);
    k->number = w->counts[*item->at]++;
    HASH_ADD_KEYPTR(hh, w->known, k->bytes, item->n, k);
    w->err |= peet__bytes_add(out, item->at, item->n);
    return k->number;
}

static uint64_t function_number(struct peet_path_writer *w, const struct peet_foreign_function *f,
    struct peet__bytes *out)
{
    w->item.n = 0;
    put(w, &w->item, PEET__PATH_FUNCTION);
    put(w, &w->item, f->pc);
    put(w, &w->item, f->bytes);
    put_text(w, &w->item, f->name);
    put_text(w, &w->item, f->image);
    return number_of(w, &w->item, out);
}

static uint64_t opcode_number(struct peet_path_writer *w, const struct peet_opcode *o, struct peet__bytes *out)
{
    w->item.n = 0;
    put(w, &w->item, PEET__PATH_OPCODE);
    put(w, &w->item, o->klass);
    put(w, &w->item, o->variant);
    put(w, &w->item, o->latency_cycles);
    put(w, &w->item, o->rthroughput_millicycles);
    put(w, &w->item, o->uops);
    put(w, &w->item, o->ports);
    put_text(w, &w->item, o->name);
    put_text(w, &w->item, o->mnemonic);
    return number_of(w, &w->item, out);
}

static uint64_t body_number(struct peet_path_writer *w, const struct peet_foreign_block *b, struct peet__bytes *out)
{
    struct peet__bytes *const to = &w->body;

    to->n = 0;
    put(w, to, PEET__PATH_BODY);
    put(w, to, function_number(w, b->function, out));
    put(w, to, b->pc);
    put(w, to, b->code_bytes);
    put(w, to, b->ninsns);
    for (const struct peet_insn *i = b->insns; i < b->insns + b->ninsns; i++) {
        put(w, to, opcode_number(w, i->opcode, out));
        put(w, to, i->pc - b->pc);
        put(w, to, i->flags);
        put(w, to, i->length_bytes);
        put(w, to, i->first_ref);
        put(w, to, i->nrefs);
        put(w, to, i->nreads);
        put(w, to, i->nwrites);
        put(w, to, i->naddresses);
        w->err |= peet__bytes_add(to, i->regs, (size_t)i->nreads + i->nwrites);
    }
    put(w, to, b->nrefs);
    for (const struct peet_ref *r = b->refs; r < b->refs + b->nrefs; r++) {
        put(w, to, r->insn);
        put(w, to, r->size_bytes);
        put(w, to, r->flags);
        put(w, to, r->value);
        put(w, to, r->kind);
        put(w, to, r->order);
        put(w, to, r->group);
    }
    return number_of(w, to, out);
}

int peet_path_describe(struct peet_path_writer *w, uint64_t word, const struct peet_foreign_block *path, uint32_t n,
    struct peet__bytes *out)
{
    struct peet__bytes item = {0};

    put(w, &item, PEET__PATH_PATH);
    put(w, &item, word);
    put(w, &item, n);
    for (const struct peet_foreign_block *b = path; b < path + n; b++) {
        put(w, &item, body_number(w, b, out));
        put(w, &item, b->nslots);
        put(w, &item, b->nvalues);
        for (const struct peet_foreign_value *v = b->values; v < b->values + b->nvalues; v++) {
            put_signed(w, &item, (int64_t)v->disp);
            put(w, &item, (uint64_t)(v->slot[0] + 1));
            put(w, &item, (uint64_t)(v->slot[1] + 1));
            put_signed(w, &item, v->multiplier);
            put(w, &item, v->fs);
        }
    }
    w->err |= peet__bytes_add(out, item.at, item.n);
    peet__bytes_fini(&item);
    return w->err ? PEET_ENOMEM : 0;
}
