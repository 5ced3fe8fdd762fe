/* What the compiler left in out/: the .om under one of its names, and side files.
 * Droppings in the working directory (kernel_meta, fusion_result.json) are not results.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "runner/runner_internal.h"

#define MAX_FOLDERS 32

struct folders {
  const char *names[MAX_FOLDERS]; /* relative to out/, "" is out/ itself */
  size_t n, done;
};

void members_close(struct members *m)
{
  for (size_t i = 0; i < m->n; i++)
    oc_close_fd(&m->items[i].fd);
  m->n = 0;
}

/* The file that was asked for: model.om, model_<os>_<cpu>.om, model.om2, model.exeom,
 * model.json. */
static const char *kind_of(const char *name)
{
  static const char *const ends[] = { ".om", ".om2", ".exeom", ".json" };

  if (!oc_starts_with(name, "model") || strchr(name, '/'))
    return "side";
  for (size_t i = 0; i < OC_COUNT(ends); i++)
    if (oc_ends_with(name, ends[i]))
      return "artifact";
  return "side";
}

static int add_file(struct members *ret, int dir, const char *base, const char *name,
                    struct oc_error *err)
{
  struct stat st;
  auto_close int fd = openat(dir, base, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

  if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
    return 0; /* nothing that could be delivered */
  if (ret->n == OC_MAX_MEMBERS)
    return oc_error_set(err, OC_E_LIMIT, "the compiler wrote more than %d files",
                        OC_MAX_MEMBERS);
  ret->items[ret->n++] = (struct member){ .name = name,
                                          .kind = kind_of(name),
                                          .mode = st.st_mode & 0777,
                                          .size = (uint64_t)st.st_size,
                                          .fd = OC_STEAL_FD(fd) };
  return 0;
}

static int visit(struct job *j, struct folders *f, const char *folder,
                 struct members *ret, struct oc_error *err)
{
  int fd = openat(j->out_fd, *folder ? folder : ".",
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  auto_closedir DIR *d = fd < 0 ? NULL : fdopendir(fd);

  for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
    struct stat st;
    if (oc_streq(e->d_name, ".") || oc_streq(e->d_name, ".."))
      continue;
    const char *name = *folder ? oc_arena_printf(&j->arena, "%s/%s", folder, e->d_name)
                               : oc_arena_strdup(&j->arena, e->d_name);
    if (!name)
      return oc_error_set(err, OC_E_NOMEM, "no memory for the results");
    if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
      continue;
    if (S_ISDIR(st.st_mode) && f->n < MAX_FOLDERS)
      f->names[f->n++] = name;
    int rc = S_ISREG(st.st_mode) ? add_file(ret, fd, e->d_name, name, err) : 0;
    if (rc < 0)
      return rc;
  }
  return 0;
}

/* The order of a directory is not the compiler's: the artifact first, then by name. */
static int by_kind_and_name(const void *a, const void *b)
{
  const struct member *x = a, *y = b;
  int kind = strcmp(x->kind, y->kind); /* "artifact" before "side" */

  return kind ? kind : strcmp(x->name, y->name);
}

int collect(struct job *j, struct members *ret, struct oc_error *err)
{
  struct folders f = { .n = 1 };

  ret->n = 0;
  f.names[0] = "";
  while (f.done < f.n) {
    int rc = visit(j, &f, f.names[f.done++], ret, err);
    if (rc < 0) {
      members_close(ret);
      return rc;
    }
  }
  qsort(ret->items, ret->n, sizeof(ret->items[0]), by_kind_and_name);
  return 0;
}
