/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings of instructions that no schema describes: traces of other tools, and threads out of a full-system
 * simulator.  The writer cuts each stream of instructions into blocks.  What a block is (its instructions, their
 * references and registers) goes to the file once, with a number; the stream says that number and the addresses.  So
 * these recordings are like all others: they can be printed, cut, converted, compared and replayed on every machine.
 *
 * What a format does not say is not made up: a reference without a size counts as one byte, an instruction without a
 * length ends where the next one begins, without registers nothing depends on anything, and opcodes are the plainest of
 * their class.
 */
#ifndef PEET_TRACE_CODE_H
#define PEET_TRACE_CODE_H

#include "decode/decode.h"
#include "trace/insns.h"
#include "trace/recording.h"

struct peet_code_writer;

/** peet_code_writer_new() - @recorder: borrowed.  Returns: 0 or PEET_ENOMEM */
int peet_code_writer_new(struct peet_recorder *recorder, struct peet_code_writer **out_writer);
/** peet_code_writer_free() - what has not been ended is lost */
void peet_code_writer_free(struct peet_code_writer *writer);

/**
 * peet_code_main() - begin so many streams at once, so that they can be replayed
 * Stream 0 creates the others as threads, and waits at its end until none of them is left.  Called once, before
 * anything else. All of these return 0, or PEET_EIO or PEET_ENOMEM as the recorder's.
 */
int peet_code_main(struct peet_code_writer *writer, uint32_t nstreams);
/** peet_code_thread() - stream 0 creates another one here */
int peet_code_thread(struct peet_code_writer *writer);
/** peet_code_insn() - @insn: with `again` it is the rest of the one before */
int peet_code_insn(struct peet_code_writer *writer, uint32_t stream, const struct peet_traced_insn *insn);
/** peet_code_event() - an abstract event (enum peet_abstract_type) */
int peet_code_event(struct peet_code_writer *writer, uint32_t stream, unsigned type, unsigned nargs,
    const uint64_t *args);
/** peet_code_end() - nothing follows; of stream 0: and no more are created */
int peet_code_end(struct peet_code_writer *writer, uint32_t stream);

/**
 * peet_recording_add_code() - the recording's blocks become blocks of the program; those of foreign code do when their words are
 * met (peet_recording_add_path())
 * Functions are those of the symbol tables of the recording's images, where it has some.  The recording must outlive
 * the program. Returns: how many blocks there are, or PEET_EFORMAT, PEET_EIO, PEET_ENOMEM with a message
 */
int peet_recording_add_code(struct peet_recording *recording, struct peet_program *program, struct peet_error *error);

#endif
