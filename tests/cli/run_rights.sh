# SPDX-License-Identifier: Apache-2.0
# Programs that give up what `peet run` began with: they become another user, or see another file system.  Their results are there
# all the same, and are those of a run that kept its rights; and they gain no way to write elsewhere.
. "$(dirname "$0")/lib.sh"
if [ "$(id -u)" != 0 ]; then
    unshare -r true 2>/dev/null || skip "neither root nor allowed to make a user namespace"
    exec unshare -r bash "$0" "$@"
fi
cat >rights.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    static volatile long sum;
    if (strcmp(argv[1], "user") == 0)
        printf("%d\n", setgid(atoi(argv[2])) | setuid(atoi(argv[2])));
    else if (strcmp(argv[1], "effective") == 0)
        printf("%d\n", seteuid(atoi(argv[2])));
    else if (strcmp(argv[1], "root") == 0)
        printf("%d\n", chroot("."));
    for (int i = 0; i < 1000; i++)
        sum += i;
    printf("%ld\n", sum);
    fflush(stdout);
    if (argc > 3)
        abort();
    return 5;
}
END
must "$peetcc" -O1 -o rights rights.c
mkdir -p inside && chmod 700 .
must_end() { # STATUS COMMAND...
    local want=$1 got
    shift
    "$@" >said 2>err
    got=$?
    [ $got = "$want" ] || fail "status $got, not $want, of: $*: $(cat said err)"
}
user=65534
setpriv --reuid $user true 2>/dev/null || user=0 # a namespace with one user only
for options in "-m ideal -o counts" "-m x86"; do
    rm -rf kept gone
    must_end 5 "$peet" run -q $options -d kept -- ./rights none 0
    must_end 5 "$peet" run -q $options -d gone -- ./rights user $user
    [ "$(head -1 said)" = 0 ] || fail "the program could not become another user"
    [ "$(value gone/stats.json totals.instructions)" -gt 1000 ] || fail "no instructions were counted"
    equal "files of the results" "$(ls kept)" "$(ls gone)"
    must_end 5 "$peet" run -q $options -d gone -- ./rights effective $user
    must_end 5 "$peet" run -q $options -d "$PWD/gone" -- ./rights root
    equal "files of the results" "$(ls kept)" "$(ls gone)"
    must_end 134 "$peet" run -q $options -d gone -- ./rights user $user abort
    equal "how it ended" "$(value gone/stats.json end.reason)" "$(echo signal)"
done
[ -n "$(find gone -name '*.tmp*')" ] && fail "parts of files are left: $(ls gone)"
exit 0
