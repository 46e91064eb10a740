/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who receives an allocation, by the source alone: statements as people write them, each with the place of its call
 * marked by '@', and what a reader would say.
 */
#include "debuginfo/debuginfo.h"

#include <CUnit/Basic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *text, *name, *type; /* NULL: not found */
} cases[] = {
    {"int *a = @malloc(4);", "a", ""},
    {"    struct node *n = @malloc(sizeof(struct node));", "n", "struct node"},
    {"n = (struct node *) @malloc(10 * sizeof *n);", "n", "struct node"},
    {"x->next = @malloc(sizeof *x->next);", "x->next", ""},
    {"x->next->prev=@calloc(1,sizeof(T));", "x->next->prev", "T"},
    {"rows[i + f(3)] = @calloc(n, sizeof(double));", "rows[]", "double"},
    {"table[i][j].entries = @xmalloc(n);", "table[][].entries", ""},
    {"*out = @malloc(n);", "*out", ""},
    {"(*out).list = @malloc(n);", "out->list", NULL},
    {"char **argv2 = @malloc(n);", "argv2", ""},
    {"if ((p = @malloc(n)) == NULL) return;", "p", ""},
    {"if (!(p = @malloc(n)))", "p", ""},
    {"while ((s->buffer = @realloc(s->buffer, n)) == 0)", "s->buffer", ""},
    {"p = c ? @malloc(3) : q;", "p", ""},
    {"p = c == 1 ? q : @malloc(3);", "p", ""},
    {"int a = 1, *b = @malloc(3), *c = 0;", "b", ""},
    {"return @malloc(sizeof(struct pair));", "", "struct pair"},
    {"list_add(&head, @malloc(sizeof(struct item)));", "", "struct item"},
    {"x = y == @malloc(3);", NULL, NULL},
    {"f(@malloc(3));", NULL, NULL},
    {"p /* not = this */ = @malloc(3);", "p", ""},
    {"s = \"a = b\"; t = @strdup(s);", "t", ""},
    {"/* first\n second */ q =\n\n   @malloc(8);", "q", ""},
    {"struct s v = { .data = @malloc(8) };", "data", ""},
    {"error = @posix_memalign((void **)&block, 64, n);", "block", NULL},
    {"@getline(&line, &room, file);", "line", NULL},
    {"if (@asprintf(&s->text, \"%d\", 3) < 0)", "s->text", NULL},
    {"auto *d = @new shop::desk(1, 2);", "d", "shop::desk"},
    {"d->items = @new item[n];", "d->items", "item"},
    {"p = @new (std::nothrow) std::pair<int, long>[4];", "p", "std::pair<int, long>"},
    {"f(@new node{1});", "", "node"},
    {"T *p = static_cast<T *>(@malloc(3));", "p", "T"},
    {"p = reinterpret_cast<unsigned *>(@std::malloc(3));", "p", "unsigned"},
    {"stock.@push_back(x);", "stock", ""},
    {"graph[i].edges.@emplace_back(1, 2);", "graph[].edges", ""},
    {"self->names->@insert(x);", "self->names", ""},
    {"p = pool->@take(3);", "p", ""},
    {"@index[5].price = 3;", "index", ""},
    {"std::string @text(100, 'x');", "text", ""},
    {"std::vector<int> @numbers(n);", "numbers", ""},
    {"return @f(100);", NULL, NULL},
    {"else @f(100);", NULL, NULL},
    {"this->cells = @malloc(n);", "cells", ""},
    {"ns::global = @malloc(n);", "ns::global", ""},
    {"@allocate(Field(10, 20))", "field", NULL},
    {"allocated = @malloc(n);", "allocated", ""},
    {"a = b = @malloc(n);", "b", ""},
    {"@", NULL, NULL},
};

static void test_statements(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[40], text[400];
        struct peet_debuginfo info;
        struct peet__receiver r;
        const char *at = strchr(cases[i].text, '@');
        unsigned line = 2, column = 1;
        int fd = memfd_create("source", 0), found;

        CU_ASSERT_FATAL(fd >= 0 && at);
        for (const char *c = cases[i].text; c < at; c++) {
            column = *c == '\n' ? 1 : column + 1;
            line += *c == '\n';
        }
        snprintf(text, sizeof text, ";\n%.*s%s\n}\n", (int)(at - cases[i].text), cases[i].text, at + 1);
        CU_ASSERT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        memset(&info, 0, sizeof info);
        found = peet__source_receiver(&info, path, line, column, &r);
        if (!cases[i].name ? found && *r.name : strcmp(r.name, cases[i].name) != 0) {
            printf("'%s': '%s' instead of '%s'\n", cases[i].text, r.name, cases[i].name ? cases[i].name : "nothing");
            CU_FAIL("name");
        }
        if (cases[i].type && strcmp(r.type, cases[i].type)) {
            printf("'%s': type '%s' instead of '%s'\n", cases[i].text, r.type, cases[i].type);
            CU_FAIL("type");
        }
        /* without a column, or at a wrong one, it may find something else, and does no harm */
        for (unsigned other = 0; other < 60; other++)
            peet__source_receiver(&info, path, line - other % 2, other, &r);
        peet__source_receiver(&info, path, 99, 1, &r);
        peet__sources_free(&info);
        close(fd);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"statements", test_statements}, CU_TEST_INFO_NULL};
    CU_SuiteInfo suites[] = {{"source", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    unsigned failures;

    if (CU_initialize_registry() || CU_register_suites(suites))
        return 1;
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
