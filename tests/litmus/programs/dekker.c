/* SPDX-License-Identifier: Apache-2.0 */
/* Dekker's algorithm. */
#include "mutual.h"

static void enter(int me)
{
    put(want[me], 1);
    FENCE();
    while (get(want[!me]))
        if (get(turn) != me) {
            put(want[me], 0);
            FENCE();
            while (get(turn) != me)
                ;
            put(want[me], 1);
            FENCE();
        }
    FENCE();
}

static void leave(int me)
{
    FENCE();
    put(turn, !me);
    FENCE();
    put(want[me], 0);
}
