/* SPDX-License-Identifier: Apache-2.0 */
/* The images of the run: the program, its libraries, what it loads; see images.c. */
#ifndef PEET_HOST_IMAGES_H
#define PEET_HOST_IMAGES_H

#include <peet/error.h>

#include <stdint.h>

struct peet_program;
struct peet_replay;

/**
 * peet_host_load_program() - read the schemas of all images, and prepare to read those of later ones
 * @name: the program's, for messages
 * @without: a program without any schema will do
 * @replay: the trace that stands for the process, or NULL; it stays the caller's and must outlive *@out
 * @out: the program; set also after an error, the caller frees it
 *
 * Call it once.  Returns: 0, PEET_EFORMAT if no image has a schema, or another peet_err
 */
int peet_host_load_program(const char *name, int without, struct peet_replay *replay, struct peet_program **out,
    struct peet_error *error);

/** Reads the image that holds the address @pc.  Returns: how many were added (0: none holds it, or it has no schema),
 * or a peet_err, which has been reported */
int peet_host_find_image(uint64_t pc);

#endif
