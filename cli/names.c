/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions; see names.h. */
#include "names.h"

#include "debuginfo/data.h"

#include <string.h>

enum { NAME = 4096, ARGUMENTS = 20, FIRST = 12 };

struct text {
    char *to;
    size_t n, room;
};

static void put(struct text *t, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++, t->n++)
        if (t->n + 1 < t->room)
            t->to[t->n] = from[i];
}

static int begins(const char *at, const char *with)
{
    return strncmp(at, with, strlen(with)) == 0;
}

/* How long "operator" and its sign are, if they stand here: their brackets are none. */
static size_t operator_here(const char *begin, const char *at)
{
    const char *sign = at + strlen("operator");
    if (!begins(at, "operator") || (at > begin && at[-1] != ':' && at[-1] != ' '))
        return 0;
    if (begins(sign, "()") || begins(sign, "[]"))
        return (size_t)(sign + 2 - at);
    return (size_t)(sign - at) + strspn(sign, "<>=!+-*/%^&|~,");
}

/* Behind the bracket that closes the one here; the end of the text if none does. */
static const char *closed(const char *begin, const char *at)
{
    int depth = 0;
    for (size_t skip; *at; at += skip) {
        skip = operator_here(begin, at);
        skip = skip ? skip : begins(at, "->") ? 2 : 1;
        if (skip > 1)
            continue;
        depth += strchr("<({[", *at) != NULL;
        depth -= strchr(">)}]", *at) != NULL;
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Where the name itself begins, behind the type of the result: what has one has parameters, too. */
static const char *own_name(const char *begin)
{
    const char *own = begin;
    for (const char *at = begin; *at;) {
        if (operator_here(begin, at))
            return own;
        if (*at == '(' && !begins(at, "(anonymous namespace)"))
            return own;
        if (strchr("<({[", *at)) {
            at = closed(begin, at);
        } else if (*at++ == ' ') {
            if (begins(at, "for ") || begins(at, "to "))
                return begin; /* "guard variable for", "non-virtual thunk to" */
            own = at;
        }
    }
    return begin;
}

/* Template arguments: whole if they are few, else the first of them if that is short. */
static void put_arguments(struct text *t, const char *from, const char *end)
{
    const size_t n = (size_t)(end - from), first = strcspn(from + 1, ",<>({");
    if (n <= ARGUMENTS) {
        put(t, from, n);
        return;
    }
    put(t, from, 1);
    if (from[1 + first] == ',' && first <= FIRST) {
        put(t, from + 1, first);
        put(t, ", ", 2);
    }
    put(t, "...>", 4);
}

static void put_short(struct text *t, const char *begin)
{
    static const char *const inner[] = {"std::__cxx11::", "std::__1::"};
    for (const char *at = own_name(begin); *at;) {
        const size_t sign = operator_here(begin, at);
        size_t skip = 0;
        for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++)
            skip = begins(at, inner[i]) ? strlen(inner[i]) : skip;
        if (skip) {
            put(t, "std::", 5);
            at += skip;
        } else if (sign) {
            put(t, at, sign);
            at += sign;
        } else if (*at == '<') {
            const char *end = closed(begin, at);
            put_arguments(t, at, end);
            at = end;
        } else {
            put(t, at++, 1);
        }
    }
}

const char *peet_cli_name(const char *symbol, char *buffer, size_t room)
{
    char whole[NAME];
    struct text t = {buffer, 0, room};
    if (peet_demangle(symbol, whole, sizeof(whole)) == symbol)
        return symbol;
    put_short(&t, whole);
    if (t.n >= room)
        return symbol;
    buffer[t.n] = '\0';
    return buffer;
}

/* How long the symbol is that begins here; 0 if none does. */
static size_t symbol_here(const char *begin, const char *at)
{
    static const char part[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$.";
    return begins(at, "_Z") && (at == begin || strchr(" (", at[-1])) ? strspn(at, part) : 0;
}

const char *peet_cli_names_in(const char *text, char *buffer, size_t room)
{
    struct text t = {buffer, 0, room};
    char symbol[NAME], name[NAME];
    for (const char *at = text; *at;) {
        const size_t n = symbol_here(text, at);
        const char *shown = symbol;
        if (n > 0 && n < sizeof(symbol)) {
            memcpy(symbol, at, n);
            symbol[n] = '\0';
            shown = peet_cli_name(symbol, name, sizeof(name));
        }
        if (shown == name)
            put(&t, name, strlen(name));
        else
            put(&t, at, n ? n : 1);
        at += n ? n : 1;
    }
    if (t.n >= room)
        return text;
    buffer[t.n] = '\0';
    return strcmp(text, buffer) ? buffer : text;
}

void peet_cli_name_all(json_t *value)
{
    char name[NAME];
    const char *key;
    json_t *one;
    size_t i;
    if (json_is_string(value)) {
        const char *shown = peet_cli_names_in(json_string_value(value), name, sizeof(name));
        if (shown == name)
            json_string_set(value, shown);
    }
    if (json_is_array(value))
        json_array_foreach(value, i, one) peet_cli_name_all(one);
    if (json_is_object(value))
        json_object_foreach(value, key, one) peet_cli_name_all(one);
}
