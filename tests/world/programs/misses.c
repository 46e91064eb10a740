/* SPDX-License-Identifier: Apache-2.0 */
/* The same work by a call of the library and by a loop written out: "library copy", "loop copy" ... */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 1 << 16 };
static uint64_t from[WORDS] __attribute__((aligned(4096))), to[WORDS] __attribute__((aligned(4096)));
uint64_t *volatile source = from, *volatile target = to;
volatile int found;

int main(int argc, char **argv)
{
    int library = argv[1][1] == 'i', n = argc > 3 ? WORDS / 128 : WORDS; /* a third argument: little enough for the cache, twice */
    uint64_t *s = source, *t = target;
    for (int round = 0; round < (argc > 3 ? 2 : 1); round++)
        switch (argv[2][0]) {
        case 'c': /* copy */
            if (library)
                memcpy(t, s, (size_t)n * 8);
            else
                for (int k = 0; k < n; k++)
                    t[k] = s[k];
            break;
        case 'f': /* fill */
            if (library)
                memset(t, 1, (size_t)n * 8);
            else
                for (int k = 0; k < n; k++)
                    t[k] = 0x0101010101010101u;
            break;
        case 's': /* search */
            if (library) {
                found += memchr(s, 1, (size_t)n * 8) != NULL;
            } else {
                int got = 0;
                for (int k = 0; k < n; k++)
                    got |= (int)s[k];
                found += got;
            }
            break;
        default:
            break;
        }
    return 0;
}
