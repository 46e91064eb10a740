#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How OpenMP's front end is linked, how programs end, and what happens outside of the simulation: plain runs, forked children, libraries
# that are loaded later, a compiler without the OpenMP package.
. "$(dirname "$0")/lib.sh"
needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
}

cat >ends.c <<'END'
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int region(int n)
{
    int k = 0;
#pragma omp parallel num_threads(n) reduction(+ : k)
    k++;
    return k;
}
static void *other(void *argument)
{
    return (void *)(long)region(3);
}
static void at_exit(void)
{
    printf("at exit %d\n", region(2));
}
int main(int argc, char **argv)
{
    int status;
    void *result;
    pthread_t thread;
    atexit(at_exit);
    printf("%d\n", region(4));
    fflush(stdout);
    switch (argv[1][0]) {
    case 'p':
        pthread_exit(NULL);
    case 'f':
        if (fork() == 0)
            _exit(region(3));
        wait(&status);
        printf("child %d\n", WEXITSTATUS(status));
        break;
    case 'w':
#pragma omp parallel num_threads(3)
        if (omp_get_thread_num() == 2)
            exit(7);
        break;
    case 't':
        for (int i = 0; i < 300; i++) { /* each is a root with a team, which the next one takes over */
            pthread_create(&thread, NULL, other, NULL);
            pthread_join(thread, &result);
        }
        printf("%d\n", (int)(long)result);
        break;
    case 'm':
        printf("%d\n", region(1500));
        break;
    }
    return 0;
}
END
both ends.c -pthread
must "$peetcc" -O1 -o without -x c - <<<'int main(void) { return 0; }'
grep -q omp < <(needed without) && fail "a program without OpenMP needs $(needed without | grep omp)"
order=$(needed recorded | grep -E 'libpeet-omp|libomp' | tr '\n' ' ')
[[ $order == libpeet-omp.so\ libomp.so* ]] || fail "a program with OpenMP needs, in this order: $order"
must "$peetcc" -c -O1 -fopenmp ends.c
must "$peetcc" -pthread -o objects ends.o -lomp
grep -q libpeet-omp < <(needed objects) || fail "-lomp: no front end"
must "$peetcc" -O1 -fopenmp -Wl,--as-needed -pthread -o as_needed ends.c

for mode in return pthread_exit fork worker threads many; do
    [ $mode = worker ] && wanted=7 || wanted=0
    # The ordinary library's idle threads keep a program alive whose main() has ended by pthread_exit().
    if [ $mode = pthread_exit ]; then
        printf '4\nat exit 2\n' >expected
        programs=
    else
        timeout 120 ./plain $mode >expected || [ $? = $wanted ] || fail "$mode, plain"
        programs="recorded objects as_needed"
    fi
    for program in $programs; do
        status=0
        timeout 120 ./$program $mode >got || status=$?
        [ $status = $wanted ] || fail "$program $mode, run plainly: status $status"
        cmp expected got || fail "$program $mode, run plainly"
    done
    status=0
    timeout 120 "$peet" run --quiet --cores 4 -d run -- ./recorded $mode >got 2>errors || status=$?
    [ $status = $wanted ] || fail "$mode: status $status: $(cat errors)"
    cmp expected got || fail "$mode: $(cat errors)"
    # the worker that ends the program leaves others in their region: that is said; idle workers are not
    [ $mode = worker ] || [ ! -s errors ] || fail "$mode: $(cat errors)"
done

# A library with OpenMP, loaded by a program without
cat >library.c <<'END'
int count(void)
{
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    {
#pragma omp single nowait
#pragma omp task shared(n)
        {
        }
        n++;
    }
    return n;
}
END
cat >loads.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    int (*count)(void) = library ? (int (*)(void))dlsym(library, "count") : NULL;
    if (!count) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("%d\n", count());
    return 0;
}
END
must "$peetcc" -O1 -w -fopenmp -shared -fPIC -o library.so library.c
must "$peetcc" -O1 -o loads loads.c
[ "$(./loads ./library.so)" = 3 ] || fail "a loaded library, run plainly"
[ "$("$peet" run --quiet --cores 2 -d run -- ./loads ./library.so)" = 3 ] || fail "a loaded library"

# A compiler whose OpenMP package is not installed: said, and what can be done about it
mkdir -p elsewhere/bin
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$PEET_PLAIN_CC")" >elsewhere/bin/clang
chmod +x elsewhere/bin/clang
PEETCC_CLANG=$work/elsewhere/bin/clang "$peetcc" -O1 -fopenmp -c ends.c 2>errors || fail "a compiler elsewhere: $(cat errors)"
grep -q "install libomp-22-dev" errors || fail "nothing said of the missing package: $(cat errors)"
echo "linked, ended, forked and loaded as it should be"
