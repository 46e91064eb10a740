/* SPDX-License-Identifier: Apache-2.0 */
/* peet trace print and convert: a recording's streams, or somebody else's trace, as text and in the formats of others.
 */
#include "trace.h"

#include "arguments.h"
#include "base/files.h"
#include "common.h"
#include "config/import.h"
#include "decode/decode.h"
#include "trace/code.h"
#include "trace/insns.h"
#include "trace/paths.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 4096 };

static int add_path(void *arg, struct peet_program *program, uint64_t word)
{
    struct peet_error ignored = {0, ""};

    const int n = peet_recording_add_path(arg, program, word, &ignored);

    return n || peet_recording_complete(arg) ? n : PEET_ENOTFOUND; /* paths come behind the words that they are about */
}

int peet_cli_trace_program(struct peet_recording *recording, struct peet_program **out_program,
    struct peet_error *error)
{
    int err = peet_program_new(out_program) ? peet_error_set(error, PEET_ENOMEM, "out of memory") : 0;

    for (size_t i = 0; !err && i < peet_recording_nimages(recording); i++) {
        const struct peet_recorded_image *image = peet_recording_image(recording, i);
        char path[64];
        uint8_t *bytes;
        size_t n;

        err = peet_recording_load_image(recording, i, &bytes, &n, error);
        if (err)
            break;
        const int fd = peet_cli_memory_file("peet-image", bytes, n, error);
        err = fd < 0 ? fd : 0;
        if (!err) {
            snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
            const int got = peet_program_add_image(*out_program, path, image->bias, error);
            err = got < 0 && got != PEET_ENOTFOUND ? got : 0; /* without a schema it has names only */
            close(fd);
        }
        free(bytes);
    }
    if (!err) {
        const int blocks = peet_recording_add_code(recording, *out_program, error);

        err = blocks < 0 ? blocks : 0;
        peet_program_set_rescan(*out_program, add_path, recording);
    }
    return err;
}

const char *peet_cli_event_text(unsigned type)
{
    static const char *const texts[] = {
#define PEET_X(name, value, nargs, text, args) [value] = text,
        PEET_ABSTRACTS(PEET_X)
#undef PEET_X
    };
    return type < sizeof(texts) / sizeof(texts[0]) && texts[type] ? texts[type] : "?";
}

/* ------------------------------------------------------------------------------------------ print */

static void print_insn(uint64_t number, const struct peet_traced_insn *insn, const struct peet_function *function)
{
    static const char letters[] = "LSMP";
    static const char *const branches[] = {
        "", " branch", " jump", " indirect-jump", " call", " indirect-call", " return"};

    printf("%10" PRIu64 " %012" PRIx64 " %2u%s%s%s", number, insn->pc, insn->length, function ? " " : "",
        function ? function->name : "", branches[insn->branch]);
    if (insn->branch == PEET_TRACED_CONDITIONAL && !insn->last)
        printf(insn->taken ? " taken" : " not-taken");
    for (unsigned i = 0; i < insn->nrefs; i++)
        printf(" %c%" PRIx64 ",%u", letters[insn->refs[i].kind & 3], insn->refs[i].address, insn->refs[i].size);
    putchar('\n');
}

static void print_event(const struct peet_abstract_event *event)
{
    printf("           * %s", peet_cli_event_text(event->type));
    for (uint32_t i = 0; i < event->nargs && i < 8; i++)
        printf(" %" PRIx64, event->args[i]);
    putchar('\n');
}

struct printed {
    const char *name;
    uint64_t context, skip, limit, cycle;
    int by_cycle;
};

static int print_stream(struct peet_recording *recording, struct peet_program *program, uint32_t stream,
    const struct printed *asked, struct peet_error *error)
{
    struct peet_stream_insns *insns;
    struct peet_traced_insn insn;
    uint64_t first = asked->by_cycle ? UINT64_MAX : asked->skip, end = UINT64_MAX;
    uint64_t number = 0; /* of the instruction; those behind it may be its rounds */
    int got = 0, err = peet_stream_insns_open(recording, program, stream, &insns, error);

    if (!err)
        err = asked->by_cycle ? peet_stream_insns_skip_cycles(insns, asked->cycle, error)
                              : peet_stream_insns_skip(insns, first, error);
    if (!asked->by_cycle && first + asked->limit >= first)
        end = first + asked->limit;
    for (uint64_t n = err ? end : peet_stream_insns_position(insns);
        !err && n < end && (got = peet_stream_insns_next(insns, &insn, error)) > 0;
        n = peet_stream_insns_position(insns)) {
        if (got == 1 && !insn.again)
            number = n;
        if (first == UINT64_MAX && asked->by_cycle && peet_stream_insns_began(insns) >= asked->cycle) {
            first = n;
            end = first + asked->limit < first ? UINT64_MAX : first + asked->limit;
        }
        if (got == 1 && number >= first)
            print_insn(number, &insn, peet_stream_insns_function(insns));
        else if (got == 2 && n >= first)
            print_event(peet_stream_insns_event(insns));
    }
    peet_stream_insns_close(insns);
    return err ? err : got < 0 ? got : 0;
}

enum { KEY_CONTEXT = 0x1000, KEY_SKIP, KEY_CYCLE, KEY_LIMIT };

static const struct argp_option print_options[] = {
    {"context", KEY_CONTEXT, "N", 0, "Only the context with this number", 0},
    {"skip", KEY_SKIP, "INSTRUCTIONS", 0, "Begin after so many instructions of each context", 0},
    {"cycle", KEY_CYCLE, "CYCLE", 0, "Begin with the first slice of each context that began at this cycle or later", 0},
    {"limit", KEY_LIMIT, "INSTRUCTIONS", 0, "Print at most so many of each context (default: 1000)", 0},
    {0},
};

static error_t read_print(int key, char *text, struct argp_state *state)
{
    struct printed *asked = state->input;
    switch (key) {
    case KEY_CONTEXT:
        asked->context = peet_cli_count(state, "--context", text, 0, UINT64_MAX);
        return 0;
    case KEY_SKIP:
        asked->skip = peet_cli_count(state, "--skip", text, 0, UINT64_MAX);
        return 0;
    case KEY_CYCLE:
        asked->cycle = peet_cli_count(state, "--cycle", text, 0, UINT64_MAX);
        asked->by_cycle = 1;
        return 0;
    case KEY_LIMIT:
        asked->limit = peet_cli_count(state, "--limit", text, 0, UINT64_MAX);
        return 0;
    case ARGP_KEY_ARG:
        peet_cli_one(state, "trace", text, &asked->name);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the trace is missing");
        return EINVAL;
    case ARGP_KEY_END:
        if (asked->by_cycle && asked->skip)
            argp_error(state, "--skip or --cycle, not both");
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp print_parser = {
    .options = print_options,
    .parser = read_print,
    .args_doc = "TRACE",
    .doc = "Print the instructions of TRACE with their references, and its abstract events, as text." PEET_CLI_TRACE_IS,
};

int peet_cli_trace_print(int argc, char **argv)
{
    struct peet_recording *recording = NULL;
    struct peet_program *program = NULL;
    struct peet_error error = {0};
    struct printed asked = {.context = UINT64_MAX, .limit = 1000};

    if (argp_parse(&print_parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    int err = peet_cli_trace_open(asked.name, &recording, &error), found = 0;
    if (!err)
        err = peet_cli_trace_program(recording, &program, &error);
    for (uint32_t s = 0; !err && s < peet_recording_nstreams(recording); s++) {
        const struct peet_stream_info *info = peet_recording_stream(recording, s);
        if (!info || (asked.context != UINT64_MAX && info->context != asked.context))
            continue;
        printf("context %" PRIu64 "\n", info->context);
        err = print_stream(recording, program, s, &asked, &error);
        found = 1;
    }
    if (!err && !found)
        err = peet_error_set(&error, PEET_EINVALID, "%s: there is no such context", asked.name);
    peet_program_free(program);
    peet_recording_free(recording);
    return err ? peet_cli_fail(&error) : peet_cli_finish_stdout(PEET_CLI_OK);
}

/* ---------------------------------------------------------------------------------------- convert */

/* The abstract events of all contexts, in the order in which they were performed, for those who want a synchronised
 * set. */
struct performed {
    uint64_t cycle, instruction, sequence;
    uint32_t stream, type, nargs;
    uint64_t args[4];
};
struct order {
    struct performed *all;
    size_t n, room;
};

static int keep(struct order *order, uint32_t stream, uint64_t cycle, uint64_t instruction,
    const struct peet_abstract_event *event)
{
    if (order->n == order->room) {
        const size_t room = order->room ? 2 * order->room : 1024;
        void *more = realloc(order->all, room * sizeof(*order->all));
        if (!more)
            return PEET_ENOMEM;
        order->all = more;
        order->room = room;
    }
    order->all[order->n].cycle = cycle;
    order->all[order->n].instruction = instruction;
    order->all[order->n].stream = stream;
    order->all[order->n].type = event->type;
    order->all[order->n].sequence = order->n;
    order->all[order->n].nargs = event->nargs < 4 ? event->nargs : 4;
    memcpy(order->all[order->n].args, event->args, order->all[order->n].nargs * sizeof(uint64_t));
    order->n++;
    return 0;
}

static int by_cycle(const void *a, const void *b)
{
    const struct performed *x = a, *y = b;

    if (x->cycle != y->cycle)
        return x->cycle < y->cycle ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int write_order(const char *path, struct order *order, struct peet_error *error)
{
    struct peet_file file;
    int err = peet_file_create(path, &file, error);

    if (order->n)
        qsort(order->all, order->n, sizeof(*order->all), by_cycle);
    if (err)
        return err;
    fputs("# order  cycle  file's context  instructions before it  event  arguments\n", file.stream);
    for (size_t i = 0; i < order->n; i++) {
        fprintf(file.stream, "%zu %" PRIu64 " %" PRIu32 " %" PRIu64 " %s", i, order->all[i].cycle, order->all[i].stream,
            order->all[i].instruction, peet_cli_event_text(order->all[i].type));
        for (uint32_t k = 0; k < order->all[i].nargs; k++)
            fprintf(file.stream, " %" PRIx64, order->all[i].args[k]);
        fputc('\n', file.stream);
    }
    return peet_file_commit(&file, error);
}

/** The end of a conversion: the file appears, or nothing does.  @got: how reading ended */
static int finish(struct peet_insn_writer *writer, int err, int got, struct peet_error *error)
{
    if (!err && got >= 0)
        return peet_insn_writer_close(writer, error);
    peet_insn_writer_abandon(writer);
    return err ? err : got;
}

static int convert_stream(struct peet_recording *recording, struct peet_program *program, uint32_t stream,
    const char *path, const char *format, struct order *order, struct peet_error *error)
{
    struct peet_stream_insns *insns = NULL;
    struct peet_insn_writer *writer;
    struct peet_traced_insn insn;
    uint64_t n = 0;
    int got = 0, err = peet_insn_writer_open(path, format, stream + 1, &writer, error);

    if (err)
        return err;
    err = peet_stream_insns_open(recording, program, stream, &insns, error);
    while (!err && (got = peet_stream_insns_next(insns, &insn, error)) > 0) {
        if (got == 1) {
            peet_insn_write(writer, &insn);
            n += !insn.again;
        } else if (keep(order, stream, peet_stream_insns_cycle(insns), n, peet_stream_insns_event(insns))) {
            err = peet_error_set(error, PEET_ENOMEM, "out of memory for the order of events");
        }
    }
    peet_stream_insns_close(insns);
    return finish(writer, err, got, error);
}

static int is_empty(const struct peet_recording *recording)
{
    for (uint32_t s = 0; s < peet_recording_nstreams(recording); s++)
        if (peet_recording_stream(recording, s))
            return 0;
    return 1;
}

/* A folder that may be there already.  @out_made: it was not.  Returns: 0, or -1 and errno */
static int make_folder(const char *path, int *out_made)
{
    *out_made = mkdir(path, 0777) == 0;
    return *out_made || errno == EEXIST ? 0 : -1;
}

static int convert_recording(const char *from, const char *format, const char *to, struct peet_error *error)
{
    static const struct {
        const char *format, *ending;
    } endings[] = {{"din", "din"}, {"lackey", "lackey"}, {"champsim", "champsimtrace"}, {"drmemtrace", "trace"}};
    struct peet_recording *recording = NULL;
    struct peet_program *program = NULL;
    struct order order = {0};
    char path[PATH_MAX], folder[PATH_MAX - 64];
    const char *ending = format;
    int made_to = 0, made_folder = 0, err = peet_cli_trace_open(from, &recording, error);

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(endings[i].format, format) == 0)
            ending = endings[i].ending;
    if (!err && peet_recording_nstreams(recording) > FILES_MAX)
        err = peet_error_set(error, PEET_ELIMIT, "%s: %u contexts would be as many files; %d are the most", from,
            peet_recording_nstreams(recording), FILES_MAX);
    if (!err && is_empty(recording))
        err = peet_error_set(error, PEET_EINVALID, "%s: no context is in it: there is nothing to convert", from);
    if (!err)
        err = peet_cli_trace_program(recording, &program, error);
    /* DynamoRIO's tools want the files in a folder of this name in the one that they are given. */
    if ((size_t)snprintf(folder, sizeof(folder), "%s%s", to, strcmp(format, "drmemtrace") == 0 ? "/trace" : "") >=
        sizeof(folder))
        err = peet_error_set(error, PEET_ELIMIT, "%s: the path is too long", to);
    if (!err && (make_folder(to, &made_to) || (strcmp(folder, to) != 0 && make_folder(folder, &made_folder))))
        err = peet_error_set(error, PEET_EIO, "%s: cannot be made: %s", folder, strerror(errno));
    uint32_t written = 0;
    for (; !err && written < peet_recording_nstreams(recording); written++) {
        snprintf(path, sizeof(path), "%s/context.%u.%s", folder, written, ending);
        if (peet_recording_stream(recording, written))
            err = convert_stream(recording, program, written, path, format, &order, error);
        else
            unlink(path);
    }
    if (!err)
        for (uint32_t s = peet_recording_nstreams(recording); s < FILES_MAX; s++) { /* of an earlier trace */
            snprintf(path, sizeof(path), "%s/context.%u.%s", folder, s, ending);
            unlink(path);
        }
    if (!err) {
        snprintf(path, sizeof(path), "%s/order.txt", to);
        err = write_order(path, &order, error);
    }
    while (err && written > 0) { /* some of a run's contexts are no trace of it */
        snprintf(path, sizeof(path), "%s/context.%u.%s", folder, --written, ending);
        unlink(path);
    }
    if (err && made_folder) /* if they are empty */
        rmdir(folder);
    if (err && made_to)
        rmdir(to);
    free(order.all);
    peet_program_free(program);
    peet_recording_free(recording);
    return err;
}

static int convert_file(const char *from, const char *from_format, const char *format, const char *to,
    struct peet_error *error)
{
    struct peet_insn_reader *reader;
    struct peet_insn_writer *writer = NULL;
    struct peet_traced_insn insn;
    int got = 0, err = peet_insn_reader_open(from, from_format, &reader, error);

    if (err)
        return err;
    err = peet_insn_writer_open(to, format, 1, &writer, error);
    while (!err && (got = peet_insn_read(reader, &insn, error)) > 0)
        peet_insn_write(writer, &insn);
    peet_insn_reader_close(reader);
    return finish(writer, err, got, error);
}

/** A trace of another tool, or a folder of them, becomes one of ours. */
static int convert_to_peet(const char *path, const char *format, const char *to)
{
    struct peet_import import;
    struct peet_error error = {0};
    int err, found = peet_import_find(path, format, &import, &error);

    if (!found)
        found = peet_error_set(&error, PEET_EINVALID, "%s: the name does not say what it is; say --from and the format",
            path);
    err = found < 0 ? found : peet_import_convert(path, &import, to, &error);
    peet_import_fini(&import);
    return err ? peet_cli_fail(&error) : PEET_CLI_OK;
}

struct converted {
    const char *names[2], *from, *to; /* the trace, the output; their formats */
};

enum { KEY_TO = 0x1000, KEY_FROM };

static const struct argp_option convert_options[] = {
    {"to", KEY_TO, "FORMAT", 0, "The format of OUTPUT: peet, din, lackey, champsim or drmemtrace", 0},
    {"from", KEY_FROM, "FORMAT", 0, "That of TRACE, if its name does not say it: din, lackey, champsim or drmemtrace",
        0},
    {0},
};

static error_t read_convert(int key, char *text, struct argp_state *state)
{
    struct converted *asked = state->input;
    switch (key) {
    case KEY_TO:
        asked->to = text;
        return 0;
    case KEY_FROM:
        asked->from = text;
        return 0;
    case ARGP_KEY_SUCCESS:
        if (!asked->to)
            argp_error(state, "--to says which format");
        return 0;
    }
    return peet_cli_trace_and_output(key, text, state, asked->names);
}

static const struct argp convert_parser = {
    .options = convert_options,
    .parser = read_convert,
    .args_doc = "TRACE OUTPUT",
    .doc = "Write TRACE in the format of another tool, or read one of another tool's." PEET_CLI_TRACE_IS
           "  OUTPUT is a folder with one file for each context if TRACE is peet's own, else a file.",
};

int peet_cli_trace_convert(int argc, char **argv)
{
    struct converted asked = {.names = {NULL}};
    struct peet_error error = {0};

    if (argp_parse(&convert_parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    const char *const *names = asked.names, *from = asked.from, *to = asked.to;
    if (strcmp(to, "peet") == 0)
        return convert_to_peet(names[0], from, names[1]);
    if (!peet_insn_format_named(to)) {
        peet_cli_complain("--to: there is no format '%s': peet, din, lackey, champsim and drmemtrace are known", to);
        return PEET_CLI_USAGE;
    }
    if (!from)
        from = peet_insn_format_of_file(names[0]);
    int err =
        from ? convert_file(names[0], from, to, names[1], &error) : convert_recording(names[0], to, names[1], &error);
    if (err == PEET_ENOTFOUND)
        error.code = PEET_EINVALID;
    return err ? peet_cli_fail(&error) : PEET_CLI_OK;
}
