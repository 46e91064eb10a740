/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of replayed executions (peet run --replay-token --explain), as tables: of one, or of two side by side. */
#ifndef PEET_CLI_EXPLANATION_H
#define PEET_CLI_EXPLANATION_H

#include <jansson.h>
#include <stdio.h>

/** @list: `.explanation` of stats.json */
void peet_cli_explanation_print(FILE *out, const json_t *list);

/** peet_cli_explanation_who(), _place(), _what() - the cells of one step */
void peet_cli_explanation_who(FILE *out, const json_t *one);
void peet_cli_explanation_place(FILE *out, const json_t *one);
void peet_cli_explanation_what(FILE *out, const json_t *one);

/**
 * peet_cli_comparison_print() - two executions from where they part, what they do alike in one row
 * @comparison: `.comparison` of stats.json
 * @columns: so wide
 */
void peet_cli_comparison_print(FILE *out, const json_t *comparison, int columns);

#endif
