/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run configuration: file to structure and back, what is refused and where, failures of writing.
 */
#include "config/config.h"
#include "base/stats.h"

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[] = "/tmp/peet-test-config-XXXXXX", path[100], other[100];
static struct peet_error error;

static int says(const char *text)
{
    if (strstr(error.message, text))
        return 1;
    printf("\n  '%s' is not in: %s\n", text, error.message);
    return 0;
}

static int read_text(struct peet_config *c, const char *text)
{
    FILE *file = fopen(path, "w");

    fputs(text, file);
    fclose(file);
    error = (struct peet_error){0};
    peet_config_init(c, &error);
    return peet_config_read(c, path, &error);
}

static int refused(const char *text)
{
    struct peet_config c;
    int err = read_text(&c, text);

    peet_config_fini(&c);
    return err;
}

static void reading(void)
{
    struct peet_config c;

    CU_ASSERT_EQUAL(read_text(&c, ""), 0);
    CU_ASSERT_EQUAL(c.cores, 1);
    CU_ASSERT_STRING_EQUAL(c.machine.module, "ideal");
    peet_config_fini(&c);
    CU_ASSERT_EQUAL(
        read_text(&c,
            "version = 1; program = \"./a\"; arguments = ( \"x\", 7, \"\" ); cores = 16; granularity = 100;\n"
            "seed = 12345678901L; policy = \"rr\"; quantum_cycles = 0x10; switch_cycles = 7; schedule = \"guided\"; chunk = 3;\n"
            "machine = { module = \"bus\"; parameters = { cache = \"128KiB\"; line = 8; fast = true; ratio = 0.5; }; };\n"
            "observers = ( { module = \"counts\"; }, { module = \"./x.so\"; parameters = { a = 1; }; } ); output = \"out\";"),
        0);
    CU_ASSERT_STRING_EQUAL(c.program, "./a");
    CU_ASSERT_EQUAL(c.narguments, 3);
    CU_ASSERT_STRING_EQUAL(c.arguments[1], "7");
    CU_ASSERT_STRING_EQUAL(c.arguments[2], "");
    CU_ASSERT_EQUAL(c.cores, 16);
    CU_ASSERT_EQUAL(c.granularity, PEET_GRANULARITY_BLOCKS);
    CU_ASSERT_EQUAL(c.granularity_blocks, 100);
    CU_ASSERT_EQUAL(c.seed, 12345678901u);
    CU_ASSERT_EQUAL(c.policy, PEET_POLICY_RR);
    CU_ASSERT_EQUAL(c.quantum_cycles, 16);
    CU_ASSERT_EQUAL(c.schedule, PEET_SCHEDULE_GUIDED);
    CU_ASSERT_EQUAL(c.machine.nparams, 4);
    CU_ASSERT_STRING_EQUAL(c.machine.params[0].text, "128KiB");
    CU_ASSERT_STRING_EQUAL(c.machine.params[2].text, "true");
    CU_ASSERT_STRING_EQUAL(c.machine.params[3].text, "0.5");
    CU_ASSERT_EQUAL(c.nobservers, 2);
    /* the command line refines, replaces, adds */
    CU_ASSERT_EQUAL(peet_config_set_machine(&c, "--machine", "bus,line=16", &error), 0);
    CU_ASSERT_EQUAL(c.machine.nparams, 4);
    CU_ASSERT_STRING_EQUAL(c.machine.params[1].text, "16");
    CU_ASSERT_EQUAL(peet_config_set_machine(&c, "--machine", "ideal", &error), 0);
    CU_ASSERT_EQUAL(c.machine.nparams, 0);
    CU_ASSERT_EQUAL(peet_config_add_observer(&c, "--observe", "counts,blocks=on", &error), 0);
    CU_ASSERT_EQUAL(peet_config_add_observer(&c, "--observe", "hash", &error), 0);
    CU_ASSERT_EQUAL(c.nobservers, 3);
    CU_ASSERT_EQUAL(peet_config_add_observer(&c, "--observe", "hash,blocks", &error), PEET_EINVALID);
    CU_ASSERT_TRUE(says("'blocks' is not of the form key=value"));
    peet_config_fini(&c);
}

static void refusals(void)
{
    CU_ASSERT_EQUAL(refused("\n\ncoers = 4;"), PEET_EINVALID);
    CU_ASSERT_TRUE(says(":3: unknown key 'coers'; did you mean 'cores'?"));
    CU_ASSERT_EQUAL(refused("cores = 0;"), PEET_EINVALID);
    CU_ASSERT_TRUE(says(":1: cores: 0 is out of range"));
    CU_ASSERT_EQUAL(refused("cores = -4;"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("cores = \"many\";"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("cores = ( 1 );"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("version = 2;"), PEET_EVERSION);
    CU_ASSERT_EQUAL(refused("granularity = \"fine\";"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("granularity = 0;"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("policy = \"lifo\";"), PEET_EINVALID);
    CU_ASSERT_TRUE(says("fcfs|rr|affinity"));
    CU_ASSERT_EQUAL(refused("machine = \"bus\";"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("machine = { };"), PEET_EINVALID);
    CU_ASSERT_TRUE(says("'module' is missing"));
    CU_ASSERT_EQUAL(refused("machine = { module = \"bus\"; paramaters = { }; };"), PEET_EINVALID);
    CU_ASSERT_TRUE(says("unknown key 'paramaters'; did you mean 'parameters'?"));
    CU_ASSERT_EQUAL(refused("machine = { module = \"bus\"; parameters = ( 1 ); };"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("machine = { module = \"bus\"; parameters = { a = ( 1 ); }; };"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("observers = { module = \"counts\"; };"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("arguments = \"x\";"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("arguments = ( ( 1 ) );"), PEET_EINVALID);
    CU_ASSERT_EQUAL(refused("cores = 4\nseed = = 5;"), PEET_EFORMAT);
    CU_ASSERT_TRUE(says(":2: "));
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_config_read(&(struct peet_config){0}, "/nowhere/run.cfg", &error), PEET_EIO);
    CU_ASSERT_TRUE(says("/nowhere/run.cfg"));
}

static void round_trip(void)
{
    static const char *const odd[] = {"a \"quoted\" one", "back\\slash", "new\nline", "\xc3\xa9t\xc3\xa9", "", "-x"};
    struct peet_config a, b;
    json_t *ja, *jb;

    error = (struct peet_error){0};
    peet_config_init(&a, &error);
    CU_ASSERT_EQUAL(peet_config_set_program(&a, "/p q/r", 6, (char *const *)odd, &error), 0);
    CU_ASSERT_EQUAL(peet_config_set_cores(&a, "--cores", "64", &error), 0);
    CU_ASSERT_EQUAL(peet_config_set_seed(&a, "--seed", "18446744073709551615", &error), 0);
    CU_ASSERT_EQUAL(peet_config_set_granularity(&a, "--granularity", "5000000000", &error), 0);
    CU_ASSERT_EQUAL(peet_config_add_observer(&a, "--observe", "counts,blocks=yes", &error), 0);
    CU_ASSERT_EQUAL(peet_config_add_observer(&a, "--observe", "hash", &error), 0);
    CU_ASSERT_EQUAL(peet_config_add_follower(&a, "--follow", "bus,cache=1KiB", &error), 0);
    CU_ASSERT_EQUAL(peet_config_add_follower(&a, "--follow", "bus,cache=2KiB", &error), 0);
    CU_ASSERT_EQUAL(peet_config_add_follower(&a, "--follow", "bus,cache", &error), PEET_EINVALID);
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_config_set_output(&a, folder, &error), 0);
    CU_ASSERT_EQUAL(peet_config_resolve(&a, PEET_BUILT_MODULES, &error), 0);
    CU_ASSERT_STRING_EQUAL(a.observers[0].params[0].text, "true");
    CU_ASSERT_EQUAL(a.observers[0].params[0].type, PEET_PARAM_BOOL);
    CU_ASSERT_EQUAL(a.observers[0].nparams, 2); /* the one that was left out, too */
    CU_ASSERT_EQUAL(a.machine.path[0], '/');
    CU_ASSERT_EQUAL(peet_config_write(&a, path, &error), 0);
    peet_config_init(&b, &error);
    b.machine.nparams = 0;
    CU_ASSERT_EQUAL(peet_config_read(&b, path, &error), 0);
    CU_ASSERT_EQUAL(error.code, 0);
    CU_ASSERT_EQUAL(b.narguments, 6);
    CU_ASSERT_EQUAL(b.nfollowers, a.nfollowers);
    CU_ASSERT_STRING_EQUAL(b.followers[1].module, "bus");
    for (size_t i = 0; i < b.narguments; i++)
        CU_ASSERT_STRING_EQUAL(b.arguments[i], odd[i]);
    CU_ASSERT_EQUAL(b.seed, UINT64_MAX);
    CU_ASSERT_EQUAL(b.granularity_blocks, 5000000000u);
    CU_ASSERT_EQUAL(peet_config_resolve(&b, "/nowhere", &error), PEET_ENOTFOUND); /* names are looked up there */
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_config_resolve(&b, PEET_BUILT_MODULES, &error), 0);
    ja = peet_config_json(&a);
    jb = peet_config_json(&b);
    CU_ASSERT_PTR_NOT_NULL(ja);
    CU_ASSERT_TRUE(json_equal(ja, jb));
    json_decref(ja);
    json_decref(jb);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    peet_config_fini(&a);
    peet_config_fini(&b);
}

static void resolving(void)
{
    struct peet_config c;

    error = (struct peet_error){0};
    peet_config_init(&c, &error);
    peet_config_set_machine(&c, "--machine", "counts", &error);
    CU_ASSERT_EQUAL(peet_config_resolve(&c, PEET_BUILT_MODULES, &error), PEET_EMODULE);
    CU_ASSERT_TRUE(says("--machine: counts is an observer, not a machine"));
    error = (struct peet_error){0};
    peet_config_set_machine(&c, "--machine", "ideal,cots=unit", &error);
    CU_ASSERT_EQUAL(peet_config_resolve(&c, PEET_BUILT_MODULES, &error), PEET_EINVALID);
    CU_ASSERT_TRUE(says("--machine: ideal: unknown parameter 'cots'; did you mean 'cost'?"));
    peet_config_fini(&c);
}

/* ---- files that cannot be written */

static void writing(void)
{
    json_t *root = json_object();
    struct rlimit before, small = {4096, 4096};
    char *text = malloc(20001);

    /* whole, or not at all */
    snprintf(other, sizeof other, "%s/stats.json", folder);
    json_object_set_new(root, "a", json_integer(1));
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_stats_write(root, other, &error), 0);
    memset(text, 'x', 20000);
    text[20000] = 0;
    json_object_set_new(root, "long", json_string(text));
    CU_ASSERT_EQUAL(peet_stats_write(root, "/dev/full", &error), PEET_EIO);
    CU_ASSERT_TRUE(says("/dev/full") && says("No space left"));
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_stats_write(root, "/nowhere/stats.json", &error), PEET_EIO);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_FSIZE, &small);
    error = (struct peet_error){0};
    CU_ASSERT_EQUAL(peet_stats_write(root, other, &error), PEET_EIO);
    setrlimit(RLIMIT_FSIZE, &before);
    CU_ASSERT_TRUE(says(other) && says("File too large"));
    json_decref(root);
    /* the earlier file stands, nothing half-written beside it */
    root = json_load_file(other, 0, NULL);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(root, "a")), 1);
    CU_ASSERT_PTR_NULL(json_object_get(root, "long"));
    json_decref(root);
    snprintf(other + strlen(other), 24, ".tmp%ld", (long)getpid());
    CU_ASSERT_NOT_EQUAL(access(other, F_OK), 0);
    free(text);
}

static struct peet_error failed;
static void note_failure(const struct peet_env *env, const char *format, ...)
{
    failed.code = 1;
}

static void stats_tree(void)
{
    struct peet_env env = {.fail = note_failure};
    json_t *root = json_object();
    struct peet_stats *node = peet_stats_node(root), *list, *one;

    peet_stats_install(&env);
    env.stats_u64(&env, node, "big", UINT64_MAX);
    env.stats_f64(&env, node, "ratio", 0.5);
    env.stats_f64(&env, node, "undefined", -(double)INFINITY);
    env.stats_string(&env, node, "text", "caf\xe9");
    list = env.stats_array(&env, node, "list");
    one = env.stats_object(&env, list, NULL);
    env.stats_u64(&env, one, "x", 7);
    CU_ASSERT_EQUAL(failed.code, 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(root, "big")), "18446744073709551615");
    CU_ASSERT_TRUE(json_is_null(json_object_get(root, "undefined")));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(root, "text")), "caf?");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(json_object_get(root, "list"), 0), "x")), 7);
    env.stats_u64(&env, node, NULL, 1); /* an object needs a key */
    CU_ASSERT_EQUAL(failed.code, 1);
    failed.code = 0;
    env.stats_u64(&env, NULL, "x", 1); /* a node that could not be made */
    CU_ASSERT_EQUAL(failed.code, 1);
    json_decref(root);
}

/* ---- out of memory, at every allocation of jansson's */

static long allowance;
static void *scarce(size_t n)
{
    return allowance-- > 0 ? malloc(n) : NULL;
}

static void scarcity(void)
{
    struct peet_config c;
    json_t *done = NULL;
    long n;

    error = (struct peet_error){0};
    peet_config_init(&c, &error);
    peet_config_set_program(&c, "p", 2, (char *const[]){(char *)"a", (char *)"b"}, &error);
    peet_config_add_observer(&c, "--observe", "counts,blocks=on", &error);
    json_set_alloc_funcs(scarce, free);
    for (n = 0; n < 10000 && !done; n++) {
        allowance = n;
        done = peet_config_json(&c);
        if (done && (!json_object_get(done, "machine") || json_array_size(json_object_get(done, "observers")) != 1)) {
            json_decref(done); /* something was left out silently */
            done = NULL;
            CU_FAIL("an incomplete configuration");
            break;
        }
    }
    json_set_alloc_funcs(malloc, free);
    CU_ASSERT_PTR_NOT_NULL(done);
    CU_ASSERT_TRUE(n > 20);
    json_decref(done);
    peet_config_fini(&c);
}

int main(void)
{
    CU_pSuite suite;

    if (CU_initialize_registry() || !mkdtemp(folder))
        return 2;
    snprintf(path, sizeof path, "%s/run.cfg", folder);
    suite = CU_add_suite("config", NULL, NULL);
    CU_add_test(suite, "reading", reading);
    CU_add_test(suite, "refusals", refusals);
    CU_add_test(suite, "round trip", round_trip);
    CU_add_test(suite, "resolving", resolving);
    CU_add_test(suite, "writing", writing);
    CU_add_test(suite, "statistics tree", stats_tree);
    CU_add_test(suite, "scarce memory", scarcity);
    CU_basic_run_tests();
    snprintf(other, sizeof other, "rm -rf %s", folder);
    if (system(other))
        return 2;
    return CU_get_number_of_failures() != 0;
}
