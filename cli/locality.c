/* SPDX-License-Identifier: Apache-2.0 */
/* peet locality: signatures of programs' memory behaviour, what caches make of them, streams and programs that have
 * them */
#include "arguments.h"
#include "common.h"
#include "locality.h"
#include "progress.h"
#include "trace/insns.h"

#include <argp.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum what { SIGNATURE, MERGE, MIX, PREDICT, TRACE, BENCH, PHASES, REPORT, WHATS };
static const struct {
    const char *name, *arguments, *text;
} whats[WHATS] = {
    [SIGNATURE] = {"signature", "DIR -o FILE", "the signature of a run that locality has observed, or of a part"},
    [MERGE] = {"merge", "SIGNATURE... -o FILE", "one signature of all: their counts are added up"},
    [MIX] = {"mix", "SIGNATURE[=WEIGHT]... -o FILE", "of their streams, interleaved by chance, that share a cache"},
    [PREDICT] = {"predict", "SIGNATURE", "hit rates of caches with sets, of other widths and depths"},
    [TRACE] = {"trace", "SIGNATURE -n N -o FILE", "a synthetic trace, in din or the format of another simulator"},
    [BENCH] = {"bench", "SIGNATURE... -o PROG.c", "a C program that behaves by the signature; several: phases"},
    [PHASES] = {"phases", "DIR -o PROG.c", "a C program with the phases that a run's windows show"},
    [REPORT] = {"report", "SIGNATURE...", "surfaces, how far they are from the first one's; pictures"},
};

enum {
    KEY_WAYS = 0x100,
    KEY_LINE,
    KEY_WRITES,
    KEY_SHARING,
    KEY_REPLICAS,
    KEY_CSV,
    KEY_SEED,
    KEY_PLAIN,
    KEY_FOOTPRINT,
    KEY_JSON,
    KEY_MOST
};
#define OF(what) (1u << (what))
static const struct {
    int key;
    unsigned of;
} allowed[] = {
    {'o', ~(OF(PREDICT) | OF(REPORT))},
    {'p', ~OF(PHASES)},
    {'n', OF(MIX) | OF(TRACE) | OF(BENCH) | OF(PHASES) | OF(PREDICT)},
    {'c', OF(PREDICT)},
    {KEY_PLAIN, OF(PREDICT) | OF(TRACE) | OF(BENCH)},
    {KEY_JSON, OF(PREDICT)},
    {KEY_FOOTPRINT, OF(TRACE) | OF(BENCH)},
    {'f', OF(TRACE)},
    {KEY_WRITES, OF(TRACE) | OF(BENCH) | OF(PHASES)},
    {KEY_SHARING, OF(BENCH) | OF(PHASES)},
    {'t', OF(BENCH) | OF(PHASES)},
    {KEY_REPLICAS, OF(BENCH)},
    {KEY_SEED, OF(MIX) | OF(TRACE) | OF(BENCH) | OF(PHASES) | OF(PREDICT)},
    {'P', OF(REPORT)},
    {KEY_CSV, OF(REPORT)},
    {KEY_MOST, OF(PHASES)},
};
static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write to FILE; -: standard output", 0},
    {"part", 'p', "PART", 0,
        "Of a run's results: run (default), merged, context=N, window=N, function=NAME, structure=NAME", 0},
    {"length", 'n', "N", 0,
        "References of the stream that is made; default 1000000, of a program's inner loop whichever of 50000, 200000, and 1000000 imitates best",
        0},
    {"seed", KEY_SEED, "N", 0, "Of the random numbers; default 1", 0},
    {"only-24", KEY_PLAIN, NULL, 0, "Use the paper's 24 numbers alone, as if the signature had no counts", 0},
    {"cache", 'c', "BYTES,WAYS,LINE", 0, "predict: a cache, as 32KiB,8,64; WAYS 0: fully associative.  May be repeated",
        0},
    {"json", KEY_JSON, NULL, 0, "predict: as JSON", 0},
    {"format", 'f', "FORMAT", 0, "trace: din, lackey, champsim or drmemtrace; default: as FILE's name ends, or din", 0},
    {"footprint", KEY_FOOTPRINT, "BYTES", 0, "At most so much memory", 0},
    {"writes", KEY_WRITES, "SHARE", 0, "Share of references that write, 0 to 1; default 0", 0},
    {"threads", 't', "N", 0, "bench, phases: threads of the program; default 1", 0},
    {"sharing", KEY_SHARING, "SHARE", 0,
        "bench, phases: share of references to memory that all threads use, 0 to 1; default 0", 0},
    {"replicas", KEY_REPLICAS, "N", 0, "bench: copies of the seed, one after the other; default: as many as fit best",
        0},
    {"most", KEY_MOST, "N", 0, "phases: at most so many; default 8", 0},
    {"plot", 'P', "FILE", 0, "report: draw surfaces into FILE: .svg, .png or .pdf", 0},
    {"csv", KEY_CSV, "FILE", 0, "report: miss-ratio curves as text", 0},
    {0},
};

enum { CACHES = 16, MOST_PHASES = 64 };
struct cache {
    double bytes;
    unsigned ways, line;
};
struct asked {
    enum what what;
    const char *output, *part, *plot, *csv, *format;
    uint64_t length, seed, footprint, threads, replicas, most;
    double writes, sharing;
    int plain, json;
    struct cache caches[CACHES];
    size_t ncaches;
    char **arguments;
    size_t narguments;
};

/* ------------------------------------------------------------------------------------------------- options */

static double share_of(const char *text, const char *option, struct argp_state *state)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value <= 1))
        argp_error(state, "%s: '%s' is not a number from 0 to 1", option, text);
    return value;
}

/* "32KiB".  Returns: the bytes, 0 if it is none; *out_end: after it */
static double bytes_of(const char *text, char **out_end)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    double value = isdigit((unsigned char)*text) ? (double)strtoull(text, out_end, 10) : (*out_end = (char *)text, 0),
           factor = 1;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++, factor *= 1024)
        if (strncmp(*out_end, units[i], strlen(units[i])) == 0) {
            *out_end += strlen(units[i]);
            return value * factor;
        }
    return value;
}

static void read_cache(const char *text, struct asked *asked, struct argp_state *state)
{
    struct cache *c = &asked->caches[asked->ncaches];
    char *end, *tail = NULL;
    unsigned long ways = 0, line = 0;
    c->bytes = bytes_of(text, &end);
    if (*end == ',')
        ways = strtoul(end + 1, &tail, 10);
    if (tail && *tail == ',')
        line = strtoul(tail + 1, &end, 10);
    if (!tail || *end || line < 4 || line > 512 || (line & (line - 1)) || ways > 1024 ||
        c->bytes < (double)line * (double)(ways ? ways : 1))
        argp_error(state, "--cache: '%s' is not BYTES,WAYS,LINE with a line of 4, 8, ... 512 bytes, as 32KiB,8,64",
            text);
    if (fmod(c->bytes, (double)line * (double)(ways ? ways : 1)) != 0)
        argp_error(state, "--cache: '%s' is no whole number of sets of %lu lines of %lu bytes", text, ways ? ways : 1,
            line);
    if (asked->ncaches + 1 == CACHES)
        argp_error(state, "--cache: more than %d", CACHES - 1);
    c->ways = (unsigned)ways;
    c->line = (unsigned)line;
    asked->ncaches++;
}

static void read_footprint(const char *text, struct asked *asked, struct argp_state *state)
{
    char *end;
    double bytes = bytes_of(text, &end);
    if (*end || bytes < 512 || bytes > 268435456)
        argp_error(state, "--footprint: '%s' is not from 512B to 256MiB", text);
    asked->footprint = (uint64_t)bytes / 512;
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (allowed[i].key == key && !(allowed[i].of & OF(asked->what)))
            argp_error(state, "\"peet locality %s\" has no such option; \"peet locality --help\" tells which are whose",
                whats[asked->what].name);
    switch (key) {
    case 'o':
        asked->output = text;
        return 0;
    case 'p':
        asked->part = text;
        return 0;
    case 'P':
        asked->plot = text;
        return 0;
    case 'n':
        asked->length = peet_cli_count(state, "--length", text, 1, 1ull << 28);
        return 0;
    case 't':
        asked->threads = peet_cli_count(state, "--threads", text, 1, 1024);
        return 0;
    case 'c':
        read_cache(text, asked, state);
        return 0;
    case KEY_CSV:
        asked->csv = text;
        return 0;
    case 'f':
        asked->format = text;
        return 0;
    case KEY_SEED:
        asked->seed = peet_cli_count(state, "--seed", text, 1, UINT64_MAX);
        return 0;
    case KEY_PLAIN:
        asked->plain = 1;
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case KEY_FOOTPRINT:
        read_footprint(text, asked, state);
        return 0;
    case KEY_WRITES:
        asked->writes = share_of(text, "--writes", state);
        return 0;
    case KEY_SHARING:
        asked->sharing = share_of(text, "--sharing", state);
        return 0;
    case KEY_REPLICAS:
        asked->replicas = peet_cli_count(state, "--replicas", text, 1, 4096);
        return 0;
    case KEY_MOST:
        asked->most = peet_cli_count(state, "--most", text, 1, MOST_PHASES);
        return 0;
    case ARGP_KEY_ARG:
        asked->arguments[asked->narguments++] = text;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static char *help_text(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    char *all = malloc(4096);
    size_t n = 0;
    for (int i = 0; all && i < WHATS; i++)
        n += (size_t)snprintf(all + n, 4096 - n, "  %-9s %s\n            %s\n", whats[i].name, whats[i].arguments,
            whats[i].text);
    return all;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .help_filter = help_text,
    .args_doc = "WHAT ARGUMENT...",
    .doc =
        "What a program's locality is, and streams and programs made to have it (Weinberg and Snavely's Chameleon).  A SIGNATURE is a file, "
        "or the results folder of a run with --observe locality.\vWHAT is one of",
};

/* ----------------------------------------------------------------------------------------------- what to do */

static int load(const struct asked *asked, const char *path, struct peet_cli_signature *out)
{
    struct peet_error error = {0};
    return peet_cli_signature_read(path, asked->part, out, &error) ? peet_cli_fail(&error) : PEET_CLI_OK;
}

static int save(const struct asked *asked, const struct peet_cli_signature *signature)
{
    struct peet_error error = {0};
    return peet_cli_signature_write(asked->output, signature, &error) ? peet_cli_fail(&error) : PEET_CLI_OK;
}

static int merge(const struct asked *asked)
{
    struct peet_sim_tally sum = {0};
    struct peet_cli_signature one;
    for (size_t i = 0; i < asked->narguments; i++) {
        int status = load(asked, asked->arguments[i], &one);
        if (status)
            return status;
        if (!one.has_counts) {
            peet_cli_complain("%s: 24 numbers alone cannot be merged: they do not say of how many references they are",
                asked->arguments[i]);
            return PEET_CLI_USAGE;
        }
        peet_sim_tally_add(&sum, &one.tally, 1);
    }
    peet_cli_signature_of(&sum, &one);
    return save(asked, &one);
}

/* @number: of the stream, of so many */
static int make_seed(const struct asked *asked, const struct peet_cli_signature *s, uint64_t length, int once,
    size_t number, size_t of, struct peet_cli_seed *out)
{
    struct peet_error error = {0};
    struct peet_cli_seed_options o = {.length = asked->length ? asked->length : length,
        .blocks = asked->footprint,
        .random = asked->seed + number,
        .once = once,
        .plain = asked->plain};
    snprintf(o.what, sizeof(o.what), "stream %zu of %zu, %llu references", number + 1, of,
        (unsigned long long)o.length);
    return peet_cli_seed_make(s, &o, out, &error) ? peet_cli_fail(&error) : PEET_CLI_OK;
}

/* ---- mix */

/* References of several streams, each in memory of its own, in an order of chance. */
static int interleave(const struct asked *asked, const struct peet_cli_seed *seeds, const double *weights, size_t n,
    struct peet_cli_signature *out)
{
    struct peet_sim_surface *surface = peet_sim_surface_new();
    struct peet_sim_tally tally = {0};
    uint64_t random = asked->seed * 0x9e3779b97f4a7c15u | 1, left = 0;
    struct {
        size_t step;
        uint32_t again;
    } *at = calloc(n, sizeof(*at));
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += weights[i];
        left += seeds[i].references;
    }
    while (surface && at && left) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double x = (double)(random >> 11) / (double)(1ull << 53) * sum;
        size_t i = 0;
        while (i < n - 1 && (x -= weights[i]) >= 0)
            i++;
        if (at[i].step == seeds[i].n) /* the first to be over ends it */
            break;
        const struct peet_cli_step *step = &seeds[i].steps[at[i].step];
        peet_sim_surface_reference(surface, (uint64_t)i << 40 | step->element * 4ull, &tally);
        if (at[i].again++ == step->again) {
            at[i].step++;
            at[i].again = 0;
        }
        left--;
    }
    int failed = !surface || !at || peet_sim_surface_flush(surface);
    peet_sim_tally_settle(&tally);
    peet_cli_signature_of(&tally, out);
    peet_sim_surface_free(surface);
    free(at);
    if (failed)
        peet_cli_complain("out of memory");
    return failed ? PEET_CLI_FAILED : PEET_CLI_OK;
}

static int mix(const struct asked *asked)
{
    struct peet_cli_seed *seeds = calloc(asked->narguments, sizeof(*seeds));
    double *weights = calloc(asked->narguments, sizeof(*weights));
    struct peet_cli_signature one;
    int status = seeds && weights ? PEET_CLI_OK : PEET_CLI_FAILED;
    for (size_t i = 0; !status && i < asked->narguments; i++) {
        char *equals = strrchr(asked->arguments[i], '='), *end = NULL;
        weights[i] = equals ? strtod(equals + 1, &end) : 1;
        if (equals && (end == equals + 1 || *end || !(weights[i] > 0 && weights[i] <= 1e9))) {
            peet_cli_complain("'%s': the weight after '=' must be a number above 0", asked->arguments[i]);
            status = PEET_CLI_USAGE;
            break;
        }
        if (equals)
            *equals = 0;
        status = load(asked, asked->arguments[i], &one);
        if (!status)
            status = make_seed(asked, &one, 1000000, 0, i, asked->narguments, &seeds[i]);
    }
    if (!status)
        status = interleave(asked, seeds, weights, asked->narguments, &one);
    if (!status)
        status = save(asked, &one);
    for (size_t i = 0; seeds && i < asked->narguments; i++)
        peet_cli_seed_fini(&seeds[i]);
    free(seeds);
    free(weights);
    return status;
}

/* ---- predict */

/* A cache with LRU sets, on a stream.  Returns: hit rate, < 0 without memory */
static double simulate(const struct peet_cli_seed *seed, const struct cache *c)
{
    uint64_t lines = (uint64_t)c->bytes / c->line, ways = c->ways ? c->ways : lines, sets = lines / ways, hits = 0;
    uint64_t *tags = malloc(sets * ways * sizeof(*tags));
    if (!tags)
        return -1;
    memset(tags, 0xff, sets * ways * sizeof(*tags));
    for (size_t i = 0; i < seed->n; i++) {
        uint64_t line = seed->steps[i].element * 4ull / c->line, *set = &tags[line % sets * ways], k = 0;
        while (k < ways && set[k] != line)
            k++;
        hits += (k < ways) + seed->steps[i].again;
        memmove(&set[1], &set[0], (k < ways ? k : ways - 1) * sizeof(*set));
        set[0] = line;
    }
    free(tags);
    return (double)hits / (double)seed->references;
}

static int predict(const struct asked *asked)
{
    static const struct cache usual[] = {
        {32768, 8, 64}, {49152, 12, 64}, {1048576, 8, 64}, {1048576, 16, 128}, {4194304, 16, 64}};
    const struct cache *caches = asked->ncaches ? asked->caches : usual;
    size_t n = asked->ncaches ? asked->ncaches : sizeof(usual) / sizeof(usual[0]);
    struct peet_cli_signature s;
    struct peet_cli_seed seed = {0};
    int status = load(asked, asked->arguments[0], &s);
    if (!status)
        status = make_seed(asked, &s, 1000000, 0, 0, 1, &seed);
    if (status)
        return status;
    /* With counts the widths are known; from 24 numbers they are what a stream that has them shows. */
    const struct peet_sim_tally *t = s.has_counts && !asked->plain ? &s.tally : &seed.tally;
    json_t *list = json_array();
    if (!asked->json)
        printf("%10s %5s %6s %10s %12s %9s\n", "bytes", "ways", "line", "predicted", "simulated", "error");
    for (size_t i = 0; i < n; i++) {
        unsigned width = 9 - (unsigned)__builtin_ctz(caches[i].line);
        double lines = caches[i].bytes / caches[i].line, ways = caches[i].ways ? caches[i].ways : lines;
        double hits = 100 *
            (lines > 65536 && !caches[i].ways ? peet_cli_hit_rate(t, width, 16)
                                              : peet_cli_associative(t, width, lines / ways, (unsigned)ways));
        double simulated = 100 * (caches[i].ways ? simulate(&seed, &caches[i]) : -1);
        if (asked->json)
            json_array_append_new(list,
                json_pack("{s:I, s:i, s:i, s:f}", "cache_bytes", (json_int_t)caches[i].bytes, "ways",
                    (int)caches[i].ways, "line_bytes", (int)caches[i].line, "hit_rate", hits / 100));
        else if (simulated >= 0)
            printf("%10.0f %5u %6u %9.2f%% %11.2f%% %+9.2f\n", caches[i].bytes, caches[i].ways, caches[i].line, hits,
                simulated, hits - simulated);
        else
            printf("%10.0f %5s %6u %9.2f%%\n", caches[i].bytes, "full", caches[i].line, hits);
    }
    if (asked->json) {
        json_dumpf(list, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
    } else {
        printf(
            "predicted: LRU sets, by the binomial model; simulated: such a cache on a synthetic trace of %llu references\n",
            (unsigned long long)seed.references);
        if (s.has_counts) {
            double most, all = peet_cli_surface_error(&seed.tally, &s.tally, 0, PEET_SIM_WIDTHS - 1, &most);
            printf(
                "the trace%s against the signature, 136 fully associative caches: %.3f%% mean absolute error, %.2f%% at most\n",
                asked->plain ? ", from 24 numbers," : "", all, most);
        }
    }
    json_decref(list);
    peet_cli_seed_fini(&seed);
    return status;
}

/* ---- trace */

/* The stream's references, one after the other. */
struct stream {
    const struct peet_cli_seed *seed;
    double writes;
    uint64_t random;
    size_t step;
    uint32_t again;
};

static struct stream stream_of(const struct asked *asked, const struct peet_cli_seed *seed)
{
    return (struct stream){seed, asked->writes, asked->seed * 0x9e3779b97f4a7c15u | 1, 0, 0};
}

/* Returns: 0 at the end */
static int next_reference(struct stream *s, uint64_t *out_address, int *out_store)
{
    if (s->step == s->seed->n)
        return 0;
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    *out_store = (double)(s->random >> 11) / (double)(1ull << 53) < s->writes;
    *out_address = s->seed->steps[s->step].element * 4ull + 0x10000000;
    if (s->again++ == s->seed->steps[s->step].again) {
        s->step++;
        s->again = 0;
    }
    return 1;
}

/* Data alone: what din can leave out. */
static int put_din(FILE *out, const void *what)
{
    struct stream s = *(const struct stream *)what;
    uint64_t address;
    int store;
    while (next_reference(&s, &address, &store))
        fprintf(out, "%d %llx\n", store, (unsigned long long)address);
    return ferror(out);
}

/* Formats of instructions: a loop of loads and stores of 4 bytes. */
static int put_insns(const char *path, const char *format, struct stream s, struct peet_error *error)
{
    enum { CODE = 0x400000, LENGTH = 4, LOOP = 16, DATA = 4 };
    struct peet_insn_writer *writer;
    uint64_t address, n = 0;
    int store, err = peet_insn_writer_open(path, format, 1, &writer, error);
    if (err)
        return err;
    while (next_reference(&s, &address, &store)) {
        struct peet_traced_insn insn = {.pc = CODE + n++ % LOOP * LENGTH,
            .length = LENGTH,
            .nrefs = 1,
            .refs = {{address, DATA, store ? PEET_TRACED_STORE : PEET_TRACED_LOAD}}};
        peet_insn_write(writer, &insn);
        if (n % LOOP == 0) {
            insn = (struct peet_traced_insn){
                .pc = CODE + LOOP * LENGTH, .target = CODE, .length = LENGTH, .branch = PEET_TRACED_JUMP, .taken = 1};
            peet_insn_write(writer, &insn);
        }
    }
    return peet_insn_writer_close(writer, error);
}

/* Returns: the format's name; NULL: there is none, which has been said */
static const char *format_of(const struct asked *asked)
{
    const char *named = peet_insn_format_of(asked->output);
    if (!asked->format)
        return named ? named : "din";
    named = peet_insn_format_named(asked->format);
    if (!named)
        peet_cli_complain("--format: there is no '%s'; formats are din, lackey, champsim and drmemtrace",
            asked->format);
    return named;
}

static int trace(const struct asked *asked)
{
    struct peet_cli_signature s;
    struct peet_cli_seed seed = {0};
    struct peet_error error = {0};
    const char *format = format_of(asked);
    int status = format ? load(asked, asked->arguments[0], &s) : PEET_CLI_USAGE;
    if (!status && strcmp(asked->output, "-") == 0 && strcmp(format, "din") != 0) {
        peet_cli_complain("locality trace: only din goes to standard output");
        status = PEET_CLI_USAGE;
    }
    if (!status)
        status = make_seed(asked, &s, 1000000, 0, 0, 1, &seed);
    if (status)
        return status;
    struct stream stream = stream_of(asked, &seed);
    if (strcmp(format, "din") == 0 ? peet_cli_write_whole(asked->output, put_din, &stream, &error)
                                   : put_insns(asked->output, format, stream, &error))
        status = peet_cli_fail(&error);
    else if (s.has_counts && strcmp(asked->output, "-") != 0) {
        double most, all = peet_cli_surface_error(&seed.tally, &s.tally, 0, PEET_SIM_WIDTHS - 1, &most);
        printf("%s: %llu references, %llu bytes; hit rates of 136 caches: %.3f%% mean absolute error, %.2f%% at most\n",
            asked->output, (unsigned long long)seed.references, (unsigned long long)seed.blocks * 512, all, most);
    }
    peet_cli_seed_fini(&seed);
    return status;
}

/* ---- bench */

/* Copies of the seed that bring the program nearest to the signature. */
static int choose_replicas(const struct asked *asked, const struct peet_cli_seed *seed,
    const struct peet_cli_signature *s, unsigned *out_replicas, double *out_error)
{
    static const unsigned tried[] = {1, 2, 4, 16, 64};
    struct peet_error error = {0};
    struct peet_sim_tally t;
    const unsigned fixed = (unsigned)asked->replicas;
    double best = -1;
    for (size_t i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
        unsigned replicas = fixed ? fixed : tried[i];
        if (!fixed && i && seed->blocks * replicas > 1u << 18) /* 128 MiB are enough to flush what the surface knows */
            break;
        peet_cli_work("copies of the stream", (double)i / (double)(sizeof(tried) / sizeof(tried[0])));
        if (peet_cli_bench_surface(seed, replicas, asked->sharing, &t, &error))
            return peet_cli_fail(&error);
        double mean = peet_cli_surface_error(&t, &s->tally, 0, s->has_counts ? 3 : 0, NULL);
        if (best < 0 || mean < best) {
            best = mean;
            *out_replicas = replicas;
        }
        if (fixed)
            break;
    }
    peet_cli_work_clear();
    *out_error = best;
    return PEET_CLI_OK;
}

/* A seed, and its copies.  Of several lengths the one that brings the program nearest to the signature: a short one has too few
 * far lines, and a long one needs more memory than the program, since it uses no element twice. */
static int choose_seed(const struct asked *asked, const struct peet_cli_signature *s, size_t number, size_t of,
    struct peet_cli_seed *out, unsigned *out_replicas, double *out_error)
{
    static const uint64_t tried[] = {50000, 200000, 1000000};
    const size_t ntried = asked->length ? 1 : sizeof(tried) / sizeof(tried[0]);
    int status = PEET_CLI_OK;
    for (size_t i = 0; i < ntried; i++) {
        struct peet_cli_seed seed = {0};
        unsigned replicas = 1;
        double mean = 0;
        status = make_seed(asked, s, tried[i], 1, number, of, &seed);
        if (!status)
            status = choose_replicas(asked, &seed, s, &replicas, &mean);
        if (status || (i && mean >= *out_error)) { /* still longer ones are no better */
            peet_cli_seed_fini(&seed);
            break;
        }
        peet_cli_seed_fini(out);
        *out = seed;
        *out_replicas = replicas;
        *out_error = mean;
    }
    return status;
}

static void tell_bench(const struct asked *asked, const struct peet_cli_signature *signatures,
    const struct peet_cli_bench *bench, const double *means)
{
    for (size_t i = 0; i < bench->nphases; i++)
        printf(
            "%s%s%zu: %llu loads of %zu elements, %u copies, %llu bytes; hit rates of %s%s: %.3f%% mean absolute error\n",
            asked->output, bench->nphases > 1 ? ", phase " : " ", i + 1, (unsigned long long)bench->seeds[i].references,
            bench->seeds[i].n, bench->replicas[i],
            (unsigned long long)bench->seeds[i].blocks * bench->replicas[i] * 512,
            signatures[i].has_counts ? "68 caches with lines of 64 to 512 bytes" : "17 caches with lines of 512 bytes",
            asked->sharing > 0 ? ", of a thread that shares so much" : "", means[i]);
}

static int write_bench(const struct asked *asked, const struct peet_cli_signature *signatures, const double *weights,
    size_t n)
{
    struct peet_cli_seed *seeds = calloc(n, sizeof(*seeds));
    unsigned *replicas = calloc(n, sizeof(*replicas));
    double *means = calloc(n, sizeof(*means));
    struct peet_cli_bench bench = {.seeds = seeds,
        .weights = weights,
        .replicas = replicas,
        .nphases = n,
        .threads = (unsigned)asked->threads,
        .sharing = asked->sharing,
        .writes = asked->writes};
    struct peet_error error = {0};
    int status = seeds && replicas && means ? PEET_CLI_OK : PEET_CLI_FAILED;
    for (size_t i = 0; !status && i < n; i++) {
        replicas[i] = 1;
        status = choose_seed(asked, &signatures[i], i, n, &seeds[i], &replicas[i], &means[i]);
        if (!status && seeds[i].blocks * replicas[i] * 128 > 1u << 26) {
            peet_cli_complain(
                "%u copies of %llu blocks are more than 256 MiB; try a smaller --footprint, --length or --replicas",
                replicas[i], (unsigned long long)seeds[i].blocks);
            status = PEET_CLI_USAGE;
        }
        if (!status && asked->writes > peet_cli_bench_stores(&seeds[i]))
            peet_cli_complain(
                "--writes: %.1f%% of the references can store in place of loads; further stores come after loads, and hit in any cache",
                100 * peet_cli_bench_stores(&seeds[i]));
    }
    if (!status && peet_cli_write_whole(asked->output, peet_cli_bench_write, &bench, &error))
        status = peet_cli_fail(&error);
    if (!status && strcmp(asked->output, "-") != 0)
        tell_bench(asked, signatures, &bench, means);
    for (size_t i = 0; seeds && i < n; i++)
        peet_cli_seed_fini(&seeds[i]);
    free(means);
    free(replicas);
    free(seeds);
    return status;
}

static int bench(const struct asked *asked)
{
    struct peet_cli_signature *list = calloc(asked->narguments, sizeof(*list));
    double *weights = calloc(asked->narguments, sizeof(*weights));
    int status = list && weights ? PEET_CLI_OK : PEET_CLI_FAILED;
    for (size_t i = 0; !status && i < asked->narguments; i++) {
        status = load(asked, asked->arguments[i], &list[i]);
        weights[i] = 1;
    }
    if (!status && asked->narguments > MOST_PHASES) {
        peet_cli_complain("more than %d phases", MOST_PHASES);
        status = PEET_CLI_USAGE;
    }
    if (!status)
        status = write_bench(asked, list, weights, asked->narguments);
    free(list);
    free(weights);
    return status;
}

/* ---- phases */

/* Windows one after the other; the two neighbours that are most alike become one, until there are few enough, or none
 * alike. */
static int phases(const struct asked *asked)
{
    static const double alike = 1; /* per cent */
    struct peet_cli_signature *list = calloc(MOST_PHASES, sizeof(*list));
    double weights[MOST_PHASES];
    struct peet_error error = {0};
    size_t n = 0;
    char part[32];
    int status = list ? PEET_CLI_OK : PEET_CLI_FAILED;
    for (; !status && n < MOST_PHASES; n++) {
        snprintf(part, sizeof(part), "window=%zu", n);
        if (peet_cli_signature_read(asked->arguments[0], part, &list[n], &error)) {
            if (!n)
                status = peet_cli_fail(&error);
            break;
        }
    }
    while (!status && n > 1) {
        double least = 1e9;
        size_t where = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            double d = peet_cli_surface_error(&list[i].tally, &list[i + 1].tally, 0, 3, NULL);
            if (d < least) {
                least = d;
                where = i;
            }
        }
        if (n <= asked->most && least > alike)
            break;
        peet_sim_tally_add(&list[where].tally, &list[where + 1].tally, 1);
        struct peet_sim_tally both = list[where].tally;
        peet_cli_signature_of(&both, &list[where]);
        memmove(&list[where + 1], &list[where + 2], (n - where - 2) * sizeof(*list));
        n--;
    }
    for (size_t i = 0; i < n; i++)
        weights[i] = (double)list[i].tally.references;
    if (!status)
        status = write_bench(asked, list, weights, n);
    free(list);
    return status;
}

/* ---- report */

static int report(const struct asked *asked)
{
    struct peet_cli_named *list = calloc(asked->narguments, sizeof(*list));
    struct peet_cli_named_list all = {list, asked->narguments};
    struct peet_error error = {0};
    int status = list ? PEET_CLI_OK : PEET_CLI_FAILED;
    for (size_t i = 0; !status && i < asked->narguments; i++) {
        list[i].name = asked->arguments[i];
        status = load(asked, asked->arguments[i], &list[i].signature);
    }
    if (!status)
        peet_cli_locality_tables(list, asked->narguments, stdout);
    if (!status && asked->plot && peet_cli_locality_plot(list, asked->narguments, asked->plot, &error))
        status = peet_cli_fail(&error);
    if (!status && asked->csv && peet_cli_write_whole(asked->csv, peet_cli_locality_csv, &all, &error))
        status = peet_cli_fail(&error);
    free(list);
    return status;
}

static int carry_out(const struct asked *asked)
{
    switch (asked->what) {
    case SIGNATURE:
    case MERGE:
        return merge(asked);
    case MIX:
        return mix(asked);
    case PREDICT:
        return predict(asked);
    case TRACE:
        return trace(asked);
    case BENCH:
        return bench(asked);
    case PHASES:
        return phases(asked);
    case REPORT:
    case WHATS:
        break;
    }
    return report(asked);
}

int peet_cli_locality(int argc, char **argv)
{
    struct asked asked = {.what = WHATS, .seed = 1, .threads = 1, .most = 8};
    int status = PEET_CLI_OK, one;
    for (int i = 0; argc > 1 && i < WHATS; i++)
        if (strcmp(argv[1], whats[i].name) == 0)
            asked.what = (enum what)i;
    asked.arguments = calloc((size_t)argc + 1, sizeof(*asked.arguments));
    if (!asked.arguments) {
        peet_cli_complain("out of memory");
        return PEET_CLI_FAILED;
    }
    if (asked.what == WHATS && argc > 1 && argv[1][0] != '-') {
        peet_cli_complain("locality: there is no '%s'; \"peet locality --help\" lists what there is", argv[1]);
        status = PEET_CLI_USAGE;
    } else if (asked.what == WHATS) {
        asked.what = REPORT;
        argp_parse(&parser, argc, argv, 0, NULL, &asked);
        peet_cli_complain("locality: say which word; \"peet locality --help\" lists what there is");
        status = PEET_CLI_USAGE;
    } else {
        argv[1] = argv[0];
        if (argp_parse(&parser, argc - 1, argv + 1, 0, NULL, &asked) != 0)
            status = PEET_CLI_USAGE;
    }
    one = asked.what == SIGNATURE || asked.what == PREDICT || asked.what == TRACE || asked.what == PHASES;
    if (!status && (asked.narguments == 0 || (one && asked.narguments > 1))) {
        peet_cli_complain("usage: peet locality %s %s", whats[asked.what].name, whats[asked.what].arguments);
        status = PEET_CLI_USAGE;
    }
    if (!status && !asked.output && asked.what != PREDICT && asked.what != REPORT) {
        peet_cli_complain("locality %s: -o FILE says where to write", whats[asked.what].name);
        status = PEET_CLI_USAGE;
    }
    if (!status)
        status = carry_out(&asked);
    free(asked.arguments);
    return peet_cli_finish_stdout(status);
}
