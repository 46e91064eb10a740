/* SPDX-License-Identifier: Apache-2.0 */
/* The result table: what it shows, how wide it is, and that no stats.json can upset it. */
#include "table.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

static int columns_of(const char *line, size_t length)
{
    int n = 0;
    for (size_t i = 0; i < length; i++) {
        n += ((unsigned char)line[i] & 0xc0) != 0x80;
        CU_ASSERT((unsigned char)line[i] >= ' ' && line[i] != 0x7f); /* nothing that a terminal would obey */
    }
    return n;
}

/* The table of this JSON text; the caller frees it. */
static char *table_of(const char *json)
{
    json_error_t where;
    json_t *stats = json_loads(json, 0, &where);
    char *text = NULL;
    size_t bytes;
    CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
    FILE *out = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    peet_cli_table_print(out, stats, 1.5, "out");
    fclose(out);
    json_decref(stats);
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        CU_ASSERT(length <= 4 * 80);
        CU_ASSERT(columns_of(line, length) <= 80);
        line += length + (line[length] == '\n');
    }
    return text;
}

static void shows(const char *json, const char *expected)
{
    char *text = table_of(json);
    if (!strstr(text, expected)) {
        printf("\n[%s] is not in:\n%s", expected, text);
        CU_FAIL("the table shows it");
    }
    free(text);
}

#define STATS(more) \
    "{\"config\": {\"program\": \"/a/prog\", \"cores\": 2, \"machine\": {\"module\": \"bus\"}}, " \
    "\"time\": {\"cycles\": 2000}, \"totals\": {\"instructions\": 1000, \"reads\": 300, \"writes\": 200}" more "}"

static void test_figures(void)
{
    shows(STATS(""), "peet: prog on 2 processors of bus\n");
    shows(STATS(""), "0.500 per cycle");
    shows(STATS(""), "references per instruction");
    shows(STATS(""), "  results in out\n");
    shows(STATS(", \"hw\": [{\"busy_cycles\": 30, \"stalled_cycles\": 10, \"idle_cycles\": 60}, "
                "{\"busy_cycles\": 90, \"stalled_cycles\": 0, \"idle_cycles\": 10}]"),
        "least 30.0 %, mean 60.0 %, greatest 90.0 %");
    shows(STATS(", \"bus\": {\"summary\": {\"bus_utilisation\": 0.25}}"), "bus utilisation ");
    shows(STATS(", \"bus\": {\"totals\": {\"misses\": 12345, \"zero\": 0}}"), "12,345");
    shows(STATS(", \"other\": {\"summary\": {\"thing\": \"18446744073709551615\"}}"), "18446744073709551615");
}

#define TABLES(rows) \
    STATS( \
        ", \"other\": {\"tables\": [{\"title\": \"some\", \"columns\": [\"name\", \"share\", \"what\"], \"rows\": [" rows \
        "]}]}")
#define LONG "a name that is much longer than the column of names can be and goes on and on and on for quite a while"

static void test_tables(void)
{
    shows(TABLES("[\"x\", \"1.0 %\", \"first\"], [\"yy\", 1234567, \"second\"]"),
        "  some:\n    name      share  what\n    x         1.0 %  first\n    yy    1,234,567  second\n");
    shows(TABLES("[\"" LONG "\", 1, \"" LONG "\"]"), "  some:\n");
    shows(TABLES("[\"line\\nbreak\", 1]"), "line break");
    shows(TABLES("[\"x\", 1, \"_Z1fv (a.cpp:1)\"]"), "  f() (a.cpp:1)\n");
    shows(TABLES("[\"x\", 1, \"" LONG " (a.cpp:12)\"]"), "... (a.cpp:12)\n"); /* the place is kept */
    free(table_of(TABLES("")));
    free(table_of(TABLES("[], 5, null, [null, {}, [], true, -3, 1e300]")));
    free(table_of(STATS(", \"other\": {\"tables\": [{\"columns\": 3, \"rows\": 4}, 7, {}]}")));
    free(table_of(STATS(", \"other\": {\"tables\": [{\"title\": \"" LONG LONG "\", \"columns\": [\"" LONG "\", \"" LONG
                        "\"], \"rows\": [[1]]}]}")));
    free(table_of(STATS(", \"other\": {\"tables\": 5}")));
}

/* A table that is too wide goes on below, with the columns that tell its rows apart. */
static void test_stripes(void)
{
    static const char columns[] = "[\"program\", \"level\", \"misses of lookups by demand\", "
                                  "\"misses of lookups ahead of demand\", \"fetched\"]";
    char json[1024];
    for (int again = 0; again < 2; again++) {
        snprintf(json, sizeof(json),
            STATS(", \"x\": {\"tables\": [{\"title\": \"t\", \"columns\": %s, \"rows\": "
                  "[[\"prog\", \"L1I\", 1, 2, 33], [\"%s\", \"L1D\", 4, 5, 66]]}]}"),
            columns, again ? "" : "prog");
        shows(json, "\n    program  level  misses of lookups ahead of demand  fetched\n    prog     L1I ");
        shows(json,
            again ? "\n             L1D                                    5       66\n"
                  : "\n    prog     L1D                                    5       66\n");
    }
}

static void test_reservations(void)
{
    shows(STATS(", \"end\": {\"reason\": \"deadlock\"}"), "did not end by itself (deadlock)");
    shows(STATS(", \"gaps\": {\"asm_statements\": 3, \"opaque_functions\": 0}"),
        "3 inline assembly statements or the like, 0 functions");
    shows(STATS(", \"gaps\": {\"atomic_library_functions\": [\"__atomic_load\", \"__atomic_store\"]}"),
        "not observable in libatomic: __atomic_load, __atomic_store\n");
    shows(STATS(", \"gaps\": {\"atomic_library_functions\": [\"a\", \"b\", \"c\", \"d\", \"e\"]}"),
        "not observable in libatomic: a, b, ...\n");
    shows(STATS(", \"gaps\": {\"extraneous_blocks\": 1234}"), "1,234 blocks between marked iterations");
    shows("{\"totals\": {\"exact\": false}}", "rep-prefixed");
    char *text = table_of(STATS(", \"end\": {\"reason\": \"exit\"}, \"gaps\": {\"asm_statements\": 0}"));
    CU_ASSERT_PTR_NULL(strstr(text, "end by itself"));
    CU_ASSERT_PTR_NULL(strstr(text, "observable"));
    CU_ASSERT_PTR_NULL(strstr(text, "rep-prefixed"));
    free(text);
}

/* Names that would colour the terminal, turn its writing round, or fill it. */
static void test_hostile(void)
{
    shows(
        STATS(
            ", \"hot\": {\"functions\": [{\"function\": \"a\\u001b[31mred\\u202eback\\u009b1mc1\", \"file\": \"f\", \"line\": 1, \"instructions\": 5}]}"),
        "a?[31mred?back?1mc1 ");
    char json[40000] = "{\"totals\": {\"instructions\": 7}, \"hot\": {\"functions\": [{\"function\": \"", *text;
    for (int i = 0; i < 1500; i++)
        strcat(json, "std::map<k");
    strcat(json, "\", \"file\": \"f\", \"line\": 1, \"instructions\": 7}]}}");
    text = table_of(json);
    CU_ASSERT(strlen(text) < 2000 && strstr(text, "...") && strstr(text, "100.0 %"));
    free(text);
}

static void test_page(void)
{
    shows(
        STATS(
            ", \"bus\": {\"totals\": {\"reads\": 400, \"writes\": 100, \"misses\": 50, \"misses_by_kind\": {\"cold\": 30, \"conflict\": 0, "
            "\"false_sharing\": 20}}, \"bus\": {\"utilisation\": 0.25, \"transactions\": {\"total\": 9}}}"),
        "    level  lookups  misses  of lookups  for 1000    cold  false sh.\n"
        "    cache      500      50      10.0 %    50.000  30.000     20.000\n");
    shows(
        STATS(
            ", \"bus\": {\"totals\": {\"reads\": 90, \"writes\": 10, \"read_misses\": 6, \"write_misses\": 4, \"cold_misses\": 7, \"coherence_misses\": 3}}"),
        "    level  lookups  misses  of lookups  for 1000   cold  coherence\n"
        "    cache      100      10      10.0 %    10.000  7.000      3.000\n");
    shows(STATS(", \"sync\": {\"mutex\": {\"operations\": 8, \"waits\": 4, \"waited_cycles\": 3000}}"),
        "mutex           8      4          3,000                   1.500\n");
    shows(
        STATS(
            ", \"hot\": {\"functions\": [{\"function\": \"f\", \"instructions\": 750}], \"lines\": [{\"function\": \"f\", \"file\": \"/d/f.c\", "
            "\"line\": 3, \"instructions\": 500}]}"),
        "    f.c:3           500  50.0 %\n");
    char *text = table_of(STATS(", \"bus\": {\"config\": {\"ways\": 77}, \"totals\": {\"thing\": 5}}"));
    CU_ASSERT_PTR_NULL(strstr(text, "77"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "totals thing"));
    free(text);
}

static void test_many_processors(void)
{
    char json[200000] = "{\"hw\": [";
    for (int i = 0; i < 2000; i++)
        sprintf(json + strlen(json), "%s{\"busy_cycles\": %d, \"idle_cycles\": %d}", i ? "," : "", i, 2000 - i);
    strcat(json, "]}");
    char *text = table_of(json);
    int lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    CU_ASSERT(lines < 10);
    free(text);
}

static void test_odd(void)
{
    static const char *const odd[] = {"{}", "[]", "{\"totals\": 3, \"time\": [], \"hw\": {}, \"config\": null}",
        "{\"hw\": [1, null, {}], \"totals\": {\"instructions\": -1, \"reads\": \"x\"}}",
        "{\"config\": {\"program\": 1, \"machine\": {\"module\": \"./dir/my.so\"}}, \"my\": {\"a\": {\"b\": 1e300}}}",
        "{\"config\": {\"program\": \"a-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on\", "
        "\"machine\": {\"module\": \"another-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on\"}}, "
        "\"m\": {\"summary\": {\"a_key_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on\": "
        "\"a value that goes on and on and on and on and on and on and on and on and on and on and on\"}}}"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        free(table_of(odd[i]));
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"figures", test_figures},
        {"reservations", test_reservations},
        {"many processors", test_many_processors},
        {"odd input", test_odd},
        {"tables of modules", test_tables},
        {"tables in stripes", test_stripes},
        {"the page", test_page},
        {"hostile names", test_hostile},
    };
    return RUN_SUITE("table", tests);
}
