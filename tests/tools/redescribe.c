/* SPDX-License-Identifier: Apache-2.0 */
/* redescribe TRACE OUTPUT CUT: a copy of a trace that says, in its description, that it is a part that begins as CUT (JSON) has it. */
#include "trace/recording.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const struct peet_error *error)
{
    fprintf(stderr, "redescribe: %s\n", error->message);
    return 1;
}

static int stream(struct peet_recording *from, struct peet_recorder *to, uint32_t s, struct peet_error *error)
{
    struct peet_recorded_state state;
    struct peet_slices *slices;
    struct peet_slice slice;
    uint64_t *words;
    uint32_t number;
    size_t n;
    int got = peet_recorder_stream(to, peet_recording_stream(from, s), &number);

    if (!got && peet_recording_nstates(from, s) &&
        !(got = peet_recording_state(from, s, 0, &state, &words, &n, error))) {
        if (!state.chunk)
            peet_recorder_state(to, s, words, n, state.instructions);
        free(words);
    }
    if (!got)
        got = peet_slices_open(from, s, &slices, error);
    if (got)
        return got;
    while ((got = peet_slices_next(slices, &slice, error)) > 0)
        peet_recorder_slice(to, s, &slice, 0);
    peet_slices_close(slices);
    peet_recorder_end(to, s);
    return got;
}

int main(int argc, char **argv)
{
    struct peet_recording *from;
    struct peet_recorder *to;
    struct peet_error error = {0};
    int err;

    if (argc != 4 || peet_recording_open(argv[1], &from, &error))
        return fail(&error);
    json_t *description = json_loads(peet_recording_description(from), 0, NULL), *cut = json_loads(argv[3], 0, NULL);
    json_object_set_new(description, "cut", cut);
    char *text = json_dumps(description, JSON_COMPACT);
    if (!text || peet_recorder_open(argv[2], text, 1, &to, &error))
        return fail(&error);
    for (size_t i = 0; i < peet_recording_nimages(from); i++) {
        struct peet_recorded_image image = *peet_recording_image(from, i);

        if (peet_recording_load_image(from, i, &image.bytes, &image.nbytes, &error))
            return fail(&error);
        peet_recorder_image(to, &image);
        free(image.bytes);
    }
    err = 0;
    for (uint32_t s = 0; !err && s < peet_recording_nstreams(from); s++)
        err = stream(from, to, s, &error);
    if (err || peet_recorder_close(to, "{\"reason\":\"cut\",\"status\":0}", &error))
        return fail(&error);
    free(text);
    json_decref(description);
    peet_recording_free(from);
    return 0;
}
