/* SPDX-License-Identifier: Apache-2.0 */
/* Data profiles as stacked bars, one for each run, drawn by gnuplot; see report.h. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
enum { WIDTH = 620, HEIGHT = 420 };


static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#f0e442", "#000000", "#7f3b08", "#542788" };

/* A name inside gnuplot's quotes. */
static void put_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(strchr("\"\\'`_^{}@&", *name) || (unsigned char)*name < ' ' ? '-' : *name, out);
}

static void put_data(FILE *out, const struct peet_cli_profile *profiles, size_t n, int panel, const double *(*of)(const struct peet_cli_profile *, int), int level)
{
    fprintf(out, "$panel%d << END\n", panel);
    for (size_t k = 0; k < n; k++) {
        const double *parts = of(&profiles[k], level);
        double sum = peet_cli_sum(parts, profiles[k].parts);
        fputc('"', out);
        put_name(out, profiles[k].program);
        fputc('"', out);
        for (int i = 0; i < profiles[k].parts; i++)
            fprintf(out, " %.6g", sum > 0 ? parts[i] * 100 / sum : 0);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static const double *accesses_of(const struct peet_cli_profile *p, int level)
{
    return level ? p->misses[level - 1] : p->accesses;
}

static const double *misses_of(const struct peet_cli_profile *p, int level)
{
    return p->misses[level];
}

static const double *stalls_of(const struct peet_cli_profile *p, int level)
{
    (void)level;
    return p->stalls;
}

static void put_rates(FILE *out, const struct peet_cli_profile *profiles, size_t n, int panel, int level)
{
    fprintf(out, "$panel%d << END\n", panel);
    for (size_t k = 0; k < n; k++) {
        const double *accesses = accesses_of(&profiles[k], level), *misses = profiles[k].misses[level];
        fputc('"', out);
        put_name(out, profiles[k].program);
        fputc('"', out);
        for (int i = 0; i < profiles[k].parts; i++)
            fprintf(out, " %.6g", accesses[i] > 0 ? misses[i] * 100 / accesses[i] : 0);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void plot(FILE *out, const struct peet_cli_profile *p, int panel, const char *title, const char *name, int stacked)
{
    char part[8];
    fputs("set title \"", out);
    put_name(out, title);
    put_name(out, name);
    fprintf(out, "\"\nset style histogram %s\nset yrange [0:%s]\n", stacked ? "rowstacked" : "clustered gap 1", stacked ? "100" : "*");
    for (int i = 0; i < p->parts; i++) {
        const char *colour = i >= p->top ? (i == p->top ? "#999999" : "#dddddd") : colours[i % (int)(sizeof(colours) / sizeof(colours[0]))];
        fprintf(out, "%s $panel%d using %d%s linecolor rgb \"%s\" title \"%s\"", i ? "," : "plot", panel, i + 2, i ? "" : ":xtic(1)", colour,
            peet_cli_part_name(p, i, part));
    }
    fputc('\n', out);
}

static void plot_premature(FILE *out, const struct peet_cli_profile *profiles, size_t n, int panel, int level)
{
    fprintf(out, "$panel%d << END\n", panel);
    for (size_t k = 0; k < n; k++) {
        double all = profiles[k].same[level] + profiles[k].other[level];
        fputc('"', out);
        put_name(out, profiles[k].program);
        fprintf(out, "\" %.6g %.6g\n", all > 0 ? profiles[k].same[level] * 100 / all : 0, all > 0 ? profiles[k].other[level] * 100 / all : 0);
    }
    fputs("END\nset title \"premature evictions: ", out);
    put_name(out, profiles->levels[level]);
    fprintf(out, "\"\nset style histogram rowstacked\nset yrange [0:100]\n"
        "plot $panel%d using 2:xtic(1) linecolor rgb \"#0072b2\" title \"same\", $panel%d using 3 linecolor rgb \"#d55e00\" title \"different\"\n",
        panel, panel);
}

static void script(FILE *out, const struct peet_cli_profile *profiles, size_t n, const char *type, const char *path)
{
    int levels = profiles->nlevels, panels, columns = 2, rows, panel = 0;
    double stalls = 0;
    for (size_t k = 0; k < n; k++) {
        levels = profiles[k].nlevels < levels ? profiles[k].nlevels : levels;
        stalls += peet_cli_sum(profiles[k].stalls, profiles[k].parts);
    }
    panels = 1 + 2 * levels + (stalls > 0) + levels;
    rows = (panels + columns - 1) / columns;
    if (strcmp(type, "pdf") == 0)
        fprintf(out, "set terminal pdfcairo size %g,%g font \"Sans,9\"\n", WIDTH * columns / 100.0, HEIGHT * rows / 100.0);
    else
        fprintf(out, "set terminal %s size %d,%d font \"%s,13\" background \"white\"\n", strcmp(type, "svg") == 0 ? "svg" : "pngcairo", WIDTH * columns,
            HEIGHT * rows, strcmp(type, "svg") == 0 ? "Helvetica" : "Sans");
    fputs("set output \"", out);
    for (const char *c = path; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        fputc(*c, out);
    }
    fprintf(out, "\"\nset multiplot layout %d,%d\nset style data histograms\nset style fill solid border rgb \"black\"\nset boxwidth 0.75\n"
        "set grid ytics linecolor rgb \"#dddddd\"\nset key outside right vertical\nset xtics rotate by -30\nset ylabel \"percent\"\n", rows, columns);
    put_data(out, profiles, n, panel, accesses_of, 0);
    plot(out, profiles, panel++, "accesses", "", 1);
    for (int l = 0; l < levels; l++) {
        put_data(out, profiles, n, panel, misses_of, l);
        plot(out, profiles, panel++, "misses: ", profiles->levels[l], 1);
        put_rates(out, profiles, n, panel, l);
        plot(out, profiles, panel++, "miss rates: ", profiles->levels[l], 0);
    }
    if (stalls > 0) {
        put_data(out, profiles, n, panel, stalls_of, 0);
        plot(out, profiles, panel++, "stall cycles", "", 1);
    }
    for (int l = 0; l < levels; l++)
        plot_premature(out, profiles, n, panel++, l);
    fputs("unset multiplot\nset output\n", out);
}

int peet_cli_profile_plot(const struct peet_cli_profile *profiles, size_t n, const char *path, struct peet_error *error)
{
    const char *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0 && strcmp(dot, ".pdf") != 0))
        return peet_error_set(error, PEET_EINVALID, "--plot: '%s' must end with .svg, .png or .pdf", path);
    if (strchr(path, '\n'))
        return peet_error_set(error, PEET_EINVALID, "--plot: the file's name has a line break");
    FILE *there = fopen(path, "we"); /* gnuplot's own message would be hard to understand */
    if (!there)
        return peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno));
    fclose(there);
    fflush(NULL);
    FILE *out = popen("exec gnuplot -", "we");
    if (!out)
        return peet_error_set(error, PEET_EIO, "cannot start gnuplot: %s", strerror(errno));
    script(out, profiles, n, dot + 1, path);
    if (pclose(out) != 0)
        return peet_error_set(error, PEET_EIO, "gnuplot failed; is it installed (Debian: gnuplot-nox)?");
    return 0;
}
