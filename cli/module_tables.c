/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that modules leave; see module_tables.h. */
#include "module_tables.h"

#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 24, CELL = 120, LABEL = 40, NARROW = 12, INDENT = 4, GAP = 2 };

struct layout { int n, width[COLUMNS], left[COLUMNS]; };

/* Control characters would break the table. */
static void clean(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if (*c < ' ')
            *c = ' ';
}

static void text_of(const json_t *cell, char out[CELL])
{
    char number[PEET_CLI_NUMBER_BYTES];
    if (json_is_string(cell))
        snprintf(out, CELL, "%s", json_string_value(cell));
    else if (json_is_integer(cell) && json_integer_value(cell) >= 0)
        snprintf(out, CELL, "%s", peet_cli_grouped(number, (uint64_t)json_integer_value(cell)));
    else if (json_is_integer(cell))
        snprintf(out, CELL, "%lld", (long long)json_integer_value(cell));
    else if (json_is_real(cell))
        snprintf(out, CELL, "%.4g", json_real_value(cell));
    else
        out[0] = '\0';
    clean(out);
}

static void measure(struct layout *layout, const json_t *cells, int heading)
{
    size_t i;
    const json_t *cell;
    json_array_foreach((json_t *)cells, i, cell) {
        char text[CELL];
        if (i >= COLUMNS)
            return;
        text_of(cell, text);
        int length = (int)strlen(text), most = i == 0 ? LABEL : CELL;
        if ((int)i >= layout->n)
            layout->n = (int)i + 1;
        if (length > layout->width[i])
            layout->width[i] = length > most ? most : length;
        if (!heading && json_is_string(cell) && *text && !strchr("0123456789-+.", *text))
            layout->left[i] = 1; /* words stand on the left, numbers on the right */
    }
}

/* The first column, of names, makes room; then the last one is cut. */
static void fit(struct layout *layout, int columns)
{
    int width = INDENT;
    for (int i = 0; i < layout->n; i++)
        width += layout->width[i] + (i ? GAP : 0);
    if (width <= columns || layout->n == 0)
        return;
    layout->width[0] -= width - columns;
    if (layout->width[0] < NARROW)
        layout->width[0] = NARROW;
}

static void print_cells(FILE *out, const struct layout *layout, const json_t *cells, int columns)
{
    char line[COLUMNS * (CELL + GAP) + INDENT + 1];
    int at = 0;
    for (int i = 0; i < layout->n; i++) {
        char text[CELL];
        text_of(json_array_get(cells, (size_t)i), text);
        at += snprintf(line + at, sizeof(line) - (size_t)at, "%*s", i ? GAP : INDENT, "");
        at += snprintf(line + at, sizeof(line) - (size_t)at, layout->left[i] ? "%-*.*s" : "%*.*s", layout->width[i], layout->width[i], text);
    }
    if (at > columns)
        at = columns;
    while (at > 0 && line[at - 1] == ' ')
        at--;
    fprintf(out, "%.*s\n", at, line);
}

void peet_cli_module_table(FILE *out, const json_t *table, int columns)
{
    const char *title = json_string_value(json_object_get(table, "title"));
    const json_t *heads = json_object_get(table, "columns"), *rows = json_object_get(table, "rows"), *row;
    struct layout layout = {.left = {1}};
    size_t i;
    if (!json_is_array(heads) || json_array_size(rows) == 0)
        return;
    measure(&layout, heads, 1);
    json_array_foreach((json_t *)rows, i, row)
        measure(&layout, row, 0);
    fit(&layout, columns);
    if (title) {
        char text[CELL];
        snprintf(text, sizeof(text), "%.*s", columns - INDENT > 0 && columns - INDENT < CELL ? columns - INDENT : CELL - 1, title);
        clean(text);
        fprintf(out, "  %s:\n", text);
    }
    print_cells(out, &layout, heads, columns);
    json_array_foreach((json_t *)rows, i, row)
        print_cells(out, &layout, row, columns);
}

void peet_cli_module_tables(FILE *out, const json_t *node, int columns)
{
    const json_t *table;
    size_t i;
    json_array_foreach(json_object_get(node, "tables"), i, table)
        peet_cli_module_table(out, table, columns);
}
