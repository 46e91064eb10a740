/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch rings of threads; see ring.c. */
#ifndef PEET_PLAIN_RING_H
#define PEET_PLAIN_RING_H

#include "control.h"

/** A control page with a scratch ring behind it for the calling thread, whose base of gs leads there from now on.
 * NULL: there is none left, and it records into the first thread's. */
struct peet__control *peet__ring_take(void);
/** Such a page lies in shared memory from now on, where this page of it is. */
void peet__ring_share(struct peet__control *control, void *page);
/** In a child of fork(): none does any more. */
void peet__ring_unshare(void);

#endif
