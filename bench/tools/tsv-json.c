/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsv-json: tables of tab-separated values as one JSON object on the standard output.
 *
 *   tsv-json KEY=FILE...
 *
 * The first line of each file names its columns.  Each other line becomes an object of the array under KEY; empty
 * fields are left out, and fields that are numbers become numbers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *value_of(const char *text)
{
    char *end;
    long long whole = strtoll(text, &end, 10);
    if (end != text && !*end)
        return json_integer(whole);
    double number = strtod(text, &end);
    if (end != text && !*end && isfinite(number))
        return json_real(number);
    return json_string(text);
}

/* A line without its end, cut at its tabs; @fields point into it.  Returns: how many fields, at most room */
static size_t cut(char *line, char **fields, size_t room)
{
    size_t n = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *field; n < room && (field = strsep(&line, "\t"));)
        fields[n++] = field;
    return n;
}

static json_t *read_table(const char *name)
{
    enum { COLUMNS = 64 };
    char *header = NULL, *line = NULL, *names[COLUMNS], *fields[COLUMNS];
    size_t header_room = 0, room = 0, columns;
    json_t *rows = json_array();
    FILE *file = fopen(name, "r");
    if (!file || getline(&header, &header_room, file) < 0) {
        fprintf(stderr, "tsv-json: %s: %s\n", name, file ? "no line of names" : strerror(errno));
        exit(1);
    }
    columns = cut(header, names, COLUMNS);
    while (getline(&line, &room, file) >= 0) {
        size_t n = cut(line, fields, columns);
        json_t *row = json_object();
        for (size_t i = 0; i < n; i++)
            if (*fields[i] && json_object_set_new(row, names[i], value_of(fields[i]))) {
                fprintf(stderr, "tsv-json: %s: column %s is not valid text\n", name, names[i]);
                exit(1);
            }
        json_array_append_new(rows, row);
    }
    free(header), free(line);
    fclose(file);
    return rows;
}

int main(int argc, char **argv)
{
    json_t *all = json_object();
    if (argc < 2) {
        fprintf(stderr, "usage: tsv-json KEY=FILE...\n");
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        char *file = strchr(argv[i], '=');
        if (!file || file == argv[i]) {
            fprintf(stderr, "tsv-json: %s is not KEY=FILE\n", argv[i]);
            return 2;
        }
        *file++ = 0;
        json_object_set_new(all, argv[i], read_table(file));
    }
    if (json_dumpf(all, stdout, JSON_INDENT(2)) || putchar('\n') == EOF || fflush(stdout)) {
        fprintf(stderr, "tsv-json: cannot write: %s\n", strerror(errno));
        return 1;
    }
    json_decref(all);
    return 0;
}
