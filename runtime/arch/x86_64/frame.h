/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stub has saved (stub.S): the words of its frame.
 */
#ifndef PEET_FRAME_H
#define PEET_FRAME_H

enum peet__frame { R15, R14, R13, R12, R11, R10, R9, R8, RDI, RSI, RBP, RBX, RDX, RCX, RAX, FLAGS, PC, STUB_WORDS };

/* Compiled code steps over the red zone before it calls a stub. */
#define RED_ZONE_BYTES 128

#endif
