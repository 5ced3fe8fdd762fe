/* What a toolkit is, in named texts. Each is a key part of its own, so that a miss can
 * say which of them changed. The directory is no part: the same installation at another
 * place gives the same files. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "toolkit/toolkit_internal.h"

#define N_PARTS 7
#define MAX_DIRS                                                                         \
  64 /* vendors' packages and the directories of ASCEND_CUSTOM_OPP_PATH                  \
      */

static void add(struct oc_toolkit *t, const char *name, const char *value)
{
  t->identity[t->n_identity++] = (struct oc_toolkit_text){ name, value };
}

/* Size and time of a program; its bytes are hundreds of megabytes with its libraries. */
static const char *program_text(struct oc_toolkit *t, const char *path)
{
  struct stat st;

  if (stat(path, &st) < 0)
    return "none";
  return oc_arena_printf(&t->arena, "%" PRId64 " bytes, %" PRId64 ".%09ld",
                         (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
                         st.st_mtim.tv_nsec);
}

/* The compiler itself; the wrapper beside it is a few lines of shell. */
static const char *compiler_text(struct oc_toolkit *t)
{
  const char *binary = oc_arena_printf(&t->arena, "%s.bin", t->atc);
  struct stat st;

  if (!binary)
    return NULL;
  return program_text(t, stat(binary, &st) == 0 ? binary : t->atc);
}

/* The version file of a package, whole: it names the pieces the package was built with.
 */
static const char *version_text(struct oc_toolkit *t, const char *package)
{
  const char *path = oc_arena_printf(&t->arena, "%s/%s/version.info", t->dir, package);
  const char *text = path ? oc_toolkit_read(t, path) : NULL;
  char *line = text ? oc_arena_strdup(&t->arena, text) : NULL;

  for (char *p = line; p && *p; p++)
    if (*p == '\n' || *p == '\r')
      *p = ' ';
  return line ? line : "none";
}

/* The python3 that a run would find. */
static const char *python_text(struct oc_toolkit *t, char *const *environ_)
{
  const char *path = oc_toolkit_variable(environ_, "PATH");

  while (path && *path) {
    size_t len = strcspn(path, ":");
    const char *candidate = oc_arena_printf(&t->arena, "%.*s/python3",
                                            (int)(len > PATH_MAX ? PATH_MAX : len), path);
    auto_free char *real = candidate && len ? realpath(candidate, NULL) : NULL;
    if (real) {
      const char *text = program_text(t, real);
      return text ? oc_arena_printf(&t->arena, "%s, %s", real, text) : NULL;
    }
    path += len + (path[len] == ':');
  }
  return "none";
}

static const char *custom_ops_text(struct oc_toolkit *t, char *const *environ_,
                                   struct oc_error *err)
{
  const char *dirs[MAX_DIRS], *text = NULL;
  const char *custom = oc_toolkit_variable(environ_, "ASCEND_CUSTOM_OPP_PATH");
  size_t n = 1;

  dirs[0] = oc_arena_printf(&t->arena, "%s/opp/vendors", t->dir);
  while (custom && *custom && n < MAX_DIRS) {
    size_t len = strcspn(custom, ":");
    if (len)
      dirs[n++] = oc_arena_strndup(&t->arena, custom, len);
    custom += len + (custom[len] == ':');
  }
  if (t->arena.failed || oc_toolkit_listing(dirs, n, &t->arena, &text, err) < 0)
    return NULL;
  return text;
}

static const char *op_tables_text(struct oc_toolkit *t, struct oc_error *err)
{
  const char *text = NULL;
  const char *dir =
      oc_arena_printf(&t->arena, "%s/opp/built-in/op_impl/ai_core/tbe/config", t->dir);

  if (!dir || oc_toolkit_listing(&dir, 1, &t->arena, &text, err) < 0)
    return NULL;
  return text;
}

int oc_toolkit_identity(struct oc_toolkit *t, char *const *environ_, const char *changing,
                        struct oc_error *err)
{
  struct oc_error why = { 0 };

  t->identity = OC_NEW_N(&t->arena, struct oc_toolkit_text, N_PARTS);
  if (!t->identity)
    return oc_error_set(err, OC_E_NOMEM, "no memory for a toolkit");
  add(t, "toolkit", version_text(t, "compiler"));
  add(t, "compiler", compiler_text(t));
  add(t, "opp", version_text(t, "opp"));
  add(t, "op_tables", op_tables_text(t, &why));
  add(t, "custom_ops", custom_ops_text(t, environ_, &why));
  add(t, "python", python_text(t, environ_));
  add(t, "environment", *changing ? changing : "none");
  for (size_t i = 0; i < t->n_identity; i++)
    if (!t->identity[i].value)
      return oc_error_set(err, why.code ? why.code : OC_E_NOMEM, "%s",
                          why.code ? why.msg : "no memory for a toolkit");
  return 0;
}
