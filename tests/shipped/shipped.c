/* Two folders of YAML files into one object. */
#include "shipped/shipped.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "optable/optable.h"

char *oc_shipped_file(const char *path, size_t *ret_len)
{
  auto_fclose FILE *f = fopen(path, "re");

  if (!f || fseek(f, 0, SEEK_END))
    return NULL;
  long n = ftell(f);
  rewind(f);
  auto_free char *text = n < 0 ? NULL : malloc((size_t)n + 1);
  if (!text || fread(text, 1, (size_t)n, f) != (size_t)n)
    return NULL;
  text[n] = '\0';
  *ret_len = (size_t)n;
  return OC_STEAL(text);
}

static int add_folder(struct oc_optable *t, const char *root, const char *folder,
                      struct oc_error *err)
{
  char path[4096];
  size_t len = (size_t)snprintf(path, sizeof path, "%s/schema/%s", root, folder);
  auto_closedir DIR *d = opendir(path);
  const struct dirent *e;

  if (!d)
    return oc_error_errno(err, OC_E_IO, "cannot open '%s'", path);
  while ((e = readdir(d)) != NULL) {
    size_t n = 0;
    if (!oc_ends_with(e->d_name, ".yaml"))
      continue;
    snprintf(path + len, sizeof path - len, "/%s", e->d_name);
    auto_free char *text = oc_shipped_file(path, &n);
    if (!text)
      return oc_error_errno(err, OC_E_IO, "cannot read '%s'", path);
    int r = oc_optable_add(t, e->d_name, text, n, err);
    if (r < 0)
      return r;
  }
  return 0;
}

struct oc_optable *oc_shipped_tables(const char *root, struct oc_error *err)
{
  struct oc_optable *t = oc_optable_new();

  if (!root)
    root = getenv("OMCC_SOURCE_DIR");
  if (!root)
    root = ".";
  if (!t) {
    oc_error_set(err, OC_E_NOMEM, "no memory for the tables");
    return NULL;
  }
  if (add_folder(t, root, "soc", err) < 0 || add_folder(t, root, "ops", err) < 0 ||
      oc_optable_finish(t, err) < 0) {
    oc_optable_free(t);
    return NULL;
  }
  return t;
}
