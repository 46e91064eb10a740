/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and loading modules.  Everything in a descriptor comes from outside and is checked here
 * once, so that others may trust it.  The parameters are in params.c.
 */
#include "modules/modhost.h"
#include "base/names.h"

#include <peet/consistency.h>
#include <peet/direct.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Inside the subject's process the global scope belongs to the subject: a module's malloc and friends
 * must be its own libraries'.  AddressSanitizer refuses that flag, having interposed them itself. */
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
#define DLOPEN_FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define DLOPEN_FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

int peet_modhost_dir(char *out_path, size_t bytes, struct peet_error *error)
{
    const char *lib = getenv("PEET_LIB");
    char self[PATH_MAX];
    ssize_t n;
    int length;

    if (lib && *lib) {
        length = snprintf(out_path, bytes, "%s/peet/modules", lib);
    } else {
        n = readlink("/proc/self/exe", self, sizeof self - 1);
        if (n < 0)
            return peet_error_set(error, PEET_EIO, "/proc/self/exe: %s", strerror(errno));
        self[n] = 0;
        for (int up = 0; up < 2; up++) { /* drop the name and bin */
            char *slash = strrchr(self, '/');

            if (slash && slash != self)
                *slash = 0;
        }
        length = snprintf(out_path, bytes, "%s/lib/peet/modules", self);
    }
    if (length < 0 || (size_t)length >= bytes)
        return peet_error_set(error, PEET_ELIMIT, "the path of the modules folder is too long");
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int peet_modhost_list(const char *modules_dir, char ***out_names, struct peet_error *error)
{
    char **names = NULL, **more;
    struct dirent *entry;
    int n = 0, err = 0;
    DIR *dir = opendir(modules_dir);

    *out_names = NULL;
    if (!dir)
        return peet_error_set(error, PEET_EIO, "%s: cannot read the modules folder: %s", modules_dir, strerror(errno));
    while (!err && (entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);

        if (length < 4 || strcmp(entry->d_name + length - 3, ".so"))
            continue;
        more = realloc(names, (size_t)(n + 1) * sizeof *names);
        if (more)
            names = more;
        if (!more || !(names[n] = strndup(entry->d_name, length - 3)))
            err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", modules_dir);
        else
            n++;
    }
    closedir(dir);
    if (err) {
        peet_modhost_list_free(names, n);
        return err;
    }
    if (n)
        qsort(names, (size_t)n, sizeof *names, by_name);
    *out_names = names;
    return n;
}

void peet_modhost_list_free(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/** Is the descriptor what it must be?  @path begins the messages. */
static const struct {
    const char *text, *option;
} kinds[] = {{"a machine", "--machine"}, {"an observer", "--observe"}, {"a consistency model", "--consistency"}};

/** The second descriptor, of a consistency model. */
static int check_consistency(struct peet_modhost_module *m, const char *path, struct peet_error *error)
{
    const struct peet_consistency *c = dlsym(m->handle, "peet_consistency");

    if (!c)
        return peet_error_set(error, PEET_EMODULE, "%s: a consistency model, but it exports no `peet_consistency`",
            path);
    if (c->abi != PEET_CONSISTENCY_ABI || c->struct_size != sizeof *c)
        return peet_error_set(error, PEET_EVERSION,
            "%s: built for version %u of peet/consistency.h; this peet knows %u: rebuild it", path, c->abi,
            PEET_CONSISTENCY_ABI);
    if (!c->begin || !c->store || !c->order || (c->moves && (!c->move || !c->waits)))
        return peet_error_set(error, PEET_EMODULE,
            "%s: begin(), store() or order() is missing, or moves() without move() and waits()", path);
    m->consistency = c;
    return 0;
}

/** Both ways of leaving blocks to peet say by themselves for which version they were built. */
static int check_direct(uint32_t abi, uint32_t size, size_t want, const char *path, struct peet_error *error)
{
    if (abi == PEET_DIRECT_ABI && size == want)
        return 0;
    return peet_error_set(error, PEET_EVERSION,
        "%s: built for another version of peet/direct.h than this peet's, which is %u: rebuild it", path,
        PEET_DIRECT_ABI);
}

static int check(const struct peet_module *m, const char *path, unsigned kind, struct peet_error *error)
{
    if (m->abi < PEET_MODULE_ABI_MIN || m->abi > PEET_MODULE_ABI)
        return peet_error_set(error, PEET_EVERSION,
            "%s: built for version %u of the module interface; this peet knows %u to %u: rebuild it with this peet's headers",
            path, m->abi, PEET_MODULE_ABI_MIN, PEET_MODULE_ABI);
    if (m->struct_size != sizeof *m)
        return peet_error_set(error, PEET_EVERSION,
            "%s: its descriptor has %u bytes, version %u of the module interface has %zu: rebuild it with this peet's headers",
            path, m->struct_size, m->abi, sizeof *m);
    if (!m->name || !*m->name || !m->summary || !m->create || !m->destroy)
        return peet_error_set(error, PEET_EMODULE, "%s: the descriptor lacks a name, summary, create() or destroy()",
            path);
    if (m->kind < PEET_MACHINE || m->kind > PEET_CONSISTENCY)
        return peet_error_set(error, PEET_EMODULE,
            "%s: kind %u is neither a machine nor an observer nor a consistency model", path, m->kind);
    if (kind && m->kind != kind)
        return peet_error_set(error, PEET_EMODULE, "%s is %s, not %s: give it with %s", m->name,
            kinds[m->kind - 1].text, kinds[kind - 1].text, kinds[m->kind - 1].option);
    if ((m->needs & PEET_NEEDS_BLOCKS) && !m->block && !m->main)
        return peet_error_set(error, PEET_EMODULE, "%s: needs blocks, but has no block()", path);
    if ((m->needs & PEET_NEEDS_ABSTRACT) && !m->abstract && !m->main)
        return peet_error_set(error, PEET_EMODULE, "%s: needs abstract events, but has no abstract()", path);
    if ((m->needs & PEET_NEEDS_MEMORY) && (!m->memory || m->kind != PEET_OBSERVER))
        return peet_error_set(error, PEET_EMODULE, "%s: needs memory reports, but %s", path,
            m->memory ? "is not an observer" : "has no memory()");
    if (m->main && m->kind != PEET_MACHINE)
        return peet_error_set(error, PEET_EMODULE, "%s: only a machine may have a main()", path);
    if (m->direct && check_direct(m->direct->abi, m->direct->struct_size, sizeof *m->direct, path, error))
        return PEET_EVERSION;
    if (m->observed && check_direct(m->observed->abi, m->observed->struct_size, sizeof *m->observed, path, error))
        return PEET_EVERSION;
    for (const struct peet_param *p = m->params; p && p->name; p++) {
        struct peet_error why = {0, ""};
        union peet_value value;

        if (p->type > PEET_PARAM_STRING || !p->unit || !p->def || !p->range || !p->help)
            return peet_error_set(error, PEET_EMODULE, "%s: the table entry of parameter '%s' is not complete", path,
                p->name);
        if (peet_modhost_value(p, "default", p->def, &value, &why))
            return peet_error_set(error, PEET_EMODULE, "%s: the table does not accept its own default: %s", path,
                why.message);
    }
    return 0;
}

/** No such module: say so, with what may have been meant. */
static int unknown(const char *modules_dir, const char *name, struct peet_error *error)
{
    char **names = NULL;
    int n = peet_modhost_list(modules_dir, &names, NULL);
    const char *nearest = n > 0 ? peet_names_nearest(name, (const char *const *)names, (size_t)n) : NULL;
    int err;

    if (nearest)
        err = peet_error_set(error, PEET_ENOTFOUND, "no module '%s'; did you mean '%s'? (`peet sims` lists them)", name,
            nearest);
    else
        err = peet_error_set(error, PEET_ENOTFOUND,
            "no module '%s' in %s (`peet sims` lists them; a module elsewhere is given by its path, as in ./%s.so)",
            name, modules_dir, name);
    if (n > 0)
        peet_modhost_list_free(names, n);
    return err;
}

int peet_modhost_load(const char *modules_dir, const char *name, unsigned kind, struct peet_modhost_module *out_module,
    struct peet_error *error)
{
    char path[PATH_MAX], real[PATH_MAX];
    const char *why;
    int n, err;

    *out_module = (struct peet_modhost_module){0};
    if (!*name)
        return peet_error_set(error, PEET_EINVALID, "the name of a module is missing");
    if (strchr(name, '/'))
        n = snprintf(path, sizeof path, "%s", name);
    else
        n = snprintf(path, sizeof path, "%s/%s.so", modules_dir, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return peet_error_set(error, PEET_ELIMIT, "%s: the path is too long", name);
    if (!realpath(path, real)) {
        if (errno == ENOENT && !strchr(name, '/'))
            return unknown(modules_dir, name, error);
        return peet_error_set(error, PEET_ENOTFOUND, "%s: cannot open the module: %s", path, strerror(errno));
    }
    out_module->handle = dlopen(real, DLOPEN_FLAGS);
    if (!out_module->handle) {
        why = dlerror();
        return peet_error_set(error, PEET_EMODULE, "%s: cannot load the module: %s", path,
            why ? why : "unknown reason");
    }
    out_module->module = dlsym(out_module->handle, "peet_module");
    if (!out_module->module)
        err = peet_error_set(error, PEET_EMODULE, "%s: not a peet module: it exports no `peet_module`", path);
    else
        err = check(out_module->module, path, kind, error);
    if (!err && out_module->module->kind == PEET_CONSISTENCY)
        err = check_consistency(out_module, path, error);
    if (!err && !(out_module->path = strdup(real)))
        err = peet_error_set(error, PEET_ENOMEM, "%s: out of memory", path);
    if (err)
        peet_modhost_unload(out_module);
    return err;
}

void peet_modhost_unload(struct peet_modhost_module *module)
{
    if (module->handle)
        dlclose(module->handle);
    free(module->path);
    *module = (struct peet_modhost_module){0};
}
