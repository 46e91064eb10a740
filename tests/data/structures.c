/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An observer for tests: every reference is asked for its data structure, and structures.txt in the results folder has a
 * line for each, fields apart by tabs:
 *
 *     kind name type function file line element_bytes objects live bytes bytes_live peak references flags path members
 *
 * Heap blocks are held against a list of its own, made of ALLOC and FREE; its last line, "wrong N M", counts references whose
 * object is another than the list's, or that lie outside the object that they are said to be in, and those to heap blocks
 * that are not in the list: constructors of libraries allocate before anybody can be told.
 */
#include <peet/module.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 64, BLOCKS = 20000 };

struct counts {
    uint64_t references;
    struct { char name[80]; uint64_t n; } members[MEMBERS];
    unsigned nmembers;
};

struct self {
    const struct peet_env *env;
    struct counts *counts;
    uint32_t n;
    uint64_t wrong, unannounced;
    struct { uint64_t address, bytes; int over; } blocks[BLOCKS]; /* over: another one has its place, its FREE is still to come */
    unsigned nblocks;
};

static void *create(const struct peet_env *env, const union peet_value *values)
{
    struct self *s = calloc(1, sizeof *s);

    (void)values;
    s->env = env;
    if (!env->data_of || !env->data || !env->data_member)
        env->fail(env, "no services for data");
    return s;
}

static void destroy(void *self)
{
    free(((struct self *)self)->counts);
    free(self);
}

static struct counts *counts_of(struct self *s, uint32_t id)
{
    if (id >= s->n) {
        uint32_t n = id + 64;

        s->counts = realloc(s->counts, n * sizeof *s->counts);
        memset(s->counts + s->n, 0, (n - s->n) * sizeof *s->counts);
        s->n = n;
    }
    return &s->counts[id];
}

static void one(struct self *s, uint64_t address)
{
    struct peet_data_object object;
    const struct peet_data *d = s->env->data_of(s->env, address, &object);
    struct counts *c = counts_of(s, d->id);
    char member[80];
    unsigned i;

    c->references++;
    s->wrong += object.bytes && address - object.address >= object.bytes;
    s->wrong += s->env->data(s->env, d->id) != d;
    for (i = 0; i < s->nblocks && (s->blocks[i].over || address - s->blocks[i].address >= s->blocks[i].bytes); i++)
        ;
    if (i < s->nblocks)
        s->wrong += (d->kind != PEET_DATA_HEAP && d->kind != PEET_DATA_MAPPED) || object.address != s->blocks[i].address || object.bytes != s->blocks[i].bytes;
    else
        s->unannounced += d->kind == PEET_DATA_HEAP;
    if (d->kind == PEET_DATA_REST || d->kind == PEET_DATA_STACK)
        return;
    s->env->data_member(s->env, d, address - object.address, member, sizeof member);
    if (*member == '[') /* which element does not matter here */
        memmove(member, strchr(member, ']') + 1, strlen(strchr(member, ']') + 1) + 1);
    for (i = 0; i < c->nmembers && strcmp(c->members[i].name, member); i++)
        ;
    if (i == MEMBERS)
        return;
    if (i == c->nmembers)
        strcpy(c->members[c->nmembers++].name, member);
    c->members[i].n++;
}

static uint64_t block(void *self, unsigned hw, const struct peet_block_event *event, uint64_t now)
{
    (void)hw, (void)now;
    for (uint32_t i = 0; i < event->block->nrefs; i++)
        for (struct peet_ref_iter it = peet_ref_begin(&event->block->refs[i], event->values); it.count; it.count--, it.address += (uint64_t)it.step)
            one(self, it.address);
    return 0;
}

static uint64_t abstract(void *self, unsigned hw, const struct peet_abstract_event *event, uint64_t now)
{
    struct self *s = self;
    unsigned i = 0;

    (void)hw, (void)now;
    if (event->type == PEET_ABSTRACT_ALLOC && s->nblocks < BLOCKS) {
        for (i = 0; i < s->nblocks; i++)
            s->blocks[i].over |= event->args[0] < s->blocks[i].address + s->blocks[i].bytes && s->blocks[i].address < event->args[0] + event->args[1];
        s->blocks[s->nblocks].over = 0;
        s->blocks[s->nblocks].address = event->args[0];
        s->blocks[s->nblocks++].bytes = event->args[1];
        s->wrong += s->env->data_of(s->env, event->args[0], NULL)->kind < PEET_DATA_HEAP;
    } else if (event->type == PEET_ABSTRACT_FREE) {
        while (i < s->nblocks && (s->blocks[i].address != event->args[0] || !s->blocks[i].over))
            i++;
        for (i = i < s->nblocks ? i : 0; i < s->nblocks && s->blocks[i].address != event->args[0]; i++)
            ;
        if (i < s->nblocks)
            s->blocks[i] = s->blocks[--s->nblocks];
    }
    return 0;
}

static void finish(void *self, uint64_t cycles)
{
    static const char *const kinds[] = {"rest", "stack", "global", "tls", "heap", "mapped"};
    struct self *s = self;
    const struct peet_env *env = s->env;
    const struct peet_data *d;
    char path[4096];
    FILE *out;

    (void)cycles;
    snprintf(path, sizeof path, "%s/structures.txt", env->output_dir);
    out = fopen(path, "w");
    for (uint32_t id = 0; out && (d = env->data(env, id)) != NULL; id++) {
        struct counts *c = counts_of(s, id);

        fprintf(out, "%s\t%s\t%s\t%s\t%s\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%u\t%s\t", kinds[d->kind], d->name, *d->type ? d->type : "-",
            *d->function ? d->function : "-", *d->file ? d->file : "-", d->line, (unsigned long long)d->element_bytes, (unsigned long long)d->objects,
            (unsigned long long)d->objects_live, (unsigned long long)d->bytes, (unsigned long long)d->bytes_live, (unsigned long long)d->bytes_peak,
            (unsigned long long)c->references, d->flags, *d->path ? d->path : "-");
        for (unsigned i = 0; i < c->nmembers; i++)
            fprintf(out, "%s=%llu ", *c->members[i].name ? c->members[i].name : "(whole)", (unsigned long long)c->members[i].n);
        fputc('\n', out);
    }
    if (!out || fprintf(out, "wrong\t%llu\t%llu\n", (unsigned long long)s->wrong, (unsigned long long)s->unannounced) < 0 || fclose(out))
        env->fail(env, "%s: cannot write", path);
}

const struct peet_module peet_module = {
    .abi = PEET_MODULE_ABI,
    .struct_size = sizeof peet_module,
    .name = "structures",
    .summary = "references by data structure",
    .kind = PEET_OBSERVER,
    .needs = PEET_NEEDS_BLOCKS | PEET_NEEDS_ADDRESSES | PEET_NEEDS_ABSTRACT | PEET_NEEDS_DATA,
    .create = create,
    .destroy = destroy,
    .block = block,
    .abstract = abstract,
    .finish = finish,
};
