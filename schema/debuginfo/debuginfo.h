/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What debuginfo.c, data_*.c share: the open file, its compilation units, and an arena for what is returned.
 * Internal to schema/.
 */
#ifndef PEET_DEBUGINFO_H
#define PEET_DEBUGINFO_H

#include "debuginfo/data.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <uthash.h>

/* Debug information nests types and scopes; damaged files may do so without end. */
#define PEET__DEPTH_MAX 48

struct peet__type {
    struct peet_type pub;
    struct peet_debuginfo *info;
    UT_hash_handle hh;
    uintptr_t key; /* where its entry stands in memory; 0: none */
    Dwarf_Die die;
    unsigned dimension; /* ARRAY: which of the entry's dimensions comes first */
    const struct peet__type *target;
    struct peet_member *members;
    size_t nmembers;
    uint8_t has_target, has_members;
};

/** Where a declaration stands: in which namespace or class. */
struct peet__scope {
    UT_hash_handle hh;
    uintptr_t key;
    const char *prefix;
};

/** A name that types go by. */
struct peet__type_name {
    UT_hash_handle hh;
    const char *name;
    Dwarf_Die die;
};

/** Code of a compilation unit. */
struct peet__unit_range {
    uint64_t lo, hi;
    uint32_t unit;
};

struct peet__unit {
    Dwarf_Die die;   /* the unit itself; of a split one what its own file says */
    Dwarf_Die lines; /* where its line table is: the skeleton of a split one */
    uint8_t cplusplus;
};

struct peet__source; /* a source file in memory, data_source.c */

struct peet__chunk {
    struct peet__chunk *next;
    size_t used, room;
    char bytes[];
};

/** A file that debug information is read from. */
struct peet__debug_file {
    Elf *elf;
    Dwarf *dwarf; /* NULL: none */
    void *memory; /* of elf, if not the file itself */
};

struct peet_debuginfo {
    int fd;
    struct peet__debug_file file, separate; /* as it is loaded; what was taken out of it, NULLs: nothing */
    char *installed;                        /* the path of separate, which is not read yet; or NULL */
    struct peet__chunk *chunks;
    struct peet__unit *units;
    size_t nunits;
    struct peet__unit_range *ranges; /* by lo */
    size_t nranges;
    struct peet__type *types;
    struct peet__scope *scopes;
    struct peet__type_name *type_names;
    struct peet_variable *variables;
    size_t nvariables, variables_room;
    struct peet_data_section *sections;
    size_t nsections;
    uint64_t tls_bytes, tls_align;
    struct peet__source *sources;
    int out_of_memory;
};

/* separate.c: a file without compression by zstd, @elf itself if it has none.  @out_memory: to be freed after it */
Elf *peet__elf_expand(Elf *elf, void **out_memory);

/* debuginfo.c */
void *peet__arena(struct peet_debuginfo *info, size_t bytes);
const char *peet__arena_string(struct peet_debuginfo *info, const char *text);
/** Installed debug information, if it is there and not read yet. */
void peet__installed_read(struct peet_debuginfo *info);
const struct peet__unit *peet__unit_of_pc(const struct peet_debuginfo *info, uint64_t pc);
/** An attribute's flag, string or reference; 0 or NULL if it is not there. */
const char *peet__die_name(Dwarf_Die *die);
int peet__die_flag(Dwarf_Die *die, unsigned attribute);
int peet__die_ref(Dwarf_Die *die, unsigned attribute, Dwarf_Die *out_die);
int peet__die_number(Dwarf_Die *die, unsigned attribute, uint64_t *out_number);
/** The name with the namespaces and classes round it, as far as known. */
const char *peet__die_qualified(const struct peet_debuginfo *info, Dwarf_Die *die, char *buffer, size_t room);
void peet__scope_add(struct peet_debuginfo *info, Dwarf_Die *die, const char *prefix);

/* data_types.c */
const struct peet_type *peet__type_of(struct peet_debuginfo *info, Dwarf_Die *die);
/** The type that an entry's DW_AT_type names; NULL: none. */
const struct peet_type *peet__type_of_entry(struct peet_debuginfo *info, Dwarf_Die *die);
void peet__type_name_add(struct peet_debuginfo *info, Dwarf_Die *die, const char *prefix);

/* data_variables.c */
int peet__variables_read(struct peet_debuginfo *info);
int peet__variable_add(struct peet_debuginfo *info, const struct peet_variable *variable);

/* data_symbols.c: sections, symbols that no variable covers */
int peet__symbols_read(struct peet_debuginfo *info);

/* data_sites.c, data_source.c */
struct peet__receiver {
    char name[160];      /* as written, with what stands in brackets left out */
    char base[64];       /* the variable that it begins with */
    char members[96];    /* what follows: "->next", "[]", ".a" */
    char type[96];       /* named by new T, by (T *) or by sizeof(T) */
    uint8_t declared;    /* it is declared there, with a type */
    uint8_t container;   /* a method is called on it: v.push_back() */
    uint8_t dereference; /* *name: the pointer's target receives it */
};
/** Who receives what the call at this place of a source file returns.  Returns: 1, 0: cannot say */
int peet__source_receiver(struct peet_debuginfo *info, const char *path, unsigned line, unsigned column,
    struct peet__receiver *out);
void peet__sources_free(struct peet_debuginfo *info);

#endif
