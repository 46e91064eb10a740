/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules that the module host must refuse, by one definition each; VARIANT_GOOD is to be accepted.
 */
#include <peet/module.h>

static const struct peet_param params[] = {
    {"lines", PEET_PARAM_U64, "lines", "4", "1..64", "how many"},
    {"capacity", PEET_PARAM_SIZE, "bytes", "32KiB", "1KiB..1MiB", "how big"},
    {"ratio", PEET_PARAM_F64, "", "0.5", "0..1", "how much"},
    {"eager", PEET_PARAM_BOOL, "", "off", "", "whether"},
#ifdef VARIANT_BAD_DEFAULT
    {"kind", PEET_PARAM_ENUM, "", "mru", "lru|fifo|random", "which"},
#else
    {"kind", PEET_PARAM_ENUM, "", "lru", "lru|fifo|random", "which"},
#endif
    {"title", PEET_PARAM_STRING, "", "none", "", "what"},
    {0},
};

static int instance;
static void *create(const struct peet_env *env, const union peet_value *values)
{
    (void)env;
    (void)values;
    return &instance;
}
static void destroy(void *self)
{
    (void)self;
}

#if defined VARIANT_DIRECT || defined VARIANT_OBSERVED
#include <peet/direct.h>
#endif
#ifdef VARIANT_DIRECT
static const struct peet_direct direct = {.abi = PEET_DIRECT_ABI, .struct_size = sizeof direct - 8};
#endif
#ifdef VARIANT_OBSERVED
static const struct peet_direct_observer observed = {.abi = PEET_DIRECT_ABI + 1, .struct_size = sizeof observed};
#endif

const struct peet_module peet_module = {
#if defined VARIANT_OLD_ABI
    .abi = PEET_MODULE_ABI_MIN - 1,
#elif defined VARIANT_NEW_ABI
    .abi = PEET_MODULE_ABI + 1,
#else
    .abi = PEET_MODULE_ABI,
#endif
#ifdef VARIANT_SHORT
    .struct_size = sizeof(struct peet_module) - 8,
#else
    .struct_size = sizeof(struct peet_module),
#endif
#ifdef VARIANT_NO_NAME
    .name = "",
#else
    .name = "good",
#endif
    .summary = "a module for tests",
    .kind = PEET_OBSERVER,
#ifdef VARIANT_NO_BLOCK
    .needs = PEET_NEEDS_BLOCKS,
#endif
#ifdef VARIANT_DIRECT
    .direct = &direct,
#endif
#ifdef VARIANT_OBSERVED
    .observed = &observed,
#endif
    .params = params,
    .create = create,
    .destroy = destroy,
};
