/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the schema reader and the decoder: the input is the contents of a .peet.schema section, then
 * (behind a marker) raw words.  Whatever the bytes are, the reader answers with functions or an error.
 */
#include "decode/decode.h"
#include "program/parts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t text[1 << 18];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int filled;
    if (!filled) { /* bytes that look like instructions with every kind of operand */
        for (size_t k = 0; k < sizeof text; k++)
            text[k] = (uint8_t)(k * 0x9d + (k >> 7) * 0x35);
        filled = 1;
    }
    static const uint8_t marker[4] = {'W', 'R', 'D', 'S'};
    const uint8_t *words = size >= 4 ? memmem(data, size, marker, 4) : NULL;
    size_t schema_bytes = words != NULL ? (size_t)(words - data) : size;
    struct peet_program *program;
    struct peet__image *image = calloc(1, sizeof *image);
    if (image == NULL || peet_program_new(&program) != 0)
        abort();
    image->path = strdup("fuzz");
    image->unchecked = 1; /* what a checksum finds is found; behind it everything must still be checked */
    image->schema.address = sizeof text;
    image->schema.size = schema_bytes;
    image->schema.bytes = data;
    image->text = malloc(sizeof *image->text);
    image->ntext = 1;
    image->text[0] = (struct peet__section){0, sizeof text, text};
    struct peet_error error = {0};
    int n = peet__program_read(program, image, &error);
    if (n < 0 && error.message[0] == 0)
        abort(); /* an error without a message */
    struct peet_decode_state *state;
    if (n > 0 && words != NULL && peet_decode_state_new(program, 1, 0x1000, &state) == 0) {
        size_t nwords = (size - schema_bytes - 4) / 8;
        uint64_t *copy = malloc(nwords * 8 + 8);
        if (copy == NULL)
            abort();
        memcpy(copy, words + 4, nwords * 8);
        const uint64_t *cursor = copy;
        struct peet_event event;
        for (int kind = 1; kind > 0;) {
            struct peet_error bad = {0};
            kind = peet_decode_next(state, &cursor, copy + nwords, 1, &event, &bad);
            if (kind == PEET_EVENT_BLOCK)
                for (uint32_t r = 0; r < event.block.block->nrefs; r++) {
                    struct peet_ref_iter it = peet_ref_begin(&event.block.block->refs[r], event.block.values);
                    (void)it;
                }
        }
        free(copy);
        peet_decode_state_free(state);
    }
    peet_program_free(program);
    return 0;
}
