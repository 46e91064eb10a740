/* SPDX-License-Identifier: Apache-2.0 */
/* Races: what is kept of them, the statistics, and the table. */
#include "races.h"

#include <stdio.h>
#include <stdlib.h>

static int counts(const struct races *r, uint32_t a, uint32_t b)
{
    const struct races_site *const one = r->sites[a], *const other = r->sites[b];
    return !one->key.library || !other->key.library || (one->copies && other->copies);
}

/* "grid[3].next", "node#2.count", "counter" */
static void name_data(const struct races *r, uint64_t address, char *out)
{
    struct peet_data_object object = {address, 1, 0};
    const struct peet_data *const data = r->env->data_of(r->env, address, &object);
    char number[32] = "", member[RACES_NAME / 2];
    const uint64_t from = r->env->data_member(r->env, data, address - object.address, member, sizeof member);
    const uint64_t left = address - object.address - from;
    if (data->objects > 1)
        snprintf(number, sizeof number, "#%llu", (unsigned long long)object.number);
    snprintf(out, RACES_NAME, "%s%s%s%s", data->name, number, *member && *member != '[' ? "." : "", member);
    const size_t n = strlen(out);
    if (left && data->kind != PEET_DATA_STACK && data->kind != PEET_DATA_REST)
        snprintf(out + n, RACES_NAME - n, "+%llu", (unsigned long long)left);
}

void races_found(struct races *r, const struct races_cell *earlier, const struct races_strand *s, uint64_t address,
    uint32_t bytes, uint32_t site)
{
    const uint32_t low = earlier->site < site ? earlier->site : site, high = earlier->site ^ site ^ low;
    const uint64_t key = (uint64_t)low << 32 | high;
    struct races_race *race;
    if (!counts(r, low, high))
        return;
    HASH_FIND(hh, r->races, &key, sizeof key, race);
    if (race) {
        race->times++;
        return;
    }
    if (HASH_COUNT(r->races) >= r->limit) {
        r->dropped++;
        return;
    }
    if (!(race = calloc(1, sizeof *race))) {
        races_no_memory(r);
        return;
    }
    *race = (struct races_race){.key = key,
        .sites = {earlier->site, site},
        .strands = {earlier->strand, s->id},
        .address = address,
        .times = 1,
        .cycles = r->now,
        .bytes = bytes};
    name_data(r, address, race->name);
    HASH_ADD(hh, r->races, key, sizeof race->key, race);
}

void races_take_back(struct races *r, uint64_t address, uint64_t bytes, uint64_t cycles)
{
    struct races_race *race, *next;
    HASH_ITER(hh, r->races, race, next)
    {
        if (race->cycles < cycles || race->address - address >= bytes)
            continue;
        HASH_DEL(r->races, race);
        free(race);
    }
}

void races_races_free(struct races *r)
{
    struct races_race *race, *next;
    HASH_ITER(hh, r->races, race, next)
    {
        HASH_DEL(r->races, race);
        free(race);
    }
}

/* What is known only when all of the program has been seen: the next one from here on that is a race. */
static const struct races_race *next(const struct races *r, const struct races_race *race)
{
    for (; race; race = race->hh.next) {
        const uint32_t *const s = race->sites;
        const int first = r->sites[s[0]]->key.how & RACES_ATOMIC, second = r->sites[s[1]]->key.how & RACES_ATOMIC;
        if (!(second && races_begins_atomic(r, s[0])) && !(first && races_begins_atomic(r, s[1])))
            return race;
    }
    return NULL;
}

static unsigned count(const struct races *r)
{
    unsigned n = 0;
    for (const struct races_race *race = next(r, r->races); race; race = next(r, race->hh.next))
        n++;
    return n;
}

static const char *strand_text(const struct races *r, uint32_t strand, char *out, size_t room)
{
    static const char *const kinds[] = {"main", "thread", "task", "iteration"};
    const struct races_name *const name = &r->names[strand];
    if (name->kind == RACES_MAIN)
        snprintf(out, room, "main");
    else
        snprintf(out, room, "%s %lld", kinds[name->kind], (long long)name->number);
    return out;
}

static const char *what(const struct races_site *s)
{
    static const char *const texts[] = {"reads", "writes", "reads atomically", "writes atomically"};
    return texts[s->key.how & (RACES_WRITE | RACES_ATOMIC)];
}

/* "file.c:12" without the folders; without a line, the file alone */
static const char *place(const struct races_site *s, char *out, size_t room)
{
    const char *const file = s->key.function->file, *const slash = strrchr(file, '/');
    const char *const name = slash ? slash + 1 : file;
    if (s->key.line)
        snprintf(out, room, "%s:%llu", name, (unsigned long long)s->key.line);
    else
        snprintf(out, room, "%s", name);
    return out;
}

static void access_stats(const struct races *r, const struct peet_env *env, struct peet_stats *list,
    const struct races_race *race, unsigned which)
{
    const struct races_site *const s = r->sites[race->sites[which]];
    struct peet_stats *const o = env->stats_object(env, list, NULL);
    char text[RACES_NAME];
    env->stats_string(env, o, "does", what(s));
    env->stats_string(env, o, "function", s->key.function->name);
    env->stats_string(env, o, "file", s->key.function->file);
    env->stats_u64(env, o, "line", s->key.line);
    if (s->key.library)
        env->stats_string(env, o, "by_calling", s->key.library->name);
    env->stats_string(env, o, "strand", strand_text(r, race->strands[which], text, sizeof text));
}

static void access_row(const struct races *r, const struct peet_env *env, struct peet_stats *rows,
    const struct races_race *race, unsigned which)
{
    const struct races_site *const s = r->sites[race->sites[which]];
    struct peet_stats *const row = env->stats_array(env, rows, NULL);
    char where[RACES_NAME], text[2 * RACES_NAME];
    env->stats_string(env, row, NULL, which ? "" : race->name);
    snprintf(text, sizeof text, "%s %s%s%s%s%s", strand_text(r, race->strands[which], where, sizeof where), what(s),
        s->key.library ? " (" : "", s->key.library ? s->key.library->name : "", s->key.library ? ")" : "", "");
    env->stats_string(env, row, NULL, text);
    snprintf(text, sizeof text, "%s (%s)", s->key.function->name, place(s, where, sizeof where));
    env->stats_string(env, row, NULL, text);
    if (which)
        env->stats_string(env, row, NULL, "");
    else
        env->stats_u64(env, row, NULL, race->times);
}

static void table(const struct races *r, const struct peet_env *env, struct peet_stats *node)
{
    enum { SHOWN = 20 };
    static const char *const columns[] = {"data", "who does what", "where", "times"};
    const unsigned n = count(r);
    unsigned shown = 0;
    struct peet_stats *const o = env->stats_object(env, env->stats_array(env, node, "tables"), NULL);
    char title[RACES_NAME];
    snprintf(title, sizeof title, n ? "data races: %u%s" : "data races: none", n,
        n > SHOWN ? ", here the first 20" : "");
    env->stats_string(env, o, "title", title);
    struct peet_stats *list = env->stats_array(env, o, "columns");
    if (!n) { /* that there is none is worth a line, with how much was looked at */
        env->stats_string(env, list, NULL, "strands");
        env->stats_string(env, list, NULL, "accesses");
        list = env->stats_array(env, env->stats_array(env, o, "rows"), NULL);
        env->stats_u64(env, list, NULL, r->nnames);
        env->stats_u64(env, list, NULL, r->accesses);
        return;
    }
    for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++)
        env->stats_string(env, list, NULL, columns[c]);
    list = env->stats_array(env, o, "rows");
    for (const struct races_race *race = next(r, r->races); race && shown < SHOWN; race = next(r, race->hh.next)) {
        shown++;
        access_row(r, env, list, race, 0);
        access_row(r, env, list, race, 1);
    }
}

void races_stats(const struct races *r, const struct peet_env *env, struct peet_stats *node)
{
    env->stats_u64(env, node, "races", count(r));
    env->stats_u64(env, node, "races_not_kept", r->dropped);
    env->stats_u64(env, node, "accesses", r->accesses);
    env->stats_u64(env, node, "strands", r->nnames);
    struct peet_stats *const list = env->stats_array(env, node, "list");
    for (const struct races_race *race = next(r, r->races); race; race = next(r, race->hh.next)) {
        struct peet_stats *const o = env->stats_object(env, list, NULL);
        char address[32];
        env->stats_string(env, o, "data", race->name);
        snprintf(address, sizeof address, "0x%llx", (unsigned long long)race->address);
        env->stats_string(env, o, "address", address);
        env->stats_u64(env, o, "size_bytes", race->bytes);
        env->stats_u64(env, o, "times", race->times);
        env->stats_u64(env, o, "first_at_cycles", race->cycles);
        struct peet_stats *const accesses = env->stats_array(env, o, "accesses");
        access_stats(r, env, accesses, race, 0);
        access_stats(r, env, accesses, race, 1);
    }
    table(r, env, node);
}
