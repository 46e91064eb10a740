// SPDX-License-Identifier: Apache-2.0
// The doall forms compiled as C++: all three must give the same sum.
#include <peet/doall.h>
#include <peet/roi.h>

extern "C" int cxx_sum(long lo, long hi);

extern "C" int cxx_sum(long lo, long hi)
{
    long sum = 0;
    peet_doall(lo, hi, PEET_DOALL_STATIC, 0, [](long i, void *arg) { *static_cast<long *>(arg) += i; }, &sum);
    PEET_DOALL(i, lo, hi)
    {
        sum += i;
    }
    PEET_FORK_DOALL_WITH(lo, hi, PEET_DOALL_DYNAMIC, 4);
    for (long i = lo; i < hi; i++) {
        PEET_START_DOALL_ITER(i);
        sum += i;
        PEET_FINISH_DOALL_ITER(i);
    }
    PEET_JOIN_DOALL();
    return static_cast<int>(sum);
}
