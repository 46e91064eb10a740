/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as sequences, one for each context: what peet compare looks at.  compare.c, average.c */
#ifndef PEET_CLI_COMPARE_H
#define PEET_CLI_COMPARE_H

#include <peet/error.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPARED_MAX = 256, COMPARED_BINS = 4096 };
enum what { INSTRUCTIONS, CALLS, EVENTS };

struct asked {
    const char *names[COMPARED_MAX];
    enum what what;
    unsigned long long effort, list, band, piece;
    const char *functions;
    unsigned given; /* bit n: the nth option of compare.c */
    int json, average, nnames;
};

/** One context's sequence. */
struct sequence {
    uint64_t context, *symbols;
    struct peet_cli_kept *kept; /* or NULL: then they are in symbols */
    double *times;              /* of events: cycles since the one before */
    size_t n, room;
    uint32_t *bins; /* how many symbols fall into each of COMPARED_BINS */
};

struct peet_function;
struct peet_program;
struct peet_recording;
struct name;

struct side {
    struct peet_recording *recording;
    struct peet_program *program;
    struct sequence *all;
    uint32_t n;
    const struct peet_function *last; /* looked up last, */
    struct name *name;                /* and its name */
    struct place *places;             /* recently executed instructions */
    int no_memory;                    /* for what they stand for */
};

/** A trace is opened, without its sequences.  Returns: 0, or a PEET_E... code */
int peet_cli_side_open(struct side *side, const char *name, struct peet_error *error);
int peet_cli_side_read(struct side *side, const struct asked *asked, struct peet_error *error);
/** Also of one that was not opened, or not wholly. */
void peet_cli_side_close(struct side *side);
/** Which context of b belongs to which of a, which has no more: the best assignment by likeness; the same number decides
 * among equals.  @out_column: for each of a */
int peet_cli_side_match(struct side *a, struct side *b, size_t *out_column, struct peet_error *error);
/** What has been remembered of names is freed. */
void peet_cli_compare_forget(void);
/** peet compare --average.  Returns: the status */
int peet_cli_average(const struct asked *asked);

#endif
