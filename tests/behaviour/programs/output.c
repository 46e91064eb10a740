/* SPDX-License-Identifier: Apache-2.0 */
/* Much output, through stdio and write, buffered and not. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char buffer[8192];
    for (int i = 0; i < 60000; i++)
        printf("%d %x %s %g\n", i, i * 7919, i & 1 ? "odd" : "even", i / 7.0);
    fflush(stdout);
    memset(buffer, 'x', sizeof buffer);
    buffer[sizeof buffer - 1] = '\n';
    for (int i = 0; i < 200; i++)
        for (size_t done = 0; done < sizeof buffer;) {
            ssize_t n = write(1, buffer + done, sizeof buffer - done);
            if (n < 0)
                return 1;
            done += (size_t)n;
        }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < 2000; i++)
        putchar('a' + i % 26);
    return 0;
}
