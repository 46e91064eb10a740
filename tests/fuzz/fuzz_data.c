/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of debug information: whatever file is given, all that it says can be looked at. */
#include "debuginfo/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct peet_type *type, int depth)
{
    char name[100];
    size_t n;
    const struct peet_member *members;

    if (!type || depth > 6)
        return;
    for (uint64_t offset = 0; offset < 64; offset += 7)
        peet_type_at(type, offset, (int)(offset & 1), name, sizeof name);
    look(peet_type_target(type), depth + 1);
    look(peet_type_element(type) != type ? peet_type_element(type) : NULL, depth + 1);
    members = peet_type_members(type, &n);
    for (size_t i = 0; i < n && i < 8; i++)
        look(members[i].type, depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    struct peet_debuginfo *info;
    const struct peet_variable *variables;
    enum { FRAMES = 3 };
    struct peet_frame frames[FRAMES];
    struct peet_site site;
    char path[64];
    size_t n;

    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (peet_debuginfo_open(path, &info, NULL) != 0)
        return 0;
    variables = peet_debuginfo_variables(info, &n);
    for (size_t i = 0; i < n; i++) {
        if (!variables[i].bytes ||
            (i && !((variables[i].flags ^ variables[i - 1].flags) & PEET_VARIABLE_TLS) &&
                variables[i].address < variables[i - 1].address + variables[i - 1].bytes))
            abort(); /* they have a size and do not overlap */
        look(variables[i].type, 0);
    }
    peet_debuginfo_sections(info, &n);
    for (uint64_t pc = 0x1000; pc < 0x1400; pc += 13)
        peet_debuginfo_site(info, pc, NULL, NULL, &site);
    for (uint64_t pc = 0x1000; pc < 0x1400; pc += 13)
        if (peet_debuginfo_frames(info, pc, frames, FRAMES) > FRAMES)
            abort();
    look(peet_debuginfo_type(info, "struct node"), 0);
    peet_debuginfo_free(info);
    return 0;
}
