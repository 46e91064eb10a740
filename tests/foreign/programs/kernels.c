/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of instructions whose costs depend on more than their names: zero idioms, addresses that are computed, conditions,
 * shifts of two registers, square roots, shuffles.  A file of its own: compiled by peetcc or not, it is the same code. */
typedef int vector __attribute__((vector_size(16)));
unsigned long kernel(int which, unsigned long x, int n);

unsigned long kernel(int which, unsigned long x, int n)
{
    unsigned long y = x * 7 + 1;
    double d = (double)(x | 1);
    vector v = {(int)x, 2, 3, 4}, w = v;

    switch (which) {
    case 0: /* setcc into a register that was made zero */
        for (int i = 0; i < n; i++)
            x = x * 3 + (x > y) + (y == x * 5);
        return x;
    case 1: /* lea of three parts */
        for (int i = 0; i < n; i++)
            x = (x + y * 4 + 9) ^ (x + y);
        return x;
    case 2: /* cmov */
        for (int i = 0; i < n; i++) {
            x = x * 5 + 1;
            x = x > y ? x - y : x;
            y = (long)y < (long)x ? y + 3 : y;
        }
        return x + y;
    case 3: /* shld */
        for (int i = 0; i < n; i++) {
            x = (x << 5) | (y >> 59);
            y = (y << 11) | (x >> 53);
        }
        return x + y;
    case 4: /* sqrtsd */
        for (int i = 0; i < n; i++)
            d = __builtin_sqrt(d) + 1.0;
        return (unsigned long)(d * 1e6);
    case 5: /* pshufd */
        for (int i = 0; i < n; i++) {
            w = __builtin_shufflevector(v, v, 3, 1, 0, 2) + w;
            v = __builtin_shufflevector(w, w, 1, 2, 3, 0);
        }
        return (unsigned)(v[0] + w[1]);
    }
    return 0;
}
