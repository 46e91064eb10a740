/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet report --html: one file that shows runs in a browser, without network.  html.c gathers the data and writes the
 * file, html_timeline.c makes levels of detail of time lines; html/page.js draws, with the charting library that was
 * embedded when peet was built (html/assets.S).
 */
#ifndef PEET_CLI_HTML_H
#define PEET_CLI_HTML_H

#include <stddef.h>
#include <jansson.h>
#include <peet/error.h>

/** peet_cli_html() - write the page of n runs.  @folders: of their results, with timeline.bin where there is one */
int peet_cli_html(json_t *const *stats, json_t *const *figures, const char *const *folders, size_t n, const char *path,
    struct peet_error *error);

/**
 * peet_cli_html_timeline() - a run's time line, no larger than a page can hold
 * Each row (processors, contexts) has levels of detail, texts of one digit for each bin: the state that took most of
 * it; and its slices, if there are few.
 * @names: of objects, by address
 * Returns: the caller's; NULL without a time line, after a complaint if the run had one
 */
json_t *peet_cli_html_timeline(const char *folder, const json_t *stats, const json_t *names);

#endif
