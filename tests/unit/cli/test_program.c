/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the subject on PATH; what a shell finds is the answer to compare with. */
#include "program.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_program(const char *path, mode_t mode)
{
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fputs("#!/bin/sh\necho \"$0\"\n", file);
    fclose(file);
    chmod(path, mode);
}

/* What a shell runs for this name: the program prints its own path.  "" if it finds none. */
static void ask_shell(const char *name, char *out, size_t bytes)
{
    char command[512];
    snprintf(command, sizeof(command), "%s 2>/dev/null", name);
    FILE *pipe = popen(command, "r");
    out[0] = '\0';
    if (pipe) {
        if (!fgets(out, (int)bytes, pipe))
            out[0] = '\0';
        out[strcspn(out, "\n")] = '\0';
        pclose(pipe);
    }
}

static void test_find(void)
{
    static const char *const names[] = {
        "one", "two", "three", "four", "./one", "first/one", "first", "./first", "nowhere", "sh"};
    static const char *const paths[] = {
        "first:second:/bin", "second:first:/bin", ":/bin", "/bin:", "nowhere:second:.:/bin", "/bin"};
    struct stat status;
    for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
        setenv("PATH", paths[p], 1);
        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            struct peet_error error = {0};
            char expected[512], *found;
            if (strcmp(names[n], "sh") == 0) /* prints nothing by itself; it must merely be found */
                snprintf(expected, sizeof(expected), "/bin/sh");
            else
                ask_shell(names[n], expected, sizeof(expected));
            int err = peet_cli_program_find(names[n], &found, &error);
            CU_ASSERT_EQUAL(err == 0, expected[0] != '\0');
            if (!err) {
                struct stat other;
                CU_ASSERT_EQUAL(stat(found, &status), 0);
                CU_ASSERT_EQUAL(stat(expected, &other), 0);
                CU_ASSERT_EQUAL(status.st_ino, other.st_ino);
            } else {
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, names[n]));
            }
            free(found);
        }
    }
}

static void test_check(void)
{
    struct peet_config config = {.granularity = PEET_GRANULARITY_SYNC};
    static const char *const wrong[] = {"first/one", "empty", "/bin/sh", "nowhere", "first"};
    fclose(fopen("empty", "w"));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct peet_error error = {0};
        CU_ASSERT(peet_cli_program_check(wrong[i], &config, NULL, &error) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, wrong[i]));
    }
    unlink("empty");
}

int main(void)
{
    char scratch[] = "program-test.XXXXXX";
    static const struct suite_test tests[] = {{"find", test_find}, {"check", test_check}};
    if (!mkdtemp(scratch) || chdir(scratch) != 0)
        return 1;
    mkdir("first", 0777);
    mkdir("second", 0777);
    mkdir("second/three", 0777); /* a folder is not run */
    write_program("one", 0755);
    write_program("first/one", 0755);
    write_program("second/one", 0755);
    write_program("second/two", 0755);
    write_program("first/four", 0644); /* nor is what may not be executed */
    write_program("second/four", 0755);
    int failed = RUN_SUITE("program", tests);
    unlink("one");
    unlink("first/one");
    unlink("second/one");
    unlink("second/two");
    unlink("first/four");
    unlink("second/four");
    rmdir("second/three");
    rmdir("second");
    rmdir("first");
    if (chdir("..") != 0 || rmdir(scratch) != 0)
        failed = 1;
    return failed;
}
