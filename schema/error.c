/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts and the error record; see peet/error.h. */
#include <peet/error.h>

#include <stdarg.h>
#include <stdio.h>

int peet_error_set(struct peet_error *error, int code, const char *format, ...)
{
    if (error && error->code == 0) {
        va_list args;
        va_start(args, format);
        error->code = code;
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return code;
}

const char *peet_err_text(int code)
{
    switch (code) {
#define PEET_X(name, value, text) \
    case PEET_##name: \
        return text;
        PEET_ERRORS(PEET_X)
#undef PEET_X
    }
    return "unknown error";
}
