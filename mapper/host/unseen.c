/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See unseen.h.  The schema names what each block's last instruction calls; how often a block was executed is known
 * anyway, so counting costs nothing while the program runs.  Calls through pointers have no name: they appear by the
 * time that they take.
 */
#include "host/unseen.h"
#include "foreign/translate.h"
#include "host/report.h"
#include "base/stats.h"
#include "runtime.h"

#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

enum { ENOUGH = 8, NAME_BYTES = 512 };

/** What is not seen; the key: object, newline, symbol. */
struct unseen {
    UT_hash_handle hh;
    uint64_t calls, ns; /* ns: of the program's own time, as its samples say */
    size_t object_bytes;
    char key[];
};

/** A place whose function was not known when the timer found it: its library may not have been looked at yet.  One
 * whose function has no symbol is named after that function's first byte, or after what recorded code calls there. */
struct doubt {
    struct peet_rt_sample sample;
    uint64_t base; /* of its image, if its function has no symbol; else 0 */
    struct unseen *entry;
};

/** Names of recorded functions: of all, of each file (newline between), and which function of an image is global or
 * local. */
struct known {
    UT_hash_handle hh;
    uint64_t address; /* of a function of an image, 0: of several; else 0 */
    char name[];
};

/** What recorded code calls by name, and what was translated, by its address. */
struct callee {
    UT_hash_handle hh;
    uint64_t address;
    char name[];
};

static struct {
    struct peet_program *program;
    struct unseen *all;
    struct known *recorded; /* names of functions with a schema */
    struct known *globals;  /* of images, newline between */
    struct known *locals;   /* the same */
    struct known *images;   /* whose functions are known, or that have none to be known */
    struct callee *callees, *translated;
    uint64_t samples, unseen_samples, calls;
    uint64_t ns, unseen_ns; /* the time that the samples stand for */
    struct peet_map *map;
    struct doubt *doubts;
    size_t ndoubts, room;
    int bad;
} here;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static struct unseen *entry(const char *object, const char *symbol)
{
    char key[2 * NAME_BYTES];
    struct unseen *u;
    int length = snprintf(key, sizeof key, "%.*s\n%.*s", NAME_BYTES - 1, object, NAME_BYTES - 1, symbol);

    HASH_FIND(hh, here.all, key, (size_t)length, u);
    if (u)
        return u;
    u = calloc(1, sizeof *u + (size_t)length + 1);
    if (!u) {
        here.bad = 1;
        return NULL;
    }
    memcpy(u->key, key, (size_t)length + 1);
    u->object_bytes = (size_t)(strchr(u->key, '\n') - u->key);
    HASH_ADD(hh, here.all, key, (size_t)length, u);
    return u;
}

/** peet's own libraries stand for those whose functions they carry out as events: they are no unseen code. */
static int is_ours(const Dl_info *info)
{
    static const void *runtime;
    Dl_info self;

    if (!runtime && dladdr((void *)(uintptr_t)peet_rt_samples_take, &self))
        runtime = self.dli_fbase;
    return info->dli_fbase == runtime || !strncmp(base_name(info->dli_fname), "libpeet-", 8);
}

/**
 * Where the function round a place of stripped code begins, as its unwind tables say; 0: unknown, or the image has gone.
 * Not while the program runs: libunwind opens files that it keeps, and samples come at any time, so that the program's own would have
 * other numbers in each run.
 */
static uint64_t start_of(uint64_t pc, uint64_t base)
{
    unw_proc_info_t info;
    Dl_info image;

    if (!dladdr((void *)(uintptr_t)pc, &image) || (uint64_t)(uintptr_t)image.dli_fbase != base)
        return 0;
    return unw_get_proc_info_by_ip(unw_local_addr_space, pc, &info, NULL) ? 0 : info.start_ip;
}

static int in_doubt(struct doubt doubt)
{
    if (here.ndoubts == here.room) {
        size_t room = here.room ? 2 * here.room : 256;
        struct doubt *more = realloc(here.doubts, room * sizeof *more);

        if (!more)
            return -1;
        here.doubts = more;
        here.room = room;
    }
    here.doubts[here.ndoubts++] = doubt;
    return 0;
}

static void name_place(const struct peet_rt_sample *sample)
{
    const uint64_t pc = sample->pc;
    struct doubt doubt = {.sample = *sample};
    Dl_info info;
    char name[NAME_BYTES];

    here.samples++;
    here.ns += sample->ns;
    if (peet_program_function_of_pc(here.program, pc) || peet_foreign_is_translated(pc))
        return;
    if (!dladdr((void *)(uintptr_t)pc, &info) || !info.dli_fname) {
        doubt.entry = entry("?", "?");
    } else {
        if (is_ours(&info))
            return;
        if (info.dli_sname) {
            snprintf(name, sizeof name, "%s", info.dli_sname);
        } else if (!peet_host_function_of(pc, name, sizeof name)) {
            doubt.base = (uint64_t)(uintptr_t)info.dli_fbase;
            strcpy(name, "?");
        }
        doubt.entry = entry(base_name(info.dli_fname), name);
    }
    if (in_doubt(doubt))
        here.bad = 1;
}

/** The same object's entry for a function without a symbol. */
static struct unseen *without_symbol(const struct doubt *d)
{
    const uint64_t start = start_of(d->sample.pc, d->base);
    char object[NAME_BYTES], name[24];
    struct callee *c;

    if (!start)
        return d->entry;
    snprintf(object, sizeof object, "%.*s", (int)d->entry->object_bytes, d->entry->key);
    HASH_FIND(hh, here.callees, &start, sizeof start, c);
    snprintf(name, sizeof name, "0x%llx", (unsigned long long)(start - d->base));
    return entry(object, c ? c->name : name);
}

/** Of the places that are in doubt, those whose function is still not known are not seen. */
static void settle_doubts(void)
{
    for (size_t i = 0; i < here.ndoubts; i++) {
        if (peet_program_function_of_pc(here.program, here.doubts[i].sample.pc))
            continue;
        here.unseen_samples++;
        here.unseen_ns += here.doubts[i].sample.ns;
        if (here.doubts[i].entry && here.doubts[i].base)
            here.doubts[i].entry = without_symbol(&here.doubts[i]);
        if (here.doubts[i].entry)
            here.doubts[i].entry->ns += here.doubts[i].sample.ns;
    }
    here.ndoubts = 0;
}

void peet_host_unseen_begin(struct peet_program *program, int sample)
{
    here.program = program;
    if (sample)
        peet_rt_samples_begin();
}

void peet_host_unseen_look(void)
{
    struct peet_rt_sample samples[256];
    unsigned n;

    while ((n = peet_rt_samples_take(samples, sizeof samples / sizeof *samples)) != 0)
        for (unsigned i = 0; i < n; i++)
            name_place(&samples[i]);
}

static struct known *find(struct known *table, const char *name)
{
    struct known *k;

    HASH_FIND_STR(table, name, k);
    return k;
}

static void note_name(struct known **table, const char *first, const char *second, uint64_t address)
{
    const size_t bytes = strlen(first) + strlen(second) + 2;
    struct known *k = malloc(sizeof *k + bytes);

    if (!k) {
        here.bad = 1;
        return;
    }
    snprintf(k->name, bytes, *second ? "%s\n%s" : "%s%s", first, second);
    k->address = address;
    if (find(*table, k->name))
        free(k);
    else
        HASH_ADD_STR(*table, name, k);
}

static void note_address(struct callee **table, uint64_t address, const char *name)
{
    struct callee *c;

    HASH_FIND(hh, *table, &address, sizeof address, c);
    if (c || !(c = malloc(sizeof *c + strlen(name) + 1)))
        return;
    c->address = address;
    strcpy(c->name, name);
    HASH_ADD(hh, *table, address, sizeof c->address, c);
}

static void note_recorded(void)
{
    for (unsigned i = 0; i < peet_program_nfunctions(here.program); i++) {
        struct peet_error error = {0, ""};
        const struct peet_function *f = peet_program_function(here.program, i, &error);

        if (f) {
            note_name(&here.recorded, f->name, "", 0);
            note_name(&here.recorded, f->file, f->name, 0);
            if (!*f->file) /* foreign code, at its own place */
                note_address(&here.translated, f->runtime_pc, f->name);
        }
    }
}

static struct known *find_of(struct known *table, const char *first, const char *second)
{
    char key[2 * NAME_BYTES];

    return (size_t)snprintf(key, sizeof key, "%s\n%s", first, second) < sizeof key ? find(table, key) : NULL;
}

static void note_function(void *image, const char *name, uint64_t address, int local)
{
    struct known **const table = local ? &here.locals : &here.globals;
    struct known *const before = local ? find_of(*table, image, name) : NULL;

    if (before && before->address != address)
        before->address = 0;
    else if (!before)
        note_name(table, image, name, address);
}

/** The function of this name that other files of the image can call; 0: none is known. */
static uint64_t global_of(const struct peet_function *caller, const char *name)
{
    struct known *k;

    if (!find(here.images, caller->image)) {
        note_name(&here.images, caller->image, "", 0);
        peet_host_functions(caller->runtime_pc, note_function, (void *)(uintptr_t)caller->image);
    }
    k = find_of(here.globals, caller->image, name);
    return k ? k->address : 0;
}

/** The only local function of this name that the image has; 0: there is none, or several; after global_of(). */
static uint64_t local_of(const struct peet_function *caller, const char *name)
{
    const struct known *k = find_of(here.locals, caller->image, name);

    return k ? k->address : 0;
}

/**
 * Is it recorded code that a function calls by this name?  Not any of that name: those of other files may be static.
 * Under whichever of its names: constructors have two, and an alias is one.
 */
static int calls_recorded(const struct peet_function *caller, const char *name, const void *address)
{
    uint64_t at;

    if (find_of(here.recorded, caller->file, name))
        return 1;
    at = global_of(caller, name);
    if (!at)
        at = (uint64_t)(uintptr_t)address;
    if (!at && find(here.recorded, name))
        return 1;
    if (!at)
        at = local_of(caller, name);
    return at && peet_program_function_of_pc(here.program, at) != NULL;
}

/** Is it foreign code that was recorded? */
static int calls_translated(const struct peet_function *caller, const char *name, const void *address)
{
    uint64_t at = address ? (uint64_t)(uintptr_t)address : global_of(caller, name);
    struct callee *c;

    HASH_FIND(hh, here.translated, &at, sizeof at, c);
    return c != NULL;
}

static void note_call(void *arg, const struct peet_block *block, const char *callee)
{
    uint64_t times = peet_map_executed(here.map, block);
    struct unseen *u;
    void *address;
    Dl_info info;

    (void)arg;
    if (!times)
        return;
    address = dlsym(RTLD_DEFAULT, callee);
    if (calls_recorded(block->function, callee, address) || calls_translated(block->function, callee, address))
        return;
    if (address && dladdr(address, &info) && info.dli_fname) {
        if (is_ours(&info))
            return;
        note_address(&here.callees, (uint64_t)(uintptr_t)address, callee);
        u = entry(base_name(info.dli_fname), callee);
    } else {
        u = entry(base_name(block->function->image), callee); /* linked into it */
    }
    here.calls += times;
    if (u)
        u->calls += times;
}

/* ------------------------------------------------------------------------------------------ calls among threads */

/** A block that calls a function by its name. */
struct caller {
    UT_hash_handle hh;
    const struct peet_block *block;
    const char *callee; /* NULL: there is nothing to say of it */
};

static struct {
    struct caller *all;
    unsigned nfunctions;
} callers;

/** Of the libraries of the languages: what refers to nothing of the program's, or to what its own thread alone has. */
static int refers_to_nothing(const char *object, const char *name)
{
    static const char *const of_c[] = {"abs", "labs", "llabs", "toupper", "tolower", "isalpha", "isdigit", "isalnum",
        "isspace", "isupper", "islower", "ispunct", "isprint", "isxdigit", "__errno_location", "__ctype_b_loc",
        "__ctype_toupper_loc", "__ctype_tolower_loc", "__stack_chk_fail", "__assert_fail", "abort", "exit", "_exit",
        "atexit", "__tls_get_addr", "getpid", "getenv", "longjmp", "_longjmp", "siglongjmp", "setjmp", "_setjmp",
        "__sigsetjmp", "pthread_self", "pthread_equal"};
    static const char *const of_threads[] = {
        "pthread_attr_", "pthread_mutexattr_", "pthread_condattr_", "pthread_rwlockattr_", "pthread_barrierattr_"};
    static const char *const of_maths[] = {"modf", "frexp", "sincos", "remquo", "lgamma", "nan"}; /* through pointers */
    static const char *const of_cxx[] = {"__cxa_", "__gxx_", "_Unwind_", "_Zn", "_Zd", "_ZNSt6thread",
        "_ZSt9terminatev", "_ZSt17__throw", "_ZSt20__throw", "_ZSt25__throw"};

    if (!strncmp(object, "libm.so", 7)) {
        for (size_t i = 0; i < sizeof of_maths / sizeof *of_maths; i++)
            if (strstr(name, of_maths[i]))
                return 0;
        return 1;
    }
    if (!strncmp(object, "libc.so", 7) || !strncmp(object, "ld-linux", 8)) {
        for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++)
            if (!strcmp(name, of_c[i]))
                return 1;
        for (size_t i = 0; i < sizeof of_threads / sizeof *of_threads; i++)
            if (!strncmp(name, of_threads[i], strlen(of_threads[i])))
                return 1;
    }
    if (!strncmp(object, "libstdc++.so", 12) || !strncmp(object, "libc++", 6) || !strncmp(object, "libgcc_s", 8))
        for (size_t i = 0; i < sizeof of_cxx / sizeof *of_cxx; i++)
            if (!strncmp(name, of_cxx[i], strlen(of_cxx[i])))
                return 1;
    return 0;
}

/** Where a function of this name is found; @caller: a block that calls it.  Returns: the object, NULL: it is ours */
static const char *object_of(const char *name, const struct peet_block *caller)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    Dl_info info;

    if (!address || !dladdr(address, &info) || !info.dli_fname)
        return base_name(caller->function->image); /* linked into it */
    return is_ours(&info) ? NULL : base_name(info.dli_fname);
}

static void note_caller(void *arg, const struct peet_block *block, const char *callee)
{
    const char *object =
        calls_recorded(block->function, callee, dlsym(RTLD_DEFAULT, callee)) ? NULL : object_of(callee, block);
    struct caller *one;

    (void)arg;
    HASH_FIND_PTR(callers.all, &block, one);
    if (one || !(one = calloc(1, sizeof *one)))
        return;
    one->block = block;
    one->callee = object && !refers_to_nothing(object, callee) ? callee : NULL;
    HASH_ADD_PTR(callers.all, block, one);
}

int peet_host_unseen_shares(struct peet_program *program, const struct peet_block *caller, int called,
    char out_name[PEET_UNSEEN_NAME_BYTES])
{
    struct caller *one;
    const char *object;

    if (callers.nfunctions != peet_program_nfunctions(program)) {
        here.program = program;
        note_recorded();
        peet_program_calls(program, note_caller, NULL);
        callers.nfunctions = peet_program_nfunctions(program);
    }
    HASH_FIND_PTR(callers.all, &caller, one);
    if (one ? !one->callee : !called)
        return 0;
    object = one ? object_of(one->callee, caller) : NULL;
    if (one)
        snprintf(out_name, PEET_UNSEEN_NAME_BYTES, "%s() of %s, called by %s()", one->callee, object ? object : "?",
            caller->function->name);
    else
        snprintf(out_name, PEET_UNSEEN_NAME_BYTES, "called by %s() through a pointer", caller->function->name);
    return 1;
}

static int by_weight(struct unseen *a, struct unseen *b)
{
    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return strcmp(a->key, b->key);
}

static json_t *share(uint64_t ns)
{
    return here.unseen_samples < ENOUGH ? json_null() : json_real((double)ns / (double)here.ns);
}

static int by_calls(struct unseen *a, struct unseen *b)
{
    if (a->calls != b->calls)
        return a->calls < b->calls ? 1 : -1;
    return strcmp(a->key, b->key);
}

/** Calls by name and places in doubt, up to now. */
static void bring_up_to_date(struct peet_map *map)
{
    struct unseen *u, *next;

    here.map = map;
    here.calls = 0;
    HASH_ITER(hh, here.all, u, next)
    u->calls = 0;
    peet_host_unseen_look();
    note_recorded();
    peet_program_calls(here.program, note_call, NULL);
    settle_doubts();
}

/** The list of an object or a file; @measured: those that the samples have found, and their shares, too. */
static json_t *list_of(int measured)
{
    struct unseen *u, *next;
    json_t *list = json_array(), *one;

    if (measured)
        HASH_SORT(here.all, by_weight);
    else
        HASH_SORT(here.all, by_calls);
    HASH_ITER(hh, here.all, u, next)
    {
        char object[NAME_BYTES];

        snprintf(object, sizeof object, "%.*s", (int)u->object_bytes, u->key);
        if (!u->calls && !(measured && u->ns && here.unseen_samples >= ENOUGH))
            continue;
        one = json_pack("{s:o,s:o,s:o}", "object", peet_stats_text(object), "symbol",
            peet_stats_text(u->key + u->object_bytes + 1), "calls", u->calls ? peet_stats_u64(u->calls) : json_null());
        if (!one || (measured && json_object_set_new(one, "share", share(u->ns))) || json_array_append_new(list, one))
            here.bad = 1;
    }
    if (here.bad) {
        json_decref(list);
        return NULL;
    }
    return list;
}

json_t *peet_host_unseen_json(struct peet_map *map)
{
    json_t *list;

    if (!here.program)
        return json_null();
    bring_up_to_date(map);
    list = list_of(0);
    return list ? json_pack("{s:o,s:o}", "calls", peet_stats_u64(here.calls), "list", list) : NULL;
}

int peet_host_unseen_write(const char *path, struct peet_error *error)
{
    json_t *root, *list;
    int err;

    if (!here.program)
        return 0;
    list = list_of(1);
    root = list ? json_pack("{s:i,s:o,s:o,s:o,s:o}", "version", 1, "samples", peet_stats_u64(here.samples), "calls",
                      peet_stats_u64(here.calls), "share", share(here.unseen_ns), "list", list)
                : NULL;
    if (!root)
        return peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    err = peet_stats_write(root, path, error);
    json_decref(root);
    return err;
}
