/* Op files of a toolkit: what its operators take, chip by chip.
 *
 * The built-in ones are in one place; every vendor's package of custom operators below
 * opp/vendors and every directory of ASCEND_CUSTOM_OPP_PATH has the same layout. Files
 * are only named here: who uses them opens and digests them. A place that is not there
 * has none. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "toolkit/toolkit_internal.h"

#define CONFIG "op_impl/ai_core/tbe/config"
/* Chips times files per chip and packages; more is no installation. */
#define MAX_FILES 512

static int not_hidden(const struct dirent *d)
{
  return d->d_name[0] != '.';
}

static int is_ops_info(const struct dirent *d)
{
  return oc_starts_with(d->d_name, "aic-") && strstr(d->d_name, "ops-info") &&
         oc_ends_with(d->d_name, ".json");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_names(struct dirent **names, int n)
{
  for (int i = 0; i < n; i++)
    free(names[i]);
  free(names);
}

static int add(struct oc_toolkit *t, const char *name, const char *path)
{
  if (!name || !path)
    return OC_E_NOMEM;
  if (t->n_tables < MAX_FILES)
    t->tables[t->n_tables++] = (struct oc_toolkit_text){ name, path };
  return 0;
}

/* Files of one chip. */
static int add_soc(struct oc_toolkit *t, const char *label, const char *dir,
                   const char *soc)
{
  const char *path = oc_arena_printf(&t->arena, "%s/%s", dir, soc);
  struct dirent **names = NULL;
  int n = path ? scandir(path, &names, is_ops_info, by_name) : 0, r = 0;

  for (int i = 0; i < n && !r; i++)
    r = add(t, oc_arena_printf(&t->arena, "%s/%s/%s", label, soc, names[i]->d_name),
            oc_arena_printf(&t->arena, "%s/%s", path, names[i]->d_name));
  free_names(names, n);
  return path ? r : OC_E_NOMEM;
}

/* One package: a folder that holds op_impl. */
static int add_package(struct oc_toolkit *t, const char *label, const char *package)
{
  const char *dir = oc_arena_printf(&t->arena, "%s/" CONFIG, package);
  struct dirent **names = NULL;
  int n = dir ? scandir(dir, &names, not_hidden, by_name) : 0, r = 0;

  for (int i = 0; i < n && !r; i++)
    r = add_soc(t, label, dir, names[i]->d_name);
  free_names(names, n);
  return dir ? r : OC_E_NOMEM;
}

static const char *base_name(const char *path, size_t len)
{
  while (len > 0 && path[len - 1] != '/')
    len--;
  return path + len;
}

/* The directories of ASCEND_CUSTOM_OPP_PATH; the first one has priority, so it is added
 * last. */
static int add_custom_path(struct oc_toolkit *t, const char *path)
{
  int r = 0;
  size_t end = strlen(path);

  while (end > 0 && !r) {
    size_t start = end;
    while (start > 0 && path[start - 1] != ':')
      start--;
    const char *dir = oc_arena_strndup(&t->arena, path + start, end - start);
    const char *label =
        dir ? oc_arena_printf(&t->arena, "custom/%s", base_name(dir, strlen(dir))) : NULL;
    r = !label ? OC_E_NOMEM : *dir ? add_package(t, label, dir) : 0;
    end = start > 0 ? start - 1 : 0;
  }
  return r;
}

static int add_vendors(struct oc_toolkit *t)
{
  const char *dir = oc_arena_printf(&t->arena, "%s/opp/vendors", t->dir);
  struct dirent **names = NULL;
  int n = dir ? scandir(dir, &names, not_hidden, by_name) : 0, r = 0;

  for (int i = 0; i < n && !r; i++) {
    const char *label = oc_arena_printf(&t->arena, "custom/%s", names[i]->d_name);
    const char *package = oc_arena_printf(&t->arena, "%s/%s", dir, names[i]->d_name);
    r = label && package ? add_package(t, label, package) : OC_E_NOMEM;
  }
  free_names(names, n);
  return dir ? r : OC_E_NOMEM;
}

int oc_toolkit_tables(struct oc_toolkit *t, char *const *environ_)
{
  const char *custom = oc_toolkit_variable(environ_, "ASCEND_CUSTOM_OPP_PATH");
  const char *built_in = oc_arena_printf(&t->arena, "%s/opp/built-in", t->dir);

  t->tables = OC_NEW_N(&t->arena, struct oc_toolkit_text, MAX_FILES);
  if (!t->tables || !built_in)
    return OC_E_NOMEM;
  int r = add_package(t, "toolkit", built_in);
  if (!r)
    r = add_vendors(t);
  if (!r && custom)
    r = add_custom_path(t, custom);
  return r;
}
