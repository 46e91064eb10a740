/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of locality: files that hold numbers alone, no code and no addresses; see locality.h and docs/LOCALITY.md.
 */
#include "base/files.h"
#include "locality.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT "peet-locality-signature"
static const double ROUNDING = 1e-6;

double peet_cli_hit_rate(const struct peet_sim_tally *t, unsigned width, unsigned depth)
{
    return t->references ? (double)peet_sim_hits(t, width, depth) / (double)t->references : 0;
}

void peet_cli_signature_of(const struct peet_sim_tally *tally, struct peet_cli_signature *out)
{
    memset(out, 0, sizeof(*out));
    out->has_counts = 1;
    out->tally = *tally;
    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++)
        out->reuse_cdf[k] = peet_cli_hit_rate(tally, 0, k);
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++) {
        uint64_t reused = 0, same = 0;
        for (unsigned k = 0; k < PEET_SIM_COLD; k++) {
            reused += tally->reuse[h][k];
            same += tally->same[h][k];
        }
        out->alphas[h] = reused ? (double)same / (double)reused : 1;
    }
}

/* ------------------------------------------------------------------------------------------------ reading */

static int rates(const json_t *file, const char *key, double *out, size_t n, const char *name, struct peet_error *error)
{
    const json_t *list = json_object_get(file, key);
    if (!json_is_array(list) || json_array_size(list) != n)
        return peet_error_set(error, PEET_EFORMAT, "%s: \"%s\" is not a list of %zu numbers", name, key, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        out[i] = json_is_number(one) ? json_number_value(one) : -1;
        if (!(out[i] >= 0 && out[i] <= 1))
            return peet_error_set(error, PEET_EFORMAT, "%s: \"%s\"[%zu] is not a number from 0 to 1", name, key, i);
    }
    return 0;
}

static int counts(const json_t *list, uint64_t *out, size_t n, const char *name, const char *key, size_t row,
    struct peet_error *error)
{
    if (!json_is_array(list) || json_array_size(list) != n)
        return peet_error_set(error, PEET_EFORMAT, "%s: \"%s\"[%zu] is not a list of %zu counts", name, key, row, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        if (!json_is_integer(one) || json_integer_value(one) < 0 || json_integer_value(one) > INT64_MAX / 64)
            return peet_error_set(error, PEET_EFORMAT, "%s: \"%s\"[%zu][%zu] is no count", name, key, row, i);
        out[i] = (uint64_t)json_integer_value(one);
    }
    return 0;
}

/* What every stream of references has. */
static int check_tally(const struct peet_sim_tally *t, const char *name, struct peet_error *error)
{
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        uint64_t sum = 0;
        for (unsigned k = 0; k < PEET_SIM_BUCKETS; k++)
            sum += t->reuse[w][k];
        if (sum != t->references)
            return peet_error_set(error, PEET_EFORMAT,
                "%s: \"reuse\" of %u bytes adds up to %llu, not to %llu \"references\"", name,
                peet_sim_bytes_of_width(w), (unsigned long long)sum, (unsigned long long)t->references);
        for (unsigned k = 0; w && k < PEET_SIM_DEPTHS; k++)
            if (peet_sim_hits(t, w, k) > peet_sim_hits(t, w - 1, k))
                return peet_error_set(error, PEET_EFORMAT,
                    "%s: not monotone: %u lines of %u bytes hit more often than as many of %u", name, 1u << k,
                    peet_sim_bytes_of_width(w), peet_sim_bytes_of_width(w - 1));
        for (unsigned k = 0; w == PEET_SIM_STRIDED_WIDTH && k < PEET_SIM_BUCKETS; k++)
            if (t->strided[k] > t->reuse[w][k])
                return peet_error_set(error, PEET_EFORMAT, "%s: \"strided\"[%u] is more than \"reuse\"[%u][%u]", name,
                    k, w, k);
        for (unsigned k = 0; w < PEET_SIM_HALVINGS && k < PEET_SIM_COLD; k++)
            if (t->same[w][k] > t->reuse[w][k])
                return peet_error_set(error, PEET_EFORMAT, "%s: \"same\"[%u][%u] is more than \"reuse\"[%u][%u]", name,
                    w, k, w, k);
    }
    return 0;
}

static int read_tally(const json_t *node, const char *name, struct peet_sim_tally *out, struct peet_error *error)
{
    const json_t *reuse = json_object_get(node, "reuse"), *same = json_object_get(node, "same"),
                 *references = json_object_get(node, "references"), *strided = json_object_get(node, "strided");
    int status = 0;
    memset(out, 0, sizeof(*out));
    if (!json_is_integer(references) || json_integer_value(references) <= 0)
        return peet_error_set(error, PEET_EFORMAT, "%s: \"references\" is no count above 0", name);
    out->references = (uint64_t)json_integer_value(references);
    if (!json_is_array(reuse) || json_array_size(reuse) != PEET_SIM_WIDTHS)
        return peet_error_set(error, PEET_EFORMAT, "%s: \"reuse\" is not %d lists", name, PEET_SIM_WIDTHS);
    if (!json_is_array(same) || json_array_size(same) != PEET_SIM_HALVINGS)
        return peet_error_set(error, PEET_EFORMAT, "%s: \"same\" is not %d lists", name, PEET_SIM_HALVINGS);
    for (unsigned w = 0; !status && w < PEET_SIM_WIDTHS; w++)
        status = counts(json_array_get(reuse, w), out->reuse[w], PEET_SIM_BUCKETS, name, "reuse", w, error);
    for (unsigned h = 0; !status && h < PEET_SIM_HALVINGS; h++)
        status = counts(json_array_get(same, h), out->same[h], PEET_SIM_BUCKETS - 1, name, "same", h, error);
    if (!status && strided) /* files of before have none */
        status = counts(strided, out->strided, PEET_SIM_BUCKETS, name, "strided", 0, error);
    return status ? status : check_tally(out, name, error);
}

/* The 24 numbers say the same as the counts. */
static int agree(const struct peet_cli_signature *file, const struct peet_cli_signature *counted, const char *name,
    struct peet_error *error)
{
    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++)
        if (fabs(file->reuse_cdf[k] - counted->reuse_cdf[k]) > ROUNDING)
            return peet_error_set(error, PEET_EFORMAT, "%s: \"reuse_cdf\"[%u] is not what the counts say", name, k);
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++)
        if (fabs(file->alphas[h] - counted->alphas[h]) > ROUNDING)
            return peet_error_set(error, PEET_EFORMAT, "%s: \"alphas\"[%u] is not what the counts say", name, h);
    return 0;
}

static void points_alone(struct peet_cli_signature *s)
{
    const uint64_t million = 1000000;
    uint64_t before = 0;
    s->tally.references = million;
    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++) {
        uint64_t now = (uint64_t)(s->reuse_cdf[k] * (double)million + 0.5);
        s->tally.reuse[0][k] = now - before;
        before = now;
    }
    s->tally.reuse[0][PEET_SIM_BEYOND] = million - before;
}

static int read_signature(const json_t *file, const char *name, struct peet_cli_signature *out,
    struct peet_error *error)
{
    const char *format = json_string_value(json_object_get(file, "format"));
    const json_t *version = json_object_get(file, "version"), *line = json_object_get(file, "line_bytes"),
                 *node = json_object_get(file, "counts");
    int status;
    memset(out, 0, sizeof(*out));
    if (!format || strcmp(format, FORMAT) != 0)
        return peet_error_set(error, PEET_EFORMAT, "%s: this is not a locality signature: \"format\" is not \"%s\"",
            name, FORMAT);
    if (!json_is_integer(version) || json_integer_value(version) != PEET_CLI_SIGNATURE_VERSION)
        return peet_error_set(error, PEET_EVERSION, "%s: a signature of version %lld; this peet reads version %d", name,
            json_is_integer(version) ? (long long)json_integer_value(version) : -1, PEET_CLI_SIGNATURE_VERSION);
    if (!json_is_integer(line) || json_integer_value(line) != 512)
        return peet_error_set(error, PEET_EFORMAT, "%s: \"line_bytes\" is not 512", name);
    const json_t *depths = json_object_get(file, "depths_lines");
    for (unsigned k = 0; depths && k < PEET_SIM_DEPTHS; k++)
        if (json_array_size(depths) != PEET_SIM_DEPTHS ||
            json_number_value(json_array_get(depths, k)) != (double)(1u << k))
            return peet_error_set(error, PEET_EFORMAT, "%s: \"depths_lines\" is not 1, 2, 4 ... %u", name,
                1u << (PEET_SIM_DEPTHS - 1));
    if ((status = rates(file, "reuse_cdf", out->reuse_cdf, PEET_SIM_DEPTHS, name, error)) ||
        (status = rates(file, "alphas", out->alphas, PEET_SIM_HALVINGS, name, error)))
        return status;
    for (unsigned k = 1; k < PEET_SIM_DEPTHS; k++)
        if (out->reuse_cdf[k] < out->reuse_cdf[k - 1])
            return peet_error_set(error, PEET_EFORMAT,
                "%s: not monotone: \"reuse_cdf\"[%u] is less than the one before", name, k);
    if (!node) {
        points_alone(out);
        return 0;
    }
    struct peet_sim_tally tally;
    struct peet_cli_signature counted;
    if ((status = read_tally(node, name, &tally, error)))
        return status;
    peet_cli_signature_of(&tally, &counted);
    if ((status = agree(out, &counted, name, error)))
        return status;
    *out = counted;
    return 0;
}

int peet_cli_signature_parse(const char *text, size_t bytes, const char *name, struct peet_cli_signature *out,
    struct peet_error *error)
{
    json_error_t where;
    json_t *file = json_loadb(text, bytes, 0, &where);
    if (!file)
        return peet_error_set(error, PEET_EFORMAT, "%s: line %d: %s", name, where.line, where.text);
    int status = read_signature(file, name, out, error);
    json_decref(file);
    return status;
}

/* A part of a run's results. */
static const json_t *find_part(const json_t *locality, const char *part)
{
    static const struct {
        const char *prefix, *list;
        int by_name;
    } lists[] = {{"context=", "contexts", 0}, {"window=", "windows", 0}, {"function=", "functions", 1},
        {"structure=", "structures", 1}};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const json_t *list = json_object_get(locality, lists[i].list), *one;
        size_t length = strlen(lists[i].prefix), k;
        if (strncmp(part, lists[i].prefix, length) != 0)
            continue;
        json_array_foreach((json_t *)list, k, one)
        {
            const char *name = json_string_value(json_object_get(one, "name"));
            const json_t *context = json_object_get(one, "context");
            const long long number = context ? json_integer_value(context) : (json_int_t)k;
            char digits[24];
            snprintf(digits, sizeof(digits), "%lld", number);
            if (lists[i].by_name ? name && strcmp(name, part + length) == 0 : strcmp(part + length, digits) == 0)
                return one;
        }
        return NULL;
    }
    return strcmp(part, "run") == 0 || strcmp(part, "merged") == 0 ? json_object_get(locality, part) : NULL;
}

static int read_folder(const char *path, const char *part, struct peet_cli_signature *out, struct peet_error *error)
{
    char name[PATH_MAX];
    json_error_t where;
    struct peet_sim_tally tally;
    if ((size_t)snprintf(name, sizeof(name), "%s/stats.json", path) >= sizeof(name))
        return peet_error_set(error, PEET_ELIMIT, "%s: the name is too long", path);
    if (access(name, R_OK) != 0)
        return peet_error_set(error, PEET_EFORMAT, "%s: %s", name, strerror(errno));
    json_t *stats = json_load_file(name, 0, &where);
    if (!stats)
        return peet_error_set(error, PEET_EFORMAT, "%s: %s", name, where.text);
    const json_t *locality = json_object_get(stats, "locality"), *node = locality ? find_part(locality, part) : NULL;
    int status = !locality
        ? peet_error_set(error, PEET_ENOTFOUND,
              "%s: the run was not observed by locality; \"peet run --observe locality -d %s -- PROG\" does it", name,
              path)
        : !node
        ? peet_error_set(error, PEET_ENOTFOUND,
              "%s: the run has no part \"%s\"; parts are run, merged, context=N, window=N, function=NAME, structure=NAME",
              name, part)
        : read_tally(node, name, &tally, error);
    if (!status)
        peet_cli_signature_of(&tally, out);
    json_decref(stats);
    return status;
}

int peet_cli_signature_read(const char *path, const char *part, struct peet_cli_signature *out,
    struct peet_error *error)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return peet_error_set(error, errno == ENOENT ? PEET_ENOTFOUND : PEET_EIO, "%s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return read_folder(path, part ? part : "run", out, error);
    if (part)
        return peet_error_set(error, PEET_EINVALID, "%s: only the results of a run have parts; this is a signature",
            path);
    json_error_t where;
    json_t *file = json_load_file(path, 0, &where);
    if (!file)
        return peet_error_set(error, PEET_EFORMAT, "%s: line %d: %s", path, where.line, where.text);
    int status = read_signature(file, path, out, error);
    json_decref(file);
    return status;
}

/* ------------------------------------------------------------------------------------------------ writing */

static json_t *list_of(const uint64_t *values, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)values[i]));
    return list;
}

json_t *peet_cli_signature_json(const struct peet_cli_signature *s)
{
    json_t *cdf = json_array(), *alphas = json_array(), *reuse = json_array(), *same = json_array(),
           *depths = json_array(), *widths = json_array();
    for (unsigned k = 0; k < PEET_SIM_DEPTHS; k++) {
        json_array_append_new(cdf, json_real(s->reuse_cdf[k]));
        json_array_append_new(depths, json_integer(1 << k));
    }
    for (unsigned h = 0; h < PEET_SIM_HALVINGS; h++) {
        json_array_append_new(alphas, json_real(s->alphas[h]));
        json_array_append_new(same, list_of(s->tally.same[h], PEET_SIM_BUCKETS - 1));
    }
    for (unsigned w = 0; w < PEET_SIM_WIDTHS; w++) {
        json_array_append_new(reuse, list_of(s->tally.reuse[w], PEET_SIM_BUCKETS));
        json_array_append_new(widths, json_integer(peet_sim_bytes_of_width(w)));
    }
    json_t *file = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o}", "format", FORMAT, "version", PEET_CLI_SIGNATURE_VERSION,
        "line_bytes", 512, "depths_lines", depths, "reuse_cdf", cdf, "alphas", alphas);
    if (file && s->has_counts)
        json_object_set_new(file, "counts",
            json_pack("{s:I, s:o, s:o, s:o, s:o}", "references", (json_int_t)s->tally.references, "widths_bytes",
                widths, "reuse", reuse, "same", same, "strided", list_of(s->tally.strided, PEET_SIM_BUCKETS)));
    else {
        json_decref(reuse);
        json_decref(same);
        json_decref(widths);
    }
    return file;
}

int peet_cli_write_whole(const char *path, int (*write)(FILE *out, const void *what), const void *what,
    struct peet_error *error)
{
    struct peet_file file;
    if (strcmp(path, "-") == 0) /* peet_cli_finish_stdout() says why it could not be written */
        return write(stdout, what) && !ferror(stdout)
            ? peet_error_set(error, PEET_EIO, "cannot write to standard output")
            : 0;
    int err = peet_file_create(path, &file, error);
    if (!err && (write(file.stream, what) != 0 || ferror(file.stream)))
        err = peet_error_set(error, PEET_EIO, "cannot write %s: %s", path, strerror(errno ? errno : EIO));
    if (!err)
        return peet_file_commit(&file, error);
    peet_file_discard(&file);
    return err;
}

static int dump(FILE *out, const void *json)
{
    return json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) != 0 || fputc('\n', out) == EOF;
}

int peet_cli_signature_write(const char *path, const struct peet_cli_signature *signature, struct peet_error *error)
{
    json_t *file = peet_cli_signature_json(signature);
    if (!file)
        return peet_error_set(error, PEET_ENOMEM, "out of memory");
    int status = peet_cli_write_whole(path, dump, file, error);
    json_decref(file);
    return status;
}
