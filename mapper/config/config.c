/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run configuration as a structure: defaults, single settings, modules with their parameters.
 * The file form is in file.c.
 */
#include "config/import.h"
#include "config/parts.h"
#include "modules/modhost.h"
#include "base/names.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#define POLICIES "fcfs|rr|affinity"
#define SCHEDULES "static|dynamic|guided"
#define WINNERS "fcfs|lifo|random"
#define LOCK_MODELS "none|tas|ttas|ticket|mcs"

static int no_memory(struct peet_error *error)
{
    return peet_error_set(error, PEET_ENOMEM, "configuration: out of memory");
}

int peet_config_init(struct peet_config *config, struct peet_error *error)
{
    *config = (struct peet_config){.cores = 1,
        .seed = 1,
        .quantum_cycles = 10000,
        .slice_cycles = 4000000,
        .spin_quantum_cycles = 10000,
        .poll_cycles = 10000,
        .ranges = 1,
        .foreign = PEET_CONFIG_FOREIGN_AUTO,
        .data_depth = 1,
        .explore_limit = 100000,
        .explore_steps = 100000};
    config->machine.module = strdup("ideal");
    return config->machine.module ? 0 : no_memory(error);
}

static void module_fini(struct peet_config_module *m)
{
    for (size_t i = 0; i < m->nparams; i++) {
        free(m->params[i].name);
        free(m->params[i].text);
        free(m->params[i].where);
    }
    free(m->params);
    free(m->module);
    free(m->path);
    free(m->where);
    *m = (struct peet_config_module){0};
}

static void clear_arguments(struct peet_config *config)
{
    for (size_t i = 0; i < config->narguments; i++)
        free(config->arguments[i]);
    free(config->arguments);
    config->arguments = NULL;
    config->narguments = 0;
}

void peet__config_clear_observers(struct peet_config *config)
{
    for (size_t i = 0; i < config->nobservers; i++)
        module_fini(&config->observers[i]);
    free(config->observers);
    config->observers = NULL;
    config->nobservers = 0;
}

void peet__config_clear_followers(struct peet_config *config)
{
    for (size_t i = 0; i < config->nfollowers; i++)
        module_fini(&config->followers[i]);
    free(config->followers);
    config->followers = NULL;
    config->nfollowers = 0;
}

static void decider_fini(struct peet_config_decider *decider)
{
    free(decider->spec);
    free(decider->where);
    *decider = (struct peet_config_decider){0};
}

void peet_config_fini(struct peet_config *config)
{
    free(config->program);
    free(config->output);
    clear_arguments(config);
    module_fini(&config->machine);
    module_fini(&config->consistency);
    decider_fini(&config->picker);
    decider_fini(&config->judge);
    free(config->replay_token);
    free(config->from);
    peet__config_clear_observers(config);
    peet__config_clear_followers(config);
    peet__config_data_fini(config);
    *config = (struct peet_config){0};
}

/** Replace one string of the configuration; NULL clears it. */
int peet__config_string(char **slot, const char *text, struct peet_error *error)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return no_memory(error);
    free(*slot);
    *slot = copy;
    return 0;
}

int peet_config_set_program(struct peet_config *config, const char *program, size_t narguments, char *const *arguments,
    struct peet_error *error)
{
    char **copies = calloc(narguments + 1, sizeof *copies);

    if (!copies)
        return no_memory(error);
    for (size_t i = 0; i < narguments; i++)
        if (!(copies[i] = strdup(arguments[i]))) {
            while (i--)
                free(copies[i]);
            free(copies);
            return no_memory(error);
        }
    clear_arguments(config);
    config->arguments = copies;
    config->narguments = narguments;
    return program ? peet__config_string(&config->program, program, error) : 0;
}

int peet_config_set_from(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat st;

    if (stat(text, &st))
        return peet_error_set(error, PEET_EINVALID, "%s: %s: %s", where, text, strerror(errno));
    if (S_ISDIR(st.st_mode) && (size_t)snprintf(path, sizeof path, "%s/trace.peet", text) < sizeof path &&
        access(path, F_OK) != 0) {
        struct peet_import import; /* of another tool */
        const int found = peet_import_find(text, NULL, &import, error);

        peet_import_fini(&import);
        if (found < 0)
            return found;
        if (found)
            return realpath(text, real) ? peet__config_string(&config->from, real, error) : PEET_EIO;
    }
    if ((size_t)snprintf(path, sizeof path, "%s%s", text, S_ISDIR(st.st_mode) ? "/trace.peet" : "") >= sizeof path ||
        !realpath(path, real))
        return peet_error_set(error, PEET_EINVALID, "%s: there is no trace in %s: record one with --observe trace",
            where, text);
    return peet__config_string(&config->from, real, error);
}

int peet_config_set_output(struct peet_config *config, const char *path, struct peet_error *error)
{
    return peet__config_string(&config->output, path, error);
}

/** A number within bounds; @unit follows "must be a whole number" in the message. */
static int set_number(uint64_t *out_value, const char *where, const char *text, uint64_t least, uint64_t most,
    struct peet_error *error)
{
    uint64_t value;
    int err = peet_text_u64(text, &value);

    if (err == PEET_EINVALID)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not a whole number", where, text);
    if (err || value < least || value > most)
        return peet_error_set(error, PEET_EINVALID, "%s: %s is out of range: must be %llu to %llu", where, text,
            (unsigned long long)least, (unsigned long long)most);
    *out_value = value;
    return 0;
}

static int set_choice(int *out_value, const char *where, const char *text, const char *choices,
    struct peet_error *error)
{
    char words[80], *save = NULL;
    const char *names[8], *nearest;
    size_t n = 0;

    *out_value = peet_text_choice(text, choices);
    if (*out_value >= 0)
        return 0;
    snprintf(words, sizeof words, "%s", choices);
    for (char *word = strtok_r(words, "|", &save); word && n < sizeof names / sizeof *names;
        word = strtok_r(NULL, "|", &save))
        names[n++] = word;
    nearest = peet_names_nearest(text, names, n);
    return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of %s%s%s%s", where, text, choices,
        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/** A text that is a path is a module's; any other is one of the names, and no module decides any more. */
static int set_decider(struct peet_config_decider *decider, const char *where, const char *text,
    struct peet_error *error)
{
    const char *slash = strchr(text, '/');
    int err;

    decider_fini(decider);
    if (!slash || slash > text + strcspn(text, ","))
        return 0;
    err = peet__config_string(&decider->where, where, error);
    return err ? err : peet__config_string(&decider->spec, text, error);
}

int peet_config_set_cores(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    uint64_t value;
    int err = set_number(&value, where, text, 1, 65536, error);

    if (!err)
        config->cores = (uint32_t)value;
    return err;
}

int peet_config_set_seed(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->seed, where, text, 0, UINT64_MAX, error);
}

int peet_config_set_granularity(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    int choice = peet_text_choice(text, "sync|block|ref");
    uint64_t blocks;

    if (choice >= 0) {
        config->granularity = (enum peet_granularity)choice;
        return 0;
    }
    if (peet_text_u64(text, &blocks) || !blocks)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not sync, block, ref or a number of blocks from 1 on",
            where, text);
    config->granularity = PEET_GRANULARITY_BLOCKS;
    config->granularity_blocks = blocks;
    return 0;
}

int peet_config_set_policy(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    int choice, err = set_decider(&config->picker, where, text, error);

    if (err || config->picker.spec)
        return err;
    err = set_choice(&choice, where, text, POLICIES, error);
    if (!err)
        config->policy = (enum peet_policy)choice;
    return err;
}

int peet_config_set_quantum(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->quantum_cycles, where, text, 1, INT64_MAX, error);
}

int peet_config_set_switch(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->switch_cycles, where, text, 0, INT64_MAX, error);
}

int peet_config_set_schedule(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    int choice, err = set_choice(&choice, where, text, SCHEDULES, error);

    if (!err)
        config->schedule = (enum peet_schedule)choice;
    return err;
}

int peet_config_set_chunk(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->chunk, where, text, 0, INT64_MAX, error);
}

int peet_config_set_winner(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    int choice, err = set_decider(&config->judge, where, text, error);

    if (err || config->judge.spec)
        return err;
    err = set_choice(&choice, where, text, WINNERS, error);
    if (!err)
        config->winner = (enum peet_winner)choice;
    return err;
}

int peet_config_set_lock_model(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    int choice, err = set_choice(&choice, where, text, LOCK_MODELS, error);

    if (!err)
        config->lock_model = (enum peet_lock_model)choice;
    return err;
}

int peet_config_set_slice(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->slice_cycles, where, text, 0, INT64_MAX, error);
}

int peet_config_set_spin_quantum(struct peet_config *config, const char *where, const char *text,
    struct peet_error *error)
{
    return set_number(&config->spin_quantum_cycles, where, text, 1, INT64_MAX, error);
}

int peet_config_set_stack(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    uint64_t bytes = PEET_CONFIG_STACK_MOST;

    if (strcmp(text, "unlimited") &&
        (peet_text_size(text, &bytes) || (bytes && bytes < PEET_CONFIG_STACK_LEAST) || bytes > PEET_CONFIG_STACK_MOST))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not a size from 64KiB to 64GiB, or unlimited", where,
            text);
    config->stack_bytes = bytes;
    return 0;
}

int peet_config_set_poll(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->poll_cycles, where, text, 1, INT64_MAX, error);
}

int peet_config_set_syscall(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    return set_number(&config->syscall_cycles, where, text, 0, INT64_MAX, error);
}

int peet_config_set_io(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    double value;

    if (peet_text_f64(text, &value) || value < 0 || value > 1e9)
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not a number from 0 to 1e9", where, text);
    config->io_cycles_per_byte = value;
    return 0;
}

int peet_config_set_roi(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    if (strcmp(text, "all") && strcmp(text, "only"))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of all|only", where, text);
    config->roi_only = !strcmp(text, "only");
    return 0;
}

int peet_config_set_ranges(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    uint64_t value;

    if (peet_text_bool(text, &value))
        return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of on|off", where, text);
    config->ranges = value != 0;
    if (!value && !config->foreign_chosen) {
        config->foreign = PEET_CONFIG_FOREIGN_RANGES; /* nothing of libraries is to be seen */
        config->foreign_chosen = 1;
    }
    return 0;
}

static const char *const foreign_names[] = {"ranges", "off", "record", "auto"};

int peet_config_set_foreign(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    for (int i = 0; i < 4; i++)
        if (!strcmp(text, foreign_names[i])) {
            config->foreign = i;
            config->foreign_chosen = 1;
            return 0;
        }
    return peet_error_set(error, PEET_EINVALID, "%s: '%s' is not one of record|ranges|off|auto", where, text);
}

const char *peet_config_foreign_text(int foreign)
{
    return foreign_names[foreign];
}

const char *peet_config_not_recorded(const struct peet_config *config)
{
#ifdef PEET_SANITIZED
    return "not in a build with AddressSanitizer";
#endif
    return config->consistency.module || config->explore || config->replay_token
        ? "not with a model of consistency, nor when executions are explored"
        : NULL;
}

int peet_config_set_frequency(struct peet_config *config, const char *where, const char *text, struct peet_error *error)
{
    uint64_t value;

    if (peet_text_count(text, &value) || !value || value > 1000000000000)
        return peet_error_set(error, PEET_EINVALID,
            "%s: '%s' is not a frequency from 1 to 1000G: a whole number of hertz, or one with k, M, G or T", where,
            text);
    config->frequency_hz = value;
    return 0;
}

/** Set one parameter, or add it. */
int peet__config_param(struct peet_config_module *m, const char *where, const char *name, const char *text,
    struct peet_error *error)
{
    struct peet_config_param *more, *p = peet_config_param_of(m, name);
    int err;

    if (!p) {
        more = realloc(m->params, (m->nparams + 1) * sizeof *more);
        if (!more)
            return no_memory(error);
        m->params = more;
        p = &more[m->nparams];
        *p = (struct peet_config_param){.name = strdup(name), .type = PEET_PARAM_STRING};
        if (!p->name)
            return no_memory(error);
        m->nparams++;
    }
    err = peet__config_string(&p->text, text, error);
    return err ? err : peet__config_string(&p->where, where, error);
}

/** Make *m the module of this name: as it stands if it is that already, else an empty one. */
int peet__config_module(struct peet_config_module *m, const char *where, const char *name, struct peet_error *error)
{
    int err;

    if (m->module && !strcmp(m->module, name))
        return 0;
    module_fini(m);
    err = peet__config_string(&m->module, name, error);
    return err ? err : peet__config_string(&m->where, where, error);
}

/** Is this item of "name,key=value,key=value" the second one with its key? */
static int repeated(const char *spec, const char *item, size_t key_bytes)
{
    for (const char *at = strchr(spec, ','); at && at + 1 < item; at = strchr(at + 1, ','))
        if (!strncmp(at + 1, item, key_bytes + 1)) /* "key=" */
            return 1;
    return 0;
}

/** Are two words of one source: the command line, whichever its options, or a file? */
static int of_one_source(const char *where, const char *other)
{
    return !strcmp(where, other) || (!strncmp(where, "--", 2) && !strncmp(other, "--", 2));
}

/** One observer is given twice: what the two say must agree.  A file's word may still be overruled. */
static int contradicts(const struct peet_config_module *m, const char *where, const char *spec,
    struct peet_error *error)
{
    for (size_t i = 0; i < m->nparams; i++) {
        const struct peet_config_param *p = &m->params[i];
        const size_t key_bytes = strlen(p->name);

        for (const char *at = strchr(spec, ','); at && p->where && of_one_source(p->where, where);
            at = strchr(at + 1, ','))
            if (!strncmp(at + 1, p->name, key_bytes) && at[1 + key_bytes] == '=') {
                const char *text = at + key_bytes + 2;
                const size_t length = strcspn(text, ",");

                if (length != strlen(p->text) || strncmp(text, p->text, length))
                    return peet_error_set(error, PEET_EINVALID,
                        "%s %s: %s=%s was given before; there is one %s in a run, with one value of each parameter",
                        where, spec, p->name, p->text, m->module);
            }
    }
    return 0;
}

/** Apply "name,key=value,key=value"; @spec's name was handled by the caller. */
static int apply(struct peet_config_module *m, const char *where, const char *spec, struct peet_error *error)
{
    const char *comma = strchr(spec, ',');
    int err = 0;

    while (!err && comma) {
        const char *item = comma + 1, *equals = item + strcspn(item, "=,");
        char *text;

        comma = strchr(item, ',');
        if (!*item || *item == ',')
            return peet_error_set(error, PEET_EINVALID,
                "%s %s: there is no parameter %s (they are key=value, with a comma before each)", where, spec,
                *item ? "between two commas" : "after the last comma");
        if (*equals != '=' || equals == item)
            return peet_error_set(error, PEET_EINVALID, "%s %s: '%.*s' is not of the form key=value", where, spec,
                (int)strcspn(item, ","), item);
        if (repeated(spec, item, (size_t)(equals - item)))
            return peet_error_set(error, PEET_EINVALID, "%s %s: '%.*s' is given twice", where, spec,
                (int)(equals - item), item);
        text = strndup(item, strcspn(item, ","));
        if (!text)
            return no_memory(error);
        text[equals - item] = 0;
        err = peet__config_param(m, where, text, text + (equals - item) + 1, error);
        free(text);
    }
    return err;
}

static int name_of(char **out_name, const char *where, const char *spec, struct peet_error *error)
{
    size_t length = strcspn(spec, ",");

    if (!length)
        return peet_error_set(error, PEET_EINVALID, "%s: the name of a module is missing", where);
    *out_name = strndup(spec, length);
    return *out_name ? 0 : no_memory(error);
}

int peet__config_spec(struct peet_config_module *m, const char *where, const char *spec, struct peet_error *error)
{
    char *name = NULL;
    int err = name_of(&name, where, spec, error);

    if (!err)
        err = peet__config_module(m, where, name, error);
    if (!err)
        err = apply(m, where, spec, error);
    free(name);
    return err;
}

int peet_config_set_machine(struct peet_config *config, const char *where, const char *spec, struct peet_error *error)
{
    return peet__config_spec(&config->machine, where, spec, error);
}

/** One more module at the end of a list. */
static int append(struct peet_config_module **list, size_t *n, const char *where, const char *name,
    struct peet_config_module **out_module, struct peet_error *error)
{
    struct peet_config_module *more = realloc(*list, (*n + 1) * sizeof *more);
    int err;

    if (!more)
        return no_memory(error);
    *list = more;
    more[*n] = (struct peet_config_module){0};
    err = peet__config_module(&more[*n], where, name, error);
    if (err)
        return err;
    *out_module = &more[(*n)++];
    return 0;
}

/** The observer of this name, made if it is not there. */
int peet__config_observer(struct peet_config *config, const char *where, const char *name,
    struct peet_config_module **out_module, struct peet_error *error)
{
    for (size_t i = 0; i < config->nobservers; i++)
        if (!strcmp(config->observers[i].module, name)) {
            *out_module = &config->observers[i];
            return 0;
        }
    return append(&config->observers, &config->nobservers, where, name, out_module, error);
}

int peet__config_follower(struct peet_config *config, const char *where, const char *name,
    struct peet_config_module **out_module, struct peet_error *error)
{
    return append(&config->followers, &config->nfollowers, where, name, out_module, error);
}

int peet_config_add_follower(struct peet_config *config, const char *where, const char *spec, struct peet_error *error)
{
    struct peet_config_module *m;
    char *name = NULL;
    int err = name_of(&name, where, spec, error);

    if (!err)
        err = peet__config_follower(config, where, name, &m, error);
    if (!err)
        err = apply(m, where, spec, error);
    free(name);
    return err;
}

int peet_config_add_observer(struct peet_config *config, const char *where, const char *spec, struct peet_error *error)
{
    struct peet_config_module *m;
    char *name = NULL;
    int err = name_of(&name, where, spec, error);

    if (!err)
        err = peet__config_observer(config, where, name, &m, error);
    if (!err)
        err = contradicts(m, where, spec, error);
    if (!err)
        err = apply(m, where, spec, error);
    free(name);
    return err;
}

/** What of its descriptor a module must have. */
enum { PICKS = 1, JUDGES = 2 };

static int resolve(struct peet_config_module *m, const char *modules_dir, unsigned kind, unsigned decides,
    struct peet_error *error)
{
    struct peet_modhost_module loaded;
    struct peet_error inner = {0, ""};
    /* an effective configuration, read in another folder than it was made in */
    const int elsewhere = m->path && strchr(m->module, '/') && access(m->module, F_OK) != 0;
    int err = peet_modhost_load(modules_dir, elsewhere ? m->path : m->module, kind, &loaded, &inner);

    if (err)
        return peet_error_set(error, err, "%s%s%s", m->where ? m->where : "", m->where ? ": " : "", inner.message);
    if ((decides & PICKS && !loaded.module->pick_context) || (decides & JUDGES && !loaded.module->pick_winner))
        err = peet_error_set(error, PEET_EINVALID, "%s: %s decides nothing of the kind: it has no %s()",
            decides & PICKS ? "--policy" : "--winner", m->module,
            decides & PICKS && !loaded.module->pick_context ? "pick_context" : "pick_winner");
    if (!err)
        err = peet_modhost_fill(loaded.module, m, error);
    if (!err)
        err = peet__config_string(&m->path, loaded.path, error);
    peet_modhost_unload(&loaded);
    return err;
}

int peet_config_decides(const struct peet_config *config, const struct peet_config_decider *decider, size_t i)
{
    return decider->spec && !strcmp(config->observers[i].module, decider->spec);
}

/** It is an observer, too, which has the parameters then. */
static int add_decider(struct peet_config *config, const struct peet_config_decider *decider, struct peet_error *error)
{
    int err = decider->spec ? peet_config_add_observer(config, decider->where, decider->spec, error) : 0;

    if (!err && decider->spec)
        decider->spec[strcspn(decider->spec, ",")] = 0;
    return err;
}

/** What an exploration, many executions, has not, and what nothing else has. */
static int check_exploration(const struct peet_config *config, struct peet_error *error)
{
    if (config->explore && config->replay_token)
        return peet_error_set(error, PEET_EINVALID,
            "--explore makes executions, --replay-token repeats one: one of them at a time");
    if (config->explore && config->nfollowers)
        return peet_error_set(error, PEET_EINVALID, "followers and an exploration exclude each other");
    if (config->explore && config->nobservers)
        return peet_error_set(error, PEET_EINVALID,
            "observers and an exploration exclude each other: %s has no results of many runs; --replay-token "
            "repeats one of them for it",
            config->observers[0].module);
    if (config->explore_until_failure && !config->explore)
        return peet_error_set(error, PEET_EINVALID, "--until failure: it is of --explore only");
    if (config->explain && !config->replay_token)
        return peet_error_set(error, PEET_EINVALID,
            "--explain: of which execution? --replay-token names it (--explore prints tokens)");
    return 0;
}

int peet_config_resolve(struct peet_config *config, const char *modules_dir, struct peet_error *error)
{
    int err;

    if (!config->machine.module)
        return peet_error_set(error, PEET_EINVALID, "no machine is given");
    err = resolve(&config->machine, modules_dir, PEET_MACHINE, 0, error);
    if (!err)
        err = check_exploration(config, error);
    if (!err)
        err = add_decider(config, &config->picker, error);
    if (!err)
        err = add_decider(config, &config->judge, error);
    for (size_t i = 0; !err && i < config->nobservers; i++)
        err = resolve(&config->observers[i], modules_dir, PEET_OBSERVER,
            (peet_config_decides(config, &config->picker, i) ? PICKS : 0) |
                (peet_config_decides(config, &config->judge, i) ? JUDGES : 0),
            error);
    for (size_t i = 0; !err && i < config->nfollowers; i++)
        err = resolve(&config->followers[i], modules_dir, PEET_MACHINE, 0, error);
    if (!err && (config->free_waits.n || config->scale.n) &&
        (config->explore || config->replay_token || config->consistency.module))
        err =
            peet_error_set(error, PEET_EINVALID, "--free and --scale: not with an exploration or a consistency model");
    if (!err && config->free_waits.n && config->lock_model != PEET_LOCK_NONE)
        err = peet_error_set(error, PEET_EINVALID,
            "--free: with --lock-model=none only; other models have traffic for waiting in memory");
    if (!err && config->consistency.module)
        err = resolve(&config->consistency, modules_dir, PEET_CONSISTENCY, 0, error);
    return err;
}

const char *peet_config_policy_text(const struct peet_config *config)
{
    static const char *const texts[] = {"fcfs", "rr", "affinity"};

    return config->picker.spec ? config->picker.spec : texts[config->policy];
}

const char *peet_config_schedule_text(enum peet_schedule schedule)
{
    static const char *const texts[] = {"static", "dynamic", "guided", "default"};

    return texts[schedule];
}

const char *peet_config_winner_text(const struct peet_config *config)
{
    static const char *const texts[] = {"fcfs", "lifo", "random"};

    return config->judge.spec ? config->judge.spec : texts[config->winner];
}

const char *peet_config_lock_model_text(enum peet_lock_model model)
{
    static const char *const texts[] = {"none", "tas", "ttas", "ticket", "mcs"};

    return texts[model];
}

const char *peet_config_granularity_text(const struct peet_config *config, char *buffer, size_t bytes)
{
    static const char *const texts[] = {"sync", "block", "ref"};

    if (config->granularity == PEET_GRANULARITY_BLOCKS)
        snprintf(buffer, bytes, "%llu", (unsigned long long)config->granularity_blocks);
    else
        snprintf(buffer, bytes, "%s", texts[config->granularity]);
    return buffer;
}
