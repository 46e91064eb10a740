/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of consistency models and of exploration, from text; see config.h.
 */
#include "config/parts.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

int peet_config_set_consistency(struct peet_config *config, const char *where, const char *spec,
    struct peet_error *error)
{
    return peet__config_spec(&config->consistency, where, spec, error);
}

int peet_config_set_consistency_sync(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    int choice = peet_text_choice(text, "ref|sync");

    if (choice < 0)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of ref|sync", where, text);
    config->consistency_sync = choice;
    return 0;
}

static int number(uint64_t *out_value, const char *where, const char *text, const char *also, struct peet_error *error)
{
    uint64_t value;

    if (peet_text_u64(text, &value) || !value || value > INT64_MAX)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not a number from 1 on%s", where, text, also);
    *out_value = value;
    return 0;
}

int peet_config_set_explore(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    if (!strcmp(text, "off")) {
        config->explore = 0;
        return 0;
    }
    if (!strcmp(text, "all")) {
        config->explore = PEET_EXPLORE_ALL;
        return 0;
    }
    return number(&config->explore, where, text, ", all or off", error);
}

int peet_config_set_explore_limit(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    return number(&config->explore_limit, where, text, "", error);
}

int peet_config_set_explore_steps(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    return number(&config->explore_steps, where, text, "", error);
}

int peet_config_set_until(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    int choice = peet_text_choice(text, "end|failure");

    if (choice < 0)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of failure|end", where, text);
    config->explore_until_failure = choice;
    return 0;
}

int peet_config_set_explain(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    int choice = text ? peet_text_choice(text, "off|on") : 1;

    if (choice < 0)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of on|off", where, text);
    config->explain = choice;
    return 0;
}

int peet_config_set_replay_token(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    const size_t first = strspn(text, letters), second = text[first] == ',' ? strspn(text + first + 1, letters) : 0;

    if (!first || text[first + (second ? 1 + second : 0)])
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not a token as an exploration prints them", where,
            text);
    return peet__config_string(&config->replay_token, text, error);
}

const char *peet_config_explore_text(const struct peet_config *config, char *buffer, size_t bytes)
{
    if (config->explore == PEET_EXPLORE_ALL)
        snprintf(buffer, bytes, "all");
    else if (config->explore)
        snprintf(buffer, bytes, "%llu", (unsigned long long)config->explore);
    else
        snprintf(buffer, bytes, "off");
    return buffer;
}
