/* SPDX-License-Identifier: Apache-2.0 */
/* Peterson's algorithm for two.  Without the fence both may read the other's wish before their own is seen. */
#include "mutual.h"

static void enter(int me)
{
    put(want[me], 1);
    FENCE();
    put(turn, !me);
    FENCE();
    while (get(want[!me]) && get(turn) == !me)
        ;
    FENCE();
}

static void leave(int me)
{
    FENCE();
    put(want[me], 0);
}
