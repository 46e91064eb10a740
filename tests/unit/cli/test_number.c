/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them. */
#include "number.h"
#include "suite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char text[PEET_CLI_NUMBER_BYTES];

static void test_grouped(void)
{
    CU_ASSERT_STRING_EQUAL(peet_cli_grouped(text, 0), "0");
    CU_ASSERT_STRING_EQUAL(peet_cli_grouped(text, 999), "999");
    CU_ASSERT_STRING_EQUAL(peet_cli_grouped(text, 1000), "1,000");
    CU_ASSERT_STRING_EQUAL(peet_cli_grouped(text, UINT64_MAX), "18,446,744,073,709,551,615");
    /* Without its commas it is the number again, and commas stand every three places from the right. */
    for (uint64_t value = 1; value < UINT64_MAX / 7; value *= 7) {
        char digits[PEET_CLI_NUMBER_BYTES];
        size_t put = 0, length = strlen(peet_cli_grouped(text, value));
        for (size_t i = 0; i < length; i++) {
            CU_ASSERT_EQUAL(text[i] == ',', (length - i) % 4 == 0);
            if (text[i] != ',')
                digits[put++] = text[i];
        }
        digits[put] = '\0';
        CU_ASSERT_EQUAL(strtoull(digits, NULL, 10), value);
    }
}

static void test_short(void)
{
    CU_ASSERT_STRING_EQUAL(peet_cli_short(text, 0), "0");
    CU_ASSERT_STRING_EQUAL(peet_cli_short(text, 999), "999");
    CU_ASSERT_STRING_EQUAL(peet_cli_short(text, 1000), "1.0 k");
    CU_ASSERT_STRING_EQUAL(peet_cli_short(text, 999960), "1.0 M");
    CU_ASSERT_STRING_EQUAL(peet_cli_short(text, 12345678), "12.3 M");
    CU_ASSERT(strlen(peet_cli_short(text, 1e300)) < PEET_CLI_NUMBER_BYTES);
}

static void test_size(void)
{
    CU_ASSERT_STRING_EQUAL(peet_cli_size(text, 0), "0");
    CU_ASSERT_STRING_EQUAL(peet_cli_size(text, 1023), "1023");
    CU_ASSERT_STRING_EQUAL(peet_cli_size(text, 1024), "1KiB");
    CU_ASSERT_STRING_EQUAL(peet_cli_size(text, 1536), "1536");
    CU_ASSERT_STRING_EQUAL(peet_cli_size(text, 131072), "128KiB");
    CU_ASSERT_STRING_EQUAL(peet_cli_size(text, UINT64_C(1) << 60), "1EiB");
}

int main(void)
{
    static const struct suite_test tests[] = {
        {"grouped", test_grouped},
        {"short", test_short},
        {"size", test_size},
    };
    return RUN_SUITE("number", tests);
}
