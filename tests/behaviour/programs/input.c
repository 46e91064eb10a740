/* SPDX-License-Identifier: Apache-2.0 */
/* Reads standard input in several ways and echoes; arguments and environment. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    char line[256];
    long words = 0, sum = 0;
    unsigned long hash = 5381;
    if (!fgets(line, sizeof line, stdin))
        return 1;
    printf("first: %s", line);
    for (int c, in = 0; (c = getchar()) != EOF;) {
        words += isalpha(c) && !in;
        in = isalpha(c);
        hash = hash * 33 + (unsigned long)c;
    }
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "OF_THE_TEST", 11) == 0)
            sum += (long)strlen(*e);
    for (int i = 1; i < argc; i++)
        printf("[%s]", argv[i]);
    printf("%ld %lx %ld %s %d\n", words, hash, sum, getenv("OF_THE_TEST_1") ? getenv("OF_THE_TEST_1") : "none", getenv("PEET_CONFIG") != NULL);
    return argc;
}
