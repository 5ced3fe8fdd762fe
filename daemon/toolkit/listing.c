/* A directory tree as one short text: count of files and the digest of their sorted
 * names, sizes and times. Reading the bytes of thousands of operator files at each start
 * would cost seconds; who rebuilds an operator changes its time.
 *
 * Symbolic links are followed, since packages are installed through them; depth and
 * number of files are bounded, so a circle ends in an error and not in a hang. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "digest/digest.h"
#include "toolkit/toolkit_internal.h"

#define MAX_FILES 200000
#define MAX_DEPTH 24
#define SHOWN_HEX                                                                        \
  16 /* bytes of the digest in the text: enough to tell two trees apart                  \
      */

struct folder {
  const char *path;
  unsigned depth;
};

struct walk {
  struct oc_arena arena;
  struct folder *stack;
  size_t n_stack, stack_room;
  const char **lines;
  size_t n_lines, lines_room;
};

static int push(struct walk *w, const char *path, unsigned depth)
{
  if (w->n_stack == w->stack_room) {
    size_t room = w->stack_room ? w->stack_room * 2 : 64;
    w->stack = oc_arena_grow(&w->arena, w->stack, w->n_stack, room, sizeof(*w->stack));
    if (!w->stack)
      return OC_E_NOMEM;
    w->stack_room = room;
  }
  w->stack[w->n_stack++] = (struct folder){ path, depth };
  return 0;
}

static int add_line(struct walk *w, const char *path, const struct stat *st)
{
  if (w->n_lines == w->lines_room) {
    size_t room = w->lines_room ? w->lines_room * 2 : 256;
    w->lines = oc_arena_grow(&w->arena, w->lines, w->n_lines, room, sizeof(*w->lines));
    if (!w->lines)
      return OC_E_NOMEM;
    w->lines_room = room;
  }
  const char *line = oc_arena_printf(&w->arena, "%s\n%" PRId64 " %" PRId64 ".%09ld\n",
                                     path, (int64_t)st->st_size,
                                     (int64_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
  if (!line)
    return OC_E_NOMEM;
  w->lines[w->n_lines++] = line;
  return 0;
}

static int visit(struct walk *w, const struct folder *f, struct oc_error *err)
{
  auto_closedir DIR *d = opendir(f->path);

  if (!d)
    return errno == ENOENT ? 0
                           : oc_error_errno(err, OC_E_IO, "cannot list '%s'", f->path);
  for (struct dirent *e = readdir(d); e; e = readdir(d)) {
    struct stat st;
    int rc = 0;
    if (oc_streq(e->d_name, ".") || oc_streq(e->d_name, ".."))
      continue;
    const char *path = oc_arena_printf(&w->arena, "%s/%s", f->path, e->d_name);
    if (!path)
      return oc_error_set(err, OC_E_NOMEM, "no memory to list '%s'", f->path);
    if (fstatat(dirfd(d), e->d_name, &st, 0) < 0)
      continue; /* gone meanwhile, or a link to nowhere */
    if (S_ISDIR(st.st_mode))
      rc = push(w, path, f->depth + 1);
    else if (S_ISREG(st.st_mode))
      rc = add_line(w, path, &st);
    if (rc < 0)
      return oc_error_set(err, rc, "no memory to list '%s'", f->path);
    if (f->depth >= MAX_DEPTH || w->n_lines > MAX_FILES || w->n_stack > MAX_FILES)
      return oc_error_set(err, OC_E_LIMIT, "there are too many files under '%s'",
                          f->path);
  }
  return 0;
}

static int by_text(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int digest_lines(struct walk *w, uint8_t ret[OC_SHA256_LEN])
{
  struct oc_sha256 s;

  if (w->n_lines)
    qsort(w->lines, w->n_lines, sizeof(*w->lines), by_text);
  if (oc_sha256_init(&s) < 0) {
    oc_sha256_clear(&s);
    return OC_E_NOMEM;
  }
  for (size_t i = 0; i < w->n_lines; i++)
    oc_sha256_field(&s, w->lines[i], strlen(w->lines[i]));
  return oc_sha256_final(&s, ret);
}

static int list(struct walk *w, const char *const *dirs, size_t n, struct oc_arena *arena,
                const char **ret, struct oc_error *err)
{
  uint8_t digest[OC_SHA256_LEN];
  char hex[2 * SHOWN_HEX + 1];

  for (size_t i = 0; i < n; i++)
    if (push(w, dirs[i], 0) < 0)
      return oc_error_set(err, OC_E_NOMEM, "no memory to list '%s'", dirs[i]);
  while (w->n_stack) {
    struct folder f = w->stack[--w->n_stack];
    int rc = visit(w, &f, err);
    if (rc < 0)
      return rc;
  }
  if (w->n_lines == 0) {
    *ret = "none";
    return 0;
  }
  if (digest_lines(w, digest) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a digest");
  oc_hex(digest, SHOWN_HEX, hex);
  *ret = oc_arena_printf(arena, "%zu files, %s", w->n_lines, hex);
  return *ret ? 0 : oc_error_set(err, OC_E_NOMEM, "no memory for a listing");
}

int oc_toolkit_listing(const char *const *dirs, size_t n, struct oc_arena *arena,
                       const char **ret, struct oc_error *err)
{
  struct walk w = { 0 };

  oc_arena_init(&w.arena, 256u << 20);
  int rc = list(&w, dirs, n, arena, ret, err);
  oc_arena_clear(&w.arena);
  return rc;
}
