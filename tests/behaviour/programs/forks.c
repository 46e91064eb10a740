/* SPDX-License-Identifier: Apache-2.0 */
/* fork without exec, with pipes; the children's work and exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    long total = 0;
    for (int i = 0; i < 4; i++) {
        int ends[2], status;
        long sum = 0;
        if (pipe(ends))
            return 1;
        pid_t pid = fork();
        if (pid == 0) {
            for (long k = 0; k < 10000 * (i + 1); k++)
                sum += k ^ i;
            if (write(ends[1], &sum, sizeof sum) != sizeof sum)
                _exit(99);
            exit(i);
        }
        if (read(ends[0], &sum, sizeof sum) != sizeof sum || waitpid(pid, &status, 0) != pid)
            return 1;
        total += sum + WEXITSTATUS(status);
        close(ends[0]);
        close(ends[1]);
    }
    printf("%ld\n", total);
    return 0;
}
