/* Finding one toolkit: the configured directory, else ASCEND_HOME_PATH. A directory
 * counts when its `atc` can be run and operators for this host are installed; what is
 * missing is said by name, since the compiler itself would complain of a flag that nobody
 * typed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "toolkit/toolkit_internal.h"

#define VERSION_BYTES (16u << 10)

/* Where installations of different years keep the wrapper. */
static const char *const wrappers[] = { "bin/atc", "compiler/bin/atc", "atc/bin/atc" };

const char *oc_toolkit_read(struct oc_toolkit *t, const char *path)
{
  char text[VERSION_BYTES];
  size_t len = 0;
  auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

  if (fd < 0)
    return NULL;
  while (len < sizeof(text)) {
    ssize_t n = read(fd, text + len, sizeof(text) - len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return NULL;
    if (n == 0)
      break;
    len += (size_t)n;
  }
  struct oc_str trimmed = oc_str_trim((struct oc_str){ text, len });
  return oc_arena_strndup(&t->arena, trimmed.p, trimmed.len);
}

const char *oc_toolkit_version_of(struct oc_toolkit *t, const char *text)
{
  static const char *const names[] = { "Version=", "version=" };

  for (const char *p = text; p && *p;) {
    size_t len = strcspn(p, "\r\n");
    for (size_t i = 0; i < OC_COUNT(names); i++) {
      size_t skip = strlen(names[i]);
      if (len > skip && strncmp(p, names[i], skip) == 0) {
        struct oc_str v = oc_str_trim((struct oc_str){ p + skip, len - skip });
        return oc_arena_strndup(&t->arena, v.p, v.len);
      }
    }
    p += len;
    p += strspn(p, "\r\n");
  }
  return NULL;
}

static int find_wrapper(struct oc_toolkit *t)
{
  for (size_t i = 0; i < OC_COUNT(wrappers); i++) {
    struct stat st;
    const char *path = oc_arena_printf(&t->arena, "%s/%s", t->dir, wrappers[i]);
    if (!path)
      return OC_E_NOMEM;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) {
      t->atc = path;
      return 1;
    }
  }
  return 0;
}

static int look_at(struct oc_toolkit *t, const char *dir, struct oc_error *err)
{
  struct stat st;
  auto_free char *real = realpath(dir, NULL);

  if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
    return oc_error_set(err, OC_E_ARG, "the toolkit directory '%s' does not exist", dir);
  t->dir = oc_arena_strdup(&t->arena, real);
  if (!t->dir)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a toolkit");
  int rc = find_wrapper(t);
  if (rc < 0)
    return oc_error_set(err, rc, "no memory for a toolkit");
  if (rc == 0)
    return oc_error_set(err, OC_E_ARG, "the toolkit '%s' has no program 'bin/atc'",
                        t->dir);
  const char *ops = oc_arena_printf(&t->arena, "%s/opp/built-in", t->dir);
  if (!ops || stat(ops, &st) < 0)
    return oc_error_set(err, OC_E_ARG,
                        "the toolkit '%s' has no operator package for this host "
                        "('opp/built-in' is missing)",
                        t->dir);
  const char *info = oc_arena_printf(&t->arena, "%s/compiler/version.info", t->dir);
  const char *text = info ? oc_toolkit_read(t, info) : NULL;
  t->version = oc_toolkit_version_of(t, text);
  if (!t->version)
    t->version = "unknown";
  return 1;
}

static int fill(struct oc_toolkit *t, const struct oc_toolkit_options *o, const char *dir,
                struct oc_error *err)
{
  const char *changing = NULL;
  int rc = look_at(t, dir, err);

  if (rc < 0)
    return rc;
  if (oc_toolkit_environment(t, o->environ_, &changing) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a toolkit");
  if (oc_toolkit_tables(t, o->environ_) < 0)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a toolkit");
  rc = oc_toolkit_identity(t, o->environ_, changing, err);
  return rc < 0 ? rc : 1;
}

int oc_toolkit_find(const struct oc_toolkit_options *o, struct oc_toolkit *ret,
                    struct oc_error *err)
{
  struct oc_toolkit t = { 0 };
  struct oc_error local = { 0 };
  const char *dir = o->dir && *o->dir ? o->dir : NULL;

  if (!dir)
    dir = oc_toolkit_variable(o->environ_, "ASCEND_HOME_PATH");
  if (!dir) {
    oc_error_set(err, OC_OK, "no toolkit is configured and ASCEND_HOME_PATH is not set");
    return 0;
  }
  oc_arena_init(&t.arena, 64u << 20);
  int rc = fill(&t, o, dir, err ? err : &local);
  if (rc < 0) {
    oc_arena_clear(&t.arena);
    return rc;
  }
  *ret = t;
  return 1;
}

void oc_toolkit_clear(struct oc_toolkit *t)
{
  oc_arena_clear(&t->arena);
  memset(t, 0, sizeof(*t));
}
