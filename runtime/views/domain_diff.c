/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences of a view from what it was given: for models in which contexts meet the machine at synchronisation only.
 * A page of a view is compared with its base: what main memory held when the view last had the same contents.  As long
 * as main memory's page has not changed since, that is main memory itself (domain_pages.c makes a base before it
 * changes the page).
 */
#include "views/domain_internal.h"

#include <string.h>

static size_t diff_page(const struct peet__page *page, unsigned domain, peet_domain_difference *each, void *self)
{
    const uint8_t *now = peet__view(domain, page->address);
    const uint8_t *base = page->based >> domain & 1 ? page->base[domain] : (const uint8_t *)page->address;
    uint8_t run[PEET__PAGE]; /* the base may be what the callback changes */
    size_t bytes = 0, begin = 0, length = 0;
    for (size_t i = 0; i < PEET__PAGE; i++) {
        if (length == 0 && i % 8 == 0 && memcmp(now + i, base + i, 8) == 0) {
            i += 7;
            continue;
        }
        if (now[i] != base[i]) {
            if (length == 0)
                begin = i;
            run[length++] = now[i];
        } else if (length) {
            each(self, domain, page->address + begin, run, length);
            bytes += length;
            length = 0;
        }
    }
    if (length)
        each(self, domain, page->address + begin, run, length);
    return bytes + length;
}

PUBLIC size_t peet_domain_diff(unsigned domain, peet_domain_difference *each, void *self)
{
    size_t n, bytes = 0;
    if (domain == PEET_DOMAIN_MAIN || domain >= peet_domains_count())
        return 0;
    peet__pages_catch_up(1ul << domain);
    struct peet__page **pages = peet__pages_sorted(1ul << domain, &n);
    /* the callback may add pages, and so move the table: but not these records */
    struct peet__page *few[64], **mine = few;
    const size_t room = n * sizeof *mine;
    if (n > 64)
        mine = peet__domain_memory(room);
    memcpy(mine, pages, room);
    for (size_t i = 0; i < n; i++)
        bytes += diff_page(mine[i], domain, each, self);
    if (mine != few)
        peet__domain_memory_free(mine, room);
    return bytes;
}

struct commit {
    uint64_t to, hide;
};

static void perform(void *self, unsigned domain, uint64_t address, const void *bytes, size_t n)
{
    const struct commit *c = self;
    const struct peet__page *page = peet__page_find(address);
    uint64_t aliases = peet__domains.all & ~page->copies & ~c->hide;
    peet_domain_perform(1 | 1ul << domain | (c->to & ~c->hide) | aliases, address, bytes, n);
}

PUBLIC size_t peet_domain_commit(unsigned domain, uint64_t to, uint64_t hide)
{
    struct commit c = {to, hide & ~(1ul << domain)};
    return peet_domain_diff(domain, perform, &c);
}
