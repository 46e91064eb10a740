/* SPDX-License-Identifier: Apache-2.0 */
/* Data profiles and stacks of cycles as bars, counts over time as curves, drawn by gnuplot; see report.h. */
#include "picture.h"
#include "report.h"
#include "report_stacks.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 620, HEIGHT = 420, NAME = 20, LONGEST = 60 };

static const char *const colours[] = {
    "#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#f0e442", "#000000", "#7f3b08", "#542788"};

static void put_name(FILE *out, const char *name)
{
    peet_cli_picture_name(out, name, LONGEST);
}

static void put_data(FILE *out, const struct peet_cli_profile *profiles, size_t n, int panel,
    const double *(*of)(const struct peet_cli_profile *, int), int level)
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

static void put_rates(FILE *out, const struct peet_cli_profile *profiles, size_t n, int panel, int level)
{
    fprintf(out, "$panel%d << END\n", panel);
    for (size_t k = 0; k < n; k++) {
        const double *accesses = peet_cli_accesses_of(&profiles[k], level), *misses = profiles[k].misses[level];
        fputc('"', out);
        put_name(out, profiles[k].program);
        fputc('"', out);
        for (int i = 0; i < profiles[k].parts; i++)
            fprintf(out, " %.6g", accesses[i] > 0 ? misses[i] * 100 / accesses[i] : 0);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void plot(FILE *out, const struct peet_cli_profile *p, int panel, const char *title, const char *name,
    int stacked)
{
    char part[8];
    fputs("set title \"", out);
    put_name(out, title);
    put_name(out, name);
    fprintf(out, "\"\nset style histogram %s\nset yrange [0:%s]\n", stacked ? "rowstacked" : "clustered gap 1",
        stacked ? "100" : "*");
    for (int i = 0; i < p->parts; i++) {
        const char *colour = i >= p->top ? (i == p->top ? "#999999" : "#dddddd")
                                         : colours[i % (int)(sizeof(colours) / sizeof(colours[0]))];
        fprintf(out, "%s $panel%d using %d%s linecolor rgb \"%s\" title \"%s\"", i ? "," : "plot", panel, i + 2,
            i ? "" : ":xtic(1)", colour, peet_cli_part_name(p, i, part));
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
        fprintf(out, "\" %.6g %.6g\n", all > 0 ? profiles[k].same[level] * 100 / all : 0,
            all > 0 ? profiles[k].other[level] * 100 / all : 0);
    }
    fputs("END\nset title \"premature evictions: ", out);
    put_name(out, profiles->levels[level]);
    fprintf(out,
        "\"\nset style histogram rowstacked\nset yrange [0:100]\n"
        "plot $panel%d using 2:xtic(1) linecolor rgb \"#0072b2\" title \"same\", $panel%d using 3 linecolor rgb \"#d55e00\" title \"different\"\n",
        panel, panel);
}

/* ------------------------------------------------------------------------------------- where the cycles went */

/* One for each category, so that pictures of several runs can be compared. */
static const char *const shades[] = {"#56b4e9", "#0072b2", "#999999", "#009e73", "#e69f00", "#d55e00", "#8b0000",
    "#cc79a7", "#f0e442", "#b2df8a", "#542788", "#000000", "#7f3b08", "#fb9a99", "#ff7f00", "#6a3d9a", "#cab2d6",
    "#666666", "#eeeeee"};

static const char *shade(int category)
{
    return shades[category % (int)(sizeof(shades) / sizeof(shades[0]))];
}

static void put_stack(FILE *out, const struct peet_cli_account *a, const char *name, const struct peet_cli_stack *stack,
    double unit)
{
    fputc('"', out);
    put_name(out, name);
    fputc('"', out);
    for (int i = 0; i < a->ncategories; i++)
        fprintf(out, " %.9g", unit > 0 ? stack->cycles[i] / unit : 0);
    fputc('\n', out);
}

/* The bars of $panel; what hardly anything went to is there, but has no name. */
static void plot_stacks(FILE *out, const struct peet_cli_account *accounts, size_t n, int panel, const char *title,
    const char *unit, int with_idle)
{
    const struct peet_cli_account *a = accounts;
    const char *before = "plot";
    fprintf(out,
        "set title \"%s\"\nset ylabel \"%s\"\nset style histogram rowstacked\nset yrange [0:*]\nset format y \"%s\"\n",
        title, unit, strcmp(unit, "cycles") == 0 ? "%.1s%c" : "%g");
    for (int i = 0; i < a->ncategories; i++) {
        double share = 0; /* the greatest of any run */
        for (size_t k = 0; k < n; k++)
            if (accounts[k].all.cycles[i] > share * peet_cli_stack_sum(a, &accounts[k].all))
                share = accounts[k].all.cycles[i] / peet_cli_stack_sum(a, &accounts[k].all);
        if (share <= 0 || (peet_cli_is_idle(a->categories[i]) && !with_idle))
            continue;
        fprintf(out, "%s $panel%d using %d:xtic(1) linecolor rgb \"%s\" %s", before, panel, i + 2, shade(i),
            share >= 0.0005 ? "title \"" : "notitle");
        if (share >= 0.0005) {
            put_name(out, a->categories[i]);
            fputc('"', out);
        }
        before = ",";
    }
    fputs(*before == ',' ? "\n" : "plot [0:1] [0:1] -1 notitle\n", out);
}

static void stacks_of(FILE *out, const struct peet_cli_account *a, int panel, const struct peet_cli_stack *stacks,
    int n, const char *title, int with_idle)
{
    fprintf(out, "$panel%d << END\n", panel);
    for (int i = 0; i < n; i++) {
        char name[NAME + 1];
        snprintf(name, sizeof(name), "%.*s", NAME, stacks[i].name);
        put_stack(out, a, name, &stacks[i], 1);
    }
    fputs("END\n", out);
    plot_stacks(out, a, 1, panel, title, "cycles", with_idle);
}

/* Counts of windows, for 1000 cycles. */
static void plot_windows(FILE *out, const struct peet_cli_account *a, int panel)
{
    static const char *const keys[] = {"l1d_misses", "l2_misses", "l3_misses", "dram_lines"},
                             *const names[] = {"L1D misses", "L2 misses", "L3 misses", "DRAM lines"};
    const char *before = "plot";
    const json_t *window;
    size_t i;
    fprintf(out, "$panel%d << END\n", panel);
    json_array_foreach((json_t *)a->windows, i, window)
    {
        fprintf(out, "%.0f", json_number_value(json_object_get(window, "cycle")));
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            fprintf(out, " %.6g", json_number_value(json_object_get(window, keys[k])) * 1000 / a->window_cycles);
        fputc('\n', out);
    }
    fputs(
        "END\nset title \"over time\"\nset ylabel \"for 1000 cycles\"\nset xlabel \"cycles\"\nset yrange [0:*]\nset xtics rotate by -30 autofreq\nset format x \"%.1s%c\"\nset format y \"%g\"\n",
        out);
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (!json_object_get(json_array_get(a->windows, 0), keys[k]))
            continue;
        fprintf(out, "%s $panel%d using 1:%zu with steps linecolor rgb \"%s\" linewidth 1.5 title \"%s\"", before,
            panel, k + 2, colours[k], names[k]);
        before = ",";
    }
    fputs("\n", out);
}

static int has_windows(const struct peet_cli_account *accounts, size_t n)
{
    return n == 1 && json_array_size(accounts->windows) > 1 &&
        json_object_get(json_array_get(accounts->windows, 0), "l1d_misses");
}

static int account_panels(const struct peet_cli_account *accounts, size_t n)
{
    return 1 + (n == 1 ? (accounts->ncontexts > 0) + (accounts->nfunctions > 0) : 1) + has_windows(accounts, n);
}

static void account_script(FILE *out, const struct peet_cli_account *accounts, size_t n, int panel)
{
    fprintf(out, "$panel%d << END\n", panel);
    for (size_t k = 0; k < n; k++)
        put_stack(out, &accounts[k], accounts[k].program, &accounts[k].all, accounts[k].instructions);
    fputs("END\n", out);
    plot_stacks(out, accounts, n, panel++, "cycles for each instruction", "CPI", 0);
    if (n > 1) {
        fprintf(out, "$panel%d << END\n", panel);
        for (size_t k = 0; k < n; k++)
            put_stack(out, &accounts[k], accounts[k].program, &accounts[k].all, 1);
        fputs("END\n", out);
        plot_stacks(out, accounts, n, panel++, "of all hardware contexts", "cycles", 1);
    }
    if (n == 1 && accounts->ncontexts > 0)
        stacks_of(out, accounts, panel++, accounts->contexts, accounts->ncontexts, "by hardware context", 1);
    if (n == 1 && accounts->nfunctions > 0)
        stacks_of(out, accounts, panel++, accounts->functions, accounts->nfunctions, "by function", 0);
    if (has_windows(accounts, n))
        plot_windows(out, accounts, panel);
}

/* ------------------------------------------------------------------------------------------------- pictures */

static int common_levels(const struct peet_cli_profile *profiles, size_t n, double *out_stalls)
{
    int levels = profiles->nlevels;
    *out_stalls = 0;
    for (size_t k = 0; k < n; k++) {
        levels = profiles[k].nlevels < levels ? profiles[k].nlevels : levels;
        *out_stalls += peet_cli_sum(profiles[k].stalls, profiles[k].parts);
    }
    return levels;
}

/* Returns: the number of the next panel. */
static int profile_script(FILE *out, const struct peet_cli_profile *profiles, size_t n)
{
    double stalls;
    int levels = common_levels(profiles, n, &stalls), panel = 0;
    put_data(out, profiles, n, panel, peet_cli_accesses_of, 0);
    plot(out, profiles, panel++, "accesses", "", 1);
    for (int l = 0; l < levels; l++) {
        put_data(out, profiles, n, panel, peet_cli_misses_of, l);
        plot(out, profiles, panel++, "misses: ", profiles->levels[l], 1);
        put_rates(out, profiles, n, panel, l);
        plot(out, profiles, panel++,
            l ? "misses of those of the level before: " : "misses of accesses: ", profiles->levels[l], 0);
    }
    if (stalls > 0) {
        put_data(out, profiles, n, panel, peet_cli_stalls_of, 0);
        plot(out, profiles, panel++, "stall cycles", "", 1);
    }
    for (int l = 0; l < levels; l++)
        plot_premature(out, profiles, n, panel++, l);
    return panel;
}

static void script(FILE *out, const struct peet_cli_profile *profiles, const struct peet_cli_account *accounts,
    size_t n, const char *type, const char *path)
{
    int levels, panels = 0, columns = 2, rows, panel = 0;
    double stalls;
    if (profiles) {
        levels = common_levels(profiles, n, &stalls);
        panels = 1 + 2 * levels + (stalls > 0) + levels;
    }
    if (accounts)
        panels += account_panels(accounts, n);
    rows = (panels + columns - 1) / columns;
    peet_cli_picture_begin(out, type, path, WIDTH * columns, HEIGHT * rows);
    fprintf(out,
        "set multiplot layout %d,%d\nset style data histograms\nset style fill solid border rgb \"black\"\nset boxwidth 0.75\n"
        "set grid ytics linecolor rgb \"#dddddd\"\nset key outside right vertical\nset xtics rotate by -30\nset ylabel \"percent\"\n",
        rows, columns);
    if (profiles)
        panel = profile_script(out, profiles, n);
    if (accounts)
        account_script(out, accounts, n, panel);
    fputs("unset multiplot\nset output\n", out);
}

struct runs {
    const struct peet_cli_profile *profiles;
    const struct peet_cli_account *accounts;
    size_t n;
};

static void script_runs(FILE *out, const char *ending, const char *path, const void *arg)
{
    const struct runs *runs = arg;
    script(out, runs->profiles, runs->accounts, runs->n, ending, path);
}

int peet_cli_report_plot(const struct peet_cli_profile *profiles, const struct peet_cli_account *accounts, size_t n,
    const char *path, struct peet_error *error)
{
    const struct runs runs = {profiles, accounts, n};
    return peet_cli_gnuplot(path, script_runs, &runs, error);
}
