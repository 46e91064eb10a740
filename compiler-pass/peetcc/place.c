/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the runtime stands on the linker's command line: before all other shared objects, for whoever comes first has the
 * last word at run time, and behind the archives that come before those.  An archive's member is linked only if something that it
 * defines is still missing, and after the runtime malloc() is not: an allocator in an archive would be left out, without a word.
 */
#include "args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { NEITHER, ARCHIVE, SHARED /* or not known */ };

static int ends_with(const char *text, const char *ending)
{
    const size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

static int exists(const char *folder, const char *name, const char *ending)
{
    char path[4096];
    return (size_t)snprintf(path, sizeof(path), "%s/lib%s%s", folder, name, ending) < sizeof(path) &&
        access(path, F_OK) == 0;
}

/* -lNAME: the first of the user's own folders that has it; the system's have shared objects.  Parts of the C library in which
 * the runtime defines nothing may stand anywhere. */
static enum kind library(const struct peetcc_vector *folders, const char *name)
{
    static const char *const others[] = {"m", "pthread", "dl", "rt"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(name, others[i]) == 0)
            return NEITHER;
    for (int i = 0; i < folders->count; i++) {
        if (exists(folders->items[i], name, ".so"))
            return SHARED;
        if (exists(folders->items[i], name, ".a"))
            return ARCHIVE;
    }
    return name[0] == ':' && ends_with(name, ".a") ? ARCHIVE : SHARED;
}

/* An option for the linker: may it name a shared object, or begin a group in which nothing else should stand? */
static enum kind for_linker(const char *text)
{
    static const char *const of_shared[] = {"-l", ".so", "group", "-("};
    for (size_t i = 0; i < sizeof(of_shared) / sizeof(of_shared[0]); i++)
        if (strstr(text, of_shared[i]))
            return SHARED;
    return NEITHER;
}

static enum kind input(const char *name)
{
    return ends_with(name, ".a") ? ARCHIVE : strstr(name, ".so") || name[0] == '@' ? SHARED : NEITHER;
}

/* Folders of -L, which hold for all libraries, wherever they stand. */
static int find_folders(const struct peetcc_vector *words, int end, struct peetcc_vector *out)
{
    for (int i = 0; i < end; i++) {
        char *word = words->items[i];
        const int apart = strcmp(word, "-L") == 0 && i + 1 < end;
        if (strncmp(word, "-L", 2) == 0 && (apart || word[2]) &&
            peetcc_vector_push(out, apart ? words->items[i + 1] : word + 2))
            return -1;
        i += peetcc_args_takes_next(word);
    }
    return 0;
}

int peetcc_runtime_place(const struct peetcc_args *args)
{
    const struct peetcc_vector *words = &args->user;
    struct peetcc_vector folders = {0};
    int place = 0;

    if (find_folders(words, args->separator, &folders)) {
        free(folders.items);
        return 0;
    }
    for (int i = 0; i < args->separator; i++) { /* behind "--" there can be no options */
        const char *word = words->items[i], *value = i + 1 < args->separator ? words->items[i + 1] : "";
        const int apart = peetcc_args_takes_next(word);
        enum kind kind = NEITHER;
        if (word[0] != '-')
            kind = input(word);
        else if (strncmp(word, "-l", 2) == 0)
            kind = library(&folders, apart ? value : word + 2);
        else if (strncmp(word, "-Wl,", 4) == 0)
            kind = for_linker(word + 4);
        else if (apart && (strcmp(word, "-Xlinker") == 0 || strcmp(word, "--for-linker") == 0))
            kind = for_linker(value);
        if (kind == SHARED)
            break;
        i += apart;
        if (kind == ARCHIVE)
            place = i + 1;
    }
    free(folders.items);
    return place;
}
