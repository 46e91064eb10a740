/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by gnuplot; see picture.h. */
#include "picture.h"
#include "program.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 1200, LINE = 24, AROUND = 112, NAME = 44, COLUMNS = 200 };

int peet_cli_picture_check(const char *path, struct peet_error *error)
{
    const char *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".svg") != 0 && strcmp(dot, ".png") != 0 && strcmp(dot, ".pdf") != 0))
        return peet_error_set(error, PEET_EINVALID, "--plot: '%s' must end with .svg, .png or .pdf", path);
    if (strchr(path, '\n'))
        return peet_error_set(error, PEET_EINVALID, "--plot: the file's name has a line break");
    struct peet_error ignored = {0};
    char *gnuplot = NULL;
    int err = peet_cli_program_find("gnuplot", &gnuplot, &ignored)
        ? peet_error_set(error, PEET_EIO, "--plot: gnuplot is not on PATH (Debian: gnuplot-nox)")
        : 0;
    free(gnuplot);
    return err;
}

/** gnuplot does not say that it could not write: is the picture there to its end? */
static int is_whole(const char *path)
{
    const char *dot = strrchr(path, '.'),
               *mark = !strcmp(dot, ".svg") ? "</svg>"
        : !strcmp(dot, ".png")              ? "IEND"
                                            : "%%EOF";
    char end[64];
    FILE *file = fopen(path, "re");
    size_t n = 0;

    if (!file)
        return 0;
    if (!fseek(file, 0, SEEK_END) &&
        !fseek(file, -(ftell(file) < (long)sizeof end ? ftell(file) : (long)sizeof end), SEEK_END))
        n = fread(end, 1, sizeof end, file);
    fclose(file);
    return memmem(end, n, mark, strlen(mark)) != NULL;
}

int peet_cli_gnuplot(const char *path, void (*script)(FILE *out, const char *ending, const char *path, const void *arg),
    const void *arg, struct peet_error *error)
{
    int err = peet_cli_picture_check(path, error);
    if (err)
        return err;
    FILE *there = fopen(path, "we"); /* gnuplot's own message would be hard to understand */
    if (!there)
        return peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno));
    fclose(there);
    fflush(NULL);
    FILE *out = popen("exec gnuplot -", "we");
    if (!out)
        return peet_error_set(error, PEET_EIO, "cannot start gnuplot: %s", strerror(errno));
    script(out, strrchr(path, '.') + 1, path, arg);
    if (pclose(out) != 0)
        return peet_error_set(error, PEET_EIO, "gnuplot failed; is it installed (Debian: gnuplot-nox)?");
    if (!is_whole(path)) {
        unlink(path);
        return peet_error_set(error, PEET_EIO, "cannot write %s: gnuplot has not written all of it; is the disk full?",
            path);
    }
    return 0;
}

void peet_cli_picture_begin(FILE *out, const char *ending, const char *path, int width, int height)
{
    if (strcmp(ending, "pdf") == 0)
        fprintf(out, "set terminal pdfcairo size %g,%g font \"Sans,9\" noenhanced\n", width / 100.0, height / 100.0);
    else
        fprintf(out, "set terminal %s size %d,%d font \"%s,13\" background \"white\" noenhanced\n",
            strcmp(ending, "svg") == 0 ? "svg" : "pngcairo", width, height,
            strcmp(ending, "svg") == 0 ? "Helvetica" : "Sans");
    fputs("set output \"", out);
    for (const char *c = path; *c; c++) {
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        fputc(*c, out);
    }
    fputs("\"\n", out);
}

void peet_cli_picture_name(FILE *out, const char *name, int columns)
{
    char clean[4 * COLUMNS + 8];
    peet_cli_text_clean(clean, sizeof(clean), name, columns < COLUMNS ? columns : COLUMNS);
    for (const char *c = clean; *c; c++)
        fputc(strchr("\"\\`", *c) ? '-' : *c, out);
}

/* Its lines: where it is, from the top; the value; the name.  What is written beside it are labels. */
static void put_bars(FILE *out, const struct peet_cli_bars *group, size_t number)
{
    fprintf(out, "$bars%zu << END\n", number);
    for (size_t i = 0; i < group->n; i++) {
        fprintf(out, "%zu %.9g \"", i, group->bars[i].value);
        peet_cli_picture_name(out, group->bars[i].name, NAME);
        fputs("\"\n", out);
    }
    fputs("END\nunset label\n", out);
    for (size_t i = 0; i < group->n; i++) {
        fputs("set label \"", out);
        peet_cli_picture_name(out, group->bars[i].note, NAME);
        fprintf(out, "\" at graph 1.015, first %zu left\n", i);
    }
}

static void put_group(FILE *out, const struct peet_cli_bars *group, size_t number)
{
    double least = 0, most = 0, room;
    for (size_t i = 0; i < group->n; i++) {
        least = group->bars[i].value < least ? group->bars[i].value : least;
        most = group->bars[i].value > most ? group->bars[i].value : most;
    }
    room = most > least ? (most - least) * 0.05 : 1;
    put_bars(out, group, number);
    fputs("set title \"", out);
    peet_cli_picture_name(out, group->title, COLUMNS);
    if (group->n == 0) {
        fputs(
            "\"\nunset border\nunset tics\nset yrange [0:1]\nplot [0:1] -1 notitle\nset border\nset xtics\nset ytics nomirror\n",
            out);
        return;
    }
    fputs("\"\nset xlabel \"", out);
    peet_cli_picture_name(out, group->unit, COLUMNS);
    fprintf(out,
        "\"\nset xrange [%.9g:%.9g]\nset yrange [%zu.6:-0.6]\n"
        "plot $bars%zu using ($2/2):1:(abs($2)/2):(0.36):($2<0?0x0072b2:0xd55e00):ytic(3) with boxxyerror linecolor rgb variable notitle\n",
        least < 0 ? least - room : 0, most > 0 || least == 0 ? most + room : 0, group->n - 1, number);
}

struct pictured {
    const struct peet_cli_bars *groups;
    size_t n;
};

static void script(FILE *out, const char *ending, const char *path, const void *arg)
{
    const struct pictured *p = arg;
    int height = 0, at = 0;
    for (size_t i = 0; i < p->n; i++)
        height += (int)p->groups[i].n * LINE + AROUND;
    peet_cli_picture_begin(out, ending, path, WIDTH, height);
    fputs(
        "set multiplot\nset style fill solid\nset grid xtics linecolor rgb \"#dddddd\"\nset xzeroaxis\nset yzeroaxis linetype -1\n"
        "unset key\nset format x \"%g\"\nset lmargin 44\nset rmargin 26\nset bmargin 3.2\nset tmargin 2\nset ytics nomirror\n",
        out);
    for (size_t i = 0; i < p->n; i++) {
        const int here = (int)p->groups[i].n * LINE + AROUND;
        at += here;
        fprintf(out, "set origin 0,%.6f\nset size 1,%.6f\n", 1 - (double)at / height, (double)here / height);
        put_group(out, &p->groups[i], i);
    }
    fputs("unset multiplot\nset output\n", out);
}

int peet_cli_bars_plot(const char *path, const struct peet_cli_bars *groups, size_t n, struct peet_error *error)
{
    const struct pictured pictured = {groups, n};
    return peet_cli_gnuplot(path, script, &pictured, error);
}
