/* SPDX-License-Identifier: Apache-2.0 */
/* The globals of a program in `peet schema`, for people and as JSON; see schema_print.h. */
#include "schema_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

void peet_cli_schema_text_globals(const struct peet_debuginfo *info)
{
    size_t n;
    const struct peet_variable *v = peet_debuginfo_variables(info, &n);

    if (n)
        printf("\nglobals, by address%s\n", peet_debuginfo_typed(info) ? "" : " (compile with -g to see their types)");
    for (size_t i = 0; i < n; i++) {
        printf("  %#" PRIx64 " %" PRIu64 " bytes  %s%s%s", v[i].address, v[i].bytes, v[i].function,
            *v[i].function ? "." : "", v[i].name);
        if (v[i].type)
            printf(": %s", v[i].type->name);
        if (v[i].flags & PEET_VARIABLE_TLS)
            printf("; thread-local");
        if (*v[i].file)
            printf(" (%s:%u)", v[i].file, v[i].line);
        putchar('\n');
    }
}

/* What is no UTF-8 becomes '?'. */
static json_t *text_json(const char *text)
{
    char copy[600];
    json_t *value = json_string(text);

    if (value)
        return value;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return json_string(copy);
}

int peet_cli_schema_json_globals(const struct peet_debuginfo *info)
{
    size_t n;
    const struct peet_variable *v = peet_debuginfo_variables(info, &n);

    fputs(",\n\"globals\": [", stdout);
    for (size_t i = 0; i < n; i++) {
        const struct peet_type *element = peet_type_element(v[i].type);
        json_t *one = json_pack("{s:o, s:o, s:o, s:i, s:o, s:I, s:I, s:o, s:I, s:b}", "name", text_json(v[i].name),
            "function", text_json(v[i].function), "file", text_json(v[i].file), "line", (int)v[i].line, "type",
            text_json(v[i].type ? v[i].type->name : ""), "address", (json_int_t)v[i].address, "bytes",
            (json_int_t)v[i].bytes, "element_type", text_json(element ? element->name : ""), "element_bytes",
            (json_int_t)(element ? element->bytes : 0), "thread_local", (v[i].flags & PEET_VARIABLE_TLS) != 0);

        if (!one)
            return PEET_ENOMEM;
        fputs(i ? ",\n" : "\n", stdout);
        json_dumpf(one, stdout, JSON_PRESERVE_ORDER);
        json_decref(one);
        if (ferror(stdout))
            break;
    }
    fputs("\n]", stdout);
    return 0;
}
