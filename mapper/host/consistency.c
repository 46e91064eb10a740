/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's domains as the views of a consistency model; see host/consistency.h.
 */
#include "host/consistency.h"
#include "views/domain.h"
#include "host/report.h"
#include "modules/modhost.h"

#include <peet/consistency.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    struct peet_source *source;
    struct peet_modhost_module module;
    union peet_value *values;
} host;

static int view_read(void *arg, unsigned view, uint64_t address, void *bytes, size_t n)
{
    const struct iovec here = {bytes, n}, there = {(void *)(uintptr_t)address, n};

    (void)arg;
    if (peet_domains_count() < 2) { /* nobody knows what is mapped */
        const ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

        if (got >= 0 || errno == EFAULT)
            return got == (ssize_t)n ? 0 : PEET_EINVALID;
    }
    return peet_domain_read(view, address, bytes, n);
}

static int view_perform(void *arg, uint64_t to, uint64_t address, const void *bytes, size_t n)
{
    (void)arg;
    return peet_domain_perform(to, address, bytes, n);
}

static void view_stored(void *arg, unsigned view, uint64_t address, size_t n)
{
    (void)arg;
    peet_domain_stored(view, address, n);
}

static int view_shared(void *arg, uint64_t address)
{
    (void)arg;
    return peet_domain_class(address) == PEET_DOMAIN_SHARED;
}

static int view_concurrent(void *arg)
{
    (void)arg;
    return peet_source_concurrent(host.source);
}

static size_t view_commit(void *arg, unsigned view, uint64_t to)
{
    (void)arg;
    return peet_domain_commit(view, to, 0);
}

static void view_refresh(void *arg, unsigned view)
{
    (void)arg;
    peet_domain_refresh(view, 0, SIZE_MAX);
}

static int view_unseen(void *arg, const struct peet_block *caller, int called)
{
    (void)arg;
    return peet_host_explore_unseen(caller, called);
}

static const struct peet_map_views world = {
    view_read, view_perform, view_stored, view_shared, view_concurrent, view_commit, view_refresh, NULL, view_unseen};

int peet_host_explores(const struct peet_config *config)
{
    return config->explore || config->replay_token;
}

int peet_host_explains(const struct peet_config *config)
{
    return config->replay_token && (config->explain || strchr(config->replay_token, ','));
}

int peet_host_consistency(const struct peet_config *config, struct peet_map *map, struct peet_source *source,
    struct peet_error *error)
{
    const struct peet_config_module *given = &config->consistency;
    const int exploring = peet_host_explores(config);
    const char *why = NULL;
    int err;

    host.source = source;
    if (!given->module)
        return exploring ? peet_map_set_consistency(map, NULL, NULL, NULL, &world, 0, 1, error) : 0;
    err = peet_modhost_load("", given->path ? given->path : given->module, PEET_CONSISTENCY, &host.module, error);
    if (err)
        return err;
    host.values = calloc(peet_modhost_nparams(host.module.module) + 1, sizeof *host.values);
    if (!host.values)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    err = peet_modhost_values(host.module.module, given, host.values, error);
    if (err)
        return err;
    if (!peet_domains_compiled())
        return peet_error_set(error, PEET_EUNSUPPORTED,
            "%s: the program has one view of memory only; compile it with peetcc -fpeet-domains%s",
            host.module.module->name, config->consistency_sync ? "" : " -fpeet-granularity=ref");
    if (peet_map_nhw(map) > PEET_CONSISTENCY_PROCESSORS)
        return peet_error_set(error, PEET_ELIMIT, "%s: %u processors; there can be %d views of memory",
            host.module.module->name, peet_map_nhw(map), PEET_CONSISTENCY_PROCESSORS);
    err = peet_domains_begin(peet_map_nhw(map) + 1, config->consistency_sync ? 0 : PEET_DOMAINS_NOTED, &why);
    if (err)
        return peet_error_set(error, err, "%s: %s", host.module.module->name, why ? why : "no views of memory");
    err = peet_map_set_consistency(map, host.module.module, host.module.consistency, host.values, &world,
        config->consistency_sync, exploring, error);
    if (!err)
        peet_source_set_views(source, map);
    return err;
}
