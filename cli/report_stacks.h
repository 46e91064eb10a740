/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet report: where the cycles of runs went, for machines that keep account of them (x86): the stacks of contexts and
 * functions, and counts over time.  Any module that leaves "stack_categories", "hw" and "functions" with "stack_cycles"
 * in its statistics is such a machine; what is drawn over time are the arrays "windows" of objects with a "cycle".
 */
#ifndef PEET_CLI_REPORT_STACKS_H
#define PEET_CLI_REPORT_STACKS_H

#include <stdio.h>
#include <jansson.h>
#include <peet/error.h>

enum { PEET_CLI_CATEGORIES = 32, PEET_CLI_STACK_NAME = 80 };

/** Cycles by category, in the order of peet_cli_account.categories. */
struct peet_cli_stack {
    char name[PEET_CLI_STACK_NAME];
    double cycles[PEET_CLI_CATEGORIES];
};

/** One run.  Functions: the first ones, then "the rest" if there are more. */
struct peet_cli_account {
    char program[PEET_CLI_STACK_NAME], machine[PEET_CLI_STACK_NAME];
    double instructions;
    const char *categories[PEET_CLI_CATEGORIES];
    int ncategories;
    struct peet_cli_stack all, *contexts, *functions;
    int ncontexts, nfunctions;
    const json_t *levels;  /* the node with objects l1d, l2, l3, and perhaps "windows"; NULL: none */
    const json_t *windows; /* counts over time; NULL: none */
    double window_cycles;
};

/** peet_cli_account() - @stats: borrowed.  Returns: 0 and fini is due; PEET_ENOTFOUND: its machine keeps no account;
 * PEET_ENOMEM */
int peet_cli_account(const json_t *stats, int functions, struct peet_cli_account *out_account,
    struct peet_error *error);
void peet_cli_account_fini(struct peet_cli_account *account);

double peet_cli_stack_sum(const struct peet_cli_account *account, const struct peet_cli_stack *stack);

/** peet_cli_is_idle() - whether a category's cycles are none of any instruction: waiting for something to do */
int peet_cli_is_idle(const char *category);

/** peet_cli_account_tables() - tables no wider than a terminal, appended to an array.  Returns: 0, or -1 without memory
 */
int peet_cli_account_tables(json_t *tables, const struct peet_cli_account *accounts, size_t n);

/**
 * peet_cli_csv() - all figures of the runs, and what is drawn, as rows of run, program, kind, name, category and value
 * (RFC 4180)
 * @accounts: of n runs, or NULL; @stats: theirs, for references in space and time; @names: what the runs are called
 */
int peet_cli_csv(const struct peet_cli_account *accounts, json_t *const *stats, json_t *const *figures,
    const char *const *names, size_t n, const char *path, struct peet_error *error);

#endif
