/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results folder of a run or recording: made if need be, held by one at a time, and rid of an earlier one's
 * stats.json, the files that it lists, and trace, so that what stands there afterwards is this one's.  They are lost
 * only when this one has begun: a run that is refused leaves the folder as it was.
 */
#ifndef PEET_CLI_RESULT_FOLDER_H
#define PEET_CLI_RESULT_FOLDER_H

#include <jansson.h>
#include <peet/error.h>
#include <stdint.h>

struct peet_cli_folder {
    char *path;      /* absolute, without symbolic links */
    char *stats;     /* <path>/stats.json */
    char *config;    /* <path>/config.cfg */
    char *created;   /* the topmost folder that was made for this run; NULL if all were there */
    json_t *earlier; /* stats.json of an earlier run, which is no longer there; NULL: there was none */
    int lock;        /* held open while the run lasts */
    int aside;       /* the earlier run's files are put aside, neither lost nor in their places */
};

/**
 * peet_cli_folder_open() - make the folder and take it
 * Returns: 0, then free with peet_cli_folder_close(); or PEET_EIO / PEET_EINVALID / PEET_ENOMEM, and the
 * folder is as it was
 */
int peet_cli_folder_open(const char *path, struct peet_cli_folder *out_folder, struct peet_error *error);

/** peet_cli_folder_begun() - the program runs: the earlier run's files are removed.  Returns: 0 or PEET_EIO */
int peet_cli_folder_begun(struct peet_cli_folder *folder, struct peet_error *error);

/** peet_cli_folder_refused() - the run was refused: put the earlier run's files back; then as discarded.
 * Returns: 0 or PEET_EIO */
int peet_cli_folder_refused(struct peet_cli_folder *folder, struct peet_error *error);

/** peet_cli_folder_discard() - remove the folders that were made, if nothing is in them; then as closed */
void peet_cli_folder_discard(struct peet_cli_folder *folder);

void peet_cli_folder_close(struct peet_cli_folder *folder);

/** peet_cli_instructions_of() - how many instructions the run of a stats.json has executed; 0: it does not say */
uint64_t peet_cli_instructions_of(const json_t *stats);

#endif
