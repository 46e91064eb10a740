/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of executed instructions, in the formats of others: Dinero's din, Valgrind's lackey, ChampSim, DynamoRIO's
 * drmemtrace.  A reader gives one instruction after the other, whatever the format; a writer takes them.  peet's own
 * recordings are read the same way (insns_recording.c).  `peet trace convert` connects a reader with a writer; whoever
 * makes traces of a synthetic program uses a writer alone:
 *
 *     peet_insn_writer_open("out.champsim", "champsim", 0, &writer, &error);
 *     struct peet_traced_insn insn = {.pc = 0x400000, .length = 4, .nrefs = 1,
 *                                     .refs = {{address, 8, PEET_TRACED_LOAD}}};
 *     peet_insn_write(writer, &insn);                     // as often as needed
 *     peet_insn_writer_close(writer, &error);             // writes what is left; renames the file when it is whole
 *
 * One file is one thread.
 *
 *   format      pc  length  data  sizes  branches  registers
 *   din         +           +                                    text, the classic label-address form
 *   lackey      +   +       +     +                              text, as of valgrind --tool=lackey --trace-mem=yes
 *   champsim    +           +            +         +             64 bytes for each instruction
 *   drmemtrace  +   +       +     +      +                       12 bytes for each record
 */
#ifndef PEET_TRACE_INSNS_H
#define PEET_TRACE_INSNS_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

enum peet_traced_branch {
    PEET_TRACED_NONE,
    PEET_TRACED_CONDITIONAL,
    PEET_TRACED_JUMP,
    PEET_TRACED_INDIRECT_JUMP,
    PEET_TRACED_CALL,
    PEET_TRACED_INDIRECT_CALL,
    PEET_TRACED_RETURN,
    PEET_TRACED_BRANCHES
};

enum peet_traced_ref_kind { PEET_TRACED_LOAD, PEET_TRACED_STORE, PEET_TRACED_MODIFY, PEET_TRACED_PREFETCH };

struct peet_traced_ref {
    uint64_t address;
    uint32_t size; /* bytes; 0: the format does not say */
    uint8_t kind;  /* enum peet_traced_ref_kind */
};

enum { PEET_TRACED_REFS = 8, PEET_TRACED_REGS = 8 };

/** One executed instruction.  One with more references than this has room for comes in several, all but the first with
 * `again`. */
struct peet_traced_insn {
    uint64_t pc;
    uint64_t target; /* of a branch that was taken, if known; else 0 */
    uint8_t length;  /* bytes; 0: not known */
    uint8_t branch;  /* enum peet_traced_branch */
    uint8_t taken;
    uint8_t again; /* the rest of the instruction before */
    uint8_t last;  /* a branch at the end of the stream: where it went is not known */
    uint8_t nrefs, nreads, nwrites;
    uint8_t reads[PEET_TRACED_REGS], writes[PEET_TRACED_REGS]; /* registers as enum peet_reg of module.h */
    struct peet_traced_ref refs[PEET_TRACED_REFS];
};

/** Formats by their names; NULL after the last. */
extern const char *const peet_insn_formats[];
/** peet_insn_format_named() - Returns: the one of these that is written like that, or NULL */
const char *peet_insn_format_named(const char *name);
/** peet_insn_format_of() - by the ending of a name (".din", ".lackey", ".champsim", ".champsimtrace", ".trace").
 * Returns: a name, or NULL */
const char *peet_insn_format_of(const char *path);
/** peet_insn_format_of_file() - the same of a file that may be there: NULL as well if it is a trace of peet by that name */
const char *peet_insn_format_of_file(const char *path);

struct peet_insn_writer;

/**
 * peet_insn_writer_open() - begin a file under a temporary name
 * @thread: its number, for formats that say it
 * Returns: 0, PEET_ENOTFOUND: no such format, PEET_EIO, PEET_ENOMEM
 */
int peet_insn_writer_open(const char *path, const char *format, uint64_t thread, struct peet_insn_writer **out_writer,
    struct peet_error *error);
/** peet_insn_write() - errors are kept until close.  @insn: copied */
void peet_insn_write(struct peet_insn_writer *writer, const struct peet_traced_insn *insn);
/** peet_insn_writer_close() - Returns: 0, or PEET_EIO: nothing has changed at the path */
int peet_insn_writer_close(struct peet_insn_writer *writer, struct peet_error *error);
/** peet_insn_writer_abandon() - leave nothing behind */
void peet_insn_writer_abandon(struct peet_insn_writer *writer);

struct peet_insn_reader;

/** peet_insn_reader_open() - Returns: 0, PEET_ENOTFOUND, PEET_EIO, PEET_EFORMAT, PEET_ENOMEM */
int peet_insn_reader_open(const char *path, const char *format, struct peet_insn_reader **out_reader,
    struct peet_error *error);
/** peet_insn_read() - Returns: 1 and an instruction; 0 at the end; PEET_EFORMAT with the place of the damage */
int peet_insn_read(struct peet_insn_reader *reader, struct peet_traced_insn *out_insn, struct peet_error *error);
void peet_insn_reader_close(struct peet_insn_reader *reader);

/**
 * A stream of a recording as instructions.
 * Blocks are decoded by the program that the recording holds; ranges of library calls are instructions without code of
 * their own.
 */
struct peet_recording;
struct peet_program;
struct peet_stream_insns;
int peet_stream_insns_open(struct peet_recording *recording, struct peet_program *program, uint32_t stream,
    struct peet_stream_insns **out_insns, struct peet_error *error);
/** peet_stream_insns_skip() - go forward to a place from which reading can begin, at most so many instructions after the
 * stream's beginning, as near as there is one; before the first peet_stream_insns_next().  Returns: 0 or a peet_err */
int peet_stream_insns_skip(struct peet_stream_insns *insns, uint64_t instructions, struct peet_error *error);
/** peet_stream_insns_skip_cycles() - the same for the first slice that begins at @cycle or later: at or before it */
int peet_stream_insns_skip_cycles(struct peet_stream_insns *insns, uint64_t cycle, struct peet_error *error);
/** peet_stream_insns_began() - the cycle at which the slice began to which the last instruction or event belongs */
uint64_t peet_stream_insns_began(const struct peet_stream_insns *insns);
/** peet_stream_insns_position() - how many instructions the context had executed before the next one */
uint64_t peet_stream_insns_position(const struct peet_stream_insns *insns);
/** Returns: 1 and an instruction, 2: an abstract event (type and arguments), 0 at the end, or a peet_err */
int peet_stream_insns_next(struct peet_stream_insns *insns, struct peet_traced_insn *out_insn,
    struct peet_error *error);
/** The abstract event after a 2: type, arguments; live until the next call. */
const struct peet_abstract_event *peet_stream_insns_event(const struct peet_stream_insns *insns);
/** The time at which the slice after that event was asked for: the event had been performed by then. */
uint64_t peet_stream_insns_cycle(struct peet_stream_insns *insns);
/** The function that the last instruction belongs to. */
const struct peet_function *peet_stream_insns_function(const struct peet_stream_insns *insns);
void peet_stream_insns_close(struct peet_stream_insns *insns);

#endif
