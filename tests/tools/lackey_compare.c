/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a reference stream with lackey's, instruction by instruction and reference by reference.
 *
 *   lackey_compare PLAIN_ELF LACKEY_TRACE PEET_ELF STREAM [BIAS]
 *
 * LACKEY_TRACE: valgrind --tool=lackey --trace-mem=yes (iropt level 0, no chasing); may be a pipe.
 * STREAM: what the observer streamdump wrote.  BIAS: where Valgrind loads a PIE (0x108000).
 *
 * Both are cut to the functions that the schema knows.  Code addresses become function + offset, data
 * of the image the symbol (or section, or GOT slot) + offset, stack and thread-local addresses a
 * distance from the first one met; nothing else is mapped, so that any difference remains one.
 * Normalised within one instruction, on both sides alike, because VEX expresses it otherwise:
 * order of the references; adjoining loads (or stores) of one vector operand are joined; a rep
 * instruction's iterations are one instruction; a load and a modify of one address (lock) is a modify;
 * a gather's lanes that are switched off are reads of one stack address in VEX, and none here; a bit test
 * of a register by a register goes through memory of VEX's own.
 *
 * Exit status: 0 equal, 1 different, 2 bad input, 3 different, but the two stacks are not a multiple of
 * 64 bytes apart, so that over-aligned frames cannot be compared: shift one and try again.
 */
#include "elfsyms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_ALIGNMENT 64 /* the greatest that a frame of the programs asks for */
#define MAX_REFS 65536

struct ref {
    char kind; /* L S M */
    char tls;
    uint64_t address;
    uint64_t bytes;
};

struct insn {
    const struct elf_symbol *function; /* in the plain file */
    uint64_t offset;
    unsigned length;
    char flag;
    char opcode[64];
    unsigned nrefs, nskipped; /* skipped: lanes that did not happen (peet's side) */
    struct ref refs[MAX_REFS];
};

struct function {
    const struct elf_symbol *plain;
    uint64_t bias; /* of the image in peet's process, if it is the program itself */
};

static const struct elf_file *plain, *peet;
static FILE *trace, *stream;
static uint64_t trace_bias, peet_bias;
static struct function *functions;
static unsigned nfunctions;
static char *known; /* by index of plain symbol: the schema has it */
static uint64_t compared_insns, compared_refs;

/* Distance between the two address spaces, for the stack and for thread-local data. */
struct region {
    const char *name;
    int known;
    uint64_t anchor, delta, reach; /* peet's first address; plain minus peet */
};
static struct region stack_region = {"stack", 0, 0, 0, 8 << 20}, tls_region = {"thread-local data", 0, 0, 0, 1 << 16};

static struct insn from_trace, from_stream;

/* ------------------------------------------------------------------------------------- peet's side */

static void read_function(const char *line)
{
    unsigned id, code_bytes, count;
    uint64_t runtime_pc, plain_pc;
    char name[65536], image[4096];
    if (sscanf(line, "F %u %u %" SCNx64 " %" SCNx64 " %65535s %4095s", &id, &code_bytes, &runtime_pc, &plain_pc, name, image) < 5)
        die("stream: bad line: %s", line);
    if (id >= nfunctions) {
        functions = realloc(functions, (id + 64) * sizeof *functions);
        if (!functions)
            die("out of memory");
        memset(functions + nfunctions, 0, (id + 64 - nfunctions) * sizeof *functions);
        nfunctions = id + 64;
    }
    const struct elf_symbol *p = elf_function_named(plain, name, &count);
    if (!p)
        die("function %s: %u symbols of that name in %s", name, count, plain->path);
    if (p->size != code_bytes) {
        printf("function %s: %u bytes of code by the schema, %" PRIu64 " in the plain program\n", name, code_bytes, p->size);
        exit(1);
    }
    const struct elf_symbol *q = elf_function_named(peet, name, &count);
    if (!q)
        die("function %s: %u symbols of that name in %s", name, count, peet->path);
    functions[id].plain = p;
    functions[id].bias = runtime_pc - q->value;
    if (known[0] && functions[id].bias != peet_bias)
        die("function %s is at %" PRIx64 ", which contradicts the load address found before", name, runtime_pc);
    peet_bias = functions[id].bias;
    known[0] = 1;
}

/* The schema's functions must be known before the trace is cut to them: one pass over the stream. */
static void read_functions(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t bytes = 0;
    if (!file)
        die("cannot read %s", path);
    while (getline(&line, &bytes, file) > 0)
        if (line[0] == 'F')
            read_function(line);
    for (unsigned i = 0; i < nfunctions; i++)
        if (functions[i].plain)
            known[1 + (functions[i].plain - plain->symbols)] = 1;
    free(line);
    fclose(file);
    if (!known[0])
        die("%s: no function at all", path);
}

static int next_from_stream(struct insn *out)
{
    static char *line;
    static size_t bytes;
    static int have;
    out->nrefs = out->nskipped = 0;
    for (;;) {
        if (!have && getline(&line, &bytes, stream) <= 0)
            return 0;
        have = 1;
        if (line[0] == 'X')
            break;
        have = 0;
    }
    unsigned id;
    if (sscanf(line, "X %u %" SCNx64 " %u %c %63s", &id, &out->offset, &out->length, &out->flag, out->opcode) != 5 || id >= nfunctions)
        die("stream: bad line: %s", line);
    out->function = functions[id].plain;
    while (have = getline(&line, &bytes, stream) > 0, have && line[0] != 'X' && line[0] != 'F') {
        struct ref *r = &out->refs[out->nrefs];
        if (line[0] >= 'a') {
            out->nskipped++;
            continue;
        }
        r->kind = line[0];
        char *end;
        r->address = strtoull(line + 2, &end, 16);
        r->bytes = strtoull(end, &end, 10);
        r->tls = *end == ' ';
        if (r->kind != 'P' && ++out->nrefs == MAX_REFS)
            die("stream: too many references in one instruction");
    }
    return 1;
}

/* ----------------------------------------------------------------------------------- lackey's side */

static int next_from_trace(struct insn *out, int is_rep, uint64_t *io_pc)
{
    static char *line;
    static size_t bytes;
    static int have;
    out->nrefs = 0;
    for (;;) { /* the next instruction of a known function */
        if (!have && getline(&line, &bytes, trace) <= 0)
            return 0;
        have = 1;
        if (line[0] == 'I' && line[1] == ' ') {
            char *end;
            uint64_t pc = strtoull(line + 3, &end, 16);
            const struct elf_symbol *f = elf_function_at(plain, pc - trace_bias);
            if (f && known[1 + (f - plain->symbols)]) {
                if (is_rep && *io_pc != pc)
                    return 0; /* the rep instruction is over */
                *io_pc = pc;
                out->function = f;
                out->offset = pc - trace_bias - f->value;
                out->length = (unsigned)strtoul(end + 1, NULL, 10);
                break;
            }
        }
        have = 0;
    }
    while (have = getline(&line, &bytes, trace) > 0, have && line[0] == ' ') {
        struct ref *r = &out->refs[out->nrefs];
        char *end;
        r->kind = line[1];
        r->tls = 0;
        r->address = strtoull(line + 3, &end, 16);
        r->bytes = strtoull(end + 1, NULL, 10);
        if (++out->nrefs == MAX_REFS)
            die("trace: too many references in one instruction");
    }
    return 1;
}

/* A rep instruction: lackey shows each iteration as an instruction, and a last one that does nothing. */
static void gather_rep(struct insn *out)
{
    static struct ref all[MAX_REFS];
    unsigned n = 0;
    uint64_t pc = trace_bias + out->function->value + out->offset;
    while (out->nrefs) {
        if (n + out->nrefs > MAX_REFS)
            die("trace: too many references in one rep instruction");
        memcpy(all + n, out->refs, out->nrefs * sizeof *all);
        n += out->nrefs;
        if (!next_from_trace(out, 1, &pc))
            break;
    }
    memcpy(out->refs, all, n * sizeof *all);
    out->nrefs = n;
}

/* ----------------------------------------------------------------------------------- normalisation */

static int by_kind_and_address(const void *pa, const void *pb)
{
    const struct ref *a = pa, *b = pb;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static void normalise(struct insn *i)
{
    unsigned n = 0;
    for (unsigned k = 0; k < i->nrefs; k++) /* L a + M a: a locked operation */
        if (k + 1 < i->nrefs && i->refs[k].kind == 'L' && i->refs[k + 1].kind == 'M' && i->refs[k].address == i->refs[k + 1].address)
            continue;
        else
            i->refs[n++] = i->refs[k];
    i->nrefs = n;
    qsort(i->refs, n, sizeof *i->refs, by_kind_and_address);
    n = 0;
    for (unsigned k = 0; k < i->nrefs; k++) {
        struct ref *last = n ? &i->refs[n - 1] : NULL;
        if (last && last->kind == i->refs[k].kind && last->address + last->bytes == i->refs[k].address)
            last->bytes += i->refs[k].bytes;
        else
            i->refs[n++] = i->refs[k];
    }
    i->nrefs = n;
}

/* VEX reads lanes that a gather leaves out from the stack pointer's address: as many loads of one
 * address as peet says there were such lanes.  Loads that peet has too are not candidates. */
static int drop_switched_off(struct insn *t, const struct insn *p)
{
    unsigned n = 0, dropped = 0;
    uint64_t address = 0;
    if (p->nskipped == 0 || !strstr(p->opcode, "GATHER"))
        return 1;
    for (unsigned k = 0; k < t->nrefs; k++) {
        const struct ref *r = &t->refs[k];
        char name[1024];
        if (!elf_name_address(plain, r->address - trace_bias, name, sizeof name) &&
            (!dropped || r->address == address) && dropped < p->nskipped) {
            address = r->address;
            dropped++;
        } else {
            t->refs[n++] = *r;
        }
    }
    t->nrefs = n;
    return dropped == p->nskipped;
}

/* Bit tests of a register by a register: VEX stores the register below the stack, reads or modifies one
 * byte of it, and (bts, btr, btc) reads it back.  Peet's side has no reference. */
static void drop_bit_test(struct insn *t, const struct insn *p)
{
    if (strncmp(p->opcode, "BT", 2) == 0 && strstr(p->opcode, "rr") && t->nrefs >= 2 && t->refs[0].kind == 'S' &&
        t->refs[1].bytes == 1 && t->refs[1].address - t->refs[0].address < t->refs[0].bytes)
        t->nrefs = 0;
}

/* ------------------------------------------------------------------------------------------ compare */

static int same_address(const struct ref *t, const struct ref *p)
{
    char a[1024], b[1024];
    int in_plain = elf_name_address(plain, t->address - trace_bias, a, sizeof a);
    int in_peet = elf_name_address(peet, p->address - peet_bias, b, sizeof b);
    if (in_plain || in_peet)
        return in_plain && in_peet && strcmp(a, b) == 0;
    struct region *r = p->tls || (tls_region.known && p->address - tls_region.anchor + tls_region.reach < 2 * tls_region.reach)
        ? &tls_region
        : &stack_region;
    if (!r->known) {
        r->known = 1;
        r->anchor = p->address;
        r->delta = t->address - p->address;
    }
    return p->address - r->anchor + r->reach < 2 * r->reach && t->address - p->address == r->delta;
}

static void show(const char *who, const struct insn *i, const struct elf_file *elf, uint64_t bias)
{
    printf("  %-7s %s+%#" PRIx64 " %u bytes%s%s\n", who, i->function->name, i->offset, i->length, i->opcode[0] ? " " : "", i->opcode);
    for (unsigned k = 0; k < i->nrefs; k++) {
        char name[1024] = "";
        elf_name_address(elf, i->refs[k].address - bias, name, sizeof name);
        printf("          %c %#" PRIx64 ",%" PRIu64 " %s%s\n", i->refs[k].kind, i->refs[k].address, i->refs[k].bytes, name,
            i->refs[k].tls ? " (thread-local)" : "");
    }
}

static void differ(const char *what)
{
    printf("after %" PRIu64 " equal instructions and %" PRIu64 " equal references: %s\n", compared_insns, compared_refs, what);
    if (stack_region.known)
        printf("  the stack is %+" PRId64 " bytes apart\n", (int64_t)stack_region.delta);
    show("lackey", &from_trace, plain, trace_bias);
    show("peet", &from_stream, peet, peet_bias);
    exit(stack_region.known && stack_region.delta % STACK_ALIGNMENT ? 3 : 1);
}

static void compare(void)
{
    struct insn *t = &from_trace, *p = &from_stream;
    uint64_t pc = 0;
    for (;;) {
        int more_t = next_from_trace(t, 0, &pc), more_p = next_from_stream(p);
        if (!more_t && !more_p)
            return;
        if (!more_t || !more_p)
            differ(more_t ? "peet's stream ends here" : "lackey's trace ends here");
        if (t->function != p->function || t->offset != p->offset)
            differ("another instruction");
        if (p->flag == 'O')
            continue; /* inline assembly: one opaque instruction of peet's; its own test */
        if (t->length != p->length)
            differ("another length");
        if (p->flag == 'R')
            gather_rep(t);
        if (!drop_switched_off(t, p))
            differ("another number of lanes switched off");
        drop_bit_test(t, p);
        normalise(t);
        normalise(p);
        if (t->nrefs != p->nrefs)
            differ("another number of references");
        for (unsigned k = 0; k < t->nrefs; k++)
            if (t->refs[k].kind != p->refs[k].kind || t->refs[k].bytes != p->refs[k].bytes || !same_address(&t->refs[k], &p->refs[k]))
                differ("another reference");
        compared_insns++;
        compared_refs += t->nrefs;
    }
}

int main(int argc, char **argv)
{
    if (argc < 5)
        die("usage: lackey_compare PLAIN_ELF LACKEY_TRACE PEET_ELF STREAM [BIAS]");
    plain = elf_file_open(argv[1]);
    peet = elf_file_open(argv[3]);
    trace_bias = argc > 5 ? strtoull(argv[5], NULL, 0) : plain->is_pie ? 0x108000 : 0;
    known = calloc(plain->nsymbols + 1, 1);
    read_functions(argv[4]);
    trace = fopen(argv[2], "r");
    stream = fopen(argv[4], "r");
    if (!trace || !stream)
        die("cannot read %s or %s", argv[2], argv[4]);
    compare();
    printf("%" PRIu64 " instructions and %" PRIu64 " references equal\n", compared_insns, compared_refs);
    if (compared_insns == 0 || compared_refs == 0)
        die("nothing was compared: is the load address of the plain program right?");
    return 0;
}
