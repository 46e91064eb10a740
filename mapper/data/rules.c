/* SPDX-License-Identifier: Apache-2.0 */
/* See data/rules.h: the text of rules, and which structures they are about. */
#include "data/rules.h"
#include "data/parts.h"
#include "base/names.h"
#include "data/remap.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct peet_rules {
    struct peet_datamap *map;
    struct peet_rule *rules;
    uint8_t *used;
    size_t n;
};

/* -------------------------------------------------------------------------------------------------- text */

/** "0x10-0x20", "0x10+16".  Returns: 1 and the range, 0: it is a name, or PEET_EINVALID */
static int range_of(const char *name, uint64_t *out_lo, uint64_t *out_hi)
{
    size_t n = strcspn(name, "-+");
    char lo[40];
    uint64_t second;

    if (name[0] < '0' || name[0] > '9' || !name[n] || n >= sizeof lo)
        return name[0] >= '0' && name[0] <= '9' ? PEET_EINVALID : 0;
    memcpy(lo, name, n);
    lo[n] = 0;
    if (peet_text_u64(lo, out_lo) ||
        (name[n] == '-' ? peet_text_u64(name + n + 1, &second) : peet_text_size(name + n + 1, &second)))
        return PEET_EINVALID;
    *out_hi = name[n] == '-' ? second : *out_lo + second;
    return *out_hi > *out_lo ? 1 : PEET_EINVALID;
}

/** The number behind the last ':' of a text, which is cut off there. */
static int last_number(char *text, int address, uint64_t *out_value)
{
    char *colon = strrchr(text, ':');

    if (!colon || colon == text ||
        (address ? peet_text_u64(colon + 1, out_value) : peet_text_size(colon + 1, out_value)))
        return 0;
    *colon = 0;
    return 1;
}

static int set_name(const char *where, const char *text, const char *name, struct peet_rule *r,
    struct peet_error *error)
{
    int is_range = range_of(name, &r->lo, &r->hi);

    if (is_range < 0)
        return peet_error_set(error, PEET_EINVALID,
            "%s: '%s': '%s' is neither a name nor a range of addresses (0x1000-0x2000, 0x1000+64)", where, text, name);
    if (strlen(name) >= sizeof r->name || !*name)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s': the name is %s", where, text,
            *name ? "too long" : "missing");
    if (!is_range)
        snprintf(r->name, sizeof r->name, "%s", name);
    return 0;
}

int peet_rule_perfect(const char *where, const char *name, struct peet_rule *out, struct peet_error *error)
{
    *out = (struct peet_rule){.kind = PEET_RULE_PERFECT};
    snprintf(out->text, sizeof out->text, "%.220s", name);
    if (*name >= '0' && *name <= '9')
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not the name of a data structure", where, name);
    return set_name(where, name, name, out, error);
}

int peet_rule_parse(const char *where, const char *text, struct peet_rule *out, struct peet_error *error)
{
    static const struct {
        const char *word;
        uint8_t kind;
        const char *form;
    } forms[] = {{"pad", PEET_RULE_PAD, "pad=NAME:64"}, {"align", PEET_RULE_ALIGN, "align=NAME:64"},
        {"base", PEET_RULE_BASE, "base=NAME:0x500000000000"}, {"stride", PEET_RULE_STRIDE, "stride=NAME:8:64"}};
    const char *equals = strchr(text, '=');
    char rest[sizeof out->text];
    size_t k = 0;

    *out = (struct peet_rule){0};
    for (; k < 4 &&
        (!equals || strlen(forms[k].word) != (size_t)(equals - text) ||
            strncmp(text, forms[k].word, (size_t)(equals - text)));
        k++)
        ;
    if (k == 4 || strlen(text) >= sizeof rest)
        return peet_error_set(error, PEET_EINVALID,
            "%s: '%s' is not of the form pad=NAME:BYTES, align=NAME:BYTES, base=NAME:ADDRESS or stride=NAME:ELEMENT:STRIDE",
            where, text);
    out->kind = forms[k].kind;
    snprintf(out->text, sizeof out->text, "%s", text);
    snprintf(rest, sizeof rest, "%s", equals + 1);
    if (!last_number(rest, out->kind == PEET_RULE_BASE, &out->value) ||
        (out->kind == PEET_RULE_STRIDE && !last_number(rest, 0, &out->element_bytes)))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not of the form %s", where, text, forms[k].form);
    if ((out->kind == PEET_RULE_PAD || out->kind == PEET_RULE_ALIGN) &&
        (!out->value || (out->value & (out->value - 1)) || out->value > 1 << 30))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s': %llu is not a power of two from 1 to 1 GiB", where, text,
            (unsigned long long)out->value);
    if (out->kind == PEET_RULE_STRIDE &&
        (!out->element_bytes || out->value < out->element_bytes || out->value > 1 << 30))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s': elements of %llu bytes cannot be %llu bytes apart",
            where, text, (unsigned long long)out->element_bytes, (unsigned long long)out->value);
    if (out->kind == PEET_RULE_BASE && out->value >> 47)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s': addresses end at 0x7fffffffffff", where, text);
    return set_name(where, text, rest, out, error);
}

/* ---------------------------------------------------------------------------------------------- matching */

static int like(const char *pattern, const char *text)
{
    const char *star = NULL, *back = NULL;

    while (*text)
        if (*pattern == '*') {
            star = pattern++;
            back = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++back;
        } else {
            return 0;
        }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

enum { FORMS = 5 };

/** Names that a structure goes by.  Returns: how many */
static unsigned names_of(const struct peet_data *d, char out[FORMS][400])
{
    unsigned n = 0;

    snprintf(out[n++], 400, "%s", d->name);
    if (*d->function)
        snprintf(out[n++], 400, "%s.%s", d->function, d->name);
    if (*d->function && d->line)
        snprintf(out[n++], 400, "%s:%u", d->function, d->line);
    if (*d->file && d->line)
        snprintf(out[n++], 400, "%s:%u", file_name(d->file), d->line);
    if (*d->file)
        snprintf(out[n++], 400, "%s:%s", file_name(d->file), d->name);
    return n;
}

static int is_about(const struct peet_rule *rule, const struct peet_data *d)
{
    char names[FORMS][400];
    unsigned n = names_of(d, names);

    for (unsigned i = 0; i < n && *rule->name; i++)
        if (like(rule->name, names[i]))
            return 1;
    return 0;
}

/** A structure has been discovered. */
static void discovered(void *arg, struct peet__structure *s)
{
    struct peet_rules *rules = arg;

    for (size_t i = 0; i < rules->n; i++) {
        if (!is_about(&rules->rules[i], &s->pub))
            continue;
        rules->used[i] = 1;
        if (rules->rules[i].kind == PEET_RULE_PERFECT)
            s->pub.flags |= PEET_DATA_PERFECT;
        else if (rules->map->remap && s->pub.kind != PEET_DATA_STACK && s->pub.kind != PEET_DATA_REST)
            peet__remap_rule(rules->map->remap, s, &rules->rules[i]);
    }
}

int peet_rules_new(struct peet_datamap *map, const struct peet_rule *given, size_t n, struct peet_rules **out_rules,
    struct peet_error *error)
{
    struct peet_rules *rules = calloc(1, sizeof *rules);

    *out_rules = NULL;
    if (rules) {
        rules->map = map;
        rules->rules = calloc(n + 1, sizeof *rules->rules);
        rules->used = calloc(n + 1, 1);
        rules->n = n;
    }
    if (!rules || !rules->rules || !rules->used) {
        peet_rules_free(rules);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    memcpy(rules->rules, given, n * sizeof *given);
    for (size_t i = 0; i < n; i++)
        rules->used[i] = !*given[i].name;
    map->discovered = discovered;
    map->discovered_arg = rules;
    for (uint32_t i = 0; i < map->nstructures; i++)
        discovered(rules, map->structures[i]);
    *out_rules = rules;
    return 0;
}

void peet_rules_free(struct peet_rules *rules)
{
    if (!rules)
        return;
    free(rules->rules);
    free(rules->used);
    free(rules);
}

int peet_rules_moves(const struct peet_rules *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        if (rules->rules[i].kind != PEET_RULE_PERFECT)
            return 1;
    return 0;
}

int peet_rules_unused(const struct peet_rules *rules, struct peet_error *error)
{
    const struct peet_datamap *m = rules->map;

    for (size_t i = 0; i < rules->n; i++) {
        char (*names)[FORMS][400], **list;
        const char *nearest = NULL;
        size_t n = 0;

        if (rules->used[i])
            continue;
        names = malloc(m->nstructures * sizeof *names);
        list = malloc((size_t)m->nstructures * FORMS * sizeof *list);
        for (uint32_t k = 0; names && list && k < m->nstructures; k++)
            for (unsigned f = 0, forms = names_of(&m->structures[k]->pub, names[k]); f < forms; f++)
                list[n++] = names[k][f];
        if (n)
            nearest = peet_names_nearest(rules->rules[i].name, (const char *const *)list, n);
        peet_error_set(error, PEET_ENOTFOUND,
            "%s: no data structure of this run is called '%s'%s%s%s (dtrack lists those that matter, peet schema the globals)",
            rules->rules[i].kind == PEET_RULE_PERFECT ? "--perfect" : "--remap", rules->rules[i].name,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        free(names);
        free(list);
        return PEET_ENOTFOUND;
    }
    return 0;
}
