/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading clang's command line as far as peetcc needs it.  The one difficulty is to know which options
 * take the next argument, so that "-Xlinker -r" or "-MF -c" are not mistaken for options themselves.
 */
#include "args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESPONSE_DEPTH = 16 };

/* Options of clang whose value is the next argument when they stand alone. */
/* clang-format off */
static const char *const takes_next[] = {
    "-o", "-I", "-L", "-D", "-U", "-F", "-x", "-T", "-u", "-z", "-e", "-l", "-A", "-b", "-B", "-G", "-V", "-t",
    "-include", "-include-pch", "-imacros", "-isystem", "-isystem-after", "-iquote", "-idirafter", "-iprefix",
    "-iwithprefix", "-iwithprefixbefore", "-iwithsysroot", "-isysroot", "-iframework", "-cxx-isystem",
    "-ivfsoverlay", "-MF", "-MT", "-MQ", "-MJ", "-Xlinker", "-Xclang", "-Xassembler", "-Xpreprocessor",
    "-Xanalyzer", "-Xopenmp-target", "-Xcuda-ptxas", "-Xcuda-fatbinary", "-mllvm", "-mmlir", "-target", "-arch",
    "-aux-info", "-framework", "-rpath", "-gcc-toolchain", "-working-directory", "-dumpdir", "-dumpbase",
    "-dumpbase-ext", "-index-store-path", "-Ttext", "-Tdata", "-Tbss", "-serialize-diagnostics", "--param",
    "--sysroot", "--output", "--target", "--include", "--include-directory", "--include-directory-after",
    "--library-directory", "--language", "--define-macro", "--undefine-macro", "--prefix", "--config",
    "--for-linker", "--for-assembler", "--gcc-toolchain", "--serialize-diagnostics", "--assert",
    "--imacros", "--include-prefix", "--include-with-prefix", "--dyld-prefix", "-stdlib++-isystem",
    "-fmodule-implementation-of", "-object", "-filelist", "-undefined", "-verify-pch",
};
/* clang-format on */

/* Options after which nothing is linked. */
static const char *const ends_before_link[] = {
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--compile",
    "--assemble",
    "--preprocess",
    "--precompile",
    "-emit-ast",
    "--analyze",
    "-emit-interface-stubs",
    "-verify-pch",
    "-rewrite-objc",
    "--dependencies",
    "--user-dependencies",
    "-extract-api",
    "-emit-module",
    "-module-file-info",
};

struct reader {
    struct peetcc_args *out;
    struct peet_error *error;
    /* last one wins */
    const char *refused_lto, *refused_machine, *refused_static, *refused_sections, *refused_split, *refused_hardening;
    const char *pending; /* option whose value comes next */
    int only_inputs;     /* after "--" */
    int library_openmp;  /* OpenMP's library is named */
};

static int contains(const char *const *list, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], word) == 0)
            return 1;
    return 0;
}
#define CONTAINS(list, word) contains(list, sizeof(list) / sizeof((list)[0]), word)

static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

int peetcc_vector_push(struct peetcc_vector *vector, char *item)
{
    if (vector->count + 2 > vector->capacity) {
        int capacity = vector->capacity ? vector->capacity * 2 : 64;
        char **items = realloc(vector->items, (size_t)capacity * sizeof(*items));
        if (!items)
            return PEET_ENOMEM;
        vector->items = items;
        vector->capacity = capacity;
    }
    vector->items[vector->count++] = item;
    vector->items[vector->count] = NULL;
    return 0;
}

/* x86_64-anything-linux-gnu; clang's other names for the same machine and system would do as well. */
static int target_is_ours(const char *triple)
{
    if (!after(triple, "x86_64-") && !after(triple, "amd64-"))
        return 0;
    const char *system = strstr(triple, "linux");
    if (!system)
        return 0;
    return strcmp(system, "linux") == 0 || strcmp(system, "linux-gnu") == 0;
}

/* OpenMP's library as a linker sees it; clang adds it by itself for -fopenmp. */
static int is_openmp_library(const char *name)
{
    return strcmp(name, "omp") == 0 || strcmp(name, "omp5") == 0 || strcmp(name, "iomp5") == 0;
}

/* The value of an option that was given as "-opt value". */
static void take_value(struct reader *r, const char *option, const char *value)
{
    if (strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0)
        r->out->output = value;
    else if (strcmp(option, "-target") == 0 || strcmp(option, "--target") == 0)
        r->refused_machine = target_is_ours(value) ? NULL : value;
    else if (strcmp(option, "-l") == 0) {
        r->out->has_input = 1;
        r->library_openmp |= is_openmp_library(value);
    } else if (strcmp(option, "-Xlinker") == 0 || strcmp(option, "--for-linker") == 0) {
        r->out->has_input = 1;
        if (strcmp(value, "-r") == 0 || strcmp(value, "--relocatable") == 0)
            r->out->relocatable = 1;
    }
}

/* Options that peet cannot honour; the last of a family decides, as with clang. */
static void note_refusals(struct reader *r, const char *arg)
{
    if (strcmp(arg, "-flto") == 0 || after(arg, "-flto=") || after(arg, "-fthinlto-index="))
        r->refused_lto = arg;
    else if (strcmp(arg, "-fno-lto") == 0)
        r->refused_lto = NULL;
    else if (strcmp(arg, "-m32") == 0 || strcmp(arg, "-mx32") == 0 || strcmp(arg, "-m16") == 0)
        r->refused_machine = arg;
    else if (strcmp(arg, "-m64") == 0)
        r->refused_machine = NULL;
    else if (after(arg, "--target="))
        r->refused_machine = target_is_ours(after(arg, "--target=")) ? NULL : arg;
    else if (strcmp(arg, "-static") == 0 || strcmp(arg, "--static") == 0 || strcmp(arg, "-static-pie") == 0)
        r->refused_static = arg;
    else if (after(arg, "-fbasic-block-sections="))
        r->refused_sections = strcmp(arg, "-fbasic-block-sections=none") == 0 ? NULL : arg;
    else if (strcmp(arg, "-fsplit-machine-functions") == 0)
        r->refused_split = arg;
    else if (strcmp(arg, "-fno-split-machine-functions") == 0)
        r->refused_split = NULL;
    else if (strcmp(arg, "-mspeculative-load-hardening") == 0 || strcmp(arg, "-mlvi-hardening") == 0 ||
        strcmp(arg, "-mlvi-cfi") == 0 || strcmp(arg, "-mseses") == 0)
        r->refused_hardening = arg;
    else if (strcmp(arg, "-mno-speculative-load-hardening") == 0 || strcmp(arg, "-mno-lvi-hardening") == 0 ||
        strcmp(arg, "-mno-lvi-cfi") == 0 || strcmp(arg, "-mno-seses") == 0)
        r->refused_hardening = NULL;
}

/* The last one decides.  Another compiler's library makes clang ignore the pragmas. */
static void note_openmp(struct reader *r, const char *arg)
{
    const char *library = after(arg, "-fopenmp=");
    if (strcmp(arg, "-fopenmp") == 0 || strcmp(arg, "--openmp") == 0)
        r->out->openmp = 1;
    else if (library)
        r->out->openmp = strncmp(library, "lib", 3) == 0 && is_openmp_library(library + 3);
    else if (strcmp(arg, "-fno-openmp") == 0)
        r->out->openmp = 0;
}

/* Returns: 1 if the option is peet's own and must not reach clang, 0 if not, < 0 on error. */
static int own_option(struct reader *r, const char *arg)
{
    struct peetcc_args *out = r->out;
    const char *value;

    if (strcmp(arg, "--peet-prefix") == 0) {
        out->asks_prefix = 1;
    } else if (strcmp(arg, "-fpeet-schema-file") == 0 || strcmp(arg, "-fno-peet-schema-file") == 0) {
        out->schema_file = arg[2] != 'n';
    } else if (strcmp(arg, "-fpeet-domains") == 0 || strcmp(arg, "-fno-peet-domains") == 0) {
        out->domains = arg[2] != 'n';
    } else if ((value = after(arg, "-fpeet-granularity="))) {
        if (strcmp(value, "iteration") && strcmp(value, "block") && strcmp(value, "ref"))
            return peet_error_set(r->error, PEET_EINVALID, "%s: unknown granularity; use iteration, block or ref", arg);
        out->granularity = value;
    } else if ((value = after(arg, "-fpeet-derive="))) {
        if (strcmp(value, "0") && strcmp(value, "1"))
            return peet_error_set(r->error, PEET_EINVALID, "%s: the value must be 0 or 1", arg);
        out->derive = value;
    } else if (after(arg, "-fpeet-") || after(arg, "-fno-peet-") || after(arg, "--peet-")) {
        return peet_error_set(r->error, PEET_EINVALID,
            "unknown option %s; peetcc's own are -fpeet-granularity=iteration|block|ref, -fpeet-derive=0|1, "
            "-fpeet-domains, -fno-peet-schema-file and --peet-prefix",
            arg);
    } else {
        return 0;
    }
    return 1;
}

int peetcc_args_takes_next(const char *arg)
{
    return CONTAINS(takes_next, arg) || after(arg, "-Xarch_") || after(arg, "-Xopenmp-target=");
}

/* One argument, not a response file.  Returns: as own_option(). */
static int read_one(struct reader *r, const char *arg)
{
    struct peetcc_args *out = r->out;

    if (r->pending) {
        const char *option = r->pending;
        r->pending = NULL;
        take_value(r, option, arg);
        return 0;
    }
    if (r->only_inputs || arg[0] != '-' || arg[1] == '\0') {
        out->has_input = 1;
        return 0;
    }
    int own = own_option(r, arg);
    if (own != 0)
        return own;
    if (strcmp(arg, "--") == 0) {
        r->only_inputs = 1;
    } else if (peetcc_args_takes_next(arg)) {
        r->pending = arg;
    } else if (after(arg, "--output=")) {
        out->output = after(arg, "--output=");
    } else if (after(arg, "-o") && !after(arg, "-objc") && !after(arg, "-object") && !after(arg, "-offload")) {
        out->output = arg + 2;
    } else if (after(arg, "-Wl,")) {
        out->has_input = 1;
        char joined[64];
        snprintf(joined, sizeof(joined), "%s,", arg + 3);
        if (strstr(joined, ",-r,") || strstr(joined, ",--relocatable,"))
            out->relocatable = 1;
    } else if (after(arg, "-l")) {
        out->has_input = 1;
        r->library_openmp |= is_openmp_library(arg + 2);
    }
    if (CONTAINS(ends_before_link, arg))
        out->stops_early = 1;
    if (!strcmp(arg, "-E") || !strcmp(arg, "-M") || !strcmp(arg, "-MM") || !strcmp(arg, "--preprocess"))
        out->preprocess_only = 1;
    if (strcmp(arg, "-r") == 0)
        out->relocatable = 1;
    if (strcmp(arg, "-###") == 0)
        out->shows_commands = 1;
    if (strcmp(arg, "--version") == 0)
        out->asks_version = 1;
    note_refusals(r, arg);
    note_openmp(r, arg);
    return 0;
}

/* The next word of a response file, by GNU's rules: blanks part words; quotes and backslashes protect.
 * Returns: a word that the caller owns, or NULL at the end (or without memory: *out_failed). */
static char *next_word(const char **text, int *out_failed)
{
    const char *in = *text;
    while (*in && strchr(" \t\r\n\f\v", *in))
        in++;
    *text = in;
    if (!*in)
        return NULL;
    char *word = malloc(strlen(in) + 1), *put = word, quote = 0;
    if (!word) {
        *out_failed = 1;
        return NULL;
    }
    for (; *in && (quote || !strchr(" \t\r\n\f\v", *in)); in++) {
        if (*in == '\\' && in[1] && quote != '\'')
            *put++ = *++in;
        else if (quote && *in == quote)
            quote = 0;
        else if (!quote && (*in == '"' || *in == '\''))
            quote = *in;
        else
            *put++ = *in;
    }
    *put = '\0';
    *text = in;
    char *fit = realloc(word, strlen(word) + 1);
    return fit ? fit : word;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t length = 0, room = 0;
    for (;;) {
        if (room - length < 2) {
            char *grown = realloc(text, room = room ? room * 2 : 4096);
            if (!grown)
                break;
            text = grown;
        }
        size_t got = fread(text + length, 1, room - length - 1, file);
        length += got;
        text[length] = '\0';
        if (got == 0) {
            if (ferror(file))
                break;
            fclose(file);
            return text;
        }
    }
    fclose(file);
    free(text);
    return NULL;
}

static int read_vector(struct reader *r, int count, char **items, struct peetcc_vector *keep, int depth, int *out_own);

/* A response file: clang gets it unread unless it holds an option of ours. */
static int read_response(struct reader *r, char *arg, struct peetcc_vector *keep, int depth, int *out_own)
{
    char *text = depth < RESPONSE_DEPTH ? read_text(arg + 1) : NULL;
    if (!text) { /* clang takes an unreadable @name for a file name, and says so itself */
        read_one(r, arg);
        return peetcc_vector_push(keep, arg);
    }
    struct peetcc_vector words = {0}, kept = {0};
    const char *at = text;
    char *word;
    int failed = 0, own = 0, err = 0;
    while (!err && (word = next_word(&at, &failed))) {
        err = peetcc_vector_push(&words, word);
        if (!err)
            err = peetcc_vector_push(&r->out->words, word);
    }
    free(text);
    if (!err && failed)
        err = PEET_ENOMEM;
    if (!err)
        err = read_vector(r, words.count, words.items, &kept, depth + 1, &own);
    if (!err && !own)
        err = peetcc_vector_push(keep, arg);
    for (int i = 0; !err && own && i < kept.count; i++)
        err = peetcc_vector_push(keep, kept.items[i]);
    if (own)
        *out_own = 1;
    free(words.items);
    free(kept.items);
    return err;
}

static int read_vector(struct reader *r, int count, char **items, struct peetcc_vector *keep, int depth, int *out_own)
{
    for (int i = 0; i < count; i++) {
        if (items[i][0] == '@' && items[i][1]) {
            int err = read_response(r, items[i], keep, depth, out_own);
            if (err)
                return err;
            continue;
        }
        int before = r->only_inputs;
        int own = read_one(r, items[i]);
        if (own < 0)
            return own;
        if (own) {
            *out_own = 1;
            continue;
        }
        if (depth == 0 && r->only_inputs && !before)
            r->out->separator = keep->count;
        int err = peetcc_vector_push(keep, items[i]);
        if (err)
            return err;
    }
    return 0;
}

int peetcc_args_link(const struct peetcc_args *args)
{
    return args->has_input && !args->stops_early && !args->relocatable && !args->cc1;
}

int peetcc_args_read(int argc, char **argv, struct peetcc_args *out_args, struct peet_error *error)
{
    struct reader r = {.out = out_args, .error = error};
    int own = 0;

    *out_args = (struct peetcc_args){.separator = -1, .schema_file = 1};
    if (argc > 1 && after(argv[1], "-cc1"))
        out_args->cc1 = 1;
    int err = read_vector(&r, argc - 1, argv + 1, &out_args->user, 0, &own);
    if (err)
        return peet_error_set(error, err, "out of memory while reading the command line");
    out_args->openmp |= r.library_openmp;
    if (out_args->separator < 0)
        out_args->separator = out_args->user.count;

    if (r.refused_lto)
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "%s is not supported: peet records the machine code of each source file; leave it out or add -fno-lto",
            r.refused_lto);
    if (r.refused_machine)
        return peet_error_set(error, PEET_EUNSUPPORTED, "%s is not supported: the only target is x86_64-linux-gnu",
            r.refused_machine);
    if (r.refused_sections || r.refused_split)
        return peet_error_set(error, PEET_EUNSUPPORTED, "%s is not supported: a function's blocks must stay together",
            r.refused_sections ? r.refused_sections : r.refused_split);
    if (r.refused_hardening)
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "%s is not supported: it rewrites the code after it has been recorded", r.refused_hardening);
    if (r.refused_static && peetcc_args_link(out_args))
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "%s is not supported: the runtime libpeet-rt.so is a shared object; link dynamically", r.refused_static);
    return 0;
}
