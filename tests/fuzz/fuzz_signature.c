/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of signatures of locality.  The input is a file; or, if its first byte is even, changes to a good one: pairs of a place and a
 * character.  Whatever it is, the reader gives a signature that can be written and read again, or says why not.
 */
#include "locality.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *good(size_t *out_bytes)
{
    static char *text;
    struct peet_sim_tally t = {.references = 1000};
    struct peet_cli_signature s;
    if (!text) {
        for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
            t.reuse[w][w] = 900;
            t.reuse[w][PEET_SIM_BEYOND] = 60;
            t.reuse[w][PEET_SIM_COLD] = 40;
            if (w < PEET_SIM_HALVINGS)
                t.same[w][w] = 100 * w;
        }
        peet_cli_signature_of(&t, &s);
        json_t *file = peet_cli_signature_json(&s);
        text = json_dumps(file, JSON_COMPACT | JSON_REAL_PRECISION(12));
        json_decref(file);
    }
    *out_bytes = strlen(text);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peet_cli_signature s, again;
    struct peet_error error = {0};
    size_t n;
    char *text = good(&n), *bytes;
    if (!size)
        return 0;
    if (data[0] & 1)
        n = size - 1;
    bytes = malloc(n ? n : 1); /* of the exact size, so that the sanitizer sees the end */
    if (!bytes)
        abort();
    memcpy(bytes, data[0] & 1 ? (const char *)data + 1 : text, n);
    for (size_t i = 1; !(data[0] & 1) && i + 2 < size; i += 3)
        bytes[(data[i] | data[i + 1] << 8) % n] = (char)data[i + 2];
    int status = peet_cli_signature_parse(bytes, n, "fuzz", &s, &error);
    free(bytes);
    if (status) {
        if (!error.message[0])
            abort();
        return 0;
    }
    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++)
        if (!(s.reuse_cdf[k] >= 0 && s.reuse_cdf[k] <= 1))
            abort();
    json_t *file = peet_cli_signature_json(&s);
    bytes = json_dumps(file, JSON_COMPACT | JSON_REAL_PRECISION(12));
    if (!bytes || peet_cli_signature_parse(bytes, strlen(bytes), "again", &again, &error) || memcmp(&s.tally, &again.tally, sizeof(s.tally)) != 0)
        abort();
    free(bytes);
    json_decref(file);
    return 0;
}
