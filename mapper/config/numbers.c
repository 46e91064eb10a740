/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a configuration file before libconfig reads it.  libconfig takes a whole number without L modulo 2^32,
 * and one beyond 64 bits for -1, without a word.  Here such numbers are put into quotes: a setting's number may also be
 * a text, whose reader takes 64 bits and says what is out of range.
 */
#include "config/parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_all(const char *path, char **out_text, size_t *out_bytes, struct peet_error *error)
{
    FILE *in = fopen(path, "re"), *all = in ? open_memstream(out_text, out_bytes) : NULL;
    char piece[4096];
    size_t n;
    int why = errno;

    if (in && !all) {
        fclose(in);
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    }
    errno = 0;
    while (in && (n = fread(piece, 1, sizeof piece, in)) > 0)
        fwrite(piece, 1, n, all);
    if (in && ferror(in))
        why = errno ? errno : EIO;
    const int failed = !in || ferror(in);
    if (in)
        fclose(in);
    if (all && fclose(all))
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    if (failed)
        return peet_error_set(error, PEET_EIO, "%s: cannot read the configuration file: %s", path, strerror(why));
    if (memchr(*out_text, 0, *out_bytes))
        return peet_error_set(error, PEET_EFORMAT, "%s: cannot read the configuration file: it is not a text file",
            path);
    return 0;
}

/** What is copied as it stands: a text in quotes, a comment, a name.  Returns: where it ends; @at if nothing of the
 * kind begins there */
static const char *plain(const char *at)
{
    if (*at == '"') {
        for (at++; *at && *at != '"'; at++)
            at += *at == '\\' && at[1];
        return *at ? at + 1 : at;
    }
    if (*at == '#' || (at[0] == '/' && at[1] == '/'))
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");

        return end ? end + 2 : at + strlen(at);
    }
    if (isalpha((unsigned char)*at) || *at == '_' || *at == '*')
        while (isalnum((unsigned char)*at) || (*at && strchr("_*-", *at)))
            at++;
    return at;
}

/** Is this a whole number that libconfig would cut down?  @length: without the L after it */
static int too_large(const char *digits, size_t length, int is_long)
{
    char text[400];
    unsigned long long value;
    const int negative = digits[0] == '-', hex = length > 2 && digits[0] == '0' && (digits[1] | 32) == 'x';

    if (length >= sizeof text)
        return 1;
    memcpy(text, digits, length);
    text[length] = 0;
    errno = 0;
    value = strtoull(text + (negative || digits[0] == '+'), NULL, hex ? 16 : 10);
    if (errno)
        return 1;
    if (is_long)
        return value > (unsigned long long)INT64_MAX + negative;
    return value > (unsigned long long)INT32_MAX + negative;
}

int peet__config_text(const char *path, char **out_text, struct peet_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    int err = read_all(path, &text, &bytes, error);
    FILE *out = err ? NULL : open_memstream(out_text, &bytes);

    if (!err && !out)
        err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    for (const char *at = text; !err && *at;) {
        const char *end = plain(at);

        if (end == at) {
            const size_t sign = *at == '-' || *at == '+', hex = at[sign] == '0' && (at[sign + 1] | 32) == 'x' ? 2 : 0;
            const size_t digits = sign + hex + strspn(at + sign + hex, hex ? "0123456789abcdefABCDEF" : "0123456789");
            const size_t longs = strspn(at + digits, "L");

            end = at + digits + longs;
            if (digits == sign + hex) {
                end = at + 1;
            } else if (*end && strchr(".eE", *end)) { /* no whole number */
                end += strspn(end, "0123456789.eE+-");
            } else if (too_large(at, digits, longs != 0)) {
                fprintf(out, "\"%.*s\"", (int)digits, at);
                at = end;
                continue;
            }
        }
        fwrite(at, 1, (size_t)(end - at), out);
        at = end;
    }
    if (out && fclose(out) && !err)
        err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    free(text);
    return err;
}
