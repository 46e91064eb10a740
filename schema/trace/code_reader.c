/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a recording without a schema; see code.h.  Nothing in the file is trusted. */
#include "program/foreign_block.h"
#include "trace/code.h"
#include "trace/code_parts.h"
#include "trace/recording_parts.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

/** A function of an image's symbol table. */
struct symbol {
    uint64_t from, to;
    struct peet_foreign_function function;
};

/** All that the program's blocks point to; freed with the recording. */
struct peet__recorded_code {
    struct symbol *symbols;
    size_t nsymbols, symbols_room;
    struct peet_foreign_function unknown;
    struct peet__owned owned;
};

void *peet__owned_new(struct peet__owned *o, size_t n, size_t each)
{
    void *all = calloc(n ? n : 1, each);

    if (all && o->n == o->room) {
        const size_t room = o->room ? 2 * o->room : 256;
        void **more = realloc(o->all, room * sizeof *more);

        if (!more) {
            free(all);
            return NULL;
        }
        o->all = more;
        o->room = room;
    }
    if (all)
        o->all[o->n++] = all;
    return all;
}

void peet__owned_fini(struct peet__owned *o)
{
    for (size_t i = 0; i < o->n; i++)
        free(o->all[i]);
    free(o->all);
}

void peet__recorded_code_free(struct peet__recorded_code *c)
{
    if (!c)
        return;
    peet__owned_fini(&c->owned);
    free(c->symbols);
    free(c);
}

/* ---------------------------------------------------------------------------------------- symbols */

static int add_symbol(struct peet__recorded_code *c, const char *name, const char *image, uint64_t from, uint64_t bytes)
{
    char *copy = peet__owned_new(&c->owned, strlen(name) + 1, 1);

    if (copy && c->nsymbols == c->symbols_room) {
        const size_t room = c->symbols_room ? 2 * c->symbols_room : 1024;
        struct symbol *more = realloc(c->symbols, room * sizeof *more);

        if (!more)
            return PEET_ENOMEM;
        c->symbols = more;
        c->symbols_room = room;
    }
    if (!copy)
        return PEET_ENOMEM;
    strcpy(copy, name);
    c->symbols[c->nsymbols++] = (struct symbol){from, from + bytes, {copy, image, from, (uint32_t)bytes, NULL}};
    return 0;
}

/** The functions of an image's symbol table; an image that is no ELF file, or damaged, has none. */
static int read_symbols(struct peet__recorded_code *c, const char *image, uint64_t bias, uint8_t *bytes, size_t n)
{
    Elf *elf = elf_memory((char *)bytes, n);
    Elf_Scn *section = NULL;
    GElf_Shdr head;
    GElf_Sym symbol;
    int err = 0;

    while (elf && !err && (section = elf_nextscn(elf, section)) != NULL) {
        Elf_Data *data;

        if (!gelf_getshdr(section, &head) || head.sh_type != SHT_SYMTAB || !head.sh_entsize ||
            !(data = elf_getdata(section, NULL)))
            continue;
        for (size_t i = 0; i < data->d_size / head.sh_entsize && !err; i++) {
            const char *name;

            if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_size ||
                symbol.st_size > UINT32_MAX)
                continue;
            name = elf_strptr(elf, head.sh_link, symbol.st_name);
            if (name)
                err = add_symbol(c, name, image, symbol.st_value + bias, symbol.st_size);
        }
    }
    elf_end(elf);
    return err;
}

static int by_place(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return strcmp(x->function.name, y->function.name);
}

static int all_symbols(struct peet_recording *r, struct peet__recorded_code *c, struct peet_error *error)
{
    elf_version(EV_CURRENT);
    for (size_t i = 0; i < peet_recording_nimages(r); i++) {
        const struct peet_recorded_image *image = peet_recording_image(r, i);
        uint8_t *bytes;
        size_t n;
        int err = peet_recording_load_image(r, i, &bytes, &n, error);

        if (err)
            return err;
        err = read_symbols(c, image->path, image->bias, bytes, n);
        free(bytes);
        if (err)
            return peet__recording_no_memory(error);
    }
    if (c->nsymbols)
        qsort(c->symbols, c->nsymbols, sizeof *c->symbols, by_place);
    return 0;
}

/** The function that an address lies in. */
static struct peet_foreign_function *function_of(struct peet__recorded_code *c, uint64_t pc)
{
    size_t lo = 0, hi = c->nsymbols;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (c->symbols[mid].from <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo > 1 && c->symbols[lo - 1].from == c->symbols[lo - 2].from) /* of several names the first */
        lo--;
    return lo && pc < c->symbols[lo - 1].to ? &c->symbols[lo - 1].function : &c->unknown;
}

/* ----------------------------------------------------------------------------------------- blocks */

/* The plainest instruction of each class, with costs as LLVM has them for most processors. */
enum opcode { PLAIN, LOAD, STORE, MODIFY, COPY, OPCODES };
static const struct peet_opcode opcodes[OPCODES] = {
    [PLAIN] = {"ADD64rr", "add", 1, 250, 1, 0, PEET_INSN_INT, 0},
    [LOAD] = {"MOV64rm", "mov", 5, 500, 1, 0, PEET_INSN_MOVE, 0},
    [STORE] = {"MOV64mr", "mov", 1, 1000, 1, 0, PEET_INSN_MOVE, 0},
    [MODIFY] = {"ADD64mr", "add", 6, 1000, 2, 0, PEET_INSN_INT, 0},
    [COPY] = {"MOVSQ", "movs", 5, 2000, 3, 0, PEET_INSN_STRING, 0},
};
static const struct peet_opcode branches[PEET_TRACED_BRANCHES] = {
    [PEET_TRACED_CONDITIONAL] = {"JCC_1", "jcc", 1, 500, 1, 0, PEET_INSN_BRANCH, 0},
    [PEET_TRACED_JUMP] = {"JMP_1", "jmp", 1, 500, 1, 0, PEET_INSN_JUMP, 0},
    [PEET_TRACED_INDIRECT_JUMP] = {"JMP64r", "jmp", 1, 500, 1, 0, PEET_INSN_JUMP, 0},
    [PEET_TRACED_CALL] = {"CALL64pcrel32", "call", 1, 500, 1, 0, PEET_INSN_CALL, 0},
    [PEET_TRACED_INDIRECT_CALL] = {"CALL64r", "call", 1, 500, 1, 0, PEET_INSN_CALL, 0},
    [PEET_TRACED_RETURN] = {"RET64", "ret", 1, 500, 1, 0, PEET_INSN_RETURN, 0},
};

/** Where a description is read. */
struct reading {
    const uint8_t *at, *end;
    struct peet_insn insns[PEET__CODE_INSNS_MAX];
    struct peet_ref refs[PEET__CODE_BLOCK_REFS];
    uint8_t regs[PEET__CODE_INSNS_MAX][2 * PEET_TRACED_REGS];
    uint64_t pc;
    uint32_t ninsns, nrefs, bytes;
};

static const struct peet_opcode *opcode_of(unsigned branch, unsigned kinds)
{
    if (branch)
        return &branches[branch];
    if (kinds & 1 << PEET_REF_MODIFY)
        return &opcodes[MODIFY];
    if ((kinds & 1 << PEET_REF_LOAD) && (kinds & 1 << PEET_REF_STORE))
        return &opcodes[COPY];
    return &opcodes[kinds & 1 << PEET_REF_STORE ? STORE : kinds ? LOAD : PLAIN];
}

static int take_registers(struct reading *r, uint8_t *to, uint8_t *out_n)
{
    if (r->at == r->end || *r->at > PEET_TRACED_REGS || r->end - r->at < 1 + *r->at)
        return PEET_EFORMAT;
    *out_n = *r->at++;
    for (unsigned i = 0; i < *out_n; i++)
        if ((to[i] = *r->at++) >= PEET_REGS)
            return PEET_EFORMAT;
    return 0;
}

static int take_insn(struct reading *r, uint32_t number)
{
    struct peet_insn *insn = &r->insns[number];
    unsigned branch, kinds = 0;
    uint64_t nrefs, text;

    *insn = (struct peet_insn){.pc = r->pc + r->bytes, .regs = r->regs[number], .first_ref = (uint16_t)r->nrefs};
    if (r->end - r->at < 2 || r->at[0] > PEET__CODE_LENGTH_MAX || r->at[1] >= PEET_TRACED_BRANCHES)
        return PEET_EFORMAT;
    insn->length_bytes = *r->at++;
    branch = *r->at++;
    if (take_registers(r, r->regs[number], &insn->nreads) ||
        take_registers(r, r->regs[number] + insn->nreads, &insn->nwrites) ||
        peet__take_number(&r->at, r->end, &nrefs) || nrefs > PEET__CODE_REFS_MAX ||
        nrefs > PEET__CODE_BLOCK_REFS - r->nrefs)
        return PEET_EFORMAT;
    for (uint64_t k = 0; k < nrefs; k++) {
        if (peet__take_number(&r->at, r->end, &text) || text >> 2 > UINT16_MAX)
            return PEET_EFORMAT;
        r->refs[r->nrefs] = (struct peet_ref){.insn = number,
            .size_bytes = text >> 2 ? (uint16_t)(text >> 2) : 1,
            .value = (uint16_t)r->nrefs,
            .kind = (uint8_t)(text & 3)}; /* the kinds have the same numbers */
        kinds |= 1u << (text & 3);
        r->nrefs++;
    }
    insn->nrefs = (uint16_t)nrefs;
    insn->opcode = opcode_of(branch, kinds);
    insn->flags = branch == PEET_TRACED_INDIRECT_JUMP || branch == PEET_TRACED_INDIRECT_CALL ? PEET_INSN_INDIRECT : 0;
    r->bytes += insn->length_bytes;
    return 0;
}

static int take_block(struct reading *r)
{
    uint64_t ninsns;

    r->nrefs = r->bytes = 0;
    if (peet__take_number(&r->at, r->end, &r->pc) || peet__take_number(&r->at, r->end, &ninsns) || !ninsns ||
        ninsns > PEET__CODE_INSNS_MAX)
        return PEET_EFORMAT;
    r->ninsns = (uint32_t)ninsns;
    for (uint32_t i = 0; i < r->ninsns; i++)
        if (take_insn(r, i))
            return PEET_EFORMAT;
    return 0;
}

/** What was read, in memory that lasts. */
static int keep_block(struct peet__recorded_code *c, const struct reading *r, struct peet_program *program,
    uint64_t word, struct peet_error *error)
{
    struct peet_insn *insns = peet__owned_new(&c->owned, r->ninsns, sizeof *insns);
    struct peet_ref *refs = peet__owned_new(&c->owned, r->nrefs, sizeof *refs);
    struct peet_foreign_value *values = peet__owned_new(&c->owned, r->nrefs, sizeof *values);
    uint8_t *regs = peet__owned_new(&c->owned, r->ninsns, sizeof r->regs[0]);
    struct peet_foreign_block block = {.pc = r->pc,
        .insns = insns,
        .refs = refs,
        .values = values,
        .ninsns = r->ninsns,
        .nrefs = r->nrefs,
        .nvalues = r->nrefs,
        .nslots = r->nrefs,
        .code_bytes = r->bytes};

    if (!insns || !refs || !values || !regs)
        return peet__recording_no_memory(error);
    memcpy(insns, r->insns, r->ninsns * sizeof *insns);
    memcpy(refs, r->refs, r->nrefs * sizeof *refs);
    for (uint32_t i = 0; i < r->ninsns; i++) {
        insns[i].regs = memcpy(regs + i * sizeof r->regs[0], r->regs[i], sizeof r->regs[0]);
    }
    for (uint32_t i = 0; i < r->nrefs; i++)
        values[i] = (struct peet_foreign_value){.slot = {(int16_t)i, -1}};
    block.function = function_of(c, r->pc);
    return peet_program_add_foreign(program, word, &block, 1, error);
}

int peet_recording_add_code(struct peet_recording *r, struct peet_program *program, struct peet_error *error)
{
    struct peet__recorded_code *c = calloc(1, sizeof *c);
    struct reading *reading = malloc(sizeof *reading);
    const uint8_t *bytes = NULL;
    size_t n = 0;
    int nblocks = 0,
        err = c && reading ? peet_recording_code_bytes(r, &bytes, &n, error) : peet__recording_no_memory(error);

    peet__recorded_code_free(r->code);
    r->code = c;
    peet__recorded_paths_free(r->paths);
    r->paths = NULL;
    if (!err)
        err = peet__recorded_paths_read(r, &r->paths, error);
    if (!err && n) {
        c->unknown = (struct peet_foreign_function){"?", r->path, 0, 0, NULL};
        err = all_symbols(r, c, error);
        reading->at = bytes;
        reading->end = bytes + n;
        while (!err && reading->at < reading->end) {
            if (nblocks == PEET__CODE_BLOCKS_MAX || take_block(reading))
                err =
                    peet_error_set(error, PEET_EFORMAT, "%s: damaged: block %d of its code is none", r->path, nblocks);
            else
                err = keep_block(c, reading, program, PEET__CODE_WORD(nblocks++), error);
        }
    }
    free(reading);
    return err ? err : nblocks;
}
