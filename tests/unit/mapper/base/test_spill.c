/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result files that are handed over: they come out as they were put in; what a program may have done to the memory is
 * refused, and makes no file outside of the folder.
 */
#include "base/files.h"
#include "base/spill.h"

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void in_folder(const char *name, char path[200])
{
    snprintf(path, 200, "%s/%s", folder, name);
}

static int holds(const char *name, const char *data, size_t bytes)
{
    char path[200], *text = malloc(bytes + 1);
    size_t n = 0;
    in_folder(name, path);
    FILE *in = fopen(path, "r");
    if (in) {
        n = fread(text, 1, bytes + 1, in);
        fclose(in);
    }
    int same = in && n == bytes && memcmp(text, data, bytes) == 0;
    free(text);
    return same;
}

static void as_put(void)
{
    struct peet_error error = {0, ""};
    struct peet_file file;
    char *large = malloc(3000001);
    int fd = peet_spill_make();

    for (int i = 0; i < 3000001; i++)
        large[i] = (char)(i * 7 >> 3);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_FALSE(peet_spill_takes(EACCES));
    peet_spill_share(fd);
    CU_ASSERT_TRUE(peet_spill_takes(EACCES));
    CU_ASSERT_FALSE(peet_spill_takes(ENOSPC));
    CU_ASSERT_EQUAL(peet_spill_put("/somewhere/else/a.json", "{}\n", 3, &error), 0);
    CU_ASSERT_EQUAL(peet_spill_put("empty", "", 0, &error), 0);
    CU_ASSERT_EQUAL(peet_spill_put("large", large, 3000001, &error), 0);
    CU_ASSERT_EQUAL(peet_file_create("/nowhere/at/all/written", &file, &error), 0);
    fprintf(file.stream, "line %d\n", 1);
    CU_ASSERT_EQUAL(peet_file_commit(&file, &error), 0);
    CU_ASSERT_EQUAL(peet_file_create("/nowhere/at/all/discarded", &file, &error), 0);
    fprintf(file.stream, "line %d\n", 1);
    peet_file_discard(&file);
    CU_ASSERT_EQUAL(peet_spill_land(fd, folder, &error), 0);
    CU_ASSERT_TRUE(holds("a.json", "{}\n", 3));
    CU_ASSERT_TRUE(holds("empty", "", 0));
    CU_ASSERT_TRUE(holds("large", large, 3000001));
    CU_ASSERT_TRUE(holds("written", "line 1\n", 7));
    CU_ASSERT_FALSE(holds("discarded", "line 1\n", 7));
    peet_spill_share(-1);
    CU_ASSERT_FALSE(peet_spill_takes(EACCES));
    CU_ASSERT_EQUAL(peet_spill_land(fd, "/nowhere/at/all", &error), PEET_EIO);
    close(fd);
    free(large);
}

/* Memory is a file to the kernel: where files may not be large, there is less of it. */
static void limited(void)
{
    struct rlimit before, small;
    struct peet_error error = {0, ""};
    char *text = calloc(1, 60000);
    int fd;

    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &small);
    fd = peet_spill_make();
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    peet_spill_share(fd);
    CU_ASSERT_EQUAL(peet_spill_put("first", text, 60000, &error), 0);
    CU_ASSERT_EQUAL(peet_spill_put("second", text, 60000, &error), PEET_EIO);
    CU_ASSERT_EQUAL(peet_spill_put("third", "abc", 3, &error), 0);
    CU_ASSERT_EQUAL(peet_spill_land(fd, folder, &error), 0);
    setrlimit(RLIMIT_FSIZE, &before);
    CU_ASSERT_TRUE(holds("first", text, 60000));
    CU_ASSERT_FALSE(holds("second", text, 60000));
    CU_ASSERT_TRUE(holds("third", "abc", 3));
    peet_spill_share(-1);
    close(fd);
    free(text);
}

/* Entries as spill.c lays them out: ready, bytes, 256 of name. */
static int lands(uint64_t bytes, const char *name, size_t name_bytes)
{
    struct peet_error error = {0, ""};
    uint64_t head[2] = {1, bytes};
    char names[256] = "";
    int fd = peet_spill_make(), err;

    memcpy(names, name, name_bytes);
    CU_ASSERT_EQUAL(pwrite(fd, head, sizeof head, 0), (ssize_t)sizeof head);
    CU_ASSERT_EQUAL(pwrite(fd, names, sizeof names, sizeof head), (ssize_t)sizeof names);
    CU_ASSERT_EQUAL(pwrite(fd, "abc", 3, sizeof head + sizeof names), 3);
    err = peet_spill_land(fd, folder, &error);
    close(fd);
    return err;
}

static void damaged(void)
{
    char long_name[256];

    memset(long_name, 'x', sizeof long_name);
    CU_ASSERT_EQUAL(lands(3, "good", 5), 0);
    CU_ASSERT_TRUE(holds("good", "abc", 3));
    CU_ASSERT_EQUAL(lands(3, "../bad", 7), PEET_EIO);
    CU_ASSERT_EQUAL(lands(3, "/tmp/bad", 9), PEET_EIO);
    CU_ASSERT_EQUAL(lands(3, "", 1), PEET_EIO);
    CU_ASSERT_EQUAL(lands(3, "..", 3), PEET_EIO);
    CU_ASSERT_EQUAL(lands(3, long_name, sizeof long_name), PEET_EIO);
    CU_ASSERT_EQUAL(lands(UINT64_MAX, "bad", 4), PEET_EIO);
    CU_ASSERT_EQUAL(lands(UINT64_MAX - 300, "bad", 4), PEET_EIO);
    CU_ASSERT_EQUAL(lands(PEET_SPILL_BYTES, "bad", 4), PEET_EIO);
}

int main(void)
{
    char command[100];
    unsigned failures;

    strcpy(folder, "/tmp/peet-spill-XXXXXX");
    if (!mkdtemp(folder) || CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite suite = CU_add_suite("results that are handed over", NULL, NULL);
    CU_add_test(suite, "as they were put", as_put);
    CU_add_test(suite, "limited", limited);
    CU_add_test(suite, "damaged", damaged);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || failures != 0;
}
