/* SPDX-License-Identifier: Apache-2.0 */
/* See explanation.h. */
#include "explanation.h"

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

static void print_place(FILE *out, const json_t *one)
{
    const char *file = text_of(one, "file"), *slash = strrchr(file, '/');
    char place[200];

    if (json_object_get(one, "line"))
        snprintf(place, sizeof place, "%s:%lld", slash ? slash + 1 : file, number_of(one, "line"));
    else
        snprintf(place, sizeof place, "%s", text_of(one, "function"));
    fprintf(out, "%-*.*s ", PLACE_WIDTH, PLACE_WIDTH, place);
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
        fprintf(out, "; context %lld sees %lld", number_of(other, "context"), number_of(other, "value"));
    if (memory)
        fprintf(out, "; memory holds %lld", (long long)json_integer_value(memory));
    if (json_array_size(list) || memory)
        fprintf(out, ": an old value, or one that only this processor sees");
}

static void print_what(FILE *out, const json_t *one)
{
    const char *what = text_of(one, "what"), *variable = text_of(one, "variable");
    const int valued = json_object_get(one, "value") != NULL;
    const long long value = number_of(one, "value");

    if (!strcmp(what, "load") && valued)
        fprintf(out, "reads %s: %lld", variable, value);
    else if (!strcmp(what, "store") && valued)
        fprintf(out, "writes %s = %lld", variable, value);
    else if ((!strcmp(what, "locked") || !strcmp(what, "modify")) && valued)
        fprintf(out, "changes %s to %lld%s", variable, value, *what == 'l' ? ", locked" : "");
    else if (!strcmp(what, "leaves") && valued)
        fprintf(out, "its store %s = %lld leaves the buffer: all see it", variable, value);
    else if (!strcmp(what, "to memory") && valued)
        fprintf(out, "its store %s = %lld goes to memory", variable, value);
    else if (!strcmp(what, "sees") && valued)
        fprintf(out, "sees %s = %lld from now on", variable, value);
    else
        fprintf(out, "%s%s%s", what, *variable ? " " : "", variable);
    print_newer(out, one);
}

void peet_cli_explanation_print(FILE *out, const json_t *list)
{
    const json_t *one;
    size_t i;

    fprintf(out, " step  context  %-*s what\n", PLACE_WIDTH, "place");
    json_array_foreach(list, i, one)
    {
        fprintf(out, "%5lld  ", number_of(one, "step"));
        if (json_object_get(one, "context"))
            fprintf(out, "%7lld  ", number_of(one, "context"));
        else
            fprintf(out, "cpu %3lld  ", number_of(one, "processor"));
        print_place(out, one);
        print_what(out, one);
        fprintf(out, "\n");
    }
}
