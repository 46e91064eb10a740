/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Consistency domains: several views of the subject's one memory inside the one process.  Domain 0 is main memory.  In
 * a subject compiled with -fpeet-domains every reference that is not provably to the private stack adds the base of gs,
 * which is the offset of the running context's domain: view d of the byte at address a lies at a + offset(d).
 *
 * A *page* of shared memory (globals of recorded code, heap, mappings) is in view d either an alias of main memory's,
 * or, from the first store of a context of domain d to it (or the first peet_domain_write()) on, a copy of its own,
 * which no longer follows main memory; until it is dropped.  Stacks, thread-local storage, arguments, and the data of
 * libraries that were not recorded are aliases in every view for ever.  Addresses are main memory's ("primary")
 * everywhere: in events, and in this interface.
 *
 * Callers: host world only (machines through the mapper's services, the mapper itself); in the subject's, world_*.c
 * and hooks.c mark where code runs that sees main memory alone.  What a model makes of it is not decided here: no
 * function below moves a byte from one view to another unless it says so.
 */
#ifndef PEET_DOMAIN_H
#define PEET_DOMAIN_H

#include <stddef.h>
#include <stdint.h>

#define PEET_DOMAIN_MAIN 0
#define PEET_DOMAINS_MAX 64 /* main memory included: sets of domains are 64-bit masks, bit d for domain d */

struct peet_ctx;

/* ------------------------------------------------------------------------------------------ views and contexts */

enum peet_domain_flags {
    /** The caller says of every store of the subject that it has been made (peet_domain_stored()), and the machine's
     *  interaction is at each reference: which pages are copies is then known without asking the kernel. */
    PEET_DOMAINS_NOTED = 1,
};

/** Was the running subject's executable compiled with -fpeet-domains?  If not, all contexts see main memory whatever
 * their domain. */
int peet_domains_compiled(void);

/**
 * peet_domains_begin() - make n views (main memory included); before the first context is resumed
 * @out_why: on failure, a sentence that says what stands in the way
 * Returns: 0, PEET_EINVALID (n is 0 or beyond PEET_DOMAINS_MAX, or there are views already), PEET_EUNSUPPORTED
 * (the program was not compiled for it), PEET_ENOMEM (no room in the address space)
 */
int peet_domains_begin(unsigned n, unsigned flags, const char **out_why);
/** How many there are; 1 before peet_domains_begin(). */
unsigned peet_domains_count(void);

/** From its next resume on, the context's references go to this view.  Every context begins in domain 0. */
void peet_ctx_set_domain(struct peet_ctx *ctx, unsigned domain);
unsigned peet_ctx_domain(const struct peet_ctx *ctx);

/* --------------------------------------------------------------------------------------------------- memory */

enum peet_domain_class {
    PEET_DOMAIN_NONE, /* not mapped, or not mapped in the views: faults */
    /* the same in all views: stacks, thread-local storage, libraries that were not recorded, constants */
    PEET_DOMAIN_ALIAS,
    PEET_DOMAIN_SHARED, /* views may differ */
};
/** Of the byte at this address. */
enum peet_domain_class peet_domain_class(uint64_t address);

/**
 * peet_domain_read() - n bytes as domain d sees them
 * peet_domain_write() - n bytes of view d alone.  Of domain 0: of main memory, and so of every view whose page is an
 *   alias.  Of another domain: the pages become copies of its own.  Aliased memory is written for all.
 * Either returns 0, or PEET_EINVALID (nothing is done) if some byte is not mapped or, for a write, not writable.
 */
int peet_domain_read(unsigned domain, uint64_t address, void *bytes, size_t n);
int peet_domain_write(unsigned domain, uint64_t address, const void *bytes, size_t n);

/**
 * peet_domain_perform() - n bytes become what these domains see at `address`
 * @to: mask; without bit 0, main memory keeps its bytes and each of the others gets a copy of the page.  With bit 0:
 *   a view that is not in the mask and whose page is an alias gets a copy first, so that it keeps the bytes it had.
 * Returns: 0 or PEET_EINVALID as above
 */
int peet_domain_perform(uint64_t to, uint64_t address, const void *bytes, size_t n);

/** peet_domain_stored() - PEET_DOMAINS_NOTED: a context of this domain has stored to [address, address + n): what pages
 * are copies now */
void peet_domain_stored(unsigned domain, uint64_t address, size_t n);
/** peet_domain_copied() - mask of the domains whose page that holds this address is a copy */
uint64_t peet_domain_copied(uint64_t address);

/**
 * peet_domain_refresh() - view d forgets all differences in [address, address + n): it sees main memory's bytes
 * Whole pages within the range become aliases again; bytes at its ends are copied.  n = SIZE_MAX, address 0: all of the
 * view.
 */
void peet_domain_refresh(unsigned domain, uint64_t address, size_t n);

/** peet_domain_tidy() - pages of view d that equal main memory's become aliases again.  Returns: how many */
size_t peet_domain_tidy(unsigned domain);

/* ----------------------------------------------------------- differences: interaction at synchronisation only */

/** Bytes of a view that differ from what it was given: in order of addresses, never across a page's end. */
typedef void peet_domain_difference(void *self, unsigned domain, uint64_t address, const void *bytes, size_t n);

/**
 * peet_domain_diff() - what contexts of domain d have stored since its pages were copied (or since the last commit of
 * the domain) A byte that was stored with the value that it had is not seen.  The callback must not change the view; it
 * may perform to other domains. Returns: how many bytes
 */
size_t peet_domain_diff(unsigned domain, peet_domain_difference *each, void *self);

/**
 * peet_domain_commit() - these stores are performed: they go to main memory and to the views in `to`; a view that is
 *   neither in the mask nor an alias of the page, and the domain's own, keep their bytes
 * @hide: mask of views that must not see them even where their page is an alias (it becomes a copy)
 * The domain's page then counts as unchanged.  Returns: how many bytes
 */
size_t peet_domain_commit(unsigned domain, uint64_t to, uint64_t hide);

/* ---------------------------------------------------------------- code that sees main memory alone (outside) */

/*
 * Libraries that were not recorded, the C library, system calls and inline assembly see main memory.  Before a context
 * of a domain other than 0 runs such code, the runtime yields the abstract event VIEW_LEAVE {enum peet_view_why,
 * address}, performed when it is delivered, as all events are, so that it stands behind the stores before it.  The
 * machine, when it gets VIEW_LEAVE, performs what the domain has pending; peet_domain_leave() follows by itself when
 * the context is resumed, and peet_domain_return() each time that it suspends until the code is over.
 */
enum peet_view_why {
    PEET_VIEW_CALL, /* a call of code that was not recorded; address: the callee */
    PEET_VIEW_ASM,  /* inline assembly that references memory; address: of the code behind the hook */
};

/** peet_ctx_outside() - is this context in such code?  Recorded code that it calls back (comparisons of qsort(),
 * constructors of libraries) goes to main memory itself meanwhile: its stores are performed already, for everybody. */
int peet_ctx_outside(const struct peet_ctx *ctx);

/** peet_domain_leave() - the view becomes main memory's (peet_domain_refresh of all of it), and main memory's pages of
 * which other views have copies are watched for what the code is going to store */
void peet_domain_leave(unsigned domain);
/** peet_domain_return() - what the code has stored becomes visible in every view.  Returns: how many bytes were */
size_t peet_domain_return(unsigned domain);

/* ------------------------------------------------------------------------------- forks of the whole simulation */

/**
 * peet_domains_fork() - fork the process so that parent and child share no page of any view
 * @fork_it: makes the child; its result is as that of fork()
 *
 * In the child all views get pages of their own, with the contents that they have, before anything of the subject runs
 * and while the parent waits.  For forks by the host (explorations) and by the subject; called on the host's side.
 * Returns: as fork()
 */
int64_t peet_domains_fork(int64_t (*fork_it)(void));

/* ------------------------------------------------------------------------------------------------ statistics */

struct peet_domain_statistics {
    uint64_t copied_pages; /* pages that are copies now */
    uint64_t copied_bytes;
    uint64_t pages_dropped; /* became aliases again */
    uint64_t performed_bytes;
    uint64_t outside;      /* how often code ran that sees main memory alone */
    uint64_t mapped_bytes; /* shared memory of which there are views */
};
/** Of one domain, or of all together: PEET_DOMAINS_MAX. */
void peet_domain_statistics(unsigned domain, struct peet_domain_statistics *out);

#endif
