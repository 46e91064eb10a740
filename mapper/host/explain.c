/* SPDX-License-Identifier: Apache-2.0 */
/* See explain.h. */
#include "host/explain.h"
#include "host/report.h"
#include "base/stats.h"

#include <stdio.h>
#include <string.h>

enum { STEPS_MOST = 20000, NAME_BYTES = 120, VALUE_BYTES = 8 };

static struct {
    struct peet_map *map;
    struct peet_program *program;
    json_t *list;
    uint64_t steps;
} here;

void peet_explain_begin(struct peet_map *map, struct peet_program *program)
{
    here.map = map;
    here.program = program;
    here.list = json_array();
}

json_t *peet_explain_json(void)
{
    return here.list ? json_incref(here.list) : NULL;
}

static json_t *name_json(uint64_t address)
{
    char name[NAME_BYTES];

    if (!peet_host_name_of(address, name, sizeof name))
        snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
    return peet_stats_text(name);
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

static void add_place(json_t *one, const struct peet_step *step, uint32_t line)
{
    const uint64_t pc =
        step->event && step->event->type == PEET_ABSTRACT_ATOMIC && step->event->nargs ? step->event->args[0] : 0;
    const struct peet_function *f = pc ? peet_program_function_of_pc(here.program, pc) : NULL;

    if (!f)
        return;
    json_object_set_new(one, "function", peet_stats_text(f->name));
    json_object_set_new(one, "file", peet_stats_text(f->file));
    if (line)
        json_object_set_new(one, "line", json_integer(line));
}

static json_t *begin(int64_t context, unsigned processor, const char *what)
{
    json_t *one =
        json_pack("{s:o,s:i,s:s}", "step", peet_stats_u64(here.steps), "processor", (int)processor, "what", what);

    if (context >= 0)
        json_object_set_new(one, "context", json_integer(context));
    return one;
}

static void add_variable(json_t *one, uint64_t address, uint64_t bytes)
{
    json_object_set_new(one, "variable", name_json(address));
    json_object_set_new(one, "address", peet_stats_u64(address));
    json_object_set_new(one, "bytes", peet_stats_u64(bytes));
}

/** A load that does not see what somebody has stored: whose view has another value, and which. */
static void add_newer(json_t *one, const struct peet_made *made, int64_t value)
{
    json_t *newer = json_array();
    int64_t other;

    for (unsigned p = 0; p < peet_map_nhw(here.map); p++)
        if (p != made->hw && peet_map_context_on(here.map, p) >= 0 &&
            value_of((int)p, made->address, made->bytes, &other) && other != value)
            json_array_append_new(newer,
                json_pack("{s:I,s:I}", "context", (json_int_t)peet_map_context_on(here.map, p), "value",
                    (json_int_t)other));
    if (value_of(-1, made->address, made->bytes, &other) && other != value)
        json_object_set_new(one, "memory_holds", json_integer(other));
    if (json_array_size(newer))
        json_object_set(one, "others_see", newer);
    json_decref(newer);
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

    if (own)
        add_place(one, step, made->line);
    add_variable(one, made->address, made->bytes);
    if (value_of((int)made->hw, made->address, made->bytes, &value)) {
        json_object_set_new(one, "value", json_integer(value));
        add_newer(one, made, value);
    }
    json_array_append_new(here.list, one);
}

static void explain_move(const struct peet_step *step)
{
    static const char *const whats[] = {
        [PEET_MOVE_PERFORM] = "leaves", [PEET_MOVE_SEE] = "sees", [PEET_MOVE_MEMORY] = "to memory"};
    const struct peet_move *move = &step->option->move;
    json_t *one = begin(step->context, step->option->hw, move->kind <= PEET_MOVE_MEMORY ? whats[move->kind] : "moves");
    int64_t value;

    add_variable(one, move->address, move->size_bytes);
    if (value_of(move->kind == PEET_MOVE_SEE ? (int)move->processor : -1, move->address, move->size_bytes, &value))
        json_object_set_new(one, "value", json_integer(value));
    json_array_append_new(here.list, one);
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

    if (event->type != PEET_ABSTRACT_ATOMIC || !step->nmade) {
        one = begin(step->context, step->option->hw,
            event->type == PEET_ABSTRACT_ATOMIC     ? "fence or pause"
                : event->type < PEET_ABSTRACT_TYPES ? texts[event->type]
                                                    : "?");
        add_place(one, step, 0);
        if (object)
            add_variable(one, event->args[0], 0);
        json_array_append_new(here.list, one);
    }
    for (uint32_t i = 0; i < step->nmade; i++)
        explain_reference(step, &step->made[i]);
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
