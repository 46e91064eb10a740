/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign code in a recording: the paths that the translator (runtime/foreign) told the decoder of, each when the decoder
 * first met its word.  The file has them as a list of items, which refer to earlier items of their kinds by number:
 *
 *   item     = FUNCTION pc bytes name image
 *            | OPCODE class variant latency rthroughput uops ports name mnemonic
 *            | BODY function pc bytes ninsns insn* nrefs ref*
 *            | PATH word nblocks (body nslots nvalues value*)*
 *   insn     = opcode, bytes from the body's begin, flags length first_ref nrefs nreads nwrites naddresses register*
 *   ref      = insn size flags value kind order group
 *   value    = displacement, both slots + 1, multiplier, fs
 *
 * Numbers are those of codec.h, those that may be negative zigzag; texts end with a 0.  Blocks of different paths that
 * have the same instructions have one body.
 */
#ifndef PEET_TRACE_PATHS_H
#define PEET_TRACE_PATHS_H

#include "program/foreign_block.h"
#include "trace/codec.h"
#include "trace/recording.h"

struct peet_path_writer;

/** peet_path_writer_new() - Returns: 0 or PEET_ENOMEM */
int peet_path_writer_new(struct peet_path_writer **out_writer);
void peet_path_writer_free(struct peet_path_writer *writer);
/** peet_path_describe() - append to @out what peet_recorder_paths() is to be told of a path: itself, and what it refers to
 * that is new.  Returns: 0 or PEET_ENOMEM */
int peet_path_describe(struct peet_path_writer *writer, uint64_t word, const struct peet_foreign_block *path,
    uint32_t n, struct peet__bytes *out);

/** peet_recording_add_path() - a word that the program does not know; after peet_recording_add_code() with this program
 * Returns: 1: it is a path, which has been added; 0: it is none; or PEET_ENOMEM with @error */
int peet_recording_add_path(struct peet_recording *recording, struct peet_program *program, uint64_t word,
    struct peet_error *error);

#endif
