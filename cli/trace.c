/* SPDX-License-Identifier: Apache-2.0 */
/* peet trace: what a trace holds, and what can be done with it.  Each word after the verb is a function here or in
 * trace_*.c. */
#include "trace.h"

#include "arguments.h"
#include "common.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int peet_cli_trace_open(const char *name, struct peet_recording **out_recording, struct peet_error *error)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%s%s", name, stat(name, &st) == 0 && S_ISDIR(st.st_mode) ? "/trace.peet" : "");
    return peet_recording_open(path, out_recording, error);
}

/* ------------------------------------------------------------------------------------------- info */

static const char *kind_text(uint64_t kind)
{
    static const char *const texts[] = {"main", "thread", "iteration"};
    return kind < PEET_STREAM_KINDS ? texts[kind] : "?";
}

static json_t *info_json(struct peet_recording *r)
{
    json_t *description = json_loads(peet_recording_description(r), 0, NULL);
    json_t *ending = peet_recording_ending(r) ? json_loads(peet_recording_ending(r), 0, NULL) : NULL,
           *images = json_array(), *streams = json_array();
    uint64_t words = 0;

    json_object_del(description, "config_text");
    for (size_t i = 0; i < peet_recording_nimages(r); i++) {
        const struct peet_recorded_image *image = peet_recording_image(r, i);
        json_array_append_new(images,
            json_pack("{s:s?,s:I,s:I}", "path", image->path, "bytes", (json_int_t)image->nbytes, "bias",
                (json_int_t)image->bias));
    }
    for (uint32_t s = 0; s < peet_recording_nstreams(r); s++) {
        const struct peet_stream_info *info = peet_recording_stream(r, s);
        const uint64_t n = peet_recording_words(r, s);

        words += n;
        if (info && s < 1000)
            json_array_append_new(streams,
                json_pack("{s:i,s:s,s:I,s:I,s:I,s:I}", "stream", (int)s, "kind", kind_text(info->kind), "context",
                    (json_int_t)info->context, "parent", (json_int_t)info->parent, "words", (json_int_t)n, "chunks",
                    (json_int_t)peet_recording_nchunks(r, s)));
    }
    return json_pack("{s:o*,s:o*,s:b,s:I,s:I,s:I,s:I,s:o,s:o}", "made", description, "end", ending, "complete",
        peet_recording_complete(r), "bytes", (json_int_t)peet_recording_bytes(r), "frames",
        (json_int_t)peet_recording_frames(r), "contexts", (json_int_t)peet_recording_nstreams(r), "words",
        (json_int_t)words, "images", images, "streams", streams);
}

static const char *text_of(const json_t *node, const char *key)
{
    const char *text = json_string_value(json_object_get(node, key));
    return text ? text : "";
}

static void info_text(const json_t *info, const char *name)
{
    const json_t *made = json_object_get(info, "made"), *config = json_object_get(made, "config"),
                 *end = json_object_get(info, "end");
    size_t i;
    json_t *one;

    printf("%s: %" JSON_INTEGER_FORMAT " bytes, %s\n", name, json_integer_value(json_object_get(info, "bytes")),
        json_is_true(json_object_get(info, "complete")) ? "complete" : "cut off before the end of the run");
    printf("  program   %s", text_of(config, "program"));
    json_array_foreach(json_object_get(config, "arguments"), i, one)
        printf(" %s", json_string_value(one) ? json_string_value(one) : "?");
    putchar('\n');
    if (json_object_get(made, "from")) { /* a trace of others has no machine */
        printf("  made      of %s, in the format %s\n", text_of(made, "from"), text_of(made, "format"));
    } else {
        const json_int_t cores = json_integer_value(json_object_get(config, "cores"));
        printf("  machine   %s, %" JSON_INTEGER_FORMAT " processor%s, seed ",
            text_of(json_object_get(config, "machine"), "module"), cores, cores == 1 ? "" : "s");
        if (json_is_string(json_object_get(made, "seed")))
            printf("%s\n", text_of(made, "seed"));
        else
            printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(made, "seed")));
        printf("  made      %s by peet %s\n", text_of(made, "date"), text_of(made, "peet"));
    }
    if (end && !strcmp(text_of(end, "reason"), "exec"))
        printf("  end       exec, of %s\n", text_of(end, "program"));
    else if (end)
        printf("  end       %s, status %" JSON_INTEGER_FORMAT "\n", text_of(end, "reason"),
            json_integer_value(json_object_get(end, "status")));
    printf("  contents  %" JSON_INTEGER_FORMAT " contexts, %" JSON_INTEGER_FORMAT " words in %" JSON_INTEGER_FORMAT
           " frames\n",
        json_integer_value(json_object_get(info, "contexts")), json_integer_value(json_object_get(info, "words")),
        json_integer_value(json_object_get(info, "frames")));
    json_array_foreach(json_object_get(info, "images"), i, one) printf("  image     %s\n", text_of(one, "path"));
    json_array_foreach(json_object_get(info, "streams"), i, one)
    {
        if (i == 20) {
            printf("  ...\n");
            break;
        }
        printf("  context   %-6" JSON_INTEGER_FORMAT " %-10s %12" JSON_INTEGER_FORMAT " words\n",
            json_integer_value(json_object_get(one, "context")), text_of(one, "kind"),
            json_integer_value(json_object_get(one, "words")));
    }
}

struct asked {
    const char *name;
    int json;
};

enum { KEY_JSON = 0x1000 };

static const struct argp_option info_options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

/** For the words that take one trace. */
static error_t read_one(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    switch (key) {
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        peet_cli_one(state, "trace", text, &asked->name);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the trace is missing");
        return EINVAL;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp info_parser = {
    .options = info_options,
    .parser = read_one,
    .args_doc = "TRACE",
    .doc = "Show by which program, options and seed TRACE was made, and what it holds." PEET_CLI_TRACE_IS,
};

static int info(int argc, char **argv)
{
    struct peet_recording *recording;
    struct peet_error error = {0};
    struct asked asked = {0};

    if (argp_parse(&info_parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    if (peet_cli_trace_open(asked.name, &recording, &error))
        return peet_cli_fail(&error);
    json_t *all = info_json(recording);
    if (asked.json)
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER), putchar('\n');
    else
        info_text(all, asked.name);
    json_decref(all);
    peet_recording_free(recording);
    return peet_cli_finish_stdout(PEET_CLI_OK);
}

/* ------------------------------------------------------------------------------------------ check */

static const struct argp check_parser = {
    .parser = read_one,
    .args_doc = "TRACE",
    .doc = "Read all of TRACE and verify its checksums." PEET_CLI_TRACE_IS,
};

static int check(int argc, char **argv)
{
    struct peet_recording *recording;
    struct peet_error error = {0};
    struct asked asked = {0};

    if (argp_parse(&check_parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    int err = peet_cli_trace_open(asked.name, &recording, &error);
    if (!err) {
        err = peet_recording_check(recording, &error);
        if (!err)
            printf("%s: %s\n", asked.name,
                peet_recording_complete(recording)
                    ? "whole"
                    : "what is there is whole, but it was cut off before the end of the run");
        peet_recording_free(recording);
    }
    return err ? peet_cli_fail(&error) : peet_cli_finish_stdout(PEET_CLI_OK);
}

/* ------------------------------------------------------------------------------------------ words */

static const struct word {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} words[] = {
    {"info", info, "by which program, options and seed it was made, what it holds"},
    {"print", peet_cli_trace_print, "instructions, references and events as text"},
    {"cut", peet_cli_trace_cut, "a part of it, as a trace of its own"},
    {"convert", peet_cli_trace_convert, "from and into the formats of others"},
    {"check", check, "read all of it"},
};
enum { WORDS = sizeof(words) / sizeof(words[0]) };

static void help(FILE *out)
{
    fputs("usage: peet trace WORD [OPTION...] TRACE...\n\n", out);
    for (int i = 0; i < WORDS; i++)
        fprintf(out, "  %-8s %s\n", words[i].name, words[i].summary);
    fputs(
        "\nTRACE is a results folder of \"peet run --observe trace\", or a file.\n\"peet trace WORD --help\" lists the options of a word.\n",
        out);
}

/** argp names the program in its messages by program_invocation_name: "peet trace cut". */
static int call_word(const struct word *word, int argc, char **argv)
{
    static char name[32];

    snprintf(name, sizeof(name), "peet trace %s", word->name);
    program_invocation_name = program_invocation_short_name = argv[0] = name;
    return word->run(argc, argv);
}

int peet_cli_trace(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return PEET_CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        help(stdout);
        return peet_cli_finish_stdout(PEET_CLI_OK);
    }
    for (int i = 0; i < WORDS; i++)
        if (strcmp(argv[1], words[i].name) == 0)
            return call_word(&words[i], argc - 1, argv + 1);
    peet_cli_complain("trace: there is no '%s'; \"peet trace --help\" lists what there is", argv[1]);
    return PEET_CLI_USAGE;
}
