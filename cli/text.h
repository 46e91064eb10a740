/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of unknown origin on a terminal.  Names come from programs, folders and files: they may hold escape sequences,
 * characters that turn the direction of writing, and ten thousand letters.
 */
#ifndef PEET_CLI_TEXT_H
#define PEET_CLI_TEXT_H

#include <stdio.h>
#include <stddef.h>

/**
 * peet_cli_text_clean() - a copy that is safe to print: no control characters (C0, C1), no changes of direction, only
 * whole UTF-8 characters
 * @columns: the most characters; a longer text ends with "..."
 * Returns: its length in characters
 */
int peet_cli_text_clean(char *out, size_t bytes, const char *text, int columns);

/** peet_cli_text_columns() - characters of a clean text */
int peet_cli_text_columns(const char *text);

/** peet_cli_terminal_columns() - how wide a table may be: 80, or the terminal's width if @out is a wider one */
int peet_cli_terminal_columns(FILE *out);

#endif
