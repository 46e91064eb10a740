#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Program and host share the C library.  What its functions find out once, where they map files, and what the dynamic linker allocates when
# the runtime asks for a function: none of it is another in a run whose modules sort, allocate and map more.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cat >once.c <<'END'
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
static int numbers[5000];
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char text[100];
    const time_t then = 86400 * 365;
    if (!strcmp(what, "sort")) {
        for (int i = 0; i < 5000; i++)
            numbers[i] = i * 7919 % 5003;
        qsort(numbers, 5000, sizeof *numbers, by_value);
        printf("%d\n", numbers[9]);
    } else if (!strcmp(what, "locale")) {
        printf("%d\n", setlocale(LC_ALL, "C.UTF-8") != NULL);
        printf("%d\n", (int)mbstowcs(NULL, "h\xc3\xa9", 0));
    } else if (!strcmp(what, "page")) {
        printf("%ld\n", sysconf(_SC_PAGESIZE));
    } else if (!strcmp(what, "time")) {
        setenv("TZ", "UTC-3", 1);
        strftime(text, sizeof text, "%c %Z", localtime(&then));
        puts(text);
    }
    return 0;
}
END
must "$peetcc" -O1 -o once once.c
hash() { "$PEET_PREFIX/tests/json-get" "$1/stats.json" hash.hash; }
for what in sort locale page time; do
    must "$peet" run -q --foreign=record --machine bus --cores 2 --observe hash -d alone -- ./once $what >alone.txt
    for others in "-o dtrack" "-o trace" "-o counts -o profile" "-o graph -o locality"; do
        # shellcheck disable=SC2086
        must "$peet" run -q --foreign=record --machine bus --cores 2 --observe hash $others -d others -- ./once $what >others.txt
        same alone.txt others.txt "$what with $others"
        equal "$what with $others: events" "$(hash others)" "$(hash alone)"
    done
done
exit 0
