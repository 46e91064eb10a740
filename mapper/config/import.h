/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of other tools as a run's subject: din, lackey, ChampSim, drmemtrace, one file or a folder with a file for
 * each context.  The run converts them into a recording (trace/code.h) in its results folder and replays that; `peet
 * trace convert --to peet` does the same.
 */
#ifndef PEET_CONFIG_IMPORT_H
#define PEET_CONFIG_IMPORT_H

#include <jansson.h>
#include <peet/error.h>

/** The files of a set: one context each, in the order of their names; the first is the main context. */
struct peet_import {
    const char *format;
    char **files;
    size_t n;
};

/**
 * peet_import_find() - is it a trace of another tool, by the ending of its name?
 * @path: a file; a folder of files with one ending; or a folder with such a folder "trace" in it, as drmemtrace has it
 * @format: what the files are whatever their names; NULL: their endings say
 * Returns: 1: it is; 0; PEET_EFORMAT: files of several formats; PEET_ENOMEM
 */
int peet_import_find(const char *path, const char *format, struct peet_import *out_import, struct peet_error *error);
void peet_import_fini(struct peet_import *import);

/** peet_import_lacks() - what the format does not say, and what is taken instead; one sentence */
const char *peet_import_lacks(const char *format);

/** peet_import_config_text() - a configuration for the run: a processor for each context.  Returns: text, the caller's
 * to free, or NULL */
char *peet_import_config_text(const char *path, const struct peet_import *import);

/** peet_import_convert() - a recording at @to, which appears when it is whole.  @path: what was given.  Returns: 0 or a
 * peet_err */
int peet_import_convert(const char *path, const struct peet_import *import, const char *to, struct peet_error *error);

#endif
