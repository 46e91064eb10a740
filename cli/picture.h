/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by gnuplot, for all verbs with --plot; and bars, one for each name. */
#ifndef PEET_CLI_PICTURE_H
#define PEET_CLI_PICTURE_H

#include <stdio.h>
#include <stddef.h>
#include <peet/error.h>

/** peet_cli_picture_check() - can a picture have this name, and is there gnuplot?  Before long work.  Returns: 0 or a peet_err */
int peet_cli_picture_check(const char *path, struct peet_error *error);

/**
 * peet_cli_gnuplot() - a picture by gnuplot; its type by the file's ending: .svg, .png, .pdf
 * @script: writes gnuplot's commands to @out; @ending: of the file, without the dot
 * Returns: 0 or a peet_err
 */
int peet_cli_gnuplot(const char *path, void (*script)(FILE *out, const char *ending, const char *path, const void *arg),
    const void *arg, struct peet_error *error);

/** peet_cli_picture_begin() - the commands with which a script begins: how large, and where to.  @width, @height: in
 * pixels */
void peet_cli_picture_begin(FILE *out, const char *ending, const char *path, int width, int height);

/** peet_cli_picture_name() - a name inside gnuplot's quotes, without what gnuplot or a terminal would take for a
 * command; @columns: the most characters, at most 200 */
void peet_cli_picture_name(FILE *out, const char *name, int columns);

/** A bar from 0 to value, to the left if that is below 0, and what is written beside it. */
struct peet_cli_bar {
    char name[80], note[40];
    double value;
};

/** Bars below each other. */
struct peet_cli_bars {
    char title[80], unit[80];
    const struct peet_cli_bar *bars;
    size_t n;
};

/** peet_cli_bars_plot() - groups of bars below each other, by gnuplot; those above 0 and those below have a colour each.
 *  A group without bars is its title
 *  Returns: 0 or a peet_err */
int peet_cli_bars_plot(const char *path, const struct peet_cli_bars *groups, size_t n, struct peet_error *error);

#endif
