/* Who compiles: our worker with its tables, or an installed toolkit; and what identifies
 * them in a key.
 *
 * Worker binary and table files are read and digested once, when the daemon starts, and
 * those bytes are the ones that are used: tables travel to the worker as sealed copies,
 * the binary is executed through the descriptor that was digested. */
#include "server/server_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "key/key.h"

static int seal_copy(struct table_file *t, const uint8_t *bytes, size_t len,
                     struct oc_error *err)
{
  t->fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (t->fd < 0 || write(t->fd, bytes, len) != (ssize_t)len ||
      fcntl(t->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
    return oc_error_errno(err, OC_E_IO, "cannot keep a copy of table '%s'", t->name);
  if (oc_sha256_bytes(bytes, len, t->sha256))
    return oc_error_set(err, OC_E_NOMEM, "no memory for a digest");
  return 0;
}

static int load_table(struct backends *b, const char *name, const char *path,
                      struct oc_error *err)
{
  struct table_file *grown = realloc(b->tables, (b->n_tables + 1) * sizeof(*grown));
  struct table_file *t;
  auto_free uint8_t *bytes = NULL;
  auto_close int fd = -1;
  struct stat st;

  if (!grown)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the tables");
  b->tables = grown;
  t = &b->tables[b->n_tables++];
  *t = (struct table_file){ .name = strdup(name), .fd = -1 };
  if (!t->name)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the tables");
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > OC_MAX_LIST_BYTES)
    return oc_error_errno(err, OC_E_IO, "cannot read table '%s'", path);
  bytes = malloc((size_t)st.st_size + 1);
  if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
    return oc_error_errno(err, OC_E_IO, "cannot read table '%s'", path);
  return seal_copy(t, bytes, (size_t)st.st_size, err);
}

static int is_table(const struct dirent *d)
{
  return oc_ends_with(d->d_name, ".yaml") && d->d_name[0] != '.';
}

/* Files in byte order of their names, so that the key does not depend on the directory.
 */
static int by_name(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int load_one(struct backends *b, const char *dir, const char *room,
                    const char *file, struct oc_error *err)
{
  char name[512], path[4096];

  if (snprintf(name, sizeof(name), "%s/%s", room, file) >= (int)sizeof(name) ||
      snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
    return oc_error_set(err, OC_E_IO, "the name of table '%s' is too long", file);
  return load_table(b, name, path, err);
}

/* All tables of a directory, by the name of their room. */
static int load_dir(struct backends *b, const char *dir, const char *room,
                    struct oc_error *err)
{
  struct dirent **names = NULL;
  int n = scandir(dir, &names, is_table, by_name), r = 0;

  if (n < 0)
    return oc_error_errno(err, OC_E_IO, "cannot read the tables in '%s'", dir);
  for (int i = 0; i < n; i++) {
    if (!r)
      r = load_one(b, dir, room, names[i]->d_name, err);
    free(names[i]);
  }
  free(names);
  return r;
}

static int load_room(struct backends *b, const char *dir, const char *room,
                     struct oc_error *err)
{
  char path[4096];

  if (snprintf(path, sizeof(path), "%s/%s", dir, room) >= (int)sizeof(path))
    return oc_error_set(err, OC_E_IO, "the name of directory '%s' is too long", dir);
  return load_dir(b, path, room, err);
}

/* An installed toolkit's own op files, then the user's own tables: later ones replace
 * ops of earlier ones. */
static int load_other_tables(struct oc_server *s, struct oc_error *err)
{
  struct backends *b = &s->backends;
  int r = 0;

  for (size_t i = 0; b->has_toolkit && i < b->toolkit.n_tables && !r; i++)
    r = load_table(b, b->toolkit.tables[i].name, b->toolkit.tables[i].value, err);
  if (!r && s->o.tables_extra && *s->o.tables_extra)
    r = load_dir(b, s->o.tables_extra, "extra", err);
  return r;
}

static int load_worker(struct oc_server *s, struct oc_error *err)
{
  struct backends *b = &s->backends;

  b->worker_fd = open(s->o.worker_path, O_RDONLY | O_CLOEXEC);
  if (b->worker_fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open the worker program '%s'",
                          s->o.worker_path);
  return oc_sha256_fd(b->worker_fd, NULL, b->worker_sha256, NULL, err);
}

static void log_toolkit(const struct oc_server *s)
{
  const struct backends *b = &s->backends;
  struct oc_log_line l;

  oc_log_begin(&l, s->log, OC_LOG_INFO, b->has_toolkit ? "toolkit" : "no_toolkit");
  if (b->has_toolkit) {
    oc_log_str(&l, "dir", b->toolkit.dir);
    oc_log_str(&l, "version", b->toolkit.version);
  } else {
    oc_log_str(&l, "why", b->toolkit_why);
  }
  oc_log_end(&l);
}

/* A toolkit that was named and is not usable is no reason not to start: builtin works. */
static int find_toolkit(struct oc_server *s, struct oc_error *err)
{
  struct oc_toolkit_options o = { .dir = s->o.toolkit, .environ_ = environ };
  struct oc_error why = { 0 };
  int r = oc_toolkit_find(&o, &s->backends.toolkit, &why);

  if (r == OC_E_NOMEM)
    return oc_error_set(err, r, "%s", why.msg);
  s->backends.has_toolkit = r == 1;
  snprintf(s->backends.toolkit_why, sizeof(s->backends.toolkit_why), "%s", why.msg);
  log_toolkit(s);
  return 0;
}

/* Worker and tables as parts of a key. */
static int name_identity(struct oc_server *s, struct oc_error *err)
{
  struct backends *b = &s->backends;

  b->identity = OC_NEW_N(&s->arena, struct oc_key_identity, b->n_tables + 1);
  if (!b->identity)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the tables");
  b->identity[0].name = "worker";
  memcpy(b->identity[0].sha256, b->worker_sha256, OC_SHA256_LEN);
  for (size_t i = 0; i < b->n_tables; i++) {
    struct oc_key_identity *id = &b->identity[i + 1];

    id->name = oc_arena_printf(&s->arena, "table:%s", b->tables[i].name);
    memcpy(id->sha256, b->tables[i].sha256, OC_SHA256_LEN);
    if (!id->name)
      return oc_error_set(err, OC_E_NOMEM, "no memory for the tables");
  }
  return 0;
}

int backends_load(struct oc_server *s, struct oc_error *err)
{
  struct backends *b = &s->backends;
  int r = load_worker(s, err);

  if (!r)
    r = load_room(b, s->o.tables_dir, "soc", err);
  if (!r)
    r = load_room(b, s->o.tables_dir, "ops", err);
  if (!r)
    r = find_toolkit(s, err);
  if (!r)
    r = load_other_tables(s, err);
  if (r)
    return r;
  b->pool_tables = calloc(b->n_tables + 1, sizeof(*b->pool_tables));
  if (!b->pool_tables)
    return oc_error_set(err, OC_E_NOMEM, "no memory for the tables");
  for (size_t i = 0; i < b->n_tables; i++)
    b->pool_tables[i] = (struct oc_pool_table){ b->tables[i].name, b->tables[i].fd };
  return name_identity(s, err);
}

void backends_clear(struct backends *b)
{
  for (size_t i = 0; i < b->n_tables; i++) {
    free(b->tables[i].name);
    if (b->tables[i].fd >= 0)
      close(b->tables[i].fd);
  }
  free(b->tables);
  free(b->pool_tables);
  if (b->worker_fd >= 0)
    close(b->worker_fd);
  oc_toolkit_clear(&b->toolkit);
  b->tables = NULL;
  b->pool_tables = NULL;
  b->n_tables = 0;
  b->worker_fd = -1;
}

/* None was found, or one was found and is not usable. */
static const char *no_toolkit(const struct oc_server *s, bool automatic)
{
  if (oc_starts_with(s->backends.toolkit_why, "the toolkit"))
    return s->backends.toolkit_why;
  return automatic
             ? "no CANN toolkit was found, so nothing can be compiled for a device; "
               "set ASCEND_HOME_PATH "
               "or the setting 'toolkit' for the daemon, or use --backend=builtin, "
               "which writes a "
               "well-formed .om for inspection that holds no kernels and does not "
               "run on a device"
             : "the backend 'atc' needs a CANN toolkit and none was found; set "
               "ASCEND_HOME_PATH or the "
               "setting 'toolkit' for the daemon, or use --backend=builtin, which "
               "writes a well-formed "
               ".om for inspection that holds no kernels and does not run on a "
               "device";
}

const char *backend_choose(const struct oc_server *s, const char *asked, enum want want,
                           const char **ret_why)
{
  const char *name = *asked ? asked : s->o.backend;
  bool automatic = oc_streq(name, "auto");

  if (oc_streq(name, "builtin"))
    return "builtin";
  if (!automatic && !oc_streq(name, "atc")) {
    *ret_why = "there is no such backend: use --backend=atc or --backend=builtin";
    return NULL;
  }
  if (s->backends.has_toolkit)
    return "atc";
  /* A plan needs no toolkit; who asks what would become of the ops gets it. */
  if (want == WANT_EXPLAIN)
    return "builtin";
  *ret_why = no_toolkit(s, automatic);
  return NULL;
}

static int tool_identity(const struct oc_server *s, struct oc_arena *arena,
                         const struct oc_key_identity **ret, size_t *ret_n)
{
  const struct oc_toolkit *t = &s->backends.toolkit;
  struct oc_key_identity *list =
      OC_NEW_N(arena, struct oc_key_identity, t->n_identity + 1);

  if (!list)
    return OC_E_NOMEM;
  for (size_t i = 0; i < t->n_identity; i++) {
    list[i].name = t->identity[i].name;
    list[i].text = t->identity[i].value;
  }
  *ret = list;
  *ret_n = t->n_identity;
  return 0;
}

int backend_identity(const struct oc_server *s, const char *backend,
                     struct oc_arena *arena, const struct oc_key_identity **ret,
                     size_t *ret_n)
{
  const struct backends *b = &s->backends;

  if (oc_streq(backend, "atc"))
    return tool_identity(s, arena, ret, ret_n);
  *ret = b->identity;
  *ret_n = b->n_tables + 1;
  return 0;
}
