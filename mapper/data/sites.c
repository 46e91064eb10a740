/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocation sites: from return addresses to a structure with a name, a type and a place in the source.  The same line
 * of the source is one site, however often the compiler has made a copy of it.
 */
#include "data/parts.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Where a call was made from. */
struct where {
    struct peet_site site;
    uint64_t start; /* of the function, if nothing says the line */
};

/** Does a function stand for its callers, as malloc() does? */
static int is_allocator(void *arg, const char *function)
{
    const struct peet_datamap *m = arg;
    int found = 0;

    for (size_t i = 0; i < m->nallocators; i++)
        if (!fnmatch(m->allocators[i], function, 0)) {
            found = 1;
            if (m->allocators_met)
                m->allocators_met[i] = 1;
        }
    return found;
}

static void locate(struct peet_datamap *m, uint64_t pc, struct where *out)
{
    const struct peet__data_image *image = peet__image_of_pc(m, pc);
    const char *function = NULL, *file = NULL;
    unsigned line = 0;

    memset(out, 0, sizeof *out);
    out->site.function = out->site.file = out->site.name = "";
    if (image && image->info)
        peet_debuginfo_site(image->info, pc - image->bias, is_allocator, m, &out->site);
    if (*out->site.function)
        return;
    if (m->hooks.place && m->hooks.place(m->hooks.arg, pc - 1, &function, &file, &line, &out->start) && function) {
        char buffer[400];

        out->site.function = peet__data_text(m, peet_demangle(function, buffer, sizeof buffer));
        out->site.file = file ? peet__data_text(m, file) : "";
        out->site.own = image != NULL && !is_allocator(m, out->site.function);
    }
}

/** "build:40", "build+0x2f", "0x401234" */
static void describe(const struct where *w, uint64_t pc, char *out, size_t room)
{
    if (w->site.line)
        snprintf(out, room, "%s:%u", *w->site.function ? w->site.function : "?", w->site.line);
    else if (*w->site.function && w->start)
        snprintf(out, room, "%s+0x%llx", w->site.function, (unsigned long long)(pc - w->start));
    else if (*w->site.function)
        snprintf(out, room, "%s", w->site.function);
    else
        snprintf(out, room, "0x%llx", (unsigned long long)pc);
}

int peet_datamap_knows(const struct peet_datamap *m, uint64_t pc)
{
    return peet__image_of_pc(m, pc) != NULL;
}

int peet_datamap_is_own(struct peet_datamap *m, uint64_t pc)
{
    struct where w;

    locate(m, pc, &w);
    return w.site.own;
}

static struct peet__structure *make(struct peet_datamap *m, unsigned kind, const uint64_t *path, unsigned npath,
    uint64_t inner)
{
    char call_path[1000] = "", key[2400], place[400];
    struct peet__structure *s;
    struct where w, one;
    int is_new;

    locate(m, npath ? path[0] : 0, &w);
    describe(&w, npath ? path[0] : 0, place, sizeof place);
    for (unsigned i = npath; i-- > 1;) {
        size_t length = strlen(call_path);

        locate(m, path[i], &one);
        describe(&one, path[i], key, sizeof key);
        snprintf(call_path + length, sizeof call_path - length, "%.300s > ", key);
    }
    if (*call_path)
        snprintf(call_path + strlen(call_path), sizeof call_path - strlen(call_path), "%.300s", place);
    snprintf(key, sizeof key, "%c %s|%s|%s|%s", kind == PEET_DATA_MAPPED ? 'm' : 'h', w.site.file, place, w.site.name,
        call_path);
    s = peet__structure_of(m, key, &is_new);
    if (!s || !is_new)
        return s;
    s->pub.kind = (uint8_t)kind;
    s->pub.name = *w.site.name ? w.site.name : peet__data_text(m, place);
    s->pub.file = w.site.file;
    s->pub.function = w.site.function;
    s->pub.line = w.site.line;
    s->pub.path = peet__data_text(m, call_path);
    s->type = w.site.type;
    if (!s->type && inner) {
        locate(m, inner, &one);
        s->type = one.site.type;
    }
    s->pub.type = s->type ? s->type->name : "";
    s->pub.element_bytes = s->type ? s->type->bytes : 0;
    s->pub.flags |= peet__type_flags(s->type);
    peet__structure_ready(m, s);
    return s;
}

struct peet__structure *peet__site_structure(struct peet_datamap *m, unsigned kind, const uint64_t *path,
    unsigned npath, uint64_t inner)
{
    uint64_t key[PEET_DATAMAP_PATH_MAX + 1];
    struct peet__alloc_site *site = NULL;
    struct peet__structure *s;

    if (npath > PEET_DATAMAP_PATH_MAX)
        npath = PEET_DATAMAP_PATH_MAX;
    key[0] = kind;
    if (npath)
        memcpy(key + 1, path, npath * sizeof *path);
    HASH_FIND(hh, m->sites, key, (npath + 1) * sizeof *key, site);
    if (site)
        return m->structures[site->data];
    s = make(m, kind, path, npath, inner);
    site = s ? calloc(1, sizeof *site + (npath + 1) * sizeof *key) : NULL;
    if (!site)
        return s;
    site->data = s->pub.id;
    memcpy(site->path, key, (npath + 1) * sizeof *key);
    HASH_ADD_KEYPTR(hh, m->sites, site->path, (npath + 1) * sizeof *key, site);
    return s;
}

void peet_datamap_set_allocators(struct peet_datamap *m, const char *const *names, size_t n)
{
    m->allocators = names;
    m->nallocators = n;
    free(m->allocators_met);
    m->allocators_met = n ? calloc(n, 1) : NULL;
}

int peet_datamap_allocator_met(const struct peet_datamap *m, size_t i)
{
    return !m->allocators_met || i >= m->nallocators || m->allocators_met[i];
}
