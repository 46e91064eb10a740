/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races of random runs against a model that knows no clocks: all events of a run as nodes of a graph, what each one
 * waits for as edges, and two accesses race if neither is reached from the other.  Threads come and end; locks,
 * semaphores, barriers, atomic variables of all orders; words that are referenced in parts.  The words with races
 * must be the same.
 */
#include <jansson.h>
#include <peet/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/stats.h"
#include "rig_folder.h"
#include "run_suite.h"

enum { WORDS = 12, ATOMS = 3, LOCKS = 3, SEMAPHORES = 2, CONTEXTS = 6, NODES = 700, RUNS = 1500, KINDS = 3, PARTS = 4 };
enum {
    WORD_BYTES = 8,
    LINES_A_WORD = 64,
    BASE = 0x10000,
    LOCK_BASE = 0x50000,
    BARRIER = 0x60000,
    SEMAPHORE_BASE = 0x70000
};

static uint64_t seed;
static unsigned below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 20) % n;
}

/* ------------------------------------------------------------------------------------------ the host */

static struct peet_data rest = {
    .name = "rest", .kind = PEET_DATA_REST, .type = "", .file = "", .function = "", .path = ""};
static unsigned failures;

static void fail(const struct peet_env *env, const char *format, ...)
{
    (void)env;
    (void)format;
    failures++;
}

static const struct peet_data *data_of(const struct peet_env *env, uint64_t address, struct peet_data_object *object)
{
    (void)env;
    if (object)
        *object = (struct peet_data_object){address, 1, 0};
    return &rest;
}

static uint64_t member(const struct peet_env *env, const struct peet_data *data, uint64_t offset, char *out,
    size_t room)
{
    (void)env;
    (void)data;
    (void)offset;
    (void)room;
    *out = 0;
    return 0;
}

static struct peet_env env = {.abi = PEET_MODULE_ABI,
    .struct_size = sizeof env,
    .cores = 1,
    .hw_contexts = 1,
    .fail = fail,
    .data_of = data_of,
    .data_member = member};
static void *self;

static const struct peet_opcode opcode = {.name = "MOV64rm", .mnemonic = "mov", .klass = PEET_INSN_MOVE};
static const struct peet_function function = {.name = "f", .file = "f.c", .image = "f"};

static void access_memory(uint32_t context, uint64_t address, uint32_t bytes, int kind, int order, uint32_t line)
{
    const struct peet_insn insn = {.opcode = &opcode, .line = line, .nrefs = 1};
    const struct peet_ref ref = {.size_bytes = (uint16_t)bytes,
        .kind = (uint8_t)kind,
        .order = (uint8_t)order,
        .flags = order ? PEET_REF_ATOMIC : 0};
    const struct peet_block block = {.function = &function,
        .id = ((line * PARTS + (uint32_t)__builtin_ctz(bytes)) * KINDS + (uint32_t)kind) * 2 + (order != 0),
        .flags = PEET_BLOCK_SIMPLE,
        .ninsns = 1,
        .nrefs = 1,
        .nvalues = 1,
        .insns = &insn,
        .refs = &ref};
    const struct peet_block_event event = {&block, &address, context, 1, NULL};
    peet_module.block(self, 0, &event, 0);
}

static void tell(uint32_t context, uint32_t type, uint64_t a, uint64_t b, uint64_t c, uint64_t f)
{
    const uint64_t args[] = {a, b, c, 4096, 0, f};
    const struct peet_abstract_event event = {type, context, 6, args};
    peet_module.abstract(self, 0, &event, 0);
}

/* ------------------------------------------------------------------------------------------ the model */

struct node {
    uint64_t before[NODES / 64 + 1]; /* all from which it is reached */
    uint32_t strand, word, from, bytes;
    uint8_t is_access, writes, atomic;
};
static struct node nodes[NODES];
static unsigned nnodes;
static int last[CONTEXTS];                  /* of each context; -1: none */
static uint32_t strand[CONTEXTS], nstrands; /* threads that have one number after another */

static void reach(unsigned to, int from)
{
    if (from < 0)
        return;
    for (unsigned i = 0; i < sizeof nodes->before / sizeof *nodes->before; i++)
        nodes[to].before[i] |= nodes[from].before[i];
    nodes[to].before[from / 64] |= 1ull << (from % 64);
}

static unsigned node(uint32_t context)
{
    memset(&nodes[nnodes], 0, sizeof *nodes);
    nodes[nnodes].strand = strand[context];
    reach(nnodes, last[context]);
    last[context] = (int)nnodes;
    return nnodes++;
}

static int races_with(const struct node *a, const struct node *b, unsigned a_number)
{
    return a->is_access && b->is_access && a->word == b->word && a->strand != b->strand && (a->writes || b->writes) &&
        !(a->atomic && b->atomic) && a->from < b->from + b->bytes && b->from < a->from + a->bytes &&
        !(b->before[a_number / 64] >> (a_number % 64) & 1);
}

/* ------------------------------------------------------------------------------------------ random runs */

static int alive[CONTEXTS], ended[CONTEXTS];
static int holder[LOCKS], released[LOCKS];
static unsigned tokens[SEMAPHORES];
static int posts[SEMAPHORES][NODES], nposts[SEMAPHORES];
static int heads[ATOMS][NODES], nheads[ATOMS]; /* whoever acquires the atom comes after these */

static void plain(uint32_t c)
{
    const uint32_t word = below(WORDS), part = below(PARTS), bytes = 1u << part, kind = below(KINDS);
    const uint32_t from = below(WORD_BYTES / bytes) * bytes;
    struct node *const n = &nodes[node(c)];
    n->word = word;
    n->from = from;
    n->bytes = bytes;
    n->is_access = 1;
    n->writes = kind != PEET_REF_LOAD;
    access_memory(c, BASE + word * WORD_BYTES + from, bytes, (int)kind, PEET_ORDER_NONE,
        1 + word * LINES_A_WORD + below(20));
}

/* Words of atoms are behind the others; now and then an atom is referenced without being atomic. */
static void atomic(uint32_t c)
{
    const uint32_t atom = below(ATOMS), word = WORDS + atom, kind = below(KINDS);
    const int order = below(8) ? PEET_ORDER_RELAXED + (int)below(PEET_ORDERS - PEET_ORDER_RELAXED) : PEET_ORDER_NONE;
    const int acquires = order == PEET_ORDER_ACQUIRE || order >= PEET_ORDER_ACQ_REL;
    const int releases = order == PEET_ORDER_RELEASE || order >= PEET_ORDER_ACQ_REL;
    const unsigned at = node(c);
    struct node *const n = &nodes[at];
    n->word = word;
    n->bytes = WORD_BYTES;
    n->is_access = 1;
    n->writes = kind != PEET_REF_LOAD;
    n->atomic = order != PEET_ORDER_NONE;
    if (kind != PEET_REF_STORE && acquires)
        for (int i = 0; i < nheads[atom]; i++)
            reach(at, heads[atom][i]);
    if (kind == PEET_REF_STORE && order)
        nheads[atom] = 0;
    if (kind != PEET_REF_LOAD && releases)
        heads[atom][nheads[atom]++] = (int)at;
    access_memory(c, BASE + word * WORD_BYTES, WORD_BYTES, (int)kind, order,
        1 + word * LINES_A_WORD + (order ? 20 : 0) + below(20));
}

static void lock(uint32_t c)
{
    const unsigned l = below(LOCKS);
    if (holder[l] == (int)c) {
        released[l] = (int)node(c);
        holder[l] = -1;
        tell(c, PEET_ABSTRACT_MUTEX_UNLOCK, LOCK_BASE + l * 64, 0, 0, 0);
    } else if (holder[l] < 0) {
        reach(node(c), released[l]);
        holder[l] = (int)c;
        tell(c, below(2) ? PEET_ABSTRACT_MUTEX_LOCK : PEET_ABSTRACT_MUTEX_TRYLOCK, LOCK_BASE + l * 64, 0, PEET_NEVER,
            0);
    }
}

static void semaphore(uint32_t c)
{
    const unsigned s = below(SEMAPHORES);
    if (below(2)) {
        posts[s][nposts[s]++] = (int)node(c);
        tokens[s]++;
        tell(c, PEET_ABSTRACT_SEM_POST, SEMAPHORE_BASE + s * 64, 1, 0, 0);
    } else if (tokens[s]) {
        const unsigned at = node(c);
        tokens[s]--;
        for (int i = 0; i < nposts[s]; i++)
            reach(at, posts[s][i]);
        tell(c, PEET_ABSTRACT_SEM_WAIT, SEMAPHORE_BASE + s * 64, PEET_NEVER, 0, 0);
    }
}

/* All that are there, in any order; then they go on, in any order. */
static void barrier(void)
{
    int arrived[CONTEXTS], n = 0;
    for (uint32_t c = 0; c < CONTEXTS; c++)
        if (alive[c])
            arrived[n++] = (int)c;
    for (int i = n - 1; i > 0; i--) {
        const int other = (int)below((unsigned)i + 1), kept = arrived[i];
        arrived[i] = arrived[other];
        arrived[other] = kept;
    }
    int came[CONTEXTS];
    for (int i = 0; i < n; i++) {
        came[i] = (int)node((uint32_t)arrived[i]);
        tell((uint32_t)arrived[i], PEET_ABSTRACT_BARRIER_WAIT, BARRIER, (uint64_t)n, 0, 0);
    }
    for (int i = 0; i < n; i++) {
        const unsigned at = node((uint32_t)arrived[i]);
        for (int k = 0; k < n; k++)
            reach(at, came[k]);
    }
}

static void thread(uint32_t c)
{
    const uint32_t other = 1 + below(CONTEXTS - 1);
    if (other == c)
        return;
    if (!alive[other] && !ended[other]) {
        const int at = (int)node(c);
        tell(c, PEET_ABSTRACT_THREAD_CREATE, 0, 0x900000 + other * 0x10000, 0, other);
        alive[other] = 1;
        strand[other] = nstrands++;
        last[other] = at;
    } else if (alive[other] && !below(4)) {
        for (unsigned l = 0; l < LOCKS; l++)
            if (holder[l] == (int)other)
                return;
        node(other);
        tell(other, PEET_ABSTRACT_CONTEXT_EXIT, 0, 0, 0, 0);
        alive[other] = 0;
        ended[other] = 1;
    } else if (ended[other]) {
        reach(node(c), last[other]);
        tell(c, PEET_ABSTRACT_THREAD_JOIN, other, PEET_NEVER, 0, 0);
        ended[other] = 0; /* its number may be another thread's */
    }
}

static void run(unsigned steps)
{
    nnodes = 0;
    memset(alive, 0, sizeof alive);
    memset(ended, 0, sizeof ended);
    memset(tokens, 0, sizeof tokens);
    memset(nposts, 0, sizeof nposts);
    memset(nheads, 0, sizeof nheads);
    nstrands = 1;
    strand[0] = 0;
    for (unsigned i = 0; i < CONTEXTS; i++)
        last[i] = -1;
    for (unsigned i = 0; i < LOCKS; i++)
        holder[i] = released[i] = -1;
    alive[0] = 1;
    for (unsigned i = 0; i < steps && nnodes + 3 * CONTEXTS < NODES; i++) {
        const uint32_t c = below(CONTEXTS);
        if (!alive[c])
            continue;
        switch (below(12)) {
        case 0 ... 3:
            plain(c);
            break;
        case 4 ... 5:
            atomic(c);
            break;
        case 6 ... 7:
            lock(c);
            break;
        case 8:
            semaphore(c);
            break;
        case 9:
            if (!below(6))
                barrier();
            break;
        default:
            thread(c);
        }
    }
}

static unsigned expected(uint8_t *racy)
{
    unsigned n = 0;
    for (unsigned b = 0; b < nnodes; b++)
        for (unsigned a = 0; a < b; a++)
            if (races_with(&nodes[a], &nodes[b], a) && !racy[nodes[a].word]) {
                racy[nodes[a].word] = 1;
                n++;
            }
    return n;
}

static void test_random(void)
{
    unsigned with = 0, without = 0;
    peet_stats_install(&env);
    env.output_dir = rig_folder();
    for (unsigned r = 0; r < RUNS; r++) {
        const union peet_value values[] = {{.u64 = 100000}, {.u64 = 0}};
        uint8_t racy[WORDS + ATOMS] = {0}, found[WORDS + ATOMS] = {0};
        seed = 88172645463325252ull + r * 7919;
        self = peet_module.create(&env, values);
        CU_ASSERT_FATAL(self != NULL);
        run(20 + below(500));
        const unsigned n = expected(racy);
        json_t *const stats = json_object();
        peet_module.stats(self, &env, peet_stats_node(stats));
        size_t i;
        json_t *one;
        json_array_foreach(json_object_get(stats, "list"), i, one)
        {
            const uint64_t at = strtoull(json_string_value(json_object_get(one, "address")), NULL, 16);
            found[(at - BASE) / WORD_BYTES] = 1;
        }
        if (memcmp(racy, found, sizeof racy) != 0) {
            for (unsigned w = 0; w < WORDS + ATOMS; w++)
                if (racy[w] != found[w])
                    printf("run %u: word %u: expected %u, found %u\n", r, w, racy[w], found[w]);
            CU_FAIL("other words have races");
        }
        with += n != 0;
        without += n < (WORDS + ATOMS) / 2;
        json_decref(stats);
        peet_module.destroy(self);
    }
    CU_ASSERT(failures == 0);
    CU_ASSERT(with > RUNS / 2);
    CU_ASSERT(without > RUNS / 20);
}

int main(void)
{
    CU_TestInfo tests[] = {{"random runs have the races of a graph", test_random}, CU_TEST_INFO_NULL};
    return run_suite("races", tests);
}
