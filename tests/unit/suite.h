/* SPDX-License-Identifier: Apache-2.0 */
/* What every test program here does in main(): one suite, named after the module, all its tests. */
#ifndef PEET_TEST_SUITE_H
#define PEET_TEST_SUITE_H

#include "share.h"

#include <CUnit/Basic.h>

struct suite_test {
    const char *name;
    void (*run)(void);
};

static inline int run_suite(const char *name, const struct suite_test *tests, int count)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite suite = CU_add_suite(name, NULL, NULL);
    for (int i = 0; suite && i < count; i++)
        CU_add_test(suite, tests[i].name, tests[i].run);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    int failed = !suite || CU_get_number_of_failures() != 0 || CU_get_number_of_tests_run() != (unsigned)count;
    CU_cleanup_registry();
    return failed;
}
#define RUN_SUITE(name, tests) run_suite(name, tests, (int)(sizeof(tests) / sizeof((tests)[0])))

#endif
