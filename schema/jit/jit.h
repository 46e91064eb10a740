/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that are executed in machine code: for which machine, for which observers, and how often each block was
 * executed. Callers: the mapper, tests.  The decoder (decode/decode.h) enters the code.
 */
#ifndef PEET_JIT_H
#define PEET_JIT_H

#include "program/program.h"
#include <peet/direct.h>

/**
 * peet_program_set_direct() - a machine that lets its blocks be taken by peet itself
 * @ops, @self: of the module (direct.h); borrowed
 * Returns: 0, PEET_ENOTFOUND: not as it is configured, or not on this processor; PEET_ENOMEM
 */
int peet_program_set_direct(struct peet_program *program, const struct peet_direct *ops, void *self);
/** peet_program_add_observer() - one that looks on then; before any block is taken.  Returns: 0, or PEET_ELIMIT: that
 * are too many */
int peet_program_add_observer(struct peet_program *program, const struct peet_direct_observer *ops, void *self);

/** peet_program_direct_contexts() - so many hardware contexts; after all observers have been added.
 * @memory_reports: the machine reports what happens in its memory system.  Returns: 0, or PEET_ENOMEM */
int peet_program_direct_contexts(struct peet_program *program, unsigned n, int memory_reports);
/** peet_program_direct_commits() - can observers be told what is final while hardware contexts run ahead of each other? */
int peet_program_direct_commits(const struct peet_program *program);
/** peet_program_direct_whole() - are the times of blocks and of waits whole cycles? */
int peet_program_direct_whole(const struct peet_program *program);
/** peet_program_direct_commit() - all that the hardware context has done is final: observers are told */
void peet_program_direct_commit(struct peet_program *program, unsigned hw);
/** peet_program_direct_close() - the run that the hardware context was in, and that might have gone on, is over.
 * @is_final: all that it has done is final */
void peet_program_direct_close(struct peet_program *program, unsigned hw, int is_final);
/** peet_program_direct_later() - all that it has done since its mark happens so many cycles later, because the block
 * before waits for so much longer */
void peet_program_direct_later(struct peet_program *program, unsigned hw, uint64_t cycles);

/** peet_program_direct_host() - table.go_back, and its first argument */
void peet_program_direct_host(struct peet_program *program, int (*go_back)(void *host, unsigned hw, uint64_t until),
    void *host);
/** peet_program_direct_notes() - who performs notes (records of abstract events for whose answer nobody waits) that
 * come among blocks which are taken.  Without, each of them ends the run.
 *  @fn: run->time is now.  Returns: 1: performed; 0: it ends the run, and comes as an event */
typedef int peet_decode_noted(void *host, const struct peet_direct_run *run, uint32_t type, uint32_t nargs,
    const uint64_t *args);
void peet_program_direct_notes(struct peet_program *program, peet_decode_noted *fn, void *host);
/** peet_program_direct_unwanted() - notes of this type say nothing to anybody: they are passed over where blocks are
 * taken.  Until now none are */
void peet_program_direct_unwanted(struct peet_program *program, uint32_t type);
/** peet_program_direct_executed() - how often each block was taken since the last call; observers that have no watch
 * for it hear the same
 *  @reads, @writes: what its ranges came to in all, which the block itself does not say */
typedef void peet_program_executed(void *arg, const struct peet_block *block, uint64_t times, uint64_t reads,
    uint64_t writes);
void peet_program_direct_executed(struct peet_program *program, peet_program_executed *fn, void *arg);

/** What the machine has taken already, from run->began on, and @observers (a bit each, as they were added) see. */
typedef void peet_decode_shown(void *arg, const struct peet_direct_run *run, const struct peet_block_event *event,
    uint32_t observers);

#endif
