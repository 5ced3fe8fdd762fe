/* The tables of schema/, read as the worker reads them. */
#include "tables.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

static char *read_file(const char *path, size_t *ret_len)
{
  auto_fclose FILE *f = fopen(path, "re");
  char *text = NULL;
  size_t room = 0;

  ck_assert_msg(f != NULL, "%s", path);

  ssize_t n = getdelim(&text, &room, '\0', f);

  ck_assert(n > 0);
  *ret_len = (size_t)n;
  return text;
}

struct oc_optable *load_tables(struct oc_arena *arena)
{
  static const char *const rooms[] = { "soc", "ops" };
  struct oc_optable *t = oc_optable_new();
  struct oc_error err = { 0 };
  const char *root = getenv("OMCC_SOURCE_DIR");

  ck_assert_ptr_nonnull(root);
  for (int i = 0; i < 2; i++) {
    const char *dir = oc_arena_printf(arena, "%s/schema/%s", root, rooms[i]);
    auto_closedir DIR *d = opendir(dir);

    ck_assert_ptr_nonnull(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
      size_t len = 0;

      if (!oc_ends_with(e->d_name, ".yaml"))
        continue;

      auto_free char *text =
          read_file(oc_arena_printf(arena, "%s/%s", dir, e->d_name), &len);

      ck_assert_msg(oc_optable_add(t, e->d_name, text, len, &err) == 0, "%s", err.msg);
    }
  }
  ck_assert_msg(oc_optable_finish(t, &err) == 0, "%s", err.msg);
  return t;
}
