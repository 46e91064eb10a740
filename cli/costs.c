/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet costs: what instructions cost on a processor of choice.  With a program, its instructions and their costs, block
 * by block; without, the processor's description.  The numbers are those that machines get by env->cost().
 */
#include "common.h"
#include "engine/processors.h"
#include "schema_print.h"

#include <argp.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 0x100, KEY_LIST };

struct asked {
    const char *mcpu, *program, *function;
    int json, list;
};

static const struct argp_option options[] = {
    {"mcpu", 'm', "NAME", 0, "The processor, as clang's -mcpu and llvm-mca's have it; x86-64 if not given", 0},
    {"list", KEY_LIST, NULL, 0, "Only the names of the processors", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0},
    {0},
};

static error_t read_option(int key, char *text, struct argp_state *state)
{
    struct asked *asked = state->input;

    switch (key) {
    case 'm': /* -mcpu=NAME, as compilers have it, is -m with the rest as its argument */
        asked->mcpu = !strncmp(text, "cpu=", 4) ? text + 4 : text;
        return 0;
    case KEY_LIST:
        asked->list = 1;
        return 0;
    case KEY_JSON:
        asked->json = 1;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->function)
            argp_error(state, "one program and one function at a time");
        *(asked->program ? &asked->function : &asked->program) = text;
        return 0;
    case ARGP_KEY_END:
        if (asked->list && (asked->mcpu || asked->program))
            argp_error(state, "--list: only the names of all processors; leave out %s",
                asked->mcpu ? "--mcpu" : asked->program);
        if (!asked->mcpu)
            asked->mcpu = "x86-64";
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
    .options = options,
    .parser = read_option,
    .args_doc = "[PROG [FUNCTION]]",
    .doc =
        "Show what PROG's instructions cost on a processor, whatever it was compiled for; without PROG, the "
        "processor.\vFUNCTION is a name or a pattern (*, ?, [...]).  Costs are those of LLVM's scheduling models, as llvm-mca has them.",
};

/* ------------------------------------------------------------------------------------------- text */

static void print_uses(const struct peet_processor *processor, const struct peet_cost *cost)
{
    for (unsigned i = 0; i < cost->nuses; i++) {
        const struct peet_resource_use *use = &cost->uses[i];

        printf("%s%s", i ? " " : "", processor->resources[use->resource].name);
        if (use->first_cycle)
            printf(":%u-%u", use->first_cycle, use->end_cycle);
        else if (use->end_cycle != 1)
            printf(":%u", use->end_cycle);
        if (use->reserved)
            putchar('!');
        else if (use->units != 1)
            printf("x%u", use->units);
    }
}

static void print_insn(struct peet_costs *costs, const struct peet_processor *processor, const struct peet_insn *insn)
{
    const struct peet_cost *cost = peet_costs_of(costs, processor, insn->opcode);

    printf("    %#10" PRIx64 "  %4u %4u %3u.%03u  %s%-10s %-18s ", insn->pc, cost->uops, cost->latency_cycles,
        cost->rthroughput_millicycles / 1000, cost->rthroughput_millicycles % 1000, cost->known ? "" : "?",
        insn->opcode->mnemonic, insn->opcode->name);
    print_uses(processor, cost);
    for (unsigned i = 0; i < cost->nwrites; i++)
        printf("%s%u", i ? "," : "; results after ", cost->writes[i]);
    for (unsigned i = 0; i < cost->nadvances; i++)
        printf("%s%d", i ? "," : "; data may come later by ", cost->advances[i]);
    printf("%s%s%s%s\n", cost->zero_idiom ? "; waits for nothing" : "",
        cost->eliminated ? "; a move that renaming may do" : "", cost->begins_group ? "; first of a group" : "",
        cost->ends_group ? "; last of a group" : "");
}

static void print_function(struct peet_costs *costs, const struct peet_processor *processor,
    const struct peet_function *function)
{
    printf("\nfunction %s", function->name);
    if (*function->file)
        printf(" (%s:%u)", function->file, function->line);
    printf("\n    %10s  %4s %4s %7s  %-10s %-18s %s\n", "address", "uops", "lat", "rthru", "", "opcode",
        "resources:cycles");
    for (uint32_t b = 0; b < function->nblocks; b++) {
        const struct peet_block *block = &function->blocks[b];
        uint64_t uops = 0;

        for (uint32_t i = 0; i < block->ninsns; i++)
            uops += peet_costs_of(costs, processor, block->insns[i].opcode)->uops;
        printf("  block %u", block->index);
        if (block->line)
            printf(", line %u", block->line);
        printf(": %u instructions, %" PRIu64 " uops, dispatched in %" PRIu64 ".%02" PRIu64 " cycles\n", block->ninsns,
            uops, uops / processor->dispatch_uops, uops % processor->dispatch_uops * 100 / processor->dispatch_uops);
        for (uint32_t i = 0; i < block->ninsns; i++)
            print_insn(costs, processor, &block->insns[i]);
    }
}

static void print_number(const char *what, uint32_t number, const char *unit)
{
    printf("  %-24s ", what);
    if (number)
        printf("%u%s%s\n", number, *unit ? " " : "", unit);
    else
        puts("not said");
}

static void print_processor(const struct peet_costs *costs, const struct peet_processor *p)
{
    printf("%s, by the scheduling model of LLVM %s\n", p->name, peet_costs_llvm(costs));
    printf("  %-24s %s\n", "issue", p->in_order ? "in order" : "out of order");
    print_number("dispatch", p->dispatch_uops, "uops a cycle");
    print_number("retirement", p->retire_uops, "uops a cycle");
    if (!p->in_order)
        print_number("window", p->window_uops, "uops");
    print_number("load latency", p->load_cycles, "cycles");
    print_number("misprediction", p->mispredict_cycles, "cycles");
    print_number("load queue", p->load_queue, "entries");
    print_number("store queue", p->store_queue, "entries");
    for (uint32_t r = 0; r < p->nresources; r++) {
        const struct peet_resource *resource = &p->resources[r];

        printf("  %-24s ", resource->name);
        if (resource->nparts) {
            printf("any of");
            for (uint32_t i = 0; i < resource->nparts; i++)
                printf(" %s", p->resources[resource->parts[i]].name);
        } else
            printf("%u unit%s", resource->units, resource->units == 1 ? "" : "s");
        if (resource->buffer > 0)
            printf(", buffer of %d", resource->buffer);
        else if (resource->buffer == 0)
            printf(", no buffer");
        putchar('\n');
    }
}

/* ------------------------------------------------------------------------------------------- JSON */

static json_t *resource_json(const struct peet_processor *p, const struct peet_resource *resource)
{
    json_t *parts = json_array();

    for (uint32_t i = 0; i < resource->nparts; i++)
        json_array_append_new(parts, json_string(p->resources[resource->parts[i]].name));
    return json_pack("{s:s, s:i, s:i, s:o}", "name", resource->name, "units", (int)resource->units, "buffer_entries",
        (int)resource->buffer, "parts", parts);
}

static json_t *processor_json(const struct peet_processor *p)
{
    json_t *resources = json_array();

    for (uint32_t r = 0; r < p->nresources; r++)
        json_array_append_new(resources, resource_json(p, &p->resources[r]));
    return json_pack("{s:s, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o}", "name", p->name, "in_order",
        p->in_order, "dispatch_uops", (int)p->dispatch_uops, "retire_uops", (int)p->retire_uops, "window_uops",
        (int)p->window_uops, "load_cycles", (int)p->load_cycles, "mispredict_cycles", (int)p->mispredict_cycles,
        "load_queue", (int)p->load_queue, "store_queue", (int)p->store_queue, "moves_eliminated",
        (int)p->moves_eliminated, "resources", resources);
}

static json_t *insn_json(struct peet_costs *costs, const struct peet_processor *p, const struct peet_insn *insn)
{
    const struct peet_cost *c = peet_costs_of(costs, p, insn->opcode);
    json_t *uses = json_array(), *writes = json_array(), *advances = json_array(), *buffers = json_array();

    for (unsigned i = 0; i < c->nuses; i++)
        json_array_append_new(uses,
            json_pack("{s:s, s:i, s:i, s:i, s:b}", "resource", p->resources[c->uses[i].resource].name, "first_cycle",
                (int)c->uses[i].first_cycle, "end_cycle", (int)c->uses[i].end_cycle, "units", (int)c->uses[i].units,
                "reserved", c->uses[i].reserved));
    for (unsigned i = 0; i < c->nwrites; i++)
        json_array_append_new(writes, json_integer(c->writes[i]));
    for (unsigned i = 0; i < c->nadvances; i++)
        json_array_append_new(advances, json_integer(c->advances[i]));
    for (unsigned i = 0; i < p->nresources; i++)
        if (c->buffers >> i & 1)
            json_array_append_new(buffers, json_string(p->resources[i].name));
    return json_pack("{s:I, s:s, s:s, s:i, s:i, s:b, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b}", "pc",
        (json_int_t)insn->pc, "opcode", insn->opcode->name, "mnemonic", insn->opcode->mnemonic, "variant",
        (int)insn->opcode->variant, "line", (int)insn->line, "known", c->known, "uops", (int)c->uops, "latency_cycles",
        (int)c->latency_cycles, "rthroughput_millicycles", (int)c->rthroughput_millicycles, "uses", uses, "buffers",
        buffers, "write_cycles", writes, "advance_cycles", advances, "zero_idiom", c->zero_idiom, "eliminated",
        c->eliminated, "begins_group", c->begins_group, "ends_group", c->ends_group);
}

static json_t *function_json(struct peet_costs *costs, const struct peet_processor *p,
    const struct peet_function *function)
{
    json_t *blocks = json_array();

    for (uint32_t b = 0; b < function->nblocks; b++) {
        const struct peet_block *block = &function->blocks[b];
        json_t *insns = json_array();

        for (uint32_t i = 0; i < block->ninsns; i++)
            json_array_append_new(insns, insn_json(costs, p, &block->insns[i]));
        json_array_append_new(blocks,
            json_pack("{s:i, s:I, s:i, s:o}", "index", (int)block->index, "pc", (json_int_t)block->pc, "line",
                (int)block->line, "instructions", insns));
    }
    return json_pack("{s:s, s:s, s:i, s:o}", "name", function->name, "file", function->file, "line",
        (int)function->line, "blocks", blocks);
}

/* ------------------------------------------------------------------------------------------- verb */

static int is_wanted(const struct asked *asked, const struct peet_function *function)
{
    return !asked->function || !strcmp(asked->function, function->name) || !fnmatch(asked->function, function->name, 0);
}

/** Every function that is wanted, or the processor if there is no program. */
static int print(const struct asked *asked, struct peet_costs *costs, const struct peet_processor *processor,
    struct peet_program *program, struct peet_error *error)
{
    unsigned n = program ? peet_program_nfunctions(program) : 0, found = 0;
    json_t *functions, *root;

    for (unsigned i = 0; i < n; i++) {
        const struct peet_function *function = peet_program_function(program, i, error);

        found += function && is_wanted(asked, function);
    }
    if (program && !found)
        return peet_error_set(error, PEET_ENOTFOUND, "%s: no function is named, or matches, %s", asked->program,
            asked->function ? asked->function : "*");
    functions = asked->json ? json_array() : NULL;
    if (!asked->json && program)
        printf("%s: costs on %s, by the scheduling model of LLVM %s\n", asked->program, processor->name,
            peet_costs_llvm(costs));
    else if (!asked->json)
        print_processor(costs, processor);
    for (unsigned i = 0; i < n && !ferror(stdout); i++) {
        const struct peet_function *function = peet_program_function(program, i, error);

        if (!function || !is_wanted(asked, function))
            continue;
        if (asked->json)
            json_array_append_new(functions, function_json(costs, processor, function));
        else
            print_function(costs, processor, function);
    }
    if (!asked->json)
        return 0;
    root = json_pack("{s:{s:s}, s:s, s:o}", "peet", "version", PEET_VERSION, "llvm", peet_costs_llvm(costs),
        "processor", processor_json(processor));
    if (!root || (program && json_object_set(root, "functions", functions)) ||
        json_dumpf(root, stdout, JSON_PRESERVE_ORDER | JSON_INDENT(1)))
        peet_error_set(error, root ? PEET_EIO : PEET_ENOMEM, root ? "cannot write the results" : "out of memory");
    else
        putchar('\n');
    json_decref(functions);
    json_decref(root);
    return error->code;
}

static int list(const struct asked *asked, const struct peet_costs *costs)
{
    json_t *names = json_array();

    for (size_t i = 0; peet_costs_name(costs, i); i++)
        if (asked->json)
            json_array_append_new(names, json_string(peet_costs_name(costs, i)));
        else
            puts(peet_costs_name(costs, i));
    if (asked->json) {
        json_dumpf(names, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    json_decref(names);
    return 0;
}

int peet_cli_costs(int argc, char **argv)
{
    struct asked asked = {0};
    struct peet_error error = {0};
    const struct peet_processor *processor = NULL;
    struct peet_program *program = NULL;
    struct peet_costs *costs = NULL;
    char path[PATH_MAX];
    int err;

    if (argp_parse(&parser, argc, argv, 0, NULL, &asked) != 0)
        return PEET_CLI_USAGE;
    err = peet_costs_path(path, sizeof path, &error);
    if (!err)
        err = peet_costs_open(path, &costs, &error);
    if (!err && asked.list)
        err = list(&asked, costs);
    else if (!err) {
        err = peet_costs_named(costs, asked.mcpu, &processor, &error);
        if (!err && asked.program)
            err = peet_cli_schema_open(asked.program, &program, NULL, &error);
        if (!err)
            err = print(&asked, costs, processor, program, &error);
    }
    peet_costs_close(costs);
    peet_program_free(program);
    return peet_cli_finish_stdout(err ? peet_cli_fail(&error) : PEET_CLI_OK);
}
