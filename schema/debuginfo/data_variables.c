/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables with static storage from DWARF: globals, statics of files, functions and classes, thread-local ones,
 * Fortran's common blocks.  One walk over all entries, which also notes the namespaces and classes that names stand in
 * and the names of types.
 */
#include "debuginfo/debuginfo.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Where in the scopes the walk is. */
struct place {
    const char *prefix;   /* "ns::klass::" */
    const char *function; /* "" outside functions */
    const char *common;   /* name of the common block, or NULL */
    int depth;
};

/** A variable met on the walk: its names are known when all scopes of its unit are. */
struct met {
    Dwarf_Die die;
    struct place place;
    uint64_t address;
    int tls;
};

struct walk {
    struct peet_debuginfo *info;
    const struct peet__unit *unit;
    Dwarf_Files *files;
    size_t nfiles;
    struct met *met;
    size_t nmet, room;
};

int peet__variable_add(struct peet_debuginfo *info, const struct peet_variable *variable)
{
    if (info->nvariables == info->variables_room) {
        size_t room = info->variables_room ? 2 * info->variables_room : 256;
        struct peet_variable *more = realloc(info->variables, room * sizeof *more);

        if (!more)
            return PEET_ENOMEM;
        info->variables = more;
        info->variables_room = room;
    }
    info->variables[info->nvariables++] = *variable;
    return 0;
}

/** The address that a location names, if it is one for good.  Returns: 1, and whether it is a thread-local offset */
static int static_address(Dwarf_Die *die, uint64_t *out_address, int *out_tls)
{
    Dwarf_Attribute attribute, address;
    Dwarf_Op *ops;
    size_t n;

    *out_tls = 0;
    if (!dwarf_attr(die, DW_AT_location, &attribute) || dwarf_getlocation(&attribute, &ops, &n) || !n || !ops)
        return 0;
    switch (ops[0].atom) {
    case DW_OP_addr:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const2u:
    case DW_OP_const1u:
    case DW_OP_constu:
        *out_address = ops[0].number;
        break;
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index:
        if (dwarf_getlocation_attr(&attribute, &ops[0], &address) || dwarf_formaddr(&address, out_address))
            return 0;
        break;
    default:
        return 0;
    }
    if (n == 1)
        return ops[0].atom == DW_OP_addr || ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index;
    if (ops[1].atom == DW_OP_plus_uconst && n == 2) {
        *out_address += ops[1].number;
        return 1;
    }
    if (ops[1].atom == DW_OP_form_tls_address || ops[1].atom == DW_OP_GNU_push_tls_address) {
        *out_tls = 1;
        return n == 2;
    }
    return 0;
}

static const char *file_of(struct walk *w, Dwarf_Die *die)
{
    uint64_t number;
    const char *name = NULL;

    if (peet__die_number(die, DW_AT_decl_file, &number) && w->files && number < w->nfiles)
        name = dwarf_filesrc(w->files, number, NULL, NULL);
    return name ? name : "";
}

static int meet(struct walk *w, Dwarf_Die *die, const struct place *place)
{
    struct met one = {.die = *die, .place = *place};

    if (peet__die_flag(die, DW_AT_declaration) || !static_address(die, &one.address, &one.tls))
        return 0;
    if (w->nmet == w->room) {
        size_t room = w->room ? 2 * w->room : 64;
        struct met *more = realloc(w->met, room * sizeof *more);

        if (!more)
            return PEET_ENOMEM;
        w->met = more;
        w->room = room;
    }
    w->met[w->nmet++] = one;
    return 0;
}

/** Fortran's allocatable arrays and pointers: the type is that of the data, the variable a descriptor of it. */
static int is_described(Dwarf_Die *die)
{
    Dwarf_Die type;
    Dwarf_Attribute attribute;

    return peet__die_ref(die, DW_AT_type, &type) && dwarf_attr(&type, DW_AT_data_location, &attribute);
}

/** A type whose size is not known may be completed by an array's initialiser: symbols say the size then. */
static int add(struct walk *w, struct met *met)
{
    const struct place *place = &met->place;
    struct peet_variable v = {.function = place->function, .address = met->address};
    Dwarf_Die *die = &met->die;
    char qualified[400], common[400];
    const char *name, *file;
    uint64_t line;

    name = peet__die_qualified(w->info, die, qualified, sizeof qualified);
    if (!name)
        return 0; /* literals that the compiler describes */
    if (place->common) {
        v.function = ""; /* every subprogram that declares it has the same one */
        snprintf(common, sizeof common, "%s%%%s", place->common, name);
        name = common;
        v.flags |= PEET_VARIABLE_COMMON;
    }
    v.name = peet__arena_string(w->info, name);
    v.type = peet__type_of_entry(w->info, die);
    if (!v.type) {
        Dwarf_Die declaration;

        if (peet__die_ref(die, DW_AT_specification, &declaration) ||
            peet__die_ref(die, DW_AT_abstract_origin, &declaration))
            v.type = peet__type_of_entry(w->info, &declaration);
    }
    if (v.type && is_described(die))
        v.type = NULL; /* what stands here describes data that lies elsewhere */
    v.bytes = v.type ? v.type->bytes : 0;
    file = file_of(w, die);
    v.file = peet__arena_string(w->info, file);
    if (peet__die_number(die, DW_AT_decl_line, &line))
        v.line = (uint32_t)line;
    v.flags |= met->tls ? PEET_VARIABLE_TLS : 0;
    return peet__variable_add(w->info, &v);
}

static int walk_children(struct walk *w, Dwarf_Die *parent, const struct place *place);

/** Everything inside a namespace, class or function has its name before its own. */
static int walk_named(struct walk *w, Dwarf_Die *die, const struct place *place, int function)
{
    struct place own = *place;
    char text[400], qualified[300];
    const char *name = peet__die_qualified(w->info, die, qualified, sizeof qualified);

    own.depth++;
    if (function) {
        snprintf(text, sizeof text, "%s%s", name == qualified ? "" : place->prefix, name ? name : "");
        own.function = peet__arena_string(w->info, text);
        own.prefix = "";
    } else if (name) {
        snprintf(text, sizeof text, "%s%s::", place->prefix, peet__die_name(die));
        own.prefix = peet__arena_string(w->info, text);
    }
    return walk_children(w, die, &own);
}

static int walk_entry(struct walk *w, Dwarf_Die *die, const struct place *place)
{
    struct place own = *place;
    const char *name;
    int tag = dwarf_tag(die);

    if (*place->prefix && tag != DW_TAG_imported_declaration)
        peet__scope_add(w->info, die, place->prefix);
    switch (tag) {
    case DW_TAG_variable:
        return meet(w, die, place);
    case DW_TAG_namespace:
        return walk_named(w, die, place, 0);
    case DW_TAG_module: /* Fortran: its variables are said to be module's by their prefix */
        return walk_named(w, die, place, 0);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        peet__type_name_add(w->info, die, place->prefix);
        return w->unit->cplusplus ? walk_named(w, die, place, 0) : 0;
    case DW_TAG_typedef:
    case DW_TAG_base_type:
    case DW_TAG_enumeration_type:
        peet__type_name_add(w->info, die, place->prefix);
        return 0;
    case DW_TAG_subprogram:
        return walk_named(w, die, place, 1);
    case DW_TAG_common_block:
        name = peet__die_name(die);
        own.common = name ? name : "";
        own.depth++;
        return walk_children(w, die, &own);
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
        own.depth++;
        return walk_children(w, die, &own);
    }
    return 0;
}

static int walk_children(struct walk *w, Dwarf_Die *parent, const struct place *place)
{
    Dwarf_Die child;
    int err = 0;

    if (place->depth > PEET__DEPTH_MAX || dwarf_child(parent, &child))
        return 0;
    do
        err = walk_entry(w, &child, place);
    while (!err && !w->info->out_of_memory && !dwarf_siblingof(&child, &child));
    return err;
}

static int by_place(const void *a, const void *b)
{
    const struct peet_variable *x = a, *y = b;
    const unsigned tls = PEET_VARIABLE_TLS;

    if ((x->flags & tls) != (y->flags & tls))
        return x->flags & tls ? 1 : -1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->bytes != y->bytes) /* the larger first: the others are another view of it */
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/** What lies inside another variable is another name for it (common blocks, aliases). */
static void unite(struct peet_debuginfo *info)
{
    size_t n = 0;

    if (info->nvariables)
        qsort(info->variables, info->nvariables, sizeof *info->variables, by_place);
    for (size_t i = 0; i < info->nvariables; i++) {
        const struct peet_variable *v = &info->variables[i], *last = n ? &info->variables[n - 1] : NULL;

        if (last && ((last->flags ^ v->flags) & PEET_VARIABLE_TLS) == 0 && v->address < last->address + last->bytes)
            continue;
        if (last && ((last->flags ^ v->flags) & PEET_VARIABLE_TLS) == 0 && v->address == last->address && !last->bytes)
            n--;
        info->variables[n++] = *v;
    }
    info->nvariables = n;
}

int peet__variables_read(struct peet_debuginfo *info)
{
    int err = 0;

    for (size_t i = 0; i < info->nunits && !err; i++) {
        struct walk w = {.info = info, .unit = &info->units[i]};
        const struct place top = {"", "", NULL, 0};

        if (dwarf_getsrcfiles(&info->units[i].die, &w.files, &w.nfiles) &&
            dwarf_getsrcfiles(&info->units[i].lines, &w.files, &w.nfiles)) {
            w.files = NULL;
            w.nfiles = 0;
        }
        err = walk_children(&w, &info->units[i].die, &top);
        for (size_t k = 0; k < w.nmet && !err; k++)
            err = add(&w, &w.met[k]);
        free(w.met);
    }
    unite(info);
    return err;
}
