/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the subject loads and unloads while it runs.  The dynamic linker says when that happens
 * (peet_rt_foreign_watch()); then what is loaded now is compared with what was loaded before.
 *
 *   1. What the host loads for itself stays unseen, whoever uses it later.
 *   2. An object that comes again to the same place with the same code is the image that it was, so that its functions
 *      are the same ones to modules; anything else is another image.
 *   3. Constants are not taken from a later object's memory (analyse.c): it is translated while it is being relocated.
 */
#include "foreign/translate.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

/** An object that has been seen. */
struct object {
    const ElfW(Phdr) * headers;        /* where they lie: the key */
    struct peet__foreign_image *image; /* NULL: nothing of it is translated */
    int there;
};

static struct {
    int (*recorded)(uint64_t pc);
    int (*look)(uint64_t pc);
    struct object *objects;
    unsigned n, room;
    struct peet__foreign_image *gone; /* images of objects that have been unloaded */
    int of_subject;
} known;

/* The last one of the list: the first is to stay the first. */
static void put_last(struct peet__foreign_image *image)
{
    struct peet__foreign_image **at = &peet__foreign_images;
    peet__foreign_image_remove(image);
    while (*at)
        at = &(*at)->next;
    *at = image;
    image->next = NULL;
}

static uint64_t text_of(const struct dl_phdr_info *info)
{
    for (unsigned p = 0; p < info->dlpi_phnum; p++)
        if (info->dlpi_phdr[p].p_type == PT_LOAD && info->dlpi_phdr[p].p_flags & PF_X)
            return info->dlpi_addr + info->dlpi_phdr[p].p_vaddr;
    return 0;
}

/* The image that the object was, if it has been here before. */
static struct peet__foreign_image *back_again(const struct dl_phdr_info *info)
{
    for (struct peet__foreign_image **at = &known.gone, *i; (i = *at) != NULL; at = &i->next)
        if (i->bias == info->dlpi_addr && i->lo == text_of(info) && strcmp(i->path, info->dlpi_name) == 0 &&
            peet__foreign_is_loaded(i)) {
            *at = i->next;
            i->next = peet__foreign_images;
            return peet__foreign_images = i;
        }
    return NULL;
}

/* Where another one lies now, what was made of those that have gone is of no use any more. */
static void forget_below(const struct peet__foreign_image *image)
{
    for (struct peet__foreign_image *i = known.gone; i; i = i->next)
        if (i->lo < image->hi && image->lo < i->hi)
            peet__foreign_forget(i);
}

static struct peet__foreign_image *take(const struct dl_phdr_info *info)
{
    struct peet_error error;
    struct peet__foreign_image *const first = peet__foreign_images;
    if (!text_of(info))
        return NULL;
    struct peet__foreign_image *image = back_again(info);
    const int looked = !image || image->has_schema ? known.look(text_of(info)) : 0;
    if (!image) {
        if (peet__foreign_image_add(info, info->dlpi_name, 1, known.recorded, &error) != 0 ||
            peet__foreign_images == first)
            return NULL;
        image = peet__foreign_images;
        image->has_schema = looked;
    }
    image->fixed_lo = image->fixed_hi = 0;
    forget_below(image);
    put_last(image);
    if (peet__foreign_open(image) == 0)
        return image;
    peet__foreign_image_remove(image);
    return NULL;
}

static int see(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (unsigned k = 0; k < known.n; k++)
        if (known.objects[k].headers == info->dlpi_phdr) {
            known.objects[k].there = 1;
            return 0;
        }
    if (known.n == known.room) {
        struct object *more = realloc(known.objects, (2 * known.room + 64) * sizeof *more);
        if (!more)
            return 1;
        known.objects = more;
        known.room = 2 * known.room + 64;
    }
    known.objects[known.n++] = (struct object){.headers = info->dlpi_phdr,
        .image = known.of_subject && !peet__foreign_is_own(info->dlpi_name) ? take(info) : NULL,
        .there = 1};
    return 0;
}

/* The last one that went is the first of those that have gone.  Translations of so many stay, of any that is back soon. */
static void leave(struct peet__foreign_image *image)
{
    enum { KEPT = 1024 };
    peet__foreign_image_remove(image);
    peet__foreign_close(image);
    image->next = known.gone;
    known.gone = image;
    for (unsigned k = 0; k < KEPT && image; k++)
        image = image->next;
    if (image)
        peet__foreign_forget(image);
}

static void changed(int of_subject)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < known.n; k++)
        known.objects[k].there = 0;
    known.of_subject = of_subject;
    dl_iterate_phdr(see, NULL);
    for (unsigned k = 0; k < known.n; k++) {
        struct object *const o = &known.objects[k];
        if (o->there)
            known.objects[kept++] = *o;
        else if (o->image)
            leave(o->image);
    }
    known.n = kept;
}

void peet__foreign_objects_begin(int (*recorded)(uint64_t pc), int (*look)(uint64_t pc))
{
    known.recorded = recorded;
    known.look = look;
    changed(0);
    for (struct peet__foreign_image *i = peet__foreign_images; i; i = i->next)
        for (unsigned k = 0; k < known.n; k++)
            if ((uint64_t)known.objects[k].headers >= i->bias && (uint64_t)known.objects[k].headers < i->lo)
                known.objects[k].image = i;
    peet_rt_foreign_watch(changed);
}
