/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The translator in its parts.  It lives in the host's library, with Zydis, out of the subject's sight.
 *   images.c   which code is foreign, its functions and names, and a copy of its text as it was
 *   analyse.c  what a block's instructions are, reference, read and write; what must be recorded
 *   kinds.c    classes and opcodes of instructions
 *   opcodes.c  LLVM's names of instructions
 *   code.c     the block's code in the cache
 *   entries.c  jumps from the original text to the cache
 *   translate.c  what is translated, and the way from one to the other
 */
#ifndef PEET_FOREIGN_TRANSLATE_H
#define PEET_FOREIGN_TRANSLATE_H

#include "foreign/foreign.h"
#include <Zydis/Zydis.h>
#include <peet/error.h>
#include <peet/module.h>
#include "program/foreign_block.h"

/* ---------------------------------------------------------------------------------------------- images.c */

struct peet__foreign_function {
    uint64_t lo, hi; /* code; behind it padding, up to the next one */
    struct peet_foreign_function pub;
    uint8_t recorded; /* by peetcc, or otherwise not to be touched: not foreign */
    uint8_t named;
    int8_t jumps; /* through tables: 1, 0 not, -1 not looked */
};

/** A loaded object with foreign code. */
struct peet__foreign_image {
    struct peet__foreign_image *next;
    const char *path, *name;         /* name: behind the last slash */
    uint64_t bias, lo, hi;           /* of its executable segment */
    int (*is_recorded)(uint64_t pc); /* by peetcc, or otherwise not to be touched */
    uint8_t *text;                   /* as it was: text[pc - lo] */
    /* a bit for each byte of text that some jump or call may go to: from far away, or from near by */
    uint8_t *aims[2];
    struct peet__foreign_function *functions; /* by address */
    unsigned nfunctions;
    uint8_t *cache, *cache_at, *cache_end; /* within reach */
    struct peet__foreign_symbol *symbols;
    unsigned nsymbols;
    /* of the allocator's copy of the C library: what is called, nothing else is; NULL: all is */
    const void *entries[PEET_FOREIGN_ALLOCATOR_ENTRIES];
};

/** The image that a pc lies in, NULL: not foreign. */
struct peet__foreign_image *peet__foreign_image_of(uint64_t pc);
/** Its function. NULL: not foreign (recorded by peetcc) */
struct peet__foreign_function *peet__foreign_function_of(struct peet__foreign_image *image, uint64_t pc);
/** All objects that are loaded now and of the subject's.  @recorded: whether peetcc has compiled what is at a pc.
 * Returns: 0 or a peet_err */
int peet__foreign_images_find(int (*recorded)(uint64_t pc), struct peet_error *error);
/** The copy of the C library that the subject allocates from, which is loaded now. */
int peet__foreign_images_add_allocator(struct peet_error *error);
extern struct peet__foreign_image *peet__foreign_images;
/** Function names are looked up when they are wanted. */
void peet__foreign_name(struct peet__foreign_image *image, struct peet__foreign_function *function);
/** May some direct jump or call of the image go there? */
int peet__foreign_aimed_at(struct peet__foreign_image *image, uint64_t pc);

/* --------------------------------------------------------------------------------------------- analyse.c */

enum {
    PEET__FOREIGN_INSNS = 96, /* of a trace that has a profile; of others fewer */
    PEET__FOREIGN_PARTS = 24,
    PEET__FOREIGN_CALLS = 8, /* in a trace, whose returns it follows */
    PEET__FOREIGN_REFS = 2 * PEET__FOREIGN_INSNS + 8,
    PEET__FOREIGN_VALUES = 2 * PEET__FOREIGN_REFS,
    PEET__FOREIGN_SLOTS = 160,
    PEET__FOREIGN_REGS = 24 * PEET__FOREIGN_INSNS
};

enum peet__foreign_end {
    PEET__FOREIGN_NEXT,   /* just goes on: cut, or at a system call */
    PEET__FOREIGN_BRANCH, /* conditional, to target or on */
    PEET__FOREIGN_LOOP,   /* the same by jrcxz or loop, whose reach is short */
    PEET__FOREIGN_GOTO,
    PEET__FOREIGN_GOTO_INDIRECT,
    PEET__FOREIGN_CALL,
    PEET__FOREIGN_CALL_INDIRECT,
    PEET__FOREIGN_RET,
    PEET__FOREIGN_STOP,   /* ud2, hlt: executed as it is */
    PEET__FOREIGN_UNKNOWN /* not to be decoded: executed where it is */
};

/** A word of the record: what a register holds before instruction `at`; the k-th of a block's. */
struct peet__foreign_slot {
    uint8_t reg, part;
    uint16_t at, k;
};

struct peet__foreign_insn {
    uint64_t pc;
    uint8_t bytes[16];
    uint8_t length;
    uint32_t reads, writes; /* general registers, bit 16 the flags; what may or may not be written is read */
    ZydisDecodedInstruction z;
};

/** A block of a trace: its instructions, references and values are those from here to the next one's. */
struct peet__foreign_part {
    uint64_t pc, next, target; /* next: behind the last instruction */
    enum peet__foreign_end end;
    const struct peet__foreign_image *image;
    uint32_t insn, ref, value; /* the first */
    uint32_t ninsns, nrefs, nvalues, nslots;
    uint32_t words; /* of the record before its own */
    /* the trace goes on where its conditional jump leads, not behind it; where its return leads, which is checked */
    uint8_t taken, returns;
};

/** How often blocks of a trace without a profile were executed. */
struct peet__foreign_profile {
    uint64_t *counts; /* [0]: the trace; [1 + k]: its block k's conditional jump was taken, so that it was left */
    const struct peet__foreign_part *parts;
    uint32_t nparts;
};
/** The profile of what begins at pc; NULL: none */
typedef const struct peet__foreign_profile *peet__foreign_profile_of(uint64_t pc);

/** A trace while it is being translated: blocks that follow each other by direct jumps, by calls and their returns, and by
 * conditional jumps: by falling through, or as they mostly go if there is a profile.  One piece of the record is reserved
 * for all of them; who leaves early gives back the rest. */
struct peet__foreign_plan {
    struct peet__foreign_image *image;
    struct peet__foreign_part parts[PEET__FOREIGN_PARTS];
    uint32_t nparts, words; /* of the whole record */
    uint32_t n;             /* instructions */
    struct peet__foreign_insn code[PEET__FOREIGN_INSNS];
    struct peet_insn insns[PEET__FOREIGN_INSNS];
    struct peet_ref refs[PEET__FOREIGN_REFS];
    struct peet_foreign_value values[PEET__FOREIGN_VALUES];
    uint8_t regs[PEET__FOREIGN_REGS];
    struct peet__foreign_slot slots[PEET__FOREIGN_SLOTS];
    struct peet_foreign_keep keeps[PEET_FOREIGN_MOST_KEPT];
    uint8_t keeper[PEET_FOREIGN_MOST_KEPT]; /* the block that keeps it */
    uint32_t nrefs, nvalues, nregs, nslots, nkeeps;
    uint16_t offsets[PEET__FOREIGN_INSNS]; /* where the code of each is behind the begin of the block's */
    int dead;                              /* a general register that holds nothing at the beginning; -1: none */
    int flags_free;                        /* the flags hold nothing there */
    uint64_t *counts;                      /* of the profile that its executions make; NULL: none */
};
/** Its last block. */
static inline const struct peet__foreign_part *peet__foreign_last(const struct peet__foreign_plan *p)
{
    return &p->parts[p->nparts - 1];
}

/** What trace begins at pc?  @profile: how often its blocks were executed; NULL: that is not known.  Returns: 0 */
int peet__foreign_analyse(struct peet__foreign_image *image, uint64_t pc, peet__foreign_profile_of *profile,
    struct peet__foreign_plan *out);
enum { PEET__FOREIGN_FLAGS = 1 << 16 };
/** General registers, but the stack pointer, and flags that hold nothing before an instruction of a trace. */
uint32_t peet__foreign_dead(const struct peet__foreign_plan *plan, uint32_t insn);
/** The same at any place of an image. */
uint32_t peet__foreign_dead_at(const struct peet__foreign_image *image, uint64_t pc);
/** One instruction of an image's text as it was.  Returns: its length, 0: none */
unsigned peet__foreign_decode(const struct peet__foreign_image *image, uint64_t pc, ZydisDecodedInstruction *out,
    ZydisDecodedOperand *operands);

/* --------------------------------------------------------------------------------------------- opcodes.c */

/** LLVM's name of an instruction. */
void peet__foreign_opcode_name(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, char out[64]);

/** What its cost depends on besides its name, as the schema says it of compiled code: equal sources, a condition, the
 * shape of an address that is computed.  Returns: a number of compiler-pass/variants.h; 0: nothing */
unsigned peet__foreign_opcode_variant(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands);

/* ----------------------------------------------------------------------------------------------- kinds.c */

/** A number of enum peet_insn_class. */
uint8_t peet__foreign_class(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands);
/** Instructions of one name and variant have one opcode.  @klass: of the instruction */
const struct peet_opcode *peet__foreign_opcode(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
    uint8_t klass);

/* ------------------------------------------------------------------------------------------------ code.c */

/** What is behind the code, since it is not executed often, or is no code. */
struct peet__foreign_cold {
    enum { PEET__FOREIGN_WORD, PEET__FOREIGN_LINK, PEET__FOREIGN_FULL } kind;
    uint8_t *from;    /* behind the displacement that leads there */
    uint64_t value;   /* the word; the link's target */
    uint8_t *back;    /* of a full ring: where to go on */
    int reg, spilled; /* what holds the cursor there */
};
/** Code as it is written. */
struct peet__foreign_code {
    uint8_t *at;
    uint32_t ncold;
    struct peet__foreign_cold cold[3 * PEET__FOREIGN_PARTS];
};
static inline void peet__put8(struct peet__foreign_code *c, unsigned byte)
{
    *c->at++ = (uint8_t)byte;
}
static inline void peet__put32(struct peet__foreign_code *c, int64_t word)
{
    const int32_t w = (int32_t)word;
    __builtin_memcpy(c->at, &w, 4);
    c->at += 4;
}
static inline void peet__put64(struct peet__foreign_code *c, uint64_t word)
{
    __builtin_memcpy(c->at, &word, 8);
    c->at += 8;
}
static inline void peet__put_bytes(struct peet__foreign_code *c, const void *bytes, size_t n)
{
    __builtin_memcpy(c->at, bytes, n);
    c->at += n;
}
#define PEET__PUT(c, text) peet__put_bytes(c, text, sizeof text - 1)

/** The instruction at its new place; nothing relative to itself but a memory operand. */
void peet__put_copy(struct peet__foreign_code *c, const struct peet__foreign_insn *insn);
/** Where the jump whose opcode has been put goes: somewhere that the translator will find.  rel32, to be changed when it
 *  is known. */
void peet__put_link(struct peet__foreign_code *c, uint64_t target);
void peet__put_native_jump(struct peet__foreign_code *c, uint64_t target);
/** The return address on the stack: by one store, since the load of the return gets nothing from two without waiting for
 *  both to be in the cache. */
void peet__put_push(struct peet__foreign_code *c, uint64_t value);
/** What belongs behind the code, which ends here. */
void peet__put_cold(struct peet__foreign_code *c);
/** Both registers that whoever jumps to a place of the tables has spilled. */
void peet__put_arrival(struct peet__foreign_code *c);
/** The trace's code, behind its arrival.  Room must be there.  @word: of its first block */
void peet__foreign_emit(struct peet__foreign_code *c, struct peet__foreign_plan *plan, uint64_t word);
enum { PEET__FOREIGN_CODE_BYTES = 32 << 10 };

/* ------------------------------------------------------------------------------------------- translate.c */

/** The offset from the thread pointer of the word that says which world it is. */
extern int64_t peet__foreign_world_offset;
/** Room for that much code within reach of the image; NULL: none */
uint8_t *peet__foreign_room(struct peet__foreign_image *image, size_t bytes);
/** Traces that have been executed often are made anew, as their profiles say. */
void peet__foreign_improve(void);
/** A number for a direct jump: the rel32 at `site`. */
uint64_t peet__foreign_link(uint8_t *site, uint64_t target);

/* --------------------------------------------------------------------------------------------- entries.c */

/** Control that comes to the original code at pc finds the translation.  Returns: whether it does */
int peet__foreign_enter_at(struct peet__foreign_image *image, uint64_t pc);
/** All functions of an image. */
void peet__foreign_enter_functions(struct peet__foreign_image *image);
struct peet__foreign_counts {
    uint64_t entries, unsafe_entries, returns, unsafe_returns, blocks, misses, anew;
};
extern struct peet__foreign_counts peet__foreign_counts;

/* --------------------------------------------------------------------------------------- for the host */

/** foreign.c of the host: load the subject's allocator.  Returns: 0 or a peet_err */
int peet_foreign_load(struct peet_error *error);
/** Begin to record foreign code. */
int peet_foreign_start(int (*recorded)(uint64_t pc), struct peet_error *error);
/** Which of LLVM's names of instructions are known; before that. */
void peet_foreign_set_names(int (*is_known)(const char *name));
/** The block whose records begin with this word; NULL: none */
const struct peet_foreign_block *peet_foreign_block(uint64_t word);
/** Is a place in the cache, so that what is executed there is recorded, or leads there? */
int peet_foreign_is_translated(uint64_t pc);
/** The original place of code in the cache; 0: it is none */
uint64_t peet_foreign_original(uint64_t pc);

#endif
