/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the table, sets of outcomes; see table.h and table.txt. */
#include "table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const litmus_models[LITMUS_MODELS] = { "sc", "tso", "pso", "pc", "wo", "rc" };
static const char names[] = "wxyz";

static void refuse(const char *path, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    exit(2);
}

/** One operation.  Returns: 0 if it cannot be read */
static int read_op(const char *text, struct litmus_test *t, struct litmus_op *o)
{
    const char *at = text, *place;

    *o = (struct litmus_op){ .reg = -1, .order = ' ' };
    if (!strcmp(text, "F") || !strcmp(text, "S")) {
        o->kind = *text == 'F' ? OP_MFENCE : OP_SFENCE;
        return 1;
    }
    if (*at == '?') {
        o->reg = t->nregs++;
        at++;
    }
    if (!*at || !(place = strchr(names, *at++)) || t->nregs > REGISTERS_MOST)
        return 0;
    o->location = (int)(place - names);
    t->used |= 1u << o->location;
    if (*at == '+') {
        o->kind = OP_ADD;
        o->value = 1;
        at++;
        return *at == 0 || !strcmp(at, "!");
    }
    if (isdigit((unsigned char)*at)) {
        o->kind = OP_STORE;
        o->value = *at++ - '0';
    } else {
        o->kind = OP_LOAD;
    }
    if (*at == '!') {
        o->kind = OP_XCHG;
        at++;
    } else if (*at) {
        o->order = *at++;
        if (o->order == 's' && o->kind == OP_STORE) /* this is what compilers make of it */
            o->kind = OP_XCHG;
    }
    return !*at && (o->kind != OP_STORE || o->reg < 0) && (o->kind != OP_LOAD || o->reg >= 0) && strchr(" ras", o->order) != NULL;
}

static char *trim(char *text)
{
    char *end;

    text += strspn(text, " \t\n");
    for (end = text + strlen(text); end > text && isspace((unsigned char)end[-1]); end--)
        ;
    *end = 0;
    return text;
}

static void read_line(const char *path, int line, char *text, struct litmus_test *t)
{
    char *fields[4] = { NULL }, *rest = text, *thread, *op, *ops;
    int n = 0;

    while (n < 4 && (fields[n] = strsep(&rest, ";")) != NULL)
        n++;
    if (n != 4 || rest)
        refuse(path, line, "NAME ; THREADS ; CONDITION ; VERDICTS is wanted");
    *t = (struct litmus_test){ .line = line };
    snprintf(t->name, sizeof t->name, "%s", trim(fields[0]));
    snprintf(t->condition, sizeof t->condition, "%s", trim(fields[2]));
    snprintf(t->verdicts, sizeof t->verdicts, "%s", trim(fields[3]));
    while ((thread = strsep(&fields[1], "|")) != NULL) {
        int *nops = &t->nops[t->nthreads];

        if (t->nthreads == THREADS_MOST)
            refuse(path, line, "too many threads");
        for (ops = trim(thread); (op = strsep(&ops, " ")) != NULL;)
            if (*op && (*nops == OPS_MOST || !read_op(op, t, &t->ops[t->nthreads][(*nops)++])))
                refuse(path, line, op);
        t->nthreads++;
    }
}

int litmus_read(const char *path, struct litmus_test *out_tests)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    int n = 0, line = 0;

    if (!file)
        refuse(path, 0, "cannot be opened");
    while (getline(&text, &room, file) > 0) {
        line++;
        if (*text == '#' || *text == '\n')
            continue;
        if (n == TESTS_MOST)
            refuse(path, line, "too many tests");
        read_line(path, line, text, &out_tests[n++]);
    }
    free(text);
    fclose(file);
    return n;
}

void litmus_add(struct litmus_set *set, const struct litmus_test *t, const int *regs, const int *memory)
{
    char text[OUTCOME_BYTES] = "", *at = text;
    size_t lo = 0, hi = set->n;

    for (int r = 0; r < t->nregs; r++)
        at += sprintf(at, "%s%d", r ? " " : "", regs[r]);
    for (int l = 0; l < LOCATIONS; l++)
        if (t->used >> l & 1)
            at += sprintf(at, "%s%c=%d", at == text ? "" : " ", names[l], memory[l]);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = strcmp(set->texts[mid], text);

        if (!c)
            return;
        *(c < 0 ? &lo : &hi) = c < 0 ? mid + 1 : mid;
    }
    if (set->n == set->room) {
        set->room = set->room ? 2 * set->room : 32;
        set->texts = realloc(set->texts, set->room * sizeof *set->texts);
        if (!set->texts)
            abort();
    }
    memmove(set->texts + lo + 1, set->texts + lo, (set->n - lo) * sizeof *set->texts);
    memcpy(set->texts[lo], text, sizeof text);
    set->n++;
}

int litmus_holds(const struct litmus_set *set, const char *outcome)
{
    for (size_t i = 0; i < set->n; i++)
        if (!strcmp(set->texts[i], outcome))
            return 1;
    return 0;
}

void litmus_free(struct litmus_set *set)
{
    free(set->texts);
    *set = (struct litmus_set){ 0 };
}

int litmus_meets(const struct litmus_test *t, const char *outcome)
{
    char wanted[sizeof t->condition], got[OUTCOME_BYTES], *a = wanted, *w;
    char *words[REGISTERS_MOST + LOCATIONS], *b = got, *word;
    int n = 0, r = 0;

    strcpy(wanted, t->condition);
    snprintf(got, sizeof got, "%s", outcome);
    while ((word = strsep(&b, " ")) != NULL)
        words[n++] = word;
    while ((w = strsep(&a, " ")) != NULL) {
        int found = 0;

        if (!*w)
            continue;
        if (!strchr(w, '=')) {
            if (r >= t->nregs || (strcmp(w, "-") && strcmp(w, words[r])))
                return 0;
            r++;
            continue;
        }
        for (int i = t->nregs; i < n; i++)
            found |= !strcmp(w, words[i]);
        if (!found)
            return 0;
    }
    return 1;
}
