/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are there whole or not at all: links are followed and stay, devices and the process's own output are written
 * where they are, and a signal that ends the process leaves no temporary file.
 */
#include "base/files.h"
#include "whole.h"

#include <CUnit/Basic.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[200], other[200];

static char *in_folder(const char *name, char out[200])
{
    snprintf(out, 200, "%s/%s", folder, name);
    return out;
}

static int write_file(const char *name, const char *text)
{
    struct peet_error error = {0, ""};
    struct peet_file file;
    if (peet_file_create(name, &file, &error))
        return -1;
    fputs(text, file.stream);
    return peet_file_commit(&file, &error);
}

static int holds(const char *name, const char *text)
{
    char found[100] = "";
    FILE *in = fopen(name, "r");
    size_t n = in ? fread(found, 1, sizeof found - 1, in) : 0;
    if (in)
        fclose(in);
    return in && n == strlen(text) && memcmp(found, text, n) == 0;
}

static int files_there(void)
{
    DIR *dir = opendir(folder);
    int n = -2; /* . and .. */
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void links(void)
{
    struct stat before, after;
    CU_ASSERT_EQUAL(write_file(in_folder("file", path), "old"), 0);
    CU_ASSERT_EQUAL(symlink("file", in_folder("link", other)), 0);
    FILE *reader = fopen(path, "r"); /* as a trace is read whose part takes its place */
    CU_ASSERT_EQUAL(stat(path, &before), 0);
    CU_ASSERT_EQUAL(write_file(other, "new"), 0);
    CU_ASSERT_EQUAL(lstat(other, &after), 0);
    CU_ASSERT_TRUE(S_ISLNK(after.st_mode));
    CU_ASSERT_TRUE(holds(path, "new"));
    CU_ASSERT_EQUAL(stat(path, &after), 0);
    CU_ASSERT_NOT_EQUAL(before.st_ino, after.st_ino);
    CU_ASSERT_EQUAL(fgetc(reader), 'o');
    fclose(reader);
    CU_ASSERT_EQUAL(files_there(), 2);
    /* of nothing, yet */
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT_EQUAL(write_file(other, "made"), 0);
    CU_ASSERT_TRUE(holds(path, "made"));
    CU_ASSERT_EQUAL(lstat(other, &after), 0);
    CU_ASSERT_TRUE(S_ISLNK(after.st_mode));
}

static void in_place(void)
{
    struct stat before, after;
    CU_ASSERT_EQUAL(symlink("/dev/null", in_folder("null", other)), 0);
    CU_ASSERT_EQUAL(write_file(other, "gone"), 0);
    CU_ASSERT_EQUAL(stat(other, &after), 0);
    CU_ASSERT_TRUE(S_ISCHR(after.st_mode));
    /* what standard output is redirected to keeps its place in the file system */
    int kept = dup(STDOUT_FILENO), fd = open(in_folder("output", path), O_WRONLY | O_CREAT, 0666);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    int err = write_file("/dev/stdout", "said");
    dup2(kept, STDOUT_FILENO);
    CU_ASSERT_EQUAL(err, 0);
    CU_ASSERT_EQUAL(fstat(fd, &before), 0);
    CU_ASSERT_EQUAL(stat(path, &after), 0);
    CU_ASSERT_EQUAL(before.st_ino, after.st_ino);
    CU_ASSERT_TRUE(holds(path, "said"));
    close(fd);
    close(kept);
}

static void signals(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const int before = files_there();
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            struct peet_error error = {0, ""};
            struct peet_file first, second, third;
            peet_whole_guard();
            peet_file_create(in_folder("first", path), &first, &error);
            peet_file_create(in_folder("second", path), &second, &error);
            peet_file_create(in_folder("third", path), &third, &error);
            peet_file_commit(&second, &error);
            raise(ends[i]);
            _exit(0);
        }
        waitpid(child, &status, 0);
        CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == ends[i]);
        CU_ASSERT_TRUE(holds(in_folder("second", path), ""));
        unlink(path);
        CU_ASSERT_EQUAL(files_there(), before);
    }
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/peet-files.XXXXXX");
    if (!mkdtemp(folder) || CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite suite = CU_add_suite("files", NULL, NULL);
    CU_add_test(suite, "links", links);
    CU_add_test(suite, "in_place", in_place);
    CU_add_test(suite, "signals", signals);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    static const char *const names[] = {"file", "link", "null", "output"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(in_folder(names[i], path));
    rmdir(folder);
    return failures ? 1 : 0;
}
