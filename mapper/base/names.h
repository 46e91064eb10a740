/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helping with misspelt names: the nearest of a list by edit distance.  Used wherever a user types a
 * name: parameters, modules, keys of the configuration file, command line options.
 */
#ifndef PEET_NAMES_H
#define PEET_NAMES_H

#include <stddef.h>

/** peet_names_distance() - edits (insert, delete, replace, swap neighbours) from one name to another;
 *  names longer than 63 characters are compared by their first 63 */
unsigned peet_names_distance(const char *a, const char *b);

/**
 * peet_names_nearest() - the entry that the user most likely meant
 * Returns: an entry of @names, or NULL if none is near (more than a third of the name would change)
 */
const char *peet_names_nearest(const char *name, const char *const *names, size_t n);

#endif
