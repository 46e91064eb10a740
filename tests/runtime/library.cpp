// SPDX-License-Identifier: Apache-2.0
// A shared library of the subject's with a constructor and a static destructor that record themselves:
// they run before there is a host, and after main.
#include "imitation.h"
#include <cstdio>

namespace {
struct counted {
    counted()
    {
        for (unsigned i = 0; i < 50000; i++) {
            record(i);
            check();
        }
    }
    ~counted()
    {
        for (unsigned i = 0; i < 70000; i++) {
            record(i);
            check();
        }
        std::puts("static destructor of a library");
    }
} instance;
}

extern "C" int library_function();
extern "C" int library_function()
{
    record(1);
    check();
    return 5;
}
