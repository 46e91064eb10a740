/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a block that leaves its function straight to one that usually comes next.  Such a record says where it is, and
 * where its code is has to be looked up.  The code asks first whether the next word is a usual one: a comparison and a
 * jump, which the processor foresees, in place of eight instructions and an indirect jump (a polymorphic inline cache:
 * Hoelzle, Chambers and Ungar, ECOOP 1991).
 *
 *   1. A site begins as a call that learns which words come in its first executions.  Then it is written anew, once: as
 *      comparisons with one or two words that are usual, or as a jump past it if none is.
 *   2. A site is as long in each of its forms.  The call ends where the site ends, so that it returns behind what was
 *      written.
 *   3. Where a word leads may change: other code may be where some was, or a function's code may be made anew.  Then
 *      all sites learn again (peet__direct_unlink()).
 *   4. What is usual changes, too: paths of foreign code are made anew when they have been executed often.  So sites
 *      learn again after 16 entries into machine code, and whenever these are half as many again.
 */
#include "jit/emitter.h"
#include "jit/preamble.h"

#ifdef __x86_64__

enum { SITE_BYTES = 40, CALL_BYTES = 19, LEARNS = 24, IS_USUAL = 6, CANDIDATES = 4, USUAL = 2 };

/** A site; of the function whose code it is in. */
struct peet__direct_link {
    struct peet__direct_link *next;
    uint8_t *site;        /* where it is written */
    int64_t run;          /* from there to where it runs */
    const uint8_t *learn; /* run-time address */
    uint32_t seen;        /* so many words while it learns; the first ones, and how often each: */
    uint32_t times[CANDIDATES];
    uint64_t words[CANDIDATES];
};

static struct peet__emit at_site(const struct peet__direct_link *link)
{
    return (struct peet__emit){link->site, link->site, link->site + link->run};
}

/* Past so many bytes. */
static void jump_past(struct peet__emit *e, size_t n)
{
    if (n == 1) {
        byte(e, 0x90); /* nop */
    } else if (n > 1) {
        byte(e, 0xeb); /* jmp disp8 */
        byte(e, (unsigned)(n - 2));
        e->at += n - 2;
    }
}

static void write_learning(struct peet__direct_link *link)
{
    struct peet__emit e = at_site(link);
    link->seen = 0;
    memset(link->times, 0, sizeof link->times);
    jump_past(&e, SITE_BYTES - CALL_BYTES);
    load(&e, RDX, RBP, 0);
    CODE(&e, "\x48\xbe"); /* mov rsi, imm64 */
    word64(&e, (uint64_t)(uintptr_t)link);
    call(&e, link->learn);
}

/* To where the word leads, if it is the next one. */
static void write_link(struct peet__emit *e, uint64_t word, const uint8_t *to)
{
    if (word == (uint64_t)(int64_t)(int32_t)word) {
        CODE(e, "\x48\x81\x7d\x00"); /* cmp qword [rbp], imm32 */
        word32(e, (uint32_t)word);
    } else {
        CODE(e, "\x48\xb9"); /* mov rcx, imm64 */
        word64(e, word);
        memory(e, 0x39, RCX, RBP, 0); /* cmp [rbp], rcx */
    }
    jump_if(e, IF_EQUAL, to);
}

/* The most frequent candidate that is left, which is none any more.  Returns: CANDIDATES if none is usual */
static unsigned take_most_frequent(struct peet__direct_link *link)
{
    unsigned most = 0;
    for (unsigned k = 1; k < CANDIDATES; k++)
        most = link->times[k] > link->times[most] ? k : most;
    if (link->times[most] < IS_USUAL)
        return CANDIDATES;
    link->times[most] = 0;
    return most;
}

static void write_usual(struct peet__direct_link *link, const struct peet__direct_sync *sync)
{
    struct peet__emit e = at_site(link);
    for (unsigned k = 0, c; k < USUAL && (c = take_most_frequent(link)) != CANDIDATES; k++) {
        const uint64_t word = link->words[c];
        const struct peet__direct_sync *const known = &sync[peet__direct_sync_index(word)];
        const int64_t distance = (intptr_t)known->to - (intptr_t)here(&e);
        if (known->pc == word && distance >= -(1ll << 30) && distance < 1ll << 30)
            write_link(&e, word, known->to);
    }
    jump_past(&e, SITE_BYTES - (size_t)(e.at - link->site));
}

/* For the code: so the record of a block begins that comes next. */
static void learn(struct peet_direct_run *run, struct peet__direct_link *link, uint64_t word)
{
    for (unsigned k = 0; k < CANDIDATES; k++)
        if (link->times[k] == 0 || link->words[k] == word) {
            link->words[k] = word;
            link->times[k]++;
            break;
        }
    if (++link->seen == LEARNS)
        write_usual(link, peet__direct_of(run)->sync);
}

void peet__direct_emit_link(struct emitter *m)
{
    struct peet__direct_link *const link = peet__own(m->f, 1, sizeof *link);
    if (!link)
        return;
    *link = (struct peet__direct_link){
        .next = m->direct->links, .site = m->e.at, .run = m->e.run - m->e.write, .learn = m->learn};
    m->direct->links = link;
    write_learning(link);
    m->e.at += SITE_BYTES;
}

size_t peet__direct_write_learn(struct peet__emit *e)
{
    return peet__direct_write_observed(e, (const void *)(uintptr_t)learn, 0);
}

void peet__direct_unlink(struct peet__direct *direct)
{
    for (struct peet__direct_link *link = direct->links; link; link = link->next)
        if (link->seen == LEARNS)
            write_learning(link);
}

void peet__direct_learn_again(struct peet__direct *direct)
{
    enum { FIRST = 16 };
    direct->learns_at = direct->learns_at == 0 ? FIRST : direct->learns_at + direct->learns_at / 2;
    peet__direct_unlink(direct);
}

#else

void peet__direct_learn_again(struct peet__direct *direct)
{
    direct->learns_at = UINT64_MAX;
}

void peet__direct_unlink(struct peet__direct *direct)
{
    (void)direct;
}

#endif
