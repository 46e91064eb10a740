/* SPDX-License-Identifier: Apache-2.0 */
/* See recording.h. */
#include "host/recording.h"
#include "host/report.h"
#include "base/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    struct peet_record *record;
    struct peet_datamap_image *images; /* so far, until a record has begun */
    size_t nimages;
    json_t *names; /* that were asked for, by address: of objects in files that the trace does not hold, too */
} live;

int peet_host_recording_image(const struct peet_datamap_image *image, int late, struct peet_error *error)
{
    struct peet_datamap_image *more;

    if (live.record)
        return peet_record_image(live.record, image->path, image->bias, image->lo, image->hi, image->tls_offset, late,
            error);
    more = realloc(live.images, (live.nimages + 1) * sizeof *more);
    if (!more)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    live.images = more;
    more[live.nimages] = *image;
    more[live.nimages].path = strdup(image->path);
    return more[live.nimages++].path ? 0 : peet_error_set(error, PEET_ENOMEM, "out of memory");
}

void peet_host_recording_path(uint64_t word, const struct peet_foreign_block *path, uint32_t n)
{
    if (live.record)
        peet_record_path(live.record, word, path, n);
}

size_t peet_host_trace_observer(const struct peet_config *config)
{
    size_t i = 0;

    while (i < config->nobservers) {
        const char *name = config->observers[i].module, *slash = strrchr(name, '/');

        if (!strcmp(slash ? slash + 1 : name, "trace") || !strcmp(slash ? slash + 1 : name, "trace.so"))
            break;
        i++;
    }
    return i;
}

/** The effective configuration as the file that `peet run -c` reads. */
static json_t *config_text(void)
{
    const char *path = peet_rt_setting("PEET_CONFIG");
    FILE *file = path ? fopen(path, "re") : NULL;
    json_t *result = NULL;
    char *text = NULL;
    size_t room = 0;

    if (file && getdelim(&text, &room, '\0', file) > 0)
        result = json_string(text);
    if (file)
        fclose(file);
    free(text);
    return result ? result : json_string("");
}

/* The date of a second since 1970, by the calendar's period of 400 years.  Not gmtime(): it reads the time zone's file once, which
 * the program would do no more then, whose C library this is, too. */
static void write_date(char *out, size_t bytes, uint64_t seconds)
{
    static const unsigned before[] = {0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337}; /* days, from March on */
    const uint64_t days = seconds / 86400 + 719468 /* since March 1 of the year 0 */, of_day = seconds % 86400;
    const unsigned of_era = (unsigned)(days % 146097);
    const unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365; /* of the era */
    const unsigned day = of_era - (365 * year + year / 4 - year / 100);
    unsigned month = 11;

    while (before[month] > day)
        month--;
    snprintf(out, bytes, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)(days / 146097 * 400) + year + (month > 9),
        month < 10 ? month + 3 : month - 9, day - before[month] + 1, (unsigned)(of_day / 3600),
        (unsigned)(of_day / 60 % 60), (unsigned)(of_day % 60));
}

static json_t *describe(const struct peet_config *config)
{
    char date[80];

    write_date(date, sizeof date, (uint64_t)time(NULL));
    return json_pack("{s:s,s:s,s:o,s:o,s:o}", "peet", PEET_VERSION, "date", date, "config", peet_config_json(config),
        "config_text", config_text(), "seed", peet_stats_u64(config->seed));
}

int peet_host_record(const struct peet_config *config, uint64_t level, struct peet_record **out_record,
    struct peet_error *error)
{
    int err = peet_record_open(config->output, describe(config), (int)level, out_record, error);

    live.record = *out_record;
    if (!err && peet_stats_note_file("trace.peet"))
        err = peet_error_set(error, PEET_ENOMEM, "out of memory");
    for (size_t i = 0; i < live.nimages && !err; i++)
        err = peet_host_recording_image(&live.images[i], 0, error);
    return err;
}

/** The key of an address in the names of an ending. */
static const char *key_of(uint64_t address, char key[static 24])
{
    snprintf(key, 24, "0x%" PRIx64, address);
    return key;
}

void peet_host_recording_name(uint64_t address, const char *name)
{
    char key[24];

    if (!live.record)
        return;
    if (!live.names)
        live.names = json_object();
    json_object_set_new(live.names, key_of(address, key), peet_stats_text(name));
}

int peet_host_record_end(struct peet_record *record, const char *reason, int status, const char *other, uint64_t cycles,
    struct peet_error *error)
{
    json_t *names = live.names;

    live.record = NULL;
    live.names = NULL;
    return peet_record_close(record,
        json_pack("{s:s,s:i,s:o,s:o*,s:o*}", "reason", reason, "status", status, "cycles", peet_stats_u64(cycles),
            "program", other ? peet_stats_text(other) : NULL, "names", names),
        error);
}

int peet_host_replay_images(struct peet_replay *replay, uint64_t pc, peet_host_add_image *add, struct peet_error *error)
{
    struct peet_recording *recording = peet_replay_recording(replay);
    int n = 0, err = 0;

    for (size_t i = 0; i < peet_recording_nimages(recording) && !err; i++) {
        const struct peet_recorded_image *image = peet_recording_image(recording, i);
        struct peet_datamap_image one = {
            .bias = image->bias, .lo = image->lo, .hi = image->hi, .tls_offset = image->tls_offset};

        if (pc ? !image->late || pc < image->lo || pc >= image->hi : image->late != 0)
            continue;
        one.path = peet_replay_image(replay, i, error);
        err = one.path ? add(one.path, &one, error) : error->code;
        n++;
    }
    return err ? err : n;
}

int peet_host_recorded_name(struct peet_replay *replay, uint64_t address, char *out_name, size_t bytes)
{
    const struct peet_recording *recording = peet_replay_recording(replay);
    const char *name;
    char key[24];

    for (size_t i = 0; i < peet_recording_nimages(recording); i++) {
        const struct peet_recorded_image *image = peet_recording_image(recording, i);
        const char *path = address >= image->lo && address < image->hi ? peet_replay_image(replay, i, NULL) : NULL;

        if (path && peet_host_name_in(path, address - image->bias, out_name, bytes))
            return 1;
    }
    name = peet_replay_name(replay, key_of(address, key)); /* found where the results were written */
    if (name)
        snprintf(out_name, bytes, "%s", name);
    return name != NULL;
}
