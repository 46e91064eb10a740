/* SPDX-License-Identifier: Apache-2.0 */
/* Running a child: its status, environment, descriptors and reports.  The child is a shell. */
#include "supervise.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct peet_cli_ending ending;
static struct peet_error error;

static int run(const char *script)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    struct peet_cli_subject subject = {.path = "/bin/sh",
        .argv = argv,
        .config_path = "/results/config.cfg",
        .output = "/results",
        .lib_dir = "/prefix/lib"};
    memset(&error, 0, sizeof(error));
    return peet_cli_supervise(&subject, &ending, &error);
}

static void test_status(void)
{
    for (int status = 0; status < 256; status += 51) {
        char script[40];
        snprintf(script, sizeof(script), "exit %d", status);
        CU_ASSERT_EQUAL(run(script), 0);
        CU_ASSERT(WIFEXITED(ending.wait_status) && WEXITSTATUS(ending.wait_status) == status);
        CU_ASSERT_EQUAL(peet_cli_end_like(ending.wait_status), status);
    }
    CU_ASSERT_EQUAL(run("kill -KILL $$"), 0);
    CU_ASSERT(WIFSIGNALED(ending.wait_status) && WTERMSIG(ending.wait_status) == SIGKILL);
}

static void test_environment(void)
{
    setenv("OF_THE_USER", "a b", 1);
    setenv("LD_LIBRARY_PATH", "/of/the/user", 1);
    CU_ASSERT_EQUAL(
        run("test -z \"$OF_THE_USER\" && test \"$PEET_CONFIG\" = /results/config.cfg && test \"$PEET_OUTPUT\" = /results"
            " && test \"$PEET_LIB\" = /prefix/lib && test \"$LD_LIBRARY_PATH\" = /of/the/user:/prefix/lib"),
        0);
    CU_ASSERT_EQUAL(ending.wait_status, 0);
    CU_ASSERT_EQUAL(run("tr '\\0' '\\n' < /proc/self/fd/$PEET_ENVIRON_FD | grep -q -x 'OF_THE_USER=a b'"), 0);
    CU_ASSERT_EQUAL(ending.wait_status, 0);
    CU_ASSERT_EQUAL(run("test $(head -c 5000 /proc/self/fd/$PEET_PROGRESS_FD | wc -c) = 4096"), 0);
    CU_ASSERT_EQUAL(ending.wait_status, 0);
    CU_ASSERT_EQUAL(run("test $(ulimit -s) = 8192"), 0);
    CU_ASSERT_EQUAL(ending.wait_status, 0);
    unsetenv("LD_LIBRARY_PATH");
    /* No randomisation: two children have their stacks at the same place. */
    CU_ASSERT_EQUAL(run("grep stack /proc/self/maps > stack.1; exec sh -c 'grep stack /proc/self/maps > stack.2'; "),
        0);
    CU_ASSERT_EQUAL(system("cmp stack.1 stack.2; s=$?; rm -f stack.1 stack.2; exit $s"), 0);
}

static void test_reports(void)
{
    CU_ASSERT_EQUAL(
        run("for i in 1 2 3; do echo line $i > /proc/self/fd/$PEET_REPORT_FD; done; printf unfinished > /proc/self/fd/$PEET_REPORT_FD"),
        0);
    CU_ASSERT_EQUAL(ending.reports, 4);
    /* longer than the buffer for a line */
    CU_ASSERT_EQUAL(run("yes | head -c 10000 | tr -d '\\n' > /proc/self/fd/$PEET_REPORT_FD"), 0);
    CU_ASSERT(ending.reports >= 1 && ending.reports < 10);
    CU_ASSERT_EQUAL(run(":"), 0);
    CU_ASSERT_EQUAL(ending.reports, 0);
    /* A grandchild that keeps the pipe open does not keep us waiting. */
    CU_ASSERT_EQUAL(run("sleep 100 >/dev/null 2>&1 & echo $! > grandchild"), 0);
    CU_ASSERT(ending.seconds < 50);
    CU_ASSERT_EQUAL(system("kill $(cat grandchild); rm grandchild"), 0);
}

static void test_cannot_start(void)
{
    char *argv[] = {(char *)"nowhere", NULL};
    struct peet_cli_subject subject = {
        .path = "/nowhere/nothing", .argv = argv, .config_path = "", .output = "", .lib_dir = ""};
    memset(&error, 0, sizeof(error));
    CU_ASSERT_EQUAL(peet_cli_supervise(&subject, &ending, &error), PEET_EINVALID);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/nowhere/nothing"));
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"status", test_status},
        {"environment", test_environment},
        {"reports", test_reports},
        {"cannot start", test_cannot_start},
    };
    return RUN_SUITE("supervise", tests);
}
