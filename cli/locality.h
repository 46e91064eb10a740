/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet locality: what its parts share.  locality.c is the verb, locality_signature.c reads and writes signatures,
 * locality_seed.c makes streams of references that have a signature, locality_predict.c says what caches would do with
 * them, locality_bench.c writes programs, locality_report.c tables, curves and pictures.
 */
#ifndef PEET_CLI_LOCALITY_H
#define PEET_CLI_LOCALITY_H

#include <peet/error.h>
#include <peet/toolkit/surface.h>
#include <stdio.h>
#include <jansson.h>

enum { PEET_CLI_SIGNATURE_VERSION = 1 };

/** A signature.  Without counts it is the paper's 24 numbers alone; then tally.reuse[0] holds the reuse points, as of a
 * million references. */
struct peet_cli_signature {
    double reuse_cdf[PEET_SIM_DEPTHS]; /* share of references that hit in 2^k lines of 512 bytes */
    double alphas[PEET_SIM_HALVINGS];
    int has_counts;
    struct peet_sim_tally tally; /* settled */
};

/** peet_cli_signature_of() - of a tally with counts */
void peet_cli_signature_of(const struct peet_sim_tally *tally, struct peet_cli_signature *out_signature);

/** peet_cli_signature_parse() - a signature file's text.  @name: for messages.  Returns: 0, PEET_EFORMAT, PEET_EVERSION
 */
int peet_cli_signature_parse(const char *text, size_t bytes, const char *name, struct peet_cli_signature *out_signature,
    struct peet_error *error);

/** Which part of a run's results: of the form "run", "merged", "context=N", "window=N", "function=NAME",
 * "structure=NAME". */
/** peet_cli_signature_read() - a signature file, or a part (NULL: "run") of a folder of a run's results.  Returns: 0,
 * PEET_EIO, PEET_EFORMAT, PEET_EVERSION, PEET_ENOTFOUND */
int peet_cli_signature_read(const char *path, const char *part, struct peet_cli_signature *out_signature,
    struct peet_error *error);

/** peet_cli_signature_json() - the file's contents.  Returns: NULL without memory; the caller gives it back */
json_t *peet_cli_signature_json(const struct peet_cli_signature *signature);

/** peet_cli_write_whole() - a file, under a temporary name until it is whole; "-" is standard output.  @write returns 0
 * if it could */
int peet_cli_write_whole(const char *path, int (*write)(FILE *out, const void *what), const void *what,
    struct peet_error *error);
int peet_cli_signature_write(const char *path, const struct peet_cli_signature *signature, struct peet_error *error);

/* ---------------------------------------------------------------------------------------------- streams */

struct peet_cli_seed_options {
    uint64_t length; /* references */
    uint64_t blocks; /* at most so many of 512 bytes; 0: as many as it takes */
    uint64_t random; /* seed of the random numbers */
    int once;        /* no element of 4 bytes is referenced by two steps, for pointer chases */
    int plain;       /* the 24 numbers alone are the aim */
    char what[80];   /* for the progress line */
};
/** One step of a stream: an element of 4 bytes, by its number, and how many references come again at once: to this element, or
 * by turns to those of the latest steps, this one the last */
struct peet_cli_step {
    uint32_t element;
    uint32_t again : 28;
    uint32_t among : 3;   /* so many steps: 1, 2 or 4 */
    uint32_t strided : 1; /* it goes on from the last such step to the next line of 64 bytes */
};
enum { /* of what comes again: up to FEW any number, up to MOST every third; of turns up to MOST_TURNS */
    PEET_CLI_FEW_AGAIN = 8,
    PEET_CLI_MOST_AGAIN = 29,
    PEET_CLI_MOST_TURNS = 8,
};
/** peet_cli_step_again() - the element of reference @number, from 0 on, of those that come again after a step */
static inline uint32_t peet_cli_step_again(const struct peet_cli_step *step, uint32_t number)
{
    return (step - step->among + 1 + number % step->among)->element;
}
struct peet_cli_seed {
    struct peet_cli_step *steps;
    size_t n;
    uint64_t references, blocks;
    struct peet_sim_tally tally; /* of the stream, from its first reference on */
};
/** peet_cli_seed_make() - Returns: 0 or PEET_ENOMEM, PEET_ELIMIT */
int peet_cli_seed_make(const struct peet_cli_signature *signature, const struct peet_cli_seed_options *options,
    struct peet_cli_seed *out_seed, struct peet_error *error);
void peet_cli_seed_fini(struct peet_cli_seed *seed);

/** peet_cli_surface_error() - mean and greatest absolute difference of hit rates, in per cent, over all depths and
 * widths [first, last] */
double peet_cli_surface_error(const struct peet_sim_tally *a, const struct peet_sim_tally *b, unsigned first,
    unsigned last, double *out_most);
double peet_cli_hit_rate(const struct peet_sim_tally *t, unsigned width, unsigned depth);

/** peet_cli_associative() - hit rate of a cache of that many sets and ways with lines of width @width (binomial model)
 */
double peet_cli_associative(const struct peet_sim_tally *t, unsigned width, double sets, unsigned ways);

/* --------------------------------------------------------------------------------------------- programs */

struct peet_cli_bench {
    const struct peet_cli_seed *seeds; /* a phase each */
    const double *weights;             /* of the phases */
    const unsigned *replicas;
    size_t nphases;
    unsigned threads;
    double sharing, writes; /* shares, 0..1 */
};
/** peet_cli_bench_write() - the C program.  For peet_cli_write_whole() */
int peet_cli_bench_write(FILE *out, const void *bench);
/** peet_cli_bench_stores() - the share of references that can store in place of a load; further stores are more references, which hit
 * in any cache */
double peet_cli_bench_stores(const struct peet_cli_seed *seed);
/** peet_cli_bench_surface() - what its inner loop references from the second round on, of one phase and thread.  What others do
 * to the memory of all is not in it.  Returns: 0 or PEET_ENOMEM */
int peet_cli_bench_surface(const struct peet_cli_seed *seed, unsigned replicas, double sharing,
    struct peet_sim_tally *out_tally, struct peet_error *error);

/* ---------------------------------------------------------------------------------------------- reports */

struct peet_cli_named {
    const char *name;
    struct peet_cli_signature signature;
};
int peet_cli_locality_tables(const struct peet_cli_named *list, size_t n, FILE *out);
/** peet_cli_locality_csv() - "signature,line_bytes,lines,cache_bytes,miss_ratio".  For peet_cli_write_whole() */
struct peet_cli_named_list {
    const struct peet_cli_named *list;
    size_t n;
};
int peet_cli_locality_csv(FILE *out, const void *named_list);
int peet_cli_locality_plot(const struct peet_cli_named *list, size_t n, const char *path, struct peet_error *error);

#endif
