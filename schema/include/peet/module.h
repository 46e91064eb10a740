/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module ABI: all that a simulator needs to know of peet.  A module is a shared object that
 * exports one `const struct peet_module peet_module`.  Exactly one *machine* owns time in a run; any
 * number of *observers* look on.  A module links with nothing: services come through struct peet_env.
 *
 *     cc -shared -fPIC -O2 -I<prefix>/include -o mine.so mine.c
 *     peet run --machine ./mine.so,key=value -- prog
 *
 * LIFETIMES.  struct peet_function, peet_block, peet_insn, peet_opcode live until destroy().  An event
 * and its values live until the callback that got it returns (pull form: until the next pull).
 * Callbacks are never concurrent.
 *
 * CHANGES
 *   1  first version
 *   2  memory reports, data structures, processors' costs, blocks taken by peet itself (all at the ends of their
 *      structs)
 *   3  the machine's frequency, notes to the user, times apart (at the end of struct peet_env)
 */
#ifndef PEET_MODULE_H
#define PEET_MODULE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEET_MODULE_ABI 3
#define PEET_MODULE_ABI_MIN 2

/* ---------------------------------------------------------------- the program, as the schema says it */

enum peet_insn_class {
    PEET_INSN_OTHER,
    PEET_INSN_MOVE,
    PEET_INSN_INT,
    PEET_INSN_INT_MUL,
    PEET_INSN_INT_DIV,
    PEET_INSN_FP_ADD,
    PEET_INSN_FP_MUL,
    PEET_INSN_FP_DIV,
    PEET_INSN_FP_OTHER,
    PEET_INSN_SIMD,
    PEET_INSN_BRANCH, /* conditional */
    PEET_INSN_JUMP,   /* unconditional, direct or indirect */
    PEET_INSN_CALL,
    PEET_INSN_RETURN,
    PEET_INSN_FENCE,
    PEET_INSN_ATOMIC, /* lock-prefixed, xchg with memory */
    PEET_INSN_STRING, /* rep-prefixed or single string operation */
    PEET_INSN_NOP,    /* alignment padding that executes, nop, endbr */
    PEET_INSN_ASM,    /* inline assembly: opaque */
    PEET_INSN_CLASSES
};

/** One kind of instruction; costs from LLVM's scheduling model for the -mcpu of the compilation. */
struct peet_opcode {
    const char *name;                 /* LLVM opcode name: ADD64rm */
    const char *mnemonic;             /* add */
    uint32_t latency_cycles;          /* 0 if unknown */
    uint32_t rthroughput_millicycles; /* reciprocal throughput, thousandths of a cycle; 0 if unknown */
    uint32_t uops;
    uint64_t ports; /* processor resources used, a bit each, in the model's order */
    uint8_t klass;  /* enum peet_insn_class */
    /* what else of its operands costs depend on, for env->cost(), as of enum peet_variant; opcodes of one name may differ in it */
    uint16_t variant;
};

/** What costs depend on beside the name: an immediate's low byte, or the shape of the address of an instruction that only
 *  computes it; and more. 0 where it does not matter. */
enum peet_variant {
    PEET_VARIANT_IMM = 0xff,
    PEET_VARIANT_BASE = 0x3,      /* of an address: 0 none, 1 a register, 2 rbp or r13, 3 rip */
    PEET_VARIANT_INDEX = 0x4,     /* ... it has one */
    PEET_VARIANT_SCALE_SHIFT = 3, /* ... log2 of the scale, two bits */
    PEET_VARIANT_DISP_SHIFT = 5,  /* ... two bits: 0 no displacement, 1 a number, 2 a symbol */
    PEET_VARIANT_SAME = 0x100,    /* two sources are one register, which may make a zero */
    PEET_VARIANT_WIDE = 0x200, /* the immediate does not fit into a byte, for which there is an encoding of its own */
    PEET_VARIANT_ACCUMULATOR = 0x400 /* al, ax, eax or rax, with an encoding of its own for other immediates */
};

enum peet_insn_flags {
    PEET_INSN_OPAQUE = 1,   /* references unknown (inline assembly) */
    PEET_INSN_INDIRECT = 2, /* indirect jump or call */
    PEET_INSN_REP = 4,      /* rep-prefixed: its refs are ranges */
    PEET_INSN_PARTIAL = 8,  /* a write changes 8 or 16 bits of a register and keeps the others */
};

/** One machine instruction of the plain (uninstrumented) program. */
struct peet_insn {
    uint64_t pc; /* its address in the plain layout, see struct peet_function */
    const struct peet_opcode *opcode;
    uint32_t line;  /* in the function's file: of what is inlined from another one, of its call; 0: unknown */
    uint32_t flags; /* enum peet_insn_flags */
    uint16_t first_ref, nrefs; /* into peet_block.refs */
    uint8_t length_bytes;
    uint8_t nreads, nwrites; /* registers */
    /* so many of the reads, the first, are of addresses; a register may be read as data as well */
    uint8_t naddresses;
    const uint8_t *regs; /* nreads then nwrites entries: x86 register numbers, enum peet_reg; reads of data and writes
                            in the order of LLVM's operands, see struct peet_cost */
};

/* Register numbers: 0..15 rax rcx rdx rbx rsp rbp rsi rdi r8..r15 (the processor's encoding),
 * 16..47 xmm/ymm/zmm 0..31, 48 flags, 49 x87/mmx state, 50..57 mask k0..k7, 58 other. */
enum peet_reg {
    PEET_REG_GPR0 = 0,
    PEET_REG_VEC0 = 16,
    PEET_REG_FLAGS = 48,
    PEET_REG_X87 = 49,
    PEET_REG_MASK0 = 50,
    PEET_REG_OTHER = 58,
    PEET_REGS = 59
};

enum peet_ref_kind {
    PEET_REF_LOAD,
    PEET_REF_STORE,
    PEET_REF_MODIFY,   /* read-modify-write of one location by one instruction */
    PEET_REF_PREFETCH, /* a hint; counted as neither read nor write */
};

enum peet_ref_flags {
    PEET_REF_STACK = 1,  /* addressed through rsp, or through a frame pointer */
    PEET_REF_GLOBAL = 2, /* rip-relative or absolute */
    PEET_REF_ATOMIC = 4,
    PEET_REF_VOLATILE = 8,
    PEET_REF_RANGE = 16,       /* values[value] address, values[value+1] element count (rep prefix);
                                  element i is at address + i * size */
    PEET_REF_CONDITIONAL = 32, /* values[value+1] != 0: it happened (lane masks) */
    PEET_REF_FETCH = 64,       /* pushed or popped return address of call and ret */
    PEET_REF_TLS = 128,        /* relative to the thread pointer */
};

/** Memory order of an atomic reference. */
enum peet_order {
    PEET_ORDER_NONE, /* not atomic */
    PEET_ORDER_RELAXED,
    PEET_ORDER_ACQUIRE,
    PEET_ORDER_RELEASE,
    PEET_ORDER_ACQ_REL,
    PEET_ORDER_SEQ_CST,
    PEET_ORDERS
};

/** One memory reference of a block, in program order. */
struct peet_ref {
    uint32_t insn; /* index in the block */
    uint16_t size_bytes;
    uint16_t flags; /* enum peet_ref_flags */
    uint16_t value; /* where in peet_block_event.values its address stands */
    uint8_t kind;   /* enum peet_ref_kind */
    uint8_t order;  /* enum peet_order: as the source asked for; x86 gives more */
    uint8_t group;  /* not 0: references of the block with this number are always as far apart as this time */
};

enum peet_block_flags {
    PEET_BLOCK_ENTRY = 1,  /* the function's entry: one call */
    PEET_BLOCK_SIMPLE = 2, /* no range and no conditional refs: ref i's address is values[i] */
    PEET_BLOCK_OPAQUE = 4, /* holds inline assembly whose references cannot be seen */
    PEET_BLOCK_SYNC = 8,   /* recorded with its pc */
    PEET_BLOCK_TURN = 16,  /* begins with an atomic or volatile access (or fence, or a loop without end) that waits */
};

struct peet_function;

/** A machine basic block, split after calls. */
struct peet_block {
    const struct peet_function *function;
    uint64_t pc;    /* plain layout */
    uint32_t id;    /* dense over the whole program, 0.. in order of discovery */
    uint32_t index; /* in its function */
    uint32_t line;
    uint32_t flags; /* enum peet_block_flags */
    uint32_t ninsns, nrefs, nvalues;
    uint32_t reads, writes, modifies; /* static counts of unconditional, non-range refs by kind */
    uint32_t cost_cycles;             /* sum of reciprocal throughputs, rounded up: no memory, no dependences */
    uint32_t code_bytes;
    const struct peet_insn *insns;
    const struct peet_ref *refs;
};

/** A function.  pc is where the plain program would have it: a *plain layout*, 16-byte aligned,
 *  without the recording code; runtime_pc is where it is in this process. */
struct peet_function {
    const char *name, *file, *image; /* file may be "" */
    uint64_t pc, runtime_pc;
    uint32_t id; /* dense over the whole program */
    uint32_t line;
    uint32_t code_bytes; /* plain */
    uint32_t nblocks;
    const struct peet_block *blocks;
};

/** peet_function_order() - by name, file and number: for lists of what is equal otherwise, since numbers are given as functions
 * are met.  Returns: as strcmp() */
static inline int peet_function_order(const struct peet_function *a, const struct peet_function *b)
{
    int order = strcmp(a->name, b->name);

    if (!order)
        order = strcmp(a->file, b->file);
    return order ? order : (a->id > b->id) - (a->id < b->id);
}

/** peet_block_is_first() - has it the function's first instruction?  That need not be the entry, which may be an empty block
 * before a loop */
static inline int peet_block_is_first(const struct peet_block *block)
{
    return block->ninsns != 0 && block->pc == block->function->pc;
}

/** Does a block end in a call or a return?  What comes next may be another function's. */
static inline int peet_block_leaves(const struct peet_block *block)
{
    const int klass = block->ninsns != 0 ? block->insns[block->ninsns - 1].opcode->klass : (int)PEET_INSN_OTHER;
    return klass == PEET_INSN_CALL || klass == PEET_INSN_RETURN;
}

/* ------------------------------------------------------------------------------------------- events */

/** A block was executed. */
struct peet_block_event {
    const struct peet_block *block;
    const uint64_t *values; /* block->nvalues words: addresses, counts, masks, as the refs say */
    uint32_t context;       /* software context */
    uint64_t turns;         /* 1; more only in loop(): the block was executed so often in a row, and */
    const int64_t *strides; /* ... each time value i was larger by strides[i]; else NULL */
};

/* X(name, value, number of args, text, names of args) -- values are part of the raw format */
#define PEET_ABSTRACTS(X) \
    X(NONE, 0, 0, "none", "") \
    X(CONTEXT_START, 1, 0, "context start", "") \
    X(CONTEXT_EXIT, 2, 1, "context exit", "status") \
    X(DOALL_FORK, 3, 6, "doall fork", "lo hi schedule chunk function argument") \
    X(DOALL_START, 4, 1, "doall iteration start", "iteration") \
    X(DOALL_FINISH, 5, 1, "doall iteration finish", "iteration") \
    X(DOALL_JOIN, 6, 0, "doall join", "") \
    X(MARK_FORK, 7, 4, "doall fork (marker)", "lo hi schedule chunk") \
    X(MARK_START, 8, 1, "doall iteration start (marker)", "iteration") \
    X(MARK_FINISH, 9, 1, "doall iteration finish (marker)", "iteration") \
    X(MARK_JOIN, 10, 0, "doall join (marker)", "") \
    X(ALLOC, 11, 3, "allocation", "address bytes caller") \
    X(FREE, 12, 2, "release", "address caller") \
    X(SIGNAL_ENTER, 13, 1, "signal handler start", "signal") \
    X(SIGNAL_LEAVE, 14, 1, "signal handler end", "signal") \
    X(PROGRAM_EXIT, 15, 1, "program exit", "status") \
    X(PHASE, 16, 1, "phase mark", "number") \
    X(ROI_BEGIN, 17, 0, "region of interest begin", "") \
    X(ROI_END, 18, 0, "region of interest end", "") \
    X(YIELD, 19, 0, "processor yield", "") \
    X(THREAD_CREATE, 20, 6, "thread create", "function pointer stack_address stack_bytes detached thread") \
    X(THREAD_JOIN, 21, 2, "thread join", "thread deadline") \
    X(THREAD_DETACH, 22, 1, "thread detach", "thread") \
    X(SYNC_INIT, 23, 3, "synchronisation object init", "object type value") \
    X(SYNC_DESTROY, 24, 2, "synchronisation object destroy", "object type") \
    X(MUTEX_LOCK, 25, 3, "mutex lock", "object kind deadline") \
    X(MUTEX_TRYLOCK, 26, 2, "mutex trylock", "object kind") \
    X(MUTEX_UNLOCK, 27, 2, "mutex unlock", "object kind") \
    X(RWLOCK_READ, 28, 3, "rwlock read lock", "object kind deadline") \
    X(RWLOCK_WRITE, 29, 3, "rwlock write lock", "object kind deadline") \
    X(RWLOCK_TRYREAD, 30, 2, "rwlock try read lock", "object kind") \
    X(RWLOCK_TRYWRITE, 31, 2, "rwlock try write lock", "object kind") \
    X(RWLOCK_UNLOCK, 32, 2, "rwlock unlock", "object kind") \
    X(COND_WAIT, 33, 4, "condition wait", "object mutex kind deadline") \
    X(COND_SIGNAL, 34, 1, "condition signal", "object") \
    X(COND_BROADCAST, 35, 1, "condition broadcast", "object") \
    X(BARRIER_WAIT, 36, 2, "barrier wait", "object count") \
    X(SEM_WAIT, 37, 2, "semaphore wait", "object deadline") \
    X(SEM_TRYWAIT, 38, 1, "semaphore trywait", "object") \
    X(SEM_POST, 39, 2, "semaphore post", "object count") \
    X(SEM_VALUE, 40, 1, "semaphore value", "object") \
    X(ONCE_BEGIN, 41, 1, "once begin", "object") \
    X(ONCE_END, 42, 2, "once end", "object done") \
    X(POST, 43, 2, "doacross post", "object iteration") \
    X(WAIT, 44, 2, "doacross wait", "object iteration") \
    X(ATOMIC, 45, 2, "atomic or volatile access", "pc registers") \
    X(SLEEP, 46, 1, "sleep", "deadline") \
    X(CLOCK, 47, 0, "clock read", "") \
    X(IO_WAIT, 48, 3, "input/output wait", "descriptor events deadline") \
    X(SYSCALL, 49, 2, "system call", "number bytes") \
    X(RANGE, 50, 4, "range operation", "operation destination source bytes") \
    X(LOOP_INIT, 51, 6, "team loop begin", "object lo hi schedule chunk threads") \
    X(LOOP_NEXT, 52, 3, "team loop next chunk", "object thread chunk_address") \
    X(INTERRUPT, 53, 1, "thread interrupt", "thread") \
    X(SYNC_GRANT, 54, 4, "wait over", "object operation waited_cycles result") \
    X(TASK, 55, 3, "task", "what task parent") \
    X(VIEW_LEAVE, 56, 2, "code outside views of memory", "why address") \
    X(ORDER, 57, 5, "order of a real run", "place number what object request") \
    X(AGAIN, 58, 2, "request from before a piece", "number request")

enum peet_abstract_type {
#define PEET_X(name, value, nargs, text, args) PEET_ABSTRACT_##name = value,
    PEET_ABSTRACTS(PEET_X)
#undef PEET_X
        PEET_ABSTRACT_TYPES = 59
};

/*
 * SYNCHRONISATION.  `object` is the object's address in the subject.  The request is delivered at the
 * time at which the context asks; if it must wait, SYNC_GRANT follows when it goes on.  `deadline` is
 * in cycles of the simulated clock, PEET_NEVER: none.  Results (of the request or of SYNC_GRANT) are 0
 * or an errno value, unless said otherwise here:
 *
 *   THREAD_CREATE   number of the new software context (also args[5]), or PEET_FAILED | errno; pointer: the thread's, below
 *                   which its stack lies unless stack_address is not 0
 *   THREAD_JOIN     thread PEET_NEVER: until no other thread is left
 *   BARRIER_WAIT    1 for the one that came last, else 0; count (its lower half) 0: as said by SYNC_INIT.  Who is
 *                   interrupted has arrived all the same, and asks again with PEET_BARRIER_AGAIN()
 *   SEM_VALUE       the value
 *   ONCE_BEGIN      1: the caller runs the initialiser, then ONCE_END(done 1; 0: it failed); 0: it is done
 *   CLOCK           the simulated clock in cycles; with an argument 1: cycles that the context, 2: that all contexts
 *                   have been on hardware contexts
 *   LOOP_NEXT       1 and the chunk [first, last) in two words at chunk_address; 0: no more
 *   INTERRUPT       1 if the thread was waiting where waits can be interrupted: its wait returns EINTR; else 0,
 *                   and its next such wait returns EINTR at once
 *   COND_WAIT       PEET_COND_UNLOCKED(), if it is interrupted before it has its mutex back
 *   IO_WAIT         the poll(2) events that are ready, 0 at the deadline, PEET_FAILED | EINTR if interrupted
 *
 * THREAD_EXIT is CONTEXT_EXIT.  ATOMIC stands just before the access itself, whose reference is the
 * first of the block that follows: when ATOMIC has been performed, the access is, at the same time.
 */
#define PEET_NEVER UINT64_MAX
#define PEET_FAILED ((uint64_t)1 << 63)
/** COND_WAIT that was interrupted when it had been woken (with this result) and waited for its mutex, which it had
 * locked so often: the subject locks it again. */
#define PEET_COND_UNLOCKED(result, times) (PEET_FAILED | (uint64_t)(times) << 16 | ((result) & 0xffff))
#define PEET_COND_RESULT(answer) ((answer) & 0xffff)
#define PEET_COND_RELOCKS(answer) (((answer) & ~PEET_FAILED) >> 16)
/** The count of a BARRIER_WAIT that goes on after it was interrupted: the upper half of the answer says in which round
 * it has arrived. */
#define PEET_BARRIER_AGAIN(count, answer) ((uint32_t)(count) | ((answer) & ~(uint64_t)UINT32_MAX))

/** Types of SYNC_INIT and SYNC_DESTROY. */
enum peet_sync_type {
    PEET_SYNC_MUTEX,  /* value: enum peet_mutex_kind */
    PEET_SYNC_RWLOCK, /* value: enum peet_rwlock_kind */
    PEET_SYNC_COND,
    PEET_SYNC_BARRIER,   /* value: how many */
    PEET_SYNC_SEMAPHORE, /* value: its value */
    PEET_SYNC_ONCE,
    PEET_SYNC_DOACROSS, /* value: iterations before this one count as posted */
    PEET_SYNC_TYPES
};
enum peet_mutex_kind { PEET_MUTEX_NORMAL, PEET_MUTEX_RECURSIVE, PEET_MUTEX_ERRORCHECK, PEET_MUTEX_SPIN };
enum peet_rwlock_kind { PEET_RWLOCK_PREFER_READER, PEET_RWLOCK_PREFER_WRITER };

/**
 * The `what` of ORDER.  A trace of a run on the computer's own processors (`peet record`) says in which order requests
 * took effect: each stands between a BEGIN and an END with the same place and number.  A replay begins the request of
 * number n when that of n - 1, at the same place, has ended.  Modules never see ORDER; a wait for it shows as one for the
 * object.
 */
enum peet_order_what { PEET_ORDER_BEGIN, PEET_ORDER_END };

/* AGAIN: a piece of a trace begins after the request, which had not been answered by then; its arguments follow, and
 * `number` is that of the first context that it makes, if it makes any.  It takes effect without time, and modules never
 * see it. */

/** The `what` of TASK, a note by the context that does it; tasks have numbers from 1, 0 is no explicit task.  In place of
 * `parent` some have something else. */
enum peet_task_what {
    PEET_TASK_CREATE,  /* by a context that runs `parent` */
    PEET_TASK_START,   /* begins, or goes on */
    PEET_TASK_SUSPEND, /* makes room for another one, or waits */
    PEET_TASK_END,
    PEET_TASK_ORDER,  /* `task` begins after that other task has ended; 0: which, others will say. The one that is
                         executed, or task 0: it has waited for that one */
    PEET_TASK_WAIT,   /* `task` has waited for tasks: enum peet_task_waited */
    PEET_TASK_FULFIL, /* the event of a task that is detached: with its end, that is its completion */
    PEET_TASK_MEMORY, /* in place of `task` an address, and so many bytes: what lay there has gone */
    PEET_TASK_PASSED, /* ... the object of ONCE_BEGIN: its initialisation was over, and nobody had to ask */
    PEET_TASK_TURN,   /* as ORDER, but the program needs no order here: it is how the tasks were executed */
    PEET_TASK_GROUP,  /* `task` begins a taskgroup, which ends when it has waited for descendants */
    PEET_TASK_WAKE, /* in place of `task` the semaphore that is asked for or posted next: it only wakes threads, and orders
                         nothing */
};
enum peet_task_waited {
    PEET_TASKS_CHILDREN,
    PEET_TASKS_DESCENDANTS, /* those of the taskgroup, which is over */
    PEET_TASKS_EXECUTED     /* those that its thread has executed, which is a team of its own, and at a barrier */
};

/** Something that references do not spell out. */
struct peet_abstract_event {
    uint32_t type; /* enum peet_abstract_type */
    uint32_t context;
    uint32_t nargs;
    const uint64_t *args;
};

/** What the pull form returns. */
enum peet_pull_kind {
    PEET_PULL_BLOCK,
    PEET_PULL_ABSTRACT,
    PEET_PULL_IDLE, /* this hardware context has nothing to do at its present clock */
    PEET_PULL_END,  /* the program is over */
};
struct peet_pull {
    enum peet_pull_kind kind;
    union {
        struct peet_block_event block;
        struct peet_abstract_event abstract;
        uint64_t idle_until_cycles; /* earliest time at which that can change; UINT64_MAX: on another's event */
    };
};

/* ---------------------------------------------------------------------------------------- parameters */

enum peet_param_type {
    PEET_PARAM_U64, /* 10, 0x10 */
    PEET_PARAM_F64,
    PEET_PARAM_SIZE, /* bytes: 64, 32KiB, 1MiB, 2GiB */
    PEET_PARAM_BOOL, /* on off true false yes no 1 0 */
    PEET_PARAM_ENUM, /* range lists the choices: "lru|fifo" */
    PEET_PARAM_STRING,
};

struct peet_param {
    const char *name;
    enum peet_param_type type;
    const char *unit;  /* "bytes", "cycles", ... or "" */
    const char *def;   /* default, as the user would write it */
    const char *range; /* "1..64", "a|b|c", or "" */
    const char *help;  /* one line */
};

union peet_value {
    uint64_t u64; /* U64, SIZE (bytes), BOOL (0 or 1), ENUM (index of the choice) */
    double f64;
    const char *string; /* lives until destroy() */
};

/* ------------------------------------------------------------------------------------- memory reports */

/**
 * What a machine tells of its memory system, for observers with PEET_NEEDS_MEMORY.  Level 1 is nearest to the
 * processor; a reference that misses at levels 1 and 2 is two MISS events, so that the events of one level add up
 * to that level's misses.  Hits are not reported: they are the references that are left.
 */
enum peet_memory_type {
    PEET_MEMORY_MISS,       /* the line was not in the cache at `level` (or not with the right to write it) */
    PEET_MEMORY_EVICT,      /* a line left the cache at `level` to make room */
    PEET_MEMORY_INVALIDATE, /* a line left the cache at `level` (of `hw`) because `other` wrote it */
    PEET_MEMORY_STALL,      /* the processor could not go on for `cycles` because of this reference */
    PEET_MEMORY_TYPES,
    /** A MISS, the EVICT that it caused (if FILL_GONE is set), and the STALL until the next level served it (of the
     * same cycles, if those are not 0) in one: for observers with PEET_NEEDS_FILLS, if no other hears of the memory */
    PEET_MEMORY_FILL = PEET_MEMORY_TYPES
};

enum peet_memory_cause {
    PEET_MISS_UNKNOWN,
    PEET_MISS_COLD,
    PEET_MISS_CAPACITY,
    PEET_MISS_CONFLICT,
    PEET_MISS_UPGRADE,
    PEET_MISS_TRUE_SHARING,
    PEET_MISS_FALSE_SHARING,
    PEET_MISS_CAUSES
};

enum peet_memory_flags {
    PEET_MEMORY_STORE = 1,       /* the reference writes */
    PEET_MEMORY_INSTRUCTION = 2, /* an instruction fetch */
    PEET_MEMORY_PREFETCH = 4,    /* nobody has asked for it yet */
    PEET_MEMORY_WALK = 8,        /* a page table walk */
    PEET_MEMORY_DIRTY = 16,      /* EVICT, INVALIDATE: it had to be written back */
    PEET_MEMORY_FILL_GONE = 32,  /* FILL: a line has left; DIRTY says it of that one */
};

#define PEET_MEMORY_NOBODY UINT32_MAX

struct peet_memory_event {
    uint8_t type; /* enum peet_memory_type */
    /* MISS: that was missed; EVICT, INVALIDATE: that was left; STALL: that served, 0: none (TLB, buffer) */
    uint8_t level;
    uint8_t cause; /* MISS: enum peet_memory_cause */
    uint8_t flags; /* enum peet_memory_flags */
    uint32_t hw;   /* whose reference, or whose cache (shared caches: of the reference that caused it) */
    /* INVALIDATE: who wrote; MISS: the hardware context whose cache gave the line; or PEET_MEMORY_NOBODY */
    uint32_t other;
    uint32_t size_bytes; /* of the reference, or of the line */
    uint64_t address;    /* of the reference (its part in that line); EVICT, INVALIDATE: of the line that left */
    /* EVICT, INVALIDATE: the address referenced by whoever caused it; FILL: the line that left */
    uint64_t by;
    uint64_t cycles; /* MISS: until the reference was served, as far as known at this level; STALL: lost */
    uint64_t now;    /* clock of hw */
    const struct peet_block *block; /* whose reference; NULL: none of the program's blocks */
    uint32_t ref;                   /* index in block->refs */
};

/** One level of a machine's caches. */
struct peet_memory_level {
    const char *name; /* "L1D" */
    uint64_t size_bytes;
    uint32_t line_bytes;
    uint32_t shared_by; /* hardware contexts for each such cache */
};

/* ------------------------------------------------------------------------------------- data structures */

enum peet_data_kind {
    PEET_DATA_REST,   /* known to nobody; id 0 */
    PEET_DATA_STACK,  /* stacks of all contexts; id 1 */
    PEET_DATA_GLOBAL, /* variables with static storage, whatever their scope */
    PEET_DATA_TLS,
    PEET_DATA_HEAP,   /* all blocks of one allocation site */
    PEET_DATA_MAPPED, /* mmap, by call site */
    PEET_DATA_KINDS
};
enum peet_data_flags {
    PEET_DATA_PERFECT = 1, /* the user wants single-cycle memory for it */
    /* its elements are records with a pointer to a record of their own type: nodes of lists, trees, graphs */
    PEET_DATA_LINKED = 2,
};

/** A data structure of the subject.  Its numbers are those of the simulated present. */
struct peet_data {
    uint32_t id;                 /* dense, from 0, in order of discovery */
    uint8_t kind;                /* enum peet_data_kind */
    uint8_t flags;               /* enum peet_data_flags */
    const char *name;            /* "grid"; heap: the variable that receives the pointer, else "function:line" */
    const char *type;            /* of one element, as C spells it; "" if debug info does not tell */
    const char *file, *function; /* where it is defined, or allocated; "" if unknown */
    const char *path;            /* heap: call path "main:12 > build:40", innermost last; else "" */
    uint32_t line;
    uint64_t element_bytes;                                        /* of the type; 0 if unknown */
    uint64_t objects, objects_live, bytes, bytes_live, bytes_peak; /* bytes: of all objects ever */
};

/** The object that an address lies in. */
struct peet_data_object {
    uint64_t address, bytes, number; /* number: 0.. within its structure, in order of allocation */
};

/* ----------------------------------------------------------------------------------- processors' costs */

/** An execution resource of a processor, from LLVM's scheduling model. */
struct peet_resource {
    const char *name; /* "SKXPort05" */
    uint32_t units;   /* how many of them */
    int32_t buffer;   /* entries of its own reservation station; -1: the unified one, 0: in order */
    uint32_t nparts;  /* a group: of these resources; else 0 */
    const uint32_t *parts;
};
struct peet_processor {
    const char *name;       /* "skylake-avx512" */
    uint32_t dispatch_uops; /* a cycle */
    uint32_t window_uops;   /* reorder buffer; 0: the model does not say */
    uint32_t load_cycles;   /* an L1 hit, as the model has it */
    uint32_t mispredict_cycles;
    uint32_t nresources; /* at most 64 */
    const struct peet_resource *resources;
    uint32_t retire_uops;             /* a cycle; 0: no limit known */
    uint32_t load_queue, store_queue; /* entries; 0: not known */
    uint32_t moves_eliminated;        /* at most so many a cycle; 0: no limit known, or none are */
    uint8_t in_order;                 /* instructions issue in program order */
};
/** Busy from the first cycle to before the end, counted from the issue.  Groups and their parts are as llvm-mca has
 *  them: what an instruction takes of a part is not counted again for the group. */
struct peet_resource_use {
    uint16_t resource, first_cycle, end_cycle;
    uint8_t units;    /* of a group or a resource of several units: so many at once */
    uint8_t reserved; /* all of the group are taken */
};
struct peet_cost {
    uint16_t uops;
    uint16_t latency_cycles; /* of its slowest result, with the load if it loads */
    /* data may come so much later than addresses (folded loads): the most of `advances` */
    uint16_t address_advance_cycles;
    uint16_t nuses;
    const struct peet_resource_use *uses;
    uint8_t known; /* 0: the model does not say, the fields are a guess */
    /* 1: does not wait for what it reads (all but flags); needs no execution if latency and uses are 0 */
    uint8_t zero_idiom;
    uint8_t eliminated;               /* a move that register renaming may do */
    uint8_t begins_group, ends_group; /* is the first, the last that is dispatched in its cycle */
    uint8_t nwrites, nadvances;
    const uint16_t *writes;           /* latency of write i of the instruction; after the last: latency_cycles */
    const int8_t *advances;           /* read i of data may come so many cycles after issue; after the last: 0 */
    uint64_t buffers;                 /* a bit for each resource in whose buffer it takes an entry until it issues */
    uint32_t rthroughput_millicycles; /* by resources and dispatch width alone */
};

/* ------------------------------------------------------------------------------------------- services */

struct peet_direct;
struct peet_direct_observer;
struct peet_stats; /* a node of the statistics tree */

/** What a module may ask for.  Every function takes the env itself first. */
struct peet_env {
    uint32_t abi, struct_size;
    uint32_t cores;         /* as asked by the user: --cores */
    uint32_t hw_contexts;   /* hardware contexts; = cores unless the machine says otherwise. A machine that does, by its
                               hw_contexts(), finds = cores in create() still */
    uint64_t seed;          /* the module's own, derived from --seed */
    const char *output_dir; /* results folder, for files of the module's own */

    /** fail() - end the run with this message (create(): refuse the configuration).  Returns. */
    void (*fail)(const struct peet_env *, const char *format, ...) __attribute__((format(printf, 2, 3)));

    /* Statistics: key/value tree that becomes stats.json under the module's name.  Keys carry their
     * unit (_cycles, _bytes, _lines) or pass a description.  Nodes live as long as the tree. */
    struct peet_stats *(*stats_object)(const struct peet_env *, struct peet_stats *, const char *key);
    struct peet_stats *(*stats_array)(const struct peet_env *, struct peet_stats *, const char *key);
    void (*stats_u64)(const struct peet_env *, struct peet_stats *, const char *key, uint64_t value);
    void (*stats_f64)(const struct peet_env *, struct peet_stats *, const char *key, double value);
    void (*stats_string)(const struct peet_env *, struct peet_stats *, const char *key, const char *value);
    /* In an array node, key is NULL.  A key that is there already ends the run; nodes are nested 500 deep at most. */

    /* Time, for machines.  No clock may pass 2^62 cycles.
     * not_ready_until() - hardware context hw does nothing before this time; for the one whose event this is, after the
     * event's own cost. A time that is past ends the run, and so does an observer that calls it. */
    void (*not_ready_until)(const struct peet_env *, unsigned hw, uint64_t cycles);
    uint64_t (*clock)(const struct peet_env *, unsigned hw);

    /* Pull form: next event of a hardware context, and time charged for the last one pulled. */
    int (*pull)(const struct peet_env *, unsigned hw, struct peet_pull *out_event);
    void (*charge)(const struct peet_env *, unsigned hw, uint64_t cycles);

    /* The program. */
    const struct peet_function *(*function_of_pc)(const struct peet_env *, uint64_t runtime_pc);

    void *host; /* peet's own */

    /* ---- since ABI 2 */
    /* Memory reports.  A machine calls report() only for types whose bit is set in `reports`, which does not change
     * after create(); events live until it returns.  What cannot be (a hardware context that is not there, 2^56 cycles)
     * ends the run. */
    uint32_t reports; /* mask of 1 << enum peet_memory_type */
    void (*report)(const struct peet_env *, const struct peet_memory_event *events, size_t n);
    /** describe_memory() - machines, in create(): the levels, nearest first, at most 255, all fields set; copied */
    void (*describe_memory)(const struct peet_env *, const struct peet_memory_level *levels, size_t n);
    /** memory() - observers: what the machine has described; NULL if nothing */
    const struct peet_memory_level *(*memory)(const struct peet_env *, size_t *out_n);

    /* Data structures, for modules with PEET_NEEDS_DATA (else NULL). */
    /** data_of() - the structure that an address belongs to now, never NULL; @out_object may be NULL */
    const struct peet_data *(*data_of)(const struct peet_env *, uint64_t address, struct peet_data_object *out_object);
    /** data() - the structure of that id, NULL beyond the last */
    const struct peet_data *(*data)(const struct peet_env *, uint32_t id);
    /** data_member() - what lies at this offset of an object: "count", "[3].next"; "" if unknown.  Returns: its first
     * byte's offset */
    uint64_t (*data_member)(const struct peet_env *, const struct peet_data *, uint64_t offset, char *out_name,
        size_t room);
    uint32_t perfect; /* machines: some structures have PEET_DATA_PERFECT: their references take one cycle, though
                         their lines move as ever */

    /* Costs of instructions. */
    /** processor() - by its name as -mcpu has it; NULL: see processor_error().  Lives until destroy() */
    const struct peet_processor *(*processor)(const struct peet_env *, const char *mcpu);
    /** cost() - of an instruction on a processor; never NULL.  Lives until destroy() */
    const struct peet_cost *(*cost)(const struct peet_env *, const struct peet_processor *, const struct peet_insn *);
    /** processor_error() - why the last processor() gave NULL, with the nearest name; lives until the next processor()
     */
    const char *(*processor_error)(const struct peet_env *);

    /** write_file() - a file of the results folder, whole, or not at all; also when the subject has given up the right
     * to make files there.  Not under a name of peet's own, as stats.json.  NULL if peet is older.  Returns: 0, or a peet_err after fail() */
    int (*write_file)(const struct peet_env *, const char *name, const void *data, size_t bytes);

    /* ---- since ABI 3 */
    /** set_frequency() - machines, in create(): cycles per second, from 1 to 10^12.  The program's clocks and the
     * seconds of the results follow it, unless the user has said --frequency */
    void (*set_frequency)(const struct peet_env *, uint64_t hz);
    /** note() - one line to the user, on the terminal; not for what belongs into the statistics */
    void (*note)(const struct peet_env *, const char *format, ...) __attribute__((format(printf, 2, 3)));
    uint32_t
        times_apart; /* machines: the run supposes what is not so (peet whatif).  Hardware contexts act out of the order
                        of their times, also by much: what one does may come before what another one did already */
    /** supposed() - so much more time (or less, if negative) has passed on a hardware context than its machine said, by
     * functions that are supposed to take a multiple of theirs.  0 unless times_apart */
    int64_t (*supposed)(const struct peet_env *, unsigned hw);
};

/* ------------------------------------------------------------------------------------------ descriptor */

enum peet_module_kind {
    PEET_MACHINE = 1,
    PEET_OBSERVER = 2,
    PEET_CONSISTENCY = 3 /* a consistency model: peet/consistency.h */
};

enum peet_needs {
    PEET_NEEDS_BLOCKS = 1, /* block() is called */
    /* peet_block_event.values is filled; else only for blocks that are not PEET_BLOCK_SIMPLE */
    PEET_NEEDS_ADDRESSES = 2,
    PEET_NEEDS_ABSTRACT = 4, /* abstract() is called */
    PEET_NEEDS_MEMORY = 8,   /* observers: memory() is called */
    PEET_NEEDS_DATA = 16,    /* env->data_of() and its like are there; else the structures are not kept track of */
    PEET_NEEDS_FILLS = 32,   /* with MEMORY: memory() knows PEET_MEMORY_FILL */
    /* with MEMORY: misses and stalls are enough; EVICT and INVALIDATE may be told all the same */
    PEET_NEEDS_NO_LOSSES = 64,
    /* with ABSTRACT: ATOMIC and YIELD need not come, and those of a context that spins do not where that is faster */
    PEET_NEEDS_NO_LOOKS = 128,
    /* with ABSTRACT: all that orders contexts comes as an event; recordings of real runs (`peet record`) are refused */
    PEET_NEEDS_ORDER = 256,
};

struct peet_module {
    uint32_t abi;                    /* PEET_MODULE_ABI */
    uint32_t struct_size;            /* sizeof(struct peet_module) */
    const char *name;                /* as in --machine NAME; the key in stats.json */
    const char *summary;             /* one line */
    uint32_t kind;                   /* enum peet_module_kind */
    uint32_t needs;                  /* mask of enum peet_needs */
    const struct peet_param *params; /* ends with a NULL name; may be NULL */

    /**
     * create() - make one instance
     * @values: one per entry of params, checked against type and range
     * Returns: the instance, or NULL after env->fail()
     */
    void *(*create)(const struct peet_env *env, const union peet_value *values);
    void (*destroy)(void *self);

    /** hw_contexts() - machines: how many hardware contexts for so many cores; NULL: one each */
    unsigned (*hw_contexts)(void *self, unsigned cores);

    /** block() - a block was executed on hardware context hw at its clock now.
     *  Returns: cycles that it took, less than 2^56: more ends the run (observers: ignored) */
    uint64_t (*block)(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now);

    /** abstract() - an abstract event is performed.  Returns: its cost in cycles */
    uint64_t (*abstract)(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now);

    /** pick_context() - machines, and observers that are given with --policy: which ready software context runs next on
     * hw; NULL: the policy's choice.  @ready: software context numbers in the policy's order, at least one.  Returns:
     * an index into @ready; beyond it: the run ends.  The user's --policy comes before the machine's. */
    unsigned (*pick_context)(void *self, unsigned hw, const uint32_t *ready, unsigned nready, uint64_t now);

    /** pick_winner() - machines, and observers that are given with --winner: which waiter gets a sync object; NULL:
     * first come, first served, or what --winner says.  @waiters: software context numbers in the order in which they
     * came, at least two. Returns: an index into @waiters; beyond it: the run ends */
    unsigned (*pick_winner)(void *self, const uint32_t *waiters, unsigned nwaiters, uint64_t now);

    /** main() - pull form: own main loop over env->pull()/charge() until PEET_PULL_END on every hardware
     *  context.  If set, block() and abstract() of this machine are not called.  Returns 0 or < 0 */
    int (*main)(void *self);

    /** finish() - the program is over at this time; last chance to compute */
    void (*finish)(void *self, uint64_t end_cycles);

    /** stats() - write results below this object node.  May be called more than once */
    void (*stats)(void *self, const struct peet_env *env, struct peet_stats *node);

    /**
     * loop() - a block went round event->turns times, its values advancing by event->strides
     * Optional: without it the turns come one by one through block().  What it does must be what that
     * many calls of block() would have done.
     * @until: a machine stops after the first turn that brings its clock to this time or past it
     *         (observers: UINT64_MAX, all turns are theirs)
     * @out_turns: how many turns were taken, at least 1
     * Returns: their cycles, as block() would have returned them one after the other
     */
    uint64_t (*loop)(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now, uint64_t until,
        uint64_t *out_turns);

    /**
     * blocks() - several blocks of one context, one after the other
     * Optional: without it they come one by one through block().  What it does must be what that many calls of
     * block() would have done, each at the time when the one before it was over.
     * @events: n of them, each with one turn
     * @until: a machine stops after the first block that brings its clock to this time or past it
     *         (observers: UINT64_MAX, all blocks are theirs)
     * @out_done: how many were taken, at least 1
     * Returns: their cycles.  If it waited in between, it calls not_ready_until() once, with the time at the end.
     */
    uint64_t (*blocks)(void *self, unsigned hw, const struct peet_block_event *events, size_t n, uint64_t now,
        uint64_t until, size_t *out_done);

    /* ---- since ABI 2 */
    /** memory() - observers: what the machine's memory system did, in the order in which it did it; it comes before
     *  the block whose reference it was */
    void (*memory)(void *self, const struct peet_memory_event *events, size_t n);
    /** direct - machines: blocks that peet may take in their stead (direct.h); NULL: none */
    const struct peet_direct *direct;
    /** observed - observers: which blocks they need not see, where the machine has `direct` (direct.h); NULL: they see
     * all, one by one */
    const struct peet_direct_observer *observed;
};

/** Every module exports this. */
extern const struct peet_module peet_module;

/* ------------------------------------------------------------------------------------------- helpers */

struct peet_ref_iter {
    uint64_t address, count;
    int64_t step;
};

/**
 * peet_ref_begin() - the locations of one reference, whatever its shape
 * Use: for (it = peet_ref_begin(ref, values); it.count; it.count--, it.address += it.step) ...
 */
static inline struct peet_ref_iter peet_ref_begin(const struct peet_ref *ref, const uint64_t *values)
{
    struct peet_ref_iter it = {values[ref->value], 1, 0};
    if (ref->flags & (PEET_REF_RANGE | PEET_REF_CONDITIONAL)) {
        it.count = values[ref->value + 1];
        it.step = ref->size_bytes;
        if (ref->flags & PEET_REF_CONDITIONAL)
            it.count = it.count != 0;
    }
    return it;
}

#ifdef __cplusplus
}
#endif
#endif
