/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what stands before the schema: any file given as a program yields functions or an error. */
#include "decode/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct peet_program *program;
    struct peet_error error = {0};
    if (peet_program_new(&program) != 0)
        abort();
    int n = peet_program_add_image(program, path, 0, &error);
    if (n < 0 && n != PEET_ENOTFOUND && error.message[0] == 0)
        abort();
    peet_program_free(program);
    return 0;
}
