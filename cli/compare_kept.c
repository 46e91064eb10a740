/* SPDX-License-Identifier: Apache-2.0 */
/* See compare_kept.h.  The file is a sequence of pieces, each after three numbers: elements, bytes of codes, bytes of
 * literals. */
#include "compare_kept.h"

#include "trace/recording.h"

#include <limits.h>
#include <peet/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 64 * 1024 };

struct peet_cli_kept {
    FILE *file;
    struct peet_packer *packer;
    uint64_t symbols[PIECE];
    int reading;
    size_t n, at;   /* in symbols; those from @at on are not read yet */
    uint8_t *bytes; /* packed ones */
    size_t room;
};

/** A file without a name in TMPDIR. */
static FILE *nameless_file(void)
{
    const char *dir = getenv("TMPDIR");
    char path[PATH_MAX];
    FILE *file;
    int fd;

    snprintf(path, sizeof(path), "%s/peet-compare.XXXXXX", dir && *dir ? dir : "/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        return NULL;
    unlink(path);
    file = fdopen(fd, "w+");
    if (!file)
        close(fd);
    return file;
}

int peet_cli_kept_new(struct peet_cli_kept **out_kept)
{
    struct peet_cli_kept *k = calloc(1, sizeof(*k));

    *out_kept = NULL;
    if (!k || !(k->file = nameless_file()) || peet_packer_new(0, &k->packer)) {
        const int err = k && !k->file ? PEET_EIO : PEET_ENOMEM;

        peet_cli_kept_free(k);
        return err;
    }
    *out_kept = k;
    return 0;
}

void peet_cli_kept_free(struct peet_cli_kept *k)
{
    if (!k)
        return;
    if (k->file)
        fclose(k->file);
    peet_packer_free(k->packer);
    free(k->bytes);
    free(k);
}

static int put_piece(struct peet_cli_kept *k)
{
    struct peet_packed_words packed;
    const int err = k->n ? peet_pack(k->packer, k->symbols, k->n, &packed) : 0;

    if (err || !k->n)
        return err;
    const uint64_t numbers[] = {packed.n, packed.ncodes, packed.nliterals};
    k->n = 0;
    return fwrite(numbers, sizeof(numbers), 1, k->file) == 1 &&
            fwrite(packed.codes, 1, packed.ncodes, k->file) == packed.ncodes &&
            fwrite(packed.literals, 1, packed.nliterals, k->file) == packed.nliterals
        ? 0
        : PEET_EIO;
}

int peet_cli_kept_add(struct peet_cli_kept *k, const uint64_t *symbols, size_t n)
{
    int err = 0;

    while (n && !err) {
        const size_t some = n < PIECE - k->n ? n : PIECE - k->n;

        memcpy(k->symbols + k->n, symbols, some * sizeof(*symbols));
        k->n += some;
        symbols += some;
        n -= some;
        if (k->n == PIECE)
            err = put_piece(k);
    }
    return err;
}

int peet_cli_kept_rewind(struct peet_cli_kept *k)
{
    const int err = k->reading ? 0 : put_piece(k); /* what has been appended last */

    k->reading = 1;
    k->n = k->at = 0;
    if (err || fflush(k->file) || fseek(k->file, 0, SEEK_SET))
        return err ? err : PEET_EIO;
    return 0;
}

/** Returns: 1, 0 at the end, or an error */
static int take_piece(struct peet_cli_kept *k)
{
    uint64_t numbers[3];
    size_t need;
    uint8_t *more;

    k->n = k->at = 0;
    if (fread(numbers, sizeof(numbers), 1, k->file) != 1)
        return ferror(k->file) ? PEET_EIO : 0;
    need = numbers[1] + numbers[2];
    if (need > k->room) {
        if (!(more = realloc(k->bytes, need)))
            return PEET_ENOMEM;
        k->bytes = more;
        k->room = need;
    }
    if (fread(k->bytes, 1, need, k->file) != need)
        return PEET_EIO;
    k->n = numbers[0];
    return peet_unpack(k->packer,
               &(struct peet_packed_words){.n = numbers[0],
                   .codes = k->bytes,
                   .literals = k->bytes + numbers[1],
                   .ncodes = numbers[1],
                   .nliterals = numbers[2]},
               k->symbols)
        ? PEET_EFORMAT
        : 1;
}

long peet_cli_kept_read(struct peet_cli_kept *k, uint64_t *out_symbols, size_t room)
{
    size_t n = 0;

    while (n < room) {
        size_t some;

        if (k->at == k->n) {
            const int got = take_piece(k);

            if (got < 0)
                return got;
            if (!got)
                break;
        }
        some = room - n < k->n - k->at ? room - n : k->n - k->at;
        memcpy(out_symbols + n, k->symbols + k->at, some * sizeof(*out_symbols));
        k->at += some;
        n += some;
    }
    return (long)n;
}
