/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86: what a core is like.  One list gives the parameters of the module, the keys of preset files and the fields of
 * the structure.  module.c lays a preset first, then what the user says; 0 (or "preset") means: as the preset says.
 * The memory system's own list is in memory_config.h.
 */
#ifndef PEET_X86_CONFIG_H
#define PEET_X86_CONFIG_H

#include <peet/module.h>

/*
 * X(name, unit, least, most, default, help): numbers.  The default is that of a machine without a preset; "model" is
 * what LLVM's scheduling model of the mcpu says.  Where the least is 0, 0 means 0, and presets do not have the key.
 */
#define X86_CORE_NUMBERS(X) \
    X(frequency_mhz, "MHz", 1, 1000000, 0, \
        "clock of the cores, which the program's clocks follow unless --frequency says otherwise") \
    X(threads, "contexts", 1, 8, 1, "hardware contexts (SMT) of each core") \
    X(fetch_uops, "micro-ops", 1, 16, 0, "fetched and decoded in a cycle; default: no limit but dispatch") \
    X(fetch_queue_uops, "micro-ops", 1, 4096, 64, \
        "decoded and not dispatched yet, of each thread, if fetch_uops is given") \
    X(dispatch_uops, "micro-ops", 1, 16, 0, "dispatched (renamed) in a cycle; default: the model's") \
    X(retire_uops, "micro-ops", 1, 64, 0, "retired in a cycle; default: no limit") \
    X(window_uops, "micro-ops", 1, 4096, 0, "reorder buffer; default: the model's") \
    X(scheduler_scale_percent, "%", 1, 1000, 100, "size of the model's scheduler queues, against what the model says") \
    X(load_queue, "loads", 1, 1024, 0, "loads between dispatch and retirement; default: the model's, else no limit") \
    X(store_queue, "stores", 1, 1024, 0, \
        "stores between dispatch and their write; default: the model's, else no limit") \
    X(l1_load_cycles, "cycles", 1, 100, 0, "memory=flat: load to use; default: the model's") \
    X(forward_cycles, "cycles", 1, 100, 0, "from a store's data to a load of them; default: a hit's latency") \
    X(stores_cycle, "stores", 1, 64, 1, "written to the L1D in a cycle at most, in order") \
    X(stores_line, "stores", 1, 64, 0, \
        "of 8 bytes at most to one line, written in a cycle, if more than stores_cycle; default: stores_cycle") \
    X(index_cycles, "cycles", 1, 10, 0, \
        "a load whose address has two registers takes so much longer; default: nothing") \
    X(vector_load_cycles, "cycles", 1, 100, 0, \
        "until a vector operation has its operand from memory, in L1D; default: the model's") \
    X(forward_fail_cycles, "cycles", 1, 1000, 12, \
        "a load that a store holds in part: after the store is written, so much more") \
    X(mispredict_cycles, "cycles", 1, 1000, 0, \
        "from a mispredicted branch to the execution of what follows; default: the model's") \
    X(call_fetch_cycles, "cycles", 1, 7, 1, \
        "with fetch_past_taken=off: cycles of fetch that a call or a return takes") \
    X(override_cycles, "cycles", 1, 100, 0, \
        "branch=tage, with fetch_uops: cycles of fetch lost where a faster part of the direction predictor said otherwise; " \
        "default: there is no such part") \
    X(override_history_bits, "bits", 4, 256, 16, \
        "with override_cycles: that part has histories of so many outcomes at most") \
    X(override_entries, "entries", 2, 65536, 512, "... and knows so many entries, those used last; a power of two") \
    X(predict_ahead_cycles, "cycles", 1, 64, 8, \
        "with override_cycles: the branch predictor runs ahead of fetch by so many cycles at most") \
    X(resteer_cycles, "cycles", 1, 100, 8, \
        "a taken branch whose target the front end did not know: bubble of the decoder") \
    X(locked_cycles, "cycles", 1, 1000, 18, "a locked operation whose line is there, once earlier stores are written") \
    X(fence_cycles, "cycles", 1, 1000, 33, "a full fence, once earlier stores are written") \
    X(pause_cycles, "cycles", 1, 10000, 65, \
        "pause, the hint of a loop that spins: nothing younger is fetched meanwhile") \
    X(serialize_cycles, "cycles", 1, 10000, 100, "cpuid and other instructions that drain the pipeline") \
    X(string_start_cycles, "cycles", 1, 1000, 30, "start of a rep-prefixed instruction") \
    X(string_bytes_cycle, "bytes", 1, 64, 32, "moved in a cycle by a rep-prefixed instruction") \
    X(sync_cycles, "cycles", 1, 100000, 20, "what a call of a thread library costs besides its recorded instructions") \
    X(sample_period, "instructions", 1, 1000000000, 0, \
        "sampled timing: of so many of a core, only a window is simulated in detail, and the time of the others is " \
        "estimated; default: all are simulated") \
    X(sample_warm, "instructions", 0, 1000000, 2000, "with sample_period: of a window, to fill the pipeline") \
    X(sample_measure, "instructions", 1, 1000000, 1000, "... and those that count") \
    X(sample_near, "instructions", 1, 1000000000, 0, \
        "with sample_period: all is seen by caches and predictors for so many instructions before a window, and half as " \
        "many more; what is farther goes in machine code, and only moves data caches and branch predictors; default: no code does") \
    X(branch_table_bits, "bits", 2, 24, 13, "2^n counters of the direction predictor") \
    X(branch_tables, "tables", 2, 8, 8, "branch=tage: tables with tags, each of a fourth as many entries") \
    X(branch_history_bits, "bits", 4, 256, 128, "history of the direction predictor (gshare: up to 63)") \
    X(btb_entries, "branches", 4, 1048576, 4096, "branch target buffer, four ways") \
    X(return_entries, "calls", 1, 64, 16, "return stack") \
    X(indirect_bits, "bits", 2, 20, 9, "2^n targets of indirect jumps")

/* X(name, choices, default, help): the first choice is "as the preset says". */
#define X86_CORE_CHOICES(X) \
    X(core, "preset|ooo|inorder|simple", 0, \
        "out of order, in order with scoreboard, or one instruction a cycle plus its stalls") \
    X(memory, "preset|hierarchy|flat", 1, "caches and DRAM, or every load an L1 hit") \
    X(branch, "preset|tage|gshare|bimodal|always|perfect", 1, \
        "direction predictor; perfect: nor are targets ever unknown") \
    X(sample_branches, "preset|all|near", 1, \
        "with sample_near: branch predictors see all that was executed, or only what is near a window: twice as fast, and wrong " \
        "where what comes again after a long time is learnt by heart") \
    X(fetch_past_taken, "preset|on|off", 1, \
        "with fetch_uops: a cycle in which a taken branch is fetched goes on behind its target") \
    X(fetch_past_line, "preset|on|off", 1, "with fetch_uops: a cycle of fetch goes on in the next line of 64 bytes") \
    X(untaken_branches, "preset|learnt|free", 1, \
        "conditional branches that the target buffer does not know: foreseen and learnt like others, or not to be taken, without a trace") \
    X(smt, "preset|partitioned|shared", 1, "how threads of a core share window and queues while several are active") \
    X(stack_engine, "preset|on|off", 1, "push, pop, call and return wait for no earlier change of the stack pointer") \
    X(move_elimination, "preset|on|off", 1, "register moves that the model calls eliminated take no unit") \
    X(unit_choice, "preset|earliest|turn", 1, \
        "which of several units an instruction takes: the one that is free first, or the next in turn, as at dispatch") \
    X(folded_loads, "preset|split|model", 1, \
        "operations with a load begin it before their other operands are there: always, or where the model says so") \
    X(branch_pairing, "preset|on|off", 1, \
        "in order, with a model in order: a conditional branch may issue in the cycle of what sets its flags") \
    X(result_order, "preset|any|program", 1, \
        "in order: results come in any order, or none before those of older instructions") \
    X(fusion, "preset|off|compare|arithmetic", 1, \
        "an instruction that sets flags and the conditional branch behind it are one micro-op: cmp and test, or add, sub, " \
        "inc, dec, and, or, xor, too") \
    X(memory_renaming, "preset|off|on", 1, \
        "a load of 4 or 8 bytes into an integer register has what a store in the queue has for it as soon as that register has it") \
    X(indirect_history, "preset|path|outcomes", 1, \
        "targets of indirect branches are found by where the last branches went, or by up to 64 outcomes and the last three targets") \
    X(return_underflow, "preset|wrong|around", 1, \
        "a return stack that is empty predicts nothing, or what stood there before") \
    X(replay, "preset|on|off", 1, \
        "repeat what a block did when the core was in the same state before: faster, with the same results") \
    X(partial_writes, "preset|merge|rename", 1, \
        "writes of 8 or 16 bits of a register: do they wait for the rest of it?")

enum { CORE_OOO = 1, CORE_INORDER, CORE_SIMPLE };
enum { MEMORY_HIERARCHY = 1, MEMORY_FLAT };
enum { BRANCH_TAGE = 1, BRANCH_GSHARE, BRANCH_BIMODAL, BRANCH_ALWAYS, BRANCH_PERFECT };
enum { SMT_PARTITIONED = 1, SMT_SHARED };
enum { X86_ON = 1, X86_OFF };
enum { PARTIAL_MERGE = 1, PARTIAL_RENAME };
enum { FUSION_OFF = 1, FUSION_COMPARE, FUSION_ARITHMETIC };
enum { RENAMING_OFF = 1, RENAMING_ON };
enum { BRANCHES_ALL = 1, BRANCHES_NEAR };
enum { HISTORY_PATH = 1, HISTORY_OUTCOMES };
enum { UNDERFLOW_WRONG = 1, UNDERFLOW_AROUND };
enum { UNTAKEN_LEARNT = 1, UNTAKEN_FREE };
enum { UNITS_EARLIEST = 1, UNITS_TURN };
enum { FOLDED_SPLIT = 1, FOLDED_MODEL };
enum { RESULTS_ANY = 1, RESULTS_PROGRAM };

/** What a preset knows better than LLVM's model of its processor: instructions by their opcodes. */
struct x86_correction {
    char opcodes[256];           /* patterns with * and ?, blanks between */
    char units[32];              /* one unit of that resource of the model, instead of all; empty: as the model says */
    int32_t latency, busy, uops; /* cycles, cycles, micro-ops; below 0: as the model says */
    int32_t parts;               /* only of such whose address is computed from so many parts; below 0: of all */
};
enum { X86_CORRECTIONS = 64 };

/** A scheduler of its own for some of the units, instead of the model's queue for all: an entry is of one of them. */
struct x86_unit_queue {
    char units[80];   /* resources of the model, blanks between */
    uint32_t entries; /* from dispatch to issue */
};
enum { X86_UNIT_QUEUES = 8 };

struct x86_config {
#define X(name, unit, least, most, def, help) uint32_t name;
    X86_CORE_NUMBERS(X)
#undef X
#define X(name, choices, def, help) uint32_t name;
    X86_CORE_CHOICES(X)
#undef X
    char mcpu[64];       /* LLVM's name of the processor; "": as the program was compiled */
    char turn_units[64]; /* unit_choice=turn: of these resources of the model, blanks between; empty: of all */
    struct x86_correction corrections[X86_CORRECTIONS]; /* of that processor; the last one that fits counts */
    uint32_t ncorrections;
    struct x86_unit_queue unit_queues[X86_UNIT_QUEUES];
    uint32_t nunit_queues;
};

struct x86_memory_config;

/** x86_config_default() - what there is without a preset */
void x86_config_default(struct x86_config *config);

/**
 * x86_config_preset() - lay a preset over both configurations
 * @name: of a file in share/peet/presets, or a path if it has a slash
 * Returns: 0, or -1 after env->fail()
 */
int x86_config_preset(const struct peet_env *env, const char *name, struct x86_config *config,
    struct x86_memory_config *memory);

#endif
