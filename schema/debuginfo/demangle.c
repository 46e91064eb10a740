/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names for people, by the C++ library's own function, which is linked in statically. */
#include "debuginfo/data.h"

#include <stdlib.h>
#include <stdio.h>

extern char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

const char *peet_demangle(const char *name, char *buffer, size_t room)
{
    int status = -1;
    char *text;

    if (name[0] != '_' || name[1] != 'Z' || !room)
        return name;
    text = __cxa_demangle(name, NULL, NULL, &status);
    if (!text || status || (size_t)snprintf(buffer, room, "%s", text) >= room)
        status = -1;
    free(text);
    return status ? name : buffer;
}
