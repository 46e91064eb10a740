/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values from text.  strtoull accepts signs and spaces; what users type may not hold them.
 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <locale.h>
#include <peet/error.h>

static int number(const char *text, uint64_t *out_value, const char **out_rest)
{
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    char *end;

    if (!isdigit((unsigned char)text[0]) || (base == 16 && !isxdigit((unsigned char)text[2])))
        return PEET_EINVALID;
    errno = 0;
    *out_value = strtoull(text, &end, base);
    *out_rest = end;
    return errno == ERANGE ? PEET_ELIMIT : 0;
}

int peet_text_u64(const char *text, uint64_t *out_value)
{
    const char *rest;
    int err = number(text, out_value, &rest);

    return err ? err : *rest ? PEET_EINVALID : 0;
}

int peet_text_count(const char *text, uint64_t *out_value)
{
    static const char units[] = "kMGT";
    const char *rest, *unit;
    uint64_t scale = 1;
    int err = number(text, out_value, &rest);

    if (err)
        return err;
    if (*rest) {
        unit = strchr(units, *rest);
        if (!unit || rest[1])
            return PEET_EINVALID;
        for (const char *u = units; u <= unit; u++)
            scale *= 1000;
    }
    if (*out_value > UINT64_MAX / scale)
        return PEET_ELIMIT;
    *out_value *= scale;
    return 0;
}

int peet_text_size(const char *text, uint64_t *out_bytes)
{
    static const char letters[] = "kmgt";
    const char *rest, *at;
    unsigned shift = 0;
    int err = number(text, out_bytes, &rest);

    if (err)
        return err;
    if (*rest && (at = strchr(letters, tolower((unsigned char)*rest))) != NULL) {
        shift = 10 * (unsigned)(at - letters + 1);
        rest++;
        if (*rest == 'i')
            rest++;
        else if (*rest && *rest != 'B')
            return PEET_EINVALID;
        if (rest[-1] == 'i' && *rest != 'B')
            return PEET_EINVALID;
    }
    if (*rest == 'B')
        rest++;
    if (*rest)
        return PEET_EINVALID;
    if (*out_bytes > UINT64_MAX >> shift)
        return PEET_ELIMIT;
    *out_bytes <<= shift;
    return 0;
}

int peet_text_f64(const char *text, double *out_value)
{
    static locale_t c_locale;
    char *end;

    if (!c_locale)
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!*text || isspace((unsigned char)*text))
        return PEET_EINVALID;
    errno = 0;
    *out_value = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    if (*end || !isfinite(*out_value))
        return PEET_EINVALID;
    return 0;
}

int peet_text_bool(const char *text, uint64_t *out_value)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(text, words[i])) {
            *out_value = i & 1;
            return 0;
        }
    return PEET_EINVALID;
}

int peet_text_choice(const char *text, const char *choices)
{
    size_t length = strlen(text);
    int index = 0;

    for (const char *at = choices; length; index++) {
        size_t n = strcspn(at, "|");

        if (n == length && !strncasecmp(at, text, n))
            return index;
        if (!at[n])
            break;
        at += n + 1;
    }
    return PEET_EINVALID;
}

char *peet_text_dup(const char *format, ...)
{
    char *text;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    return n < 0 ? NULL : text;
}
