/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files domain*.c share, and what the rest of the runtime tells them: of memory that comes and goes, of
 * contexts that are resumed, of code that sees main memory alone.  All of main memory that views have lies in one
 * memory file, each page at the offset that is its address: main memory maps it shared, a view maps it privately at
 * address + offset(d), and the kernel gives the view a page of its own when it first stores to it.
 */
#ifndef PEET_DOMAIN_INTERNAL_H
#define PEET_DOMAIN_INTERNAL_H

#include "views/domain.h"
#include "internal.h"

/** Memory of which there are views: [lo, hi), ordered by address in peet__domains.regions. */
struct peet__region {
    uint64_t lo, hi;
    uint8_t class; /* enum peet_domain_class */
    uint8_t prot;  /* of main memory's mapping */
    uint8_t file;  /* the subject's own shared mapping of a file: not in our memory file */
};

/** A page of shared memory that is a copy in some view, or is watched. */
struct peet__page {
    uint64_t address;
    uint64_t copies;  /* views that have copies */
    uint64_t based;   /* ... whose copy must be compared with base[d], not with main memory */
    uint8_t *watched; /* what main memory held when code outside began, or NULL */
    uint8_t *base[];  /* by domain */
};

struct peet__domains {
    unsigned count; /* 0 or 1: there are no views */
    unsigned flags;
    int fd;
    int64_t offset[PEET_DOMAINS_MAX];
    uint64_t all; /* mask of the views other than main memory */
    uint64_t ran; /* domains whose contexts have run since their copies were last asked for */
    struct peet__region *regions;
    unsigned nregions, regions_room;
    struct peet_domain_statistics statistics[PEET_DOMAINS_MAX];
};
extern struct peet__domains peet__domains;

static inline int peet__domains_on(void)
{
    return __builtin_expect(peet__domains.count > 1, 0);
}

/* ----------------------------------------------------------------------------------- for the runtime's other files */

/** Before the host is loaded: what the process has mapped by then is the subject's. */
void peet__domains_note_process(void);

/**
 * Fresh anonymous memory of the subject's, mapped at a fixed place by the caller: gets views.
 * Returns: 0, or -1 with errno
 */
int peet__domain_added(uint64_t lo, uint64_t hi, int prot, enum peet_domain_class class);
/** A mapping of the subject's own, as it asked for it (map.c). */
int peet__domain_mapped(uint64_t lo, uint64_t hi, int prot, int flags, int fd, int64_t offset);
void peet__domain_unmapped(uint64_t lo, uint64_t hi);
void peet__domain_protected(uint64_t lo, uint64_t hi, int prot);
/** Its contents are not needed any more: zeros, as after MADV_DONTNEED.  Returns: 0 if so */
int peet__domain_discard(uint64_t lo, uint64_t hi);
/** It becomes a stack: one and the same in all views. */
void peet__domain_alias(uint64_t lo, uint64_t hi);
/** Objects that the subject has loaded get views. */
void peet__domains_rescan(void);

/** From now on everything is in main memory: a forked child. */
void peet__domains_end(void);

/** Around a turn of a context, in the host's world. */
void peet__domain_enter(struct peet_ctx *ctx);
void peet__domain_left(struct peet_ctx *ctx);
/** Code of ours has stored to main memory: views' copies get it. */
void peet__domain_stored_outside(uint64_t address, size_t n);
/** An address that a fault reports, in main memory. */
uint64_t peet__domain_primary(uint64_t address);

/* -------------------------------------------------------------------------------------------- between domain*.c */

const struct peet__region *peet__region_of(uint64_t address);
struct dl_phdr_info;
/** Whether an object was compiled with -fpeet-domains. */
int peet__object_is_viewed(const struct dl_phdr_info *info);
/** Whether views have room for this address of main memory; also what a null pointer with an offset is. */
int peet__in_view(uint64_t address);
/** A memory file; < 0: the kernel has none. */
int peet__domain_file(void);
static inline uint8_t *peet__view(unsigned domain, uint64_t address)
{
    return (uint8_t *)(address + (uint64_t)peet__domains.offset[domain]);
}

/** Memory of our own, from the kernel: 0 or a page-aligned zeroed piece. */
void *peet__domain_memory(size_t bytes);
void peet__domain_memory_free(void *memory, size_t bytes);

struct peet__page *peet__page_find(uint64_t address);
/** The same, new if need be; NULL: out of memory, which ends the run. */
struct peet__page *peet__page_get(uint64_t address);
/** Pages in order of address; valid until the next one comes.  Only those that are copies in `mask`. */
struct peet__page **peet__pages_sorted(uint64_t mask, size_t *out_n);
/** Views' copies of this page, what the kernel has copied since included. */
void peet__pages_catch_up(uint64_t domains);
void peet__page_copy(struct peet__page *page, unsigned domain); /* make it one */
void peet__page_drop(struct peet__page *page, unsigned domain); /* it becomes an alias again */
/* its copy is to be compared with what main memory holds now */
void peet__page_base(struct peet__page *page, unsigned domain);
/* they are unmapped, or aliases in all views already */
void peet__pages_forget(uint64_t lo, uint64_t hi);
void peet__pages_watch(void);
size_t peet__pages_watched(void); /* what has changed goes to all copies */
int peet__pages_are_watched(void);
/** What is open belongs to the parent of this process. */
void peet__pages_new_process(void);
typedef void peet__pages_found(uint64_t lo, uint64_t hi, void *self);
/** Calls @found for each range of pages in [lo, hi) that the kernel has made private to the process of @fd, an open
 * /proc/PID/pagemap: copies of pages of a file, and pages without a file. */
void peet__pages_private(int fd, uint64_t lo, uint64_t hi, peet__pages_found *found, void *self);
/** Each page that there is a record of. */
void peet__pages_each(void (*each)(struct peet__page *page, void *self), void *self);

#endif
