/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trace trees while they are built: trace_tree.c finds traces, trace_code.c emits their code.
 */
#ifndef PEET_TRACE_TREE_H
#define PEET_TRACE_TREE_H

#include "jit/emitter.h"

enum { NODES = 96, REGISTERS = 16, SIDE_BLOCKS = SURE_CHAIN + CHAIN + 2 };

/** A block that was executed; function NULL: nobody knows what. */
struct peet__sample {
    struct peet__function *function;
    uint64_t word;
    uint32_t index;
    uint32_t next;    /* while the tree grows: another one at the same node, + 1 */
    uint8_t on_trace; /* on a trace; BEGINS: the first of a trace that has code */
};

/** What is counted of a trace. */
struct peet__trace_tree {
    struct peet__trace_tree *next;
    const uint8_t *begin;
    uint64_t missed;        /* so many lines; */
    uint64_t taken, blocks; /* as far as it is settled: so often, and so many on it; */
    uint8_t given_up;       /* too few */
    uint32_t nnodes;
    struct counted {
        uint64_t left; /* so often the trace was left after this node */
        uint32_t parent, nblocks;
        struct {
            struct peet__function *function;
            uint32_t index;
        } blocks[SIDE_BLOCKS];
    } nodes[];
};

/* A block on a trace, with those without a record before it. */
struct node {
    struct peet__function *function;
    uint64_t word;
    uint32_t index, parent, child, sibling; /* 0: none */
    uint32_t count, first, depth;           /* how many samples; the first one, + 1; blocks up to it */
    uint8_t again;                          /* the trace's first block: only what comes before it is done here */
    uint8_t flushed;                        /* after it the followed registers are in memory */
    uint8_t expanded;
    /* After it, since the trace's beginning: */
    struct peet__address regs[REGISTERS]; /* in terms of the registers and words at the beginning */
    uint32_t words, stamps, instructions;
    uint64_t time;
    uint64_t sums[PEET__DIRECT_OBSERVERS][PEET_DIRECT_SUMS]; /* what is counted for observers */
    int32_t last;                                            /* block; of the function */
    /* the last one to where the trace is left after it; each has the one before it */
    uint32_t jumps;
    const uint8_t *exit_code;
};

/* A line that was not found, and that the machine is asked for. */
struct missing {
    uint8_t *from;
    const uint8_t *back;
    struct peet__function *function;
    struct peet__address address; /* where the probe's references begin */
    uint32_t node, site, index, probe, nlooks;
};

/* Bytes that were expected to be aligned, and are not: perhaps in one line after all. */
struct unaligned {
    uint8_t *from;
    const uint8_t *back;
    uint32_t span, node;
};

struct trace_emitter {
    struct emitter m;
    struct peet__sample *samples;
    uint32_t nsamples;
    struct node nodes[NODES]; /* [0]: before the first */
    uint32_t nnodes;
    uint64_t time; /* the most on any trace */
    struct peet__trace_tree *tree;
    const uint8_t *top;
    struct unaligned *unaligned;
    uint32_t nunaligned, cunaligned;
    struct missing *missing;
    uint32_t nmissing, cmissing;
    int failed;
};

/* trace_code.c */
/** peet__trace_can_count() - are there traces while these observers look on? */
int peet__trace_can_count(const struct peet__direct *direct);
/** peet__trace_step() - from a node's parent to the node: blocks without a record between them, then its own.
 * @emit_tree: write code, too Returns: 0, or -1: it cannot be on a trace */
int peet__trace_step(struct trace_emitter *p, uint32_t node, int emit_tree);
/** After the node all registers are in memory. */
void peet__trace_settle_node(struct node *node);
/** Code for the trace; it takes over from its first block's if there is room for it. */
void peet__trace_emit(struct trace_emitter *p);
/** Whoever goes to the block goes there from now on; @top: with what padding before it does after him. */
void peet__trace_take_over(struct peet__direct_function *compiled, uint32_t index, const uint8_t *begin,
    const uint8_t *top);

#endif
