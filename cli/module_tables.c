/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as JSON, printed for people; see module_tables.h. */
#include "module_tables.h"

#include "names.h"
#include "number.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, CELL = 480, NAMES = 40, LEAST_NAMES = 12, LEAST_TEXT = 44, INDENT = 4, GAP = 2, KEYS = 3 };

struct layout {
    int n, width[COLUMNS], left[COLUMNS];
    int keys, keys_width; /* the columns that stand in each stripe */
};

/* What stands in brackets at the end is kept, as the place in "f (file.c:12)"; what is before it makes room. */
static int shorten(char out[CELL], const char *text, int columns)
{
    const size_t n = strlen(text);
    const char *end = NULL;
    char before[CELL], place[CELL];
    for (const char *at = n && text[n - 1] == ')' ? strstr(text, " (") : NULL; at; at = strstr(at + 1, " ("))
        end = at;
    const int kept = end ? peet_cli_text_clean(place, CELL, end, columns) : 0;
    if (!end || peet_cli_text_columns(text) <= columns || kept > columns / 2 || (size_t)(end - text) >= sizeof(before))
        return peet_cli_text_clean(out, CELL, text, columns);
    memcpy(before, text, (size_t)(end - text));
    before[end - text] = '\0';
    const int length = peet_cli_text_clean(out, CELL - strlen(place), before, columns - kept);
    strcat(out, place);
    return length + kept;
}

static int text_of(const json_t *cell, char out[CELL])
{
    char number[PEET_CLI_NUMBER_BYTES], name[PEET_CLI_NAME];
    if (json_is_string(cell))
        return shorten(out, peet_cli_names_in(json_string_value(cell), name, sizeof(name)), CELL / 4);
    if (json_is_integer(cell) && json_integer_value(cell) >= 0)
        return snprintf(out, CELL, "%s", peet_cli_grouped(number, (uint64_t)json_integer_value(cell)));
    if (json_is_integer(cell))
        return snprintf(out, CELL, "-%s", peet_cli_grouped(number, -(uint64_t)json_integer_value(cell)));
    if (json_is_real(cell))
        return snprintf(out, CELL, "%.4g", json_real_value(cell));
    out[0] = '\0';
    return 0;
}

static void measure(struct layout *layout, const json_t *cells, int heading)
{
    size_t i;
    const json_t *cell;
    json_array_foreach((json_t *)cells, i, cell)
    {
        char text[CELL];
        if (i >= COLUMNS)
            return;
        int length = text_of(cell, text), most = i == 0 ? NAMES : CELL;
        if ((int)i >= layout->n)
            layout->n = (int)i + 1;
        if (length > layout->width[i])
            layout->width[i] = length > most ? most : length;
        if (!heading && json_is_string(cell) && *text && !strchr("0123456789-+.", *text))
            layout->left[i] = 1; /* words stand on the left, numbers on the right */
    }
}

/* So many of the first columns, KEYS at most and in half of the room, tell each row from the one before it.  A cell
 * without text stands for that above it. */
static void find_keys(struct layout *layout, const json_t *rows, int columns)
{
    layout->keys = 1;
    for (size_t i = 1; i < json_array_size(rows); i++) {
        const json_t *above = json_array_get(rows, i - 1), *row = json_array_get(rows, i);
        int same = 0;
        for (; same < KEYS - 1 && same < layout->n - 1; same++) {
            const json_t *cell = json_array_get(row, (size_t)same);
            if ((!json_is_string(cell) || json_string_length(cell)) &&
                !json_equal(cell, json_array_get(above, (size_t)same)))
                break;
        }
        if (same >= layout->keys)
            layout->keys = same + 1;
    }
    layout->keys_width = INDENT + layout->width[0];
    for (int i = 1; i < layout->keys; i++) {
        if (layout->keys_width + GAP + layout->width[i] > columns / 2) {
            layout->keys = i;
            return;
        }
        layout->keys_width += GAP + layout->width[i];
    }
}

/* Which columns stand side by side, the keys always among them.  Returns: the one after the last; it may have
 * been made narrower */
static int stripe(struct layout *layout, int from, int columns)
{
    int width = layout->keys_width, i = from;
    for (; i < layout->n && width + GAP + layout->width[i] <= columns; i++)
        width += GAP + layout->width[i];
    if (i == layout->n || i > from)
        return i;
    layout->width[i] = columns - width - GAP; /* not even one fits */
    return i + 1;
}

/* The first column, of names, and then the last one, if it holds words, make room before the table is broken into
 * stripes. */
static void fit(struct layout *layout, int columns)
{
    int width = INDENT, last = layout->n - 1, over;
    for (int i = 0; i < layout->n; i++)
        width += layout->width[i] + (i ? GAP : 0);
    over = width - columns;
    if (over <= 0 || layout->n == 0)
        return;
    int names = layout->width[0] - LEAST_NAMES,
        words = last > 0 && layout->left[last] ? layout->width[last] - LEAST_TEXT : 0;
    names = names > 0 ? names : 0;
    words = words > 0 ? words : 0;
    if (over <= names + words) {
        int from_names = over < names ? over : names;
        layout->width[0] -= from_names;
        if (over > from_names)
            layout->width[last] -= over - from_names;
    } else if (layout->width[0] > 24) {
        layout->width[0] = 24;
    }
}

static void print_cell(FILE *out, const struct layout *layout, int i, const json_t *cell)
{
    char text[CELL], cut[CELL];
    text_of(cell, text);
    int length = shorten(cut, text, layout->width[i]), room = layout->width[i] - length;
    room = room > 0 ? room : 0;
    if (layout->left[i])
        fprintf(out, "%s%*s", cut, room, "");
    else
        fprintf(out, "%*s%s", room, "", cut);
}

static void print_cells(FILE *out, const struct layout *layout, const json_t *cells, int from, int to)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&line, &bytes);
    if (!text)
        return;
    fprintf(text, "%*s", INDENT, "");
    print_cell(text, layout, 0, json_array_get(cells, 0));
    for (int i = 1; i < to; i++) {
        if (i >= layout->keys && i < from)
            continue;
        fprintf(text, "%*s", GAP, "");
        print_cell(text, layout, i, json_array_get(cells, (size_t)i));
    }
    if (fclose(text) == 0) {
        while (bytes > 0 && line[bytes - 1] == ' ')
            bytes--;
        fprintf(out, "%.*s\n", (int)bytes, line);
    }
    free(line);
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
    json_array_foreach((json_t *)rows, i, row) measure(&layout, row, 0);
    fit(&layout, columns);
    if (title) {
        char text[CELL];
        peet_cli_text_clean(text, sizeof(text), title,
            columns - INDENT > 0 && columns < CELL / 4 ? columns - INDENT : CELL / 4);
        fprintf(out, "  %s:\n", text);
    }
    find_keys(&layout, rows, columns);
    for (int from = layout.keys, to = 0; to < layout.n; from = to) {
        to = stripe(&layout, from, columns);
        print_cells(out, &layout, heads, from, to);
        json_array_foreach((json_t *)rows, i, row) print_cells(out, &layout, row, from, to);
    }
}

void peet_cli_module_tables(FILE *out, const json_t *node, int columns)
{
    const json_t *table;
    size_t i;
    json_array_foreach(json_object_get(node, "tables"), i, table) peet_cli_module_table(out, table, columns);
}
