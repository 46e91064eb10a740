/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edit distance with neighbour swaps (optimal string alignment), for suggestions in messages.
 */
#include "base/names.h"

#include <string.h>
#include <strings.h>
#include <ctype.h>

enum { LONGEST = 63 };

static unsigned min2(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned peet_names_distance(const char *a, const char *b)
{
    unsigned char d[LONGEST + 1][LONGEST + 1];
    size_t la = strnlen(a, LONGEST), lb = strnlen(b, LONGEST);

    for (size_t i = 0; i <= la; i++)
        d[i][0] = (unsigned char)i;
    for (size_t j = 0; j <= lb; j++)
        d[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= la; i++)
        for (size_t j = 1; j <= lb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            unsigned best = min2(d[i - 1][j] + 1u, d[i][j - 1] + 1u);

            best = min2(best, d[i - 1][j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && tolower((unsigned char)a[i - 2]) == cb)
                best = min2(best, d[i - 2][j - 2] + 1u);
            d[i][j] = (unsigned char)best;
        }
    return d[la][lb];
}

const char *peet_names_nearest(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned distance = peet_names_distance(name, names[i]);
        size_t length = strlen(name), shorter = strlen(names[i]);
        unsigned most;

        if (shorter > length)
            shorter = length;
        most = (unsigned)(strlen(name) + 2) / 3;
        /* an unfinished word is as good as a near one */
        if (length >= 3 && shorter == length && !strncasecmp(name, names[i], length))
            distance = 1;
        if (distance <= most && (!best || distance < best_distance)) {
            best = names[i];
            best_distance = distance;
        }
    }
    return best;
}
