/* SPDX-License-Identifier: Apache-2.0 */
/* The time line's file; see timeline.h. */
#include "timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int peet_cli_timeline_parse(const void *data, size_t bytes, struct peet_cli_timeline *out, struct peet_error *error)
{
    *out = (struct peet_cli_timeline){0};
    struct peet_timeline_header *h = &out->header;
    if (bytes < sizeof(*h) || memcmp(data, PEET_TIMELINE_MAGIC, sizeof(h->magic)) != 0)
        return peet_error_set(error, PEET_EFORMAT, "this is not a time line of peet");
    memcpy(h, data, sizeof(*h));
    if (h->slice_bytes != sizeof(struct peet_timeline_slice) ||
        h->slices != (bytes - sizeof(*h)) / sizeof(struct peet_timeline_slice) ||
        (bytes - sizeof(*h)) % sizeof(struct peet_timeline_slice) != 0)
        return peet_error_set(error, PEET_EFORMAT,
            "the time line is cut off, or of another version: it has %zu bytes and claims %llu slices", bytes,
            (unsigned long long)h->slices);
    out->slices = malloc(bytes - sizeof(*h) + 1);
    if (!out->slices)
        return peet_error_set(error, PEET_ENOMEM, "out of memory for %llu slices", (unsigned long long)h->slices);
    memcpy(out->slices, (const char *)data + sizeof(*h), bytes - sizeof(*h));
    for (uint64_t i = 0; i < h->slices; i++) {
        const struct peet_timeline_slice *s = &out->slices[i];
        if (s->begin < s->end && s->end <= h->end_cycles && s->state < PEET_TIMELINE_STATES && s->hw < h->hw_contexts)
            continue;
        peet_cli_timeline_fini(out);
        return peet_error_set(error, PEET_EFORMAT, "the time line is damaged: slice %llu", (unsigned long long)i);
    }
    return 0;
}

void peet_cli_timeline_fini(struct peet_cli_timeline *timeline)
{
    free(timeline->slices);
    timeline->slices = NULL;
    timeline->header.slices = 0;
}

int peet_cli_timeline_read(const char *path, struct peet_cli_timeline *out, struct peet_error *error)
{
    FILE *in = fopen(path, "re");
    char *data = NULL;
    long bytes = -1;
    int err;
    *out = (struct peet_cli_timeline){0};
    if (!in)
        return peet_error_set(error, PEET_ENOTFOUND, "%s: %s; \"--observe timeline\" makes it", path, strerror(errno));
    if (fseek(in, 0, SEEK_END) == 0 && (bytes = ftell(in)) >= 0 && fseek(in, 0, SEEK_SET) == 0)
        data = malloc((size_t)bytes + 1);
    if (bytes < 0)
        err = peet_error_set(error, PEET_EIO, "%s: cannot be read", path);
    else if (!data)
        err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory for %ld bytes", path, bytes);
    else if (fread(data, 1, (size_t)bytes, in) != (size_t)bytes)
        err = peet_error_set(error, PEET_EIO, "%s: cannot be read", path);
    else
        err = peet_cli_timeline_parse(data, (size_t)bytes, out, error);
    free(data);
    fclose(in);
    return err;
}
