/* SPDX-License-Identifier: Apache-2.0 */
/* The program under study: its images and functions, found by name, number and run-time address. */
#include "format.h"
#include "program/parts.h"

#include <stdlib.h>
#include <string.h>

int peet_program_new(struct peet_program **out_program)
{
    struct peet_program *p = calloc(1, sizeof *p);
    if (!p)
        return PEET_ENOMEM;
    p->granularity = 2;
    *out_program = p;
    return 0;
}

static void image_free(struct peet__image *image)
{
    if (!image)
        return;
    peet__image_unmap(image);
    free(image->functions);
    free(image);
}

void peet_program_free(struct peet_program *p)
{
    if (!p)
        return;
    if (p->native_free)
        p->native_free(p);
    if (p->direct_free)
        p->direct_free(p);
    for (unsigned k = 0; k < p->nfunctions; k++)
        peet__function_free(p->functions[k]);
    for (unsigned k = 0; k < p->nimages; k++)
        image_free(p->images[k]);
    free(p->functions);
    free(p->images);
    free(p->pc_key);
    free(p->pc_value);
    free(p->values);
    free(p->synthetics);
    free(p);
}

/* Returns: whether another block was there */
static int insert_pc(struct peet_program *p, uint64_t pc, uint64_t value)
{
    uint64_t at = peet__pc_slot(p, pc);
    while (p->pc_key[at] != 0 && p->pc_key[at] != pc)
        at = (at + 1) & p->pc_mask;
    const int other = p->pc_key[at] != 0 && p->pc_value[at] != value;
    p->pc_key[at] = pc;
    p->pc_value[at] = value;
    return other;
}

/* Room for `more` entries at a load of at most one half. */
static int reserve_pcs(struct peet_program *p, uint64_t more)
{
    uint64_t capacity = p->pc_key ? p->pc_mask + 1 : 0, want = capacity != 0 ? capacity : 1024;
    while (want < 2 * (p->pc_used + more))
        want *= 2;
    if (want == capacity)
        return 0;
    uint64_t *old_key = p->pc_key, *old_value = p->pc_value;
    uint64_t *key = calloc(want, sizeof *key), *value = calloc(want, sizeof *value);
    if (!key || !value) {
        free(key);
        free(value);
        return PEET_ENOMEM;
    }
    p->pc_key = key;
    p->pc_value = value;
    p->pc_mask = want - 1;
    for (uint64_t k = 0; k < capacity; k++)
        if (old_key[k] != 0)
            insert_pc(p, old_key[k], old_value[k]);
    free(old_key);
    free(old_value);
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct peet__function *x = *(struct peet__function *const *)a, *y = *(struct peet__function *const *)b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* What a section that begins with this function is aligned to: what most is of that is in it. */
static uint64_t section_align(const struct peet__image *image, unsigned k)
{
    uint64_t most = 1;
    for (unsigned i = k; i < image->nfunctions && (i == k || !image->functions[i]->new_section); i++)
        most = image->functions[i]->most_align > most ? image->functions[i]->most_align : most;
    return most;
}

/*
 * Plain addresses: sections in the order of the file, packed; within one, as the reader laid them out. The first is where it is
 * in the file: what lies before it has no recording code.
 */
static void lay_functions(struct peet__image *image)
{
    uint64_t base = 0, end = 0;
    for (unsigned k = 0; k < image->nfunctions; k++) {
        struct peet__function *f = image->functions[k];
        if (k == 0)
            base = f->start - f->plain_offset;
        else if (f->new_section || base + f->plain_offset < end) {
            const uint64_t align = section_align(image, k);
            base = (end + align - 1) & -align;
        }
        f->pub.pc = base + f->plain_offset;
        end = f->pub.pc + f->pub.code_bytes;
        for (uint32_t b = 0; b < f->nall; b++) {
            f->blocks[b].pc += f->pub.pc;
            for (uint32_t n = 0; n < f->blocks[b].ninsns; n++)
                ((struct peet_insn *)f->blocks[b].insns)[n].pc += f->pub.pc;
        }
    }
}

/* Its functions are what is found where they are.  There was another image before, perhaps: who has looked looks
 * again. */
static void place(struct peet_program *p, const struct peet__image *image)
{
    int others = 0;
    for (unsigned k = 0; k < image->nfunctions; k++) {
        const struct peet__function *f = image->functions[k];
        const uint64_t first = (uint64_t)f->pub.id << 32;
        for (uint32_t s = 0; s < f->nsegments; s++) {
            if (f->turn_offset[s] != UINT32_MAX)
                others |= insert_pc(p, f->start + f->turn_offset[s], first | s);
            if (f->code[s].sync)
                others |= insert_pc(p, f->start + f->sync_offset[s], first | s);
        }
    }
    if (!others)
        return;
    p->replaced++;
    if (p->direct_replaced)
        p->direct_replaced(p);
}

/* Makes the functions of a read image known to the program. */
static int adopt(struct peet_program *p, struct peet__image *image, struct peet_error *error)
{
    uint64_t syncs = 0;
    uint32_t values = p->values_capacity;
    for (unsigned k = 0; k < image->nfunctions; k++)
        for (uint32_t s = 0; s < image->functions[k]->nsegments; s++)
            syncs += image->functions[k]->code[s].sync + (image->functions[k]->turn_offset[s] != UINT32_MAX);
    struct peet__function **functions =
        realloc(p->functions, (p->nfunctions + image->nfunctions + 1) * sizeof *functions);
    if (functions)
        p->functions = functions, p->functions_room = p->nfunctions + image->nfunctions + 1;
    struct peet__image **images = realloc(p->images, (p->nimages + 1) * sizeof *images);
    if (images)
        p->images = images;
    if (!functions || !images || reserve_pcs(p, syncs) != 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (unsigned k = 0; k < image->nfunctions; k++)
        for (uint32_t b = 0; b < image->functions[k]->nall; b++) {
            const struct peet__function *f = image->functions[k];
            const uint32_t its = f->blocks[b].nvalues << f->code[b].moving; /* its strides, too */
            if (its > values)
                values = its;
            if (f->code[b].slot_words > p->slots_capacity)
                p->slots_capacity = f->code[b].slot_words;
        }
    uint64_t *scratch = realloc(p->values, 2 * (values + 1) * sizeof *scratch);
    if (!scratch)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    p->values = scratch;
    p->values_capacity = values;
    for (unsigned k = 0; k < image->nfunctions; k++) {
        struct peet__function *f = image->functions[k];
        f->pub.id = p->nfunctions;
        p->functions[p->nfunctions++] = f;
        p->gaps.asm_statements += f->asm_statements;
        if ((int)f->granularity < p->granularity)
            p->granularity = f->granularity;
        f->first_id = p->nblocks;
        for (uint32_t b = 0; b < f->nall; b++)
            f->blocks[b].id = p->nblocks++;
    }
    place(p, image);
    p->pc_used += syncs;
    p->images[p->nimages++] = image;
    return 0;
}

int peet__program_add_part(struct peet_program *p, struct peet__function *f, uint64_t word, struct peet_error *error)
{
    uint32_t values = p->values_capacity;
    struct peet__function **functions = p->functions;
    if (p->nfunctions + 1 > p->functions_room) {
        const unsigned room = p->nfunctions + p->nfunctions / 2 + 64;
        functions = realloc(p->functions, room * sizeof *functions);
        if (functions) {
            p->functions = functions;
            p->functions_room = room;
        }
    }
    if (!functions || reserve_pcs(p, 1) != 0)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (uint32_t b = 0; b < f->nall; b++) {
        values = f->blocks[b].nvalues > values ? f->blocks[b].nvalues : values;
        if (f->code[b].slot_words > p->slots_capacity)
            p->slots_capacity = f->code[b].slot_words;
    }
    uint64_t *scratch = realloc(p->values, 2 * (values + 1) * sizeof *scratch);
    if (!scratch)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    p->values = scratch;
    p->values_capacity = values;
    f->first_id = p->nblocks;
    for (uint32_t b = 0; b < f->nall; b++)
        f->blocks[b].id = p->nblocks++;
    f->pub.id = p->nfunctions;
    p->functions[p->nfunctions++] = f;
    if (word == 0)
        return 0;
    insert_pc(p, word, (uint64_t)f->pub.id << 32);
    p->pc_used++;
    return 0;
}

int peet__program_read(struct peet_program *p, struct peet__image *image, struct peet_error *error)
{
    int err = 0;
    size_t offset = 0;
    unsigned capacity = 0, padding = 0;
    while (err == 0 && offset < image->schema.size) {
        if (image->nfunctions == capacity) {
            capacity = capacity != 0 ? 2 * capacity : 64;
            struct peet__function **f = realloc(image->functions, capacity * sizeof *f);
            if (!f) {
                err = peet_error_set(error, PEET_ENOMEM, "out of memory");
                break;
            }
            image->functions = f;
        }
        if (image->schema.bytes[offset] == 0 && padding++ < PEET_FORMAT_PADDING) {
            offset++;
            continue;
        }
        padding = 0;
        err = peet__function_read(image, &offset, &image->functions[image->nfunctions], error);
        if (err == 0)
            image->nfunctions++;
    }
    if (err == 0) {
        if (image->nfunctions != 0)
            qsort(image->functions, image->nfunctions, sizeof *image->functions, by_start);
        lay_functions(image);
        int n = (int)image->nfunctions;
        err = adopt(p, image, error);
        if (err == 0)
            return n;
    }
    for (unsigned k = 0; k < image->nfunctions; k++)
        peet__function_free(image->functions[k]);
    image_free(image);
    return err;
}

static int is_same_file(const struct peet__image *a, const struct peet__image *b)
{
    return a->device == b->device && a->file == b->file && a->changed_ns == b->changed_ns &&
        a->map_bytes == b->map_bytes;
}

/* A library that comes again to the same place is the image that it was.  Returns: whether it is such a one */
static int is_back(struct peet_program *p, const struct peet__image *image)
{
    unsigned k = p->nimages;
    while (k != 0 && (p->images[k - 1]->bias != image->bias || !is_same_file(p->images[k - 1], image)))
        k--;
    if (k == 0)
        return 0;
    struct peet__image *const one = p->images[k - 1];
    memmove(&p->images[k - 1], &p->images[k], (p->nimages - k) * sizeof *p->images);
    p->images[p->nimages - 1] = one;
    place(p, one);
    return 1;
}

int peet_program_add_image(struct peet_program *p, const char *path, uint64_t bias, struct peet_error *error)
{
    struct peet__image *image = calloc(1, sizeof *image);
    if (!image)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    image->bias = bias;
    int err = peet__image_map(image, path, error);
    if (err != 0) {
        image_free(image);
        return err;
    }
    if (is_back(p, image)) {
        image_free(image);
        return PEET_ENOTFOUND;
    }
    return peet__program_read(p, image, error);
}

unsigned peet_program_nfunctions(const struct peet_program *p)
{
    return p->nfunctions;
}

const struct peet_function *peet_program_function(struct peet_program *p, unsigned k, struct peet_error *error)
{
    if (k >= p->nfunctions) {
        peet_error_set(error, PEET_EINVALID, "function %u of %u", k, p->nfunctions);
        return NULL;
    }
    return &p->functions[k]->pub;
}

const struct peet_function *peet_program_function_of_pc(struct peet_program *p, uint64_t pc)
{
    for (unsigned k = p->nimages; k-- > 0;) { /* the last one that came there */
        const struct peet__image *image = p->images[k];
        unsigned lo = 0, hi = image->nfunctions;
        while (lo < hi) {
            unsigned mid = lo + (hi - lo) / 2;
            if (image->functions[mid]->start <= pc)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo != 0 && pc - image->functions[lo - 1]->start < image->functions[lo - 1]->recorded_bytes)
            return &image->functions[lo - 1]->pub;
    }
    return NULL;
}

size_t peet_program_values(const struct peet_program *p)
{
    return p->values_capacity;
}

int peet_program_granularity(const struct peet_program *p)
{
    return p->nfunctions != 0 ? p->granularity : 0;
}

void peet_program_gaps(struct peet_program *p, struct peet_program_gaps *out_gaps)
{
    *out_gaps = p->gaps;
}

void peet_program_calls(struct peet_program *p, peet_program_call *fn, void *arg)
{
    for (unsigned k = 0; k < p->nfunctions; k++)
        for (uint32_t c = 0; c < p->functions[k]->ncalls; c++)
            fn(arg, &p->functions[k]->blocks[p->functions[k]->calls[c].segment], p->functions[k]->calls[c].callee);
}

void peet_program_set_rescan(struct peet_program *p, peet_program_rescan *fn, void *arg)
{
    p->rescan = fn;
    p->rescan_arg = arg;
}

const struct peet_block *peet_program_block_of_turn(const struct peet_program *p, uint64_t pc)
{
    if (!p->pc_key)
        return NULL;
    for (uint64_t at = peet__pc_slot(p, pc); p->pc_key[at]; at = (at + 1) & p->pc_mask)
        if (p->pc_key[at] == pc)
            return &p->functions[p->pc_value[at] >> 32]->blocks[(uint32_t)p->pc_value[at]];
    return NULL;
}

uint32_t peet_program_nblocks(const struct peet_program *p)
{
    return p->nblocks;
}
