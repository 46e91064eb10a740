/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shallow-water equations on a periodic M x N grid, with the potential-enstrophy conserving
 * differences of R. Sadourny, "The Dynamics of Finite-Difference Models of the Shallow-Water Equations",
 * J. Atmos. Sci. 32 (1975), 680-689, leapfrog in time with a Robert-Asselin filter: the program that the
 * PEET report of 1991 studied as SHALLOW.  With velocities u, v and pressure p (height times gravity), on a
 * staggered grid:
 *
 *   mass fluxes   U = p_x u,  V = p_y v           (p averaged to where u and v stand)
 *   vorticity     z = (dv/dx - du/dy) / p_xy
 *   head          h = p + (u^2_x + v^2_y) / 2
 *   du/dt =  z_y V_xy - dh/dx      dv/dt = -z_x U_xy - dh/dy      dp/dt = -dU/dx - dV/dy
 *
 * Four doall loops over columns: the initial velocities, and in every step the fluxes, the new time level,
 * and the time filter.  What lies between them is sequential: the stream function, the periodic continuation
 * of the fields, and the conservation check.
 *
 *   peetcc -O2 -o shallow shallow.c -lm
 *   peet run --machine bus,protocol=berkeley,cache=128KiB,line=8 --cores 8 -d out -- ./shallow 64 64 10
 *
 * Prints a checksum of the final fields, bit by bit, and the drift of total mass and energy.  Mass is conserved
 * by the differences themselves: its drift is rounding.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <peet/doall.h>

/* Fields are stored by columns: point (i, j) stands at [j * stride + i], i in 0..M, j in 0..N.  Row M repeats
 * row 0 and column N repeats column 0, so that no loop needs a remainder. */
static long M, N, stride;
static double *u, *v, *p;             /* now */
static double *unew, *vnew, *pnew;    /* one step later */
static double *uold, *vold, *pold;    /* one step earlier, filtered */
static double *cu, *cv, *z, *h, *psi; /* mass fluxes, potential vorticity, head, stream function */

static const double dx = 1e5, dy = 1e5; /* metres */
static const double filter = 0.001;
static double tdt = 90.0; /* seconds: dt in the first step, 2 dt after it */

#define AT(field, i, j) ((field)[(j) * stride + (i)])

static double *field_new(void)
{
    double *field = calloc((size_t)(stride * (N + 1)), sizeof *field);
    if (!field) {
        fprintf(stderr, "shallow: out of memory\n");
        exit(1);
    }
    return field;
}

/* ----------------------------------------------------------------------- doall bodies: one column each */

static void initial_velocity(long j, void *unused)
{
    (void)unused;
    for (long i = 0; i < M; i++) {
        AT(u, i + 1, j) = -(AT(psi, i + 1, j + 1) - AT(psi, i + 1, j)) / dy;
        AT(v, i, j + 1) = (AT(psi, i + 1, j + 1) - AT(psi, i, j + 1)) / dx;
    }
}

static void fluxes(long j, void *unused)
{
    (void)unused;
    const double fsdx = 4.0 / dx, fsdy = 4.0 / dy;
    for (long i = 0; i < M; i++) {
        AT(cu, i + 1, j) = 0.5 * (AT(p, i + 1, j) + AT(p, i, j)) * AT(u, i + 1, j);
        AT(cv, i, j + 1) = 0.5 * (AT(p, i, j + 1) + AT(p, i, j)) * AT(v, i, j + 1);
        AT(z, i + 1, j + 1) =
            (fsdx * (AT(v, i + 1, j + 1) - AT(v, i, j + 1)) - fsdy * (AT(u, i + 1, j + 1) - AT(u, i + 1, j))) /
            (AT(p, i, j) + AT(p, i + 1, j) + AT(p, i + 1, j + 1) + AT(p, i, j + 1));
        AT(h, i, j) = AT(p, i, j) + 0.25 * (AT(u, i + 1, j) * AT(u, i + 1, j) + AT(u, i, j) * AT(u, i, j) +
                                               AT(v, i, j + 1) * AT(v, i, j + 1) + AT(v, i, j) * AT(v, i, j));
    }
}

static void new_level(long j, void *unused)
{
    (void)unused;
    const double tdts8 = tdt / 8.0, tdtsdx = tdt / dx, tdtsdy = tdt / dy;
    for (long i = 0; i < M; i++) {
        AT(unew, i + 1, j) = AT(uold, i + 1, j) +
            tdts8 * (AT(z, i + 1, j + 1) + AT(z, i + 1, j)) *
                (AT(cv, i + 1, j + 1) + AT(cv, i, j + 1) + AT(cv, i, j) + AT(cv, i + 1, j)) -
            tdtsdx * (AT(h, i + 1, j) - AT(h, i, j));
        AT(vnew, i, j + 1) = AT(vold, i, j + 1) -
            tdts8 * (AT(z, i + 1, j + 1) + AT(z, i, j + 1)) *
                (AT(cu, i + 1, j + 1) + AT(cu, i, j + 1) + AT(cu, i, j) + AT(cu, i + 1, j)) -
            tdtsdy * (AT(h, i, j + 1) - AT(h, i, j));
        AT(pnew, i, j) = AT(pold, i, j) - tdtsdx * (AT(cu, i + 1, j) - AT(cu, i, j)) -
            tdtsdy * (AT(cv, i, j + 1) - AT(cv, i, j));
    }
}

/* Robert-Asselin: damps the leapfrog's computational mode; then now becomes old and new becomes now. */
static void time_filter(long j, void *unused)
{
    (void)unused;
    for (long i = 0; i < M; i++) {
        AT(uold, i, j) = AT(u, i, j) + filter * (AT(unew, i, j) - 2.0 * AT(u, i, j) + AT(uold, i, j));
        AT(vold, i, j) = AT(v, i, j) + filter * (AT(vnew, i, j) - 2.0 * AT(v, i, j) + AT(vold, i, j));
        AT(pold, i, j) = AT(p, i, j) + filter * (AT(pnew, i, j) - 2.0 * AT(p, i, j) + AT(pold, i, j));
        AT(u, i, j) = AT(unew, i, j);
        AT(v, i, j) = AT(vnew, i, j);
        AT(p, i, j) = AT(pnew, i, j);
    }
}

/* ---------------------------------------------------------------------------------- sequential parts */

/* Row M and row 0, column N and column 0 are the same points.  A loop above wrote one of each pair: `first` says
 * whether it was number 0 (then M gets it) or number M, likewise for columns. */
static void continue_periodically(double *field, int first_row, int first_column)
{
    for (long j = 0; j <= N; j++) {
        if (first_row)
            AT(field, M, j) = AT(field, 0, j);
        else
            AT(field, 0, j) = AT(field, M, j);
    }
    for (long i = 0; i <= M; i++) {
        if (first_column)
            AT(field, i, N) = AT(field, i, 0);
        else
            AT(field, i, 0) = AT(field, i, N);
    }
}

/* Stream function of a standing wave, and the pressure in balance with it. */
static void initial_fields(void)
{
    const double a = 1e6, pi = 3.14159265358979323846;
    const double di = 2.0 * pi / (double)M, dj = 2.0 * pi / (double)N;
    const double el = (double)N * dx, pcf = pi * pi * a * a / (el * el);
    for (long j = 0; j <= N; j++)
        for (long i = 0; i <= M; i++) {
            AT(psi, i, j) = a * sin(((double)i + 0.5) * di) * sin(((double)j + 0.5) * dj);
            AT(p, i, j) = pcf * (cos(2.0 * (double)i * di) + cos(2.0 * (double)j * dj)) + 50000.0;
        }
}

struct budget {
    double mass, energy;
};

static struct budget conserved(void)
{
    struct budget sum = {0.0, 0.0};
    for (long j = 0; j < N; j++)
        for (long i = 0; i < M; i++) {
            double here = AT(p, i, j);
            sum.mass += here;
            sum.energy += 0.5 * here * here +
                0.25 * here * (AT(u, i, j) * AT(u, i, j) + AT(u, i + 1, j) * AT(u, i + 1, j) +
                                  AT(v, i, j) * AT(v, i, j) + AT(v, i, j + 1) * AT(v, i, j + 1));
        }
    return sum;
}

/* FNV-1a over the bits of a field: equal checksums mean equal results, bit by bit. */
static uint64_t checksum(uint64_t hash, const double *field)
{
    for (long k = 0; k < stride * (N + 1); k++) {
        uint64_t bits;
        memcpy(&bits, &field[k], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return hash;
}

static void step(long number)
{
    peet_doall(0, N, PEET_DOALL_DEFAULT, 0, fluxes, NULL);
    continue_periodically(cu, 0, 1);
    continue_periodically(cv, 1, 0);
    continue_periodically(z, 0, 0);
    continue_periodically(h, 1, 1);

    peet_doall(0, N, PEET_DOALL_DEFAULT, 0, new_level, NULL);
    continue_periodically(unew, 0, 1);
    continue_periodically(vnew, 1, 0);
    continue_periodically(pnew, 1, 1);

    peet_doall(0, N, PEET_DOALL_DEFAULT, 0, time_filter, NULL);
    continue_periodically(uold, 1, 1);
    continue_periodically(vold, 1, 1);
    continue_periodically(pold, 1, 1);
    continue_periodically(u, 1, 1);
    continue_periodically(v, 1, 1);
    continue_periodically(p, 1, 1);
    if (number == 0)
        tdt += tdt;
}

static long argument(int argc, char **argv, int index, long preset, long min, long max)
{
    char *end;
    if (index >= argc)
        return preset;
    long value = strtol(argv[index], &end, 10);
    if (end == argv[index] || *end || value < min || value > max) {
        fprintf(stderr, "usage: shallow [M [N [STEPS [CHECK_EVERY]]]]   (M, N: 2 to 8192)\n");
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    M = argument(argc, argv, 1, 64, 2, 8192);
    N = argument(argc, argv, 2, M, 2, 8192);
    long steps = argument(argc, argv, 3, 10, 0, 100000000);
    long check_every = argument(argc, argv, 4, 4, 1, 100000000);
    double **fields[] = {&u, &v, &p, &unew, &vnew, &pnew, &uold, &vold, &pold, &cu, &cv, &z, &h, &psi};
    const size_t nfields = sizeof fields / sizeof *fields;
    stride = M + 1;
    for (size_t f = 0; f < nfields; f++)
        *fields[f] = field_new();

    initial_fields();
    peet_doall(0, N, PEET_DOALL_DEFAULT, 0, initial_velocity, NULL);
    continue_periodically(u, 0, 1);
    continue_periodically(v, 1, 0);
    memcpy(uold, u, (size_t)(stride * (N + 1)) * sizeof *u);
    memcpy(vold, v, (size_t)(stride * (N + 1)) * sizeof *v);
    memcpy(pold, p, (size_t)(stride * (N + 1)) * sizeof *p);

    struct budget start = conserved();
    double mass_drift = 0.0, energy_drift = 0.0;
    for (long s = 0; s < steps; s++) {
        step(s);
        if ((s + 1) % check_every == 0 || s + 1 == steps) {
            struct budget now = conserved();
            mass_drift = fmax(mass_drift, fabs(now.mass - start.mass) / start.mass);
            energy_drift = fmax(energy_drift, fabs(now.energy - start.energy) / start.energy);
        }
    }

    uint64_t hash = checksum(checksum(checksum(14695981039346656037u, u), v), p);
    printf("shallow water, %ld x %ld points, %ld steps\n", M, N, steps);
    printf("checksum      %016llx\n", (unsigned long long)hash);
    printf("mass drift    %.3e\n", mass_drift);
    printf("energy drift  %.3e\n", energy_drift);
    for (size_t f = 0; f < nfields; f++)
        free(*fields[f]);
    if (!(mass_drift < 1e-11)) {
        fprintf(stderr, "shallow: mass is not conserved\n");
        return 1;
    }
    return 0;
}
