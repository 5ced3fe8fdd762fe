/* What the files of toolkit/ share. */
#ifndef OC_TOOLKIT_INTERNAL_H
#define OC_TOOLKIT_INTERNAL_H

#include "toolkit/toolkit.h"

/* environment.c: the variables of a run, into t->env. `ret_changing` gets those of them
 * that change results, as lines "NAME=value". */
int oc_toolkit_environment(struct oc_toolkit *t, char *const *environ_,
                           const char **ret_changing);
/* Value of a variable in `environ_`, NULL when it is not set or empty. */
const char *oc_toolkit_variable(char *const *environ_, const char *name);

/* identity.c: t->identity. */
int oc_toolkit_identity(struct oc_toolkit *t, char *const *environ_, const char *changing,
                        struct oc_error *err);

/* tables.c: t->tables. */
int oc_toolkit_tables(struct oc_toolkit *t, char *const *environ_);

/* listing.c: one line of text that stands for names, sizes and times of all files below
 * `n` directories; "none" when there are none. */
int oc_toolkit_listing(const char *const *dirs, size_t n, struct oc_arena *arena,
                       const char **ret, struct oc_error *err);

/* find.c: a small text file in the arena, trimmed; NULL when it cannot be read. */
const char *oc_toolkit_read(struct oc_toolkit *t, const char *path);
/* The "Version=" of a version.info text, or NULL. */
const char *oc_toolkit_version_of(struct oc_toolkit *t, const char *text);

#endif
