/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them, for tables and the progress line. */
#ifndef PEET_CLI_NUMBER_H
#define PEET_CLI_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { PEET_CLI_NUMBER_BYTES = 32 };

/** peet_cli_grouped() - 1234567 as "1,234,567".  Returns: @buffer */
char *peet_cli_grouped(char buffer[static PEET_CLI_NUMBER_BYTES], uint64_t value);

/** peet_cli_short() - four significant places and a unit: "12.35 M".  Returns: @buffer */
char *peet_cli_short(char buffer[static PEET_CLI_NUMBER_BYTES], double value);

/** peet_cli_size() - bytes as in module parameters: "128KiB", "100".  Returns: @buffer */
char *peet_cli_size(char buffer[static PEET_CLI_NUMBER_BYTES], uint64_t bytes);

#endif
