/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user wants with data structures: names with their meaning, and rules of another layout.  config.c checks
 * them as text, data_rules.c holds them against the structures of a run, remap.c lays out.
 */
#ifndef PEET_DATA_RULES_H
#define PEET_DATA_RULES_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

enum peet_rule_kind {
    PEET_RULE_PERFECT, /* single-cycle memory */
    PEET_RULE_PAD,     /* each element in slots of its own of so many bytes */
    PEET_RULE_ALIGN,   /* each object begins at a multiple of so many bytes */
    PEET_RULE_BASE,    /* the first object begins at this address, the others follow it */
    PEET_RULE_STRIDE,  /* elements of so many bytes are so far apart */
};

struct peet_rule {
    uint8_t kind;   /* enum peet_rule_kind */
    char name[200]; /* or "" and a range of addresses */
    uint64_t lo, hi;
    uint64_t value;         /* bytes of PAD and ALIGN, address of BASE, new stride of STRIDE */
    uint64_t element_bytes; /* STRIDE */
    char text[240];         /* as the user wrote it, for messages */
};

/** peet_rule_parse() - "pad=NAME:64", "align=NAME:64", "base=NAME:0x500000", "stride=NAME:8:64"; NAME may be LO-HI or
 * ADDRESS+BYTES
 *  @where: begins the message.  Returns: 0 or PEET_EINVALID */
int peet_rule_parse(const char *where, const char *text, struct peet_rule *out_rule, struct peet_error *error);
/** peet_rule_perfect() - the rule that a name alone stands for */
int peet_rule_perfect(const char *where, const char *name, struct peet_rule *out_rule, struct peet_error *error);

struct peet_datamap;
struct peet_rules;
struct peet_remap;

/** peet_rules_new() - hold rules against the structures of a table, from now on and those that it has.  @rules: copied
 */
int peet_rules_new(struct peet_datamap *map, const struct peet_rule *rules, size_t n, struct peet_rules **out_rules,
    struct peet_error *error);
void peet_rules_free(struct peet_rules *rules);

/** peet_rules_unused() - a rule whose name no structure has had: says so, with the nearest name.  Returns: 0, or
 * PEET_ENOTFOUND */
int peet_rules_unused(const struct peet_rules *rules, struct peet_error *error);

/** peet_rules_moves() - does any rule give another layout? */
int peet_rules_moves(const struct peet_rules *rules);

#endif
