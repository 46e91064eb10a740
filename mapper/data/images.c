/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Globals: the variables of a loaded file become structures of one object each, thread-local ones an object for each
 * thread; what else lies in its sections of data belongs to the sections.
 */
#include "data/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct peet__data_image *peet__image_of_pc(const struct peet_datamap *m, uint64_t pc)
{
    for (size_t i = m->nimages; i--;) /* the latest first: an earlier one may have been unloaded */
        if (pc >= m->images[i].lo && pc < m->images[i].hi)
            return &m->images[i];
    return NULL;
}

static struct peet__structure *variable_structure(struct peet_datamap *m, const struct peet__data_image *image,
    const struct peet_variable *v)
{
    const struct peet_type *element = peet_type_element(v->type);
    char key[600];
    int is_new;
    struct peet__structure *s;

    snprintf(key, sizeof key, "%c %s %llx %s", v->flags & PEET_VARIABLE_TLS ? 't' : 'g', image->path,
        (unsigned long long)v->address, v->name);
    s = peet__structure_of(m, key, &is_new);
    if (!s || !is_new)
        return s;
    s->pub.kind = v->flags & PEET_VARIABLE_TLS ? PEET_DATA_TLS : PEET_DATA_GLOBAL;
    s->pub.name = v->name;
    s->pub.type = element ? element->name : "";
    s->pub.file = *v->file ? v->file : image->path;
    s->pub.function = v->function;
    s->pub.line = v->line;
    s->pub.element_bytes = element ? element->bytes : 0;
    s->type = element;
    s->whole = v->type;
    s->pub.flags |= peet__type_flags(element);
    peet__structure_ready(m, s);
    return s;
}

static int add_sections(struct peet_datamap *m, const struct peet__data_image *image)
{
    size_t n;
    const struct peet_data_section *sections = peet_debuginfo_sections(image->info, &n);
    int err = 0;

    for (size_t i = 0; i < n && !err; i++) {
        char key[600];
        int is_new;
        struct peet__structure *s;

        snprintf(key, sizeof key, "s %s %s", image->path, sections[i].name);
        s = peet__structure_of(m, key, &is_new);
        if (!s)
            return PEET_ENOMEM;
        if (is_new) {
            snprintf(key, sizeof key, "(%s)", sections[i].name);
            s->pub.kind = PEET_DATA_GLOBAL;
            s->pub.name = peet__data_text(m, key);
            s->pub.file = image->path;
            s->pub.objects = s->pub.objects_live = 1;
            s->pub.bytes = s->pub.bytes_live = s->pub.bytes_peak = sections[i].free_bytes;
            peet__structure_ready(m, s);
        }
        err = peet__range_add(m, image->bias + sections[i].address,
            image->bias + sections[i].address + sections[i].bytes, s->pub.id);
    }
    return err;
}

static int add_variables(struct peet_datamap *m, struct peet__data_image *image)
{
    size_t n;
    const struct peet_variable *v = peet_debuginfo_variables(image->info, &n);

    for (image->first_tls = 0; image->first_tls < n && !(v[image->first_tls].flags & PEET_VARIABLE_TLS);
        image->first_tls++) {
        struct peet__structure *s = variable_structure(m, image, &v[image->first_tls]);

        if (!s ||
            !peet__object_new(m, s, image->bias + v[image->first_tls].address, v[image->first_tls].bytes,
                v[image->first_tls].bytes, UINT64_MAX))
            return PEET_ENOMEM;
    }
    image->ntls = n - image->first_tls;
    image->tls_structures = image->ntls ? calloc(image->ntls, sizeof *image->tls_structures) : NULL;
    if (image->ntls && !image->tls_structures)
        return PEET_ENOMEM;
    for (size_t i = 0; i < image->ntls; i++) {
        struct peet__structure *s = variable_structure(m, image, &v[image->first_tls + i]);

        if (!s)
            return PEET_ENOMEM;
        image->tls_structures[i] = s->pub.id;
    }
    return 0;
}

/** A thread's objects for the variables of an image. */
static int add_thread(struct peet_datamap *m, struct peet__data_thread *thread, const struct peet__data_image *image)
{
    size_t n;
    const struct peet_variable *v = peet_debuginfo_variables(image->info, &n) + image->first_tls;

    for (size_t i = 0; image->tls_offset && i < image->ntls; i++) {
        uint64_t address = thread->fs_base - image->tls_offset + v[i].address;
        uint32_t handle;

        /* a stack that the program has set aside itself: it is the structure */
        if (peet_index_find(&m->index, address))
            continue;
        handle =
            peet__object_new(m, m->structures[image->tls_structures[i]], address, v[i].bytes, v[i].bytes, UINT64_MAX);
        if (!handle)
            return PEET_ENOMEM;
        m->objects[handle].part = thread->first;
        thread->first = handle;
    }
    return 0;
}

static int add_threads(struct peet_datamap *m)
{
    struct peet__data_thread *thread, *next;
    int err = 0;

    HASH_ITER(hh, m->threads, thread, next)
    while (!err && thread->nimages < m->nimages)
        err = add_thread(m, thread, &m->images[thread->nimages++]);
    return err;
}

int peet_datamap_add_image(struct peet_datamap *m, const struct peet_datamap_image *given, struct peet_error *error)
{
    struct peet__data_image *more = realloc(m->images, (m->nimages + 1) * sizeof *more), *image;
    int err;

    if (!more)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", given->path);
    m->images = more;
    image = &more[m->nimages];
    *image = (struct peet__data_image){
        strdup(given->path), given->bias, given->lo, given->hi, given->tls_offset, NULL, NULL, 0, 0};
    if (!image->path)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", given->path);
    err = peet_debuginfo_open(given->path, &image->info, error);
    if (err) {
        free(image->path);
        return err;
    }
    m->nimages++;
    err = add_variables(m, image);
    if (!err)
        err = add_sections(m, image);
    if (!err)
        err = add_threads(m);
    return err ? peet_error_set(error, err, "%s: out of memory for its variables", given->path) : 0;
}

int peet_datamap_thread(struct peet_datamap *m, uint64_t fs_base)
{
    struct peet__data_thread *thread = NULL;

    HASH_FIND(hh, m->threads, &fs_base, sizeof fs_base, thread);
    if (thread)
        return 0;
    thread = calloc(1, sizeof *thread);
    if (!thread)
        return PEET_ENOMEM;
    thread->fs_base = fs_base;
    HASH_ADD(hh, m->threads, fs_base, sizeof thread->fs_base, thread);
    return add_threads(m);
}

void peet_datamap_thread_end(struct peet_datamap *m, uint64_t fs_base)
{
    struct peet__data_thread *thread = NULL;

    HASH_FIND(hh, m->threads, &fs_base, sizeof fs_base, thread);
    if (!thread)
        return;
    while (thread->first) {
        uint32_t handle = thread->first;

        thread->first = m->objects[handle].part;
        peet__object_end(m, handle);
    }
    HASH_DEL(m->threads, thread);
    free(thread);
}
