/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small compiler: it invents a program of assignments, reads it with a recursive-descent parser into trees, folds
 * constants, numbers values so that equal computations are done once, and writes code for a stack machine from what the
 * variables are in the end.  Memory comes from an allocator of its own, as compilers have it, so that nearly all allocations have one place in
 * the source.  Checked: what the optimised code computes is what a plain reading of the text has computed.
 *
 *     peetcc -O2 -g -o compile compile.c && peet run --observe dtrack -- ./compile [FUNCTIONS]
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 40, STATEMENTS = 60, BUCKETS = 1 << 10, NUMBERS = 1 << 12, CHUNK = 1 << 16, INPUTS = 8 };

/* ---------------------------------------------------------------------------------------- allocation */

struct chunk { struct chunk *next; size_t used; char bytes[CHUNK]; };
static struct chunk *chunks;

static void *obstack_alloc(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (!chunks || chunks->used + bytes > CHUNK) {
        struct chunk *c = malloc(sizeof *c);
        if (!c)
            exit(1);
        c->next = chunks;
        c->used = 0;
        chunks = c;
    }
    void *p = chunks->bytes + chunks->used;
    chunks->used += bytes;
    return p;
}

static void obstack_free(void)
{
    for (struct chunk *c; (c = chunks);) {
        chunks = c->next;
        free(c);
    }
}

/* ---------------------------------------------------------------------------------------------- trees */

enum op { NUMBER, INPUT, ADD, SUBTRACT, MULTIPLY, SHIFT };

struct expression {
    enum op op;
    int uses;
    int64_t value;           /* of a number; which input */
    struct expression *left, *right;
    struct expression *same; /* the next one in its bucket of value numbers */
    int place;               /* in the code's memory, + 1 */
};

struct symbol {
    char name[24];
    struct symbol *next;
    struct expression *now;  /* what the variable holds */
    int64_t plain;           /* the same by plain reading */
};

static struct symbol *symbols[BUCKETS];
static struct expression *value_table[NUMBERS];
static char *text, *at;
static int64_t inputs[INPUTS];
static long folded, shared, made;

static uint64_t seed = 2718;
static int random_below(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

static struct symbol *lookup(const char *name, size_t length)
{
    unsigned h = 5381;
    struct symbol *s;
    for (size_t i = 0; i < length; i++)
        h = h * 33 + (unsigned char)name[i];
    for (s = symbols[h % BUCKETS]; s; s = s->next)
        if (strlen(s->name) == length && !memcmp(s->name, name, length))
            return s;
    s = obstack_alloc(sizeof *s);
    memset(s, 0, sizeof *s);
    memcpy(s->name, name, length < sizeof s->name ? length : sizeof s->name - 1);
    s->next = symbols[h % BUCKETS];
    symbols[h % BUCKETS] = s;
    return s;
}

static int64_t apply(enum op op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case ADD: return (int64_t)(x + y);
    case SUBTRACT: return (int64_t)(x - y);
    case MULTIPLY: return (int64_t)(x * y);
    default: return (int64_t)(x << (y & 7));
    }
}

/* A node for it: the number, if it is known; the node that computes the same, if there is one. */
static struct expression *make(enum op op, int64_t value, struct expression *left, struct expression *right)
{
    if (op > INPUT && left->op == NUMBER && right->op == NUMBER) {
        folded++;
        return make(NUMBER, apply(op, left->value, right->value), NULL, NULL);
    }
    uint64_t h = ((uint64_t)op * 31 + (uint64_t)value) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uintptr_t)left >> 4) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uintptr_t)right >> 4) * 0x9e3779b97f4a7c15u;
    struct expression **bucket = &value_table[h >> 52];
    for (struct expression *e = *bucket; e; e = e->same)
        if (e->op == op && e->value == value && e->left == left && e->right == right) {
            shared++;
            return e;
        }
    struct expression *e = obstack_alloc(sizeof *e);
    *e = (struct expression){op, 0, value, left, right, *bucket, 0};
    *bucket = e;
    made++;
    return e;
}

/* ---------------------------------------------------------------------------------------------- text */

static char *write_factor(char *p, int depth)
{
    switch (random_below(depth > 3 ? 3 : 5)) {
    case 0: return p + sprintf(p, "%d", random_below(9));
    case 1: return p + sprintf(p, "in%d", random_below(INPUTS));
    case 2: return p + sprintf(p, "variable_%d", random_below(VARIABLES));
    default:
        *p++ = '(';
        p = write_factor(p, depth + 1);
        for (int n = 1 + random_below(3); n > 0; n--) {
            *p++ = "+-*<"[random_below(4)];
            p = write_factor(p, depth + 1);
        }
        *p++ = ')';
        return p;
    }
}

static void write_text(void)
{
    char *p = text;
    for (int s = 0; s < STATEMENTS; s++) {
        p += sprintf(p, "variable_%d = ", random_below(VARIABLES));
        p = write_factor(p, 0);
        *p++ = ';';
        *p++ = '\n';
    }
    *p = 0;
}

/* --------------------------------------------------------------------------------------------- parser */

static struct expression *sum(int64_t *plain);

static struct expression *factor(int64_t *plain)
{
    if (*at == '(') {
        at++;
        struct expression *e = sum(plain);
        at++;
        return e;
    }
    if (isdigit((unsigned char)*at)) {
        *plain = strtol(at, &at, 10);
        return make(NUMBER, *plain, NULL, NULL);
    }
    const char *name = at;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    if (name[0] == 'i') {
        int n = atoi(name + 2);
        *plain = inputs[n];
        return make(INPUT, n, NULL, NULL);
    }
    struct symbol *s = lookup(name, (size_t)(at - name));
    *plain = s->plain;
    return s->now ? s->now : make(NUMBER, 0, NULL, NULL);
}

static struct expression *product(int64_t *plain)
{
    struct expression *e = factor(plain);
    while (*at == '*' || *at == '<') {
        enum op op = *at++ == '*' ? MULTIPLY : SHIFT;
        int64_t other;
        struct expression *f = factor(&other);
        *plain = apply(op, *plain, other);
        e = make(op, 0, e, f);
    }
    return e;
}

static struct expression *sum(int64_t *plain)
{
    struct expression *e = product(plain);
    while (*at == '+' || *at == '-') {
        enum op op = *at++ == '+' ? ADD : SUBTRACT;
        int64_t other;
        struct expression *f = product(&other);
        *plain = apply(op, *plain, other);
        e = make(op, 0, e, f);
    }
    return e;
}

static void parse(void)
{
    for (at = text; *at;) {
        const char *name = at;
        while (*at != ' ')
            at++;
        struct symbol *s = lookup(name, (size_t)(at - name));
        int64_t plain;
        at += 3;
        struct expression *e = sum(&plain);
        s->now = e;
        s->plain = plain;
        at += 2;
    }
}

/* ----------------------------------------------------------------------------------------------- code */

static struct { uint8_t op; int64_t operand; } *code;
static size_t ncode, room;
static int64_t *memory;
static int nmemory;

static void emit(int op, int64_t operand)
{
    if (ncode == room)
        code = realloc(code, (room = room ? 2 * room : 256) * sizeof *code);
    code[ncode].op = (uint8_t)op;
    code[ncode++].operand = operand;
}

enum { PUSH = 16, PUSH_INPUT, LOAD, KEEP };

static void generate(struct expression *e)
{
    if (e->place) {
        emit(LOAD, e->place - 1);
        return;
    }
    if (e->op == NUMBER || e->op == INPUT) {
        emit(e->op == NUMBER ? PUSH : PUSH_INPUT, e->value);
        return;
    }
    generate(e->left);
    generate(e->right);
    emit(e->op, 0);
    e->place = ++nmemory;
    emit(KEEP, e->place - 1);
}

static int64_t run(size_t from, size_t to)
{
    static int64_t stack[1 << 14];
    int64_t *top = stack;
    for (size_t i = from; i < to; i++)
        switch (code[i].op) {
        case PUSH: *top++ = code[i].operand; break;
        case PUSH_INPUT: *top++ = inputs[code[i].operand]; break;
        case LOAD: *top++ = memory[code[i].operand]; break;
        case KEEP: memory[code[i].operand] = top[-1]; break;
        default: top--; top[-1] = apply((enum op)code[i].op, top[-1], top[0]);
        }
    return top[-1];
}

int main(int argc, char **argv)
{
    int functions = argc > 1 ? atoi(argv[1]) : 40;
    long wrong = 0, instructions = 0;

    text = malloc(1 << 20);
    for (int f = 0; f < functions; f++) {
        for (int i = 0; i < INPUTS; i++)
            inputs[i] = random_below(1000) - 500;
        write_text();
        parse();
        memory = malloc((size_t)(made + 1) * sizeof *memory);
        nmemory = 0;
        ncode = 0;
        for (int b = 0; b < BUCKETS; b++)
            for (struct symbol *s = symbols[b]; s; s = s->next)
                if (s->now) {
                    size_t from = ncode;
                    generate(s->now);
                    wrong += run(from, ncode) != s->plain;
                }
        instructions += (long)ncode;
        free(memory);
        if (f % 4 == 3) { /* the end of a file */
            memset(symbols, 0, sizeof symbols);
            memset(value_table, 0, sizeof value_table);
            obstack_free();
        } else { /* nothing of this function's code is kept */
            for (int b = 0; b < NUMBERS; b++)
                for (struct expression *e = value_table[b]; e; e = e->same)
                    e->place = 0;
            for (int b = 0; b < BUCKETS; b++) /* and its variables depend on inputs that are no longer there */
                for (struct symbol *s = symbols[b]; s; s = s->next) {
                    s->now = NULL;
                    s->plain = 0;
                }
        }
    }
    printf("compile: %d functions, %ld expressions, %ld folded, %ld shared, %ld instructions, %ld wrong\n", functions, made, folded, shared,
        instructions, wrong);
    obstack_free();
    free(code);
    free(text);
    return wrong != 0;
}
