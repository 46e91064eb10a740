/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of one width: when they were referenced last, and by whom. */
#include "locality.h"

#include <stdlib.h>

struct locality_lines *locality__lines_new(void)
{
    struct locality_lines *l = calloc(1, sizeof *l);

    if (l) {
        peet_sim_linemap_init(&l->map, sizeof(struct locality_line));
        l->number = UINT64_MAX;
    }
    return l;
}

void locality__lines_free(struct locality_lines *l)
{
    if (l)
        peet_sim_linemap_fini(&l->map);
    free(l);
}

static void owned(struct locality_lines *l, struct locality_line *line, uint32_t context, int store)
{
    uint16_t me = (uint16_t)(context + 1);

    if (!line->reader)
        line->reader = me;
    line->several |= line->reader != me;
    l->from_others += line->writer && line->writer != me;
    if (store) {
        line->writers = !line->writers ? 1 : line->writer != me ? 2 : line->writers;
        line->writer = me;
    }
}

int locality__line_changes(struct locality_lines *l, uint64_t number, uint32_t context, int store)
{
    struct locality_line *line;
    uint64_t time;

    if (l->line)
        l->line->last = l->now;
    line = number == l->number ? l->line : peet_sim_linemap_get(&l->map, number);
    if (!line)
        return -1;
    l->line = line;
    l->number = number;
    l->context = context;
    l->now++;
    if (line->last) {
        unsigned bucket;

        time = l->now - line->last;
        bucket = time <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(time - 1);
        l->count[bucket]++;
        l->sum[bucket] += time;
    } else {
        l->cold++;
    }
    line->last = l->now;
    owned(l, line, context, store);
    return 0;
}

static int count_line(void *arg, uint64_t number, void *record)
{
    struct locality_sharing *s = arg;
    const struct locality_line *line = record;

    (void)number;
    if (!line->last)
        return 0;
    s->lines++;
    if (!line->several)
        s->private_lines++;
    else if (!line->writers)
        s->read_shared++;
    else if (line->writers == 1)
        s->one_writer++;
    else
        s->several_writers++;
    return 0;
}

void locality__lines_sharing(const struct locality_lines *l, struct locality_sharing *out_sharing)
{
    *out_sharing = (struct locality_sharing){0};
    peet_sim_linemap_each(&l->map, count_line, out_sharing);
}
