/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them; see number.h. */
#include "number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *peet_cli_grouped(char buffer[static PEET_CLI_NUMBER_BYTES], uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    char *put = buffer;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *put++ = ',';
        *put++ = digits[i];
    }
    *put = '\0';
    return buffer;
}

char *peet_cli_short(char buffer[static PEET_CLI_NUMBER_BYTES], double value)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    unsigned unit = 0;
    while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(buffer, PEET_CLI_NUMBER_BYTES, unit ? "%.1f%s" : "%.0f%s", value, units[unit]);
    return buffer;
}

char *peet_cli_size(char buffer[static PEET_CLI_NUMBER_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = 0;
    while (bytes && bytes % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, PEET_CLI_NUMBER_BYTES, "%" PRIu64 "%s", bytes, units[unit]);
    return buffer;
}
