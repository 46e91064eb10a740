/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DynamoRIO's drmemtrace, offline and thread-sharded, as its analysis tools read it: records of 12 bytes, {type (16
 * bits), size (16), address (64)}.  A file begins with a header, version 5 (branches know whether they were taken),
 * markers and the thread, and ends with the thread's exit and a footer. Instruction encodings are not kept.  An
 * indirect branch follows a marker with its target; data follow their instruction.  A bundle is up to eight
 * instructions behind the one before, of which it has the lengths.  What an older version's conditional branch has done
 * is known with the next instruction.
 */
#include "trace/insns_format.h"

#include <string.h>

enum type {
    READ = 0,
    WRITE = 1,
    PREFETCH = 2,
    PREFETCH_LAST = 9,
    INSTR = 10,
    DIRECT_JUMP,
    INDIRECT_JUMP,
    CONDITIONAL_JUMP,
    DIRECT_CALL,
    INDIRECT_CALL,
    RETURN,
    BUNDLE,
    THREAD = 22,
    THREAD_EXIT,
    PID,
    HEADER,
    FOOTER,
    MARKER = 28,
    NO_FETCH = 29,
    MAYBE_FETCH,
    SYSENTER,
    PREFETCH_MORE = 32,
    PREFETCH_MORE_LAST = 46,
    ENCODING = 47,
    TAKEN_JUMP = 48,
    UNTAKEN_JUMP = 49,
    TYPES = 50
};
enum marker {
    TIMESTAMP = 2,
    CPU_ID = 3,
    FILETYPE = 9,
    CACHE_LINE_SIZE = 10,
    VERSION = 12,
    PAGE_SIZE = 18,
    BRANCH_TARGET = 29
};
enum { BRANCH_INFO = 5, ARCH_X86_64 = 0x40, RECORD_BYTES = 12 };

static void put(struct peet_insn_writer *w, unsigned type, unsigned size, uint64_t address)
{
    uint8_t bytes[RECORD_BYTES];
    const uint16_t head[] = {(uint16_t)type, (uint16_t)size};

    memcpy(bytes, head, 4);
    memcpy(bytes + 4, &address, 8);
    fwrite(bytes, sizeof bytes, 1, w->file);
}

static void drmemtrace_begin(struct peet_insn_writer *w)
{
    put(w, HEADER, 0, BRANCH_INFO);
    put(w, MARKER, VERSION, BRANCH_INFO);
    put(w, MARKER, FILETYPE, ARCH_X86_64);
    put(w, THREAD, 4, w->thread);
    put(w, PID, 4, 1);
    put(w, MARKER, CACHE_LINE_SIZE, 64);
    put(w, MARKER, PAGE_SIZE, 4096);
    put(w, MARKER, TIMESTAMP, 1);
    put(w, MARKER, CPU_ID, w->thread);
}

static void drmemtrace_write(struct peet_insn_writer *w, const struct peet_traced_insn *insn)
{
    static const uint8_t types[PEET_TRACED_BRANCHES] = {
        INSTR, TAKEN_JUMP, DIRECT_JUMP, INDIRECT_JUMP, DIRECT_CALL, INDIRECT_CALL, RETURN};
    unsigned type = types[insn->branch];

    if (insn->branch == PEET_TRACED_CONDITIONAL && !insn->taken)
        type = UNTAKEN_JUMP;
    if (!insn->again) {
        if (type == INDIRECT_JUMP || type == INDIRECT_CALL || type == RETURN)
            put(w, MARKER, BRANCH_TARGET, insn->target);
        put(w, type, insn->length ? insn->length : 1, insn->pc);
    }
    for (unsigned i = 0; i < insn->nrefs; i++) {
        const struct peet_traced_ref *ref = &insn->refs[i];
        const unsigned size = ref->size ? ref->size : 1;

        if (ref->kind == PEET_TRACED_LOAD || ref->kind == PEET_TRACED_MODIFY)
            put(w, READ, size, ref->address);
        if (ref->kind == PEET_TRACED_STORE || ref->kind == PEET_TRACED_MODIFY)
            put(w, WRITE, size, ref->address);
        if (ref->kind == PEET_TRACED_PREFETCH)
            put(w, PREFETCH, size, ref->address);
    }
}

static void drmemtrace_end(struct peet_insn_writer *w)
{
    put(w, THREAD_EXIT, 4, w->thread);
    put(w, FOOTER, 0, 0);
}

static int data(struct peet_insn_reader *r, uint64_t address, unsigned size, unsigned kind,
    struct peet_traced_insn *out_insn)
{
    struct peet_traced_insn next = {.pc = r->insn.pc, .length = r->insn.length, .again = r->begun};

    if (r->begun && peet__insns_add_ref(&r->insn, address, size, kind))
        return 0;
    peet__insns_add_ref(&next, address, size, kind);
    return peet__insns_give(r, &next, out_insn);
}

static int instruction(struct peet_insn_reader *r, unsigned type, unsigned size, uint64_t pc,
    struct peet_traced_insn *out_insn)
{
    static const uint8_t branches[] = {PEET_TRACED_NONE, PEET_TRACED_JUMP, PEET_TRACED_INDIRECT_JUMP,
        PEET_TRACED_CONDITIONAL, PEET_TRACED_CALL, PEET_TRACED_INDIRECT_CALL, PEET_TRACED_RETURN};
    struct peet_traced_insn next = {.pc = pc, .length = (uint8_t)size, .target = r->target};

    if (type == TAKEN_JUMP || type == UNTAKEN_JUMP)
        next.branch = PEET_TRACED_CONDITIONAL;
    else if (type >= INSTR && type <= RETURN)
        next.branch = branches[type - INSTR];
    next.taken = next.branch && type != UNTAKEN_JUMP && type != CONDITIONAL_JUMP;
    if (r->untold)
        r->insn.taken = pc != r->insn.pc + r->insn.length;
    r->untold = type == CONDITIONAL_JUMP;
    r->target = 0;
    return peet__insns_give(r, &next, out_insn);
}

static int bundle(struct peet_insn_reader *r, unsigned n, uint64_t lengths, struct peet_error *error)
{
    if (n > sizeof lengths)
        return peet__insns_damaged(r, "a bundle of more than 8 instructions", error);
    if (!r->begun)
        return peet__insns_damaged(r, "a bundle without an instruction before it", error);
    r->bundled = n;
    r->lengths = lengths;
    return 0;
}

/** Each thread has a file of its own: what several have done by turns would be one context. */
static int thread(struct peet_insn_reader *r, uint64_t id, struct peet_error *error)
{
    if (r->has_thread && id != r->thread)
        return peet_error_set(error, PEET_EFORMAT,
            "%s: record %llu: thread %llu, and before it thread %llu: a file of a thread-sharded trace has one thread; "
            "core-sharded ones are not read",
            r->path, (unsigned long long)r->records, (unsigned long long)id, (unsigned long long)r->thread);
    r->thread = id;
    r->has_thread = 1;
    return 0;
}

static int drmemtrace_read(struct peet_insn_reader *r, struct peet_traced_insn *out_insn, struct peet_error *error)
{
    uint8_t bytes[RECORD_BYTES];
    uint16_t head[2];
    uint64_t address;
    size_t n;
    int got = 0;

    while (!got && (r->bundled || (n = fread(bytes, 1, sizeof bytes, r->file)) > 0)) {
        if (r->bundled) {
            r->bundled--;
            got = instruction(r, INSTR, r->lengths & 0xff, r->insn.pc + r->insn.length, out_insn);
            r->lengths >>= 8;
            continue;
        }
        memcpy(head, bytes, 4);
        memcpy(&address, bytes + 4, 8);
        r->records++;
        if (n < sizeof bytes)
            return peet__insns_damaged(r, "it is cut off", error);
        if (r->records == 1 && head[0] != HEADER)
            return peet__insns_damaged(r, "a trace begins with a header; unpack it first if it is compressed", error);
        if (head[0] >= TYPES)
            return peet__insns_damaged(r, "an unknown type", error);
        if (head[0] == MARKER && head[1] == BRANCH_TARGET)
            r->target = address;
        if ((head[0] >= INSTR && head[0] <= RETURN) || head[0] == TAKEN_JUMP || head[0] == UNTAKEN_JUMP ||
            head[0] == SYSENTER) {
            if (head[1] > 255)
                return peet__insns_damaged(r, "an instruction of more than 255 bytes", error);
            got = instruction(r, head[0], head[1], address, out_insn);
        } else if (head[0] == BUNDLE) {
            got = bundle(r, head[1], address, error);
        } else if (head[0] == THREAD) {
            got = thread(r, address, error);
        } else if (head[0] == READ || head[0] == WRITE) {
            got = data(r, address, head[1], head[0] == READ ? PEET_TRACED_LOAD : PEET_TRACED_STORE, out_insn);
        } else if ((head[0] >= PREFETCH && head[0] <= PREFETCH_LAST) ||
            (head[0] >= PREFETCH_MORE && head[0] <= PREFETCH_MORE_LAST)) {
            got = data(r, address, head[1], PEET_TRACED_PREFETCH, out_insn);
        } else if (head[0] == FOOTER) {
            r->ended = 1;
        }
    }
    if (got)
        return got;
    if (ferror(r->file))
        return peet_error_set(error, PEET_EIO, "%s: cannot be read", r->path);
    if (!r->ended)
        return peet__insns_damaged(r, "it ends without a footer", error);
    return peet__insns_give(r, NULL, out_insn);
}

const struct peet__insn_format peet__insns_drmemtrace = {.name = "drmemtrace",
    .begin = drmemtrace_begin,
    .write = drmemtrace_write,
    .end = drmemtrace_end,
    .read = drmemtrace_read};
