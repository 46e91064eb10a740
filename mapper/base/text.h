/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values from text, as users write them.  Each function takes the whole text or refuses it.
 */
#ifndef PEET_TEXT_H
#define PEET_TEXT_H

#include <stdint.h>

/** peet_text_u64() - 10, 0x10; no sign.  Returns: 0, PEET_EINVALID, or PEET_ELIMIT beyond 64 bits */
int peet_text_u64(const char *text, uint64_t *out_value);

/** peet_text_size() - a number with B, k, K, KB, KiB, M, … T: all powers of 1024.  Returns: as above */
int peet_text_size(const char *text, uint64_t *out_bytes);

/** peet_text_count() - a number with k, M, G or T: powers of 1000.  Returns: as above */
int peet_text_count(const char *text, uint64_t *out_value);

/** peet_text_f64() - a finite decimal number, with '.' whatever the locale */
int peet_text_f64(const char *text, double *out_value);

/** peet_text_bool() - on off true false yes no 1 0 */
int peet_text_bool(const char *text, uint64_t *out_value);

/** peet_text_choice() - index of @text in "a|b|c".  Returns: the index or PEET_EINVALID */
int peet_text_choice(const char *text, const char *choices);

/** peet_text_dup() - format into new memory; NULL: out of memory */
char *peet_text_dup(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
