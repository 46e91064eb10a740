/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control interface of consistency models: when is a store performed, in which order, and to whom?  A model is a
 * module of the kind PEET_CONSISTENCY: a shared object that exports `peet_module` (name, parameters, create(), stats()
 * ..., see module.h) and beside it `peet_consistency`, the operations below.  It works beside any machine:
 *
 *     peetcc -fpeet-domains -fpeet-granularity=ref -o prog prog.c
 *     peet run --machine bus --cores 4 --consistency ./mine.so,key=value -- prog
 *
 * VIEWS.  Each processor (hardware context) has a view of the one memory.  View 0 is main memory, view p + 1 that of
 * processor p; sets of views are masks, bit v for view v.  A store enters its processor's own view at once, by itself,
 * because the processor really executes it there; loads read their processor's view.  Everything else is the model's:
 * it is told of each store, and performs it, that is writes its bytes to main memory and to other processors' views,
 * when and in which order it likes.
 *
 * INTERACTION.  `ref`: the model is told of each reference to shared memory (stores; what a load reads has been decided
 * by then by what the view holds).  `sync`: processors run on without it between synchronisations; then synchronise()
 * is called, and the model says what becomes visible by env->commit() and env->refresh().  References that are provably
 * private to a stack never reach the model.
 *
 * ORDER.  order() comes before what it orders: before a fence, a locked instruction, an access with a C11 order, a
 * synchronisation.  When it returns, what the ordering asks for has happened.  The processor's own locked store follows
 * as a store() with PEET_STORE_LOCKED, and must be performed for everybody at once.
 *
 * EXPLORATION.  A model that offers moves() can be explored: the explorer then decides what is performed next, and
 * store() must leave everything to it that the model does not force.  Identities of moves must be the same whatever
 * other processors have done meanwhile.  The explorer leaves out executions that differ only in the order of steps that
 * do not depend on each other.  It knows what steps read and write in views; whatever else makes the order of two steps
 * matter, or one of them wait for the other, the model says by env->depends().
 *
 * CHANGES
 *   1  first version; depends() at the end of the services, PEET_ORDERING_SEEN beside PEET_ORDERING_RELEASE,
 *      PEET_ORDERING_LOAD beside PEET_ORDERING_FULL
 */
#ifndef PEET_CONSISTENCY_H
#define PEET_CONSISTENCY_H

#include <peet/module.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEET_CONSISTENCY_ABI 1
#define PEET_CONSISTENCY_PROCESSORS 63

/** What a point in the program orders, a mask. */
enum peet_ordering {
    PEET_ORDERING_ACQUIRE = 1, /* what follows sees all that was performed before */
    PEET_ORDERING_RELEASE = 2, /* all stores before are performed */
    PEET_ORDERING_STORES = 4,  /* stores before are performed before stores after (sfence) */
    /* both, for everybody: mfence, locked instructions, sequentially consistent operations */
    PEET_ORDERING_FULL = 8,
    /* all stores before are seen by everybody; what this processor sees may wait: it creates a thread, or ends one */
    PEET_ORDERING_SEEN = 32,
    /* a release store follows, which will say so itself (PEET_STORE_RELEASE): nothing needs to wait yet */
    PEET_ORDERING_BEFORE_STORE = 16,
    /* beside FULL: a sequentially consistent load.  Where the stores of that kind are locked operations, as x86's are,
     * no more is needed than for an acquire */
    PEET_ORDERING_LOAD = 64,
};

enum peet_store_flags {
    PEET_STORE_LOCKED = 1,  /* part of a locked read-modify-write; order(FULL) came before */
    PEET_STORE_RELEASE = 2, /* no store before it may be performed after it */
};

/** A store to shared memory, of at most 64 bytes; larger ones come in pieces. */
struct peet_store {
    uint64_t address;
    uint32_t size_bytes;
    uint32_t flags;       /* enum peet_store_flags */
    const uint8_t *bytes; /* as the processor's view has them now; until the callback returns */
};

enum peet_move_kind {
    PEET_MOVE_PERFORM, /* a store goes to main memory and is seen by everybody */
    PEET_MOVE_SEE,     /* a processor sees another one's store, which is in main memory already */
    PEET_MOVE_MEMORY,  /* a store goes to main memory; others see it by moves of their own */
};

/** Something that a model may do next. */
struct peet_move {
    uint32_t processor; /* whose it is: that whose store goes to main memory, or that whose view sees it */
    uint32_t kind;      /* enum peet_move_kind */
    uint64_t id;
    uint64_t address; /* what it writes */
    uint32_t size_bytes;
};

/** How a step uses a thing of the model's own. */
enum peet_dependence {
    PEET_DEPENDS_READ,    /* steps that read it may change places ... */
    PEET_DEPENDS_WRITE,   /* ... with one that writes it no step may that reads or writes it */
    PEET_DEPENDS_ENABLES, /* said by the earlier step; of the later one: */
    /* it is not possible before those that enable it: a store leaves its buffer after the one before it */
    PEET_DEPENDS_NEEDS,
    PEET_DEPENDS_WAITS, /* it has to wait for those that enable it, and would not if what made them necessary had come
                           later: a fence waits for what stands in a queue, and nothing stands there if the stores come
                           after the fence */
};

/** Services, valid until destroy(). */
struct peet_views {
    uint32_t abi, struct_size;
    uint32_t processors;
    uint32_t exploring; /* moves are the explorer's to make */
    /** read() - what a view holds */
    void (*read)(const struct peet_views *, unsigned view, uint64_t address, void *bytes, size_t n);
    /** perform() - write to the views of a mask; views that are not in it keep what they hold */
    void (*perform)(const struct peet_views *, uint64_t to, uint64_t address, const void *bytes, size_t n);
    /** commit() - interaction `sync`: all stores of a processor since its last commit go to main memory and to the
     * views of a mask. Returns: how many bytes */
    size_t (*commit)(const struct peet_views *, unsigned processor, uint64_t to);
    /** refresh() - interaction `sync`: a processor sees main memory; commit() first, or its own stores are lost */
    void (*refresh)(const struct peet_views *, unsigned processor);
    void *host;
    /** depends() - exploration: the step under way uses the model's things @first to @first + n - 1, numbers below 2^62
     * of its own choice;
     *  @how: enum peet_dependence.  Inside store(), order() and move() */
    void (*depends)(const struct peet_views *, uint64_t first, uint64_t n, unsigned how);
    uint32_t sync; /* interaction is at synchronisations only */
};

struct peet_consistency {
    uint32_t abi;         /* PEET_CONSISTENCY_ABI */
    uint32_t struct_size; /* sizeof(struct peet_consistency) */
    /** begin() - after the module's create(), before the first event.  Returns: 0, or -1 after env->fail() */
    int (*begin)(void *self, const struct peet_views *views);
    /** store() - a store of a processor has entered its own view */
    void (*store)(void *self, unsigned processor, const struct peet_store *store, uint64_t now);
    /** order() - @ordering: mask of enum peet_ordering */
    void (*order)(void *self, unsigned processor, unsigned ordering, uint64_t now);
    /** step() - a processor is about to go on at this time; what is due by then can be performed.  Interaction `sync`:
     * it has run for a while since its last synchronisation; commit() and refresh() as in synchronise() */
    void (*step)(void *self, unsigned processor, uint64_t now);
    /** synchronise() - interaction `sync`, in place of store() and order() */
    void (*synchronise)(void *self, unsigned processor, unsigned ordering, uint64_t now);
    /** moves() - what could be done now.  Returns: how many; the first @room of them are written.  NULL: cannot be
     * explored */
    unsigned (*moves)(void *self, struct peet_move *out_moves, unsigned room);
    /** move() - do one that moves() has named */
    void (*move)(void *self, const struct peet_move *move);
    /** waits() - would order() have to perform something first?  The explorer then makes moves before it */
    int (*waits)(void *self, unsigned processor, unsigned ordering);
};

/** Every module of the kind PEET_CONSISTENCY exports this beside peet_module. */
extern const struct peet_consistency peet_consistency;

#ifdef __cplusplus
}
#endif
#endif
