/* SPDX-License-Identifier: Apache-2.0 */
/* peet report: values of a stats.json, and the building of tables for module_tables.h.  For report_*.c only. */
#ifndef PEET_CLI_REPORT_TABLE_H
#define PEET_CLI_REPORT_TABLE_H

#include <stdio.h>
#include <stdlib.h>
#include <jansson.h>

enum { TEXT = 160 };

static inline double number(const json_t *node, const char *key)
{
    const json_t *value = json_object_get(node, key);
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static inline const char *text(const json_t *node, const char *key)
{
    const char *value = json_string_value(json_object_get(node, key));
    return value ? value : "";
}

static inline json_t *table_new(json_t *tables, const char *title)
{
    json_t *table = json_pack("{s:s, s:[], s:[]}", "title", title, "columns", "rows");
    json_array_append_new(tables, table);
    return table;
}

static inline void column(json_t *table, const char *name)
{
    json_array_append_new(json_object_get(table, "columns"), json_string(name));
}

static inline json_t *row_new(json_t *table)
{
    json_t *row = json_array();
    json_array_append_new(json_object_get(table, "rows"), row);
    return row;
}

/* Names from programs need not be UTF-8: what cannot be shown becomes '?'. */
static inline void cell(json_t *row, const char *value)
{
    json_t *string = json_string(value);
    if (!string) {
        char clean[TEXT];
        snprintf(clean, sizeof(clean), "%s", value);
        for (char *c = clean; *c; c++)
            *c = (unsigned char)*c >= 0x80 ? '?' : *c;
        string = json_string(clean);
    }
    json_array_append_new(row, string);
}

static inline void percent(json_t *row, double part, double whole)
{
    char out[40];
    snprintf(out, sizeof(out), whole > 0 ? "%.1f %%" : "-", whole > 0 ? part * 100 / whole : 0);
    cell(row, out);
}

#endif
