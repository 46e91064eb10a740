/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The translator in its parts.  It lives in the host's library, with Zydis, out of the subject's sight.
 *   wanted.c   which of its functions are called from outside
 *   images.c   which code is foreign, its functions and names, and a copy of its text as it was
 *   analyse.c  what a block's instructions are, reference, read and write; what must be recorded
 *   kinds.c    classes and opcodes of instructions
 *   opcodes.c  LLVM's names of instructions
 *   code.c     the block's code in the cache
 *   entries.c  jumps from the original text to the cache
 *   translate.c  what is translated, and the way from one to the other
 *   objects.c  objects that are loaded and unloaded later
 */
#ifndef PEET_FOREIGN_TRANSLATE_H
#define PEET_FOREIGN_TRANSLATE_H

#include "foreign/foreign.h"
#include <Zydis/Zydis.h>
#include <peet/error.h>
#include <peet/module.h>
#include "program/foreign_block.h"

/* ---------------------------------------------------------------------------------------------- images.c */

/** As small as can be, since there are thousands of which few are executed. */
struct peet__foreign_function {
    uint64_t lo, hi;                   /* code; behind it padding, up to the next one */
    struct peet_foreign_function *pub; /* NULL: nobody has asked for its name */
    const char *name;                  /* of its symbol; NULL: none, or nobody has asked for any */
    unsigned bind;                     /* the symbol's: STB_GLOBAL, ... */
    uint8_t recorded;                  /* by peetcc, or otherwise not to be touched: not foreign */
    uint8_t wanted;                    /* code that is not foreign may call it */
    uint8_t chooses; /* among variants: only the dynamic linker calls it, from a stack that differs from host to host */
    uint8_t called_entered;
    int8_t jumps; /* through tables: 1, 0 not, -1 not looked */
};

/** Segments with code: a linker that aligns it to more than a page leaves it in several.  Parts of its translations. */
enum { PEET_FOREIGN_PIECES = 4, PEET_FOREIGN_CACHES = 24 };

/** A loaded object with foreign code. */
struct peet__foreign_image {
    struct peet__foreign_image *next;
    const char *path, *name; /* name: behind the last slash */
    uint64_t bias, lo, hi;   /* of its executable segments */
    struct peet__foreign_piece {
        uint64_t lo, hi;
    } pieces[PEET_FOREIGN_PIECES]; /* each of them; between them there may be no memory */
    unsigned npieces;
    int (*is_recorded)(uint64_t pc); /* by peetcc, or otherwise not to be touched */
    uint64_t fixed_lo, fixed_hi;     /* data that nothing writes any more: what the dynamic linker has relocated */
    const uint8_t *text;             /* as it was: text[pc - lo]; between pieces: what is no instruction */
    uint8_t *aims;                   /* a bit for each byte of text that some jump or call may go to from far away */
    struct peet__foreign_function *functions; /* by address */
    unsigned nfunctions;
    struct peet__foreign_other { /* functions that no frame describes: between those that frames do, by their symbols */
        uint64_t lo;             /* the first one behind a function: where that ends */
        const char *name;        /* NULL: it has none */
        unsigned bind;
        struct peet_foreign_function *pub;
    } *others;
    unsigned nothers;
    uint8_t *cache, *cache_at, *cache_end; /* within reach */
    size_t cache_bytes;
    struct peet__foreign_cache {
        uint8_t *begin, *at;
        size_t bytes;
    } spent[PEET_FOREIGN_CACHES]; /* those before, which are full */
    unsigned nspent;
    int is_full;        /* and there is no room for another one */
    uint64_t *fillings; /* places between functions at which a jump stands now */
    unsigned nfillings;
    struct peet__foreign_entry {
        uint64_t pc, through; /* through: a place between functions by way of which it goes; 0: none */
        const uint8_t *stub;
    } *entries_at; /* jumps that stand in its text */
    unsigned nentries;
    int is_late;    /* it was loaded when the subject was running */
    int has_schema; /* and peetcc has compiled some of it, which may be known anew when it is loaded again */
    int is_gone;    /* and is not loaded now: its translations wait for it */
    uint8_t has_recorded, wants_all; /* functions that peetcc has compiled; all others may be called from outside */
    int has_names;
    struct peet__foreign_trace *traces; /* that begin in it; the last one */
    uint64_t links_from, links_to; /* numbers of the last direct jump of its translations, and to its code; 0: none */
    /* of the allocator's copy of the C library: what is called, nothing else is; NULL: all is */
    const void *entries[PEET_FOREIGN_ALLOCATOR_ENTRIES];
};

/** The image that a pc lies in, NULL: not foreign. */
struct peet__foreign_image *peet__foreign_image_of(uint64_t pc);
/** How many of the image's functions begin at @pc or before it. */
unsigned peet__foreign_functions_up_to(const struct peet__foreign_image *image, uint64_t pc);
/** Its function. NULL: not foreign (recorded by peetcc) */
struct peet__foreign_function *peet__foreign_function_of(struct peet__foreign_image *image, uint64_t pc);
/** All objects that are loaded now and of the subject's.  @recorded: whether peetcc has compiled what is at a pc.
 * Returns: 0 or a peet_err */
int peet__foreign_images_find(int (*recorded)(uint64_t pc), struct peet_error *error);
/** The copy of the C library that the subject allocates from, which is loaded now. */
int peet__foreign_images_add_allocator(struct peet_error *error);
extern struct peet__foreign_image *peet__foreign_images;
/** One more object, if it has foreign code.  @is_late: the subject is running.  Returns: 0 or a peet_err */
struct dl_phdr_info;
int peet__foreign_image_add(const struct dl_phdr_info *info, const char *path, int is_late,
    int (*recorded)(uint64_t pc), struct peet_error *error);
/** Is it nobody's but the runtime's? */
int peet__foreign_is_own(const char *path);
/** Is this address in the loaded parts of an object? */
int peet__foreign_lies_in(const struct dl_phdr_info *info, uint64_t pc);
/** Is what is loaded the image's text? */
int peet__foreign_is_loaded(const struct peet__foreign_image *image);
/** The image is in the list no more. */
void peet__foreign_image_remove(struct peet__foreign_image *image);
/** What is told of the function of this code, which is @function or lies behind it; its name is looked up when it is wanted.
 * NULL: out of memory */
struct peet_foreign_function *peet__foreign_name(struct peet__foreign_image *image,
    struct peet__foreign_function *function, uint64_t pc);
/** May some direct jump or call of the image go there? */
int peet__foreign_aimed_at(struct peet__foreign_image *image, uint64_t pc);

/* --------------------------------------------------------------------------------------------- analyse.c */

enum {
    PEET__FOREIGN_INSNS = 96, /* of a trace that has a profile; of others fewer */
    PEET__FOREIGN_PARTS = PEET_FOREIGN_MOST_BLOCKS,
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

/** A word of the record: what a register holds before instruction `at`. */
struct peet__foreign_slot {
    uint8_t reg;
    uint16_t at;
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
    uint32_t ninsns, nrefs, nvalues;
    uint32_t nslots; /* of the trace up to its end */
    /* the trace goes on where its conditional jump leads, not behind it; where its return leads, which is checked; it ends
     * by way of a word in memory, which is compared with what is there now, so that it leads to target (the stubs through
     * which libraries call each other) */
    uint8_t taken, returns, guess;
    /* registers and flags that hold nothing where control goes otherwise */
    uint8_t dead_known;
    uint32_t dead_outside;
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
 * conditional jumps: by falling through, or as they mostly go if there is a profile.  It has one record: a word that says
 * how far control went, and what registers held.  It is written as if control went to the end; who leaves early says so,
 * and gives back what was reserved for the rest. */
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
    uint32_t nrefs, nvalues, nregs, nslots;
    uint16_t offsets[PEET__FOREIGN_INSNS]; /* where the code of each is behind the begin of the block's */
    int dead;                              /* a general register that holds nothing at the beginning; -1: none */
    int flags_free;                        /* the flags hold nothing there */
    int has_profile;                       /* it is executed often */
    uint64_t *counts;                      /* of the profile that its executions make; NULL: none */
};
/** Its last block. */
static inline const struct peet__foreign_part *peet__foreign_last(const struct peet__foreign_plan *p)
{
    return &p->parts[p->nparts - 1];
}

/** So many slots has the record of who leaves it behind that block: a few that hold nothing are rather kept than given
 * back. */
static inline uint32_t peet__foreign_kept(const struct peet__foreign_plan *p, const struct peet__foreign_part *part)
{
    enum { FEW = 4 };
    return p->nslots - part->nslots <= FEW ? p->nslots : part->nslots;
}

/** What trace begins at pc?  @profile: how often its blocks were executed; NULL: that is not known.  Returns: 0 */
int peet__foreign_analyse(struct peet__foreign_image *image, uint64_t pc, peet__foreign_profile_of *profile,
    struct peet__foreign_plan *out);
enum { PEET__FOREIGN_FLAGS = 1 << 16 };
/** General registers, but the stack pointer, and flags that hold nothing before an instruction of a trace. */
uint32_t peet__foreign_dead(struct peet__foreign_plan *plan, uint32_t insn);
/** The same at any place of an image. */
uint32_t peet__foreign_dead_at(const struct peet__foreign_image *image, uint64_t pc);

/* --------------------------------------------------------------------------------------------- insn.c */

/** The arithmetic flags, which are one register here. */
#define PEET__FOREIGN_ARITHMETIC \
    (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)
/** One instruction of an image's text as it was.  @operands: NULL: they are not wanted.  Returns: its length, 0: none */
unsigned peet__foreign_decode(const struct peet__foreign_image *image, uint64_t pc, ZydisDecodedInstruction *out,
    ZydisDecodedOperand *operands);
/** Does a jump or call name its target itself? */
static inline int peet__foreign_names_target(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o)
{
    return z->operand_count && o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o[0].imm.is_relative;
}
/** peet's number of a register, -1: none that is told. */
int peet__foreign_register(ZydisRegister r);
/** The same of a general register, -1: it is none. */
int peet__foreign_general(ZydisRegister r);
/** Is it repeated, by a prefix? */
int peet__foreign_is_rep(const ZydisDecodedInstruction *z);
/** Which general registers are read, and which are written whole: a bit each, and PEET__FOREIGN_FLAGS. */
void peet__foreign_uses(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, uint32_t *out_reads,
    uint32_t *out_writes);
/** How control goes on.  @next: the address after it.  @out_target: of what jumps or calls directly */
enum peet__foreign_end peet__foreign_end_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o,
    uint64_t next, uint64_t *out_target);
/** What an instruction does to registers and where control goes, for those who look ahead: the same ones are looked at
 * again and again. */
struct peet__foreign_step {
    const struct peet__foreign_image *image;
    uint64_t pc, target;    /* target: as peet__foreign_end_of() */
    uint32_t reads, writes; /* as peet__foreign_uses() */
    enum peet__foreign_end end;
    uint8_t length, calls_kernel;
};
/** The instruction at this pc.  Returns: it, until the next call; NULL: there is none */
const struct peet__foreign_step *peet__foreign_step_at(const struct peet__foreign_image *image, uint64_t pc);
/** An image has gone. */
void peet__foreign_steps_forget(void);

/* --------------------------------------------------------------------------------------------- opcodes.c */

/** LLVM's name of an instruction. */
void peet__foreign_opcode_name(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands, char out[64]);

/** What its cost depends on besides its name, as the schema says it of compiled code: equal sources, a condition, the
 * shape of an address that is computed.  Returns: a number of compiler-pass/variants.h; 0: nothing */
unsigned peet__foreign_opcode_variant(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands);

/* ---------------------------------------------------------------------------------------------- wanted.c */

/** Find out which functions of the images so far may be called by code that is not foreign. */
void peet__foreign_want(void);
/** The function that the dynamic linker finds for a stub of the image, by the number that the stub gives it.  0: none */
uint64_t peet__foreign_asked_for(const struct peet__foreign_image *image, uint64_t number);

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
    struct peet__foreign_image *image; /* whose cache it is in; NULL: in none, so that it has no links */
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
/** Both registers that whoever jumps to a place of the tables has spilled, but for those of @dead. */
void peet__put_arrival(struct peet__foreign_code *c, uint32_t dead);
/** The trace's code, behind its arrival.  Room must be there.  @word: of a path that ends with its first block; the next
 * block's is PEET_FOREIGN_WORD_STEP further, and so on */
void peet__foreign_emit(struct peet__foreign_code *c, struct peet__foreign_plan *plan, uint64_t word);
enum { PEET__FOREIGN_CODE_BYTES = 32 << 10 };

/* ------------------------------------------------------------------------------------------- translate.c */

/** The offset from the thread pointer of the word that says which world it is. */
extern int64_t peet__foreign_world_offset;
/** Room for that much code within reach of the image; NULL: none */
uint8_t *peet__foreign_room(struct peet__foreign_image *image, size_t bytes);
/** Is there code that may be translated? */
int peet__foreign_can_translate(uint64_t pc);
/** The image's code is entered from now on, for the first time or again.  Returns: 0, or PEET_EUNSUPPORTED: it cannot be changed */
int peet__foreign_open(struct peet__foreign_image *image);
/** The image is not loaded any more: nothing of others leads to its translations. */
void peet__foreign_close(struct peet__foreign_image *image);
/** The translations of an image that was closed are gone, too. */
void peet__foreign_forget(struct peet__foreign_image *image);
/** A number for a direct jump: the rel32 at `site`, in the translations of one image, to the code of another or the same. */
uint64_t peet__foreign_link(struct peet__foreign_image *from, uint8_t *site, struct peet__foreign_image *to,
    uint64_t target);

/* --------------------------------------------------------------------------------------------- entries.c */

/** Control that comes to the original code at pc finds the translation.  Returns: whether it does */
int peet__foreign_enter_at(struct peet__foreign_image *image, uint64_t pc);
/** Where control has come to the original code of a function unseen: what it calls directly is seen. */
void peet__foreign_enter_called(struct peet__foreign_image *image, uint64_t pc);
/** All functions of an image that may be called from outside. */
void peet__foreign_enter_functions(struct peet__foreign_image *image);
/** A function that a stub asks the dynamic linker for is seen when that goes on to it. */
void peet__foreign_enter_asked_for(const struct peet__foreign_image *image, uint64_t stub, uint64_t end);
/** What led to translations of an image that is loaded again, with the same text, leads there again. */
void peet__foreign_enter_again(const struct peet__foreign_image *image);
struct peet__foreign_counts {
    uint64_t entries, unsafe_entries, returns, unsafe_returns, blocks, misses, anew, without_room;
};
extern struct peet__foreign_counts peet__foreign_counts;

/* --------------------------------------------------------------------------------------------- objects.c */

/** What is loaded now is known. @recorded: as above; @look: the object at a pc has been loaded; returns whether it may have been
 * compiled by peetcc, in part at least */
void peet__foreign_objects_begin(int (*recorded)(uint64_t pc), int (*look)(uint64_t pc));

/* --------------------------------------------------------------------------------------- for the host */

/** foreign.c of the host: load the subject's allocator.  Returns: 0 or a peet_err */
int peet_foreign_load(struct peet_error *error);
/** Begin to record foreign code.  @recorded: by peetcc; @look: an object has been loaded there, of which @recorded will be
 * asked */
int peet_foreign_start(int (*recorded)(uint64_t pc), int (*look)(uint64_t pc), struct peet_error *error);
/** Which of LLVM's names of instructions are known; before that. */
void peet_foreign_set_names(int (*is_known)(const char *name));
/** The blocks that were executed one behind the other if a record begins with this word; NULL: it is none of these.
 * @out_n: how many */
const struct peet_foreign_block *peet_foreign_path(uint64_t word, uint32_t *out_n);
/** Is a place in the cache, so that what is executed there is recorded, or leads there? */
int peet_foreign_is_translated(uint64_t pc);
/** The original place of code in the cache; 0: it is none */
uint64_t peet_foreign_original(uint64_t pc);

#endif
