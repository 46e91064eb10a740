/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types from DWARF: their names as C spells them, sizes, targets, members, and what lies at an offset.  Each is read
 * when first asked for.  Types of damaged files may refer to themselves: everything here counts its depth.
 */
#include "debuginfo/debuginfo.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPELLED = 400 };

static int type_die(Dwarf_Die *die, Dwarf_Die *out_die)
{
    return peet__die_ref(die, DW_AT_type, out_die);
}

/** Through typedefs and qualifiers.  Returns: its tag, 0: void, or no end of them */
static int strip(Dwarf_Die *die)
{
    for (int depth = 0; depth < PEET__DEPTH_MAX; depth++) {
        int tag = dwarf_tag(die);
        Dwarf_Die next;

        switch (tag) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
        case DW_TAG_immutable_type:
        case DW_TAG_packed_type:
            if (!type_die(die, &next))
                return 0;
            *die = next;
            break;
        default:
            return tag;
        }
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- spelling */

static void spell(struct peet_debuginfo *info, Dwarf_Die *die, const char *inner, char *out, size_t room, int depth);

static void spell_target(struct peet_debuginfo *info, Dwarf_Die *die, const char *inner, char *out, size_t room,
    int depth)
{
    Dwarf_Die target;

    if (type_die(die, &target) && depth < PEET__DEPTH_MAX)
        spell(info, &target, inner, out, room, depth + 1);
    else
        snprintf(out, room, "void%s%s", *inner && *inner != '[' ? " " : "", inner);
}

static void spell_pointer(struct peet_debuginfo *info, Dwarf_Die *die, const char *sign, const char *inner, char *out,
    size_t room, int depth)
{
    char own[SPELLED];
    Dwarf_Die target;
    int tag = type_die(die, &target) ? dwarf_tag(&target) : 0;

    snprintf(own, sizeof own, tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type ? "(%s%s)" : "%s%s", sign,
        inner);
    spell_target(info, die, own, out, room, depth);
}

static void spell_qualified(struct peet_debuginfo *info, Dwarf_Die *die, const char *word, const char *inner, char *out,
    size_t room, int depth)
{
    char own[SPELLED];
    Dwarf_Die target;
    int tag = type_die(die, &target) ? dwarf_tag(&target) : 0, n;

    if (tag == DW_TAG_pointer_type) { /* T *const */
        snprintf(own, sizeof own, "%s%s%s", word, *inner ? " " : "", inner);
        spell_target(info, die, own, out, room, depth);
        return;
    }
    n = snprintf(out, room, "%s ", word);
    if (n > 0 && (size_t)n < room)
        spell_target(info, die, inner, out + n, room - (size_t)n, depth);
}

/** How many elements a dimension has.  Returns: 0 if it does not say */
static uint64_t dimension_count(Dwarf_Die *range)
{
    uint64_t count = 0, lower = 0, upper;

    if (dwarf_tag(range) == DW_TAG_enumeration_type)
        return 0;
    if (peet__die_number(range, DW_AT_count, &count))
        return count;
    if (!peet__die_number(range, DW_AT_upper_bound, &upper))
        return 0;
    if (!peet__die_number(range, DW_AT_lower_bound, &lower)) {
        Dwarf_Die unit;

        switch (dwarf_diecu(range, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0) {
        case DW_LANG_Fortran77:
        case DW_LANG_Fortran90:
        case DW_LANG_Fortran95:
        case DW_LANG_Fortran03:
        case DW_LANG_Fortran08:
            lower = 1;
        }
    }
    return (int64_t)upper >= (int64_t)lower - 1 ? upper - lower + 1 : 0;
}

/** The dimensions of an array.  Returns: how many */
static unsigned dimensions(Dwarf_Die *array, uint64_t *out_counts, unsigned room)
{
    Dwarf_Die child;
    unsigned n = 0;

    if (dwarf_child(array, &child))
        return 0;
    do {
        if (dwarf_tag(&child) == DW_TAG_subrange_type && n < room)
            out_counts[n++] = dimension_count(&child);
    } while (!dwarf_siblingof(&child, &child));
    return n;
}

enum { DIMENSIONS = 15 };

static void spell_array(struct peet_debuginfo *info, Dwarf_Die *die, unsigned first, const char *inner, char *out,
    size_t room, int depth)
{
    uint64_t counts[DIMENSIONS];
    unsigned n = dimensions(die, counts, DIMENSIONS);
    char own[SPELLED];
    size_t length = (size_t)snprintf(own, sizeof own, "%s", inner);

    if (!n)
        counts[n++] = 0;
    for (unsigned i = first; i < n && length < sizeof own; i++)
        length +=
            (size_t)(counts[i] ? snprintf(own + length, sizeof own - length, "[%llu]", (unsigned long long)counts[i])
                               : snprintf(own + length, sizeof own - length, "[]"));
    spell_target(info, die, own, out, room, depth);
}

static void spell_function(struct peet_debuginfo *info, Dwarf_Die *die, const char *inner, char *out, size_t room,
    int depth)
{
    char own[SPELLED];
    size_t length = (size_t)snprintf(own, sizeof own, "%s(", inner);
    Dwarf_Die child, type;
    const char *comma = "";

    if (!dwarf_child(die, &child))
        do {
            char one[SPELLED] = "...";

            if (dwarf_tag(&child) == DW_TAG_formal_parameter) {
                if (!type_die(&child, &type) || depth >= PEET__DEPTH_MAX)
                    continue;
                spell(info, &type, "", one, sizeof one, depth + 1);
            } else if (dwarf_tag(&child) != DW_TAG_unspecified_parameters) {
                continue;
            }
            if (length < sizeof own)
                length += (size_t)snprintf(own + length, sizeof own - length, "%s%s", comma, one);
            comma = ", ";
        } while (!dwarf_siblingof(&child, &child));
    if (length < sizeof own - 1)
        snprintf(own + length, sizeof own - length, "%s)",
            *comma                                      ? ""
                : peet__die_flag(die, DW_AT_prototyped) ? "void"
                                                        : "");
    spell_target(info, die, own, out, room, depth);
}

static void spell_named(struct peet_debuginfo *info, Dwarf_Die *die, const char *word, const char *inner, char *out,
    size_t room)
{
    char buffer[SPELLED];
    const char *name = peet__die_qualified(info, die, buffer, sizeof buffer);
    Dwarf_Die unit;
    int plain = 0;

    if (*word && dwarf_diecu(die, &unit, NULL, NULL)) {
        int language = dwarf_srclang(&unit);

        plain = language != DW_LANG_C89 && language != DW_LANG_C && language != DW_LANG_C99 &&
            language != DW_LANG_C11 && language != 0x2c + 1 /* C17 */;
    }
    snprintf(out, room, "%s%s%s%s%s", plain ? "" : word, *word && !plain ? " " : "", name ? name : "{...}",
        *inner && *inner != '[' ? " "
            : *inner            ? " "
                                : "",
        inner);
}

static void spell(struct peet_debuginfo *info, Dwarf_Die *die, const char *inner, char *out, size_t room, int depth)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_pointer_type:
        spell_pointer(info, die, "*", inner, out, room, depth);
        return;
    case DW_TAG_reference_type:
        spell_pointer(info, die, "&", inner, out, room, depth);
        return;
    case DW_TAG_rvalue_reference_type:
        spell_pointer(info, die, "&&", inner, out, room, depth);
        return;
    case DW_TAG_const_type:
        spell_qualified(info, die, "const", inner, out, room, depth);
        return;
    case DW_TAG_volatile_type:
        spell_qualified(info, die, "volatile", inner, out, room, depth);
        return;
    case DW_TAG_atomic_type:
        spell_qualified(info, die, "_Atomic", inner, out, room, depth);
        return;
    case DW_TAG_restrict_type:
        spell_qualified(info, die, "restrict", inner, out, room, depth);
        return;
    case DW_TAG_array_type:
        spell_array(info, die, 0, inner, out, room, depth);
        return;
    case DW_TAG_subroutine_type:
        spell_function(info, die, inner, out, room, depth);
        return;
    case DW_TAG_structure_type:
        spell_named(info, die, "struct", inner, out, room);
        return;
    case DW_TAG_class_type:
        spell_named(info, die, "", inner, out, room);
        return;
    case DW_TAG_union_type:
        spell_named(info, die, "union", inner, out, room);
        return;
    case DW_TAG_enumeration_type:
        spell_named(info, die, "enum", inner, out, room);
        return;
    default:
        spell_named(info, die, "", inner, out, room);
    }
}

/* ------------------------------------------------------------------------------------------------- types */

static uint64_t size_of(Dwarf_Die *die, int depth)
{
    uint64_t bytes, counts[DIMENSIONS];
    Dwarf_Die target, own = *die;
    unsigned n;

    switch (strip(&own)) {
    case 0:
        return 0;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return 8;
    case DW_TAG_array_type:
        if (peet__die_number(&own, DW_AT_byte_size, &bytes))
            return bytes;
        if (depth >= PEET__DEPTH_MAX || !type_die(&own, &target) || !(bytes = size_of(&target, depth + 1)))
            return 0;
        n = dimensions(&own, counts, DIMENSIONS);
        for (unsigned i = 0; i < n; i++)
            if (__builtin_mul_overflow(bytes, counts[i], &bytes))
                return 0;
        return n ? bytes : 0;
    default:
        return peet__die_number(&own, DW_AT_byte_size, &bytes) ? bytes : 0;
    }
}

static uint8_t kind_of(int tag)
{
    switch (tag) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return PEET_TYPE_POINTER;
    case DW_TAG_array_type:
        return PEET_TYPE_ARRAY;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return PEET_TYPE_STRUCT;
    case DW_TAG_subroutine_type:
        return PEET_TYPE_FUNCTION;
    default:
        return PEET_TYPE_SCALAR;
    }
}

static struct peet__type *make(struct peet_debuginfo *info, Dwarf_Die *die)
{
    struct peet__type *t = peet__arena(info, sizeof *t);
    Dwarf_Die own = *die;
    char text[SPELLED];

    if (!t)
        return NULL;
    spell(info, die, "", text, sizeof text, 0);
    t->pub.name = peet__arena_string(info, text);
    t->pub.kind = kind_of(strip(&own));
    t->pub.bytes = size_of(die, 0);
    t->info = info;
    t->die = own; /* behind typedefs: what targets and members are read from */
    if (t->pub.kind == PEET_TYPE_ARRAY) {
        uint64_t counts[DIMENSIONS];

        t->pub.count = dimensions(&own, counts, DIMENSIONS) ? counts[0] : 0;
    }
    return t;
}

const struct peet_type *peet__type_of(struct peet_debuginfo *info, Dwarf_Die *die)
{
    uintptr_t key = (uintptr_t)die->addr;
    struct peet__type *t = NULL;

    HASH_FIND(hh, info->types, &key, sizeof key, t);
    if (t)
        return &t->pub;
    t = make(info, die);
    if (!t)
        return NULL;
    t->key = key;
    HASH_ADD(hh, info->types, key, sizeof t->key, t);
    return &t->pub;
}

const struct peet_type *peet__type_of_entry(struct peet_debuginfo *info, Dwarf_Die *die)
{
    Dwarf_Die type;

    return type_die(die, &type) ? peet__type_of(info, &type) : NULL;
}

/** An array of several dimensions has rows. */
static const struct peet__type *row(struct peet__type *array)
{
    uint64_t counts[DIMENSIONS];
    unsigned n = dimensions(&array->die, counts, DIMENSIONS);
    struct peet__type *t;
    Dwarf_Die target;
    char text[SPELLED];

    if (array->dimension + 1 >= n)
        return type_die(&array->die, &target) ? (const struct peet__type *)peet__type_of(array->info, &target) : NULL;
    t = peet__arena(array->info, sizeof *t);
    if (!t)
        return NULL;
    *t = *array;
    t->target = NULL;
    t->has_target = 0;
    t->key = 0;
    t->dimension = array->dimension + 1;
    t->pub.count = counts[t->dimension];
    t->pub.bytes = array->pub.count ? array->pub.bytes / array->pub.count : 0;
    spell_array(array->info, &array->die, t->dimension, "", text, sizeof text, 0);
    t->pub.name = peet__arena_string(array->info, text);
    return t;
}

const struct peet_type *peet_type_target(const struct peet_type *type)
{
    struct peet__type *t = (struct peet__type *)type; /* what is read when asked for is no change to anybody */
    Dwarf_Die target;

    if (!t || (type->kind != PEET_TYPE_POINTER && type->kind != PEET_TYPE_ARRAY))
        return NULL;
    if (!t->has_target) {
        t->has_target = 1;
        if (type->kind == PEET_TYPE_ARRAY)
            t->target = row(t);
        else if (type_die(&t->die, &target))
            t->target = (const struct peet__type *)peet__type_of(t->info, &target);
    }
    return t->target ? &t->target->pub : NULL;
}

const struct peet_type *peet_type_element(const struct peet_type *type)
{
    for (int depth = 0; type && type->kind == PEET_TYPE_ARRAY && depth < PEET__DEPTH_MAX; depth++) {
        const struct peet_type *target = peet_type_target(type);

        if (!target)
            break;
        type = target;
    }
    return type;
}

/* ----------------------------------------------------------------------------------------------- members */

static int is_member(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);

    return (tag == DW_TAG_member || tag == DW_TAG_inheritance) && !peet__die_flag(die, DW_AT_external) &&
        !peet__die_flag(die, DW_AT_declaration);
}

static uint64_t member_offset(Dwarf_Die *die)
{
    uint64_t offset = 0, bits;

    if (peet__die_number(die, DW_AT_data_member_location, &offset))
        return offset;
    if (peet__die_number(die, DW_AT_data_bit_offset, &bits))
        return bits / 8;
    return 0;
}

const struct peet_member *peet_type_members(const struct peet_type *type, size_t *out_n)
{
    struct peet__type *t = (struct peet__type *)type;
    Dwarf_Die child;
    size_t n = 0;

    *out_n = 0;
    if (!t || type->kind != PEET_TYPE_STRUCT)
        return NULL;
    if (!t->has_members) {
        t->has_members = 1;
        if (dwarf_child(&t->die, &child))
            return NULL;
        do
            n += (size_t)is_member(&child);
        while (!dwarf_siblingof(&child, &child));
        t->members = n ? peet__arena(t->info, n * sizeof *t->members) : NULL;
        if (!t->members || dwarf_child(&t->die, &child))
            return NULL;
        do {
            struct peet_member *m = &t->members[t->nmembers];
            const char *name = peet__die_name(&child);

            if (!is_member(&child) || t->nmembers == n)
                continue;
            m->name = name ? name : "";
            m->offset = member_offset(&child);
            m->type = peet__type_of_entry(t->info, &child);
            m->bytes = m->type ? m->type->bytes : 0;
            t->nmembers++;
        } while (!dwarf_siblingof(&child, &child));
    }
    *out_n = t->nmembers;
    return t->members;
}

/** Of the members that hold an offset the first; of those that do not, none.  A class that is only declared where the
 * structure is defined (clang, of std::condition_variable: its constructor is elsewhere) reaches to the next member. */
static const struct peet_member *member_at(const struct peet_type *type, uint64_t offset)
{
    size_t n;
    const struct peet_member *m = peet_type_members(type, &n), *flexible = NULL, *last = NULL;

    for (size_t i = 0; i < n; i++) {
        if (offset >= m[i].offset && offset - m[i].offset < m[i].bytes)
            return &m[i];
        if (!m[i].bytes && m[i].type && m[i].type->kind == PEET_TYPE_ARRAY && offset >= m[i].offset)
            flexible = &m[i];
        if (offset >= m[i].offset && offset < type->bytes && (!last || m[i].offset >= last->offset))
            last = &m[i];
    }
    return flexible || !last || last->bytes ? flexible : last;
}

uint64_t peet_type_at(const struct peet_type *type, uint64_t offset, int array, char *out_name, size_t room)
{
    uint64_t rest = offset, begin = 0;
    size_t length = 0;
    int dot = 0;

    if (!room)
        return offset;
    *out_name = 0;
    if (!type || !type->bytes)
        return offset;
    if (array) {
        begin = rest / type->bytes * type->bytes;
        length = (size_t)snprintf(out_name, room, "[%llu]", (unsigned long long)(rest / type->bytes));
        rest -= begin;
        dot = 1;
    }
    for (int depth = 0; depth < PEET__DEPTH_MAX && length < room; depth++) {
        const struct peet_member *m;
        const struct peet_type *target;

        if (type->kind == PEET_TYPE_ARRAY) {
            target = peet_type_target(type);
            if (!target || !target->bytes)
                break;
            length += (size_t)snprintf(out_name + length, room - length, "[%llu]",
                (unsigned long long)(rest / target->bytes));
            begin += rest / target->bytes * target->bytes;
            rest %= target->bytes;
            type = target;
            dot = 1;
            continue;
        }
        if (type->kind != PEET_TYPE_STRUCT || !(m = member_at(type, rest)))
            break;
        if (*m->name)
            length += (size_t)snprintf(out_name + length, room - length, "%s%s", dot ? "." : "", m->name);
        dot |= *m->name != 0;
        begin += m->offset;
        rest -= m->offset;
        type = m->type;
        if (!type)
            break;
    }
    return begin;
}

/* ---------------------------------------------------------------------------------------- types by name */

void peet__type_name_add(struct peet_debuginfo *info, Dwarf_Die *die, const char *prefix)
{
    const char *name = peet__die_name(die);
    struct peet__type_name *t = NULL;
    char text[SPELLED];

    if (!name || peet__die_flag(die, DW_AT_declaration))
        return;
    snprintf(text, sizeof text, "%s%s", prefix, name);
    HASH_FIND_STR(info->type_names, text, t);
    if (t || !(t = peet__arena(info, sizeof *t)))
        return;
    t->name = peet__arena_string(info, text);
    t->die = *die;
    HASH_ADD_KEYPTR(hh, info->type_names, t->name, strlen(t->name), t);
}

/** Take a word off the front. */
static const char *without(const char *text, const char *word)
{
    size_t n = strlen(word);

    return !strncmp(text, word, n) && text[n] == ' ' ? text + n + 1 : text;
}

/** "unsigned" and the like, as debug information has them. */
static const char *base_name(const char *name)
{
    static const char *const names[][2] = {{"unsigned", "unsigned int"}, {"signed", "int"}, {"signed int", "int"},
        {"long int", "long"}, {"long unsigned int", "unsigned long"}, {"unsigned long int", "unsigned long"},
        {"short int", "short"}, {"unsigned short int", "unsigned short"}, {"long long int", "long long"},
        {"unsigned long long int", "unsigned long long"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i][0]))
            return names[i][1];
    return name;
}

/** A pointer to something, when no entry of the file is one. */
static const struct peet_type *pointer_to(struct peet_debuginfo *info, const struct peet_type *target, const char *name)
{
    struct peet__type *t = peet__arena(info, sizeof *t);

    if (!t)
        return NULL;
    t->pub = (struct peet_type){peet__arena_string(info, name), 8, 0, PEET_TYPE_POINTER};
    t->info = info;
    t->target = (const struct peet__type *)target;
    t->has_target = 1;
    return &t->pub;
}

const struct peet_type *peet_debuginfo_type(struct peet_debuginfo *info, const char *name)
{
    static const char *const words[] = {"const", "volatile", "struct", "class", "union", "enum"};
    char text[SPELLED];
    struct peet__type_name *t = NULL;
    size_t n = strlen(name), stars = 0, tail = 0;

    while (n && (name[n - 1] == '*' || name[n - 1] == ' '))
        stars += name[--n] == '*';
    if (!n || n >= sizeof text)
        return NULL;
    memcpy(text, name, n);
    text[n] = 0;
    name = text;
    for (size_t i = 0; i < 2 * sizeof words / sizeof *words; i++)
        name = without(name, words[i % (sizeof words / sizeof *words)]);
    name = base_name(name);
    HASH_FIND_STR(info->type_names, name, t);
    if (!t) { /* said inside its namespace */
        struct peet__type_name *one;

        n = strlen(name);
        for (one = info->type_names; one; one = one->hh.next) {
            size_t length = strlen(one->name);

            if (length > n + 2 && !strcmp(one->name + length - n, name) && one->name[length - n - 1] == ':' &&
                (!t || length < tail)) {
                t = one;
                tail = length;
            }
        }
    }
    if (t || stars) {
        const struct peet_type *type = t ? peet__type_of(info, &t->die) : NULL;

        if (!type && strcmp(name, "void"))
            return NULL;
        for (size_t i = 0; i < stars && (type || !i); i++) {
            char spelled[SPELLED];

            snprintf(spelled, sizeof spelled, "%s%s*", type ? type->name : "void", i ? "" : " ");
            type = pointer_to(info, type, spelled);
        }
        return type;
    }
    return NULL;
}
