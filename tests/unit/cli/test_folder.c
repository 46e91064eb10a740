/* SPDX-License-Identifier: Apache-2.0 */
/* The results folder: made, taken by one, freed of an earlier run's results, and unmade. */
#include "result_folder.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct peet_cli_folder folder;
static struct peet_error error;

static int open_folder(const char *path)
{
    memset(&error, 0, sizeof(error));
    return peet_cli_folder_open(path, &folder, &error);
}

static int exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs("{}", file);
    fclose(file);
}

static void test_made_and_unmade(void)
{
    CU_ASSERT_EQUAL(open_folder("one/two/three"), 0);
    CU_ASSERT(exists("one/two/three"));
    CU_ASSERT_EQUAL(folder.path[0], '/');
    CU_ASSERT_PTR_NOT_NULL(strstr(folder.stats, "/one/two/three/stats.json"));
    CU_ASSERT_PTR_NOT_NULL(strstr(folder.config, "/one/two/three/config.cfg"));
    peet_cli_folder_discard(&folder);
    CU_ASSERT(!exists("one"));

    /* What was there before stays, and so does what somebody else put there. */
    mkdir("one", 0777);
    CU_ASSERT_EQUAL(open_folder("one/two/three/"), 0);
    peet_cli_folder_discard(&folder);
    CU_ASSERT(exists("one") && !exists("one/two"));
    CU_ASSERT_EQUAL(open_folder("one/two//three"), 0);
    write_file("one/two/theirs");
    peet_cli_folder_discard(&folder);
    CU_ASSERT(exists("one/two/theirs") && !exists("one/two/three"));
    unlink("one/two/theirs");

    CU_ASSERT_EQUAL(open_folder("one/two"), 0);
    peet_cli_folder_discard(&folder);
    CU_ASSERT(exists("one/two"));
    rmdir("one/two");
    rmdir("one");
}

static void test_earlier_results(void)
{
    mkdir("used", 0777);
    write_file("used/stats.json");
    write_file("used/picture.png");
    CU_ASSERT_EQUAL(open_folder("used"), 0);
    CU_ASSERT(!exists("used/stats.json"));
    CU_ASSERT(exists("used/picture.png"));
    peet_cli_folder_close(&folder);
    unlink("used/picture.png");
    CU_ASSERT_EQUAL(rmdir("used"), 0); /* nothing is left */
}

/* An earlier run's files are lost when the next one has begun, and not before. */
static void test_refused(void)
{
    static const char *const names[] = {"used/stats.json", "used/config.cfg", "used/unseen.json", "used/trace.peet"};
    mkdir("used", 0777);
    for (int i = 0; i < 4; i++)
        write_file(names[i]);
    FILE *stats = fopen(names[0], "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(stats);
    fputs("{\"files\": [\"trace.peet\", \"../used/theirs\", \"gone\"]}", stats);
    fclose(stats);
    for (int refused = 0; refused < 3; refused++) {
        CU_ASSERT_EQUAL(open_folder("used"), 0);
        for (int i = 0; i < 4; i++)
            CU_ASSERT(!exists(names[i]));
        write_file(folder.config);
        if (refused == 1) { /* or killed */
            close(folder.lock);
            folder.lock = -1;
            folder.aside = 0;
            peet_cli_folder_close(&folder);
            continue;
        }
        CU_ASSERT_EQUAL(peet_cli_folder_refused(&folder, &error), 0);
        for (int i = 0; i < 4; i++)
            CU_ASSERT(exists(names[i]));
        CU_ASSERT(!exists("used/.earlier"));
    }
    CU_ASSERT_EQUAL(open_folder("used"), 0);
    CU_ASSERT_EQUAL(peet_cli_folder_begun(&folder, &error), 0);
    CU_ASSERT(!exists("used/.earlier"));
    write_file("used/stats.json");
    CU_ASSERT_EQUAL(peet_cli_folder_begun(&folder, &error), 0);
    peet_cli_folder_close(&folder);
    CU_ASSERT_EQUAL(unlink("used/stats.json"), 0);
    write_file("used/unseen.json"); /* of a run that was killed: it has no results to keep */
    CU_ASSERT_EQUAL(open_folder("used"), 0);
    CU_ASSERT(!exists("used/unseen.json"));
    peet_cli_folder_close(&folder);
    CU_ASSERT_EQUAL(rmdir("used"), 0);
}

static void test_one_at_a_time(void)
{
    CU_ASSERT_EQUAL(open_folder("shared"), 0);
    struct peet_cli_folder first = folder;
    write_file("shared/stats.json");
    CU_ASSERT_EQUAL(open_folder("shared"), PEET_EINVALID);
    CU_ASSERT(exists("shared/stats.json"));
    peet_cli_folder_close(&first);
    CU_ASSERT_EQUAL(open_folder("shared"), 0);
    CU_ASSERT(!exists("shared/stats.json"));
    peet_cli_folder_close(&folder);
    rmdir("shared");
}

static void test_impossible(void)
{
    write_file("file");
    CU_ASSERT(open_folder("file") < 0);
    CU_ASSERT(open_folder("file/below") < 0);
    CU_ASSERT(open_folder("/proc/nowhere/below") < 0);
    CU_ASSERT(strstr(error.message, "/proc/nowhere/below") != NULL);
    unlink("file");
    char longest[6000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    CU_ASSERT(open_folder(longest) < 0);
    symlink("nowhere", "dangling");
    CU_ASSERT(open_folder("dangling") < 0);
    unlink("dangling");
}

int main(void)
{
    char scratch[] = "folder-test.XXXXXX";
    static const struct suite_test tests[] = {
        {"made and unmade", test_made_and_unmade},
        {"earlier results", test_earlier_results},
        {"refused", test_refused},
        {"one run at a time", test_one_at_a_time},
        {"impossible", test_impossible},
    };
    if (!mkdtemp(scratch) || chdir(scratch) != 0)
        return 1;
    int failed = RUN_SUITE("folder", tests);
    if (chdir("..") != 0 || rmdir(scratch) != 0)
        failed = 1;
    return failed;
}
