/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a trace tree (trace_tree.c). Block by block along the tree, it compares words and probes lines. Time,
 * stamps, counts and registers are updated where the tree is left. Registers are followed as sums of registers at the
 * beginning of the trace and of the records' words. After the last block of a trace, or after a miss, the block's own
 * code (direct.c) continues.
 */
#include "jit/trace_tree.h"

#ifdef __x86_64__

#include <stdlib.h>

enum { NODE_BYTES = 128, EXIT_BYTES = 128, MOST_WORDS = 1 << 12 };

/* -------------------------------------------------------------------------------------------- registers */

static const struct peet__address *as_before(struct peet__address *out, uint32_t term)
{
    *out = (struct peet__address){.a = (uint16_t)term, .b = PEET__ZERO};
    return out;
}

static int is_as_before(const struct peet__address *a, uint32_t reg)
{
    return a->a == reg && a->mb == 0 && a->disp == 0;
}

/* A term of a block's, in those of the trace. */
static struct peet__address term_of(const struct node *n, uint32_t term)
{
    struct peet__address a;
    if (term < REGISTERS)
        return n->regs[term];
    if (term >= PEET__PAST)
        return *as_before(&a, PEET__SLOT - 1 + n->words - (term - PEET__PAST));
    return *as_before(&a, term < PEET__SLOT ? term : term + n->words);
}

/* A block's address in terms of the trace, where the block's record stands.  Returns: 0, or -1: that has another shape
 */
static int on_trace(const struct node *n, const struct peet__address *form, struct peet__address *out)
{
    struct peet__address a = term_of(n, form->a), b;
    a.disp += form->disp;
    if (form->mb != 0 && form->b != PEET__ZERO) {
        b = term_of(n, form->b);
        a.disp += b.disp * (uint64_t)(int64_t)form->mb;
        if (b.a != PEET__ZERO && b.mb != 0)
            return -1;
        int64_t mb = form->mb;
        uint32_t term = b.a;
        if (b.mb != 0) {
            term = b.b;
            mb *= b.mb;
        }
        if (term != PEET__ZERO) {
            if (a.mb != 0 || mb != (int32_t)mb)
                return -1;
            a.b = (uint16_t)term;
            a.mb = (int32_t)mb;
        }
    }
    if (a.mb == 1 && a.a == PEET__ZERO) {
        a.a = a.b;
        a.mb = 0;
    }
    if (a.mb == 0)
        a.b = PEET__ZERO;
    *out = a;
    return 0;
}

static int uses(const struct peet__address *a, uint32_t reg)
{
    return a->a == reg || (a->mb != 0 && a->b == reg);
}

/* The followed registers become what they are after the node. */
static void put_registers(struct peet__emit *e, const struct peet__address regs[REGISTERS])
{
    uint32_t pending = 0, pushed = 0;
    for (uint32_t r = 0; r < REGISTERS; r++)
        if (!is_as_before(&regs[r], r))
            pending |= 1u << r;
    while (pending != 0) {
        uint32_t r = 0, ready = REGISTERS;
        for (; r < REGISTERS && ready == REGISTERS; r++) {
            if (!(pending >> r & 1))
                continue;
            ready = r;
            for (uint32_t q = 0; q < REGISTERS; q++)
                if (q != r && pending >> q & 1 && uses(&regs[q], r))
                    ready = REGISTERS;
        }
        if (ready == REGISTERS)
            break;
        const struct peet__address *const a = &regs[ready];
        if (a->a == ready && a->mb == 0 && a->disp == (uint64_t)(int64_t)(int32_t)a->disp) {
            add_to_memory(e, R14, 8 * (int32_t)ready, (int32_t)a->disp);
        } else {
            compute(e, registers, a);
            store(e, RAX, R14, 8 * (int32_t)ready);
        }
        pending &= ~(1u << ready);
    }
    for (uint32_t r = 0; r < REGISTERS; r++) /* they wait for each other */
        if (pending >> r & 1) {
            compute(e, registers, &regs[r]);
            byte(e, 0x50 | RAX); /* push rax */
            pushed |= 1u << r;
        }
    for (uint32_t r = REGISTERS; r-- > 0;)
        if (pushed >> r & 1) {
            byte(e, 0x58 | RAX); /* pop rax */
            store(e, RAX, R14, 8 * (int32_t)r);
        }
}

/* -------------------------------------------------------------------------------------------- nodes */

/* A jump to where the trace is left after the node. */
static void thread(struct trace_emitter *p, uint8_t *from, uint32_t node)
{
    memcpy(from - 4, &p->nodes[node].jumps, 4);
    p->nodes[node].jumps = (uint32_t)(from - p->m.e.write);
}

static void aim_thread(struct trace_emitter *p, struct node *n)
{
    for (uint32_t at = n->jumps, next; at != 0; at = next) {
        memcpy(&next, p->m.e.write + at - 4, 4);
        aim(&p->m.e, p->m.e.write + at);
    }
}

/* Is there room for one more? */
static int one_more(struct trace_emitter *p, void **array, uint32_t *size, uint32_t used, size_t bytes)
{
    if (used < *size)
        return 1;
    const uint32_t n = *size != 0 ? 2 * *size : 64;
    void *const more = realloc(*array, n * bytes);
    if (!more) {
        p->failed = 1;
        return 0;
    }
    *array = more;
    *size = n;
    return 1;
}

/* Are so many bytes from rax on, a block's after that node, in one line? */
static void check_straddling(struct trace_emitter *p, uint32_t node, const struct peet__address *a, uint32_t span)
{
    struct peet__emit *const e = &p->m.e;
    if (span < 2)
        return;
    if (!peet__direct_likely_aligned(a, span)) {
        peet__direct_see_line(&p->m, span);
        thread(p, jump_ahead(e, IF_NOT), node);
        return;
    }
    byte(e, 0xa8); /* test al, imm8 */
    byte(e, span - 1u);
    uint8_t *const from = jump_ahead(e, IF_NOT);
    if (one_more(p, (void **)&p->unaligned, &p->cunaligned, p->nunaligned, sizeof *p->unaligned))
        p->unaligned[p->nunaligned++] = (struct unaligned){from, here(e), span, node};
}

/* All probes of a block after that node, which are made once more if it is left; @stamps: of the trace, before the
 * block.  No line is used before all probes are known not to straddle: such a block would be the machine's, and nothing
 * would have happened.  (As peet__direct_emit_probes().) */
static void emit_probes(struct trace_emitter *p, uint32_t node, struct peet__function *f,
    const struct peet_direct_block *d, const struct peet__address *begins, uint32_t stamps, uint32_t index,
    int may_miss)
{
    struct peet__emit *const e = &p->m.e;
    for (uint32_t k = d->nlooks; k-- > 0;) {
        compute(e, registers, &begins[k]);
        if (!d->looks[k].cuts)
            check_straddling(p, node, &begins[k], d->looks[k].span);
        if (k == 1)
            CODE(e, "\x48\x89\xc6"); /* mov rsi, rax */
        if (k > 1 || d->looks[k].cuts)
            store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
    }
    for (uint32_t k = 0; k < d->nlooks; k++) {
        const struct peet_direct_look *const probe = &d->looks[k];
        const unsigned reg = k == 1 ? RSI : RAX;
        uint8_t *straddling[3];
        if (k > 1)
            load(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * k));
        if (probe->cuts) {
            peet__direct_probe_straddling(&p->m, reg, probe, k, straddling);
            for (unsigned i = 0; i < 3; i++)
                thread(p, straddling[i], node);
            continue;
        }
        uint8_t *const from = peet__direct_probe(&p->m, reg, probe);
        if (!may_miss)
            thread(p, from, node);
        else if (one_more(p, (void **)&p->missing, &p->cmissing, p->nmissing, sizeof *p->missing))
            p->missing[p->nmissing++] =
                (struct missing){from, here(e), f, begins[k], node, probe->site, index, k, d->nlooks};
        if (d->whole)
            store(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
        else
            peet__direct_use(e, stamps + probe->last, probe->later);
    }
    for (uint32_t k = 0; d->whole && k < d->nlooks; k++) {
        const struct peet_direct_look *const probe = &d->looks[k];
        if (probe->cuts) {
            peet__direct_use_straddling(e, k, stamps);
            continue;
        }
        load(e, RCX, RBX, RUN(found) + (int32_t)(8 * k));
        peet__direct_use(e, stamps + probe->last, probe->later);
    }
}

/* -------------------------------------------------------------------------------------------- observers */

int peet__trace_can_count(const struct peet__direct *direct)
{
    for (uint32_t o = 0; o < direct->nobservers; o++)
        if (direct->observers[o].ops->moved || direct->observers[o].ops->due)
            return 0;
    return direct->nobservers == 0 || direct->table.whole_cycles;
}

/* What the block adds to sums of observers.  Returns: 0, or -1: some observer may want to see it, or the next one */
static int add_counted(const struct trace_emitter *p, struct node *n, const struct peet__function *f, uint32_t index)
{
    const struct peet__direct *const d = p->m.direct;
    if (d->nobservers != 0 && (!f->direct || !f->direct->asked[index]))
        return -1;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        const struct peet_direct_watch *const w = f->direct->watches[(size_t)index * d->nobservers + o];
        const struct peet_direct_counted *const c = peet__direct_counted_of(w);
        if (w && (!c || c->always || c->stops))
            return -1;
        for (uint32_t k = 0; c && k < PEET_DIRECT_SUMS; k++)
            if ((n->sums[o][k] += c->adds[k]) > INT32_MAX)
                return -1;
    }
    return 0;
}

/* The last block that was executed up to the node. */
static const struct peet_block *last_block(const struct trace_emitter *p, uint32_t number)
{
    while (p->tree->nodes[number].nblocks == 0)
        number = p->nodes[number].parent;
    const struct counted *const c = &p->tree->nodes[number];
    return &c->blocks[c->nblocks - 1].function->blocks[c->blocks[c->nblocks - 1].index];
}

/* Up to the node all has been executed. */
static void count_for_observers(struct trace_emitter *p, uint32_t number)
{
    struct peet__emit *const e = &p->m.e;
    const struct peet__direct *const d = p->m.direct;
    const struct node *const n = &p->nodes[number];
    for (uint32_t o = 0; o < d->nobservers; o++) {
        if (!d->observers[o].sums)
            continue;
        constant(e, RAX, (uint64_t)(uintptr_t)d->observers[o].sums);
        for (uint32_t k = 0; k < PEET_DIRECT_SUMS; k++)
            add_to_memory(e, RAX, (int32_t)(offsetof(struct peet_direct_sums, of) + k * sizeof(uint64_t)),
                (int32_t)n->sums[o][k]);
    }
    if (d->tells) {
        constant(e, RAX, (uint64_t)(uintptr_t)last_block(p, number));
        store(e, RAX, RBX, RUN(previous));
    }
}

/* Not while the next block is to be shown. */
static void unless_to_be_shown(struct trace_emitter *p)
{
    struct peet__emit *const e = &p->m.e;
    const struct peet__direct *const d = p->m.direct;
    for (uint32_t o = 0; o < d->nobservers; o++) {
        if (!d->observers[o].sums)
            continue;
        constant(e, RAX, (uint64_t)(uintptr_t)&d->observers[o].sums->stop);
        CODE(e, "\x83\x38\x00"); /* cmp dword [rax], 0 */
        thread(p, jump_ahead(e, IF_NOT), 0);
    }
}

/* -------------------------------------------------------------------------------------------- blocks */

/* A block happens after what @n says so far; its probes lead to @before if they find nothing.  @emit_tree: write code,
 * too.
 *  Returns: 0, or -1: it cannot be on a trace */
static int happen(struct trace_emitter *p, uint32_t before, struct node *n, struct counted *counted, uint32_t index,
    int emit_tree)
{
    struct peet__function *const f = n->function;
    const struct peet__block *const c = &f->code[index];
    struct peet__address forms[REGISTERS], begins[PEET_DIRECT_LOOKS];
    struct peet_direct_block d;
    if (counted->nblocks == SIDE_BLOCKS || c->loop || !can_have_code(f, index) ||
        peet__direct_request(p->m.direct, f, index, &d) != 0 || add_counted(p, n, f, index) != 0)
        return -1;
    for (uint32_t k = 0; k < d.nlooks; k++) {
        const struct peet__address begin = begin_of(c, &d.looks[k]);
        if (on_trace(n, &begin, &begins[k]) != 0)
            return -1;
    }
    if (emit_tree)
        emit_probes(p, before, f, &d, begins, n->stamps, index,
            counted->nblocks == 0 && index == n->index && !n->again && !d.whole && f->direct->back[index]);
    memcpy(forms, n->regs, sizeof forms);
    for (uint32_t k = 0; k < c->nupdates; k++)
        if (c->updates[k].reg >= REGISTERS || on_trace(n, &c->steps[k], &forms[c->updates[k].reg]) != 0)
            return -1;
    memcpy(n->regs, forms, sizeof forms);
    n->stamps += d.stamps;
    n->instructions += f->blocks[index].ninsns;
    n->time += d.time;
    n->last = (int32_t)index;
    counted->blocks[counted->nblocks].function = f;
    counted->blocks[counted->nblocks++].index = index;
    return n->time > INT32_MAX || n->stamps > INT32_MAX ? -1 : 0;
}

/* The last block that comes with a record's, whatever the next record says. */
static uint32_t behind_of(const struct peet__function *f, uint32_t index)
{
    while (f->code[index].sure)
        index = (uint32_t)f->code[index].tail;
    return index;
}

int peet__trace_step(struct trace_emitter *p, uint32_t number, int emit_tree)
{
    struct node *const n = &p->nodes[number];
    const uint32_t parent = n->parent;
    const struct node *const before = &p->nodes[parent];
    struct counted *const counted = &p->tree->nodes[number];
    const int plain = (int32_t)(n->word >> 32) == -1;
    struct peet__function *const f = n->function;
    const struct peet__block *const c = &f->code[n->index];
    memcpy(n->regs, before->regs, sizeof n->regs);
    n->words = before->words, n->stamps = before->stamps, n->instructions = before->instructions,
    n->time = before->time, n->last = before->last;
    memcpy(n->sums, before->sums, sizeof n->sums);
    counted->nblocks = 0;
    counted->parent = parent;
    if (parent != 0) {
        if (plain && before->function != f)
            return -1;
        for (const struct peet__block *at = &before->function->code[before->last]; at->tail >= 0;) {
            if (!plain)
                return -1;
            if ((int32_t)n->index == at->tail_taken)
                break;
            if (happen(p, parent, n, counted, (uint32_t)at->tail, emit_tree) != 0)
                return -1;
            at = &f->code[n->last];
        }
        if (plain && c->pad >= 0 && n->last == c->pad_after &&
            happen(p, parent, n, counted, (uint32_t)c->pad, emit_tree) != 0)
            return -1;
    }
    if (n->again)
        return 0;
    if (!c->recorded || !c->plain || !f->direct || !f->direct->body[n->index] ||
        !f->direct->behind[behind_of(f, n->index)] || happen(p, parent, n, counted, n->index, emit_tree) != 0)
        return -1;
    n->words += 1 + c->slot_words;
    for (const struct peet__block *at = c; at->sure; at = &f->code[n->last])
        if (happen(p, parent, n, counted, (uint32_t)at->tail, emit_tree) != 0)
            return -1;
    return n->words > MOST_WORDS ? -1 : 0;
}

void peet__trace_settle_node(struct node *n)
{
    for (uint32_t r = 0; r < REGISTERS; r++)
        as_before(&n->regs[r], r);
    n->flushed = 1;
}

/* -------------------------------------------------------------------------------------------- code */

/* The trace is left after the node: everything is as the block's own code would have left it. */
static void leave_behind(struct trace_emitter *p, uint32_t number)
{
    struct peet__emit *const e = &p->m.e;
    struct node *const n = &p->nodes[number];
    const struct peet__direct_function *const compiled = n->function->direct;
    put_registers(e, n->regs);
    count_for_observers(p, number);
    add_constant(e, RBP, 8 * (uint64_t)n->words);
    add_constant(e, R12, n->instructions);
    add_constant(e, R15, n->stamps);
    add_constant(e, R13, n->time);
    constant(e, RAX, (uint64_t)(uintptr_t)&p->tree->nodes[number].left);
    CODE(e, "\x48\xff\x00"); /* inc qword [rax] */
    byte(e, 0xbf);           /* mov edi, imm32 */
    word32(e, (uint32_t)n->last);
    if (n->again) {
        jump(e, p->top);
        return;
    }
    if (n->function != p->nodes[1].function) {
        constant(e, R8, (uint64_t)(uintptr_t)compiled->table);
        store(e, R8, RBX, RUN(blocks));
    }
    jump(e, compiled->behind[n->last]);
}

static void compare_next(struct peet__emit *e, uint32_t words, uint64_t word)
{
    if (word == (uint64_t)(int64_t)(int32_t)word) {
        memory(e, by_immediate((int32_t)word), 7, RBP, 8 * (int32_t)words); /* cmp qword [rbp + …], imm */
        immediate(e, (int32_t)word);
    } else {
        constant(e, RAX, word);
        memory(e, 0x39, RAX, RBP, 8 * (int32_t)words); /* cmp [rbp + …], rax */
    }
}

/* What may come after a node. */
static void emit_exits(struct trace_emitter *p, uint32_t number)
{
    struct peet__emit *const e = &p->m.e;
    struct node *const n = &p->nodes[number];
    for (uint32_t k = n->child; k != 0; k = p->nodes[k].sibling) {
        struct node *const c = &p->nodes[k];
        const struct peet__address *const regs = c->regs;
        const int flushed = c->flushed;
        uint8_t *next = NULL;
        compare_next(e, n->words, c->word);
        if (c->sibling != 0)
            next = jump_ahead(e, IF_NOT);
        else
            thread(p, jump_ahead(e, IF_NOT), number);
        p->failed |= peet__trace_step(p, k, 1) != 0;
        if (c->again) {
            leave_behind(p, k);
        } else {
            if (flushed) {
                put_registers(e, regs);
                peet__trace_settle_node(c);
            }
            emit_exits(p, k);
        }
        if (next)
            aim(e, next);
    }
    aim_thread(p, n);
    n->exit_code = here(e);
    leave_behind(p, number);
}

static void emit_unaligned(struct trace_emitter *p)
{
    struct peet__emit *const e = &p->m.e;
    for (uint32_t k = 0; k < p->nunaligned; k++) {
        const struct unaligned *const u = &p->unaligned[k];
        aim(e, u->from);
        peet__direct_see_line(&p->m, u->span);
        jump_if(e, IF_EQUAL, u->back);
        jump(e, p->nodes[u->node].exit_code);
    }
    p->nunaligned = 0;
}

/* Whoever reports the miss, rax, wants to know where it was, as in peet__direct_emit_miss(). */
static void tell_where(struct trace_emitter *p, const struct missing *s)
{
    struct peet__emit *const e = &p->m.e;
    const struct peet__direct *const d = p->m.direct;
    if (d->nobservers != 0 && s->probe <= 1) {
        byte(e, 0x50 | RAX); /* push rax */
        compute(e, registers, &s->address);
        store(e, RAX, RBX, RUN(addresses) + (int32_t)(8 * s->probe));
        byte(e, 0x58 | RAX); /* pop rax */
    }
    if (d->tells) {
        constant(e, RDX, (uint64_t)(uintptr_t)&s->function->direct->watches[(size_t)s->index * d->nobservers]);
        store(e, RDX, RBX, RUN(missing));
    }
}

/* Misses are the machine's; the trace is gone on with unless the limit may come on it now: then the block's own code
 * goes on. */
static void emit_missing(struct trace_emitter *p)
{
    struct peet__emit *const e = &p->m.e;
    const struct peet__direct_function *const begins = p->nodes[1].function->direct;
    const int32_t second = RUN(addresses) + 8;
    for (uint32_t k = 0; k < p->nmissing; k++) {
        const struct missing *const s = &p->missing[k];
        const struct node *const n = &p->nodes[s->node];
        const int waits = s->probe == 0 && s->nlooks > 1; /* rsi has the next one's address */
        aim(e, s->from);
        if (s->probe == 1)
            CODE(e, "\x48\x89\xf0"); /* mov rax, rsi */
        if (waits)
            store(e, RSI, RBX, second);
        constant(e, RCX, (uint64_t)(uintptr_t)&p->tree->missed);
        CODE(e, "\x48\xff\x01"); /* inc qword [rcx] */
        tell_where(p, s);
        add_constant(e, R13, n->time);
        add_constant(e, R15, n->stamps);
        byte(e, 0xbe); /* mov esi, imm32 */
        word32(e, s->site);
        call(e, begins->miss);
        if (waits)
            load(e, RSI, RBX, second);
        compare_constant(e, R13, -(int32_t)(p->time - n->time + 1));
        uint8_t *const late = jump_ahead(e, IF_AT_LEAST);
        add_constant(e, R13, -n->time);
        add_constant(e, R15, -(uint64_t)n->stamps);
        jump(e, s->back);
        aim(e, late);
        if (s->node != 0) {
            byte(e, 0x50 | RCX); /* push rcx */
            put_registers(e, n->regs);
            count_for_observers(p, s->node);
            byte(e, 0x58 | RCX); /* pop rcx */
            add_constant(e, RBP, 8 * (uint64_t)n->words);
            add_constant(e, R12, n->instructions);
            constant(e, RAX, (uint64_t)(uintptr_t)&p->tree->nodes[s->node].left);
            CODE(e, "\x48\xff\x00"); /* inc qword [rax] */
        }
        if (s->function != p->nodes[1].function) {
            constant(e, R8, (uint64_t)(uintptr_t)s->function->direct->table);
            store(e, R8, RBX, RUN(blocks));
        }
        jump(e, s->function->direct->back[s->index][s->probe]);
    }
    p->nmissing = 0;
}

/* Do 32 bits reach from one piece of code to the other? */
static int is_near(const struct peet__direct_function *compiled, const struct peet__chunk *c)
{
    const int64_t distance = (int64_t)(compiled->run - c->run);
    return distance < INT32_MAX / 2 && distance > -(INT32_MAX / 2);
}

/* More than it takes to put the registers after a node, and what goes with it. */
static size_t exit_bytes(const struct trace_emitter *p, const struct node *n)
{
    size_t bytes = EXIT_BYTES + (p->m.direct->nobservers != 0 ? COUNT_BYTES : 0);
    for (uint32_t r = 0; r < REGISTERS; r++)
        bytes += is_as_before(&n->regs[r], r) ? 0 : VALUE_BYTES;
    return bytes;
}

/* More than the code of all nodes can take. */
static size_t most_bytes(const struct trace_emitter *p)
{
    size_t n = NODE_BYTES + COUNT_BYTES;
    for (uint32_t k = 1; k < p->nnodes; k++) {
        const struct counted *const counted = &p->tree->nodes[k];
        n += NODE_BYTES + 2 * exit_bytes(p, &p->nodes[k]) + REGISTERS * VALUE_BYTES;
        for (uint32_t b = 0; b < counted->nblocks; b++)
            n += (VALUE_BYTES + PROBE_BYTES + exit_bytes(p, &p->nodes[p->nodes[k].parent])) *
                counted->blocks[b].function->blocks[counted->blocks[b].index].nvalues;
    }
    return n;
}

void peet__trace_take_over(struct peet__direct_function *compiled, uint32_t index, const uint8_t *begin,
    const uint8_t *top)
{
    const struct peet__emit e = {.write = compiled->write, .run = compiled->run};
    for (uint32_t k = 0; k < compiled->npatchables; k++)
        if (compiled->patchables[k].to == index)
            aim_at(&e, compiled->patchables[k].from, compiled->patchables[k].inside ? top : begin);
    *peet__direct_entry(compiled, index) = begin;
}

void peet__trace_emit(struct trace_emitter *p)
{
    struct node *const root = &p->nodes[1];
    struct peet__direct_function *const compiled = root->function->direct;
    const struct peet__block *const c = &root->function->code[root->index];
    struct peet__direct *const direct = p->m.direct;
    struct peet__emit *const e = &p->m.e;
    struct peet__chunk *const chunk = peet__chunk_for(&direct->chunks, most_bytes(p));
    const uint8_t *begin;
    if (!chunk)
        return;
    for (uint32_t k = 1; k < p->nnodes; k++)
        if (!is_near(p->nodes[k].function->direct, chunk))
            return;
    *e = (struct peet__emit){chunk->write + chunk->used, chunk->write, chunk->run};
    p->nodes[0].exit_code = compiled->body[root->index];
    p->failed = 0;
    begin = here(e);
    if (c->pad >= 0) {       /* the block's own code knows padding */
        CODE(e, "\x81\xff"); /* cmp edi, imm32 */
        word32(e, (uint32_t)c->pad_after);
        jump_if(e, IF_EQUAL, compiled->begin[root->index]);
    }
    p->top = here(e);
    compare_constant(e, R13, -(int32_t)p->time);
    thread(p, jump_ahead(e, IF_AT_LEAST), 0);
    unless_to_be_shown(p);
    p->failed |= peet__trace_step(p, 1, 1) != 0;
    if (root->flushed) {
        put_registers(e, root->regs);
        peet__trace_settle_node(root);
    }
    emit_exits(p, 1);
    aim_thread(p, &p->nodes[0]);
    jump(e, p->nodes[0].exit_code);
    emit_unaligned(p);
    emit_missing(p);
    if (p->failed)
        return;
    chunk->used = (size_t)(e->at - e->write);
    peet__trace_take_over(compiled, root->index, begin, p->top);
    p->tree->begin = begin;
    p->tree->nnodes = p->nnodes;
    p->tree->next = direct->trees;
    direct->trees = p->tree;
    p->tree = NULL;
}

#endif
