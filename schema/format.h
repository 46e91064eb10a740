/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema as it lies in the ELF file: section .peet.schema, one self-contained record per function,
 * in any order.  Written by compiler-pass/emit.cpp as assembler text, read by schema/reader.c.
 *
 *   u32 magic            PEET_FORMAT_MAGIC
 *   u32 bytes            of what follows
 *   u32 version          PEET_SCHEMA_VERSION
 *   u32 abi              a reference to the runtime's version symbol; value without meaning
 *   i32 start            function's first byte, relative to this field
 *   i32 section          first recorded function of its text section, relative to this field
 *   u32 code_bytes       of the recorded code
 *   u32 nlengths, noffsets
 *   u64 checksum         of the record, or before it is linked of its payload (checksum.h)
 *   u8  length[nlengths]   bytes of each instruction whose length does not depend on layout, in order
 *   u32 offset[noffsets]   from the function's start, in the order in which the payload asks for them
 *   payload: ULEB128 numbers (u), zigzag-signed ones (i), strings (u length, bytes), forms
 *     name file u:line u:granularity u:align_log2 u:longest_nop u:asm_statements u:nsegments
 *     u:nkinds { name mnemonic u:class u:latency u:rthroughput_millicycles u:uops u:ports u:variant }
 *     u:ncallees { name }
 *     u:nblocks { u:align_log2 u:max_padding u:nsegments
 *       { u:flags [tail: u:taken] [loop: u:register i:step] [sync: offset] [turn: offset] u:slot_words
 *         u:ninsns { u:kind u:flags [calls: u:callee] [relax: u:target block] [line: i:delta] [symbolic: offset]
 *                    [asm: offset = its length] [else unless relax: length]
 *                    u:nreads u:naddresses u:nwrites u:reg... u:nrefs
 *                    { u:shape u:flags [atomic: u:order] u:size form:address ... } }
 *         u:nupdates { u:reg form } } }
 *   form: u:nterms { u:source i:multiplier } i:constant      sources: 0..15 GPR, 16 fs base, 32+ slot word
 *
 * Version 3 had no checksum, and no callees.
 * Version 2 had neither variant nor naddresses; its lists of registers had no repetitions, and no order.
 *
 * "Block" here is LLVM's layout block; its segments are peet's blocks.
 */
#ifndef PEET_FORMAT_H
#define PEET_FORMAT_H

#define PEET_FORMAT_MAGIC 0x31464550 /* "PEF1" */
#define PEET_FORMAT_HEADER_BYTES 44
#define PEET_FORMAT_HEADER_BYTES_3 36 /* until version 3 */
#define PEET_FORMAT_TABLES_AT 28      /* nlengths and noffsets */
#define PEET_FORMAT_PADDING 31 /* zero bytes that a linker may leave before a record; an erased record is longer */
#define PEET_FORMAT_SUM_AT 36  /* the checksum, since version 4 */

/* segment flags */
#define PEET_FORMAT_SYNC 1
#define PEET_FORMAT_ENTRY 2
#define PEET_FORMAT_RECORDED 4
#define PEET_FORMAT_OPAQUE 8
#define PEET_FORMAT_TAIL 16 /* executed unless the function's next record is segment `taken` */

#define PEET_FORMAT_LOOP 32 /* recorded once, when it is left: slot 0 is its induction register then */
#define PEET_FORMAT_TURN 64 /* begins with an access that waits for its turn: where the wait returns to */

/* instruction flags */
#define PEET_FORMAT_RELAX 1
#define PEET_FORMAT_LINE 2
#define PEET_FORMAT_ASM 4
#define PEET_FORMAT_INDIRECT 8
#define PEET_FORMAT_TLS 16
#define PEET_FORMAT_REP 32
#define PEET_FORMAT_SYMBOLIC 64
#define PEET_FORMAT_INSN_OPAQUE 128
#define PEET_FORMAT_PARTIAL 256
#define PEET_FORMAT_CALLS 512 /* of a function by its name */

/* reference shape word: kind in bits 0..1, shape in bits 2..3 */
#define PEET_FORMAT_REF_SYMBOLIC 16
#define PEET_FORMAT_REF_RIP 32

#define PEET_FORMAT_SOURCE_FS 16
#define PEET_FORMAT_SOURCE_SLOT 32

#endif
