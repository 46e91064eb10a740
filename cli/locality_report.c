/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces for people: tables, miss ratios as text for other programs, pictures by gnuplot. */
#include "locality.h"
#include "picture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL_WIDTH = 520, PANEL_HEIGHT = 400 };

static unsigned widths_of(const struct peet_cli_signature *s)
{
    return s->has_counts ? PEET_SIM_WIDTHS : 1;
}

int peet_cli_locality_tables(const struct peet_cli_named *list, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct peet_cli_signature *s = &list[i].signature;
        fprintf(out, "%s%s: ", i ? "\n" : "", list[i].name);
        if (s->has_counts)
            fprintf(out, "%llu references\n", (unsigned long long)s->tally.references);
        else
            fputs("24 numbers\n", out);
        fputs("  alphas       512    256    128     64     32     16      8 B\n             ", out);
        for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
            fprintf(out, "%6.4f ", s->alphas[h]);
        fputs("\n  hit rates of LRU caches in per cent, by bytes of a line and number of lines\n         ", out);
        for (unsigned k = 0; k < PEET_SIM_DEPTHS; k += 2)
            fprintf(out, "%7u", 1u << k);
        fputc('\n', out);
        for (unsigned w = widths_of(s); w-- > 0;) {
            fprintf(out, "  %4u B ", peet_sim_bytes_of_width(w));
            for (unsigned k = 0; k < PEET_SIM_DEPTHS; k += 2)
                fprintf(out, "%7.2f", 100 * peet_cli_hit_rate(&s->tally, w, k));
            fputc('\n', out);
        }
        if (i && s->has_counts && list[0].signature.has_counts) {
            double most, wide_most,
                all = peet_cli_surface_error(&s->tally, &list[0].signature.tally, 0, PEET_SIM_WIDTHS - 1, &most);
            double wide = peet_cli_surface_error(&s->tally, &list[0].signature.tally, 0, 3, &wide_most);
            fprintf(out,
                "  against %s, mean absolute difference of hit rates (greatest), in per cent:\n"
                "    136 caches, lines of 4 to 512 B: %.3f (%.2f);  68 caches, 64 to 512 B: %.3f (%.2f)\n",
                list[0].name, all, most, wide, wide_most);
        }
    }
    return ferror(out);
}

int peet_cli_locality_csv(FILE *out, const void *what)
{
    const struct peet_cli_named_list *l = what;
    fputs("signature,line_bytes,lines,cache_bytes,miss_ratio\n", out);
    for (size_t i = 0; i < l->n; i++)
        for (unsigned w = 0; w < widths_of(&l->list[i].signature); w++)
            for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++) {
                fputc('"', out);
                for (const char *c = l->list[i].name; *c; c++)
                    fprintf(out, *c == '"' ? "\"\"" : "%c", *c);
                fprintf(out, "\",%u,%u,%llu,%.9f\n", peet_sim_bytes_of_width(w), 1u << k,
                    (unsigned long long)peet_sim_bytes_of_width(w) << k,
                    1 - peet_cli_hit_rate(&l->list[i].signature.tally, w, k));
            }
    return ferror(out);
}

/* ----------------------------------------------------------------------------------------------- pictures */

static void put_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(strchr("\"\\'`_^{}@&%", *name) || (unsigned char)*name < ' ' ? '-' : *name, out);
}

static void put_surface(FILE *out, size_t panel, const struct peet_sim_tally *t, const struct peet_sim_tally *from,
    unsigned widths)
{
    fprintf(out, "$surface%zu << END\n", panel);
    for (unsigned w = widths; w-- > 0;) {
        for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++)
            fprintf(out, "%u %u %.6g\n", k, 9 - w,
                100 * (peet_cli_hit_rate(t, w, k) - (from ? peet_cli_hit_rate(from, w, k) : 0)));
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void script(FILE *out, const struct peet_cli_named *list, size_t n, const char *type, const char *path)
{
    size_t rows = n > 1 ? 2 * n - 1 : 1, panel = 0;
    fprintf(out, "set terminal %s size %d,%zu\nset output \"",
        strcmp(type, "png") == 0       ? "pngcairo"
            : strcmp(type, "pdf") == 0 ? "pdfcairo"
                                       : "svg dynamic",
        strcmp(type, "pdf") == 0 ? 12 : 2 * PANEL_WIDTH, strcmp(type, "pdf") == 0 ? 4 * rows : rows * PANEL_HEIGHT);
    for (const char *c = path; *c; c++)
        fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    fprintf(out,
        "\"\nset multiplot layout %zu,2\nset xlabel \"lines, as a power of 2\"\nset ylabel \"bytes of a line, as a power of 2\"\n"
        "set view 60,330\nset xyplane 0\nset hidden3d\nset ticslevel 0\n",
        rows);
    for (size_t i = 0; i < n; i++)
        for (int difference = 0; difference <= (i > 0); difference++, panel++) {
            const struct peet_sim_tally *t = &list[i].signature.tally;
            unsigned widths = widths_of(&list[i].signature), least = widths_of(&list[0].signature);
            widths = difference && least < widths ? least : widths;
            put_surface(out, panel, t, difference ? &list[0].signature.tally : NULL, widths);
            fputs("set title \"", out);
            put_name(out, list[i].name);
            if (difference) {
                fputs(" less ", out);
                put_name(out, list[0].name);
            }
            fprintf(out, ": hit rate in per cent\"\nset xlabel \"lines, as a power of 2\"\nset ylabel \"%s\"\n",
                widths > 1 ? "bytes of a line, as a power of 2" : "");
            if (widths > 1)
                fprintf(out,
                    "set zrange [%s]\nset yrange [*:*]\nset xrange [0:16]\nsplot $surface%zu using 1:2:3 with lines notitle\n",
                    difference ? "*:*" : "0:100", panel);
            else
                fprintf(out,
                    "set yrange [%s]\nset xrange [0:16]\nplot $surface%zu using 1:3 with linespoints notitle\n",
                    difference ? "*:*" : "0:100", panel);
            fprintf(out,
                "set yrange [%s]\nset xrange [2:*]\nset xlabel \"bytes of the cache, as a power of 2\"\nset ylabel \"%s, per cent\"\nplot",
                difference ? "*:*" : "0:100", difference ? "difference" : "misses");
            for (unsigned w = 0; w < widths; w++)
                fprintf(out,
                    "%s $surface%zu using ($2==%u?$1+$2:1/0):(%s) with linespoints pointsize 0.4 title \"%u B\"",
                    w ? "," : "", panel, 9 - w, difference ? "$3" : "100-$3", peet_sim_bytes_of_width(w));
            fputc('\n', out);
        }
    fputs("unset multiplot\n", out);
}

struct surfaces {
    const struct peet_cli_named *list;
    size_t n;
};

static void script_surfaces(FILE *out, const char *ending, const char *path, const void *arg)
{
    const struct surfaces *all = arg;
    script(out, all->list, all->n, ending, path);
}

int peet_cli_locality_plot(const struct peet_cli_named *list, size_t n, const char *path, struct peet_error *error)
{
    const struct surfaces all = {list, n};
    return peet_cli_gnuplot(path, script_surfaces, &all, error);
}
