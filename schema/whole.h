/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are there whole or not at all: written under a temporary name beside the final one, and renamed.  A link is
 * followed: what it points to is replaced, and the link stays.  Devices, pipes, and what this process has as its standard
 * output or error are written where they are: no file must take their place.  Who opens the file and writes it is the
 * caller's matter (mapper/base/files.c, trace/recorder.c, trace/insns.c).
 */
#ifndef PEET_WHOLE_H
#define PEET_WHOLE_H

struct peet_whole;

/** peet_whole_new() - before a file of that name is written.  Returns: NULL: no memory */
struct peet_whole *peet_whole_new(const char *path);
/** peet_whole_name() - the name under which it is to be written */
const char *peet_whole_name(const struct peet_whole *w);
/** peet_whole_stream() - the standard output or error that it is, to be written behind what stands there.  Returns: a
 * descriptor, or -1: it is neither */
int peet_whole_stream(const struct peet_whole *w);
/** peet_whole_place() - it is written and closed: it gets its name.  Returns: 0, or errno, and then nothing remains */
int peet_whole_place(struct peet_whole *w);
/** peet_whole_drop() - nothing remains of it, unless it was written in place.  @w: or NULL */
void peet_whole_drop(struct peet_whole *w);

/** peet_whole_guard() - from now on a signal that ends this process removes temporary files before; for peet's own
 * commands, at their beginning, and not for subjects, whose signals are theirs */
void peet_whole_guard(void);

#endif
