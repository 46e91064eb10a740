/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between compiled code and everything else: the control page that instrumented code
 * addresses absolutely, and the raw words that it writes.  The compiler pass emits this layout, the
 * runtime maps it, the decoder reads it.  This header includes nothing, so that all three may.
 *
 * RAW WORDS.  A stream is a sequence of 64-bit words.  Four shapes of record:
 *
 *   sync block     [pc]                 [rsp] [slot]...   pc: run-time address of the block's label
 *   plain block    [~index, top half 1s]      [slot]...   index: the block in the current function
 *   abstract       [1000 tttt.. header]       [arg]...    see PEET_RAW_ABSTRACT
 *   loop exit      is a plain block whose first slots settle the silent loop before it
 *
 * A sync block starts wherever control may arrive from elsewhere: function entry, the return point of
 * a call, an exception landing pad, the end of inline assembly.  Which slots a block writes, and what
 * they mean, is said by the schema.
 */
#ifndef PEET_RAW_H
#define PEET_RAW_H

/* Version of the contract between compiled code and runtime.  Objects refer to the symbol
 * __peet_abi_3, which only a runtime of the same version defines.
 *   1  first version
 *   2  atomic and volatile accesses wait for their turn; the simulated clock; markers
 *   3  cursor and limit are addressed relative to gs */
#define PEET_RAW_ABI 3

/* The control page: below AddressSanitizer's shadow, within reach of a sign-extended disp32. */
#define PEET_CONTROL_ADDRESS 0x7ffd0000
#define PEET_CONTROL_BYTES 4096

/* PER THREAD.  Compiled code addresses the cursor and the limit, and only these, relative to the segment gs.  The base
 * of gs is 0 in a simulated run, in which one kernel thread runs all contexts, and in the first thread of a plain run.
 * Each further thread of a plain run has a copy of the control page, and the base of gs is the distance to that copy.
 * Code compiled with -fpeet-domains needs gs for its own references; it addresses the cursor and the limit absolutely,
 * and no thread of a program that holds such code has a copy. */

/* Offsets in the control page that compiled code uses. */
#define PEET_CONTROL_CURSOR 0 /* next free word of the running context's ring */
#define PEET_CONTROL_LIMIT 8  /* a check that finds cursor >= limit calls the yield stub */
#define PEET_CONTROL_STUB 16  /* address of the yield stub: preserves every register and flag */

/* Further stubs, called as the yield stub is, and followed by a nop that carries a word (PEET_HOOK_*). */
#define PEET_CONTROL_TURN 40       /* before an atomic or volatile access: wait for its turn */
#define PEET_CONTROL_CLOCK 48      /* after rdtsc: rax and rdx, of rdtscp rcx, become the simulated clock's */
#define PEET_CONTROL_MARK 56       /* after or before a marker of a region of interest */
#define PEET_CONTROL_CONCURRENT 64 /* 32 bits, not 0: more than one context is alive, accesses must wait */

/* Of code compiled with -fpeet-domains, whose references add the base of gs. */
#define PEET_CONTROL_VIEWED 68      /* 32 bits, not 0: the running context's view of memory is not main memory */
#define PEET_CONTROL_VIEW_OFFSET 72 /* from main memory to its view: what the base of gs is */
#define PEET_CONTROL_VIEW_BACK 80   /* from the view to main memory */
#define PEET_CONTROL_OUTSIDE \
    88                       /* stub, called as a hook while VIEWED: code comes that sees main memory alone; the word \
                              * below the return address is the callee, 0: assembly */
#define PEET_CONTROL_AWAY 96 /* 32 bits, not 0: the context is in such code, or in what that has called */
#define PEET_CONTROL_RETURN 104 /* stub, called as a hook while AWAY: perhaps it is over */
#define PEET_HOOK_RETURNS 1     /* in the word of OUTSIDE: RETURN is called after it */

/* The call of a hook and what surrounds it, byte by byte:
 *     lea -128(%rsp),%rsp;  call *slot;  nopl word(%rax);  lea 128(%rsp),%rsp
 * The word's low bits are each hook's own (live registers, a bit each, 16 the flags; a kind of clock or marker).
 * VECTORS: any vector, mask or x87 registers are live; XMM: none but the lower halves of xmm0..15.  A turn with either,
 * or with NARROW, has a second nop after the first: its low bits say which of xmm0..15 are live, those from the
 * sixteenth on of which general registers only the lowest byte is. */
#define PEET_HOOK_BYTES 27
#define PEET_HOOK_WORD 3 /* offset of the word from the return address */
#define PEET_HOOK_WORD2 10
#define PEET_HOOK_FLAGS 0x10000
#define PEET_HOOK_NARROW 0x20000
#define PEET_HOOK_VECTORS 0x40000000
#define PEET_HOOK_XMM 0x20000000
enum peet_hook_clock { PEET_HOOK_RDTSC = 0, PEET_HOOK_RDTSCP = 1 };
enum peet_hook_mark {
    PEET_HOOK_MARK_BEGIN, /* a region begins */
    PEET_HOOK_MARK_END,
    PEET_HOOK_MARK_PHASE,  /* number in edi */
    PEET_HOOK_MARK_SNIPER, /* xchg %bx,%bx: 1 in eax begins, 2 ends */
    PEET_HOOK_MARK_ZSIM,   /* xchg %rcx,%rcx: 1025 in ecx begins, 1026 ends */
};

/* A check stands wherever more than this many words may have been written since the last one; a ring
 * therefore has at least this much room beyond its limit. */
#define PEET_RAW_SLACK_WORDS 1024

/* Header of an abstract record: bit 63 set, bits 48..62 the type (enum peet_abstract_type of
 * module.h), bits 32..47 the number of argument words that follow, bits 0..31 zero. */
#define PEET_RAW_ABSTRACT(type, nargs) \
    (0x8000000000000000u | (unsigned long long)(type) << 48 | (unsigned long long)(nargs) << 32)
#define PEET_RAW_IS_ABSTRACT(word) ((word) >> 63 && (word) >> 48 != 0xffff)
#define PEET_RAW_TYPE(word) ((unsigned)((word) >> 48 & 0x7fff))
#define PEET_RAW_NARGS(word) ((unsigned)((word) >> 32 & 0xffff))

/* A plain block's id word: the immediate is sign-extended by the processor. */
#define PEET_RAW_IS_PLAIN(word) ((word) >> 32 == 0xffffffffu)
#define PEET_RAW_INDEX(word) ((unsigned)~(word))

#define PEET_SCHEMA_SECTION ".peet.schema"
#define PEET_SCHEMA_VERSION 4
#define PEET_SCHEMA_VERSION_MIN 2

#endif
