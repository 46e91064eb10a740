/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The place in the source of an instruction, as a backtrace has it, and of a call that allocates: function and line from
 * the line table and the inlined calls at that place, and who receives the pointer.
 *
 * Inlined calls are walked from the innermost outwards, past what comes from the system's headers (the allocators of
 * C++ containers), to the first place in a file of the program's own.  Who receives the pointer, debug information does
 * not say; the source does, if it can be read (data_source.c), and debug information then has the type of what is
 * named there.  Without the source, a pointer variable of the function that is in the return value's register right
 * behind the call is the receiver.
 */
#include "debuginfo/debuginfo.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Files that come with compilers and libraries. */
static int is_system(const char *file)
{
    static const char *const folders[] = {
        "/usr/include/", "/usr/lib/", "/usr/lib64/", "/usr/local/include/", "/usr/local/lib/"};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (!strncmp(file, folders[i], strlen(folders[i])))
            return 1;
    return 0;
}

struct here {
    const char *file, *function;
    int line, column;
};

static int line_of(const struct peet__unit *unit, uint64_t pc, struct here *out)
{
    Dwarf_Die lines = unit->lines;
    Dwarf_Line *line = dwarf_getsrc_die(&lines, pc);

    if (!line || dwarf_lineno(line, &out->line) || !(out->file = dwarf_linesrc(line, NULL, NULL)))
        return 0;
    if (dwarf_linecol(line, &out->column))
        out->column = 0;
    return 1;
}

/** From where an inlined call was made. */
static int called_from(Dwarf_Die *inlined, struct here *out)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t nfiles;
    uint64_t file, line, column;

    if (!peet__die_number(inlined, DW_AT_call_file, &file) || !peet__die_number(inlined, DW_AT_call_line, &line) ||
        !dwarf_diecu(inlined, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &nfiles) || file >= nfiles)
        return 0;
    out->file = dwarf_filesrc(files, file, NULL, NULL);
    out->line = (int)line;
    out->column = peet__die_number(inlined, DW_AT_call_column, &column) ? (int)column : 0;
    return out->file != NULL;
}

static const char *function_name(struct peet_debuginfo *info, Dwarf_Die *die)
{
    char buffer[400];
    Dwarf_Die origin = *die, next;
    const char *name;

    for (int depth = 0; depth < 8 && peet__die_ref(&origin, DW_AT_abstract_origin, &next); depth++)
        origin = next;
    name = peet__die_qualified(info, &origin, buffer, sizeof buffer);
    return name ? peet__arena_string(info, name) : "";
}

/** The T of an allocator<T>::allocate() among the scopes. */
static const struct peet_type *allocator_type(struct peet_debuginfo *info, Dwarf_Die *die)
{
    Dwarf_Die origin = *die, next, child;
    const char *name = peet__die_name(die);
    struct peet__scope *s = NULL;
    struct peet__type_name *t = NULL;
    char class_name[400];
    uintptr_t key;
    size_t length;

    if (!name || strcmp(name, "allocate"))
        return NULL;
    for (int depth = 0; depth < 8 && peet__die_ref(&origin, DW_AT_abstract_origin, &next); depth++)
        origin = next;
    if (peet__die_ref(&origin, DW_AT_specification, &next))
        origin = next;
    key = (uintptr_t)origin.addr;
    HASH_FIND(hh, info->scopes, &key, sizeof key, s);
    if (!s || (length = strlen(s->prefix)) < 3 || length >= sizeof class_name)
        return NULL;
    memcpy(class_name, s->prefix, length - 2);
    class_name[length - 2] = 0;
    HASH_FIND_STR(info->type_names, class_name, t);
    if (!t || dwarf_child(&t->die, &child))
        return NULL;
    do
        if (dwarf_tag(&child) == DW_TAG_template_type_parameter)
            return peet__type_of_entry(info, &child);
    while (!dwarf_siblingof(&child, &child));
    return NULL;
}

/* ------------------------------------------------------------------------------------------- the receiver */

/** A variable of one of the unit's modules (Fortran). */
static const struct peet_type *module_type(struct peet_debuginfo *info, const struct peet__unit *unit, const char *name)
{
    Dwarf_Die at = unit->die, module, child;

    if (dwarf_child(&at, &module))
        return NULL;
    do {
        if (dwarf_tag(&module) != DW_TAG_module || dwarf_child(&module, &child))
            continue;
        do {
            const char *own = dwarf_tag(&child) == DW_TAG_variable ? peet__die_name(&child) : NULL;

            if (own && !strcmp(own, name))
                return peet__type_of_entry(info, &child);
        } while (!dwarf_siblingof(&child, &child));
    } while (!dwarf_siblingof(&module, &module));
    return NULL;
}

/** A variable by its name, from the innermost scope outwards. */
static const struct peet_type *variable_type(struct peet_debuginfo *info, const struct peet__unit *unit,
    Dwarf_Die *scopes, int nscopes, const char *name)
{
    for (int i = 0; i <= nscopes; i++) {
        Dwarf_Die child, at = i < nscopes ? scopes[i] : unit->die;

        if (dwarf_child(&at, &child))
            continue;
        do {
            int tag = dwarf_tag(&child);
            const char *own;

            if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter && tag != DW_TAG_member)
                continue;
            own = peet__die_name(&child);
            if (own && !strcmp(own, name)) {
                Dwarf_Die type;

                return peet__die_ref(&child, DW_AT_type, &type) ? peet__type_of(info, &type) : NULL;
            }
        } while (!dwarf_siblingof(&child, &child));
    }
    for (size_t i = 0; i < info->nvariables; i++)
        if (!strcmp(info->variables[i].name, name))
            return info->variables[i].type;
    return module_type(info, unit, name);
}

/** The member of `this` that a method names without saying so. */
static const struct peet_type *own_member(struct peet_debuginfo *info, const struct peet__unit *unit, Dwarf_Die *scopes,
    int nscopes, const char *name)
{
    const struct peet_type *type = peet_type_target(variable_type(info, unit, scopes, nscopes, "this"));
    size_t n;
    const struct peet_member *m = peet_type_members(type, &n);

    for (size_t i = 0; i < n; i++)
        if (!strcmp(m[i].name, name))
            return m[i].type;
    return NULL;
}

/** Follow "->next", "[]", ".a" from a type. */
static const struct peet_type *follow(const struct peet_type *type, const char *path)
{
    while (type && *path) {
        size_t length, n;
        const struct peet_member *m;
        const struct peet_type *found = NULL;

        if (*path == '[') {
            type = peet_type_target(type);
            path += strcspn(path, "]");
            path += *path == ']';
            continue;
        }
        if (!strncmp(path, "->", 2))
            type = type->kind == PEET_TYPE_POINTER ? peet_type_target(type) : type;
        path += *path == '.' ? 1 : 2;
        length = strcspn(path, ".[-");
        m = peet_type_members(type, &n);
        for (size_t i = 0; i < n; i++)
            if (strlen(m[i].name) == length && !strncmp(m[i].name, path, length))
                found = m[i].type;
        type = found;
        path += length;
    }
    return type;
}

static int says_nothing(const struct peet_type *type)
{
    return !type || !type->bytes || !strcmp(type->name, "char");
}

static void receive(struct peet_debuginfo *info, const struct peet__unit *unit, Dwarf_Die *scopes, int nscopes,
    const struct here *here, struct peet_site *out)
{
    struct peet__receiver r;
    const struct peet_type *type = NULL, *named;

    if (!peet__source_receiver(info, here->file, (unsigned)here->line, (unsigned)here->column, &r))
        return;
    out->name = peet__arena_string(info, r.name);
    named = *r.type ? peet_debuginfo_type(info, r.type) : NULL;
    if (*r.base && !r.container) {
        type = variable_type(info, unit, scopes, nscopes, r.base);
        if (!type)
            type = own_member(info, unit, scopes, nscopes, r.base);
        type = follow(type, r.members);
        if (r.dereference)
            type = peet_type_target(type);
        type = type && type->kind == PEET_TYPE_ARRAY ? peet_type_element(type) : peet_type_target(type);
    }
    if (!out->type)
        out->type = says_nothing(type) && named ? named : type && type->bytes ? type : named;
}

/** Without the source: a pointer that is in rax from right behind the call on. */
static void in_register(struct peet_debuginfo *info, Dwarf_Die *scopes, int nscopes, uint64_t pc, struct peet_site *out)
{
    enum { NEAR_BYTES = 24 }; /* what is recorded behind a call stands before what the program does */

    for (int i = 0; i < nscopes; i++) {
        Dwarf_Die child;

        if (dwarf_child(&scopes[i], &child))
            continue;
        do {
            Dwarf_Attribute attribute;
            Dwarf_Op *op;
            size_t n;
            const struct peet_type *type;
            const char *name;

            if (dwarf_tag(&child) != DW_TAG_variable || !dwarf_attr(&child, DW_AT_location, &attribute) ||
                !(name = peet__die_name(&child)))
                continue;
            for (uint64_t at = pc; at < pc + NEAR_BYTES; at++) {
                if (dwarf_getlocation_addr(&attribute, at, &op, &n, 1) != 1 || n != 1 || op->atom != DW_OP_reg0)
                    continue;
                type = peet__type_of_entry(info, &child);
                if (!type) {
                    Dwarf_Die origin;

                    type = peet__die_ref(&child, DW_AT_abstract_origin, &origin) ? peet__type_of_entry(info, &origin)
                                                                                 : NULL;
                }
                if (!type || type->kind != PEET_TYPE_POINTER)
                    break;
                out->name = peet__arena_string(info, name);
                out->type = peet_type_target(type);
                if (out->type && !out->type->bytes)
                    out->type = NULL;
                return;
            }
        } while (!dwarf_siblingof(&child, &child));
    }
}

/* ----------------------------------------------------------------------------------------------- the site */

/** The functions, inlined calls and blocks round a pc, as the code has them, innermost first.  Returns: how many */
static int scopes_of(Dwarf_Die *parent, uint64_t pc, Dwarf_Die *out, int depth)
{
    Dwarf_Die child;
    int n;

    if (depth > PEET__DEPTH_MAX || dwarf_child(parent, &child))
        return 0;
    do {
        switch (dwarf_tag(&child)) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
            if (dwarf_haspc(&child, pc) != 1)
                break;
            n = scopes_of(&child, pc, out, depth + 1);
            out[n] = child;
            return n + 1;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            n = scopes_of(&child, pc, out, depth + 1);
            if (n)
                return n;
        }
    } while (!dwarf_siblingof(&child, &child));
    return 0;
}

/** An instruction that stands for no line, or for several, as the compiler says: the last line before it in the function. */
static void line_before(const struct peet__unit *unit, Dwarf_Die *function, uint64_t pc, struct here *inout_here)
{
    enum { NEAR_BYTES = 256 };
    struct here here = *inout_here;

    for (uint64_t at = pc; !here.line && at > 0 && pc - at < NEAR_BYTES && dwarf_haspc(function, at) == 1; at--)
        if (!line_of(unit, at, &here))
            return;
    if (here.line)
        *inout_here = here;
}

size_t peet_debuginfo_frames(struct peet_debuginfo *info, uint64_t pc, struct peet_frame *out, size_t room)
{
    const struct peet__unit *unit;
    struct here here = {"", "", 0, 0};
    Dwarf_Die scopes[PEET__DEPTH_MAX + 2], die;
    size_t frames = 0;
    int n;

    peet__installed_read(info);
    unit = peet__unit_of_pc(info, pc);
    if (!unit || !line_of(unit, pc, &here))
        return 0;
    die = unit->die;
    n = scopes_of(&die, pc, scopes, 0);
    for (int i = 0; i < n && frames < room; i++) {
        const int tag = dwarf_tag(&scopes[i]);

        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        if (!frames)
            line_before(unit, &scopes[i], pc, &here);
        out[frames++] = (struct peet_frame){
            function_name(info, &scopes[i]), peet__arena_string(info, here.file), (uint32_t)here.line};
        if (tag == DW_TAG_subprogram || !called_from(&scopes[i], &here))
            return frames;
    }
    if (!frames && here.line && room) /* nothing but a line table */
        out[frames++] = (struct peet_frame){"", peet__arena_string(info, here.file), (uint32_t)here.line};
    return frames;
}

void peet_debuginfo_site(struct peet_debuginfo *info, uint64_t pc, peet_site_skip *skip, void *arg,
    struct peet_site *out)
{
    const struct peet__unit *unit = pc ? peet__unit_of_pc(info, pc - 1) : NULL;
    struct here here = {"", "", 0, 0};
    Dwarf_Die scopes[PEET__DEPTH_MAX + 2], die;
    int n, inner = 0, own = 0;

    *out = (struct peet_site){.function = "", .file = "", .name = ""};
    if (!unit || !line_of(unit, pc - 1, &here))
        return;
    die = unit->die;
    n = scopes_of(&die, pc - 1, scopes, 0);
    for (int i = 0; i < n && !own; i++) {
        int tag = dwarf_tag(&scopes[i]);

        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        if (!out->type)
            out->type = allocator_type(info, &scopes[i]);
        here.function = function_name(info, &scopes[i]);
        own = !(skip && skip(arg, here.function)) && !is_system(here.file);
        if (own || tag == DW_TAG_subprogram || !called_from(&scopes[i], &here))
            break;
        inner = i + 1;
    }
    out->own = (uint8_t)own;
    out->function = here.function;
    out->file = peet__arena_string(info, here.file);
    out->line = (uint32_t)here.line;
    if (own && n > inner) {
        int end = inner; /* names are looked up in the function itself, not in what it is inlined into */

        while (end < n && dwarf_tag(&scopes[end]) == DW_TAG_lexical_block)
            end++;
        end += end < n;
        receive(info, unit, scopes + inner, end - inner, &here, out);
        if (!*out->name && !out->type)
            in_register(info, scopes + inner, end - inner, pc, out);
    }
}
