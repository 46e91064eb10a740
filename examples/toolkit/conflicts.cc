/* SPDX-License-Identifier: Apache-2.0 */
/* A module in C++: how many misses of a cache would a fully associative one of the same size have had, too, and how long are the lines in it
 * before they come again?  Two parts of the toolkit.
 *   c++ -std=c++20 -shared -fPIC -O2 -I$PREFIX/include -o conflicts.so conflicts.cc -L$PREFIX/lib -lpeet-toolkit
 *   peet run --observe ./conflicts.so,size=32KiB,ways=8 -- ./shallow */
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <peet/module.h>
#include <peet/toolkit/shadow.h>
#include <peet/toolkit/tags.h>

namespace {

class Conflicts {
public:
    Conflicts(uint64_t lines, uint32_t ways)
    {
        if (peet_sim_shadow_init(&shadow, static_cast<uint32_t>(lines)) || peet_sim_tags_init(&tags, lines / ways, ways, PEET_SIM_LRU, 1))
            throw std::bad_alloc();
    }
    Conflicts(const Conflicts &) = delete;
    ~Conflicts()
    {
        peet_sim_tags_fini(&tags);
        peet_sim_shadow_fini(&shadow);
    }

    void reference(uint64_t line)
    {
        const bool known = seen[line]++ > 0;
        const bool close = peet_sim_shadow_use(&shadow, line);
        if (const uint64_t slot = peet_sim_tags_find(&tags, line); slot != PEET_SIM_NO_SLOT) {
            peet_sim_tags_touch(&tags, slot);
            return;
        }
        peet_sim_tags_fill(&tags, peet_sim_tags_victim(&tags, line), line, 1);
        (!known ? cold : close ? conflict : capacity)++;
    }

    uint64_t cold = 0, capacity = 0, conflict = 0;

private:
    peet_sim_shadow shadow{};
    peet_sim_tags tags{};
    std::unordered_map<uint64_t, uint64_t> seen;
};

/* An exception must not leave a module: peet is C. */
void *create(const peet_env *env, const peet_value *values)
try {
    if (values[0].u64 / 64 < values[1].u64)
        throw std::invalid_argument("size: less than a set");
    return std::make_unique<Conflicts>(values[0].u64 / 64, static_cast<uint32_t>(values[1].u64)).release();
} catch (const std::exception &e) {
    env->fail(env, "%s", e.what());
    return nullptr;
}

void destroy(void *self)
{
    delete static_cast<Conflicts *>(self);
}

uint64_t block(void *self, unsigned, const peet_block_event *event, uint64_t)
{
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (auto it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += static_cast<uint64_t>(it.step))
            static_cast<Conflicts *>(self)->reference(it.address / 64);
    return 0;
}

void stats(void *self, const peet_env *env, peet_stats *node)
{
    const auto &c = *static_cast<Conflicts *>(self);
    env->stats_u64(env, node, "cold_misses", c.cold);
    env->stats_u64(env, node, "capacity_misses", c.capacity);
    env->stats_u64(env, node, "conflict_misses", c.conflict);
}

const peet_param params[] = {
    {"size", PEET_PARAM_SIZE, "bytes", "32KiB", "64..1GiB", "size of the cache"}, {"ways", PEET_PARAM_U64, "", "8", "1..64", "its ways"}, {}};

struct peet_module describe()
{
    struct peet_module m{};
    m.abi = PEET_MODULE_ABI;
    m.struct_size = sizeof m;
    m.name = "conflicts";
    m.summary = "misses that full associativity would save";
    m.kind = PEET_OBSERVER;
    m.needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES;
    m.params = params;
    m.create = create;
    m.destroy = destroy;
    m.block = block;
    m.stats = stats;
    return m;
}

} // namespace

const struct peet_module peet_module = describe();
