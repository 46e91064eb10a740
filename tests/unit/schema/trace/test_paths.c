/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign code in a recording: what was described comes back as it was, and equal parts are in the file once.  With any byte of it
 * changed, or cut off anywhere, it is read as something else or refused with a message, and every path that it has can be added.
 */
#include "trace/code.h"
#include "trace/paths.h"
#include "trace/recording.h"

#include <peet/error.h>

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD = 0x70000000, PATHS = 3 };

static const struct peet_opcode load = {"MOV64rm", "mov", 1, 250, 1, 0, PEET_INSN_MOVE, 0},
                                copy = {"REP_MOVSB_64", "movs", 1, 250, 1, 0, PEET_INSN_STRING, 3};
static const uint8_t regs[] = {0, 7, 48};
static const struct peet_insn insns[] = {
    {.pc = 0x401000,
        .opcode = &load,
        .length_bytes = 4,
        .nrefs = 1,
        .nreads = 1,
        .nwrites = 1,
        .naddresses = 1,
        .regs = regs},
    {.pc = 0x401004,
        .opcode = &copy,
        .length_bytes = 2,
        .flags = PEET_INSN_REP,
        .first_ref = 1,
        .nrefs = 1,
        .nreads = 3,
        .regs = regs},
};
static const struct peet_ref refs[] = {
    {.insn = 0, .size_bytes = 8, .value = 0, .kind = PEET_REF_LOAD},
    {.insn = 1, .size_bytes = 1, .flags = PEET_REF_RANGE, .value = 1, .kind = PEET_REF_STORE, .order = 1, .group = 2},
};
static const struct peet_foreign_value values[2][3] = {
    {{.disp = (uint64_t)-24, .slot = {0, -1}}, {.disp = 0x7ffff7ff0000, .slot = {0, 1}, .multiplier = -8},
        {.slot = {1, -1}}},
    {{.disp = 8, .slot = {2, -1}, .fs = 1}, {.slot = {3, 1}, .multiplier = 4}, {.slot = {0, -1}}},
};
static struct peet_foreign_function function = {"memcpy", "libc.so.6", 0x401000, 32, NULL};

static struct peet_foreign_block block(unsigned number, uint32_t nslots)
{
    return (struct peet_foreign_block){.pc = 0x401000,
        .function = &function,
        .insns = insns,
        .refs = refs,
        .values = values[number],
        .ninsns = 2,
        .nrefs = 2,
        .nvalues = 3,
        .code_bytes = 6,
        .nslots = nslots};
}

/** Three paths: of one block, of two, and of two with another record; all blocks have one body. */
static struct peet__bytes describe(void)
{
    const struct peet_foreign_block path[] = {block(0, 2), block(1, 4)}, other[] = {block(0, 2), block(0, 3)};
    struct peet_path_writer *w;
    struct peet__bytes items = {0};
    size_t first;

    CU_ASSERT_FATAL(!peet_path_writer_new(&w));
    CU_ASSERT_FATAL(!peet_path_describe(w, WORD, path, 1, &items));
    first = items.n;
    CU_ASSERT_FATAL(!peet_path_describe(w, WORD + 4, path, 2, &items));
    CU_ASSERT(items.n - first < first);
    CU_ASSERT_FATAL(!peet_path_describe(w, WORD + 8, other, 2, &items));
    peet_path_writer_free(w);
    return items;
}

/** A recording of these items.  Returns: NULL: it could not be read, and an error says so */
static struct peet_recording *record(const uint8_t *items, size_t n, struct peet_program *program)
{
    char path[] = "paths.XXXXXX";
    const int fd = mkstemp(path);
    struct peet_recorder *to;
    struct peet_recording *from = NULL;
    struct peet_error error = {0, ""};

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    CU_ASSERT_FATAL(!peet_recorder_open(path, "{}", 0, &to, &error));
    if (n)
        peet_recorder_paths(to, items, n);
    CU_ASSERT_FATAL(!peet_recorder_close(to, "{}", &error));
    CU_ASSERT_FATAL(!peet_recording_open(path, &from, &error));
    unlink(path);
    if (peet_recording_add_code(from, program, &error) < 0) {
        CU_ASSERT(error.message[0] != 0);
        peet_recording_free(from);
        return NULL;
    }
    return from;
}

/** Adds all paths.  Returns: how many there were */
static int add_all(struct peet_recording *from, struct peet_program *program)
{
    struct peet_error error = {0, ""};
    int n = 0;

    for (uint64_t k = 0; k < PATHS; k++) {
        const int added = peet_recording_add_path(from, program, WORD + 4 * k, &error);

        CU_ASSERT(added >= 0);
        n += added;
    }
    CU_ASSERT(!peet_recording_add_path(from, program, WORD + 4 * PATHS, &error));
    return n;
}

struct seen {
    uint64_t addresses[8];
    unsigned n, blocks;
};

/** What a decoder makes of a record of the second path. */
static struct seen decode(struct peet_program *program)
{
    const uint64_t words[] = {WORD + 4, 1000, 3, 5000, 70};
    uint64_t room[sizeof words / sizeof *words + PEET_DECODE_ROOM_WORDS] = {0};
    const uint64_t *at = room, *end = room + sizeof words / sizeof *words;
    struct peet_decode_state *state;
    struct peet_error error = {0, ""};
    struct peet_event event;
    struct seen s = {{0}, 0, 0};

    memcpy(room, words, sizeof words);
    CU_ASSERT_FATAL(!peet_decode_state_new(program, 0, 1 << 20, &state));
    while (peet_decode_next(state, &at, end, 1, &event, &error) == PEET_EVENT_BLOCK) {
        const struct peet_block *b = event.block.block;

        CU_ASSERT(!strcmp(b->function->name, "memcpy") && !strcmp(b->function->image, "libc.so.6"));
        CU_ASSERT_FATAL(b->ninsns == 2 && b->nrefs == 2 && b->nvalues == 3);
        CU_ASSERT(!strcmp(b->insns[1].opcode->name, "REP_MOVSB_64") && b->insns[1].opcode->variant == 3);
        CU_ASSERT(b->insns[1].pc == 0x401004 && b->insns[1].flags == PEET_INSN_REP && b->insns[1].nreads == 3);
        CU_ASSERT(!memcmp(b->insns[1].regs, regs, sizeof regs) && !memcmp(b->refs, refs, sizeof refs));
        for (unsigned k = 0; k < 3 && s.n < 8; k++)
            s.addresses[s.n++] = event.block.values[k];
        s.blocks++;
    }
    peet_decode_state_free(state);
    return s;
}

static void comes_back(void)
{
    static const uint64_t expected[] = {
        1000 - 24, 0x7ffff7ff0000 + 1000 - 24, 3, 5000 + 8 + (1 << 20), 70 + 3 * 4, 1000};
    struct peet__bytes items = describe();
    struct peet_program *program;
    struct peet_recording *from;
    struct seen s;

    CU_ASSERT_FATAL(!peet_program_new(&program));
    from = record(items.at, items.n, program);
    CU_ASSERT_FATAL(from != NULL);
    CU_ASSERT(add_all(from, program) == PATHS);
    s = decode(program);
    CU_ASSERT(s.blocks == 2 && s.n == 6);
    for (unsigned k = 0; k < 6; k++)
        CU_ASSERT(s.addresses[k] == expected[k]);
    peet_program_free(program);
    peet_recording_free(from);
    peet__bytes_fini(&items);
}

static void damaged(const uint8_t *items, size_t n)
{
    struct peet_program *program;
    struct peet_recording *from;

    CU_ASSERT_FATAL(!peet_program_new(&program));
    if ((from = record(items, n, program)) != NULL)
        CU_ASSERT(add_all(from, program) <= PATHS);
    peet_program_free(program);
    if (from)
        peet_recording_free(from);
}

static void hostile(void)
{
    static const uint8_t changes[] = {0x00, 0x01, 0x7f, 0xff};
    struct peet__bytes items = describe();

    for (size_t at = 0; at < items.n; at++) {
        const uint8_t was = items.at[at];

        damaged(items.at, at);
        for (unsigned k = 0; k < sizeof changes; k++) {
            items.at[at] = changes[k];
            damaged(items.at, items.n);
        }
        items.at[at] = was;
    }
    peet__bytes_fini(&items);
}

int main(void)
{
    CU_pSuite suite;

    CU_initialize_registry();
    suite = CU_add_suite("foreign code in recordings", NULL, NULL);
    CU_add_test(suite, "comes back as it was", comes_back);
    CU_add_test(suite, "damaged", hostile);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    return CU_get_number_of_failures() != 0;
}
