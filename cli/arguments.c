/* SPDX-License-Identifier: Apache-2.0 */
/* What option parsers have in common; see arguments.h. */
#include "arguments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t peet_cli_count(const struct argp_state *state, const char *option, const char *text, uint64_t least,
    uint64_t most)
{
    char *end = NULL;
    unsigned long long value = 0;

    errno = 0;
    if (*text >= '0' && *text <= '9') /* strtoull() alone takes blanks and signs, and -1 as the greatest number */
        value = strtoull(text, &end, 10);
    if (!end || *end)
        argp_error(state, "%s: '%s' is not a whole number", option, text);
    else if (errno || value < least || value > most)
        argp_error(state, "%s: %s is not a number from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return value;
}

void peet_cli_one(const struct argp_state *state, const char *what, char *text, const char **inout_name)
{
    if (*inout_name)
        argp_error(state, "one %s at a time", what);
    *inout_name = text;
}

error_t peet_cli_trace_and_output(int key, char *text, struct argp_state *state, const char *names[static 2])
{
    switch (key) {
    case ARGP_KEY_ARG:
        if (state->arg_num == 2)
            argp_error(state, "one trace and one output at a time");
        names[state->arg_num] = text;
        return 0;
    case ARGP_KEY_END:
        if (!names[1])
            argp_error(state, "%s is missing", names[0] ? "OUTPUT" : "TRACE");
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}
