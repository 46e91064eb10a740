/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "host/explain.h"
#include "host/report.h"
#include "base/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS_MOST = 20000, NAME_BYTES = 200, VALUE_BYTES = 8, OBJECTS_MOST = 4096 };

/** An object that has been referred to; what is freed keeps its name. */
struct object {
    const struct peet_data *data;
    struct peet_data_object where;
    char name[NAME_BYTES]; /* of the object as a whole: "queue#2" */
};

static struct {
    struct peet_map *map;
    struct peet_program *program;
    const struct peet_source *source;
    struct peet_datamap *data;
    struct peet_frame standing; /* where the context stands whose step is being made; no function: nobody knows */
    json_t *list;
    int fd;
    uint64_t steps;
    struct object *objects;
    size_t nobjects;
} here = {.fd = -1};

void peet_explain_begin(struct peet_map *map, struct peet_program *program, const struct peet_source *source,
    struct peet_datamap *data, int fd)
{
    here.map = map;
    here.program = program;
    here.source = source;
    here.data = data;
    here.fd = fd;
    if (fd < 0)
        here.list = json_array();
}

json_t *peet_explain_json(void)
{
    return here.list ? json_incref(here.list) : NULL;
}

json_t *peet_explain_parse(const char *lines)
{
    json_t *list = json_array(), *one;

    for (const char *end; list && (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        one = json_loadb(lines, (size_t)(end - lines), 0, NULL);
        if (one)
            json_array_append_new(list, one);
    }
    return list;
}

size_t peet_explain_common(const json_t *first, const json_t *second)
{
    size_t n = 0;

    while (n < json_array_size(first) && n < json_array_size(second) &&
        json_equal(json_array_get(first, n), json_array_get(second, n)))
        n++;
    return n;
}

static void put(json_t *one)
{
    if (here.fd < 0) {
        json_array_append_new(here.list, one);
        return;
    }
    if (json_dumpfd(one, here.fd, JSON_COMPACT) || write(here.fd, "\n", 1) != 1)
        here.steps = STEPS_MOST;
    json_decref(one);
}

/* ----------------------------------------------------------------------------------------------------------- names */

static int is_allocated(const struct peet_data *data)
{
    return data->kind == PEET_DATA_HEAP || data->kind == PEET_DATA_MAPPED;
}

/** Its symbol, where that says more than the source does: "got.1", of an array that the compiler has taken apart. */
static int named_by_symbol(struct object *o)
{
    const size_t n = strlen(o->data->name);

    return o->data->kind == PEET_DATA_GLOBAL && peet_host_symbol_of(o->where.address, o->name, sizeof o->name) &&
        !strncmp(o->name, o->data->name, n) && o->name[n] == '.' && !strchr(o->name, '+');
}

static const struct object *remember(const struct peet_data *data, const struct peet_data_object *where)
{
    struct object *o;

    for (size_t i = 0; i < here.nobjects; i++)
        if (here.objects[i].data == data && here.objects[i].where.number == where->number &&
            here.objects[i].where.address == where->address)
            return &here.objects[i];
    if (here.nobjects == OBJECTS_MOST || !(o = realloc(here.objects, (here.nobjects + 1) * sizeof *o)))
        return NULL;
    here.objects = o;
    o += here.nobjects++;
    o->data = data;
    o->where = *where;
    if (is_allocated(data))
        snprintf(o->name, sizeof o->name, "%s#%llu", data->name, (unsigned long long)where->number);
    else if (!named_by_symbol(o))
        snprintf(o->name, sizeof o->name, "%s", data->name);
    return o;
}

/** The object round an address, or that was there before it was freed.  Returns: NULL: nobody knows it */
static const struct object *find(uint64_t address, int *out_freed)
{
    struct peet_data_object where;
    const struct peet_data *data = here.data ? peet_datamap_of(here.data, address, &where) : NULL;
    const struct object *last = NULL;

    *out_freed = 0;
    if (data && data->kind > PEET_DATA_STACK)
        return *data->name && *data->name != '(' ? remember(data, &where) : NULL;
    for (size_t i = 0; i < here.nobjects; i++)
        if (is_allocated(here.objects[i].data) && address - here.objects[i].where.address < here.objects[i].where.bytes)
            last = &here.objects[i];
    *out_freed = last != NULL;
    return last;
}

/** "queue#2.head": which object, and what lies there.  @out_begin: where that begins */
static void name_in(const struct object *o, uint64_t address, int freed, char *out_name, size_t room,
    uint64_t *out_begin)
{
    const uint64_t offset = address - o->where.address;
    char member[NAME_BYTES / 2];
    const char *inner = member;
    uint64_t begin = peet_datamap_member(here.data, o->data, offset, member, sizeof member);

    if (is_allocated(o->data) && o->where.bytes <= o->data->element_bytes && !strncmp(member, "[0]", 3))
        inner += 3 + (member[3] == '.'); /* one element is no array */
    if (!*member)
        begin = 0;
    *out_begin = o->where.address + begin;
    snprintf(out_name, room, "%s%s%s%s", o->name, *inner && *inner != '[' ? "." : "", inner, freed ? " (freed)" : "");
    if (offset != begin)
        snprintf(out_name + strlen(out_name), room - strlen(out_name), "+%llu", (unsigned long long)(offset - begin));
}

static int is_stack(uint64_t address)
{
    const struct peet_data *data = here.data ? peet_datamap_of(here.data, address, NULL) : NULL;

    return data && data->kind == PEET_DATA_STACK;
}

/** @out_begin: of the variable or member, where that is known, else the address */
static void name_of(uint64_t address, char *out_name, size_t room, uint64_t *out_begin)
{
    int freed;
    const struct object *o = find(address, &freed);

    *out_begin = address;
    if (o)
        name_in(o, address, freed, out_name, room, out_begin);
    else if (is_stack(address))
        snprintf(out_name, room, "stack 0x%llx", (unsigned long long)address);
    else if (!peet_host_name_of(address, out_name, room))
        snprintf(out_name, room, "0x%llx", (unsigned long long)address);
}

/** Returns: 1, or 0 if it is not a number that can be said */
static int value_of(int processor, uint64_t address, uint64_t bytes, int64_t *out_value)
{
    int64_t value = 0;

    if (bytes > VALUE_BYTES || peet_map_view_read(here.map, processor, address, &value, bytes))
        return 0;
    if (bytes == 4)
        value = (int32_t)value;
    *out_value = value;
    return 1;
}

static void add_place(json_t *one, const char *function, const char *file, uint32_t line)
{
    json_object_set_new(one, "function", peet_stats_text(function));
    json_object_set_new(one, "file", peet_stats_text(file));
    if (line)
        json_object_set_new(one, "line", json_integer(line));
}

void peet_explain_stands(void *arg, const struct peet_step *step)
{
    const struct peet_ctx *ctx = peet_source_ctx(here.source, step->source);

    (void)arg;
    if (!ctx || !peet_host_stands(here.program, ctx, &here.standing))
        here.standing = (struct peet_frame){0};
}

static json_t *begin(int64_t context, unsigned processor, const char *what)
{
    json_t *one =
        json_pack("{s:o,s:i,s:s}", "step", peet_stats_u64(here.steps), "processor", (int)processor, "what", what);

    if (context >= 0)
        json_object_set_new(one, "context", json_integer(context));
    return one;
}

/** @bytes 0: a synchronisation object */
static void add_variable(json_t *one, uint64_t address, uint64_t bytes)
{
    char name[NAME_BYTES];
    uint64_t begin;

    name_of(address, name, sizeof name, &begin);
    if (!bytes)
        peet_host_cut_name(name);
    json_object_set_new(one, "variable", peet_stats_text(name));
    json_object_set_new(one, "address", peet_stats_u64(address));
    json_object_set_new(one, "bytes", peet_stats_u64(bytes));
}

/** What a value points to, if it is the address of something that has a name. */
static void add_target(json_t *one, uint64_t bytes, int64_t value)
{
    char name[NAME_BYTES];
    uint64_t begin;
    int freed;
    const struct object *o = bytes == sizeof value ? find((uint64_t)value, &freed) : NULL;

    if (!o)
        return;
    if ((uint64_t)value == o->where.address)
        snprintf(name, sizeof name, "%s%s", o->name, freed ? " (freed)" : "");
    else
        name_in(o, (uint64_t)value, freed, name, sizeof name, &begin);
    json_object_set_new(one, "points_to", peet_stats_text(name));
}

/** Several variables or members at once, as compilers merge stores: each with its value.  Returns: 0 if it is one */
static int add_parts(json_t *one, int processor, uint64_t address, uint64_t bytes)
{
    json_t *list = json_array();
    char name[NAME_BYTES];
    uint64_t begin, at = address, next;
    int64_t value;
    size_t n;

    while (at < address + bytes) {
        json_t *part;

        name_of(at, name, sizeof name, &begin);
        for (next = at + 1; next < address + bytes; next++) {
            char other[NAME_BYTES];

            name_of(next, other, sizeof other, &begin);
            if (begin == next)
                break;
        }
        part = json_pack("{s:o}", "variable", peet_stats_text(name));
        if (part && value_of(processor, at, next - at, &value)) {
            json_object_set_new(part, "value", json_integer(value));
            add_target(part, next - at, value);
        }
        json_array_append_new(list, part);
        at = next;
    }
    n = json_array_size(list);
    if (n > 1 && n < bytes)
        json_object_set(one, "parts", list);
    json_decref(list);
    return n > 1 && n < bytes;
}

/** What somebody else's view has; @context -1: main memory */
static json_t *seen_by(int64_t context, uint64_t bytes, int64_t value)
{
    json_t *one = json_object();

    if (context >= 0)
        json_object_set_new(one, "context", json_integer(context));
    json_object_set_new(one, "value", json_integer(value));
    add_target(one, bytes, value);
    return one;
}

/** A load that does not see what somebody has stored: whose view has another value, and which. */
static void add_newer(json_t *one, const struct peet_made *made, int64_t value)
{
    json_t *newer = json_array();
    int64_t other;

    for (unsigned p = 0; p < peet_map_nhw(here.map); p++)
        if (p != made->hw && peet_map_context_on(here.map, p) >= 0 &&
            value_of((int)p, made->address, made->bytes, &other) && other != value)
            json_array_append_new(newer, seen_by(peet_map_context_on(here.map, p), made->bytes, other));
    if (value_of(-1, made->address, made->bytes, &other) && other != value)
        json_object_set_new(one, "memory_holds", seen_by(-1, made->bytes, other));
    if (json_array_size(newer))
        json_object_set(one, "others_see", newer);
    json_decref(newer);
}

/** What has been written over in the same step cannot be looked at any more. */
static int written_over(const struct peet_step *step, const struct peet_made *made)
{
    for (const struct peet_made *later = made + 1; later < step->made + step->nmade; later++)
        if (later->kind != PEET_REF_LOAD && later->hw == made->hw && later->address < made->address + made->bytes &&
            made->address < later->address + later->bytes)
            return 1;
    return 0;
}

/** Is it what a library does with its own data, or on a stack?  That explains nothing. */
static int is_inner(const struct peet_made *made)
{
    int freed;
    const struct object *o;

    if (made->function && *made->function->file)
        return 0;
    o = find(made->address, &freed);
    return !o || !*o->data->file;
}

static void explain_reference(const struct peet_step *step, const struct peet_made *made)
{
    const char *what = made->kind == PEET_REF_LOAD ? "load"
        : made->kind == PEET_REF_STORE             ? "store"
        : made->locked                             ? "locked"
                                                   : "modify";
    const int own = made->hw == step->option->hw; /* or of one that the step has let go on */
    json_t *one = begin(own ? step->context : peet_map_context_on(here.map, made->hw), made->hw, what);
    int64_t value;

    if (own && made->function)
        add_place(one, made->function->name, made->function->file, made->line);
    add_variable(one, made->address, made->bytes);
    /* what lies on a stack is soon something else, unless others could have gone on at once */
    if (!written_over(step, made) && (step->nmade == 1 || !is_stack(made->address)) &&
        value_of((int)made->hw, made->address, made->bytes, &value)) {
        if (!add_parts(one, (int)made->hw, made->address, made->bytes))
            add_target(one, made->bytes, value);
        json_object_set_new(one, "value", json_integer(value));
        add_newer(one, made, value);
    }
    put(one);
}

static void explain_move(const struct peet_step *step)
{
    static const char *const whats[] = {
        [PEET_MOVE_PERFORM] = "leaves", [PEET_MOVE_SEE] = "sees", [PEET_MOVE_MEMORY] = "to memory"};
    const struct peet_move *move = &step->option->move;
    const int processor = move->kind == PEET_MOVE_SEE ? (int)move->processor : -1;
    json_t *one = begin(step->context, step->option->hw, move->kind <= PEET_MOVE_MEMORY ? whats[move->kind] : "moves");
    int64_t value;

    add_variable(one, move->address, move->size_bytes);
    if (value_of(processor, move->address, move->size_bytes, &value)) {
        if (!add_parts(one, processor, move->address, move->size_bytes))
            add_target(one, move->size_bytes, value);
        json_object_set_new(one, "value", json_integer(value));
    }
    put(one);
}

static void explain_event(const struct peet_step *step)
{
    static const char *const texts[] = {
#define PEET_X(name, value, nargs, text, args) [PEET_ABSTRACT_##name] = text,
        PEET_ABSTRACTS(PEET_X)
#undef PEET_X
    };
    const struct peet_abstract_event *event = step->event;
    const int object = event->type >= PEET_ABSTRACT_MUTEX_LOCK && event->type <= PEET_ABSTRACT_WAIT && event->nargs;
    json_t *one;

    if (event->type != PEET_ABSTRACT_ATOMIC || !step->nmade) { /* else its references say what it does */
        one = begin(step->context, step->option->hw,
            event->type == PEET_ABSTRACT_ATOMIC     ? "fence or pause"
                : event->type < PEET_ABSTRACT_TYPES ? texts[event->type]
                                                    : "?");
        if (here.standing.function)
            add_place(one, here.standing.function, here.standing.file, here.standing.line);
        if (object)
            add_variable(one, event->args[0], 0);
        put(one);
    }
    for (uint32_t i = 0; i < step->nmade; i++)
        if (!is_inner(&step->made[i]))
            explain_reference(step, &step->made[i]);
    if (step->more) {
        char text[60];

        snprintf(text, sizeof text, "%u more references, not listed", step->more);
        put(begin(step->context, step->option->hw, text));
    }
}

void peet_explain_step(void *arg, const struct peet_step *step)
{
    (void)arg;
    if (here.steps++ >= STEPS_MOST)
        return;
    if (step->event)
        explain_event(step);
    else
        explain_move(step);
}
