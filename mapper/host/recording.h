/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings and the host (host.c): a run with the observer `trace` is kept, a run with `from` takes its events from a
 * trace.  The images of the program are found here for both.
 */
#ifndef PEET_HOST_RECORDING_H
#define PEET_HOST_RECORDING_H

#include "config/config.h"
#include "data/datamap.h"
#include "decode/decode.h"
#include "host/source.h"
#include "host/tape.h"

/** peet_host_recording_image() - an image with a schema is there.  @late: the program has loaded it */
int peet_host_recording_image(const struct peet_datamap_image *image, int late, struct peet_error *error);

/** peet_host_recording_path() - foreign code is met for the first time */
void peet_host_recording_path(uint64_t word, const struct peet_foreign_block *path, uint32_t n);

/** peet_host_recording_name() - an address has this name; a trace that is being kept says so at its end */
void peet_host_recording_name(uint64_t address, const char *name);

/** peet_host_record() - is one of the observers `trace`?  Then begin the file, with the images so far.  @level: of the
 * observer Returns: 0 or a peet_err; *out_record is NULL if nothing is to be kept */
int peet_host_record(const struct peet_config *config, uint64_t level, struct peet_record **out_record,
    struct peet_error *error);
/** The observer `trace` of a configuration, or nobserver */
size_t peet_host_trace_observer(const struct peet_config *config);
/** peet_host_record_end() - the run is over, for this reason ("exit", "signal", ...)
 * @other: "exec": what the program executed in its own place; else NULL
 * Returns: 0 or a peet_err */
int peet_host_record_end(struct peet_record *record, const char *reason, int status, const char *other, uint64_t cycles,
    struct peet_error *error);

/** What to do with an image of a recording. */
typedef int peet_host_add_image(const char *path, const struct peet_datamap_image *image, struct peet_error *error);
/** peet_host_replay_images() - those that hold @pc; 0: those that were there from the start.  Returns: how many, or a
 * peet_err */
int peet_host_replay_images(struct peet_replay *replay, uint64_t pc, peet_host_add_image *add,
    struct peet_error *error);

/** peet_host_recorded_name() - what the recorded program calls an address.  Returns: 1, or 0 if it has no name */
int peet_host_recorded_name(struct peet_replay *replay, uint64_t address, char *out_name, size_t bytes);

#endif
