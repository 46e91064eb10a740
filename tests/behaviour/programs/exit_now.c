/* SPDX-License-Identifier: Apache-2.0 */
/* _exit: no handlers, no flushing. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void never(void) { puts("never"); }
int main(void)
{
    atexit(never);
    printf("lost");
    if (write(1, "kept\n", 5) != 5)
        return 1;
    _exit(17);
}
