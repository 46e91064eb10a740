/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What config.c, file.c, numbers.c and data.c share.
 */
#ifndef PEET_CONFIG_PARTS_H
#define PEET_CONFIG_PARTS_H

#include "config/config.h"

#include <libconfig.h>

void peet__config_clear_observers(struct peet_config *config);
void peet__config_clear_followers(struct peet_config *config);
/** One more follower of this name. */
int peet__config_follower(struct peet_config *config, const char *where, const char *name,
    struct peet_config_module **out_module, struct peet_error *error);
int peet__config_string(char **slot, const char *text, struct peet_error *error);
int peet__config_param(struct peet_config_module *m, const char *where, const char *name, const char *text,
    struct peet_error *error);
int peet__config_module(struct peet_config_module *m, const char *where, const char *name, struct peet_error *error);
/** "name,key=value,..." laid over a module's settings. */
int peet__config_spec(struct peet_config_module *m, const char *where, const char *spec, struct peet_error *error);
int peet__config_observer(struct peet_config *config, const char *where, const char *name,
    struct peet_config_module **out_module, struct peet_error *error);

/* numbers.c */
/** A file's text, in which whole numbers that libconfig would cut down stand in quotes; the caller's.  Returns: 0,
 * PEET_EIO or PEET_ENOMEM */
int peet__config_text(const char *path, char **out_text, struct peet_error *error);

/* data.c */
void peet__config_data_fini(struct peet_config *config);
/** A key of the file that is one of its lists.  @out_done: it was */
int peet__config_data_read(struct peet_config *config, const char *where, const char *path, config_setting_t *setting,
    int *out_done, struct peet_error *error);
/** Both return not 0 if memory has run out. */
int peet__config_data_write(const struct peet_config *config, config_setting_t *root);
int peet__config_data_json(const struct peet_config *config, json_t *root);

#endif
