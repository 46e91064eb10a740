/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running the subject as a child: its fixed environment, no address randomisation, a stack of known
 * size, the pipe for what the host inside it has to say, and signals passed on to it.
 */
#ifndef PEET_CLI_SUPERVISE_H
#define PEET_CLI_SUPERVISE_H

#include <stdint.h>

#include <peet/error.h>

struct peet_cli_subject {
    const char *path;        /* the executable */
    char **argv;             /* argv[0] is what the user called it; NULL at the end */
    const char *config_path; /* absolute */
    const char *output;      /* absolute */
    const char *lib_dir;     /* <prefix>/lib */
    uint64_t stack_bytes;    /* of the main thread */
    uint64_t processors;     /* that constructors of libraries are told of, before there is a machine */
    int quiet;               /* the host says nothing but what is wrong */
    int pin_variants;        /* the C library's choice of memcpy() and its like does not go by this processor */
    int libraries_low;       /* they lie below the program, so that views of memory have room above both */
    int each_event;          /* contexts stop at each event, also one that is alone: somebody asks where they stand */
    int is_foreign;          /* it does not load the runtime by itself */
    int brings_openmp;       /* an OpenMP library, but not peet's (openmp.h) */
    int show_progress;
    uint64_t expected_instructions; /* for the progress line; 0: not known */
    void (*begun)(void *arg);       /* called when the program has executed something, soon after it has; or NULL */
    void *begun_arg;
};

struct peet_cli_ending {
    int wait_status;  /* as of waitpid() */
    unsigned reports; /* lines that the host had to say; they are on standard error already */
    double seconds;   /* of the host's clock */
};

/** peet_cli_supervise() - start the subject and see it to its end.  Returns: 0 or PEET_EIO, PEET_EINVALID, PEET_ENOMEM
 */
int peet_cli_supervise(const struct peet_cli_subject *subject, struct peet_cli_ending *out_ending,
    struct peet_error *error);

/** peet_cli_end_like() - give a wait status on: its exit status, or this process dies of the same signal */
int peet_cli_end_like(int wait_status);

#endif
