/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations that must be refused, with a message that names the parameter; and ones that must not. */
#include <string.h>
#include "rig.h"
#include "run_suite.h"

static void refused(const char *k1, const char *v1, const char *k2, const char *v2, const char *says)
{
    struct rig rig;
    CU_ASSERT_EQUAL(rig_open(&rig, 4, 1, k1, v1, k2, v2, NULL), -1);
    CU_ASSERT_EQUAL(rig.failures, 1);
    if (!strstr(rig.failure, says))
        printf("message: %s\n", rig.failure);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, says));
    rig_close(&rig);
}

static void accepted(const char *k1, const char *v1, const char *k2, const char *v2)
{
    struct rig rig;
    CU_ASSERT_EQUAL(rig_open(&rig, 4, 1, k1, v1, k2, v2, NULL), 0);
    rig_close(&rig);
}

static void test_refused(void)
{
    refused("cache", "1000", "line", "16", "cache=1000: not a multiple of the line size");
    refused("cache", "16", "line", "32", "cache=16: not a multiple");
    refused("line", "24", "cache", "4KiB", "line=24: not a power of two");
    refused("line", "2", "cache", "4KiB", "line");
    refused("line", "8KiB", "cache", "1MiB", "line");
    refused("cache", "1KiB", "ways", "7", "ways=7");
    refused("cache", "1KiB", "ways", "64", "ways=64");
    refused("replacement", "plru", "ways", "0", "replacement=plru");
}

static void test_refused_combinations(void)
{
    refused("protocol", "berkeley", "write", "through", "write=through");
    refused("protocol", "through", "write", "back", "write=back");
    refused("protocol", "dragon", "allocate", "no", "allocate=no");
    refused("protocol", "moosi", "ways", "1", "protocol=moosi");
    refused("cpi", "-1", "ways", "1", "cpi");
    refused("bus_width_bytes", "0", "ways", "1", "bus_width_bytes");
    refused("window_cycles", "0", "ways", "1", "window_cycles");
}

static void test_accepted(void)
{
    accepted("ways", "3", "cache", "3KiB");
    accepted("bus_address_cycles", "0", "memory_latency_cycles", "0");
    accepted("cache", "48KiB", "ways", "12");
    accepted("ways", "0", "replacement", "random");
    accepted("protocol", "through", "write", "through");
    accepted("protocol", "through", "allocate", "yes");
    accepted("protocol", "msi", "write", "back");
    accepted("protocol", "msi", "allocate", "yes");
    accepted("line", "4096", "ways", "1");
    accepted("ways", "1", "cache", "32");
}

static void test_descriptor(void)
{
    CU_ASSERT_EQUAL(peet_module.abi, PEET_MODULE_ABI);
    CU_ASSERT_EQUAL(peet_module.struct_size, sizeof(struct peet_module));
    CU_ASSERT_STRING_EQUAL(peet_module.name, "bus");
    CU_ASSERT_EQUAL(peet_module.kind, PEET_MACHINE);
}

int main(void)
{
    CU_TestInfo tests[] = {{"refused", test_refused}, {"refused combinations", test_refused_combinations},
        {"accepted", test_accepted}, {"descriptor", test_descriptor}, CU_TEST_INFO_NULL};
    return run_suite("bus: configurations", tests);
}
