/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between world_stdio.c (streams) and world_format.c (printf and scanf): taking turns on a stream, and getting bytes in
 * and out without stopping the process.
 */
#ifndef PEET_WORLD_STDIO_H
#define PEET_WORLD_STDIO_H

#include <stdio.h>

/** In simulated-time order, and while another context holds the stream, not before it lets go.  Returns: for leave() */
int peet__stream_enter(FILE *f);
void peet__stream_leave(FILE *f, int locked);
/** Before the library fills an empty buffer: wait for the descriptor.  Returns: 0, or EOF and errno */
int peet__stream_fill(FILE *f);
/** Whether its output may have to wait for another context. */
int peet__stream_waits(FILE *f);
/** Write out what waits in the buffer of such a stream.  Returns: 0 or EOF */
int peet__stream_drain(FILE *f);
/** fwrite() of so many bytes, which waits in simulated time.  Returns: how many */
size_t peet__stream_put(FILE *f, const char *bytes, size_t n);

#endif
