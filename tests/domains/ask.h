/* SPDX-License-Identifier: Apache-2.0 */
/* What the subject of these tests asks its host: YIELD events of four arguments, the first of which is one of these. */
#ifndef ASK_H
#define ASK_H

#include <stdint.h>

enum {
    ASK_TURN = 1, /* others run */
    ASK_GO,       /* view */
    ASK_READ,     /* view, address: a word */
    ASK_WRITE,    /* view, address, word */
    ASK_PERFORM,  /* mask, address, word */
    ASK_COPIED,   /* address */
    ASK_REFRESH,  /* view, address, bytes */
    ASK_TIDY,     /* view */
    ASK_COMMIT,   /* view, to, hide */
    ASK_DIFF,     /* view: bytes */
    ASK_PAGES,    /* view */
    ASK_OUTSIDE,  /* view */
    ASK_CLASS,    /* address */
    ASK_STORED,   /* view, address, bytes */
    ASK_FORK,     /* view, address */
    ASK_VIEWS,
};

#endif
