/* SPDX-License-Identifier: Apache-2.0 */
/* See import.h. */
#include "base/stats.h"
#include "config/config.h"
#include "config/import.h"
#include "trace/code.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 4096, LEVEL = 3 };

static int no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM, "out of memory");
}

/* ------------------------------------------------------------------------------------------ files */

static int is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int add_file(struct peet_import *import, const char *path, const char *format, struct peet_error *error)
{
    char **more;

    if (import->format && strcmp(import->format, format) != 0)
        return peet_error_set(error, PEET_EFORMAT, "%s: of the format %s among files of the format %s", path, format,
            import->format);
    if (import->n == FILES_MAX)
        return peet_error_set(error, PEET_ELIMIT, "%s: more than %d files in one trace", path, FILES_MAX);
    import->format = format;
    more = realloc(import->files, (import->n + 1) * sizeof *more);
    if (!more)
        return no_memory(error);
    import->files = more;
    more[import->n] = strdup(path);
    return more[import->n++] ? 0 : no_memory(error);
}

/** Is it a trace of another tool's that has been compressed? */
static int is_packed(const char *path)
{
    static const char *const endings[] = {".gz", ".xz", ".zip", ".zst", ".bz2", ".lz4", ".sz"};
    const char *ending = strrchr(path, '.');
    char inner[PATH_MAX];

    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(ending, endings[i]) &&
            (size_t)snprintf(inner, sizeof inner, "%.*s", (int)(ending - path), path) < sizeof inner)
            return peet_insn_format_of(inner) != NULL;
    return 0;
}

static int unpack_first(const char *path, struct peet_error *error)
{
    return peet_error_set(error, PEET_EFORMAT, "%s: it is compressed: unpack it first", path);
}

static int find_in(const char *folder, const char *format, struct peet_import *import, struct peet_error *error)
{
    struct dirent **entries;
    char packed[PATH_MAX] = "";
    const int n = scandir(folder, &entries, NULL, versionsort);
    int err = n < 0 ? peet_error_set(error, PEET_EIO, "%s: cannot be read: %s", folder, strerror(errno)) : 0;

    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        const char *its = (size_t)snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < sizeof path
            ? peet_insn_format_of_file(path)
            : NULL;

        if (!err && its)
            err = add_file(import, path, format ? format : its, error);
        if (!*packed && is_packed(path))
            memcpy(packed, path, strlen(path) + 1);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return !err && *packed && !import->n ? unpack_first(packed, error) : err;
}

int peet_import_find(const char *path, const char *format, struct peet_import *out_import, struct peet_error *error)
{
    const char *its = format ? peet_insn_format_named(format) : peet_insn_format_of_file(path);
    char inner[PATH_MAX];
    int err = 0;

    *out_import = (struct peet_import){0};
    if (format && !its)
        return peet_error_set(error, PEET_EINVALID,
            "there is no format '%s': din, lackey, champsim and drmemtrace are known", format);
    if (!is_folder(path) && !its && is_packed(path))
        return unpack_first(path, error);
    if (!is_folder(path))
        return its ? (err = add_file(out_import, path, its, error)) ? err : 1 : 0;
    err = find_in(path, format ? its : NULL, out_import, error);
    if (!err && !out_import->n && (size_t)snprintf(inner, sizeof inner, "%s/trace", path) < sizeof inner &&
        is_folder(inner))
        err = find_in(inner, format ? its : NULL, out_import, error);
    return err ? err : out_import->n > 0;
}

void peet_import_fini(struct peet_import *import)
{
    for (size_t i = 0; i < import->n; i++)
        free(import->files[i]);
    free(import->files);
    *import = (struct peet_import){0};
}

const char *peet_import_lacks(const char *format)
{
    static const struct {
        const char *format, *text;
    } lacks[] = {
        {"din",
            "no sizes of references (one byte each), no lengths of instructions (they reach to the next), no branches and no registers "
            "(nothing depends on anything)"},
        {"lackey", "no branches and no registers (nothing depends on anything)"},
        {"champsim", "no sizes of references (one byte each) and no lengths of instructions (they reach to the next)"},
        {"drmemtrace", "no registers (nothing depends on anything)"},
    };
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        if (strcmp(lacks[i].format, format) == 0)
            return lacks[i].text;
    return "";
}

/* ------------------------------------------------------------------------------------- conversion */

char *peet_import_config_text(const char *path, const struct peet_import *import)
{
    return peet_config_program_text(path, 0, NULL, import->n);
}

static char *describe(const char *path, const struct peet_import *import)
{
    char *config = peet_import_config_text(path, import), *text = NULL;
    json_t *all = config ? json_pack("{s:s,s:o,s:s,s:s,s:{s:o,s:[],s:I}}", "format", import->format, "from",
                               peet_stats_text(path), "lacks", peet_import_lacks(import->format), "config_text", config,
                               "config", "program", peet_stats_text(path), "arguments", "cores", (json_int_t)import->n)
                         : NULL;

    if (all)
        text = json_dumps(all, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(all);
    free(config);
    return text;
}

/** @insns: grows by the number of instructions */
static int convert_file(const char *path, const char *format, struct peet_code_writer *writer, uint32_t stream,
    uint64_t *insns, struct peet_error *error)
{
    struct peet_insn_reader *reader;
    struct peet_traced_insn insn;
    int got = 0, err = peet_insn_reader_open(path, format, &reader, error);

    if (err)
        return err;
    while (!err && (got = peet_insn_read(reader, &insn, error)) > 0) {
        err = peet_code_insn(writer, stream, &insn);
        ++*insns;
    }
    peet_insn_reader_close(reader);
    return got < 0 ? got : err ? err : peet_code_end(writer, stream);
}

static int convert_all(const char *path, const struct peet_import *import, struct peet_recorder *recorder,
    struct peet_error *error)
{
    struct peet_code_writer *writer;
    uint64_t insns = 0;
    int err = peet_code_writer_new(recorder, &writer) ? no_memory(error) : 0;

    if (!err)
        err = peet_code_main(writer, (uint32_t)import->n);
    for (size_t i = 0; !err && i < import->n; i++)
        err = convert_file(import->files[i], import->format, writer, (uint32_t)i, &insns, error);
    if (!err && !insns)
        err = peet_error_set(error, PEET_EFORMAT, "%s: there is no instruction in it", path);
    peet_code_writer_free(writer);
    if (err && !error->code)
        peet_error_set(error, err, "%s: %s", path,
            peet_recorder_error(recorder) ? peet_recorder_error(recorder) : "out of memory");
    return err;
}

int peet_import_convert(const char *path, const struct peet_import *import, const char *to, struct peet_error *error)
{
    struct peet_recorder *recorder = NULL;
    struct peet_error closing = {0, ""};
    char *text = describe(path, import);
    int err = text ? peet_recorder_open_whole(to, text, LEVEL, &recorder, error) : no_memory(error), closed;

    if (!err)
        err = convert_all(path, import, recorder, error);
    closed = peet_recorder_close(recorder, err ? NULL : "{\"reason\":\"converted\",\"status\":0}", &closing);
    if (!err && closed)
        err = peet_error_set(error, closed, "%s: %s", to, closing.message);
    free(text);
    return err;
}
