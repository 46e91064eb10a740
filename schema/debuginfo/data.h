/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an ELF file says of the data of its program: variables with static storage, their types and members, and
 * the places in the source where its code allocates.  From DWARF where the file has it (-g), else from the symbol
 * table.  Callers: the mapper's data service (mapper/data/data.c), the schema verb.  Who lives at which address at run
 * time is not known here: addresses are those of the file, to which the load bias is still to be added.
 *
 * LIFETIMES.  All that is returned lives until peet_debuginfo_free().  A damaged file gives fewer names, never a crash.
 */
#ifndef PEET_DATA_H
#define PEET_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <peet/error.h>

struct peet_debuginfo;

enum peet_type_kind { PEET_TYPE_SCALAR, PEET_TYPE_POINTER, PEET_TYPE_ARRAY, PEET_TYPE_STRUCT, PEET_TYPE_FUNCTION };

/** A type.  Members and targets come through functions, since they are read when first asked for. */
struct peet_type {
    const char *name; /* as C spells it: "struct node *", "double [4][8]" */
    uint64_t bytes;   /* 0: unknown, as of a void or of an array without bounds */
    uint64_t count;   /* ARRAY: elements of its first dimension, 0: unknown */
    uint8_t kind;     /* enum peet_type_kind */
};

/** A member of a struct, class or union; bit-fields are at the byte that they begin in. */
struct peet_member {
    const char *name; /* "": anonymous */
    uint64_t offset, bytes;
    const struct peet_type *type;
};

enum peet_variable_flags {
    PEET_VARIABLE_TLS = 1,    /* address is the offset in the file's thread-local block */
    PEET_VARIABLE_SYMBOL = 2, /* known from the symbol table alone: no type, no line */
    PEET_VARIABLE_COMMON = 4, /* a variable in a Fortran common block, whose name stands before the '%' */
};

/** A variable with static storage, whatever its scope. */
struct peet_variable {
    const char *name;     /* "grid", "ns::table", of a static in a function its own name alone */
    const char *function; /* whose static it is; "" */
    const char *file;     /* "" if unknown */
    uint32_t line, flags; /* enum peet_variable_flags */
    uint64_t address, bytes;
    const struct peet_type *type; /* NULL: unknown */
};

/** A section with data: what no variable covers belongs to it (literals, tables, what the compiler made). */
struct peet_data_section {
    const char *name;
    uint64_t address, bytes, free_bytes; /* of which no variable's */
};

/** A place in the source where code allocates. */
struct peet_site {
    const char *function; /* innermost source function at that place, inlined or not; "" if unknown */
    const char *file;     /* "" if unknown */
    uint32_t line;
    const char *name;             /* the variable that receives the pointer: "x->next", "rows[]"; "" if not found */
    const struct peet_type *type; /* of what it points to, NULL: unknown */
    uint8_t own;                  /* it is the program's own code, not a library's templates or inline functions */
};

/** Where the debug information of a file is that has none itself. */
enum peet_separate {
    PEET_SEPARATE_NONE,
    PEET_SEPARATE_BESIDE,   /* as .gnu_debuglink says, beside the file or in .debug there */
    PEET_SEPARATE_INSTALLED /* below PEET_DEBUG_DIR, /usr/lib/debug if not set, as packages have it */
};

/** peet_debuginfo_separate() - @out: the path of that file */
enum peet_separate peet_debuginfo_separate(const char *path, char *out, size_t room);

/**
 * peet_debuginfo_open() - read what an ELF file says, and its separate debug information; of such that is installed
 * only frames are taken, when they are first asked for: it is of libraries, large, and not on every computer
 * Returns: 0 (also for a file without any names), PEET_EIO, PEET_ENOTFOUND, PEET_EFORMAT, PEET_ENOMEM
 */
int peet_debuginfo_open(const char *path, struct peet_debuginfo **out_info, struct peet_error *error);
void peet_debuginfo_free(struct peet_debuginfo *info);

/** peet_debuginfo_variables() - in order of address, thread-local ones last; they do not overlap */
const struct peet_variable *peet_debuginfo_variables(const struct peet_debuginfo *info, size_t *out_n);
/** peet_debuginfo_sections() - in order of address */
const struct peet_data_section *peet_debuginfo_sections(const struct peet_debuginfo *info, size_t *out_n);
/** peet_debuginfo_typed() - does it have debug information, or only symbols? */
int peet_debuginfo_typed(const struct peet_debuginfo *info);
/** peet_debuginfo_tls_bytes() - the size of its thread-local block, and its alignment */
uint64_t peet_debuginfo_tls_bytes(const struct peet_debuginfo *info, uint64_t *out_align);

/** Does a function stand for its callers? */
typedef int peet_site_skip(void *arg, const char *function);

/**
 * peet_debuginfo_site() - the place of a call: the innermost in the program's own code that is not to be skipped
 * @pc: the address behind the call, in the file
 * @skip: may be NULL
 */
void peet_debuginfo_site(struct peet_debuginfo *info, uint64_t pc, peet_site_skip *skip, void *arg,
    struct peet_site *out_site);

/** A function of the source that an instruction belongs to. */
struct peet_frame {
    const char *function, *file; /* "" if unknown */
    uint32_t line;               /* of the instruction; of the call where another one is inlined; 0: unknown */
};

/**
 * peet_debuginfo_frames() - the function that holds an instruction, and before it those that are inlined there, innermost first
 * @pc: an address of the instruction, in the file
 * Returns: how many frames are in @out, @room at most; 0: debug information says nothing of the place
 */
size_t peet_debuginfo_frames(struct peet_debuginfo *info, uint64_t pc, struct peet_frame *out, size_t room);

/** peet_debuginfo_type() - a type by its name: "node", "struct node", "double", "unsigned *"; NULL: there is none */
const struct peet_type *peet_debuginfo_type(struct peet_debuginfo *info, const char *name);

/** peet_type_target() - of a POINTER or an ARRAY: what it points to, its element; NULL: unknown, or another kind */
const struct peet_type *peet_type_target(const struct peet_type *type);
/** peet_type_element() - the innermost element of arrays of arrays; the type itself if it is no array */
const struct peet_type *peet_type_element(const struct peet_type *type);
/** peet_type_members() - of a STRUCT, in order of declaration, bases of a class first */
const struct peet_member *peet_type_members(const struct peet_type *type, size_t *out_n);

/**
 * peet_type_at() - what lies at an offset of objects of a type, one behind the other
 * @out_name: "count", "[3].next", "[2][7]", "pos.x"; "" if nothing is known, or the type is a scalar and offset 0
 * Returns: the offset at which it begins; the offset itself if nothing is known
 */
uint64_t peet_type_at(const struct peet_type *type, uint64_t offset, int array, char *out_name, size_t room);

/** peet_demangle() - a C++ name for people; @name itself if it is none.  @buffer: room for the result */
const char *peet_demangle(const char *name, char *buffer, size_t room);

#endif
