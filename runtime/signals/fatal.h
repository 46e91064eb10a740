/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subject's violent end: a signal that nobody handles.  Called by signals.c.
 */
#ifndef PEET_FATAL_H
#define PEET_FATAL_H

#include <signal.h>
#include <stdint.h>

struct peet_ctx;

/** Whether this signal ends a process that does nothing about it. */
int peet__fatal_by_default(int signal);

/** Whether it is a fault of the instruction at hand, as opposed to one that somebody sent. */
int peet__fatal_is_fault(int signal, const siginfo_t *info);

/** Handler: lets the host write its results, then ends the process by the same signal. */
void peet__fatal(int signal, siginfo_t *info, void *uc);

/** Handler, in the host's world: should no context be resumed for so long, the host hangs, and this signal ends the
 * run. */
void peet__fatal_watch(int signal, int seconds);
/** Handler: is this the signal of peet__fatal_watch() itself?  Then it has been dealt with. */
int peet__fatal_watched(int signal, const siginfo_t *info, void *uc);

/** The real time, not the simulated one, on the monotonic clock, in ns.  Handlers may ask. */
uint64_t peet__real_ns(void);

/** Where the program's time goes (unseen.c): none before the next context is resumed or the next visit ends: for
 * calls that a signal would end. */
void peet__sample_pause(void);
/** Whether this signal was none of the subject's but a sample's, which it blocks; then the next one is due. */
int peet__sample_taken(const siginfo_t *info);
/** ... no sample any more. */
void peet__sample_end(void);

/** Reserve the stacks that this needs. */
void peet__fatal_begin(void);

/** A fault of the host goes to this handler (AddressSanitizer's), one of the subject does not. */
void peet__fatal_host_handler(int signal, const struct sigaction *action);

/** Host world: a fatal signal came while the host was at work, and it is at rest now. */
void peet__fatal_deferred(void);

#endif
