/* SPDX-License-Identifier: Apache-2.0 */
/* main() of a test executable: one suite. */
#ifndef PEET_TEST_RUN_SUITE_H
#define PEET_TEST_RUN_SUITE_H

#include "share.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

static inline int run_suite(const char *name, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{name, NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    int failed = CU_get_number_of_failures() != 0;
    CU_cleanup_registry();
    return failed;
}

#endif
