/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables of OpenMP, read when a program first uses it.  A value that makes no sense is
 * reported and ignored.
 */
#include "openmp.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct omp_environment peet__omp_env;

static void refuse(const char *name, const char *value, const char *wants)
{
    peet__omp_warn("%s=%s is ignored: %s", name, value, wants);
}

/* The value without blanks around it; NULL: unset or empty. */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);
    while (value && isspace((unsigned char)*value))
        value++;
    return value && *value ? value : NULL;
}

static int word_is(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (strncasecmp(text, word, length) != 0)
        return 0;
    while (isspace((unsigned char)text[length]))
        length++;
    return text[length] == '\0' || text[length] == ',';
}

static void read_bool(const char *name, int *out)
{
    const char *value = value_of(name);
    if (!value)
        return;
    if (word_is(value, "true") || word_is(value, "1") || word_is(value, "yes") || word_is(value, "on") ||
        word_is(value, "enabled"))
        *out = 1;
    else if (word_is(value, "false") || word_is(value, "0") || word_is(value, "no") || word_is(value, "off") ||
        word_is(value, "disabled"))
        *out = 0;
    else
        refuse(name, value, "it must be true or false");
}

static void read_int(const char *name, int min, int *out)
{
    const char *value = value_of(name);
    char *end;
    if (!value)
        return;
    errno = 0;
    long n = strtol(value, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    if (errno || *end || end == value || n < min || n > INT_MAX)
        refuse(name, value, min > 0 ? "it must be a positive number" : "it must be a number that is not negative");
    else
        *out = (int)n;
}

/* Returns: how many there are, 0 if it is no list of positive numbers, or a longer one than there is room for */
static int read_list(const char *value, int list[OMP_LEVELS_MAX])
{
    for (int n = 0; n < OMP_LEVELS_MAX;) {
        char *end;
        errno = 0;
        long number = strtol(value, &end, 10);
        while (isspace((unsigned char)*end))
            end++;
        if (errno || end == value || number < 1 || number > INT_MAX || (*end && *end != ','))
            return 0;
        list[n++] = (int)number;
        if (!*end)
            return n;
        value = end + 1;
    }
    return 0;
}

static void read_threads(struct omp_environment *env)
{
    const char *value = value_of("OMP_NUM_THREADS");
    if (!value)
        return;
    env->nthreads_list = read_list(value, env->threads_list);
    if (env->nthreads_list == 0)
        refuse("OMP_NUM_THREADS", value, "it must be a positive number, or a list of at most 64 with commas");
    else
        env->icvs.threads = env->threads_list[0];
}

/* What waiting threads would do natively, for programs that ask. */
static void read_waiting(struct omp_environment *env)
{
    const char *policy = value_of("OMP_WAIT_POLICY"), *time = value_of("KMP_BLOCKTIME");
    int active = policy && word_is(policy, "active"), passive = policy && word_is(policy, "passive");
    if (policy && !active && !passive)
        refuse("OMP_WAIT_POLICY", policy, "it must be active or passive");
    env->library = active ? 2 : 3; /* turnaround, throughput */
    env->blocktime_ms = active ? INT_MAX : passive ? 0 : 200;
    if (time && word_is(time, "infinite"))
        env->blocktime_ms = INT_MAX;
    else
        read_int("KMP_BLOCKTIME", 0, &env->blocktime_ms);
}

static int bind_of(const char *word)
{
    static const char *const words[] = {"false", NULL, "master", "close", "spread"};
    for (int i = 0; i < 5; i++)
        if (words[i] && word_is(word, words[i]))
            return i;
    return word_is(word, "primary") ? 2 : word_is(word, "true") ? 4 : -1;
}

static void read_bind(struct omp_environment *env)
{
    const char *value = value_of("OMP_PROC_BIND");
    for (const char *word = value; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        int bind;
        while (isspace((unsigned char)*word))
            word++;
        bind = bind_of(word);
        if (bind < 0 || env->nbind_list == OMP_LEVELS_MAX) {
            refuse("OMP_PROC_BIND", value,
                "it must be true, false, or a list of at most 64 of primary, close and spread");
            env->nbind_list = 0;
            return;
        }
        env->bind_list[env->nbind_list++] = bind;
    }
    if (env->nbind_list > 0)
        env->icvs.proc_bind = env->bind_list[0];
    else if (value_of("OMP_PLACES")) /* places ask for a binding, and false for one place of all processors */
        env->icvs.proc_bind = 4;     /* spread */
}

static void read_places(struct omp_environment *env)
{
    const char *value = value_of("OMP_PLACES");
    const int refused = peet__omp_places_read(value, env->icvs.proc_bind != 0);
    if (!refused)
        env->places = value;
    switch (refused) {
    case PEET__OMP_NO_LIST:
        refuse("OMP_PLACES", value,
            "it must be threads, cores, sockets, ll_caches, numa_domains, or a list of places as {0:2}:4:2; each processor is one now");
        break;
    case PEET__OMP_NO_PROCESSORS:
        refuse("OMP_PLACES", value, "the machine has no processor of these");
        break;
    }
}

static void read_schedule(struct omp_environment *env)
{
    static const char *const kinds[] = {"", "static", "dynamic", "guided", "auto"};
    const char *value = value_of("OMP_SCHEDULE"), *kind = value, *colon, *comma;
    uint32_t modifier = 0;
    if (!value)
        return;
    colon = strchr(value, ':');
    if (colon) {
        if (strncasecmp(value, "monotonic", 9) == 0)
            modifier = OMP_MONOTONIC;
        else if (strncasecmp(value, "nonmonotonic", 12) != 0)
            kind = NULL;
        if (kind)
            for (kind = colon + 1; isspace((unsigned char)*kind); kind++) {
            }
    }
    for (uint32_t i = OMP_STATIC; kind && i <= OMP_AUTO; i++) {
        if (!word_is(kind, kinds[i]))
            continue;
        comma = strchr(kind, ',');
        int chunk = comma ? atoi(comma + 1) : 0;
        if (comma && chunk < 1)
            break;
        env->icvs.schedule = i | modifier;
        env->icvs.chunk = i == OMP_AUTO ? 0 : chunk;
        return;
    }
    refuse("OMP_SCHEDULE", value,
        "it must be static, dynamic, guided or auto, optionally with a comma and a positive chunk size");
}

static void read_bytes(const char *name, size_t *out)
{
    const char *value = value_of(name);
    char *end;
    if (!value)
        return;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    int shift = 10; /* kilobytes */
    switch (tolower((unsigned char)*end)) {
    case 'b':
        shift = 0;
        end++;
        break;
    case 'k':
        end++;
        break;
    case 'm':
        shift = 20;
        end++;
        break;
    case 'g':
        shift = 30;
        end++;
        break;
    case 't':
        shift = 40;
        end++;
        break;
    default:
        break;
    }
    if (shift && tolower((unsigned char)*end) == 'b')
        end++;
    if (errno || *end || *value == '-' || n == 0 || n << shift >> shift != n)
        refuse(name, value, "it must be a size like 4M, 512K or 65536B");
    else
        *out = (size_t)n << shift;
}

static void show(const struct omp_environment *env)
{
    static const char *const kinds[] = {"", "static", "dynamic", "guided", "auto"};
    static const char *const binds[] = {"false", "true", "primary", "close", "spread"};
    fprintf(stderr, "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n   _OPENMP='202011'\n");
    fprintf(stderr, "  [host] OMP_CANCELLATION='%s'\n", env->cancellation ? "TRUE" : "FALSE");
    fprintf(stderr, "  [host] OMP_DEFAULT_DEVICE='%d'\n", env->icvs.default_device);
    fprintf(stderr, "  [host] OMP_DYNAMIC='%s'\n", env->icvs.dynamic ? "TRUE" : "FALSE");
    fprintf(stderr, "  [host] OMP_MAX_ACTIVE_LEVELS='%d'\n", env->icvs.max_active_levels);
    fprintf(stderr, "  [host] OMP_MAX_TASK_PRIORITY='%d'\n", env->max_task_priority);
    fprintf(stderr, "  [host] OMP_NUM_TEAMS='%d'\n", env->teams);
    fprintf(stderr, "  [host] OMP_NUM_THREADS='%d", env->icvs.threads);
    for (int i = 1; i < env->nthreads_list; i++)
        fprintf(stderr, ",%d", env->threads_list[i]);
    fprintf(stderr, "'\n");
    if (env->places)
        fprintf(stderr, "  [host] OMP_PLACES='%s'\n", env->places);
    fprintf(stderr, "  [host] OMP_PROC_BIND='%s", binds[env->icvs.proc_bind]);
    for (int i = 1; i < env->nbind_list; i++)
        fprintf(stderr, ",%s", binds[env->bind_list[i]]);
    fprintf(stderr, "'\n  [host] OMP_SCHEDULE='%s%s", env->icvs.schedule & OMP_MONOTONIC ? "monotonic:" : "",
        kinds[env->icvs.schedule & ~OMP_MONOTONIC]);
    if (env->icvs.chunk)
        fprintf(stderr, ",%d", env->icvs.chunk);
    fprintf(stderr, "'\n  [host] OMP_STACKSIZE='%zuB'\n", env->stack_bytes ? env->stack_bytes : (size_t)8 << 20);
    fprintf(stderr, "  [host] OMP_TEAMS_THREAD_LIMIT='%d'\n", env->teams_thread_limit);
    fprintf(stderr, "  [host] OMP_THREAD_LIMIT='%d'\n", env->icvs.thread_limit);
    fprintf(stderr, "OPENMP DISPLAY ENVIRONMENT END\n\n");
}

void peet__omp_environment_read(void)
{
    struct omp_environment *env = &peet__omp_env;
    int nested = -1, levels = -1;
    const char *value;
    env->icvs = (struct omp_icvs){.threads = (int)peet_rt_processors(),
        .max_active_levels = 1,
        .thread_limit = INT_MAX,
        .schedule = OMP_STATIC,
        .allocator = 1};
    read_threads(env);
    read_bind(env);
    read_places(env);
    read_schedule(env);
    read_bool("OMP_DYNAMIC", &env->icvs.dynamic);
    read_bool("OMP_NESTED", &nested);
    read_int("OMP_MAX_ACTIVE_LEVELS", 0, &levels);
    if (nested < 0) /* a list of thread numbers or bindings asks for as many levels */
        nested = env->nthreads_list > 1 || env->nbind_list > 1;
    env->icvs.max_active_levels = levels >= 0 ? levels : nested ? INT_MAX : 1;
    read_int("OMP_THREAD_LIMIT", 1, &env->icvs.thread_limit);
    read_int("OMP_DEFAULT_DEVICE", 0, &env->icvs.default_device);
    read_int("OMP_MAX_TASK_PRIORITY", 0, &env->max_task_priority);
    read_int("OMP_NUM_TEAMS", 1, &env->teams);
    read_int("OMP_TEAMS_THREAD_LIMIT", 1, &env->teams_thread_limit);
    read_bool("OMP_CANCELLATION", &env->cancellation);
    read_bool("OMP_DISPLAY_AFFINITY", &env->display_affinity);
    read_waiting(env);
    read_bytes("OMP_STACKSIZE", &env->stack_bytes);
    if (!env->stack_bytes)
        read_bytes("KMP_STACKSIZE", &env->stack_bytes);
    if ((value = value_of("OMP_AFFINITY_FORMAT")))
        peet__omp_affinity_format(value);
    if (!(value = value_of("OMP_DISPLAY_ENV")) || !word_is(value, "verbose"))
        read_bool("OMP_DISPLAY_ENV", &env->display);
    else
        env->display = 1;
    if (env->display)
        show(env);
}

int peet__omp_threads_at(int level)
{
    return level < peet__omp_env.nthreads_list ? peet__omp_env.threads_list[level] : 0;
}

ENTRY(void, omp_display_env, (int verbose))
{
    peet__omp_self();
    show(&peet__omp_env);
}
