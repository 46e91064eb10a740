/* SPDX-License-Identifier: Apache-2.0 */
/* peet schema: what the schema of a program, a shared object or a .schema file says. */
#include "arguments.h"
#include "common.h"
#include "program.h"
#include "schema_print.h"

#include <argp.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_JSON = 0x100, KEY_FUNCTION, KEY_SUMMARY };

struct asked {
    const char *program, *function;
    int json, summary;
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {"function", KEY_FUNCTION, "NAME", 0, "Only functions of that name, or that match it (*, ?, [...])", 0},
    {"summary", KEY_SUMMARY, NULL, 0, "Only the totals", 0},
    {0},
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;
    switch (key) {
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case KEY_FUNCTION:
        asked->function = text;
        return 0;
    case KEY_SUMMARY:
        asked->summary = 1;
        return 0;
    case ARGP_KEY_ARG:
        peet_cli_one(state, "program", text, &asked->program);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the program is missing");
        return EINVAL;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "PROG",
    .doc =
        "Show the schema of PROG: its functions, blocks, instructions and references, as they are before "
        "recording code was added, and its globals.\vPROG is a program, a shared object or the .schema file beside one.",
};

static int is_wanted(const struct asked *asked, const struct peet_function *function)
{
    return !asked->function || strcmp(asked->function, function->name) == 0 ||
        fnmatch(asked->function, function->name, 0) == 0;
}

static void add_block(struct peet_cli_schema_totals *totals, const struct peet_block *block)
{
    totals->blocks++;
    totals->instructions += block->ninsns;
    totals->references += block->nrefs;
    for (uint32_t i = 0; i < block->ninsns; i++) {
        unsigned klass = block->insns[i].opcode ? block->insns[i].opcode->klass : PEET_INSN_OTHER;
        totals->by_class[klass < PEET_INSN_CLASSES ? klass : PEET_INSN_OTHER]++;
    }
    for (uint32_t i = 0; i < block->nrefs; i++)
        switch (block->refs[i].kind) {
        case PEET_REF_LOAD:
            totals->loads++;
            break;
        case PEET_REF_STORE:
            totals->stores++;
            break;
        case PEET_REF_MODIFY:
            totals->modifies++;
            break;
        case PEET_REF_PREFETCH:
            totals->prefetches++;
            break;
        }
}

static int count(struct peet_program *program, const struct asked *asked, struct peet_cli_schema_totals *out_totals,
    struct peet_error *error)
{
    *out_totals = (struct peet_cli_schema_totals){.granularity = peet_program_granularity(program)};
    for (unsigned i = 0; i < peet_program_nfunctions(program); i++) {
        const struct peet_function *function = peet_program_function(program, i, error);
        if (!function)
            return peet_error_set(error, PEET_EFORMAT, "%s: function %u of its schema is damaged", asked->program, i);
        if (!is_wanted(asked, function))
            continue;
        out_totals->functions++;
        out_totals->code_bytes += function->code_bytes;
        for (uint32_t b = 0; b < function->nblocks; b++)
            add_block(out_totals, &function->blocks[b]);
    }
    peet_program_gaps(program, &out_totals->gaps);
    if (asked->function && out_totals->functions == 0)
        return peet_error_set(error, PEET_ENOTFOUND, "%s: no function is named, or matches, %s", asked->program,
            asked->function);
    return 0;
}

static int print(struct peet_program *program, const struct peet_debuginfo *info, const struct asked *asked,
    const struct peet_cli_schema_totals *totals, struct peet_error *error)
{
    int first = 1, err = 0;
    if (asked->json)
        err = peet_cli_schema_json_head(asked->program, totals, !asked->summary);
    else
        peet_cli_schema_text_head(asked->program, totals);
    for (unsigned i = 0; !err && !asked->summary && i < peet_program_nfunctions(program); i++) {
        const struct peet_function *function = peet_program_function(program, i, error);
        if (!function || !is_wanted(asked, function))
            continue;
        if (asked->json)
            err = peet_cli_schema_json_function(function, first);
        else
            peet_cli_schema_text_function(function);
        first = 0;
        if (ferror(stdout)) /* the reader is gone or the disk is full: no use in going on */
            break;
    }
    if (asked->json && !err && !asked->summary)
        peet_cli_schema_json_functions_end();
    if (!err && !asked->summary && !asked->function && !ferror(stdout)) {
        if (asked->json)
            err = peet_cli_schema_json_globals(info);
        else
            peet_cli_schema_text_globals(info);
    }
    if (asked->json && !err)
        peet_cli_schema_json_tail();
    return err ? peet_error_set(error, err, "out of memory") : 0;
}

int peet_cli_schema_open(const char *name, struct peet_program **out_program, struct peet_debuginfo **out_info,
    struct peet_error *error)
{
    char *found = NULL;
    int err = 0;
    if (!strchr(name, '/') && access(name, F_OK) != 0)
        err = peet_cli_program_find(name, &found, error);
    if (!err && peet_program_new(out_program))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err) {
        struct peet_error inner = {0};
        int functions = peet_program_add_image(*out_program, found ? found : name, 0, &inner);
        if (functions == PEET_ENOTFOUND && inner.code == 0)
            err = peet_error_set(error, PEET_ENOTFOUND, "%s carries no schema: it was not built by peetcc", name);
        else if (functions < 0)
            err = peet_error_set(error, functions, "%s", inner.message);
    }
    if (!err && out_info)
        err = peet_debuginfo_open(found ? found : name, out_info, error);
    free(found);
    return err;
}

int peet_cli_schema(int argc, char **argv)
{
    struct asked asked = {0};
    struct peet_error error = {0};
    struct peet_cli_schema_totals totals;
    struct peet_program *program = NULL;
    struct peet_debuginfo *info = NULL;
    if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    int err = peet_cli_schema_open(asked.program, &program, &info, &error);
    if (!err)
        err = count(program, &asked, &totals, &error);
    if (!err)
        err = print(program, info, &asked, &totals, &error);
    peet_program_free(program);
    peet_debuginfo_free(info);
    return peet_cli_finish_stdout(err ? peet_cli_fail(&error) : PEET_CLI_OK);
}
