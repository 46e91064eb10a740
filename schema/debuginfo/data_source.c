/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who receives what a call returns, read from the source text round it: the left side of the assignment or
 * initialisation, the object whose method is called, the first argument of functions that store through it; and the
 * type that new, a cast or sizeof names.  Files are read once, with comments and literals blanked.  A text that is not
 * what it was when the program was compiled gives nothing, or a wrong name, and no harm else.
 */
#include "debuginfo/debuginfo.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 16 << 20, STATEMENT_MAX = 2000 };

struct peet__source {
    UT_hash_handle hh;
    char *path, *text; /* text NULL: cannot be read */
    size_t bytes;
    size_t *lines; /* where each begins */
    size_t nlines;
};

/* ------------------------------------------------------------------------------------------------- files */

/** Comments, strings and character constants become blanks, so that only code is left. */
static void blank(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char quote = text[i];

        if (quote == '/' && i + 1 < n && text[i + 1] == '/') {
            while (i < n && text[i] != '\n')
                text[i++] = ' ';
        } else if (quote == '/' && i + 1 < n && text[i + 1] == '*') {
            for (; i < n && !(text[i] == '*' && i + 1 < n && text[i + 1] == '/'); i++)
                if (text[i] != '\n')
                    text[i] = ' ';
            if (i + 1 < n)
                text[i] = text[i + 1] = ' ';
        } else if (quote == '"' || (quote == '\'' && (!i || !isalnum((unsigned char)text[i - 1])))) {
            for (i++; i < n && text[i] != quote && text[i] != '\n'; i++) {
                if (text[i] == '\\' && i + 1 < n && text[i + 1] != '\n')
                    text[i++] = '_';
                text[i] = '_';
            }
        }
    }
}

static char *load(const char *path, size_t *out_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    char *text = NULL;
    size_t n = 0;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= FILE_BYTES_MAX &&
        (text = malloc((size_t)st.st_size + 1)) != NULL) {
        while (n < (size_t)st.st_size) {
            ssize_t got = read(fd, text + n, (size_t)st.st_size - n);

            if (got <= 0)
                break;
            n += (size_t)got;
        }
        text[n] = 0;
        blank(text, n);
    }
    close(fd);
    *out_bytes = n;
    return text;
}

static void find_lines(struct peet__source *s)
{
    size_t n = 1;

    for (size_t i = 0; i < s->bytes; i++)
        n += s->text[i] == '\n';
    s->lines = malloc(n * sizeof *s->lines);
    if (!s->lines)
        return;
    s->lines[s->nlines++] = 0;
    for (size_t i = 0; i < s->bytes; i++)
        if (s->text[i] == '\n')
            s->lines[s->nlines++] = i + 1;
}

static const struct peet__source *source_of(struct peet_debuginfo *info, const char *path)
{
    struct peet__source *s = NULL;

    HASH_FIND_STR(info->sources, path, s);
    if (s)
        return s;
    s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return NULL;
    }
    s->text = load(path, &s->bytes);
    if (s->text)
        find_lines(s);
    HASH_ADD_KEYPTR(hh, info->sources, s->path, strlen(s->path), s);
    return s;
}

void peet__sources_free(struct peet_debuginfo *info)
{
    struct peet__source *s, *next;

    for (s = info->sources; s; s = next) {
        next = s->hh.next;
        HASH_DEL(info->sources, s);
        free(s->path);
        free(s->text);
        free(s->lines);
        free(s);
    }
}

/* -------------------------------------------------------------------------------------------------- text */

static int word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/** The first place before at that is not a blank; the place behind it. */
static size_t back_blanks(const char *t, size_t at, size_t least)
{
    while (at > least && isspace((unsigned char)t[at - 1]))
        at--;
    return at;
}

static size_t skip_blanks(const char *t, size_t at, size_t most)
{
    while (at < most && isspace((unsigned char)t[at]))
        at++;
    return at;
}

static size_t back_word(const char *t, size_t at, size_t least)
{
    while (at > least && word_char(t[at - 1]))
        at--;
    return at;
}

/** at is behind a closing bracket: the place of the one that opens. */
static size_t back_bracket(const char *t, size_t at, size_t least)
{
    char close = t[at - 1], open = close == ')' ? '(' : close == ']' ? '[' : '<';
    int depth = 0;

    while (at > least) {
        char c = t[--at];

        depth += c == close;
        if (c == open && --depth == 0)
            return at;
        if (c == ';' || c == '{')
            break;
    }
    return least;
}

/** Text without the blanks round it, and with those within as one each. */
static void copy(char *out, size_t room, const char *text, size_t n)
{
    size_t length = 0;

    while (n && isspace((unsigned char)*text))
        text++, n--;
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    for (size_t i = 0; i < n && length + 1 < room; i++)
        if (!isspace((unsigned char)text[i]) || !isspace((unsigned char)text[i - 1]))
            out[length++] = isspace((unsigned char)text[i]) ? ' ' : text[i];
    out[length] = 0;
}

/* ------------------------------------------------------------------------------------------------ lvalues */

/**
 * An lvalue that ends before `end`: a, a->b, a[i].c, ns::a, (*a).b.
 * Returns: where it begins; fills base, members and name.  end if there is none
 */
static size_t lvalue_before(const char *t, size_t end, size_t least, struct peet__receiver *r)
{
    char members[sizeof r->members] = "", text[sizeof r->members];
    size_t at = back_blanks(t, end, least), begin;

    r->base[0] = r->members[0] = r->name[0] = 0;
    for (;;) {
        if (at > least && t[at - 1] == ']') {
            at = back_blanks(t, back_bracket(t, at, least), least);
            snprintf(text, sizeof text, "[]%s", members);
            memcpy(members, text, sizeof text);
            continue;
        }
        if (at > least && t[at - 1] == ')') { /* (*a).b, (a)->b */
            size_t open = back_bracket(t, at, least), inner = skip_blanks(t, open + 1, at);

            if (open == least && t[open] != '(')
                return end;
            r->dereference = t[inner] == '*';
            inner += r->dereference;
            copy(r->base, sizeof r->base, t + inner, at - 1 > inner ? at - 1 - inner : 0);
            if (r->dereference && !*members)
                r->dereference = 1;
            else if (r->dereference && *members == '.') { /* (*a).b is a->b */
                snprintf(text, sizeof text, "->%.90s", members + 1);
                memcpy(members, text, sizeof text);
                r->dereference = 0;
            }
            begin = open;
            break;
        }
        begin = back_word(t, at, least);
        if (begin == at && *members == '.' && at > least && strchr("{,", t[at - 1])) { /* { .data = malloc(8) } */
            size_t n = strcspn(members + 1, ".[-");

            snprintf(r->base, sizeof r->base, "%.*s", (int)n, members + 1);
            snprintf(text, sizeof text, "%s", members + 1 + n);
            memcpy(members, text, sizeof members);
            break;
        }
        if (begin == at)
            return end;
        at = back_blanks(t, begin, least);
        if (at > least && t[at - 1] == '.') {
            snprintf(text, sizeof text, ".%.*s%s",
                (int)(end - begin < 60
                        ? strspn(t + begin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
                        : 0),
                t + begin, members);
            memcpy(members, text, sizeof text);
            at = back_blanks(t, at - 1, least);
            continue;
        }
        if (at > least + 1 && t[at - 1] == '>' && t[at - 2] == '-') {
            snprintf(text, sizeof text, "->%.*s%s",
                (int)strspn(t + begin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), t + begin,
                members);
            memcpy(members, text, sizeof text);
            at = back_blanks(t, at - 2, least);
            continue;
        }
        while (at > least + 1 && t[at - 1] == ':' && t[at - 2] == ':')
            at = begin = back_word(t, at - 2, least);
        copy(r->base, sizeof r->base, t + begin,
            strspn(t + begin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:"));
        break;
    }
    if (!*r->base || isdigit((unsigned char)*r->base))
        return end;
    memcpy(r->members, members, sizeof members);
    if (!strcmp(r->base, "this") && !strncmp(members, "->", 2)) { /* this->a is a */
        size_t n = strcspn(members + 2, ".[-");

        snprintf(r->base, sizeof r->base, "%.*s", (int)n, members + 2);
        snprintf(r->members, sizeof r->members, "%s", members + 2 + n);
    }
    snprintf(r->name, sizeof r->name, "%s%s%s", r->dereference ? "*" : "", r->base, r->members);
    return begin;
}

/** The stars before an lvalue: of a declaration, or does it store through it? */
static void stars(const char *t, size_t begin, size_t least, struct peet__receiver *r)
{
    size_t at = back_blanks(t, begin, least);
    int n = 0;

    while (at > least && (t[at - 1] == '*' || t[at - 1] == '&')) {
        n += t[at - 1] == '*';
        at = back_blanks(t, at - 1, least);
    }
    /* ',': the next of a declaration */
    r->declared = at > least && (word_char(t[at - 1]) || t[at - 1] == '>' || t[at - 1] == ',');
    if (r->declared) { /* "return", "else" and the like are no types */
        size_t word = back_word(t, at, least);

        if (at - word == 4 && !strncmp(t + word, "else", 4))
            r->declared = 0;
        if (at - word == 6 && !strncmp(t + word, "return", 6))
            r->declared = 0;
    }
    if (n && !r->declared && !r->dereference) {
        char name[sizeof r->name];

        r->dereference = 1;
        snprintf(name, sizeof name, "*%.*s", (int)sizeof name - 2, r->name);
        memcpy(r->name, name, sizeof name);
    }
}

/* -------------------------------------------------------------------------------------------------- calls */

/** "T *" of a cast becomes T.  Returns: 0 if that says nothing */
static int pointee(char *type)
{
    size_t n = strlen(type);

    while (n && type[n - 1] == ' ')
        n--;
    if (!n || type[n - 1] != '*')
        return 0;
    type[--n] = 0;
    while (n && type[n - 1] == ' ')
        type[--n] = 0;
    return n && strcmp(type, "void") && strcmp(type, "char");
}

/** The type behind new. */
static void new_type(const char *t, size_t at, size_t most, struct peet__receiver *r)
{
    size_t begin, end;
    int depth = 0;

    at = skip_blanks(t, at, most);
    if (at < most && t[at] == '(') { /* (std::nothrow), or a place */
        for (; at < most; at++) {
            depth += t[at] == '(';
            if (t[at] == ')' && --depth == 0)
                break;
        }
        at = skip_blanks(t, at + 1, most);
    }
    begin = end = at;
    for (depth = 0; end < most; end++) {
        char c = t[end];

        depth += c == '<';
        depth -= c == '>';
        if (!depth && !word_char(c) && c != ':' && c != '>' && c != '*' && !isspace((unsigned char)c))
            break;
    }
    copy(r->type, sizeof r->type, t + begin, end - begin);
}

/** sizeof(T) among a call's arguments. */
static void sizeof_type(const char *t, size_t at, size_t most, struct peet__receiver *r)
{
    int depth = 0;

    for (; at < most && t[at] != ';'; at++) {
        depth += t[at] == '(';
        if (t[at] == ')' && --depth <= 0)
            return;
        if (!strncmp(t + at, "sizeof", 6) && !word_char(t[at - 1]) && !word_char(t[at + 6])) {
            size_t begin = skip_blanks(t, at + 6, most), end;

            if (t[begin] != '(')
                return;
            for (end = ++begin, depth = 1; end < most && depth; end++)
                depth += (t[end] == '(') - (t[end] == ')');
            copy(r->type, sizeof r->type, t + begin, end - 1 - begin);
            return;
        }
    }
}

/** Functions that store the pointer where their first argument says. */
static int stores_through(const char *t, size_t n)
{
    static const char *const names[] = {
        "posix_memalign", "getline", "getdelim", "asprintf", "vasprintf", "open_memstream", "open_wmemstream"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !strncmp(t, names[i], n))
            return 1;
    return 0;
}

static int first_argument(const char *t, size_t at, size_t most, struct peet__receiver *r)
{
    size_t end;
    int depth = 0;

    at = skip_blanks(t, at, most);
    if (at >= most || t[at] != '(')
        return 0;
    for (end = at + 1; end < most && (depth || (t[end] != ',' && t[end] != ')')); end++)
        depth += (t[end] == '(' || t[end] == '[') - (t[end] == ')' || t[end] == ']');
    return lvalue_before(t, end, at + 1, r) != end;
}

/** allocate(field(100, 50)): names are what debug information makes of them, in small letters. */
static int fortran_allocate(const char *t, size_t at, size_t most, struct peet__receiver *r)
{
    size_t end, n = 0;

    at = skip_blanks(t, at, most);
    if (at >= most || t[at] != '(')
        return 0;
    at = skip_blanks(t, at + 1, most);
    for (end = at; end < most && word_char(t[end]) && n + 1 < sizeof r->base; end++)
        r->base[n++] = (char)tolower((unsigned char)t[end]);
    if (!n || (end < most && t[end] == '%')) { /* a component: its name alone would say too little */
        r->base[0] = 0;
        for (n = 0; at < most && (word_char(t[at]) || t[at] == '%') && n + 1 < sizeof r->name; at++)
            r->name[n++] = (char)tolower((unsigned char)t[at]);
        return n != 0;
    }
    snprintf(r->name, sizeof r->name, "%s", r->base);
    return 1;
}

/** A call among the right side of an assignment: where it stands, going outwards.  Returns: the place of the '=', 0:
 * none */
static size_t assignment(const char *t, size_t at, size_t least, struct peet__receiver *r)
{
    while (at > least) {
        size_t before;

        at = back_blanks(t, at, least);
        if (at <= least)
            return 0;
        switch (t[at - 1]) {
        case '=':
            if (at - 1 > least && strchr("=!<>+-*/%&|^", t[at - 2]))
                return 0;
            return at - 1;
        case ')': /* a cast, or the condition of a choice */
            before = back_bracket(t, at, least);
            if (!*r->type) {
                copy(r->type, sizeof r->type, t + before + 1, at - 2 - before);
                if (!pointee(r->type))
                    r->type[0] = 0;
            }
            at = before;
            break;
        case '(':
            at = back_blanks(t, at - 1, least);
            if (at > least && t[at - 1] == '>') { /* static_cast<T *>( */
                before = back_bracket(t, at, least);
                if (!*r->type) {
                    copy(r->type, sizeof r->type, t + before + 1, at - 2 - before);
                    if (!pointee(r->type))
                        r->type[0] = 0;
                }
                at = back_word(t, back_blanks(t, before, least), least);
            } else if (at > least && word_char(t[at - 1])) {
                return 0; /* an argument of another call */
            }
            break;
        case '?':
        case ':':
            if (at - 1 > least && t[at - 2] == ':') { /* ns::f( */
                at = back_word(t, at - 2, least);
                break;
            }
            at--;
            while (at > least && !strchr("=;{},", t[at - 1]))
                at--;
            while (at > least + 1 && t[at - 1] == '=' && strchr("=!<>", t[at - 2]))
                for (at -= 2; at > least && !strchr("=;{},", t[at - 1]); at--)
                    ;
            break;
        default:
            return 0;
        }
    }
    return 0;
}

/** Where the call begins on its line: at the column, else at the first word before a bracket. */
static size_t call_at(const struct peet__source *s, unsigned line, unsigned column, size_t *out_most)
{
    const size_t begin = s->lines[line - 1], end = line < s->nlines ? s->lines[line] : s->bytes;
    size_t at = begin + (column ? column - 1 : 0);

    *out_most = begin + STATEMENT_MAX < s->bytes ? begin + STATEMENT_MAX : s->bytes;
    if (column && at < end)
        return at;
    for (at = begin; at < end; at++) {
        if (!strncmp(s->text + at, "new ", 4) && (at == begin || !word_char(s->text[at - 1])))
            return at;
        if (s->text[at] == '(' && at > begin && word_char(s->text[at - 1])) {
            size_t word = back_word(s->text, at, begin), n = at - word;

            if (!((n == 2 && !strncmp(s->text + word, "if", n)) || (n == 5 && !strncmp(s->text + word, "while", n)) ||
                    (n == 6 && !strncmp(s->text + word, "sizeof", n))))
                return word;
        }
    }
    return SIZE_MAX;
}

/** Is the word the name in the declaration of an object, whose constructor is what is called? */
static int declares(const char *t, size_t at, size_t word, size_t least, size_t most)
{
    static const char *const others[] = {
        "return", "else", "new", "delete", "throw", "do", "case", "co_return", "co_await"};
    size_t end = back_blanks(t, at, least), begin = back_word(t, end, least), next = skip_blanks(t, word, most);

    if (word == at || end == at || end == least || next >= most || !strchr("({;,", t[next]) ||
        (!word_char(t[end - 1]) && t[end - 1] != '>'))
        return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == end - begin && !strncmp(t + begin, others[i], end - begin))
            return 0;
    return 1;
}

int peet__source_receiver(struct peet_debuginfo *info, const char *path, unsigned line, unsigned column,
    struct peet__receiver *out)
{
    const struct peet__source *s = source_of(info, path);
    const char *t;
    size_t at, word, most, least, equals, begin;

    memset(out, 0, sizeof *out);
    if (!s || !s->text || !line || line > s->nlines || (at = call_at(s, line, column, &most)) == SIZE_MAX)
        return 0;
    t = s->text;
    least = at > STATEMENT_MAX ? at - STATEMENT_MAX : 0;
    for (word = at; word < most && word_char(t[word]); word++)
        ;
    if (word - at == 3 && !strncmp(t + at, "new", 3))
        new_type(t, word, most, out);
    else if (stores_through(t + at, word - at))
        return first_argument(t, word, most, out);
    else if (word - at == 8 && !strncasecmp(t + at, "allocate", 8))
        return fortran_allocate(t, word, most, out);
    /* m[key] */
    if (t[at] == '[' || (word < most && word > at && !*out->type && t[skip_blanks(t, word, most)] == '[')) {
        struct peet__receiver object = *out;
        size_t end = t[at] == '[' ? at : word;

        if (lvalue_before(t, end, least, &object) != end) {
            *out = object;
            out->container = 1;
            return 1;
        }
    }
    begin = back_blanks(t, at, least);
    /* a method */
    if (begin > least && (t[begin - 1] == '.' || (begin > least + 1 && t[begin - 1] == '>' && t[begin - 2] == '-'))) {
        struct peet__receiver object = *out;
        size_t end = begin - (t[begin - 1] == '.' ? 1 : 2), first = lvalue_before(t, end, least, &object);

        if (first != end && !(equals = assignment(t, first, least, out))) {
            *out = object;
            out->container = 1;
            return 1;
        }
        at = first != end ? first : at;
    }
    equals = assignment(t, at, least, out);
    if (!*out->type)
        sizeof_type(t, word, most, out);
    if (equals) {
        begin = lvalue_before(t, equals, least, out);
        if (begin != equals)
            stars(t, begin, least, out);
    } else if (!*out->type && declares(t, at, word, least, most)) { /* std::string text(100, 'x') */
        copy(out->name, sizeof out->name, t + at, word - at);
        memcpy(out->base, out->name, sizeof out->base - 1);
        out->container = 1;
    }
    return *out->name || *out->type;
}
