# SPDX-License-Identifier: Apache-2.0
# Calls that leave off early when a signal is pending: listing a folder, copying within the kernel.  They give what they give natively, and
# the same in each run, although the runtime's own timer goes off meanwhile.
. "$(dirname "$0")/lib.sh"
cat >subject.c <<'END'
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    static char room[1 << 20];
    enum { MUCH = 40 << 20 };
    long names = 0, calls = 0;
    for (int round = 0; round < 60; round++) {
        DIR *folder = opendir("many");
        while (readdir(folder))
            names++;
        closedir(folder);
        int fd = open("many", O_RDONLY | O_DIRECTORY);
        while (syscall(SYS_getdents64, fd, room, sizeof room) > 0)
            calls++;
        close(fd);
    }
    printf("%ld names, %ld calls\n", names, calls);
    int in = open("large", O_RDWR | O_CREAT | O_TRUNC, 0600), out = open("copy", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (ftruncate(in, MUCH))
        return 1;
    for (int round = 0; round < 4; round++) {
        off64_t from = 0, to = 0;
        printf("%ld copied\n", (long)copy_file_range(in, &from, out, &to, MUCH, 0));
        from = to = 0;
        printf("%ld copied by number\n", (long)syscall(SYS_copy_file_range, in, &from, out, &to, MUCH, 0));
    }
    unlink("large");
    unlink("copy");
    return 0;
}
END
mkdir -p many && (cd many && seq -f 'a-file-with-a-name-%g' 3000 | xargs touch)
"$PEET_PLAIN_CC" -O1 -w -o plain subject.c && "$PEET_PREFIX/bin/peetcc" -O1 -w -o subject subject.c || fail "compilation"
./plain >want || fail "the plain program"
for foreign in record ranges; do
    for run in 1 2 3 4; do
        timeout 100 "$peet" run --quiet --foreign=$foreign --observe hash -d out -- ./subject >got || fail "$foreign: status $?"
        cmp -s want got || fail "$foreign: $(diff want got | sed -n '1,4p')"
        "$PEET_PREFIX/tests/json-get" out/stats.json hash.hash >"hash.$run"
        cmp -s hash.1 "hash.$run" || fail "$foreign: run $run has other events"
    done
done
exit 0
