/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one function's record (format.h) into blocks, instructions, references and the programs that
 * compute addresses.  Every number is checked against the bytes that are left before it is believed: a
 * damaged record yields PEET_EFORMAT, never a wild access.
 */
#include "program/parts.h"

#include "checksum.h"
#include "program/reader.h"
#include <peet/raw.h>

#include <stdlib.h>
#include <string.h>

/* A growing array; on failure the reader's error is set and nothing is stored. */
#define PUSH(r, array, count, capacity, item) \
    do { \
        if ((count) == (capacity)) { \
            size_t n_ = (capacity) ? (size_t)(capacity) * 2 : 64; \
            void *p_ = realloc((array), n_ * sizeof *(array)); \
            if (!p_) { \
                peet__reader_fail((r), "out of memory"); \
                (r)->error_code = PEET_ENOMEM; \
                break; \
            } \
            (array) = p_; \
            (capacity) = n_; \
        } \
        (array)[(count)++] = (item); \
    } while (0)

void peet__reader_fail(struct reader *r, const char *why)
{
    if (!r->why) {
        r->why = why;
        r->error_code = PEET_EFORMAT;
        r->at = r->end; /* nothing more is read */
    }
}

static uint64_t u(struct reader *r)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) {
            peet__reader_fail(r, "record ends early");
            return 0;
        }
        uint8_t b = *r->at++;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
    peet__reader_fail(r, "number too long");
    return 0;
}

static int64_t i(struct reader *r)
{
    uint64_t v = u(r);
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* A count of things of at least one byte each. */
static uint32_t count(struct reader *r, const char *why)
{
    uint64_t v = u(r);
    if (v > (uint64_t)(r->end - r->at)) {
        peet__reader_fail(r, why);
        return 0;
    }
    return (uint32_t)v;
}

static uint32_t below(struct reader *r, uint64_t limit, const char *why)
{
    uint64_t v = u(r);
    if (v >= limit) {
        peet__reader_fail(r, why);
        return 0;
    }
    return (uint32_t)v;
}

static const char *string(struct reader *r)
{
    uint32_t n = count(r, "string longer than the record");
    char *s = peet__own(r->f, n + 1, 1);
    if (!s) {
        peet__reader_fail(r, "out of memory");
        return "";
    }
    memcpy(s, r->at, n);
    r->at += n;
    return s;
}

static uint32_t u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static uint32_t next_length(struct reader *r)
{
    if (r->length_at == r->nlengths) {
        peet__reader_fail(r, "fewer lengths than instructions");
        return 0;
    }
    return r->lengths[r->length_at++];
}

static uint32_t next_offset(struct reader *r)
{
    if (r->offset_at == r->noffsets) {
        peet__reader_fail(r, "fewer offsets than the record refers to");
        return 0;
    }
    return u32(r->offsets + 4 * (size_t)r->offset_at++);
}

static uint16_t source(struct reader *r, uint32_t slot_words)
{
    uint64_t s = u(r);
    if (s <= PEET__FS)
        return (uint16_t)s;
    if (s < PEET_FORMAT_SOURCE_SLOT || s - PEET_FORMAT_SOURCE_SLOT >= slot_words) {
        peet__reader_fail(r, "form refers to a slot that the block does not write");
        return PEET__ZERO;
    }
    return (uint16_t)(PEET__SLOT + (s - PEET_FORMAT_SOURCE_SLOT));
}

/* The term with multiplier one, if there is one, goes first: the common shapes are a, a + b * m. */
static struct peet__form form(struct reader *r, uint32_t slot_words, uint8_t *out_op)
{
    struct peet__form f = {0, PEET__ZERO, PEET__ZERO, PEET__ZERO, 0, 0};
    uint16_t src[3];
    int32_t mult[3];
    uint32_t n = below(r, 4, "form of more than three terms");
    for (uint32_t k = 0; k < n; k++) {
        src[k] = source(r, slot_words);
        mult[k] = (int32_t)i(r);
    }
    f.disp = (uint64_t)i(r);
    for (uint32_t k = 0; k < n; k++)
        if (mult[k] == 1) {
            f.a = src[k];
            n--;
            src[k] = src[n];
            mult[k] = mult[n];
            break;
        }
    if (n == 3) {
        peet__reader_fail(r, "form of three multiplied terms");
        return f;
    }
    if (n > 0)
        f.b = src[0], f.mb = mult[0];
    if (n > 1)
        f.c = src[1], f.mc = mult[1];
    *out_op = n == 0 ? PEET__SUM1 : n == 1 ? PEET__SUM2 : PEET__SUM3;
    return f;
}

/* Adds what the linker wrote into a symbolic operand.  Returns 0 if the reference is gone. */
static int resolve(struct reader *r, struct peet__form *f, uint32_t offset, uint32_t length)
{
    const uint8_t *code = peet__image_code(r->image, r->address + offset, length);
    struct peet__x86_operand op;
    if (!code || peet__x86_operand(code, length, &op) != 0) {
        peet__reader_fail(r, "code of an instruction with a symbolic operand cannot be read");
        return 0;
    }
    if (!op.present)
        return 0;
    if (op.rip)
        f->disp += r->image->bias + r->address + offset + length + (uint64_t)op.disp;
    else
        f->disp += (uint64_t)op.disp;
    return 1;
}

static void push_value(struct reader *r, struct peet__value v)
{
    PUSH(r, r->values, r->nvalues, r->cvalues, v);
}

static void push_ref(struct reader *r, uint32_t insn, unsigned kind, uint32_t flags, uint32_t order, uint32_t size,
    uint32_t value)
{
    if (value > UINT16_MAX) {
        peet__reader_fail(r, "block with too many references");
        return;
    }
    struct peet_ref ref = {.insn = insn,
        .size_bytes = (uint16_t)size,
        .flags = (uint16_t)flags,
        .value = (uint16_t)value,
        .kind = (uint8_t)kind,
        .order = (uint8_t)order};
    PUSH(r, r->refs, r->nrefs, r->crefs, ref);
}

static struct peet__value sum(struct peet__form f, uint8_t op)
{
    struct peet__value v;
    memset(&v, 0, sizeof v);
    v.form = f;
    v.op = op;
    return v;
}

/* A vector reference: one conditional reference a lane. */
static void read_lanes(struct reader *r, uint32_t insn, const struct segment *s, uint32_t slots, unsigned kind,
    uint32_t flags, uint32_t order, uint32_t size, struct peet__value address)
{
    uint32_t lanes = below(r, 65, "too many lanes");
    uint32_t mask = below(r, slots, "mask slot out of range");
    uint32_t index = below(r, 9, "lane index of unknown width"), slot = 0, scale = 0;
    if (index != 0) {
        if (index != 4 && index != 8)
            peet__reader_fail(r, "lane index of unknown width");
        slot = below(r, slots, "index slot out of range");
        scale = below(r, 9, "scale out of range");
        if ((uint64_t)slot * 8 + (uint64_t)lanes * index > (uint64_t)slots * 8)
            peet__reader_fail(r, "index vector beyond the block's slots");
    }
    if (address.op == PEET__SUM3)
        peet__reader_fail(r, "lanes with three terms");
    for (uint32_t k = 0; k < lanes && !r->why; k++) {
        struct peet__value a = address, m = sum(address.form, PEET__MASK);
        uint32_t value = r->nvalues - s->value;
        a.op = PEET__LANE;
        a.lane = k;
        a.slot = slot;
        a.index_bytes = index;
        a.scale = index != 0 ? (int32_t)scale : (int32_t)size;
        m.slot = mask;
        m.lane = k;
        m.lanes = lanes;
        push_value(r, a);
        push_value(r, m);
        push_ref(r, insn, kind, flags, order, size, value);
    }
}

static void read_ref(struct reader *r, uint32_t insn, const struct segment *s, uint32_t slots, uint32_t offset,
    uint32_t length)
{
    uint64_t word = u(r);
    unsigned kind = word & 3, shape = word >> 2 & 3;
    uint32_t flags = below(r, 1 << 16, "reference flags out of range");
    uint32_t order =
        flags & PEET_REF_ATOMIC ? below(r, PEET_ORDERS, "memory order out of range") : (uint32_t)PEET_ORDER_NONE;
    uint32_t size = below(r, 1 << 16, "reference size out of range");
    uint8_t op = PEET__SUM1;
    struct peet__form f = form(r, slots, &op);
    uint32_t value = r->nvalues - s->value;
    if (r->why)
        return;
    int here = !(word & PEET_FORMAT_REF_SYMBOLIC) || resolve(r, &f, offset, length);
    struct peet__value v = sum(f, op), second = v;
    /* Flags say to every reader what shape the values have: they must agree with the shape here. */
    uint32_t shaped = shape == 0 ? 0 : shape == 1 ? PEET_REF_RANGE : PEET_REF_CONDITIONAL;
    if ((flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) != shaped) {
        peet__reader_fail(r, "reference flags that contradict its shape");
        return;
    }
    switch (shape) {
    case 0:
        if (!here)
            return;
        push_value(r, v);
        break;
    case 1:
        second.form = form(r, slots, &op);
        second.op = op;
        push_value(r, v);
        push_value(r, second);
        break;
    case 2:
        second = sum(f, PEET__MASK);
        second.slot = below(r, slots, "mask slot out of range");
        second.lane = 255;
        second.lanes = below(r, 65, "mask of too many lanes");
        push_value(r, v);
        push_value(r, second);
        break;
    default:
        read_lanes(r, insn, s, slots, kind, flags, order, size, v);
        return;
    }
    push_ref(r, insn, kind, flags, order, size, value);
}

static void push_insn(struct reader *r, const struct peet_insn *insn, uint32_t length, int32_t target, uint8_t is_jump,
    uint32_t reg_at)
{
    struct peet__layout_insn li = {0, length, target, is_jump};
    uint32_t ref_at = r->nrefs, n = r->ninsns;
    PUSH(r, r->insns, r->ninsns, r->cinsns, *insn);
    PUSH(r, r->layout, n, r->clayout, li);
    PUSH(r, r->ref_at, r->nref_at, r->cref_at, ref_at);
    PUSH(r, r->reg_at, r->nreg_at, r->creg_at, reg_at);
}

/* A thread-local address computed by a call, or by what the linker made of the call: two instructions. */
static void read_tls(struct reader *r, struct peet_insn insn, const struct segment *s, uint32_t slots, uint32_t offset,
    uint32_t length, uint32_t reg_at, uint32_t nrefs)
{
    static const struct peet_opcode mov = {"MOV64rm", "mov", 5, 500, 1, 0, PEET_INSN_MOVE, 0};
    static const struct peet_opcode lea = {"LEA64r", "lea", 1, 500, 1, 0, PEET_INSN_MOVE, 0};
    static const struct peet_opcode add = {"ADD64rm", "add", 6, 500, 2, 0, PEET_INSN_INT, 0};
    const uint8_t *code = peet__image_code(r->image, r->address + offset, length);
    unsigned first = 0;
    enum peet__tls tls = code ? peet__x86_tls(code, length, &first) : PEET__TLS_UNKNOWN;
    if (nrefs != 1 || tls == PEET__TLS_UNKNOWN) {
        peet__reader_fail(r, "thread-local access of an unknown form");
        return;
    }
    /* The push that the call would make. */
    u(r);
    uint32_t flags = below(r, 1 << 16, "reference flags out of range");
    uint32_t size = below(r, 1 << 16, "reference size out of range");
    uint8_t op = PEET__SUM1;
    struct peet__form push = form(r, slots, &op);
    struct peet__form tp = {0, PEET__FS, PEET__ZERO, PEET__ZERO, 0, 0},
                      got = {0, PEET__ZERO, PEET__ZERO, PEET__ZERO, 0, 0};
    const struct peet_opcode *call = insn.opcode;
    uint32_t at = r->ninsns - s->insn;
    int relaxed = tls == PEET__TLS_IE || tls == PEET__TLS_LE || tls == PEET__TLS_LD_LE;
    flags &= ~(uint32_t)(PEET_REF_RANGE | PEET_REF_CONDITIONAL | PEET_REF_ATOMIC);
    insn.opcode = relaxed ? &mov : &lea;
    push_insn(r, &insn, first, -1, 0, reg_at);
    if (relaxed) {
        push_value(r, sum(tp, PEET__SUM1));
        push_ref(r, at, PEET_REF_LOAD, PEET_REF_TLS, PEET_ORDER_NONE, 8, r->nvalues - 1 - s->value);
    }
    if (tls == PEET__TLS_LD_LE)
        return;
    insn.opcode = tls == PEET__TLS_IE ? &add : tls == PEET__TLS_LE ? &lea : call;
    push_insn(r, &insn, length - first, -1, 0, reg_at);
    if (tls == PEET__TLS_IE || tls == PEET__TLS_CALL_GOT) {
        if (!resolve(r, &got, offset + first, length - first))
            peet__reader_fail(r, "thread-local access of an unknown form");
        push_value(r, sum(got, PEET__SUM1));
        push_ref(r, at + 1, PEET_REF_LOAD, PEET_REF_GLOBAL, PEET_ORDER_NONE, 8, r->nvalues - 1 - s->value);
    }
    if (!relaxed) {
        push_value(r, sum(push, op));
        push_ref(r, at + 1, PEET_REF_STORE, flags, PEET_ORDER_NONE, size, r->nvalues - 1 - s->value);
    }
}

static void read_insn(struct reader *r, const struct segment *s, uint32_t slots, uint32_t nblocks, int64_t *line)
{
    struct peet_insn insn;
    memset(&insn, 0, sizeof insn);
    uint32_t kind = below(r, r->nkinds, "unknown instruction kind");
    uint64_t flags = u(r);
    int32_t target = -1;
    uint32_t length = 2, offset = 0;
    if (r->why)
        return;
    insn.opcode = &r->kinds[kind];
    if (flags & PEET_FORMAT_CALLS) {
        struct peet__call call = {r->segment, NULL};
        uint32_t callee = below(r, r->ncallees, "call of an unknown function");
        if (r->why)
            return;
        call.callee = r->callees[callee];
        PUSH(r, r->calls, r->ncalls, r->ccalls, call);
    }
    if (flags & PEET_FORMAT_RELAX)
        target = below(r, nblocks, "jump to a block that does not exist");
    if (flags & PEET_FORMAT_LINE)
        *line += i(r) % (1 << 30);
    insn.line = (uint32_t)*line;
    if (flags & PEET_FORMAT_SYMBOLIC)
        offset = next_offset(r);
    if (flags & PEET_FORMAT_ASM)
        length = next_offset(r);
    else if (!(flags & PEET_FORMAT_RELAX))
        length = next_length(r);
    if (length > r->f->recorded_bytes || offset > r->f->recorded_bytes)
        peet__reader_fail(r, "instruction outside its function");
    insn.flags = (flags & PEET_FORMAT_INDIRECT ? PEET_INSN_INDIRECT : 0) |
        (flags & PEET_FORMAT_REP ? PEET_INSN_REP : 0) | (flags & PEET_FORMAT_INSN_OPAQUE ? PEET_INSN_OPAQUE : 0) |
        (flags & PEET_FORMAT_PARTIAL ? PEET_INSN_PARTIAL : 0);
    uint32_t nreads = count(r, "register list longer than the record");
    uint32_t naddresses = r->version >= 3 ? below(r, (uint64_t)nreads + 1, "more addresses than reads") : 0;
    uint32_t nwrites = count(r, "register list longer than the record");
    if (nreads > 255 || nwrites > 255)
        peet__reader_fail(r, "register list too long");
    insn.nreads = nreads, insn.nwrites = nwrites, insn.naddresses = naddresses;
    uint32_t reg_at = r->nregs;
    for (uint32_t k = 0; k < nreads + nwrites && !r->why; k++) {
        uint8_t reg = below(r, PEET_REGS, "unknown register");
        PUSH(r, r->regs, r->nregs, r->cregs, reg);
    }
    uint32_t nrefs = count(r, "reference list longer than the record");
    if (r->why)
        return;
    if (flags & PEET_FORMAT_TLS) {
        read_tls(r, insn, s, slots, offset, length, reg_at, nrefs);
        return;
    }
    if (length == 0 && !(flags & PEET_FORMAT_ASM) && nrefs == 0)
        return; /* a pseudo instruction that became no code */
    int is_jump = !(flags & PEET_FORMAT_RELAX) ? 0 : insn.opcode->klass == PEET_INSN_BRANCH ? 2 : 1;
    push_insn(r, &insn, length, target, is_jump, reg_at);
    uint32_t at = r->ninsns - 1 - s->insn;
    for (uint32_t k = 0; k < nrefs && !r->why; k++)
        read_ref(r, at, s, slots, offset, length);
}

static void read_updates(struct reader *r, uint32_t slots)
{
    uint32_t n = count(r, "update list longer than the record");
    if (n > 16)
        peet__reader_fail(r, "more updates than registers");
    for (uint32_t k = 0; k < n && !r->why; k++) {
        struct peet__update up;
        memset(&up, 0, sizeof up);
        uint8_t op = PEET__SUM1;
        up.reg = below(r, 16, "update of an unknown register");
        up.form = form(r, slots, &op);
        up.op = op;
        PUSH(r, r->updates, r->nupdates, r->cupdates, up);
    }
}

static void read_kinds(struct reader *r)
{
    r->nkinds = count(r, "instruction table longer than the record");
    r->kinds = peet__own(r->f, r->nkinds, sizeof *r->kinds);
    if (!r->kinds)
        peet__reader_fail(r, "out of memory");
    for (uint32_t k = 0; k < r->nkinds && !r->why; k++) {
        struct peet_opcode *o = &r->kinds[k];
        o->name = string(r);
        o->mnemonic = string(r);
        o->klass = below(r, PEET_INSN_CLASSES, "unknown instruction class");
        o->latency_cycles = (uint32_t)u(r);
        o->rthroughput_millicycles = (uint32_t)u(r);
        o->uops = (uint32_t)u(r);
        o->ports = u(r);
        o->variant = r->version >= 3 ? (uint16_t)below(r, UINT16_MAX + 1, "variant out of range") : 0;
    }
}

static void read_callees(struct reader *r)
{
    r->ncallees = count(r, "more callees than the record can hold");
    r->callees = peet__own(r->f, r->ncallees, sizeof *r->callees);
    if (!r->callees)
        peet__reader_fail(r, "out of memory");
    for (uint32_t k = 0; k < r->ncallees && !r->why; k++)
        r->callees[k] = string(r);
}

static void read_segment(struct reader *r, uint32_t k, uint32_t layout_block, uint32_t nblocks, struct segment *segs,
    struct peet__block *code, uint32_t *flags_of, int64_t *line)
{
    struct peet__function *f = r->f;
    struct segment *s = &segs[k];
    uint32_t flags = below(r, 128, "unknown block flags");
    flags_of[k] = flags;
    code[k].tail = code[k].pad = code[k].pad_after = -1;
    code[k].sync = (flags & PEET_FORMAT_SYNC) != 0;
    code[k].recorded = (flags & PEET_FORMAT_RECORDED) != 0;
    f->sync_offset[k] = f->turn_offset[k] = UINT32_MAX;
    if (flags & PEET_FORMAT_TAIL) {
        if (k == 0 || code[k].recorded)
            peet__reader_fail(r, "tail block without a head");
        else {
            code[k - 1].tail = k;
            code[k - 1].tail_taken = below(r, f->nsegments, "tail of an unknown block");
        }
    }
    if (flags & PEET_FORMAT_LOOP) {
        code[k].loop = 1;
        code[k].loop_reg = below(r, 16, "loop over an unknown register");
        code[k].loop_step = i(r);
        if (code[k].loop_step == 0 || code[k].sync || !code[k].recorded)
            peet__reader_fail(r, "loop that cannot be followed");
    }
    if (flags & PEET_FORMAT_SYNC) {
        f->sync_offset[k] = next_offset(r);
        if (f->sync_offset[k] > f->recorded_bytes || !code[k].recorded)
            peet__reader_fail(r, "block outside its function");
    }
    if (flags & PEET_FORMAT_TURN) {
        f->turn_offset[k] = next_offset(r);
        if (f->turn_offset[k] > f->recorded_bytes || !code[k].recorded || code[k].loop)
            peet__reader_fail(r, "access that waits outside its function");
    }
    uint32_t slots = below(r, PEET_RAW_SLACK_WORDS, "too many slots");
    if (slots != 0 && !code[k].recorded)
        peet__reader_fail(r, "slots in a block without a record");
    if (code[k].loop && slots != 1)
        peet__reader_fail(r, "loop that cannot be followed");
    code[k].slot_words = slots;
    s->layout_block = layout_block;
    s->insn = r->ninsns, s->ref = r->nrefs, s->value = r->nvalues, s->update = r->nupdates;
    r->segment = k;
    uint32_t ninsns = count(r, "more instructions than the record can hold");
    for (uint32_t n = 0; n < ninsns && !r->why; n++)
        read_insn(r, s, slots, nblocks, line);
    s->ninsns = r->ninsns - s->insn, s->nrefs = r->nrefs - s->ref, s->nvalues = r->nvalues - s->value;
    if (s->nrefs > UINT16_MAX || s->nvalues > UINT16_MAX)
        peet__reader_fail(r, "block with too many references");
    read_updates(r, slots);
    s->nupdates = r->nupdates - s->update;
}

/* The block whose record comes next if execution goes on at that segment; -1: it says where it is, or that depends. */
static int32_t recorded_at(const struct peet__function *f, const struct segment *segs, const struct peet__block *code,
    uint32_t k)
{
    while (k < f->nsegments && !code[k].recorded && segs[k].ninsns == 0)
        k++;
    return k < f->nsegments && code[k].recorded && !code[k].sync ? (int32_t)k : -1;
}

/* Where each block leads to, as far as its last instruction says: back to a loop's head rather than out of it, else on
 * rather than away. */
static void find_next(const struct reader *r, const struct segment *segs, struct peet__block *code,
    const uint32_t *begins)
{
    const struct peet__function *f = r->f;
    for (uint32_t k = 0; k < f->nsegments; k++) {
        const struct peet__layout_insn *last =
            segs[k].ninsns != 0 ? &r->layout[segs[k].insn + segs[k].ninsns - 1] : NULL;
        const uint8_t klass = last ? r->insns[segs[k].insn + segs[k].ninsns - 1].opcode->klass : PEET_INSN_OTHER;
        int32_t away =
            last && last->target >= 0 && !code[k].loop ? recorded_at(f, segs, code, begins[last->target]) : -1;
        int32_t on = klass == PEET_INSN_JUMP || klass == PEET_INSN_RETURN ? -1 : recorded_at(f, segs, code, k + 1);
        code[k].next[0] = on, code[k].next[1] = away;
        if (away >= 0 && (on < 0 || away <= (int32_t)k))
            code[k].next[0] = away, code[k].next[1] = on;
    }
}

static void read_payload(struct reader *r)
{
    struct peet__function *f = r->f;
    f->pub.name = string(r);
    f->pub.file = string(r);
    f->pub.line = (uint32_t)u(r);
    f->granularity = below(r, 3, "unknown granularity");
    f->align_log2 = below(r, 16, "alignment out of range");
    f->longest_nop = below(r, 16, "longest nop out of range");
    if (f->longest_nop == 0)
        peet__reader_fail(r, "longest nop out of range");
    f->asm_statements = (uint32_t)u(r);
    f->nsegments = count(r, "more blocks than the record can hold");
    read_kinds(r);
    if (r->version >= 4)
        read_callees(r);
    uint32_t nblocks = count(r, "more layout blocks than the record can hold");
    if (r->why)
        return;
    struct segment *segs = calloc(f->nsegments + 1, sizeof *segs);
    struct peet__layout_block *blocks = calloc(nblocks + 1, sizeof *blocks);
    struct peet__block *code = aligned_alloc(_Alignof(struct peet__block), (f->nsegments + 1) * sizeof *code);
    uint32_t *flags_of = calloc(f->nsegments + 1, sizeof *flags_of);
    uint32_t *begins = calloc(nblocks + 1, sizeof *begins); /* the first segment of each layout block */
    f->sync_offset = peet__own(f, f->nsegments, sizeof *f->sync_offset);
    f->turn_offset = peet__own(f, f->nsegments, sizeof *f->turn_offset);
    if (!segs || !blocks || !code || !flags_of || !begins || !f->sync_offset || !f->turn_offset)
        peet__reader_fail(r, "out of memory");
    else
        memset(code, 0, (f->nsegments + 1) * sizeof *code);
    uint32_t k = 0;
    int64_t line = f->pub.line;
    for (uint32_t b = 0; b < nblocks && !r->why; b++) {
        blocks[b].align = 1u << below(r, 16, "alignment out of range");
        blocks[b].max_padding = (uint32_t)u(r);
        blocks[b].first_insn = r->ninsns;
        begins[b] = k;
        uint32_t n = count(r, "more blocks than the record can hold");
        for (uint32_t j = 0; j < n && !r->why; j++, k++) {
            if (k == f->nsegments) {
                peet__reader_fail(r, "more blocks than announced");
                break;
            }
            read_segment(r, k, b, nblocks, segs, code, flags_of, &line);
        }
        blocks[b].ninsns = r->ninsns - blocks[b].first_insn;
    }
    if (!r->why && (k != f->nsegments || k == 0))
        peet__reader_fail(r, "fewer blocks than announced");
    if (!r->why && r->at != r->end)
        peet__reader_fail(r, "bytes left over");
    if (!r->why && r->ncalls != 0) {
        f->calls = peet__own(f, r->ncalls, sizeof *f->calls);
        if (!f->calls)
            peet__reader_fail(r, "out of memory");
        else
            memcpy(f->calls, r->calls, r->ncalls * sizeof *f->calls);
        f->ncalls = (uint32_t)r->ncalls;
    }
    if (!r->why) {
        find_next(r, segs, code, begins);
        peet__build(r, segs, code, blocks, nblocks);
    }
    if (!r->why)
        for (k = 0; k < f->nsegments; k++)
            f->blocks[k].flags |= (flags_of[k] & PEET_FORMAT_SYNC ? PEET_BLOCK_SYNC : 0) |
                (flags_of[k] & PEET_FORMAT_ENTRY ? PEET_BLOCK_ENTRY : 0) |
                (flags_of[k] & PEET_FORMAT_TURN ? PEET_BLOCK_TURN : 0) |
                (flags_of[k] & PEET_FORMAT_OPAQUE ? PEET_BLOCK_OPAQUE : 0);
    free(segs);
    free(blocks);
    free(code);
    free(flags_of);
    free(begins);
}

void *peet__own(struct peet__function *f, size_t n, size_t size)
{
    void *p = size % 64 == 0 ? aligned_alloc(64, (n + 1) * size) : calloc(n + 1, size);
    if (p && size % 64 == 0)
        memset(p, 0, (n + 1) * size);
    void **owned = realloc(f->owned, (f->nowned + 1) * sizeof *owned);
    if (owned)
        f->owned = owned;
    if (!p || !owned) {
        free(p);
        return NULL;
    }
    f->owned[f->nowned++] = p;
    return p;
}

void peet__function_free(struct peet__function *f)
{
    if (!f)
        return;
    for (uint32_t k = 0; k < f->nowned; k++)
        free(f->owned[k]);
    free(f->owned);
    free(f);
}

int peet__function_read(struct peet__image *image, size_t *inout_offset, struct peet__function **out_function,
    struct peet_error *error)
{
    const struct peet__section *sec = &image->schema;
    size_t offset = *inout_offset;
    const uint8_t *p = sec->bytes + offset;
    struct peet__record record = {0};
    *out_function = NULL;
    const char *damage = peet__record_at(p, sec->size - offset, &record);
    if (record.version != 0 && (record.version < PEET_SCHEMA_VERSION_MIN || record.version > PEET_SCHEMA_VERSION))
        return peet_error_set(error, PEET_EVERSION,
            "%s: schema of version %u; this peet reads versions %u to %u: compile the program again", image->path,
            record.version, PEET_SCHEMA_VERSION_MIN, PEET_SCHEMA_VERSION);
    if (damage)
        return peet_error_set(error, PEET_EFORMAT, "%s: damaged schema: %s at offset %zu of %s", image->path, damage,
            offset, PEET_SCHEMA_SECTION);
    if (record.version >= 4 && !image->unchecked) {
        uint64_t sum = peet__record_carried_sum(p);
        if (sum != peet__record_sum(p, &record) && sum != peet__record_payload_sum(p, &record))
            return peet_error_set(error, PEET_EFORMAT,
                "%s: damaged schema: the record at offset %zu of %s is not the one that peetcc wrote: compile the program again",
                image->path, offset, PEET_SCHEMA_SECTION);
    }
    struct reader r;
    memset(&r, 0, sizeof r);
    r.image = image;
    r.version = record.version;
    r.address = sec->address + offset + 16 + (uint64_t)(int64_t)(int32_t)u32(p + 16);
    uint64_t section = sec->address + offset + 20 + (uint64_t)(int64_t)(int32_t)u32(p + 20);
    r.nlengths = record.nlengths;
    r.noffsets = record.noffsets;
    r.lengths = record.lengths;
    r.offsets = r.lengths + r.nlengths;
    r.at = record.payload;
    r.end = p + record.bytes;
    r.f = calloc(1, sizeof *r.f);
    if (!r.f)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    r.f->image = image;
    r.f->start = image->bias + r.address;
    r.f->recorded_bytes = u32(p + 24);
    r.f->new_section = image->section_start != section || r.address == section;
    if (r.f->new_section)
        image->section_at = 0;
    image->section_start = section;
    r.f->pub.image = image->path;
    r.f->pub.runtime_pc = r.f->start;
    if (!peet__image_code(image, r.address, r.f->recorded_bytes))
        peet__reader_fail(&r, "code outside the file's text");
    else
        read_payload(&r);
    free(r.insns);
    free(r.layout);
    free(r.ref_at);
    free(r.reg_at);
    free(r.regs);
    free(r.refs);
    free(r.values);
    free(r.updates);
    free(r.calls);
    if (r.why) {
        peet_error_set(error, r.error_code, "%s: damaged schema: record at offset %zu%s%s: %s", image->path, offset,
            r.f->pub.name ? " of function " : "", r.f->pub.name ? r.f->pub.name : "", r.why);
        peet__function_free(r.f);
        return r.error_code;
    }
    *inout_offset = offset + record.bytes;
    *out_function = r.f;
    return 0;
}
