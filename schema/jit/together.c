/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path of foreign code in one go.  If the machine wants nothing of its blocks but their time, and observers nothing at
 * all, then what they add up to is known when the code is made: one addition to the time stands for all of theirs, and one
 * counter for all of their counters.
 *
 *   1. All blocks happen, or none of them: if the limit may come in between, the code goes back and takes the path
 *      block by block.
 *   2. The counter is added to those of the blocks where these are read (peet__direct_count_together()).
 *   3. The run learns whose blocks they are (run.blocks) only where the code may be left: on the way from path to path
 *      nobody asks.
 */
#include "jit/emitter.h"
#include "jit/preamble.h"

void peet__direct_count_together(const struct peet__function *f)
{
    struct peet__direct_function *const compiled = f->direct;
    for (uint32_t k = 0; k < f->nall && compiled->together != 0; k++)
        *peet__direct_taken(compiled, k) += compiled->together;
    compiled->together = 0;
}

#ifdef __x86_64__

/* What the blocks of a path add up to. */
struct sums {
    uint64_t time, stamps, instructions, reads, writes;
};

/* Returns: whether the path may be taken in one go */
static int add_up(const struct emitter *m, uint32_t n, struct sums *out)
{
    *out = (struct sums){0};
    if (!m->f->path_word || m->direct->nobservers != 0 || m->direct->table.paths || n != m->f->nsegments)
        return 0;
    for (uint32_t k = 0; k < n; k++) {
        const struct requested *const w = &m->requested[k];
        if (w->index != k || w->d.nlooks != 0 || w->d.varies || m->f->code[k].nupdates != 0)
            return 0;
        out->time += w->d.time;
        out->stamps += w->d.stamps;
        out->instructions += m->f->blocks[k].ninsns;
        out->reads += w->d.reads;
        out->writes += w->d.writes;
    }
    return out->time != 0 && out->time <= INT32_MAX;
}

const uint8_t *peet__direct_emit_together(struct emitter *m, uint32_t n, const uint8_t *one_by_one)
{
    struct peet__emit *const e = &m->e;
    const uint8_t *const begin = here(e);
    uint8_t *late, *strange;
    struct sums all;
    if (!add_up(m, n, &all))
        return NULL;
    add_constant(e, R13, all.time);
    late = jump_ahead(e, IF_BELOW);
    if (m->direct->table.logged) {
        add_to_memory(e, RBX, RUN(reads), (int32_t)all.reads);
        add_to_memory(e, RBX, RUN(writes), (int32_t)all.writes);
    }
    add_constant(e, R15, all.stamps);
    add_constant(e, R12, all.instructions);
    constant(e, RAX, (uint64_t)(uintptr_t)&m->compiled->together);
    CODE(e, "\x48\xff\x00"); /* inc qword [rax] */
    peet__direct_last_is(e, m->f->nsegments - 1);
    add_constant(e, RBP, 8 * (1 + (uint64_t)m->f->code[0].slot_words));
    peet__direct_emit_link(m);
    load(e, RAX, RBP, 0);
    strange = peet__direct_look_up(e);
    CODE(e, "\xff\x61\x08"); /* jmp [rcx + 8] */

    aim(e, late);
    add_constant(e, R13, -all.time);
    jump(e, one_by_one);

    aim(e, strange);
    constant(e, R8, (uint64_t)(uintptr_t)m->compiled->table);
    store(e, R8, RBX, RUN(blocks));
    jump(e, m->strange);
    return begin;
}

#endif
