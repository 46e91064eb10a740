/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that are stored as they are: zstd itself reads them, and sees when a byte is not what it was.  Recordings of
 * words that stay where they are until the recorder has been told to settle: they are read again, also if their memory
 * is written over after that, mixed with slices, states and answers that are copied.
 */
#include "trace/frames.h"
#include "trace/recording.h"
#include "trace/stored.h"

#include <peet/error.h>
#include <peet/raw.h>

#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { MOST = 6 << 20, PIECES = 100 };

static uint8_t raw[MOST], elsewhere[MOST], all[MOST], written[MOST + 4096], read_again[MOST];
static uint64_t seed = 1;

static uint64_t number(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 24;
}

/** @used: so many bytes are used already: the longest ones come while there is room */
static size_t length(size_t used)
{
    static const size_t lengths[] = {0, 1, 3, 4096, 131071, 131072, 131073, 262144};

    return used > MOST / 4 || number() % 3 ? number() % 9000 : lengths[number() % 8];
}

/** A frame of @nraw bytes that stand together and of pieces.  Returns: its bytes, in `written`; @out_n: of `all` */
static size_t make(size_t nraw, size_t npieces, size_t *out_n)
{
    struct peet__lent lent[PIECES];
    struct peet__stored stored;
    size_t at = 0, from = 0, n = 0, bytes = 0;

    for (size_t i = 0; i < npieces; i++) {
        const size_t next = i + 1 == npieces && number() % 2 ? nraw : at + number() % (nraw - at + 1) / 2;

        lent[i] = (struct peet__lent){next, elsewhere + from, length(from)};
        memcpy(all + n, raw + at, next - at);
        n += next - at;
        memcpy(all + n, lent[i].bytes, lent[i].n);
        n += lent[i].n;
        from += lent[i].n;
        at = next;
    }
    memcpy(all + n, raw + at, nraw - at);
    *out_n = n + nraw - at;
    peet__stored_frame(&stored, 7, raw, nraw, lent, npieces);
    for (int i = 0; i < stored.nparts; i++) {
        memcpy(written + bytes, stored.parts[i].iov_base, stored.parts[i].iov_len);
        bytes += stored.parts[i].iov_len;
    }
    return bytes;
}

static void test_frames(void)
{
    for (size_t i = 0; i < MOST; i++) {
        raw[i] = (uint8_t)number();
        elsewhere[i] = (uint8_t)number();
    }
    for (unsigned k = 0; k < 300; k++) {
        size_t n;
        const size_t bytes = make(length(0) + 1, k % 50, &n), packed = bytes - PEET__FRAME_HEAD_BYTES;
        uint32_t head[6];
        size_t place;

        memcpy(head, written, sizeof head);
        CU_ASSERT(head[0] == PEET__FRAME && head[1] == 16 && head[2] == packed && head[3] == n && head[4] == 7);
        CU_ASSERT_FATAL(ZSTD_decompress(read_again, sizeof read_again, written + PEET__FRAME_HEAD_BYTES, packed) == n);
        CU_ASSERT_FATAL(!memcmp(read_again, all, n));
        CU_ASSERT(ZSTD_findFrameCompressedSize(written + PEET__FRAME_HEAD_BYTES, packed) == packed);
        place = PEET__FRAME_HEAD_BYTES + number() % packed;
        written[place] ^= (uint8_t)(1u << number() % 8);
        n = ZSTD_decompress(read_again, sizeof read_again, written + PEET__FRAME_HEAD_BYTES, packed);
        CU_ASSERT(ZSTD_isError(n));
    }
}

/* -------------------------------------------------------------------------------------- recordings */

enum { SLICES = 400, SLICE_WORDS = 30000, STREAMS = 3 };

/** The words of a slice, which depend on nothing but its number. */
static size_t words_of(unsigned slice, uint64_t *words)
{
    const size_t n = slice % 7 == 3 ? 100 : slice % 5 == 1 ? SLICE_WORDS : 9000;
    const uint64_t before = seed;

    seed = slice;
    for (size_t i = 0; i < n; i++)
        words[i] = slice % 3 == 2 ? i % 5 : i % 2 ? number() % 4096 : ~(uint64_t)0 << 32 | (uint32_t)(number() % 30);
    seed = before;
    return n;
}

static void record(const char *path)
{
    static uint64_t words[SLICE_WORDS];
    const size_t room = peet_pack_bytes(SLICE_WORDS);
    struct peet_recorder *recorder;
    struct peet_packer *packer;
    struct peet_error error = {0};
    uint8_t *memory = malloc(8 * room);
    uint32_t stream;
    unsigned used = 0;

    CU_ASSERT_FATAL(memory && peet_recorder_open(path, "{}", 0, &recorder, &error) == 0);
    CU_ASSERT_FATAL(peet_packer_new(1, &packer) == 0);
    for (unsigned i = 0; i < STREAMS; i++)
        peet_recorder_stream(recorder, &(struct peet_stream_info){.kind = i ? PEET_STREAM_THREAD : PEET_STREAM_MAIN},
            &stream);
    for (unsigned i = 0; i < SLICES; i++) {
        const struct peet_slice slice = {.result = i, .cycle = 10 * i, .words = words, .n = words_of(i, words)};
        struct peet_packed_words packed;

        if (i % 11 == 5)
            peet_recorder_answer(recorder, &(struct peet_recorded_answer){1, i, 2, 3});
        if (i % 13 == 5)
            peet_recorder_state(recorder, i % STREAMS, words, i % 2 ? 20 : 2000, i);
        if (i % 7 == 3) {
            peet_recorder_slice(recorder, i % STREAMS, &slice, i);
            continue;
        }
        peet_pack_at(packer, words, slice.n, memory + used * room, &packed);
        packed.stays = 1;
        peet_recorder_packed_slices(recorder, i % STREAMS, &slice, 1, i, &packed);
        if (++used == 8) {
            CU_ASSERT(peet_recorder_settle(recorder) == 0);
            memset(memory, 0x5a, 8 * room);
            used = 0;
        }
    }
    CU_ASSERT(peet_recorder_close(recorder, "{}", &error) == 0);
    peet_packer_free(packer);
    free(memory);
}

static void test_recordings(void)
{
    static uint64_t words[SLICE_WORDS];
    char path[] = "/tmp/peet-stored-XXXXXX";
    struct peet_recording *recording;
    struct peet_error error = {0};
    const int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    record(path);
    CU_ASSERT_FATAL(peet_recording_open(path, &recording, &error) == 0);
    CU_ASSERT(peet_recording_complete(recording));
    CU_ASSERT(peet_recording_check(recording, &error) == 0);
    for (unsigned s = 0; s < STREAMS; s++) {
        struct peet_slices *slices;
        struct peet_slice slice;

        CU_ASSERT_FATAL(peet_slices_open(recording, s, &slices, &error) == 0);
        for (unsigned i = s; i < SLICES; i += STREAMS) {
            CU_ASSERT_FATAL(peet_slices_next(slices, &slice, &error) == 1);
            CU_ASSERT(slice.result == i && slice.cycle == 10 * i && slice.n == words_of(i, words));
            CU_ASSERT_FATAL(!memcmp(slice.words, words, slice.n * sizeof *words));
        }
        CU_ASSERT(peet_slices_next(slices, &slice, &error) == 0);
        peet_slices_close(slices);
    }
    peet_recording_free(recording);
    unlink(path);
}

int main(void)
{
    CU_pSuite suite;
    unsigned failures;

    CU_initialize_registry();
    suite = CU_add_suite("stored", NULL, NULL);
    CU_add_test(suite, "frames", test_frames);
    CU_add_test(suite, "recordings", test_recordings);
    CU_basic_run_tests();
    failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failures != 0;
}
