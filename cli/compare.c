/* SPDX-License-Identifier: Apache-2.0 */
/* peet compare: how far two recorded runs are apart, context by context. */
#include "arguments.h"
#include "compare.h"
#include "compare_kept.h"
#include "compare_list.h"

#include "common.h"
#include "decode/decode.h"
#include "trace.h"
#include "trace/compare.h"
#include "trace/insns.h"

#include <argp.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum {
    KEY_WHAT = 0x100,
    KEY_EFFORT,
    KEY_LIST,
    KEY_BAND,
    KEY_JSON,
    KEY_FUNCTIONS,
    KEY_AVERAGE,
    KEY_PIECE,
    CONTEXTS_MAX = 4096,
    LISTED = 8,
    CONTEXT = 3
};

static const struct argp_option options[] = {
    {"what", KEY_WHAT, "instructions|calls|events", 0,
        "Which sequences are compared: instructions (default), calls and returns, or abstract events", 0},
    {"effort", KEY_EFFORT, "N", 0,
        "Differences that are looked at before a path is taken as it is; default 4000, 0: the exact distance", 0},
    {"band", KEY_BAND, "N", 0,
        "Of the warping of event times: how many events it may be out of step; default 200, 0: any", 0},
    {"piece", KEY_PIECE, "N", 0,
        "A sequence of more than N instructions or calls is not kept in memory, but read again and compared in windows of N around places that both have once: the distance is an upper bound then. Default 8388608, at least 1024",
        0},
    {"list", KEY_LIST, "N", 0, "Show the first N differences of each pair with what matches around them", 0},
    {"functions", KEY_FUNCTIONS, "NAMES", 0,
        "Only instructions or calls of these functions, with commas between them; common: of those that occur in both traces. Then elements are places in functions, not addresses",
        0},
    {"average", KEY_AVERAGE, NULL, 0,
        "Of two or more traces: the series that is least far from all in the times between events, and where they differ most",
        0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

/** Options that say how something is done which is not done at all. */
static void check_together(const struct asked *asked, const struct argp_state *state)
{
    const struct {
        int key, has_effect;
        const char *text;
    } needs[] = {
        {KEY_WHAT, !asked->average || asked->what == EVENTS, "--what: --average is of events"},
        {KEY_FUNCTIONS, !asked->average, "--average: events are not of functions"},
        {KEY_FUNCTIONS, asked->what != EVENTS, "--functions: events are not of functions"},
        {KEY_EFFORT, !asked->average, "--effort: --average looks for no insertions and deletions"},
        {KEY_PIECE, !asked->average && asked->what != EVENTS, "--piece: events are kept in memory, however many"},
        {KEY_BAND, asked->average || asked->what == EVENTS,
            "--band: it is of the times of events only; --what events compares them"},
    };

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (asked->given & 1u << (needs[i].key - KEY_WHAT) && !needs[i].has_effect)
            argp_error(state, "%s", needs[i].text);
}

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;

    if (key >= KEY_WHAT && key <= KEY_PIECE)
        asked->given |= 1u << (key - KEY_WHAT);
    switch (key) {
    case KEY_EFFORT:
        asked->effort = peet_cli_count(state, "--effort", text, 0, UINT64_MAX);
        return 0;
    case KEY_BAND:
        asked->band = peet_cli_count(state, "--band", text, 0, UINT64_MAX);
        return 0;
    case KEY_PIECE:
        asked->piece = peet_cli_count(state, "--piece", text, 1024, SIZE_MAX / 64);
        return 0;
    case KEY_LIST:
        asked->list = peet_cli_count(state, "--list", text, 0, UINT64_MAX);
        return 0;
    case KEY_WHAT:
        if (strcmp(text, "instructions") == 0)
            asked->what = INSTRUCTIONS;
        else if (strcmp(text, "calls") == 0)
            asked->what = CALLS;
        else if (strcmp(text, "events") == 0)
            asked->what = EVENTS;
        else
            argp_error(state, "--what: '%s' is not one of instructions|calls|events", text);
        return 0;
    case KEY_FUNCTIONS:
        asked->functions = text;
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case KEY_AVERAGE:
        asked->average = 1;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->nnames == COMPARED_MAX)
            argp_error(state, "%d traces are the most", COMPARED_MAX);
        asked->names[asked->nnames++] = text;
        return 0;
    case ARGP_KEY_END:
        if (!asked->average && asked->nnames != 2)
            argp_error(state, "two traces are compared; --average takes more");
        if (asked->average && asked->nnames < 2)
            argp_error(state, "--average: name two traces or more");
        check_together(asked, state);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "A B\n--average A B...",
    .doc =
        "Compare two traces: which contexts belong together, how many insertions and deletions lie between them, and where the first is.\v"
        "Traces are results folders of \"peet run --observe trace\" or files.",
};

/* ------------------------------------------------------------------------------------- sequences */

/** A function's name, and what is known of it. */
struct name {
    UT_hash_handle hh;
    int seen[2]; /* on this side */
    int wanted, met;
    char text[];
};

/** What an element stands for. */
struct element {
    UT_hash_handle hh;
    uint64_t key, offset;
    uint64_t symbol;      /* in sequences: the complement of its number, the form that compare_kept.c packs best */
    const char *function; /* or "" */
};

/** A recently executed instruction. Most instructions are found here and need no search. */
struct place {
    uint64_t pc;
    const struct peet_function *function;
    uint64_t symbol; /* or 0: it does not count */
    int known;
};
enum { PLACES_BITS = 14 };

static struct name *names;
static struct element *elements, **by_number;
static size_t nelements, elements_room;

static struct name *name_of(const char *text)
{
    struct name *n;

    HASH_FIND_STR(names, text, n);
    if (!n && (n = calloc(1, sizeof(*n) + strlen(text) + 1)) != NULL) {
        strcpy(n->text, text);
        HASH_ADD_STR(names, text, n);
    }
    return n;
}

static struct name *function_name(struct side *side, const struct peet_function *f)
{
    if (!side->name || f != side->last) {
        side->last = f;
        side->name = name_of(f ? f->name : "?");
    }
    return side->name;
}

/** The symbol of an element.  Returns: 0: no memory */
static uint64_t know(uint64_t key, const struct name *name, uint64_t offset)
{
    struct element *e, **more;

    HASH_FIND(hh, elements, &key, sizeof(key), e);
    if (e)
        return e->symbol;
    if (nelements == elements_room) {
        const size_t room = elements_room ? 2 * elements_room : 4096;

        if (room > UINT32_MAX || !(more = realloc(by_number, room * sizeof(*more))))
            return 0;
        by_number = more;
        elements_room = room;
    }
    if (!(e = calloc(1, sizeof(*e))))
        return 0;
    e->key = key;
    e->offset = offset;
    e->function = name ? name->text : "";
    e->symbol = ~(uint64_t)nelements;
    by_number[nelements++] = e;
    HASH_ADD(hh, elements, key, sizeof(key), e);
    return e->symbol;
}

void peet_cli_compare_forget(void)
{
    struct name *n, *next_name;
    struct element *e, *next;

    HASH_ITER(hh, elements, e, next)
    {
        HASH_DEL(elements, e);
        free(e);
    }
    HASH_ITER(hh, names, n, next_name)
    {
        HASH_DEL(names, n);
        free(n);
    }
    free(by_number);
    by_number = NULL;
    nelements = elements_room = 0;
}

/** Those in memory go into a file. */
static int move_out(struct sequence *s)
{
    int err = peet_cli_kept_new(&s->kept);

    if (!err)
        err = peet_cli_kept_add(s->kept, s->symbols, s->n);
    free(s->symbols);
    free(s->times);
    s->symbols = NULL;
    s->times = NULL;
    return err;
}

/** @piece: so many are kept in memory */
static int add(struct sequence *s, uint64_t symbol, double time, uint64_t piece)
{
    int err = 0;

    if (!s->bins && !(s->bins = calloc(COMPARED_BINS, sizeof(*s->bins))))
        return PEET_ENOMEM;
    s->bins[symbol * 0x9e3779b97f4a7c15u >> 52]++;
    if (s->n >= piece && !s->kept)
        err = move_out(s);
    if (!err && s->kept) {
        s->n++;
        return peet_cli_kept_add(s->kept, &symbol, 1);
    }
    if (!err && s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 4096;
        uint64_t *symbols = realloc(s->symbols, room * sizeof(*symbols));
        double *times = symbols ? realloc(s->times, room * sizeof(*times)) : NULL;
        if (symbols)
            s->symbols = symbols;
        if (!times)
            return PEET_ENOMEM;
        s->times = times;
        s->room = room;
    }
    if (err)
        return err;
    s->symbols[s->n] = symbol;
    s->times[s->n++] = time;
    return 0;
}

/** Names say what is called, also in another build; addresses say which instruction. */
static uint64_t name_hash(const char *text, uint64_t hash)
{
    while (*text)
        hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    return hash;
}

/** The symbol of an instruction or call, however often it comes; 0: it does not count. */
static uint64_t symbol_of(struct side *side, const struct asked *asked, const struct peet_traced_insn *insn,
    const struct peet_function *f)
{
    struct name *name = function_name(side, f);
    const uint64_t offset = f ? insn->pc - f->pc : insn->pc;
    uint64_t key = insn->pc, symbol;

    if (!name) {
        side->no_memory = 1;
        return 0;
    }
    name->met = 1;
    if (asked->what == CALLS && insn->branch != PEET_TRACED_CALL && insn->branch != PEET_TRACED_INDIRECT_CALL &&
        insn->branch != PEET_TRACED_RETURN)
        return 0;
    if (asked->functions && !name->wanted)
        return 0;
    if (asked->what != INSTRUCTIONS || asked->functions)
        key = name_hash(name->text, insn->branch == PEET_TRACED_RETURN && asked->what == CALLS ? 2 : 1) * 31 + offset;
    symbol = know(key, name, offset);
    side->no_memory |= !symbol;
    return symbol;
}

static uint64_t element_of(struct side *side, const struct asked *asked, const struct peet_traced_insn *insn,
    const struct peet_function *f)
{
    struct place *p = &side->places[insn->pc * 0x9e3779b97f4a7c15u >> (64 - PLACES_BITS)];

    if (insn->again)
        return 0;
    if (!p->known || p->pc != insn->pc || p->function != f)
        *p = (struct place){insn->pc, f, symbol_of(side, asked, insn, f), 1};
    return p->symbol;
}

/** --functions common: those that both sides have executed. */
static int see_functions(struct side *side, int which, uint32_t stream, struct peet_error *error)
{
    struct peet_stream_insns *insns;
    struct peet_traced_insn insn;
    int got = 0, err = peet_stream_insns_open(side->recording, side->program, stream, &insns, error);

    while (!err && (got = peet_stream_insns_next(insns, &insn, error)) > 0) {
        struct name *name = got == 1 ? function_name(side, peet_stream_insns_function(insns)) : NULL;

        if (name && strcmp(name->text, "?") != 0) {
            name->seen[which] = 1;
            name->wanted = name->seen[0] && name->seen[1];
        }
    }
    peet_stream_insns_close(insns);
    return err ? err : got < 0 ? got : 0;
}

static int choose_functions(const struct asked *asked, struct side *sides, struct peet_error *error)
{
    char *list = strdup(asked->functions), *at = list, *text;
    int err = list ? 0 : peet_error_set(error, PEET_ENOMEM, "out of memory");

    if (!err && strcmp(list, "common") == 0) {
        for (int i = 0; i < 2; i++)
            for (uint32_t s = 0; !err && s < sides[i].n; s++)
                err = see_functions(&sides[i], i, s, error);
    } else {
        while (!err && (text = strsep(&at, ",")) != NULL) {
            struct name *name = name_of(text);

            if (name)
                name->wanted = 1;
        }
    }
    free(list);
    return err;
}

/** Of functions that nobody has executed, the traces are no more alike than different. */
static int check_functions(struct peet_error *error)
{
    struct name *name, *next;
    int met = 0;

    HASH_ITER(hh, names, name, next)
    {
        if (name->wanted && !name->met)
            return peet_error_set(error, PEET_ENOTFOUND, "--functions: neither trace has executed a function '%s'",
                name->text);
        met |= name->wanted;
    }
    return met ? 0 : peet_error_set(error, PEET_ENOTFOUND, "--functions: the traces have no function in common");
}

static int read_stream(struct side *side, uint32_t stream, const struct asked *asked, struct peet_error *error)
{
    struct sequence *s = &side->all[stream];
    struct peet_stream_insns *insns;
    struct peet_traced_insn insn;
    uint64_t last = 0;
    int got = 0, err = peet_stream_insns_open(side->recording, side->program, stream, &insns, error);

    while (!err && (got = peet_stream_insns_next(insns, &insn, error)) > 0) {
        const struct peet_function *f = peet_stream_insns_function(insns);
        int bad = 0;

        if (got == 1 && asked->what != EVENTS) {
            const uint64_t symbol = element_of(side, asked, &insn, f);
            bad = symbol ? add(s, symbol, 0, asked->piece) : 0;
        } else if (got == 2 && asked->what == EVENTS && peet_stream_insns_event(insns)->type != PEET_ABSTRACT_ORDER) {
            const uint64_t cycle = peet_stream_insns_cycle(insns);
            bad = add(s, peet_stream_insns_event(insns)->type, (double)(cycle - last), SIZE_MAX);
            last = cycle;
        }
        if (bad == PEET_EIO)
            err = peet_error_set(error, bad, "no room for a temporary file: set TMPDIR to a folder that has some");
        else if (bad || side->no_memory)
            err = peet_error_set(error, PEET_ENOMEM,
                "out of memory for the sequences: compare calls or events, or cut the traces");
    }
    peet_stream_insns_close(insns);
    return err ? err : got < 0 ? got : 0;
}

int peet_cli_side_open(struct side *side, const char *name, struct peet_error *error)
{
    int err = peet_cli_trace_open(name, &side->recording, error);

    if (!err)
        err = peet_cli_trace_program(side->recording, &side->program, error);
    if (err)
        return err;
    side->n = peet_recording_nstreams(side->recording);
    if (side->n > CONTEXTS_MAX)
        return peet_error_set(error, PEET_ELIMIT, "%s: %u contexts; %d are the most that are compared", name, side->n,
            CONTEXTS_MAX);
    side->all = calloc(side->n + 1, sizeof(*side->all));
    side->places = calloc((size_t)1 << PLACES_BITS, sizeof(*side->places));
    if (!side->all || !side->places)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    return 0;
}

int peet_cli_side_read(struct side *side, const struct asked *asked, struct peet_error *error)
{
    int err = 0;

    for (uint32_t s = 0; !err && s < side->n; s++) {
        const struct peet_stream_info *info = peet_recording_stream(side->recording, s);

        side->all[s].context = info ? info->context : s;
        err = read_stream(side, s, asked, error);
    }
    return err;
}

void peet_cli_side_close(struct side *side)
{
    for (uint32_t s = 0; side->all && s < side->n; s++) {
        peet_cli_kept_free(side->all[s].kept);
        free(side->all[s].symbols);
        free(side->all[s].times);
        free(side->all[s].bins);
    }
    free(side->all);
    free(side->places);
    peet_program_free(side->program);
    peet_recording_free(side->recording);
}

/* --------------------------------------------------------------------------------------- matching */

/** The bins that a sequence has symbols in.  Returns: how many */
static int filled_bins(const struct sequence *s, uint16_t out_bins[COMPARED_BINS])
{
    int n = 0;

    for (int i = 0; s->bins && i < COMPARED_BINS; i++)
        if (s->bins[i])
            out_bins[n++] = (uint16_t)i;
    return n;
}

/** How many symbols one of two sequences has more of than the other, in whatever order: cheap, and at most the edits.
 * @bins: those that a has symbols in */
static double likeness(const struct sequence *a, const uint16_t *bins, int n, const struct sequence *b)
{
    uint64_t differ = b->n;

    for (int i = 0; i < n; i++) {
        const uint32_t x = a->bins[bins[i]], y = b->bins ? b->bins[bins[i]] : 0;

        differ += x > y ? x - y : y - x;
        differ -= y;
    }
    return (double)differ;
}

/** What two contexts cost as a pair, by the edits between them or less.  One that has no counterpart is different in all. */
static double pair_cost(const struct sequence *a, const struct sequence *b, double edits)
{
    return edits + (a->context != b->context) * 0.5 - (double)b->n;
}

/** The costs of an assignment's pairs are made those of their edits.  Returns: 1: some were not; 0; 2: no more @work is left; or a
 * peet_err */
static int know_pairs(const struct side *a, const struct side *b, const size_t *column, double *cost, uint8_t *known,
    double *work, double *out_sum)
{
    enum { EFFORT = 200 };
    int any = 0;

    *out_sum = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct sequence *x = &a->all[i], *y = &b->all[column[i]];
        const size_t at = (size_t)i * b->n + column[i];
        struct peet_distance d;

        if (!known[at] && !x->kept && !y->kept) {
            if (*work <= 0)
                return 2;
            if (peet_edit_limited(x->symbols, x->n, y->symbols, y->n, EFFORT, NULL, NULL, &d))
                return PEET_ENOMEM;
            *work -= (double)(x->n + y->n) * (double)(d.edits < EFFORT ? d.edits + 1 : EFFORT);
            cost[at] = pair_cost(x, y, (double)d.edits);
            any = 1;
        }
        known[at] = 1;
        *out_sum += cost[at];
    }
    return any;
}

/* The likeness is at most the edits.  So an assignment that is best by likeness, but for its own pairs, whose edits are known, is best. */
int peet_cli_side_match(struct side *a, struct side *b, size_t *out_column, struct peet_error *error)
{
    const size_t n = (size_t)a->n * b->n;
    double *cost = calloc(n + 1, sizeof(*cost)), work = 4e8, sum, least = 0;
    uint16_t bins[COMPARED_BINS];
    uint8_t *known = calloc(n + 1, 1);
    size_t *column = calloc(a->n + 1u, sizeof(*column));
    int err = cost && known && column ? 0 : PEET_ENOMEM, more = 1;

    for (uint32_t i = 0; !err && i < a->n; i++) {
        const int nbins = filled_bins(&a->all[i], bins);

        for (uint32_t k = 0; k < b->n; k++)
            cost[(size_t)i * b->n + k] =
                pair_cost(&a->all[i], &b->all[k], likeness(&a->all[i], bins, nbins, &b->all[k]));
    }
    for (int first = 1; !err && more == 1; first = 0) {
        err = peet_assignment(cost, a->n, b->n, column);
        work -= (double)n * a->n;
        if (!err) {
            more = know_pairs(a, b, column, cost, known, &work, &sum);
            err = more < 0 ? more : 0;
        }
        if (!err && (first || (more != 2 && sum < least))) {
            memcpy(out_column, column, a->n * sizeof(*column));
            least = sum;
        }
    }
    free(column);
    free(known);
    free(cost);
    return err ? peet_error_set(error, err, "out of memory") : 0;
}

/* ---------------------------------------------------------------------------------------- showing */

/** What an element is called: function+offset, or the event. */
static json_t *element_text(enum what what, uint64_t symbol)
{
    char text[400];

    if (what == EVENTS)
        return json_string(peet_cli_event_text((unsigned)symbol));
    snprintf(text, sizeof(text), "%s+0x%" PRIx64, by_number[~symbol]->function, by_number[~symbol]->offset);
    return json_string(text);
}

/** So many elements from @at on. */
static json_t *texts_of(enum what what, const struct sequence *s, size_t at, size_t n)
{
    json_t *all = json_array();

    for (size_t i = at; i < s->n && i < at + n; i++)
        json_array_append_new(all, element_text(what, s->symbols[i]));
    return all;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/** A sequence that is read anew, wherever it is. */
struct feed {
    const struct sequence *from;
    size_t at;
};

static int rewind_feed(void *arg)
{
    struct feed *f = arg;

    f->at = 0;
    return f->from->kept ? peet_cli_kept_rewind(f->from->kept) : 0;
}

static long read_feed(void *arg, uint64_t *out, size_t room)
{
    struct feed *f = arg;
    const size_t n = least(room, f->from->n - f->at);
    long got = (long)n;

    if (f->from->kept)
        got = peet_cli_kept_read(f->from->kept, out, room);
    else if (n)
        memcpy(out, f->from->symbols + f->at, n * sizeof(*out));
    f->at += got > 0 ? (size_t)got : 0;
    return got;
}

/** So many elements from @at on, LISTED at most, as texts; the feed has not come to @at yet. */
static json_t *texts_on(enum what what, struct feed *f, size_t at, size_t n)
{
    uint64_t piece[4096];
    struct sequence few = {.symbols = piece};
    long got = 1;

    while (f->at < at && got > 0)
        got = read_feed(f, piece, least(at - f->at, sizeof(piece) / sizeof(*piece)));
    got = got > 0 ? read_feed(f, piece, least(n, LISTED)) : 0;
    few.n = got > 0 ? (size_t)got : 0;
    return texts_of(what, &few, 0, LISTED);
}

static json_t *texts_again(enum what what, struct feed *f, size_t at, size_t n)
{
    return rewind_feed(f) ? json_array() : texts_on(what, f, at, n);
}

/** All that were noted, with what they begin with. */
static json_t *differences_json(enum what what, const struct peet_cli_listing *l, struct feed *a, struct feed *b)
{
    json_t *all = json_array();

    if (l->n && (rewind_feed(a) || rewind_feed(b)))
        return all;
    for (const struct peet_cli_difference *d = l->differences; d != l->differences + l->n; d++)
        json_array_append_new(all,
            json_pack("{s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "a", (json_int_t)d->a, "deleted", (json_int_t)d->deleted, "b",
                (json_int_t)d->b, "inserted", (json_int_t)d->inserted, "matching_after", (json_int_t)d->after, "only_a",
                texts_on(what, a, d->a, d->deleted), "only_b", texts_on(what, b, d->b, d->inserted)));
    return all;
}

/** The similarity, and what it may be at most: more than that only if the distance is an upper bound. */
static void add_similarity(json_t *pair, const struct peet_distance *d, size_t na, size_t nb)
{
    const double all = (double)(na + nb);

    json_object_set_new(pair, "similarity_percent", json_real(peet_similarity(d, na, nb)));
    json_object_set_new(pair, "similarity_at_most_percent",
        json_real(all > 0 ? 100 * (all - (double)d->least) / all : 100));
}

static json_t *pair_json(const struct asked *asked, const struct sequence *a, const struct sequence *b, double *sums,
    struct peet_error *error)
{
    struct feed x = {a, 0}, y = {b, 0};
    const struct peet_symbols from = {read_feed, rewind_feed, &x}, to = {read_feed, rewind_feed, &y};
    struct peet_cli_listing l = {.most = asked->list};
    struct peet_distance d;
    double warp = 0;
    json_t *pair = NULL;
    int err = asked->what != EVENTS && (a->n > asked->piece || b->n > asked->piece)
        ? peet_edit_distance_long(&from, &to, asked->piece, asked->effort, peet_cli_listing_match, &l, &d)
        : peet_edit_distance(a->symbols, a->n, b->symbols, b->n, asked->effort, peet_cli_listing_match, &l, &d);

    if (!err && asked->what == EVENTS)
        err = peet_time_warp(a->times, a->n, b->times, b->n, asked->band, &warp);
    if (!err)
        peet_cli_listing_match(&l, a->n, b->n, 0);
    if (err || l.no_memory) {
        err = err ? err : PEET_ENOMEM;
        peet_error_set(error, err, err == PEET_ENOMEM ? "out of memory" : "temporary files cannot be written or read");
        free(l.differences);
        return NULL;
    }
    sums[0] += (double)d.matched;
    sums[1] += (double)(a->n + b->n);
    pair = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:o}", "a", (json_int_t)a->context, "b", (json_int_t)b->context,
        "length_a", (json_int_t)a->n, "length_b", (json_int_t)b->n, "edits", (json_int_t)d.edits, "edits_at_least",
        (json_int_t)d.least, "differences", differences_json(asked->what, &l, &x, &y));
    free(l.differences);
    add_similarity(pair, &d, a->n, b->n);
    if (d.edits)
        json_object_set_new(pair, "first_difference",
            json_pack("{s:I,s:I,s:o,s:o,s:o}", "a", (json_int_t)d.first_a, "b", (json_int_t)d.first_b, "before",
                texts_again(asked->what, &x, d.first_a - least(d.first_a, CONTEXT), least(d.first_a, CONTEXT)),
                "then_a", texts_again(asked->what, &x, d.first_a, CONTEXT), "then_b",
                texts_again(asked->what, &y, d.first_b, CONTEXT)));
    if (asked->what == EVENTS)
        json_object_set_new(pair, "time_warp_cycles", json_real(warp));
    return pair;
}

static json_int_t integer(const json_t *node, const char *key)
{
    return json_integer_value(json_object_get(node, key));
}

static void show_texts(const char *mark, const json_t *texts)
{
    size_t i;
    json_t *one;

    json_array_foreach(texts, i, one) printf("      %s %s\n", mark, json_string_value(one));
}

static void show(const json_t *all)
{
    size_t i, k;
    json_t *pair, *one;

    printf("%8s %8s %12s %12s %10s %10s %8s\n", "A", "B", "length", "length", "edits", "at least", "similar");
    json_array_foreach(json_object_get(all, "pairs"), i, pair)
    {
        printf("%8" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT " %12" JSON_INTEGER_FORMAT " %12" JSON_INTEGER_FORMAT
               " %10" JSON_INTEGER_FORMAT " %10" JSON_INTEGER_FORMAT " %7.2f%%\n",
            integer(pair, "a"), integer(pair, "b"), integer(pair, "length_a"), integer(pair, "length_b"),
            integer(pair, "edits"), integer(pair, "edits_at_least"),
            json_number_value(json_object_get(pair, "similarity_percent")));
        if (integer(pair, "edits") > integer(pair, "edits_at_least"))
            printf("         not exact: between %.2f%% and %.2f%% are the same, in the same order\n",
                json_number_value(json_object_get(pair, "similarity_percent")),
                json_number_value(json_object_get(pair, "similarity_at_most_percent")));
        if (json_object_get(pair, "time_warp_cycles"))
            printf("         times between events, warped: %.1f cycles apart\n",
                json_number_value(json_object_get(pair, "time_warp_cycles")));
        if (json_object_get(pair, "first_difference")) {
            printf("         first difference: %" JSON_INTEGER_FORMAT " of A, %" JSON_INTEGER_FORMAT " of B\n",
                integer(json_object_get(pair, "first_difference"), "a"),
                integer(json_object_get(pair, "first_difference"), "b"));
            show_texts("   both", json_object_get(json_object_get(pair, "first_difference"), "before"));
            show_texts("   A  -", json_object_get(json_object_get(pair, "first_difference"), "then_a"));
            show_texts("   B  +", json_object_get(json_object_get(pair, "first_difference"), "then_b"));
        }
        json_array_foreach(json_object_get(pair, "differences"), k, one)
        {
            printf("         A %" JSON_INTEGER_FORMAT " -%" JSON_INTEGER_FORMAT "  B %" JSON_INTEGER_FORMAT
                   " +%" JSON_INTEGER_FORMAT ", then %" JSON_INTEGER_FORMAT " the same\n",
                integer(one, "a"), integer(one, "deleted"), integer(one, "b"), integer(one, "inserted"),
                integer(one, "matching_after"));
            show_texts("   A  -", json_object_get(one, "only_a"));
            show_texts("   B  +", json_object_get(one, "only_b"));
        }
    }
    printf("all: %.2f%% similar; contexts without a counterpart: %" JSON_INTEGER_FORMAT "\n",
        json_number_value(json_object_get(all, "similarity_percent")), integer(all, "alone"));
}

int peet_cli_compare(int argc, char **argv)
{
    struct asked asked = {.effort = 4000, .band = 200, .piece = 8 << 20};
    struct side sides[2] = {{0}, {0}};
    struct peet_error error = {0};
    size_t *column = NULL;
    double sums[2] = {0, 0};
    json_t *pairs = json_array(), *all;
    int swapped = 0, err = 0;

    if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    if (asked.average) {
        json_decref(pairs);
        return peet_cli_average(&asked);
    }
    for (int i = 0; i < 2 && !err; i++)
        err = peet_cli_side_open(&sides[i], asked.names[i], &error);
    if (!err && asked.functions)
        err = choose_functions(&asked, sides, &error);
    for (int i = 0; i < 2 && !err; i++)
        err = peet_cli_side_read(&sides[i], &asked, &error);
    if (!err && asked.functions)
        err = check_functions(&error);
    swapped = sides[0].n > sides[1].n;
    struct side *few = &sides[swapped], *many = &sides[!swapped];
    if (!err && !(column = calloc(few->n + 1, sizeof(*column))))
        err = peet_error_set(&error, PEET_ENOMEM, "out of memory");
    if (!err)
        err = peet_cli_side_match(few, many, column, &error);
    for (uint32_t i = 0; !err && i < few->n; i++) {
        const struct sequence *x = &few->all[i], *y = &many->all[column[i]];
        const struct sequence *a = swapped ? y : x, *b = swapped ? x : y;
        json_t *pair = pair_json(&asked, a, b, sums, &error);

        err = error.code;
        if (pair)
            json_array_append_new(pairs, pair);
    }
    for (int i = 0; i < 2 && !err; i++) /* nobody's counterparts are different in all */
        for (uint32_t s = 0; s < sides[i].n; s++)
            sums[1] += (double)sides[i].all[s].n;
    for (size_t i = 0; !err && i < json_array_size(pairs); i++)
        sums[1] -=
            (double)(integer(json_array_get(pairs, i), "length_a") + integer(json_array_get(pairs, i), "length_b"));
    all = json_pack("{s:o,s:f,s:I}", "pairs", pairs, "similarity_percent", sums[1] > 0 ? 200 * sums[0] / sums[1] : 100,
        "alone", (json_int_t)(many->n - few->n));
    if (!err && asked.json)
        json_dumpf(all, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER), putchar('\n');
    else if (!err)
        show(all);
    json_decref(all);
    free(column);
    peet_cli_side_close(&sides[0]);
    peet_cli_side_close(&sides[1]);
    peet_cli_compare_forget();
    return err ? peet_cli_fail(&error) : peet_cli_finish_stdout(PEET_CLI_OK);
}
