/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations: keys, what users lay over presets, what is refused, with which reason.
 */
#include "memrig.h"
#include "run_suite.h"

static void test_keys(void)
{
    struct x86_memory_config c;
    union peet_value values[X86_MEMORY_NPARAMS];

    x86_memory_config_default(&c);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "l2_bytes", 2 << 20, NULL), 0);
    CU_ASSERT_EQUAL(c.l2_bytes, 2 << 20);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "protocol", 0, "moesi"), 0);
    CU_ASSERT_EQUAL(c.protocol, X86_MOESI);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "l2_prefetch", 0, "none"), 0);
    CU_ASSERT_EQUAL(c.l2_prefetch, PEET_SIM_PREFETCH_NONE);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "l2_size", 1, NULL), -1);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "protocol", 0, "msi"), -2);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "protocol", 0, "preset"), -2);
    CU_ASSERT_EQUAL(x86_memory_config_key(&c, "protocol", 1, NULL), -2);

    /* zeros are the preset's */
    memset(values, 0, sizeof values);
    x86_memory_config_params(&c, values);
    CU_ASSERT_EQUAL(c.l2_bytes, 2 << 20);
    CU_ASSERT_EQUAL(c.protocol, X86_MOESI);
    values[X86_PARAM_l2_bytes].u64 = 512 << 10;
    values[X86_PARAM_protocol].u64 = 1 + X86_MESI;
    values[X86_PARAM_translation].u64 = 1;
    x86_memory_config_params(&c, values);
    CU_ASSERT_EQUAL(c.l2_bytes, 512 << 10);
    CU_ASSERT_EQUAL(c.protocol, X86_MESI);
    CU_ASSERT_EQUAL(c.translation, 0);
}

static void refused(const char *settings, const char *key, const char *reason)
{
    struct memrig rig;

    memrig_init(&rig);
    memrig_set(&rig, settings);
    CU_ASSERT(memrig_open(&rig, 4));
    if (!strstr(rig.failure, key) || !strstr(rig.failure, reason) || rig.failures != 1)
        printf("\n%s: '%s' (%u)\n", settings, rig.failure, rig.failures);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, key));
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.failure, reason));
    CU_ASSERT_EQUAL(rig.failures, 1);
    memrig_close(&rig);
}

static void test_refusals(void)
{
    refused("l1d_bytes=1000", "l1d_bytes=1000", "multiple");
    refused("l2_bytes=16384", "l2_bytes=16384", "l1d_bytes=32768");
    refused("line_bytes=48", "line_bytes=48", "power of two");
    refused("line_bytes=8", "line_bytes=8", "16 to 256");
    refused("l2_cycles=2", "l2_cycles=2", "l1d_cycles=5");
    refused("l3_cycles=10", "l3_cycles=10", "level before");
    refused("l3_ways=0", "l3_ways=0", "1 to 64");
    refused("page_bytes=8192", "page_bytes=8192", "2MiB");
    refused("dtlb_entries=10 dtlb_ways=4", "dtlb_entries=10", "multiple");
    refused("dram_channels=3", "dram_channels=3", "power of two");
    refused("dram_row_bytes=32", "dram_row_bytes=32", "line_bytes");
    refused("dram_refresh_cycles=30000", "dram_refresh_cycles=30000", "nothing else");
    refused("l1d_mshrs=0", "l1d_mshrs=0", "1 to 128");
    refused("directory=evict directory_pointers=0", "directory_pointers=0", "1 to 14");
    refused("flit_bytes=0", "flit_bytes=0", "1 to");
}

int main(void)
{
    CU_TestInfo tests[] = {{"keys", test_keys}, {"refusals", test_refusals}, CU_TEST_INFO_NULL};

    return run_suite("x86: configuration of the memory", tests);
}
