/* SPDX-License-Identifier: Apache-2.0 */
/* See token.h. */
#include "host/token.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { MARK_DIGITS = 16 };

struct mark {
    unsigned model, cores, program, rules; /* 16 bits each */
};

static uint64_t hash_text(const char *text, uint64_t before)
{
    return XXH64(text ? text : "", text ? strlen(text) + 1 : 0, before);
}

/** The file that runs, whole. */
static uint64_t hash_program(uint64_t before)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *bytes = MAP_FAILED;

    if (fd >= 0 && !fstat(fd, &about) && about.st_size > 0)
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED)
        return before;
    before = XXH64(bytes, (size_t)about.st_size, before);
    munmap(bytes, (size_t)about.st_size);
    return before;
}

static struct mark mark_of(const struct peet_config *config)
{
    uint64_t model = hash_text(config->consistency.module, (uint64_t)config->consistency_sync),
             program = hash_program(1),
             rules = hash_text(peet_config_winner_text(config), config->seed ^ (uint64_t)config->lock_model << 32);

    for (size_t i = 0; i < config->consistency.nparams; i++)
        model = hash_text(config->consistency.params[i].text, hash_text(config->consistency.params[i].name, model));
    for (size_t i = 0; i < config->narguments; i++)
        program = hash_text(config->arguments[i], program);
    return (struct mark){(unsigned)(model & 0xffff), (unsigned)(config->cores & 0xffff), (unsigned)(program & 0xffff),
        (unsigned)(rules & 0xffff)};
}

void peet_token_mark(const struct peet_config *config, char out_mark[PEET_TOKEN_MARK_BYTES])
{
    const struct mark m = mark_of(config);

    snprintf(out_mark, PEET_TOKEN_MARK_BYTES, ".%04x%04x%04x%04x", m.model, m.cores, m.program, m.rules);
}

int peet_token_check(const struct peet_config *config, const char *token, char **out_choices, struct peet_error *error)
{
    const char *point = strrchr(token, '.');
    const struct mark here = mark_of(config);
    struct mark there;
    int end = 0;

    if (!point || strlen(point + 1) != MARK_DIGITS || strspn(point + 1, "0123456789abcdef") != MARK_DIGITS ||
        sscanf(point + 1, "%4x%4x%4x%4x%n", &there.model, &there.cores, &there.program, &there.rules, &end) != 4 ||
        end != MARK_DIGITS)
        return peet_error_set(error, PEET_EINVALID, "--replay-token: '%s' is not a token as an exploration prints them",
            token);
    if (there.program != here.program)
        return peet_error_set(error, PEET_EINVALID,
            "--replay-token: it was made with another program, another build of it, or other arguments");
    if (there.cores != here.cores)
        return peet_error_set(error, PEET_EINVALID, "--replay-token: it was made with --cores %u, this run has %u",
            there.cores, here.cores);
    if (there.model != here.model)
        return peet_error_set(error, PEET_EINVALID,
            "--replay-token: it was made with another --consistency, or another of its parameters");
    if (there.rules != here.rules)
        return peet_error_set(error, PEET_EINVALID,
            "--replay-token: it was made with another --winner, --lock-model or --seed");
    *out_choices = strndup(token, (size_t)(point - token));
    return *out_choices ? 0 : peet_error_set(error, PEET_ENOMEM, "out of memory");
}
