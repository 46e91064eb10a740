/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers of instruction traces: files, and which format does what; see insns.h. */
#include "trace/insns_format.h"
#include "trace/recording.h"
#include "whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const peet_insn_formats[] = {"din", "lackey", "champsim", "drmemtrace", NULL};

static const struct peet__insn_format *const formats[] = {
    &peet__insns_din, &peet__insns_lackey, &peet__insns_champsim, &peet__insns_drmemtrace};

/* The place of a name; -1: there is no such format. */
static int place_of(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(peet_insn_formats[i], name))
            return (int)i;
    return -1;
}

static const struct peet__insn_format *find(const char *name, struct peet_error *error)
{
    const int place = place_of(name);

    if (place >= 0)
        return formats[place];
    peet_error_set(error, PEET_ENOTFOUND, "there is no format '%s': din, lackey, champsim and drmemtrace are known",
        name);
    return NULL;
}

const char *peet_insn_format_named(const char *name)
{
    const int place = place_of(name);

    return place < 0 ? NULL : peet_insn_formats[place];
}

const char *peet_insn_format_of(const char *path)
{
    static const struct {
        const char *ending, *name;
    } endings[] = {
        {".din", "din"},
        {".lackey", "lackey"},
        {".champsim", "champsim"},
        {".champsimtrace", "champsim"},
        {".trace", "drmemtrace"},
        {".drmemtrace", "drmemtrace"},
    };
    const size_t n = strlen(path);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (n > strlen(endings[i].ending) && !strcmp(path + n - strlen(endings[i].ending), endings[i].ending))
            return endings[i].name;
    return NULL;
}

const char *peet_insn_format_of_file(const char *path)
{
    const char *format = peet_insn_format_of(path);
    struct stat st;
    const int folder = format && stat(path, &st) == 0 && S_ISDIR(st.st_mode); /* a results folder may have any name */

    return format && !folder && !peet_recording_is(path) ? format : NULL;
}

/* ---------------------------------------------------------------------------------------- writing */

int peet_insn_writer_open(const char *path, const char *format, uint64_t thread, struct peet_insn_writer **out_writer,
    struct peet_error *error)
{
    const struct peet__insn_format *f = find(format, error);
    struct peet_insn_writer *w = f ? calloc(1, sizeof *w) : NULL;

    *out_writer = NULL;
    if (!f)
        return PEET_ENOTFOUND;
    if (!w || !(w->path = strdup(path)) || !(w->whole = peet_whole_new(path))) {
        if (w)
            free(w->path);
        free(w);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    w->format = f;
    w->thread = thread;
    w->file = fopen(peet_whole_name(w->whole), "we");
    if (!w->file) {
        peet_error_set(error, PEET_EIO, "%s: cannot be written: %s", path, strerror(errno));
        peet_insn_writer_abandon(w);
        return PEET_EIO;
    }
    setvbuf(w->file, NULL, _IOFBF, 1 << 20);
    if (f->begin)
        f->begin(w);
    *out_writer = w;
    return 0;
}

void peet_insn_write(struct peet_insn_writer *w, const struct peet_traced_insn *insn)
{
    w->format->write(w, insn);
}

void peet_insn_writer_abandon(struct peet_insn_writer *w)
{
    if (!w)
        return;
    if (w->file)
        fclose(w->file);
    peet_whole_drop(w->whole);
    free(w->path);
    free(w);
}

int peet_insn_writer_close(struct peet_insn_writer *w, struct peet_error *error)
{
    int bad, why;

    if (w->format->end)
        w->format->end(w);
    bad = ferror(w->file);
    bad = fclose(w->file) || bad;
    why = errno;
    w->file = NULL;
    if (!bad) {
        bad = why = peet_whole_place(w->whole);
        w->whole = NULL;
    }
    if (bad)
        peet_error_set(error, PEET_EIO, "%s: cannot be written: %s", w->path, strerror(why));
    peet_insn_writer_abandon(w);
    return bad ? PEET_EIO : 0;
}

/* ---------------------------------------------------------------------------------------- reading */

int peet_insn_reader_open(const char *path, const char *format, struct peet_insn_reader **out_reader,
    struct peet_error *error)
{
    const struct peet__insn_format *f = find(format, error);
    struct peet_insn_reader *r = f ? calloc(1, sizeof *r) : NULL;

    *out_reader = NULL;
    if (!f)
        return PEET_ENOTFOUND;
    if (!r || !(r->path = strdup(path))) {
        free(r);
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    }
    r->format = f;
    r->file = fopen(path, "re");
    if (!r->file) {
        peet_error_set(error, PEET_EIO, "%s: cannot be opened: %s", path, strerror(errno));
        peet_insn_reader_close(r);
        return PEET_EIO;
    }
    setvbuf(r->file, NULL, _IOFBF, 1 << 20);
    *out_reader = r;
    return 0;
}

/** What no program executes, and what a recording (code.h) and the machines could not hold.  Returns: 1, or PEET_EFORMAT */
static int check(struct peet_insn_reader *r, const struct peet_traced_insn *insn, struct peet_error *error)
{
    enum { LENGTH_MAX = 15, SIZE_MAX_BYTES = UINT16_MAX };
    const uint64_t end = -(uint64_t)4096; /* nothing lies in the last page */

    if (insn->length > LENGTH_MAX)
        return peet__insns_damaged(r, "an instruction of more than 15 bytes", error);
    if (insn->pc >= end)
        return peet__insns_damaged(r, "an instruction in the last page of all addresses", error);
    for (unsigned i = 0; i < insn->nrefs; i++) {
        if (insn->refs[i].size > SIZE_MAX_BYTES)
            return peet__insns_damaged(r, "a reference of more than 65535 bytes", error);
        if (insn->refs[i].address >= end - insn->refs[i].size)
            return peet__insns_damaged(r, "a reference to the last page of all addresses", error);
    }
    return 1;
}

/** A format gives an instruction when it knows that it is whole; this keeps what has begun in between. */
int peet_insn_read(struct peet_insn_reader *r, struct peet_traced_insn *out_insn, struct peet_error *error)
{
    int got = r->failed ? r->failed : r->format->read(r, out_insn, error);

    if (got > 0)
        got = check(r, out_insn, error);
    if (got < 0)
        r->failed = got;
    return got;
}

void peet_insn_reader_close(struct peet_insn_reader *r)
{
    if (!r)
        return;
    if (r->file)
        fclose(r->file);
    free(r->line);
    free(r->path);
    free(r);
}

int peet__insns_damaged(struct peet_insn_reader *r, const char *what, struct peet_error *error)
{
    return peet_error_set(error, PEET_EFORMAT, "%s: damaged, or no trace of the format %s: record %llu: %s", r->path,
        r->format->name, (unsigned long long)r->records, what);
}

int peet__insns_add_ref(struct peet_traced_insn *insn, uint64_t address, uint32_t size, unsigned kind)
{
    if (insn->nrefs == PEET_TRACED_REFS)
        return 0;
    insn->refs[insn->nrefs++] = (struct peet_traced_ref){address, size, (uint8_t)kind};
    return 1;
}

/** What has been gathered is an instruction, unless nothing has; `next` is what is gathered from now on. */
int peet__insns_give(struct peet_insn_reader *r, const struct peet_traced_insn *next, struct peet_traced_insn *out_insn)
{
    const int had = r->begun;

    *out_insn = r->insn;
    r->begun = next != NULL;
    if (next)
        r->insn = *next;
    return had;
}
