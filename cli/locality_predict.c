/* SPDX-License-Identifier: Apache-2.0 */
/* What caches do with a stream that has a signature, and how far two surfaces are apart. */
#include "locality.h"

#include <math.h>

double peet_cli_surface_error(const struct peet_sim_tally *a, const struct peet_sim_tally *b, unsigned first,
    unsigned last, double *out_most)
{
    double sum = 0, most = 0;
    unsigned n = 0;
    for (unsigned w = first; w <= last; w++)
        for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++, n++) {
            double d = 100 * fabs(peet_cli_hit_rate(a, w, k) - peet_cli_hit_rate(b, w, k));
            sum += d;
            most = d > most ? d : most;
        }
    if (out_most)
        *out_most = most;
    return n ? sum / n : 0;
}

/* Of a reference with this reuse distance: the chance that fewer than `ways` of the lines in between went to its set,
 * if each goes to any set (Smith, IEEE TSE 4(2), 1978; Hill and Smith, IEEE ToC 38(12), 1989). */
static double survives(double distance, double sets, unsigned ways)
{
    double p = 1 / sets, sum = 0;
    if (sets <= 1)
        return distance < ways;
    for (unsigned i = 0; i < ways && i <= distance; i++)
        sum += exp(lgamma(distance + 1) - lgamma(i + 1.0) - lgamma(distance - i + 1) + i * log(p) +
            (distance - i) * log1p(-p));
    return sum > 1 ? 1 : sum;
}

double peet_cli_associative(const struct peet_sim_tally *t, unsigned width, double sets, unsigned ways)
{
    enum { PARTS = 16 }; /* a bucket's distances, as if each were as likely as any other */
    double hits = 0;
    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++) {
        double from = k ? (double)(1u << (k - 1)) : 0, to = k ? (double)(1u << k) - 1 : 0, chance = 0;
        int parts = to - from < PARTS ? (int)(to - from) + 1 : PARTS;
        for (int i = 0; i < parts; i++)
            chance +=
                survives(parts == 1 ? from : floor(from + (to - from) * i / (parts - 1) + 0.5), sets, ways) / parts;
        hits += chance * (double)t->reuse[width][k];
    }
    return t->references ? hits / (double)t->references : 0;
}
