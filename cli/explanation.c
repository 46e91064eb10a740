/* SPDX-License-Identifier: Apache-2.0 */
/* See explanation.h. */
#include "explanation.h"

#include "names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_WIDTH = 22 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static long long number_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

void peet_cli_explanation_place(FILE *out, const json_t *one)
{
    const char *file = text_of(one, "file"), *slash = strrchr(file, '/');
    char name[PEET_CLI_NAME];

    if (json_object_get(one, "line"))
        fprintf(out, "%s:%lld", slash ? slash + 1 : file, number_of(one, "line"));
    else
        fprintf(out, "%s", peet_cli_name(text_of(one, "function"), name, sizeof(name)));
}

void peet_cli_explanation_who(FILE *out, const json_t *one)
{
    if (json_object_get(one, "context"))
        fprintf(out, "%lld", number_of(one, "context"));
    else
        fprintf(out, "cpu %lld", number_of(one, "processor"));
}

/* A value, or what it points to. */
static void print_value(FILE *out, const json_t *one)
{
    const char *target = text_of(one, "points_to");
    const long long value = number_of(one, "value");

    if (*target)
        fprintf(out, "&%s", target);
    else if (value > INT32_MAX || value < INT32_MIN)
        fprintf(out, "0x%llx", value);
    else
        fprintf(out, "%lld", value);
}

/* What a load does not see. */
static void print_newer(FILE *out, const json_t *one)
{
    const json_t *list = json_object_get(one, "others_see"), *other, *memory = json_object_get(one, "memory_holds");
    const int store = strcmp(text_of(one, "what"), "load") != 0;
    size_t i;

    if (store && (json_array_size(list) || memory)) {
        fprintf(out, "; not seen by all yet");
        return;
    }
    json_array_foreach(list, i, other)
    {
        fprintf(out, "; context %lld sees ", number_of(other, "context"));
        print_value(out, other);
    }
    if (memory) {
        fprintf(out, "; memory holds ");
        print_value(out, memory);
    }
    if (json_array_size(list) || memory)
        fprintf(out, ": an old value, or one that only this processor sees");
}

/* "x = 1", or several of them; @sign: what stands between */
static void print_assigned(FILE *out, const json_t *one, const char *sign)
{
    const json_t *parts = json_object_get(one, "parts"), *part;
    size_t i;

    if (!parts) {
        fprintf(out, "%s", text_of(one, "variable"));
        if (json_object_get(one, "value")) {
            fprintf(out, "%s", sign);
            print_value(out, one);
        }
        return;
    }
    json_array_foreach(parts, i, part)
    {
        fprintf(out, "%s%s%s", i ? ", " : "", text_of(part, "variable"), sign);
        print_value(out, part);
    }
}

void peet_cli_explanation_what(FILE *out, const json_t *one)
{
    static const struct {
        const char *what, *before, *sign, *after;
    } texts[] = {{"load", "reads ", ": ", ""}, {"store", "writes ", " = ", ""},
        {"locked", "changes ", " to ", ", locked"}, {"modify", "changes ", " to ", ""},
        {"leaves", "its store ", " = ", " leaves the buffer: all see it"},
        {"to memory", "its store ", " = ", " goes to memory"}, {"sees", "sees ", " = ", " from now on"}};
    const char *what = text_of(one, "what"), *variable = text_of(one, "variable");
    size_t i = 0;

    while (i < sizeof texts / sizeof *texts && strcmp(texts[i].what, what) != 0)
        i++;
    if (i < sizeof texts / sizeof *texts) {
        fprintf(out, "%s", texts[i].before);
        print_assigned(out, one, texts[i].sign);
        fprintf(out, "%s", texts[i].after);
    } else {
        fprintf(out, "%s%s%s", what, *variable ? " " : "", variable);
    }
    print_newer(out, one);
}

void peet_cli_explanation_print(FILE *out, const json_t *list)
{
    const json_t *one;
    size_t i;

    fprintf(out, " step  context  %-*s what\n", PLACE_WIDTH, "place");
    json_array_foreach(list, i, one)
    {
        char *place = NULL, *who = NULL;
        size_t bytes;
        FILE *text = open_memstream(&place, &bytes);

        peet_cli_explanation_place(text, one);
        fclose(text);
        text = open_memstream(&who, &bytes);
        peet_cli_explanation_who(text, one);
        fclose(text);
        fprintf(out, "%5lld  %7s  %-*.*s ", number_of(one, "step"), who, PLACE_WIDTH, PLACE_WIDTH, place);
        free(place);
        free(who);
        peet_cli_explanation_what(out, one);
        fprintf(out, "\n");
    }
}
