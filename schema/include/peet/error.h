/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes and the error record that slow paths fill.  Every library here returns 0 or a negative
 * peet_err; none prints, none exits.  The first error wins: peet_error_set() on a record that already
 * holds one does nothing.
 */
#ifndef PEET_ERROR_H
#define PEET_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text) */
#define PEET_ERRORS(X) \
    X(OK, 0, "no error") \
    X(ENOMEM, -1, "out of memory") \
    X(EIO, -2, "input/output error") \
    X(EFORMAT, -3, "damaged or foreign file") \
    X(EVERSION, -4, "unsupported version") \
    X(ENOTFOUND, -5, "not found") \
    X(EINVALID, -6, "invalid argument") \
    X(ESTREAM, -7, "inconsistent event stream") \
    X(EDEADLOCK, -8, "deadlock") \
    X(EMODULE, -9, "module failure") \
    X(ELIMIT, -10, "limit exceeded") \
    X(EUNSUPPORTED, -11, "unsupported")

enum peet_err {
#define PEET_X(name, value, text) PEET_##name = value,
    PEET_ERRORS(PEET_X)
#undef PEET_X
};

struct peet_error {
    int code;           /* a peet_err; 0 while nothing went wrong */
    char message[1000]; /* one line: what, where, what to do */
};

/**
 * peet_error_set() - record an error, unless one is recorded already
 * @error: may be NULL
 * @code: a negative peet_err
 * @format: printf format of the message
 *
 * Returns: @code
 */
int peet_error_set(struct peet_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** peet_err_text() - the text of a peet_err; never NULL */
const char *peet_err_text(int code);

#ifdef __cplusplus
}
#endif
#endif
