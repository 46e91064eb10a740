/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first differences of an edit script, noted while it is found (schema/trace/compare.h).
 */
#ifndef PEET_CLI_COMPARE_LIST_H
#define PEET_CLI_COMPARE_LIST_H

#include <stddef.h>

/** A difference: what is only in A, or only in B, and so many that both have behind it. */
struct peet_cli_difference {
    size_t a, deleted, b, inserted, after;
};

struct peet_cli_listing {
    size_t at_a, at_b;
    struct peet_cli_difference *differences;
    size_t n, room, most;
    int is_last; /* the last one that was found is among them */
    int no_memory;
};

/** peet_cli_listing_match() - a peet_match; @arg: the listing.  At the end it is called once more, with what is behind both
 *  sequences and 0.  The differences are the caller's to free */
void peet_cli_listing_match(void *arg, size_t a, size_t b, size_t n);

#endif
