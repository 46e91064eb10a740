/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration as a libconfig file, and as an object for stats.json.  Reading goes through the
 * same setters as the command line: a value of any libconfig type becomes the text that the user
 * could have typed.
 */
#include "config/parts.h"
#include "base/files.h"
#include "base/stats.h"
#include "base/names.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {"version", "program", "arguments", "cores", "granularity", "seed", "policy",
    "quantum_cycles", "switch_cycles", "schedule", "chunk", "winner", "lock_model", "slice_cycles",
    "spin_quantum_cycles", "poll_cycles", "syscall_cycles", "io_cycles_per_byte", "frequency_hz", "stack_bytes",
    "ranges", "roi", "machine", "observers", "followers", "consistency", "consistency_sync", "explore", "explore_limit",
    "explore_steps", "until", "explain", "replay_token", "perfect", "remap", "allocators", "free", "scale",
    "data_depth", "from", "output", "foreign"};
static const char *const module_keys[] = {"module", "path", "parameters"};

/** Where a setting stands, and its name: "run.cfg:12: cores". */
struct place {
    char text[PATH_MAX + 300];
};

static const char *place_of(struct place *place, const char *path, config_setting_t *setting)
{
    const char *name = config_setting_name(setting);

    snprintf(place->text, sizeof place->text, "%s:%u%s%s", path, config_setting_source_line(setting), name ? ": " : "",
        name ? name : "");
    return place->text;
}

/** A scalar as text; NULL if it is none.  @buffer: at least 40 bytes */
static const char *scalar(config_setting_t *setting, char *buffer, size_t bytes)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(buffer, bytes, "%lld", config_setting_get_int64(setting));
        return buffer;
    case CONFIG_TYPE_FLOAT:
        snprintf(buffer, bytes, "%.17g", config_setting_get_float(setting));
        return buffer;
    case CONFIG_TYPE_BOOL:
        return config_setting_get_bool(setting) ? "true" : "false";
    case CONFIG_TYPE_STRING:
        return config_setting_get_string(setting);
    }
    return NULL;
}

static int unknown_key(const char *path, config_setting_t *setting, const char *const *known, size_t n,
    struct peet_error *error)
{
    const char *name = config_setting_name(setting), *nearest = peet_names_nearest(name, known, n);

    return peet_error_set(error, PEET_EINVALID, "%s:%u: unknown key '%s'%s%s%s", path,
        config_setting_source_line(setting), name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
        nearest ? "'?" : "");
}

/** An observer that a file names twice is one observer: what the two say must agree. */
static int contradicts(const struct peet_config_module *m, const char *path, config_setting_t *setting,
    const char *text, struct peet_error *error)
{
    const size_t bytes = strlen(path);
    struct place place;

    for (size_t i = 0; i < m->nparams; i++) {
        const struct peet_config_param *p = &m->params[i];

        if (!strcmp(p->name, config_setting_name(setting)) && strcmp(p->text, text) && p->where &&
            !strncmp(p->where, path, bytes) && p->where[bytes] == ':')
            return peet_error_set(error, PEET_EINVALID,
                "%s: %s = %s was given before; there is one %s in a run, with one value of each parameter",
                place_of(&place, path, setting), p->name, p->text, m->module);
    }
    return 0;
}

static int read_params(struct peet_config_module *m, const char *path, config_setting_t *group,
    struct peet_error *error)
{
    char buffer[40], where[PATH_MAX + 20];
    struct place place;
    int err = 0;

    if (!config_setting_is_group(group))
        return peet_error_set(error, PEET_EINVALID, "%s: must be a group: { name = value; … }",
            place_of(&place, path, group));
    for (int i = 0; !err && i < config_setting_length(group); i++) {
        config_setting_t *one = config_setting_get_elem(group, (unsigned)i);
        const char *text = scalar(one, buffer, sizeof buffer);

        if (!text)
            return peet_error_set(error, PEET_EINVALID, "%s: must be a number, text or true/false",
                place_of(&place, path, one));
        snprintf(where, sizeof where, "%s:%u", path, config_setting_source_line(one));
        err = contradicts(m, path, one, text, error);
        if (!err)
            err = peet__config_param(m, where, config_setting_name(one), text, error);
    }
    return err;
}

/** One more module of a list. */
typedef int more_modules(struct peet_config *config, const char *where, const char *name,
    struct peet_config_module **out_module, struct peet_error *error);

/** Into @m, or, if that is NULL, into one more that @more makes. */
static int read_module(struct peet_config *config, const char *path, config_setting_t *group,
    struct peet_config_module *m, more_modules *more, struct peet_error *error)
{
    const char *name = NULL, *file = NULL;
    config_setting_t *params;
    char where[PATH_MAX + 20];
    struct place place;
    int err;

    if (!config_setting_is_group(group))
        return peet_error_set(error, PEET_EINVALID, "%s: must be a group: { module = \"…\"; parameters = { … }; }",
            place_of(&place, path, group));
    for (int i = 0; i < config_setting_length(group); i++) {
        config_setting_t *one = config_setting_get_elem(group, (unsigned)i);
        size_t k = 0;

        while (k < 3 && strcmp(config_setting_name(one), module_keys[k]))
            k++;
        if (k == 3)
            return unknown_key(path, one, module_keys, 3, error);
        if (k < 2 && config_setting_type(one) != CONFIG_TYPE_STRING)
            return peet_error_set(error, PEET_EINVALID, "%s: must be a text", place_of(&place, path, one));
    }
    config_setting_lookup_string(group, "module", &name);
    config_setting_lookup_string(group, "path", &file);
    if (!name || !*name)
        return peet_error_set(error, PEET_EINVALID, "%s: the key 'module' is missing", place_of(&place, path, group));
    snprintf(where, sizeof where, "%s:%u", path, config_setting_source_line(group));
    err = m ? peet__config_module(m, where, name, error) : more(config, where, name, &m, error);
    if (!err && file)
        err = peet__config_string(&m->path, file, error);
    params = config_setting_get_member(group, "parameters");
    return err || !params ? err : read_params(m, path, params, error);
}

static int is_sequence(config_setting_t *setting)
{
    return config_setting_is_list(setting) || config_setting_is_array(setting);
}

static int read_arguments(struct peet_config *config, const char *path, config_setting_t *list,
    struct peet_error *error)
{
    size_t n = is_sequence(list) ? (size_t)config_setting_length(list) : 0;
    char **texts = calloc(n + 1, sizeof *texts), buffer[40];
    struct place place;
    int err = 0;

    if (!texts)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    if (!is_sequence(list))
        err =
            peet_error_set(error, PEET_EINVALID, "%s: must be a list: ( \"a\", \"b\" )", place_of(&place, path, list));
    for (size_t i = 0; !err && i < n; i++) {
        const char *text = scalar(config_setting_get_elem(list, (unsigned)i), buffer, sizeof buffer);

        if (!text)
            err = peet_error_set(error, PEET_EINVALID, "%s: entry %zu is not a text", place_of(&place, path, list),
                i + 1);
        else if (!(texts[i] = strdup(text)))
            err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    }
    if (!err)
        err = peet_config_set_program(config, NULL, n, texts, error);
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
    return err;
}

static int read_modules(struct peet_config *config, const char *path, config_setting_t *list, more_modules *more,
    struct peet_error *error)
{
    struct place place;
    int err = 0;

    if (!config_setting_is_list(list))
        return peet_error_set(error, PEET_EINVALID, "%s: must be a list: ( { module = \"…\"; }, … )",
            place_of(&place, path, list));
    for (int i = 0; !err && i < config_setting_length(list); i++)
        err = read_module(config, path, config_setting_get_elem(list, (unsigned)i), NULL, more, error);
    return err;
}

static int read_setting(struct peet_config *config, const char *path, config_setting_t *setting,
    struct peet_error *error)
{
    static const struct {
        const char *key;
        int (*set)(struct peet_config *, const char *, const char *, struct peet_error *);
    } setters[] = {
        {"cores", peet_config_set_cores},
        {"granularity", peet_config_set_granularity},
        {"seed", peet_config_set_seed},
        {"policy", peet_config_set_policy},
        {"quantum_cycles", peet_config_set_quantum},
        {"switch_cycles", peet_config_set_switch},
        {"schedule", peet_config_set_schedule},
        {"chunk", peet_config_set_chunk},
        {"winner", peet_config_set_winner},
        {"lock_model", peet_config_set_lock_model},
        {"slice_cycles", peet_config_set_slice},
        {"spin_quantum_cycles", peet_config_set_spin_quantum},
        {"poll_cycles", peet_config_set_poll},
        {"syscall_cycles", peet_config_set_syscall},
        {"io_cycles_per_byte", peet_config_set_io},
        {"frequency_hz", peet_config_set_frequency},
        {"stack_bytes", peet_config_set_stack},
        {"ranges", peet_config_set_ranges},
        {"consistency_sync", peet_config_set_consistency_sync},
        {"explore", peet_config_set_explore},
        {"explore_limit", peet_config_set_explore_limit},
        {"explore_steps", peet_config_set_explore_steps},
        {"until", peet_config_set_until},
        {"explain", peet_config_set_explain},
        {"replay_token", peet_config_set_replay_token},
        {"foreign", peet_config_set_foreign},
        {"from", peet_config_set_from},
        {"roi", peet_config_set_roi},
        {"data_depth", peet_config_set_data_depth},
    };
    const char *name = config_setting_name(setting), *text;
    char buffer[40];
    struct place place;
    int done, err;

    if (!strcmp(name, "machine"))
        return read_module(config, path, setting, &config->machine, NULL, error);
    if (!strcmp(name, "consistency"))
        return read_module(config, path, setting, &config->consistency, NULL, error);
    if (!strcmp(name, "observers")) {
        peet__config_clear_observers(config);
        return read_modules(config, path, setting, peet__config_observer, error);
    }
    if (!strcmp(name, "followers")) {
        peet__config_clear_followers(config);
        return read_modules(config, path, setting, peet__config_follower, error);
    }
    if (!strcmp(name, "arguments"))
        return read_arguments(config, path, setting, error);
    text = scalar(setting, buffer, sizeof buffer);
    place_of(&place, path, setting);
    err = peet__config_data_read(config, place.text, path, setting, &done, error);
    if (done)
        return err;
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++)
        if (!strcmp(name, setters[i].key))
            return text ? setters[i].set(config, place.text, text, error)
                        : peet_error_set(error, PEET_EINVALID, "%s: must be a number or a text", place.text);
    if (!strcmp(name, "version")) {
        if (config_setting_type(setting) != CONFIG_TYPE_INT || config_setting_get_int(setting) != PEET_CONFIG_VERSION)
            return peet_error_set(error, PEET_EVERSION, "%s = %s: this peet reads version %d", place.text,
                text ? text : "?", PEET_CONFIG_VERSION);
        return 0;
    }
    if (!strcmp(name, "program") || !strcmp(name, "output")) {
        if (config_setting_type(setting) != CONFIG_TYPE_STRING || !*text)
            return peet_error_set(error, PEET_EINVALID, "%s: must be a text", place.text);
        return peet__config_string(name[0] == 'p' ? &config->program : &config->output, text, error);
    }
    return unknown_key(path, setting, keys, sizeof keys / sizeof *keys, error);
}

int peet_config_read(struct peet_config *config, const char *path, struct peet_error *error)
{
    return peet_config_read_as(config, path, path, error);
}

int peet_config_read_as(struct peet_config *config, const char *path, const char *shown, struct peet_error *error)
{
    config_setting_t *root;
    config_t file;
    char *text = NULL;
    int err = peet__config_text(path, &text, error);

    config_init(&file);
    if (!err && config_read_string(&file, text) != CONFIG_TRUE)
        err =
            peet_error_set(error, PEET_EFORMAT, "%s:%d: %s", shown, config_error_line(&file), config_error_text(&file));
    free(text);
    root = config_root_setting(&file);
    for (int i = 0; !err && i < config_setting_length(root); i++)
        err = read_setting(config, shown, config_setting_get_elem(root, (unsigned)i), error);
    config_destroy(&file);
    return err;
}

/* ---------------------------------------------------------------------------------------- writing */

/** libconfig's add and set report failure by NULL and CONFIG_FALSE; one flag gathers them. */
struct out {
    int bad;
};

static config_setting_t *add(struct out *out, config_setting_t *parent, const char *name, int type)
{
    config_setting_t *setting = parent ? config_setting_add(parent, name, type) : NULL;

    out->bad |= !setting;
    return setting;
}

static void add_string(struct out *out, config_setting_t *parent, const char *name, const char *text)
{
    config_setting_t *setting = add(out, parent, name, CONFIG_TYPE_STRING);

    out->bad |= !setting || !config_setting_set_string(setting, text);
}

/** libconfig's integers are signed: beyond them the text form keeps the value. */
static void add_number(struct out *out, config_setting_t *parent, const char *name, uint64_t value)
{
    config_setting_t *setting;
    char text[24];

    if (value > INT64_MAX) {
        snprintf(text, sizeof text, "%" PRIu64, value);
        add_string(out, parent, name, text);
    } else if (value > INT32_MAX) {
        setting = add(out, parent, name, CONFIG_TYPE_INT64);
        out->bad |= !setting || !config_setting_set_int64(setting, (long long)value);
    } else {
        setting = add(out, parent, name, CONFIG_TYPE_INT);
        out->bad |= !setting || !config_setting_set_int(setting, (int)value);
    }
}

static void add_param(struct out *out, config_setting_t *parent, const struct peet_config_param *p)
{
    config_setting_t *setting;
    uint64_t value;

    switch (p->type) {
    case PEET_PARAM_U64:
    case PEET_PARAM_SIZE:
        if (!peet_text_u64(p->text, &value)) {
            add_number(out, parent, p->name, value);
            return;
        }
        break;
    case PEET_PARAM_BOOL:
        if (!peet_text_bool(p->text, &value)) {
            setting = add(out, parent, p->name, CONFIG_TYPE_BOOL);
            out->bad |= !setting || !config_setting_set_bool(setting, (int)value);
            return;
        }
        break;
    default: /* floats too: libconfig 1.5 writes too few digits of them */
        break;
    }
    add_string(out, parent, p->name, p->text);
}

static void add_module(struct out *out, config_setting_t *group, const struct peet_config_module *m)
{
    config_setting_t *params;

    if (!group)
        return;
    add_string(out, group, "module", m->module);
    if (m->path)
        add_string(out, group, "path", m->path);
    params = add(out, group, "parameters", CONFIG_TYPE_GROUP);
    for (size_t i = 0; params && i < m->nparams; i++)
        add_param(out, params, &m->params[i]);
}

/** What runs, and on how many processors. */
static void add_program(struct out *out, config_setting_t *root, const char *program, size_t narguments,
    char *const *arguments, uint64_t cores)
{
    config_setting_t *list;

    add_number(out, root, "version", PEET_CONFIG_VERSION);
    if (program)
        add_string(out, root, "program", program);
    list = add(out, root, "arguments", CONFIG_TYPE_LIST);
    for (size_t i = 0; list && i < narguments; i++)
        add_string(out, list, NULL, arguments[i]);
    add_number(out, root, "cores", cores);
}

static int fill(const struct peet_config *c, config_setting_t *root)
{
    struct out out = {0};
    config_setting_t *list;
    char text[24], real[40];

    add_program(&out, root, c->program, c->narguments, c->arguments, c->cores);
    if (c->granularity == PEET_GRANULARITY_BLOCKS)
        add_number(&out, root, "granularity", c->granularity_blocks);
    else
        add_string(&out, root, "granularity", peet_config_granularity_text(c, text, sizeof text));
    add_number(&out, root, "seed", c->seed);
    add_string(&out, root, "policy", peet_config_policy_text(c));
    add_number(&out, root, "quantum_cycles", c->quantum_cycles);
    add_number(&out, root, "switch_cycles", c->switch_cycles);
    add_string(&out, root, "schedule", peet_config_schedule_text(c->schedule));
    add_number(&out, root, "chunk", c->chunk);
    add_string(&out, root, "winner", peet_config_winner_text(c));
    add_string(&out, root, "lock_model", peet_config_lock_model_text(c->lock_model));
    add_number(&out, root, "slice_cycles", c->slice_cycles);
    add_number(&out, root, "spin_quantum_cycles", c->spin_quantum_cycles);
    add_number(&out, root, "poll_cycles", c->poll_cycles);
    add_number(&out, root, "syscall_cycles", c->syscall_cycles);
    snprintf(real, sizeof real, "%.17g", c->io_cycles_per_byte); /* as a text: libconfig 1.5 writes too few digits */
    add_string(&out, root, "io_cycles_per_byte", real);
    if (c->frequency_hz) /* else the machine's own */
        add_number(&out, root, "frequency_hz", c->frequency_hz);
    add_number(&out, root, "stack_bytes", c->stack_bytes);
    list = add(&out, root, "ranges", CONFIG_TYPE_BOOL);
    out.bad |= !list || !config_setting_set_bool(list, c->ranges);
    add_string(&out, root, "foreign", peet_config_foreign_text(c->foreign));
    add_string(&out, root, "roi", c->roi_only ? "only" : "all");
    if (c->machine.module)
        add_module(&out, add(&out, root, "machine", CONFIG_TYPE_GROUP), &c->machine);
    list = add(&out, root, "observers", CONFIG_TYPE_LIST);
    for (size_t i = 0; list && i < c->nobservers; i++)
        add_module(&out, add(&out, list, NULL, CONFIG_TYPE_GROUP), &c->observers[i]);
    list = add(&out, root, "followers", CONFIG_TYPE_LIST);
    for (size_t i = 0; list && i < c->nfollowers; i++)
        add_module(&out, add(&out, list, NULL, CONFIG_TYPE_GROUP), &c->followers[i]);
    if (c->consistency.module)
        add_module(&out, add(&out, root, "consistency", CONFIG_TYPE_GROUP), &c->consistency);
    add_string(&out, root, "consistency_sync", c->consistency_sync ? "sync" : "ref");
    add_string(&out, root, "explore", peet_config_explore_text(c, text, sizeof text));
    add_number(&out, root, "explore_limit", c->explore_limit);
    add_number(&out, root, "explore_steps", c->explore_steps);
    add_string(&out, root, "until", c->explore_until_failure ? "failure" : "end");
    add_string(&out, root, "explain", c->explain ? "on" : "off");
    if (c->replay_token)
        add_string(&out, root, "replay_token", c->replay_token);
    out.bad |= peet__config_data_write(c, root);
    if (c->from)
        add_string(&out, root, "from", c->from);
    if (c->output)
        add_string(&out, root, "output", c->output);
    return out.bad;
}

/** libconfig writes all bytes above 127 as they are.  Where they are no UTF-8 they go into escapes, so that the text can
 * stand in JSON (a trace's description); names in UTF-8 stay readable. */
static char *text_of(const config_t *file)
{
    char *raw = NULL, *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&raw, &bytes);
    json_t *valid = NULL;

    if (out) {
        config_write(file, out);
        if (fclose(out)) {
            free(raw);
            return NULL;
        }
    }
    if (!raw || (valid = json_string(raw)) != NULL) {
        json_decref(valid);
        return raw;
    }
    out = open_memstream(&text, &bytes);
    for (const char *at = raw; out && *at; at++)
        fprintf(out, (unsigned char)*at < 128 ? "%c" : "\\x%02X", (unsigned char)*at);
    free(raw);
    if (out && fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

int peet_config_write(const struct peet_config *config, const char *path, struct peet_error *error)
{
    struct peet_file out;
    config_t file;
    char *text;
    int err;

    config_init(&file);
    if (fill(config, config_root_setting(&file))) {
        config_destroy(&file);
        return peet_error_set(error, PEET_EINVALID,
            "%s: a setting cannot be written (is a parameter's name no identifier?)", path);
    }
    text = text_of(&file);
    err = text ? peet_file_create(path, &out, error) : peet_error_set(error, PEET_ENOMEM, "out of memory");
    if (!err) {
        fputs(text, out.stream);
        err = peet_file_commit(&out, error);
    }
    free(text);
    config_destroy(&file);
    return err;
}

char *peet_config_program_text(const char *program, size_t narguments, char *const *arguments, uint64_t cores)
{
    struct out out = {0};
    config_t file;
    char *text;

    config_init(&file);
    add_program(&out, config_root_setting(&file), program, narguments, arguments, cores);
    text = out.bad ? NULL : text_of(&file);
    config_destroy(&file);
    return text;
}

/* ------------------------------------------------------------------------------------------- JSON */

static json_t *param_json(const struct peet_config_param *p)
{
    uint64_t value;
    double real;

    if ((p->type == PEET_PARAM_U64 || p->type == PEET_PARAM_SIZE) && !peet_text_u64(p->text, &value) &&
        value <= INT64_MAX)
        return json_integer((json_int_t)value);
    if (p->type == PEET_PARAM_BOOL && !peet_text_bool(p->text, &value))
        return json_boolean(value);
    if (p->type == PEET_PARAM_F64 && !peet_text_f64(p->text, &real))
        return json_real(real);
    return peet_stats_text(p->text);
}

static json_t *module_json(const struct peet_config_module *m)
{
    json_t *params = json_object();
    int bad = !params;

    for (size_t i = 0; !bad && i < m->nparams; i++)
        bad = json_object_set_new(params, m->params[i].name, param_json(&m->params[i]));
    if (bad) {
        json_decref(params);
        return NULL;
    }
    return json_pack("{s:s,s:o*,s:o}", "module", m->module, "path", m->path ? peet_stats_text(m->path) : NULL,
        "parameters", params);
}

json_t *peet_config_json(const struct peet_config *c)
{
    json_t *arguments = json_array(), *observers = json_array(), *followers = json_array(), *root;
    int bad = !arguments || !observers || !followers;
    char text[24], explore[24];

    for (size_t i = 0; !bad && i < c->narguments; i++)
        bad = json_array_append_new(arguments, peet_stats_text(c->arguments[i]));
    for (size_t i = 0; !bad && i < c->nobservers; i++)
        bad = json_array_append_new(observers, module_json(&c->observers[i]));
    for (size_t i = 0; !bad && i < c->nfollowers; i++)
        bad = json_array_append_new(followers, module_json(&c->followers[i]));
    if (bad) {
        json_decref(arguments);
        json_decref(observers);
        json_decref(followers);
        return NULL;
    }
    root = json_pack(
        "{s:i,s:o*,s:o,s:i,s:o,s:o,s:o,s:I,s:I,s:s,s:I,s:o,s:s,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:b,s:s,s:o*,s:o,s:o,s:o*,s:s,s:s,s:o*,s:o*,s:o*}",
        "version", PEET_CONFIG_VERSION, "program", c->program ? peet_stats_text(c->program) : NULL, "arguments",
        arguments, "cores", (int)c->cores, "granularity",
        c->granularity == PEET_GRANULARITY_BLOCKS ? json_integer((json_int_t)c->granularity_blocks)
                                                  : json_string(peet_config_granularity_text(c, text, sizeof text)),
        "seed", peet_stats_u64(c->seed), "policy", peet_stats_text(peet_config_policy_text(c)), "quantum_cycles",
        (json_int_t)c->quantum_cycles, "switch_cycles", (json_int_t)c->switch_cycles, "schedule",
        peet_config_schedule_text(c->schedule), "chunk", (json_int_t)c->chunk, "winner",
        peet_stats_text(peet_config_winner_text(c)), "lock_model", peet_config_lock_model_text(c->lock_model),
        "slice_cycles", (json_int_t)c->slice_cycles, "spin_quantum_cycles", (json_int_t)c->spin_quantum_cycles,
        "poll_cycles", (json_int_t)c->poll_cycles, "syscall_cycles", (json_int_t)c->syscall_cycles,
        "io_cycles_per_byte", c->io_cycles_per_byte, "frequency_hz", (json_int_t)c->frequency_hz, "stack_bytes",
        (json_int_t)c->stack_bytes, "ranges", c->ranges, "roi", c->roi_only ? "only" : "all", "machine",
        c->machine.module ? module_json(&c->machine) : NULL, "observers", observers, "followers", followers,
        "consistency", c->consistency.module ? module_json(&c->consistency) : NULL, "consistency_sync",
        c->consistency_sync ? "sync" : "ref", "explore", peet_config_explore_text(c, explore, sizeof explore),
        "replay_token", c->replay_token ? peet_stats_text(c->replay_token) : NULL, "from",
        c->from ? peet_stats_text(c->from) : NULL, "output", c->output ? peet_stats_text(c->output) : NULL);
    if (root &&
        (json_object_set_new(root, "foreign", json_string(peet_config_foreign_text(c->foreign))) ||
            peet__config_data_json(c, root))) {
        json_decref(root);
        return NULL;
    }
    return root;
}
