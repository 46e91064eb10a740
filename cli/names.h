/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions, as people read them in tables and pictures.  Results have the names of the symbols. */
#ifndef PEET_CLI_NAMES_H
#define PEET_CLI_NAMES_H

#include <stddef.h>
#include <jansson.h>

/** Room for most names. */
enum { PEET_CLI_NAME = 1000 };

/**
 * peet_cli_name() - what a symbol is called in C++, short: without the type of the result, "std::" for its inline
 * namespaces, long template arguments as "...", as in "std::map<...>::operator[](std::basic_string<char, ...>&&)"
 * @symbol: returned itself if it is no C++ name, or if its name does not fit
 * @buffer: room for the result
 */
const char *peet_cli_name(const char *symbol, char *buffer, size_t room);

/**
 * peet_cli_names_in() - a text with what its symbols are called in C++: "f (file.cpp:12)" holds one, f
 * @text: returned itself if there is none in it, or if the result does not fit
 * @buffer: room for the result
 */
const char *peet_cli_names_in(const char *text, char *buffer, size_t room);

/** peet_cli_name_all() - the same for all texts below a JSON value, in place */
void peet_cli_name_all(json_t *value);

#endif
