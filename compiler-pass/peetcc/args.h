/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What peetcc must know of a clang command line: whether it links, what it writes, and which of its
 * options peet cannot honour.  Called by peetcc.c; the meaning of every other option is clang's.
 */
#ifndef PEETCC_ARGS_H
#define PEETCC_ARGS_H

#include <peet/error.h>

/** A growing vector of strings; the strings are borrowed or live until the process ends. */
struct peetcc_vector {
    char **items; /* items[count] is NULL once something was pushed */
    int count, capacity;
};

struct peetcc_args {
    struct peetcc_vector user;  /* clang's arguments without argv[0] and without peet's own options */
    struct peetcc_vector words; /* owns the words of response files, which others here point to */
    int separator;              /* index in `user` of the first "--", or user.count */
    int has_input;              /* a file, "-", a library or a linker option stands there */
    int stops_early;            /* -c, -S, -E, -M, -fsyntax-only, ...: no link */
    int preprocess_only;        /* -E, -M, -MM: no code is made */
    int relocatable;            /* -r */
    int shows_commands;         /* -### */
    int asks_version;           /* --version */
    int asks_prefix;            /* --peet-prefix */
    int cc1;                    /* clang's own inner command */
    int openmp;                 /* -fopenmp, -lomp: OpenMP's front end is to be linked */
    const char *output;         /* -o; NULL if absent */
    int schema_file;            /* -fpeet-schema-file (default) or -fno-peet-schema-file */
    const char *granularity;    /* -fpeet-granularity=; NULL if absent */
    const char *derive;         /* -fpeet-derive=; NULL if absent */
    int domains;                /* -fpeet-domains or -fno-peet-domains (default) */
};

/** Add one string.  Returns: 0 or PEET_ENOMEM */
int peetcc_vector_push(struct peetcc_vector *vector, char *item);

/**
 * peetcc_args_read() - look through a command line, response files included
 * @argv: as main() got it; argv[0] is skipped
 *
 * A response file stays as it is in @out_args->user unless it holds an option of peet's own, which
 * clang would not know: then its contents stand there in its place.
 * Returns: 0, or a peet_err with a message that says which option is refused and why
 */
int peetcc_args_read(int argc, char **argv, struct peetcc_args *out_args, struct peet_error *error);

/** Is the value of this option of clang's the next word? */
int peetcc_args_takes_next(const char *arg);

/** peetcc_runtime_place() - the index in args->user before which the runtime is to be linked (place.c) */
int peetcc_runtime_place(const struct peetcc_args *args);

/** Does this command line run the linker and make a program or a shared object? */
int peetcc_args_link(const struct peetcc_args *args);

#endif
