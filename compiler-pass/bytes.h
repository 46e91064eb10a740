// SPDX-License-Identifier: Apache-2.0
// Numbers and strings as bytes, for the schema (emit.cpp) and the table of costs (costtable.cpp).
#ifndef PEET_BYTES_H
#define PEET_BYTES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace peet {

struct Bytes {
    std::string s;
    void u(uint64_t v) // ULEB128
    {
        do {
            uint8_t b = v & 0x7f;
            v >>= 7;
            s.push_back(v ? b | 0x80 : b);
        } while (v);
    }
    void i(int64_t v)
    {
        u((uint64_t)v << 1 ^ (uint64_t)(v >> 63));
    } // zigzag
    void str(llvm::StringRef t)
    {
        u(t.size());
        s.append(t.begin(), t.end());
    }
};

} // namespace peet
#endif
