/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: costs by `peet costs` against llvm-mca's, instruction by instruction.
 *
 *     compare list OPCODES ASM            a disassembly (llvm-objdump on standard input) of the functions in OPCODES (peet costs
 *                                         --json, any processor), one instruction a line, into ASM
 *     compare check OPCODES MCA KNOWN     micro-operations, latency, reciprocal throughput and resources; KNOWN lists differences
 *                                         that are understood: "opcode processors reason"
 *
 * Used by costs.sh.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, RESOURCES = 256 };

static void die(const char *what, const char *which)
{
    fprintf(stderr, "compare: %s %s\n", what, which);
    exit(99);
}

static json_t *load(const char *path)
{
    json_error_t why;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &why);

    if (!root)
        die(path, why.text);
    return root;
}

static const char *text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/** Padding is no code of the function's. */
static int is_nop(const char *mnemonic)
{
    return !strncmp(mnemonic, "nop", 3) || !strncmp(mnemonic, "cs\t", 3) || !strncmp(mnemonic, "cs ", 3) || !strncmp(mnemonic, "data16", 6) ||
        !strncmp(mnemonic, "xchgw\t%ax, %ax", 14) || !strncmp(mnemonic, "int3", 4);
}

/* ------------------------------------------------------------------------------------------- list */

struct function {
    char *name;
    char **insns;
    size_t n;
};
static struct function *functions;
static size_t nfunctions;

static void disassembly(void)
{
    char line[LINE], text[LINE + 8];
    struct function *f = NULL;
    int prefix = 0;

    while (fgets(line, sizeof line, stdin)) {
        char *at, *end;

        line[strcspn(line, "\n")] = 0;
        if ((at = strchr(line, '<')) != NULL && isxdigit((unsigned char)line[0]) && (end = strrchr(line, '>')) != NULL && !strcmp(end, ">:")) {
            *end = 0;
            functions = realloc(functions, (nfunctions + 1) * sizeof *functions);
            f = &functions[nfunctions++];
            *f = (struct function){ strdup(at + 1), NULL, 0 };
            continue;
        }
        at = strchr(line, ':');
        if (!f || !at || !isspace((unsigned char)line[0]))
            continue;
        at += strspn(at, ": \t");
        at[strcspn(at, "<#")] = 0;
        if (!*at || is_nop(at))
            continue;
        if (prefix) { /* lock has a line of its own */
            at = strcat(strcpy(text, "lock "), at);
            prefix = 0;
        } else if (!strcmp(at, "lock")) {
            prefix = 1;
            continue;
        }
        f->insns = realloc(f->insns, (f->n + 1) * sizeof *f->insns);
        f->insns[f->n++] = strdup(at);
    }
}

/** Instructions of a function by peet, without padding. */
static size_t count(const json_t *function)
{
    size_t n = 0, b, i;
    json_t *block, *insn;

    json_array_foreach(json_object_get(function, "blocks"), b, block)
        json_array_foreach(json_object_get(block, "instructions"), i, insn)
            n += !is_nop(text(insn, "mnemonic"));
    return n;
}

static int list(const char *opcodes, const char *path)
{
    json_t *root = load(opcodes), *function;
    FILE *out = fopen(path, "w");
    size_t k, total = 0;

    if (!out)
        die("cannot write", path);
    disassembly();
    json_array_foreach(json_object_get(root, "functions"), k, function) {
        const char *name = text(function, "name");
        struct function *f = NULL;

        for (size_t i = 0; i < nfunctions && !f; i++)
            if (!strcmp(functions[i].name, name))
                f = &functions[i];
        if (!f || f->n != count(function)) {
            fprintf(stderr, "compare: %s has %zu instructions, by peet %zu\n", name, f ? f->n : 0, count(function));
            return 99;
        }
        for (size_t i = 0; i < f->n; i++)
            fprintf(out, "%s\n", f->insns[i]);
        total += f->n;
    }
    fprintf(stderr, "%zu instructions\n", total);
    json_decref(root);
    return fclose(out) || !total ? 99 : 0;
}

/* ------------------------------------------------------------------------------------------ check */

static json_t *resources; /* of peet's processor */
static size_t first_unit[RESOURCES]; /* llvm-mca numbers the units of all resources that are no groups */

static size_t resource_of(const char *name)
{
    size_t r;
    json_t *resource;

    json_array_foreach(resources, r, resource)
        if (!strcmp(text(resource, "name"), name))
            return r;
    die("unknown resource", name);
    return 0;
}

/** As llvm-mca's tables have it: what is used of a group is spread evenly over its parts. */
static void pressure(const json_t *insn, double *out)
{
    size_t u, p;
    json_t *use, *part;

    memset(out, 0, RESOURCES * sizeof *out);
    json_array_foreach(json_object_get(insn, "uses"), u, use) {
        json_t *resource = json_array_get(resources, resource_of(text(use, "resource")));
        json_t *parts = json_object_get(resource, "parts");
        double cycles = number(use, "end_cycle") - number(use, "first_cycle"), units = number(resource, "units");

        json_array_foreach(parts, p, part) {
            size_t r = resource_of(json_string_value(part));
            double n = number(json_array_get(resources, r), "units");

            for (size_t i = 0; i < n; i++)
                out[first_unit[r] + i] += cycles / (units * n);
        }
        for (size_t i = 0; !json_array_size(parts) && i < units; i++)
            out[first_unit[resource_of(text(use, "resource"))] + i] += cycles / units;
    }
}

struct known {
    char opcode[64], processors[256];
    size_t met;
};

static size_t read_known(const char *path, struct known *known, size_t room)
{
    FILE *in = fopen(path, "r");
    char line[LINE];
    size_t n = 0;

    if (!in)
        die("cannot read", path);
    while (n < room && fgets(line, sizeof line, in))
        if (line[0] != '#' && sscanf(line, "%63s %255s", known[n].opcode, known[n].processors) == 2)
            known[n++].met = 0;
    fclose(in);
    return n;
}

static int is_known(struct known *known, size_t n, const char *opcode, const char *processor)
{
    for (size_t i = 0; i < n; i++) {
        char list[256], *save = NULL;

        if (fnmatch(known[i].opcode, opcode, 0))
            continue;
        strcpy(list, known[i].processors);
        for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
            if (!fnmatch(p, processor, 0)) {
                known[i].met++;
                return 1;
            }
    }
    return 0;
}

static int check(const char *opcodes, const char *mca, const char *differences)
{
    json_t *root = load(opcodes), *tables = json_array_get(json_object_get(load(mca), "CodeRegions"), 0), *function, *block, *insn, *item;
    json_t *infos = json_object_get(json_object_get(tables, "InstructionInfoView"), "InstructionList");
    json_t *pressures = json_object_get(json_object_get(tables, "ResourcePressureView"), "ResourcePressureInfo");
    json_t *texts = json_object_get(tables, "Instructions"), *kinds = json_object();
    const char *processor = text(json_object_get(root, "processor"), "name");
    size_t n = json_array_size(texts), at = 0, wrong = 0, understood = 0, units = 0, k, b, i;
    double (*theirs)[RESOURCES] = calloc(n + 1, sizeof *theirs), ours[RESOURCES];
    static struct known known[500];
    size_t nknown = read_known(differences, known, 500);

    resources = json_object_get(json_object_get(root, "processor"), "resources");
    json_array_foreach(resources, k, item) {
        first_unit[k] = units;
        if (!json_array_size(json_object_get(item, "parts")))
            units += (size_t)number(item, "units");
    }
    json_array_foreach(pressures, k, item)
        if ((size_t)number(item, "InstructionIndex") < n) /* the last is the sum */
            theirs[(size_t)number(item, "InstructionIndex")][(size_t)number(item, "ResourceIndex")] = number(item, "ResourceUsage");
    json_array_foreach(json_object_get(root, "functions"), k, function)
        json_array_foreach(json_object_get(function, "blocks"), b, block)
            json_array_foreach(json_object_get(block, "instructions"), i, insn) {
                json_t *info = json_array_get(infos, at);
                char kind[128], *why = NULL;
                double rthroughput, latency, delay = 0;
                size_t a;

                if (is_nop(text(insn, "mnemonic")))
                    continue;
                if (at == n)
                    die("llvm-mca saw fewer instructions:", opcodes);
                snprintf(kind, sizeof kind, "%s/%g", text(insn, "opcode"), number(insn, "variant"));
                rthroughput = number(insn, "rthroughput_millicycles") / 1000;
                pressure(insn, ours);
                latency = number(insn, "latency_cycles");
                json_array_foreach(json_object_get(insn, "advance_cycles"), a, item)
                    if (-json_number_value(item) > delay) /* its table adds what values take to come from elsewhere */
                        delay = -json_number_value(item);
                latency += delay;
                if (number(insn, "uops") != number(info, "NumMicroOpcodes"))
                    why = "uops";
                else if (latency != number(info, "Latency"))
                    why = "latency";
                else if (fabs(rthroughput - number(info, "RThroughput")) > 0.001)
                    why = "throughput";
                for (size_t r = 0; r < units && !why; r++)
                    if (fabs(ours[r] - theirs[at][r]) > 0.001)
                        why = "resources";
                if (json_is_true(json_object_get(kinds, kind)))
                    why = NULL; /* said once; but every instruction is looked at, since more may matter than its kind */
                else
                    json_object_set_new(kinds, kind, json_boolean(why != NULL));
                if (why && is_known(known, nknown, text(insn, "opcode"), processor))
                    understood++;
                else if (why) {
                    wrong++;
                    printf("%s: %s: %s as llvm-mca's '%s': peet %g uops, %g, %g; llvm-mca %g uops, %g, %g\n", processor, why, kind,
                        json_string_value(json_array_get(texts, at)), number(insn, "uops"), number(insn, "latency_cycles"), rthroughput,
                        number(info, "NumMicroOpcodes"), number(info, "Latency"), number(info, "RThroughput"));
                }
                at++;
            }
    if (at != n)
        die("llvm-mca saw more instructions:", opcodes);
    printf("%s: %zu instructions, %zu different ones, %zu unlike llvm-mca's, %zu more for known reasons\n", processor, n, json_object_size(kinds),
        wrong, understood);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "list"))
        return list(argv[2], argv[3]);
    if (argc == 5 && !strcmp(argv[1], "check"))
        return check(argv[2], argv[3], argv[4]);
    fprintf(stderr, "usage: compare list OPCODES ASM <DISASSEMBLY | compare check OPCODES MCA KNOWN\n");
    return 99;
}
