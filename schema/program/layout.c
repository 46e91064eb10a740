/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of the plain program: recorded code is longer, so jumps are longer and padding differs.
 * Given the lengths that do not depend on layout, this sizes jumps as an assembler does: all short at
 * first, lengthened until none is out of reach, and pads aligned blocks.
 */
#include "program/parts.h"

uint32_t peet__layout(struct peet__layout_block *blocks, unsigned nblocks, struct peet__layout_insn *insns,
    uint32_t start)
{
    uint32_t end = 0;
    int changed = 1;
    while (changed) {
        changed = 0;
        uint32_t at = 0;
        for (unsigned b = 0; b < nblocks; b++) {
            struct peet__layout_block *block = &blocks[b];
            uint32_t padding = -(start + at) & (block->align - 1);
            if (block->max_padding != 0 && padding > block->max_padding)
                padding = 0;
            block->padding = padding;
            at += padding;
            block->offset = at;
            for (unsigned i = block->first_insn; i < block->first_insn + block->ninsns; i++) {
                insns[i].offset = at;
                at += insns[i].length;
            }
        }
        end = at;
        for (unsigned b = 0; b < nblocks; b++)
            for (unsigned i = blocks[b].first_insn; i < blocks[b].first_insn + blocks[b].ninsns; i++) {
                struct peet__layout_insn *jump = &insns[i];
                if (jump->target < 0 || jump->length != 2)
                    continue;
                int64_t distance = (int64_t)blocks[jump->target].offset - (jump->offset + 2);
                if (distance < -128 || distance > 127) {
                    jump->length = jump->is_jump == 1 ? 5 : 6;
                    changed = 1;
                }
            }
    }
    return end;
}
