/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binding.  The mapper decides which processor runs a thread (policy affinity keeps it where it was); places (places.c) and
 * bindings are accepted, remembered and told.  And omp_display_affinity() with its format.
 */
#include "openmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
ENTRY(int, omp_get_proc_bind, (void)) { return peet__omp_self()->task->icvs.proc_bind; }
ENTRY(int, omp_get_num_places, (void)) { peet__omp_self(); return peet__omp_nplaces(); }
ENTRY(int, omp_get_place_num, (void)) { peet__omp_self(); return peet__omp_place_of(peet_rt_cpu()); }
ENTRY(int, omp_get_partition_num_places, (void)) { peet__omp_self(); return peet__omp_nplaces(); }
/* clang-format on */
ENTRY(int, omp_get_place_num_procs, (int place))
{
    int n;
    peet__omp_self();
    peet__omp_place(place, &n);
    return n;
}
ENTRY(void, omp_get_place_proc_ids, (int place, int *ids))
{
    int n;
    peet__omp_self();
    const int *all = peet__omp_place(place, &n);
    for (int i = 0; i < n; i++)
        ids[i] = all[i];
}
ENTRY(void, omp_get_partition_place_nums, (int *places))
{
    peet__omp_self();
    for (int i = 0; i < peet__omp_nplaces(); i++)
        places[i] = i;
}

/* Masks of processors, 64 to a word. */
enum { MASK_WORDS = 16 };
/* clang-format off */
ENTRY(void, kmp_create_affinity_mask, (void **mask)) { *mask = peet__omp_alloc(MASK_WORDS * sizeof(uint64_t)); }
/* clang-format on */
ENTRY(void, kmp_destroy_affinity_mask, (void **mask))
{
    peet__omp_free(*mask);
    *mask = NULL;
}
static int change(int processor, void **mask, int how)
{
    if (processor < 0 || processor >= (int)peet_rt_processors() || processor >= MASK_WORDS * 64)
        return -1;
    uint64_t *word = (uint64_t *)*mask + processor / 64, bit = (uint64_t)1 << processor % 64;
    if (how > 0)
        *word |= bit;
    else if (how < 0)
        *word &= ~bit;
    return (*word & bit) != 0;
}
/* clang-format off */
ENTRY(int, kmp_set_affinity, (void **mask)) { return 0; }
/* clang-format on */
ENTRY(int, kmp_get_affinity, (void **mask))
{
    for (int i = 0; i < (int)peet_rt_processors(); i++)
        change(i, mask, 1);
    return 0;
}
/* clang-format off */
ENTRY(int, kmp_get_affinity_max_proc, (void)) { return (int)peet_rt_processors(); }
ENTRY(int, kmp_set_affinity_mask_proc, (int processor, void **mask)) { return change(processor, mask, 1) < 0 ? -1 : 0; }
ENTRY(int, kmp_unset_affinity_mask_proc, (int processor, void **mask)) { return change(processor, mask, -1) < 0 ? -1 : 0; }
ENTRY(int, kmp_get_affinity_mask_proc, (int processor, void **mask)) { return change(processor, mask, 0); }
ENTRY(int, kmp_set_thread_affinity_mask_initial, (void)) { return 0; }
ENTRY(int, kmpc_set_affinity_mask_proc, (int processor, void **mask)) { return change(processor, mask, 1) < 0 ? -1 : 0; }
ENTRY(int, kmpc_unset_affinity_mask_proc, (int processor, void **mask)) { return change(processor, mask, -1) < 0 ? -1 : 0; }
ENTRY(int, kmpc_get_affinity_mask_proc, (int processor, void **mask)) { return change(processor, mask, 0); }
/* clang-format on */

/* ------------------------------------------------------------------------------------------------- display */

static char format_now[512] = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

void peet__omp_affinity_format(const char *format)
{
    snprintf(format_now, sizeof format_now, "%s", format);
}

ENTRY(void, ompc_set_affinity_format, (const char *format))
{
    peet__omp_self();
    peet__omp_affinity_format(format);
}

ENTRY(size_t, ompc_get_affinity_format, (char *buffer, size_t bytes))
{
    peet__omp_self();
    if (buffer && bytes)
        snprintf(buffer, bytes, "%s", format_now);
    return strlen(format_now);
}

/* In clang's header these are the names that begin with ompc_; in gcc's they are not. */
ENTRY(void, omp_set_affinity_format, (const char *format))
{
    peet__omp_ompc_set_affinity_format(format);
}

ENTRY(size_t, omp_get_affinity_format, (char *buffer, size_t bytes))
{
    return peet__omp_ompc_get_affinity_format(buffer, bytes);
}

static const struct field {
    char letter;
    const char *name;
} fields[] = {{'t', "team_num"}, {'T', "num_teams"}, {'L', "nesting_level"}, {'n', "thread_num"}, {'N', "num_threads"},
    {'a', "ancestor_tnum"}, {'H', "host"}, {'P', "process_id"}, {'i', "native_thread_id"}, {'A', "thread_affinity"}};

/* "0,1,4-7" */
static void put_processors(int place, char *out, size_t bytes)
{
    int n;
    const int *ids = peet__omp_place(place, &n);
    size_t used = 0;
    *out = '\0';
    for (int i = 0, end; i < n && used < bytes; i = end) {
        for (end = i + 1; end < n && ids[end] == ids[end - 1] + 1; end++)
            ;
        if (end - i < 3) /* two are no range */
            end = i + 1;
        used += (size_t)snprintf(out + used, bytes - used, "%s%d", i ? "," : "", ids[i]);
        if (end > i + 1 && used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "-%d", ids[end - 1]);
    }
}

static void value_of(char letter, char *out, size_t bytes)
{
    const struct omp_thread *thread = peet__omp_self();
    const struct omp_team *team = thread->member->team;
    switch (letter) {
    case 't':
        snprintf(out, bytes, "%d", team->league_number);
        break;
    case 'T':
        snprintf(out, bytes, "%d", team->nleagues);
        break;
    case 'L':
        snprintf(out, bytes, "%d", team->level);
        break;
    case 'n':
        snprintf(out, bytes, "%d", thread->member->tid);
        break;
    case 'N':
        snprintf(out, bytes, "%d", team->n);
        break;
    case 'a':
        snprintf(out, bytes, "%d", team->level > 0 && team->creator ? team->creator->tid : -1);
        break;
    case 'H':
        if (gethostname(out, bytes) != 0)
            snprintf(out, bytes, "unknown");
        out[bytes - 1] = '\0';
        break;
    case 'P':
        snprintf(out, bytes, "%d", (int)getpid());
        break;
    case 'i':
        snprintf(out, bytes, "%d", (int)gettid());
        break;
    case 'A':
        put_processors(peet__omp_place_of(peet_rt_cpu()), out, bytes);
        break;
    default:
        snprintf(out, bytes, "undefined");
        break;
    }
}

/* A text that grows within its buffer and remembers what it would have needed. */
struct text {
    char *buffer;
    size_t bytes, used;
};

static void put(struct text *text, char c)
{
    if (text->used + 1 < text->bytes)
        text->buffer[text->used] = c;
    text->used++;
}

/* One field: %[0][.][width]letter or {name}.  Returns: where the format goes on */
static const char *put_field(struct text *text, const char *format)
{
    char value[256], letter = 0;
    const char *from = value;
    int zero = 0, right = 0, width = 0;
    for (; *format == '0' || *format == '.'; format++) {
        zero |= *format == '0';
        right |= *format == '.';
    }
    while (*format >= '0' && *format <= '9')
        width = width * 10 + (*format++ - '0');
    if (*format == '{') {
        const char *end = strchr(format, '}');
        size_t length = end ? (size_t)(end - format - 1) : strlen(format + 1);
        for (size_t i = 0; end && i < sizeof fields / sizeof *fields; i++)
            if (strlen(fields[i].name) == length && strncmp(fields[i].name, format + 1, length) == 0)
                letter = fields[i].letter;
        format = end ? end + 1 : format + 1 + length;
    } else if (*format) {
        letter = *format++;
    }
    value_of(letter, value, sizeof value);
    int missing = width - (int)strlen(value);
    zero = zero && letter && !strchr("HA", letter); /* these are texts, however much they look like numbers */
    if (right && zero && *from == '-')              /* the sign comes before the zeros */
        put(text, *from++);
    for (int i = 0; right && i < missing; i++)
        put(text, zero ? '0' : ' ');
    while (*from)
        put(text, *from++);
    for (int i = 0; !right && i < missing; i++)
        put(text, ' ');
    return format;
}

static size_t capture(char *buffer, size_t bytes, const char *format)
{
    struct text text = {buffer, buffer ? bytes : 0, 0};
    peet__omp_self(); /* the first use reads the format */
    if (!format || !*format)
        format = format_now;
    while (*format) {
        if (*format != '%') {
            put(&text, *format++);
        } else if (format[1] == '%') {
            put(&text, '%');
            format += 2;
        } else {
            format = put_field(&text, format + 1);
        }
    }
    if (text.bytes)
        buffer[text.used < text.bytes ? text.used : text.bytes - 1] = '\0';
    return text.used;
}

/* clang-format off */
ENTRY(size_t, ompc_capture_affinity, (char *buffer, size_t bytes, const char *format)) { return capture(buffer, bytes, format); }
ENTRY(size_t, omp_capture_affinity, (char *buffer, size_t bytes, const char *format)) { return capture(buffer, bytes, format); }
/* clang-format on */

static void show(const char *format)
{
    char line[1024];
    capture(line, sizeof line, format);
    peet_rt_now(); /* lines of several threads, and the program's, come in the order of simulated time */
    fprintf(stdout, "%s\n", line);
}

void peet__omp_affinity_show(void)
{
    show(NULL);
}

/* clang-format off */
ENTRY(void, ompc_display_affinity, (const char *format)) { show(format); }
ENTRY(void, omp_display_affinity, (const char *format)) { show(format); }
/* clang-format on */
