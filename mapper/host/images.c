/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images of the run, with the schemas in them: those of the process, or those that a trace names.  Each is read when the host
 * starts; one that the program loads later is read when the decoder meets an address that no image holds.
 */
#include "host/images.h"

#include "host/data.h"
#include "host/foreign.h"
#include "host/gaps.h"
#include "host/recording.h"
#include "host/report.h"
#include "trace/code.h"
#include "trace/paths.h"

#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct peet_program *program;
    struct peet_replay *replay;
} images;

/** One image, with its schema if it has one.  Returns: 1 added, 0 nothing to add, or a peet_err */
static int add_image(const char *path, uint64_t bias, struct peet_error *error)
{
    struct peet_error mine = {0, ""};
    int n = peet_program_add_image(images.program, path, bias, &mine);

    if (n >= 0)
        return 1;
    return n == PEET_ENOTFOUND ? 0 : peet_error_set(error, n, "%s", mine.message);
}

struct visit {
    struct peet_error *error;
    uint64_t pc; /* 0: all images; else the one that holds it */
    int added, err, first;
};

/** The file that is mapped at an address: names given to the loader may be relative to a folder long left. */
static int mapped_file(uint64_t address, char *out_path, size_t size)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    int found = 0;

    while (maps && !found && getline(&line, &room, maps) > 0) {
        uint64_t begin, end;
        const char *path = strchr(line, '/');

        if (path && sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) == 2 && address >= begin && address < end) {
            snprintf(out_path, size, "%.*s", (int)strcspn(path, "\n"), path);
            found = 1;
        }
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

/** An image of the process or of a recording.  Returns: as add_image() */
static int found(const char *path, const struct peet_datamap_image *image, struct peet_error *error)
{
    int err = add_image(path, image->bias, error);

    if (err > 0) {
        peet_host_gaps_image(path);
        if (peet_host_data_image(image, error))
            err = error->code;
    }
    return err;
}

static int found_recorded(const char *path, const struct peet_datamap_image *image, struct peet_error *error)
{
    int err = found(path, image, error);

    return err < 0 ? err : 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct visit *v = arg;
    int main_program = v->first, holds = !v->pc;
    char self[PATH_MAX];
    ssize_t length;

    (void)size;
    v->first = 0;
    for (unsigned i = 0; !holds && i < info->dlpi_phnum; i++) {
        uint64_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

        holds = info->dlpi_phdr[i].p_type == PT_LOAD && v->pc >= begin && v->pc < begin + info->dlpi_phdr[i].p_memsz;
    }
    if (!holds)
        return 0;
    if (main_program) {
        length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = 0;
    } else if (info->dlpi_name && info->dlpi_name[0] == '/') {
        snprintf(self, sizeof self, "%s", info->dlpi_name);
    } else if (!info->dlpi_phnum || !mapped_file(info->dlpi_addr + info->dlpi_phdr[0].p_vaddr, self, sizeof self)) {
        return 0;
    }
    const struct peet_datamap_image image = peet_host_image(self, info);
    v->err = found(self, &image, v->error);
    if (v->err > 0) {
        v->added++;
        v->err = peet_host_recording_image(&image, v->pc != 0, v->error);
    }
    return v->err < 0 || v->pc;
}

static int scan(uint64_t pc, struct peet_error *error)
{
    struct visit v = {.error = error, .pc = pc, .first = 1};

    if (images.replay)
        return peet_host_replay_images(images.replay, pc, found_recorded, error);

    dl_iterate_phdr(visit, &v);
    return v.err < 0 ? v.err : v.added;
}

static int rescan(void *arg, struct peet_program *program, uint64_t pc)
{
    struct peet_error error = {0, ""};
    int n = images.replay ? peet_recording_add_path(peet_replay_recording(images.replay), program, pc, &error)
                          : peet_host_foreign_block(program, pc, &error);

    (void)arg;
    if (!n)
        n = scan(pc, &error);
    if (n < 0)
        peet_host_report("%s", error.message);
    if (!n && images.replay && !peet_recording_complete(peet_replay_recording(images.replay)))
        return PEET_ENOTFOUND; /* paths come behind the words that they are about */
    return n;
}

int peet_host_find_image(uint64_t pc)
{
    return rescan(NULL, images.program, pc);
}

int peet_host_load_program(const char *name, int without, struct peet_replay *replay, struct peet_program **out,
    struct peet_error *error)
{
    int n = peet_program_new(&images.program);

    *out = images.program;
    images.replay = replay;
    if (n)
        return peet_error_set(error, n, "out of memory");
    peet_program_set_rescan(images.program, rescan, NULL);
    n = scan(0, error);
    if (n >= 0 && images.replay) {
        const int blocks = peet_recording_add_code(peet_replay_recording(images.replay), images.program, error);

        n = blocks < 0 ? blocks : n + blocks;
    }
    if (n < 0)
        return n;
    if (!n && !without)
        return peet_error_set(error, PEET_EFORMAT, "%s carries no schema: build it with peetcc", name);
    return 0;
}
