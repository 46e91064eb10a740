/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coherence protocols, a table each.  Sources are cited at each table; where a paper leaves a choice, or
 * where Archibald and Baer, "Cache Coherence Protocols: Evaluation Using a Multiprocessor Simulation Model",
 * ACM TOCS 4(4), 1986 (below: A&B) is clearer than the original, the comment says so.
 *
 * A row that is absent is zero: for processor rows that never occurs; for snoop rows it means "to state INVALID,
 * nothing sent", so that rows which cannot happen are marked BUS_NEVER explicitly.  OP_WRITE_BACK by another cache
 * is possible only for a line that the writer owns: other copies stay as they are.
 */
#include "protocol.h"

enum { READ = 0, WRITE = 1 }; /* columns of processor[][] */
enum { I = BUS_INVALID };

/* clang-format off */

/* Goodman, "Using Cache Memory to Reduce Processor-Memory Traffic", ISCA 1983.  Write misses as in A&B: the line is
 * fetched to own, without the write-through. */
static const struct bus_protocol write_once = {
    .name = "write-once",
    .source = "Goodman 1983",
#define V 1 /* valid: memory is up to date, others may have it */
#define R 2 /* reserved: written once, through to memory; the only copy */
#define D 3 /* dirty: written more than once; the only copy */
    .nstates = 4,
    .states = {{"invalid", 0}, {"valid", 0}, {"reserved", BUS_ONLY}, {"dirty", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, V, V, 0}, [WRITE] = {OP_READX, D, D, 0}},
            [V] = {[READ] = {OP_NONE, V, V, 0}, [WRITE] = {OP_WRITE, R, R, 0}},
            [R] = {[READ] = {OP_NONE, R, R, 0}, [WRITE] = {OP_NONE, D, D, 0}},
            [D] = {[READ] = {OP_NONE, D, D, 0}, [WRITE] = {OP_NONE, D, D, 0}},
        },
    .snoop =
        {
            [V] = {[OP_READ] = {V, 0},
                [OP_READX] = {I, 0},
                [OP_WRITE] = {I, 0},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {V, BUS_NEVER}},
            [R] = {[OP_READ] = {V, 0},
                [OP_READX] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {R, BUS_NEVER}},
            [D] = {[OP_READ] = {V, BUS_SUPPLY | BUS_REFLECT},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {D, BUS_NEVER}},
        },
};
#undef V
#undef R
#undef D

/* Frank, "Tightly Coupled Multiprocessor System Speeds Memory-Access Times", Electronics, January 1984; as told by A&B:
 * no invalidation signal (a write to a valid line is a full write miss), and no transfer between caches: an owner
 * refuses the request, writes back and invalidates, and the requester asks memory again. */
static const struct bus_protocol synapse = {
    .name = "synapse",
    .source = "Frank 1984",
#define V 1 /* valid: memory is up to date */
#define D 2 /* dirty: the only copy */
    .nstates = 3,
    .states = {{"invalid", 0}, {"valid", 0}, {"dirty", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, V, V, 0}, [WRITE] = {OP_READX, D, D, 0}},
            [V] = {[READ] = {OP_NONE, V, V, 0}, [WRITE] = {OP_READX, D, D, 0}},
            [D] = {[READ] = {OP_NONE, D, D, 0}, [WRITE] = {OP_NONE, D, D, 0}},
        },
    .snoop =
        {
            [V] = {[OP_READ] = {V, 0},
                [OP_READX] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {V, BUS_NEVER}},
            [D] = {[OP_READ] = {I, BUS_REFUSE},
                [OP_READX] = {I, BUS_REFUSE},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {D, BUS_NEVER}},
        },
};
#undef V
#undef D

/* Katz, Eggers, Wood, Perkins, Sheldon, "Implementing a Cache Consistency Protocol", ISCA 1985 (SPUR).  The owner
 * supplies, memory is not updated by the transfer.  "Write for invalidation" is OP_INVALIDATE. */
static const struct bus_protocol berkeley = {
    .name = "berkeley",
    .source = "Katz et al. 1985",
#define U 1 /* unowned: valid, somebody else (memory or a cache) answers for it */
#define N 2 /* owned non-exclusively: dirty, others may have it */
#define E 3 /* owned exclusively: dirty, the only copy */
    .nstates = 4,
    .states = {{"invalid", 0}, {"unowned", 0}, {"owned non-exclusively", BUS_DIRTY},
        {"owned exclusively", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, U, U, 0}, [WRITE] = {OP_READX, E, E, 0}},
            [U] = {[READ] = {OP_NONE, U, U, 0}, [WRITE] = {OP_INVALIDATE, E, E, 0}},
            [N] = {[READ] = {OP_NONE, N, N, 0}, [WRITE] = {OP_INVALIDATE, E, E, 0}},
            [E] = {[READ] = {OP_NONE, E, E, 0}, [WRITE] = {OP_NONE, E, E, 0}},
        },
    .snoop =
        {
            [U] = {[OP_READ] = {U, 0},
                [OP_READX] = {I, 0},
                [OP_INVALIDATE] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {U, 0}},
            [N] = {[OP_READ] = {N, BUS_SUPPLY},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {N, BUS_NEVER}},
            [E] = {[OP_READ] = {N, BUS_SUPPLY},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {E, BUS_NEVER}},
        },
};
#undef U
#undef N
#undef E

/* Papamarcos and Patel, "A Low-Overhead Coherence Solution for Multiprocessors with Private Cache Memories", ISCA 1984;
 * later known as MESI.  Every cache that has the line offers it, the one with the lowest number is heard; a modified
 * line is written to memory while it is sent to a reader. */
static const struct bus_protocol illinois = {
    .name = "illinois",
    .source = "Papamarcos and Patel 1984",
#define S 1 /* shared, unmodified */
#define E 2 /* exclusive, unmodified */
#define M 3 /* exclusive, modified */
    .nstates = 4,
    .states = {{"invalid", 0}, {"shared", 0}, {"exclusive", BUS_ONLY}, {"modified", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, E, S, 0}, [WRITE] = {OP_READX, M, M, 0}},
            [S] = {[READ] = {OP_NONE, S, S, 0}, [WRITE] = {OP_INVALIDATE, M, M, 0}},
            [E] = {[READ] = {OP_NONE, E, E, 0}, [WRITE] = {OP_NONE, M, M, 0}},
            [M] = {[READ] = {OP_NONE, M, M, 0}, [WRITE] = {OP_NONE, M, M, 0}},
        },
    .snoop =
        {
            [S] = {[OP_READ] = {S, BUS_SUPPLY},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {S, BUS_NEVER}},
            [E] = {[OP_READ] = {S, BUS_SUPPLY},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {E, BUS_NEVER}},
            [M] = {[OP_READ] = {S, BUS_SUPPLY | BUS_REFLECT},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {M, BUS_NEVER}},
        },
};
#undef S
#undef E
#undef M

/* The three-state invalidation protocol of Culler and Singh, "Parallel Computer Architecture", 1999, 5.3.1, with the
 * address-only upgrade (BusUpgr) that they describe; memory supplies clean lines. */
static const struct bus_protocol msi = {
    .name = "msi",
    .source = "Culler and Singh 1999, 5.3.1",
#define S 1
#define M 2
    .nstates = 3,
    .states = {{"invalid", 0}, {"shared", 0}, {"modified", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, S, S, 0}, [WRITE] = {OP_READX, M, M, 0}},
            [S] = {[READ] = {OP_NONE, S, S, 0}, [WRITE] = {OP_INVALIDATE, M, M, 0}},
            [M] = {[READ] = {OP_NONE, M, M, 0}, [WRITE] = {OP_NONE, M, M, 0}},
        },
    .snoop =
        {
            [S] = {[OP_READ] = {S, 0},
                [OP_READX] = {I, 0},
                [OP_INVALIDATE] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {S, BUS_NEVER}},
            [M] = {[OP_READ] = {S, BUS_SUPPLY | BUS_REFLECT},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {M, BUS_NEVER}},
        },
};
#undef S
#undef M

/* Sweazey and Smith, "A Class of Compatible Cache Consistency Protocols and their Support by the IEEE Futurebus", ISCA
 * 1986: the preferred copy-back entries, with invalidation where the class leaves broadcast as a choice.  Only owners
 * (M, O) intervene; memory answers for E and S. */
static const struct bus_protocol moesi = {
    .name = "moesi",
    .source = "Sweazey and Smith 1986",
#define S 1
#define E 2
#define O 3
#define M 4
    .nstates = 5,
    .states = {{"invalid", 0}, {"shared", 0}, {"exclusive", BUS_ONLY}, {"owned", BUS_DIRTY},
        {"modified", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, E, S, 0}, [WRITE] = {OP_READX, M, M, 0}},
            [S] = {[READ] = {OP_NONE, S, S, 0}, [WRITE] = {OP_INVALIDATE, M, M, 0}},
            [E] = {[READ] = {OP_NONE, E, E, 0}, [WRITE] = {OP_NONE, M, M, 0}},
            [O] = {[READ] = {OP_NONE, O, O, 0}, [WRITE] = {OP_INVALIDATE, M, M, 0}},
            [M] = {[READ] = {OP_NONE, M, M, 0}, [WRITE] = {OP_NONE, M, M, 0}},
        },
    .snoop =
        {
            [S] = {[OP_READ] = {S, 0},
                [OP_READX] = {I, 0},
                [OP_INVALIDATE] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {S, 0}},
            [E] = {[OP_READ] = {S, 0},
                [OP_READX] = {I, 0},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {E, BUS_NEVER}},
            [O] = {[OP_READ] = {O, BUS_SUPPLY},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, 0},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {O, BUS_NEVER}},
            [M] = {[OP_READ] = {O, BUS_SUPPLY},
                [OP_READX] = {I, BUS_SUPPLY},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {M, BUS_NEVER}},
        },
};
#undef S
#undef E
#undef O
#undef M

/* Thacker, Stewart, Satterthwaite, "Firefly: A Multiprocessor Workstation", ASPLOS 1987 and IEEE ToC 37(8), 1988. Never
 * invalidates: writes to shared lines go through to memory and into the other copies; the shared wire tells when the
 * last other copy is gone.  A write miss is a read miss and then a write (A&B). */
static const struct bus_protocol firefly = {
    .name = "firefly",
    .source = "Thacker et al. 1987",
#define S 1 /* shared, memory is up to date */
#define E 2 /* valid, exclusive */
#define D 3 /* dirty, exclusive */
    .nstates = 4,
    .states = {{"invalid", 0}, {"shared", 0}, {"exclusive", BUS_ONLY}, {"dirty", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, E, S, 0}, [WRITE] = {OP_READ, E, S, 1}},
            [S] = {[READ] = {OP_NONE, S, S, 0}, [WRITE] = {OP_WRITE, E, S, 0}},
            [E] = {[READ] = {OP_NONE, E, E, 0}, [WRITE] = {OP_NONE, D, D, 0}},
            [D] = {[READ] = {OP_NONE, D, D, 0}, [WRITE] = {OP_NONE, D, D, 0}},
        },
    .snoop =
        {
            [S] = {[OP_READ] = {S, BUS_SUPPLY},
                [OP_WRITE] = {S, BUS_TAKE},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {S, BUS_NEVER}},
            [E] = {[OP_READ] = {S, BUS_SUPPLY},
                [OP_WRITE] = {S, BUS_NEVER},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {E, BUS_NEVER}},
            [D] = {[OP_READ] = {S, BUS_SUPPLY | BUS_REFLECT},
                [OP_WRITE] = {S, BUS_NEVER},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_UPDATE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {D, BUS_NEVER}},
        },
};
#undef S
#undef E
#undef D

/* McCreight, "The Dragon Computer System: An Early Overview", Xerox PARC, 1984; states and actions as in A&B.  Never
 * invalidates; memory is not written by updates, the last writer answers for the line. */
static const struct bus_protocol dragon = {
    .name = "dragon",
    .source = "McCreight 1984",
#define C 1 /* shared clean: somebody else answers for it */
#define E 2 /* valid exclusive */
#define O 3 /* shared dirty: this cache wrote last and answers for it */
#define D 4 /* dirty, exclusive */
    .nstates = 5,
    .states = {{"invalid", 0}, {"shared clean", 0}, {"exclusive", BUS_ONLY}, {"shared dirty", BUS_DIRTY},
        {"dirty", BUS_ONLY | BUS_DIRTY}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, E, C, 0}, [WRITE] = {OP_READ, E, C, 1}},
            [C] = {[READ] = {OP_NONE, C, C, 0}, [WRITE] = {OP_UPDATE, D, O, 0}},
            [E] = {[READ] = {OP_NONE, E, E, 0}, [WRITE] = {OP_NONE, D, D, 0}},
            [O] = {[READ] = {OP_NONE, O, O, 0}, [WRITE] = {OP_UPDATE, D, O, 0}},
            [D] = {[READ] = {OP_NONE, D, D, 0}, [WRITE] = {OP_NONE, D, D, 0}},
        },
    .snoop =
        {
            [C] = {[OP_READ] = {C, 0},
                [OP_UPDATE] = {C, BUS_TAKE},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {C, 0}},
            [E] = {[OP_READ] = {C, 0},
                [OP_UPDATE] = {C, BUS_NEVER},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {E, BUS_NEVER}},
            [O] = {[OP_READ] = {O, BUS_SUPPLY},
                [OP_UPDATE] = {C, BUS_TAKE},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {O, BUS_NEVER}},
            [D] = {[OP_READ] = {O, BUS_SUPPLY},
                [OP_UPDATE] = {C, BUS_NEVER},
                [OP_READX] = {I, BUS_NEVER},
                [OP_INVALIDATE] = {I, BUS_NEVER},
                [OP_WRITE] = {I, BUS_NEVER},
                [OP_WRITE_BACK] = {D, BUS_NEVER}},
        },
};
#undef C
#undef E
#undef O
#undef D

/* Write-through with invalidation, the scheme that A&B hold the others against ("write-through with write invalidate"):
 * memory is always up to date.  Two tables: a write miss goes past the cache, or brings the line in first. */
#define V 1
#define THROUGH_SNOOP \
    [V] = {[OP_READ] = {V, 0}, \
        [OP_WRITE] = {I, 0}, \
        [OP_READX] = {I, BUS_NEVER}, \
        [OP_INVALIDATE] = {I, BUS_NEVER}, \
        [OP_UPDATE] = {I, BUS_NEVER}, \
        [OP_WRITE_BACK] = {V, BUS_NEVER}},
static const struct bus_protocol through = {
    .name = "through",
    .source = "Archibald and Baer 1986, write-through; no allocation on write misses",
    .nstates = 2,
    .states = {{"invalid", 0}, {"valid", 0}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, V, V, 0}, [WRITE] = {OP_WRITE, I, I, 0}},
            [V] = {[READ] = {OP_NONE, V, V, 0}, [WRITE] = {OP_WRITE, V, V, 0}},
        },
    .snoop = {THROUGH_SNOOP},
};
static const struct bus_protocol through_allocating = {
    .name = "through",
    .source = "Archibald and Baer 1986, write-through; allocation on write misses",
    .nstates = 2,
    .states = {{"invalid", 0}, {"valid", 0}},
    .processor =
        {
            [I] = {[READ] = {OP_READ, V, V, 0}, [WRITE] = {OP_READ, V, V, 1}},
            [V] = {[READ] = {OP_NONE, V, V, 0}, [WRITE] = {OP_WRITE, V, V, 0}},
        },
    .snoop = {THROUGH_SNOOP},
};
#undef V

/* clang-format on */

const struct bus_protocol *peet__bus_protocol(enum bus_protocol_id id, int allocate)
{
    switch (id) {
    case PROTOCOL_WRITE_ONCE:
        return &write_once;
    case PROTOCOL_SYNAPSE:
        return &synapse;
    case PROTOCOL_BERKELEY:
        return &berkeley;
    case PROTOCOL_ILLINOIS:
    case PROTOCOL_MESI:
        return &illinois;
    case PROTOCOL_MSI:
        return &msi;
    case PROTOCOL_MOESI:
        return &moesi;
    case PROTOCOL_FIREFLY:
        return &firefly;
    case PROTOCOL_DRAGON:
        return &dragon;
    case PROTOCOL_THROUGH:
        return allocate ? &through_allocating : &through;
    case PROTOCOLS:
        break;
    }
    return 0;
}
