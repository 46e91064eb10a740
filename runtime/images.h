/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loaded images hold recorded code.  Called by signals.c, also from a signal handler.
 */
#ifndef PEET_IMAGES_H
#define PEET_IMAGES_H

#include <stdint.h>

/** Look at what is loaded now. */
void peet__images_find(void);

/** Whether pc lies in an image that records nothing (and is not this library).  Unknown images: no. */
int peet__image_records_nothing(uint64_t pc);

#endif
