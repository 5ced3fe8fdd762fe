/* precision_vectors [--slice=basic] DIR: runs every case of every *.json file in DIR.
 *
 * Prints each case that differs, the counts per kind (the file's name up to its dash),
 * and `N passed, N failed` last. Exit status 1 when something failed, 2 when nothing
 * could be read. The slice `basic` takes the cases of modes 0 to 3 without
 * customize_dtypes and modify_mixlist. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "vectors.h"

#define MAX_DIFF  (64u << 10)
#define MAX_KINDS 64u

struct kind {
  char name[32];
  unsigned passed, failed;
};

struct totals {
  struct kind kinds[MAX_KINDS];
  unsigned n_kinds;
  unsigned passed, failed, skipped;
  bool basic;
};

static struct kind *kind_of(struct totals *t, const char *file)
{
  size_t len = strcspn(file, "-.");

  for (unsigned i = 0; i < t->n_kinds; i++)
    if (strlen(t->kinds[i].name) == len && strncmp(t->kinds[i].name, file, len) == 0)
      return &t->kinds[i];
  if (t->n_kinds == MAX_KINDS)
    return &t->kinds[MAX_KINDS - 1];
  struct kind *k = &t->kinds[t->n_kinds++];
  snprintf(k->name, sizeof k->name, "%.*s", (int)len, file);
  return k;
}

static bool in_basic_slice(const struct oc_json *v)
{
  int64_t mode;

  return oc_json_i64(oc_json_get(oc_json_get(v, "expect"), "mode_enum"), &mode) &&
         mode <= 3 && !oc_json_string(oc_json_get(v, "customize_dtypes"), NULL) &&
         !oc_json_string(oc_json_get(v, "modify_mixlist"), NULL);
}

static bool run_case(const struct oc_json *v, struct oc_buf *diff)
{
  struct oc_arena a;
  struct vec_case c;
  struct vec_outcome o;
  const char *why = NULL;

  oc_arena_init(&a, 0);
  oc_buf_reset(diff);
  if (vec_build(&c, v, &a, &why) || vec_run(&c, &o, &why))
    oc_buf_printf(diff, "  %s\n", why ? why : "could not be run");
  else
    vec_compare(&c, &o, diff);
  bool fine = diff->len == 0 && !diff->failed;
  if (!fine)
    printf("FAILED %s%s%s\n%s", c.id, oc_json_get(v, "note") ? ": " : "",
           oc_json_string(oc_json_get(v, "note"), ""), oc_buf_str(diff));
  vec_clear(&c);
  oc_arena_clear(&a);
  return fine;
}

static int read_file(const char *dir, const char *name, char **ret, size_t *ret_len)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  auto_fclose FILE *f = fopen(path, "re");
  if (!f || fseek(f, 0, SEEK_END))
    return -1;
  long len = ftell(f);
  auto_free char *text = len < 0 ? NULL : malloc((size_t)len + 1);
  rewind(f);
  if (!text || fread(text, 1, (size_t)len, f) != (size_t)len)
    return -1;
  *ret_len = (size_t)len;
  *ret = OC_STEAL(text);
  return 0;
}

static int run_file(const char *dir, const char *name, struct totals *t)
{
  struct kind *k = kind_of(t, name);
  struct oc_error err = { 0 };
  struct oc_json *root = NULL;
  struct oc_arena a;
  struct oc_buf diff;
  auto_free char *text = NULL;
  size_t len = 0;

  if (read_file(dir, name, &text, &len)) {
    fprintf(stderr, "cannot read '%s/%s'\n", dir, name);
    return -1;
  }
  oc_arena_init(&a, 0);
  oc_buf_init(&diff, MAX_DIFF);
  int rc = oc_json_parse(text, len, 0, &a, &root, &err);
  if (rc)
    fprintf(stderr, "'%s/%s': %s\n", dir, name, err.msg);
  const struct oc_json *cases = rc ? NULL : oc_json_get(root, "cases");
  for (const struct oc_json *v = cases ? cases->first : NULL; v; v = v->next) {
    if (t->basic && !in_basic_slice(v)) {
      t->skipped++;
      continue;
    }
    bool fine = run_case(v, &diff);
    *(fine ? &k->passed : &k->failed) += 1;
    *(fine ? &t->passed : &t->failed) += 1;
  }
  oc_buf_clear(&diff);
  oc_arena_clear(&a);
  return rc;
}

static int is_json(const struct dirent *e)
{
  return oc_ends_with(e->d_name, ".json");
}

static int run_dir(const char *dir, struct totals *t)
{
  struct dirent **list = NULL;
  int n = scandir(dir, &list, is_json, alphasort), rc = n > 0 ? 0 : -1;

  if (n <= 0)
    fprintf(stderr, "no case files in '%s'\n", dir);
  for (int i = 0; i < n; i++) {
    if (run_file(dir, list[i]->d_name, t))
      rc = -1;
    free(list[i]);
  }
  free(list);
  return rc;
}

int main(int argc, char **argv)
{
  struct totals t = { .n_kinds = 0 };
  const char *dir = NULL;

  for (int i = 1; i < argc; i++) {
    if (oc_streq(argv[i], "--slice=basic"))
      t.basic = true;
    else if (!dir && argv[i][0] != '-')
      dir = argv[i];
    else
      dir = "";
  }
  if (!dir || !*dir) {
    fprintf(stderr, "usage: precision_vectors [--slice=basic] DIR\n");
    return 2;
  }
  int rc = run_dir(dir, &t);
  for (unsigned i = 0; i < t.n_kinds; i++)
    printf("%-8s %u passed, %u failed\n", t.kinds[i].name, t.kinds[i].passed,
           t.kinds[i].failed);
  if (t.basic)
    printf("%u cases are not in the slice\n", t.skipped);
  printf("%u passed, %u failed\n", t.passed, t.failed);
  return rc ? 2 : t.failed ? 1 : 0;
}
