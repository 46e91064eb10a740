/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of timeline.bin: whatever the bytes are, it answers with slices that are in order, or says why not. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peet_timeline_header h = { .slice_bytes = sizeof(struct peet_timeline_slice), .end_cycles = 1000, .hw_contexts = 3 };
    struct peet_cli_timeline t;
    struct peet_error error = { 0, "" };
    size_t bytes = size;
    uint8_t *copy;

    memcpy(h.magic, PEET_TIMELINE_MAGIC, sizeof h.magic);

    if (size && (data[0] & 1)) { /* the header is right, the slices are not */
        h.slices = (size - 1) / sizeof(struct peet_timeline_slice);
        bytes = sizeof h + h.slices * sizeof(struct peet_timeline_slice);
    }
    copy = malloc(bytes + 1);
    if (!copy)
        abort();
    if (size && (data[0] & 1)) {
        memcpy(copy, &h, sizeof h);
        memcpy(copy + sizeof h, data + 1, bytes - sizeof h);
    } else {
        memcpy(copy, data, bytes);
    }
    if (peet_cli_timeline_parse(copy, bytes, &t, &error) == 0) {
        for (uint64_t i = 0; i < t.header.slices; i++)
            if (t.slices[i].begin >= t.slices[i].end || t.slices[i].state >= PEET_TIMELINE_STATES)
                abort();
        peet_cli_timeline_fini(&t);
    } else if (!error.message[0]) {
        abort();
    }
    free(copy);
    return 0;
}
