/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the comparison tools need of an ELF file: symbols, sections, and the names behind GOT slots.
 * Tools only: errors end the program with a message.
 */
#ifndef PEET_TESTS_ELFSYMS_H
#define PEET_TESTS_ELFSYMS_H

#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
    char *name;
    uint64_t value, size;
    unsigned type; /* STT_FUNC, STT_OBJECT, STT_TLS, ... */
    unsigned section;
    int alias_of; /* index of the first symbol, in name order, with the same address and type; its own if none */
};

struct elf_section {
    char *name;
    uint64_t address, size;
};

struct elf_slot { /* a word that the dynamic loader fills */
    uint64_t address;
    char *name;
};

struct elf_file {
    char *path;
    int is_pie;
    struct elf_symbol *symbols; /* by value, then name */
    unsigned nsymbols;
    struct elf_section *sections; /* allocated ones, by address */
    unsigned nsections;
    struct elf_slot *slots; /* by address */
    unsigned nslots;
};

/** Reads a file; ends the program with a message if that fails. */
struct elf_file *elf_file_open(const char *path);

/** The function symbol that covers an address, or NULL */
const struct elf_symbol *elf_function_at(const struct elf_file *elf, uint64_t address);

/** The canonical name among the aliases of a function name; the name itself if the file does not define it */
const char *elf_canonical(const struct elf_file *elf, const char *name);

/** The only function of this name; NULL if there is none or more than one (out_count tells) */
const struct elf_symbol *elf_function_named(const struct elf_file *elf, const char *name, unsigned *out_count);

/**
 * What an address of the image is called, independently of its layout: symbol+offset, the symbol behind
 * a GOT slot, or section+offset.  Returns 0 if the address lies in no allocated section.
 */
int elf_name_address(const struct elf_file *elf, uint64_t address, char *out, size_t out_bytes);

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
