/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of data structures over the live process (host/data.c): which images it has, where stacks are, how code
 * without a schema is called.  host.c calls this.
 */
#ifndef PEET_HOST_DATA_H
#define PEET_HOST_DATA_H

#include "config/config.h"
#include "data/datamap.h"
#include "decode/decode.h"

#include <link.h>

/** peet_host_data_image() - an image with a schema is there, now or from the start; before and after
 * peet_host_data_start() peet_host_image() - what is to be said of an image of this process */
int peet_host_data_image(const struct peet_datamap_image *image, struct peet_error *error);
struct peet_datamap_image peet_host_image(const char *path, const struct dl_phdr_info *info);
/** peet_host_data_replay() - before peet_host_data_start(): the notes from before the first event, as a recording has
 * them
 * @libraries_recorded: its run had libraries recorded, the allocator among them */
void peet_host_data_replay(const uint64_t *notes, size_t n, int libraries_recorded);

/**
 * peet_host_data_start() - make the table, with all images so far, if it is wanted or the configuration has rules for
 * it
 * @program: for names of functions, borrowed.  @config: likewise
 * @map: gets data, perfect, remap
 */
int peet_host_data_start(struct peet_program *program, const struct peet_config *config, int wanted,
    struct peet_map_config *map, struct peet_error *error);

/** peet_host_data() - the table, or NULL: there is none */
struct peet_datamap *peet_host_data(void);

/** peet_host_data_refuse_perfect() - its machine knows no perfect memory.  Returns: PEET_EUNSUPPORTED */
int peet_host_data_refuse_perfect(const struct peet_config *config, struct peet_error *error);

/** peet_host_data_check() - after the run: a name that no structure has had, or a machine that knows no perfect memory
 *  Returns: 0, or a peet_err with the reason */
int peet_host_data_check(const struct peet_map *map, struct peet_error *error);

/** peet_host_data_tell_unused() - after the run: a message for each name of --allocator that has hidden nothing */
void peet_host_data_tell_unused(const struct peet_config *config);

/** peet_host_data_walk() - from now on allocations are those of the program's own code, with a call path of so many
 * places
 *  @find_image: looks for the image of a pc that is in none so far */
void peet_host_data_walk(struct peet_datamap *data, unsigned depth, int (*find_image)(uint64_t pc));

#endif
