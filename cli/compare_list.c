/* SPDX-License-Identifier: Apache-2.0 */
/* See compare_list.h. */
#include "compare_list.h"

#include <stdlib.h>

static int room_for_another(struct peet_cli_listing *l)
{
    const size_t room = l->room ? 2 * l->room : 64;
    struct peet_cli_difference *more;

    if (l->n < l->room)
        return 1;
    more = realloc(l->differences, room * sizeof *more);
    if (!more) {
        l->no_memory = 1;
        return 0;
    }
    l->differences = more;
    l->room = room;
    return 1;
}

void peet_cli_listing_match(void *arg, size_t a, size_t b, size_t n)
{
    struct peet_cli_listing *l = arg;

    if (a > l->at_a || b > l->at_b) {
        l->is_last = l->n < l->most && room_for_another(l);
        if (l->is_last)
            l->differences[l->n++] = (struct peet_cli_difference){l->at_a, a - l->at_a, l->at_b, b - l->at_b, n};
    } else if (l->is_last) { /* the same run, at the edge of a window */
        l->differences[l->n - 1].after += n;
    }
    l->at_a = a + n;
    l->at_b = b + n;
}
