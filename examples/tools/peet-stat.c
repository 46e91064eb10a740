/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peet-stat: print numbers out of stats.json, for shell scripts that have no JSON tool at hand.
 *
 *   peet-stat FILE PATH…          the values on one line, tab-separated
 *   peet-stat -r FILE ARRAY PATH… one line for every element of ARRAY, PATHs relative to it
 *
 * A PATH is keys and array indices joined by dots: time.cycles, hw.0.busy_cycles.  "." is the element itself,
 * "#" its index.  A value that is missing ends the program with status 1 and says which.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

/* Borrowed; NULL if there is nothing at this path. */
static json_t *find(json_t *node, const char *path)
{
    char key[256];
    while (node && *path && strcmp(path, ".") != 0) {
        size_t length = strcspn(path, ".");
        if (length >= sizeof key)
            return NULL;
        memcpy(key, path, length);
        key[length] = 0;
        path += length + (path[length] == '.');
        node = json_is_array(node) ? json_array_get(node, strtoul(key, NULL, 10)) : json_object_get(node, key);
    }
    return node;
}

static int print_value(json_t *node, const char *file, const char *path)
{
    if (json_is_integer(node))
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(node));
    else if (json_is_real(node))
        printf("%.9g", json_real_value(node));
    else if (json_is_string(node))
        fputs(json_string_value(node), stdout);
    else if (json_is_boolean(node))
        fputs(json_is_true(node) ? "true" : "false", stdout);
    else {
        fprintf(stderr, "peet-stat: %s: %s %s\n", file, node ? "no plain value at" : "nothing at", path);
        return 1;
    }
    return 0;
}

static int print_row(json_t *node, size_t index, const char *file, char **paths)
{
    for (char **path = paths; *path; path++) {
        if (path != paths)
            putchar('\t');
        if (strcmp(*path, "#") == 0)
            printf("%zu", index);
        else if (print_value(find(node, *path), file, *path) != 0)
            return 1;
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    int rows = argc > 1 && strcmp(argv[1], "-r") == 0;
    if (argc < 3 + 2 * rows) {
        fprintf(stderr, "usage: peet-stat FILE PATH...\n       peet-stat -r FILE ARRAY PATH...\n");
        return 2;
    }
    const char *file = argv[1 + rows];
    json_error_t error;
    json_t *root = json_load_file(file, 0, &error);
    if (!root) {
        fprintf(stderr, "peet-stat: %s:%d: %s\n", file, error.line, error.text);
        return 1;
    }
    int failed = 0;
    if (!rows) {
        failed = print_row(root, 0, file, argv + 2);
    } else {
        json_t *array = find(root, argv[3]), *element;
        size_t index;
        if (!json_is_array(array)) {
            fprintf(stderr, "peet-stat: %s: no array at %s\n", file, argv[3]);
            failed = 1;
        } else {
            json_array_foreach(array, index, element)
                failed |= print_row(element, index, file, argv + 4);
        }
    }
    json_decref(root);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "peet-stat: cannot write\n");
        return 1;
    }
    return failed;
}
