/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the readers of traces.  The first byte chooses: 0..3 a format of others; else a recording, whose frames the fuzzer gives decompressed, since it would
 * not find a checksum: they are compressed here.
 */
#include "trace/code.h"
#include "trace/frames.h"
#include "trace/insns.h"
#include "trace/paths.h"
#include "trace/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file(void)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

static void put(int fd, const void *bytes, size_t n)
{
    if (write(fd, bytes, n) != (ssize_t)n)
        abort();
}

static void foreign(const char *path, const char *format)
{
    struct peet_insn_reader *reader;
    struct peet_traced_insn insn;
    struct peet_error error = {0};
    int got;

    if (peet_insn_reader_open(path, format, &reader, &error))
        abort();
    while ((got = peet_insn_read(reader, &insn, &error)) > 0)
        if (insn.nrefs > PEET_TRACED_REFS)
            abort();
    if (got < 0 && !error.message[0])
        abort();
    peet_insn_reader_close(reader);
}

/** States of the decoder, as the file has them, and as reading goes on from them. */
static void states(struct peet_recording *r, struct peet_program *program)
{
    struct peet_stream_insns *insns;
    struct peet_traced_insn insn;
    struct peet_error error = {0};

    for (uint32_t s = 0; s < peet_recording_nstreams(r) && s < 16; s++)
        for (uint64_t from = 0; from < 3; from++) {
            if (peet_stream_insns_open(r, program, s, &insns, &error)) {
                if (!error.message[0])
                    abort();
                continue;
            }
            if (!peet_stream_insns_skip(insns, from << 20, &error))
                for (int i = 0; i < 1000 && peet_stream_insns_next(insns, &insn, &error) > 0; i++)
                    ;
            peet_stream_insns_close(insns);
        }
}

/** Any word may be one of foreign code's. */
static int add_path(void *arg, struct peet_program *program, uint64_t word)
{
    struct peet_error error = {0};

    return peet_recording_add_path(arg, program, word, &error);
}

static void code(struct peet_recording *r)
{
    struct peet_program *program;
    struct peet_error error = {0};

    if (peet_program_new(&program))
        abort();
    if (peet_recording_add_code(r, program, &error) < 0 && !error.message[0])
        abort();
    peet_program_set_rescan(program, add_path, r);
    states(r, program);
    peet_program_free(program);
}

static void recording(const char *path)
{
    struct peet_recording *r;
    struct peet_error error = {0};

    if (peet_recording_open(path, &r, &error)) {
        if (!error.message[0])
            abort();
        return;
    }
    if (peet_recording_check(r, &error) && !error.message[0])
        abort();
    for (uint32_t s = 0; s < peet_recording_nstreams(r); s++)
        (void)peet_recording_words(r, s);
    code(r);
    peet_recording_free(r);
}

/** A head, a frame with a description, and a frame of the fuzzer's. */
static void frames(int fd, const uint8_t *data, size_t size)
{
    static const uint32_t head[] = {PEET__HEAD, 8};
    static char packed[1 << 17];
    const struct peet__entry description = {
        .kind = PEET__ENTRY_DESCRIPTION, .first = PEET_RECORDING_VERSION, .offset = sizeof description, .bytes = 3};
    uint8_t first[sizeof description + 3];

    put(fd, head, sizeof head);
    put(fd, PEET__HEAD_MAGIC, 8);
    memcpy(first, &description, sizeof description);
    memcpy(first + sizeof description, "{}", 3);
    for (int i = 0; i < 2; i++) {
        const void *raw = i ? (const void *)data : first;
        const size_t n = i ? size : sizeof first, got = ZSTD_compress(packed, sizeof packed, raw, n, 1);
        const uint32_t frame[] = {
            PEET__FRAME, 16, (uint32_t)got, (uint32_t)n, i ? (uint32_t)(size ? data[0] % 8 : 0) : 1, 0};

        if (ZSTD_isError(got))
            abort();
        put(fd, frame, sizeof frame);
        put(fd, packed, got);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = file();
    char path[64];

    if (size < 2 || size > 1 << 16)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (data[0] < 4) {
        put(fd, data + 1, size - 1);
        foreign(path, peet_insn_formats[data[0]]);
    } else if (data[0] & 1) {
        put(fd, data + 1, size - 1);
        recording(path);
    } else {
        frames(fd, data + 1, size - 1);
        recording(path);
    }
    return 0;
}
