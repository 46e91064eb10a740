/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results in the formats of other tools: callgrind's profile (KCachegrind, callgrind_annotate), collapsed stacks (flame
 * graphs), trace events (Perfetto, chrome://tracing).  Names are made harmless for each format.
 */
#ifndef PEET_CLI_EXPORT_H
#define PEET_CLI_EXPORT_H

#include <stdio.h>
#include <jansson.h>
#include <peet/error.h>

/** peet_cli_export_callgrind() - @stats: of a run that `profile` observed.  Returns: 0, PEET_ENOTFOUND without a
 * profile, PEET_EIO */
int peet_cli_export_callgrind(const json_t *stats, const char *path, struct peet_error *error);

/** peet_cli_export_collapsed() - a line for each call path: names joined by ';', and what it costs itself.
 *  @measure: "cycles", "instructions", ...; NULL: cycles, or instructions if there are none */
int peet_cli_export_collapsed(const json_t *stats, const char *measure, const char *path, struct peet_error *error);

/** peet_cli_export_trace() - Trace Event Format (JSON) of a run that `timeline` observed, with counters over time.
 * @folder: of the results */
int peet_cli_export_trace(const json_t *stats, const char *folder, const char *path, struct peet_error *error);

/** peet_cli_export_dot(), _pnml() - of a run that `graph` observed: GraphViz; a place/transition net (ISO/IEC 15909-2)
 * whose token game does what the run did */
int peet_cli_export_dot(const json_t *stats, const char *path, struct peet_error *error);
int peet_cli_export_pnml(const json_t *stats, const char *path, struct peet_error *error);

/** peet_cli_object_names() - names of what was waited for, by address, as the statistics have them.  Returns: an
 * object, the caller's */
json_t *peet_cli_object_names(const json_t *stats);

#endif
