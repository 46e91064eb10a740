/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constructors of shared objects run before __libc_start_main(), on the kernel's stack, before there is a
 * host.  Their words are kept, cut at every check, and become the first words of the main context.
 */
#include "internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPTURE_BYTES (256ul << 20) /* reserved; less where memory is limited */
#define CAPTURE_BYTES_LEAST (4ul << 20)
#define BOUNDARIES_MAX (capture_bytes / sizeof(uint64_t) / 8)

static size_t capture_bytes = CAPTURE_BYTES;

static uint64_t *words, *end;    /* captured */
static uint32_t *boundaries;     /* word indices: record ends at which a copy may be cut */
static size_t nboundaries, next; /* next to be replayed */
static int lost;

static void *reserve(uint64_t wish, size_t bytes)
{
    long at =
        syscall(SYS_mmap, wish, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == -1 ? NULL : (void *)at;
}

void peet__capture_begin(void)
{
    struct rlimit space;
    while (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur / 16 < capture_bytes &&
        capture_bytes > CAPTURE_BYTES_LEAST)
        capture_bytes /= 2;
    words = reserve(PEET__CAPTURE_BASE, capture_bytes);
    boundaries = reserve(PEET__CAPTURE_BASE + CAPTURE_BYTES, BOUNDARIES_MAX * sizeof *boundaries);
    if (!words || !boundaries)
        peet__die(1, "no address space to record the constructors of shared objects");
    end = words;
    peet__rt.capturing = 1;
    peet__ctl->stub = (void *)peet__stub_full;
    peet__control_hooks(1);
    peet__ctl->cursor = words;
    peet__ctl->limit = words + 1;
}

void peet__capture_boundary(void)
{
    uint64_t *cursor = peet__ctl->cursor;
    /* Every check that has words behind it shall come by; but not again at once, when it looks anew. */
    peet__ctl->limit = cursor + 1;
    if (cursor == end)
        return;
    if (lost || (size_t)(cursor - words) > capture_bytes / sizeof *words - 4 * PEET_RAW_SLACK_WORDS ||
        nboundaries == BOUNDARIES_MAX) {
        lost = 1;
        peet__ctl->cursor = end;
        peet__ctl->limit = end + 1;
        return;
    }
    end = cursor;
    boundaries[nboundaries++] = (uint32_t)(cursor - words);
}

void peet__capture_end(void)
{
    peet__capture_boundary();
    peet__rt.capturing = 0;
    if (lost)
        peet__report("constructors of shared objects record more than %lu MiB: the rest of them is not observed",
            capture_bytes >> 20);
    peet__park_cursor();
}

int peet__capture_replay(uint64_t *to, uint64_t *limit, uint64_t **out_end)
{
    if (next == nboundaries)
        return 0;
    uint64_t *room_end = limit + PEET_RAW_SLACK_WORDS, *at = to;
    do {
        size_t begin = next ? boundaries[next - 1] : 0;
        size_t n = boundaries[next] - begin;
        if (n > (size_t)(room_end - at))
            break;
        memcpy(at, words + begin, n * sizeof *at);
        at += n;
    } while (++next < nboundaries && at < limit);
    if (at == to)
        peet__die(1, "internal error: %u words between two checks in a constructor",
            boundaries[next] - (next ? boundaries[next - 1] : 0));
    if (next == nboundaries) {
        munmap(words, capture_bytes);
        munmap(boundaries, BOUNDARIES_MAX * sizeof *boundaries);
    }
    *out_end = at;
    return 1;
}
