// SPDX-License-Identifier: Apache-2.0
// The table of instruction costs of all processors, written when peet is built.  Called by: pass.cpp.
#ifndef PEET_COSTTABLE_H
#define PEET_COSTTABLE_H

#include <string>

namespace peet {

// Writes the file; false and a reason if it cannot.
bool writeCosts(const char *path, std::string &why);

} // namespace peet
#endif
