/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module host: what it refuses and how it says so; values of parameters; nearest names.
 */
#include "config/config.h"
#include "modules/modhost.h"
#include "base/names.h"
#include "base/text.h"

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct peet_error error;

static int load(const char *name, unsigned kind)
{
    struct peet_modhost_module m;
    int err;

    error = (struct peet_error){0};
    err = peet_modhost_load(PEET_TEST_MODULES, name, kind, &m, &error);
    peet_modhost_unload(&m);
    return err;
}

static int says(const char *text)
{
    if (strstr(error.message, text))
        return 1;
    printf("\n  '%s' is not in: %s\n", text, error.message);
    return 0;
}

static void refusals(void)
{
    CU_ASSERT_EQUAL(load("good", 0), 0);
    CU_ASSERT_EQUAL(load("good", PEET_OBSERVER), 0);
    CU_ASSERT_EQUAL(load(PEET_TEST_MODULES "/good.so", PEET_OBSERVER), 0);
    CU_ASSERT_EQUAL(load("good", PEET_MACHINE), PEET_EMODULE);
    CU_ASSERT_TRUE(says("good is an observer, not a machine"));
    CU_ASSERT_EQUAL(load("old_abi", 0), PEET_EVERSION);
    CU_ASSERT_TRUE(says("version 1") && says("2 to 3"));
    CU_ASSERT_EQUAL(load("new_abi", 0), PEET_EVERSION);
    CU_ASSERT_TRUE(says("version 4") && says("2 to 3"));
    CU_ASSERT_EQUAL(load("short", 0), PEET_EVERSION);
    CU_ASSERT_TRUE(says("bytes"));
    CU_ASSERT_EQUAL(load("direct", 0), PEET_EVERSION);
    CU_ASSERT_TRUE(says("peet/direct.h") && says("rebuild"));
    CU_ASSERT_EQUAL(load("observed", 0), PEET_EVERSION);
    CU_ASSERT_TRUE(says("peet/direct.h") && says("rebuild"));
    CU_ASSERT_EQUAL(load("no_name", 0), PEET_EMODULE);
    CU_ASSERT_EQUAL(load("no_block", 0), PEET_EMODULE);
    CU_ASSERT_TRUE(says("has no block()"));
    CU_ASSERT_EQUAL(load("bad_default", 0), PEET_EMODULE);
    CU_ASSERT_TRUE(says("mru") && says("lru|fifo|random"));
    CU_ASSERT_EQUAL(load("godo", 0), PEET_ENOTFOUND);
    CU_ASSERT_TRUE(says("did you mean 'good'?"));
    CU_ASSERT_EQUAL(load("quantum_computer", 0), PEET_ENOTFOUND);
    CU_ASSERT_TRUE(says("no module 'quantum_computer'") && !strstr(error.message, "did you mean"));
    CU_ASSERT_EQUAL(load("./nowhere.so", 0), PEET_ENOTFOUND);
    CU_ASSERT_TRUE(says("nowhere.so"));
    CU_ASSERT_EQUAL(load("/etc/hostname", 0), PEET_EMODULE);
    CU_ASSERT_EQUAL(load("", 0), PEET_EINVALID);
}

static void listing(void)
{
    char **names;
    int n = peet_modhost_list(PEET_TEST_MODULES, &names, &error), good = 0;

    CU_ASSERT_EQUAL(n, 9);
    for (int i = 0; i < n; i++) {
        good |= !strcmp(names[i], "good");
        CU_ASSERT_TRUE(!i || strcmp(names[i - 1], names[i]) < 0);
    }
    CU_ASSERT_TRUE(good);
    peet_modhost_list_free(names, n);
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_modhost_list("/nowhere/at/all", &names, &error), PEET_EIO);
    CU_ASSERT_TRUE(says("/nowhere/at/all"));
}

/** One parameter given as text. */
static int value(const char *name, const char *text, union peet_value *out)
{
    static const char *const order[] = {"lines", "capacity", "ratio", "eager", "kind", "title"};
    struct peet_config_param param = {(char *)name, (char *)text, (char *)"--observe", PEET_PARAM_STRING};
    struct peet_config_module given = {.module = (char *)"good", .params = &param, .nparams = 1};
    static union peet_value values[6];
    struct peet_modhost_module m;
    int err;

    error = (struct peet_error){0};
    if (peet_modhost_load(PEET_TEST_MODULES, "good", 0, &m, &error))
        return -1000;
    CU_ASSERT_EQUAL(peet_modhost_nparams(m.module), 6);
    err = peet_modhost_values(m.module, &given, values, &error);
    for (int i = 0; i < 6; i++)
        if (!strcmp(order[i], name) && out)
            *out = values[i];
    peet_modhost_unload(&m);
    return err;
}

static void values(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"1024", 1024}, {"0x800", 2048}, {"4k", 4096}, {"4K", 4096}, {"4KiB", 4096}, {"4KB", 4096},
        {"4096B", 4096}, {"1M", 1 << 20}, {"1MiB", 1 << 20}};
    static const char *const bad_sizes[] = {
        "", "K", "4 K", "4KiBs", "4Ki", "-4", "+4", "4.5K", "0x", "99999999999999999999", "16777216TiB"};
    union peet_value v;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CU_ASSERT_EQUAL(value("capacity", sizes[i].text, &v), 0);
        CU_ASSERT_EQUAL(v.u64, sizes[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++) {
        CU_ASSERT_EQUAL(value("capacity", bad_sizes[i], &v), PEET_EINVALID);
        CU_ASSERT_TRUE(says("--observe: good: capacity="));
    }
    CU_ASSERT_EQUAL(value("capacity", "2MiB", &v), PEET_EINVALID);
    CU_ASSERT_TRUE(says("1KiB..1MiB") && says("bytes"));
    CU_ASSERT_EQUAL(value("lines", "64", &v), 0);
    CU_ASSERT_EQUAL(v.u64, 64);
    CU_ASSERT_EQUAL(value("lines", "65", &v), PEET_EINVALID);
    CU_ASSERT_EQUAL(value("lines", "0", &v), PEET_EINVALID);
    CU_ASSERT_EQUAL(value("lines", "12x", &v), PEET_EINVALID);
    CU_ASSERT_EQUAL(value("ratio", "0.25", &v), 0);
    CU_ASSERT_EQUAL(v.f64, 0.25);
    CU_ASSERT_EQUAL(value("ratio", "1.25", &v), PEET_EINVALID);
    CU_ASSERT_EQUAL(value("ratio", "nan", &v), PEET_EINVALID);
    CU_ASSERT_EQUAL(value("eager", "yes", &v), 0);
    CU_ASSERT_EQUAL(v.u64, 1);
    CU_ASSERT_EQUAL(value("eager", "perhaps", &v), PEET_EINVALID);
    CU_ASSERT_EQUAL(value("kind", "random", &v), 0);
    CU_ASSERT_EQUAL(v.u64, 2);
    CU_ASSERT_EQUAL(value("kind", "ran", &v), PEET_EINVALID);
    CU_ASSERT_TRUE(says("lru|fifo|random"));
    CU_ASSERT_EQUAL(value("title", "a b", &v), 0);
    CU_ASSERT_STRING_EQUAL(v.string, "a b");
    CU_ASSERT_EQUAL(value("capcity", "4K", NULL), PEET_EINVALID);
    CU_ASSERT_TRUE(says("unknown parameter 'capcity'; did you mean 'capacity'?"));
    CU_ASSERT_EQUAL(value("zzz", "4K", NULL), PEET_EINVALID);
    CU_ASSERT_TRUE(says("unknown parameter 'zzz'"));
}

/* ---- edit distance against the plain recursion */

static unsigned slow(const char *a, const char *b)
{
    unsigned best, other;

    if (!*a || !*b)
        return (unsigned)(strlen(a) + strlen(b));
    best = slow(a + 1, b + 1) + (*a != *b);
    other = slow(a + 1, b) + 1;
    best = other < best ? other : best;
    other = slow(a, b + 1) + 1;
    best = other < best ? other : best;
    if (a[0] == b[1] && a[1] == b[0] && a[1] && b[1]) {
        other = slow(a + 2, b + 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

static void distances(void)
{
    uint32_t x = 1;

    CU_ASSERT_EQUAL(peet_names_distance("kitten", "sitting"), 3);
    CU_ASSERT_EQUAL(peet_names_distance("", "abc"), 3);
    CU_ASSERT_EQUAL(peet_names_distance("cahce", "cache"), 1);
    for (int i = 0; i < 3000; i++) {
        char a[7] = "", b[7] = "";

        for (unsigned k = 0; k < (x >> 8) % 7; k++)
            a[k] = "abc"[(x = x * 1103515245 + 12345) >> 16 & 1];
        for (unsigned k = 0; k < (x >> 8) % 7; k++)
            b[k] = "abc"[((x = x * 1103515245 + 12345) >> 16) % 3];
        x = x * 1103515245 + 12345;
        if (peet_names_distance(a, b) != slow(a, b))
            printf("\n  %s %s: %u %u\n", a, b, peet_names_distance(a, b), slow(a, b));
        CU_ASSERT_EQUAL(peet_names_distance(a, b), slow(a, b));
    }
}

static void modules_dir(void)
{
    char path[4096];

    unsetenv("PEET_LIB");
    CU_ASSERT_EQUAL(peet_modhost_dir(path, sizeof path, &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(path, "/lib/peet/modules"));
    setenv("PEET_LIB", "/opt/lib", 1);
    CU_ASSERT_EQUAL(peet_modhost_dir(path, sizeof path, &error), 0);
    CU_ASSERT_STRING_EQUAL(path, "/opt/lib/peet/modules");
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_modhost_dir(path, 8, &error), PEET_ELIMIT);
    unsetenv("PEET_LIB");
}

int main(void)
{
    CU_pSuite suite;

    if (CU_initialize_registry())
        return 2;
    suite = CU_add_suite("modhost", NULL, NULL);
    CU_add_test(suite, "refusals", refusals);
    CU_add_test(suite, "listing", listing);
    CU_add_test(suite, "values", values);
    CU_add_test(suite, "distances", distances);
    CU_add_test(suite, "modules folder", modules_dir);
    CU_basic_run_tests();
    return CU_get_number_of_failures() != 0;
}
