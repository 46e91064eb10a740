/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is: what one thread sets all have, and only what is permitted. */
#include "harness.h"
#include <grp.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static void *set_as_they_are(void *arg)
{
    OK(setuid(getuid()));
    OK(setgid(getgid()));
    OK(setreuid((uid_t)-1, geteuid()));
    OK(setregid((gid_t)-1, getegid()));
    OK(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
    OK(setresgid((gid_t)-1, (gid_t)-1, (gid_t)-1));
    OK(seteuid(geteuid()));
    OK(setegid(getegid()));
    return arg;
}

static void *become_nobody(void *arg)
{
    if (geteuid() == 0) {
        OK(setegid(NOBODY));
        OK(seteuid(NOBODY));
    }
    return arg;
}

static void *not_permitted(void *arg)
{
    errno = 0;
    EQUAL(setuid(12345), -1);
    EQUAL(errno, EPERM);
    EQUAL(setgroups(0, NULL), -1);
    EQUAL(errno, EPERM);
    EQUAL(initgroups("root", 0), -1);
    EQUAL(errno, EPERM);
    return arg;
}

static void *become_root(void *arg)
{
    OK(seteuid(0));
    OK(setegid(0));
    return arg;
}

CASE(unchanged)
{
    pthread_t threads[4];
    set_as_they_are(NULL);
    for (int i = 0; i < 4; i++)
        threads[i] = start(set_as_they_are, NULL);
    for (int i = 0; i < 4; i++)
        OK(pthread_join(threads[i], NULL));
}

CASE(all_threads)
{
    const int root = geteuid() == 0;
    OK(pthread_join(start(become_nobody, NULL), NULL));
    EQUAL(geteuid() == 0, 0);
    OK(pthread_join(start(not_permitted, NULL), NULL));
    not_permitted(NULL);
    if (root) {
        EQUAL(geteuid(), NOBODY);
        EQUAL(getegid(), NOBODY);
        OK(pthread_join(start(become_root, NULL), NULL));
        EQUAL(geteuid(), 0);
        EQUAL(getegid(), 0);
    }
}
