/* Walking: one folder after the other from a queue, each opened anew beneath the root, so
 * that neither depth nor number of folders costs descriptors, and a name that is replaced
 * by a link meanwhile leads nowhere. */
#include "folder/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/same_stat.h"
#include "base/str.h"

#define FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
/* Names and stats of as many entries as any limit allows. */
#define ARENA_CAP (16u << 20)

struct walk {
  int root;
  const struct oc_folder_limits *limits;
  struct oc_folder *to;
  struct oc_error *err;
};

static int refuse(struct walk *w, const char *name, const char *why)
{
  return oc_error_set(w->err, OC_E_ARG, "'%.150s' %s", name, why);
}

static struct oc_folder_entry *add(struct walk *w, const char *name)
{
  struct oc_folder *f = w->to;

  if (f->n == f->room) {
    size_t room = f->room ? 2 * f->room : 32;
    struct oc_folder_entry *grown =
        oc_arena_grow(&f->arena, f->entries, f->n, room, sizeof(*grown));
    if (!grown)
      return NULL;
    f->entries = grown;
    f->room = room;
  }
  f->entries[f->n] = (struct oc_folder_entry){ .name = name };
  return &f->entries[f->n++];
}

/* The reader's own rights, as far as modes tell; what the daemon may read is not what
 * everybody who asks it may. */
static bool may_read(const struct walk *w, const struct stat *st)
{
  int64_t uid = w->limits->reader;

  if (uid <= 0)
    return true;
  if ((int64_t)st->st_uid != uid)
    return S_ISDIR(st->st_mode)
               ? (st->st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH)
               : (st->st_mode & S_IROTH) != 0;
  return (st->st_mode & S_IRUSR) != 0;
}

static const char *reason_of(int error)
{
  switch (error) {
  case EXDEV: return "leads out of it";
  case ELOOP: return "is a link that cannot be followed";
  case ENOENT: return "is a link that leads nowhere, or has just gone";
  default: return "cannot be read";
  }
}

static int add_file(struct walk *w, const char *name)
{
  struct oc_folder *f = w->to;
  auto_close int fd = oc_folder_open(w->root, name);
  struct stat st;

  if (fd < 0 || fstat(fd, &st))
    return refuse(w, name, reason_of(errno));
  if (S_ISDIR(st.st_mode))
    return refuse(w, name, "is a link to a folder");
  if (!S_ISREG(st.st_mode))
    return refuse(w, name, "is neither file nor folder");
  if (!may_read(w, &st))
    return refuse(w, name, "may not be read by everybody");
  f->bytes += (uint64_t)st.st_size;
  if (f->bytes > w->limits->bytes)
    return oc_error_set(w->err, OC_E_LIMIT, "it holds more than %llu MiB",
                        (unsigned long long)(w->limits->bytes >> 20));
  struct oc_folder_entry *e = add(w, name);
  if (!e)
    return oc_error_set(w->err, OC_E_NOMEM, "there is no memory to list it");
  e->st = st;
  return 0;
}

static unsigned depth_of(const char *name)
{
  unsigned n = 2;

  for (; *name; name++)
    n += *name == '/';
  return n;
}

static int add_folder(struct walk *w, const char *name)
{
  struct oc_folder_entry *e = add(w, name);

  if (!e)
    return oc_error_set(w->err, OC_E_NOMEM, "there is no memory to list it");
  e->folder = true;
  return depth_of(name) > w->limits->depth
             ? oc_error_set(w->err, OC_E_LIMIT, "'%.100s' lies deeper than %u folders",
                            name, w->limits->depth)
             : 0;
}

/* A list has one line per name. */
static bool is_plain(const char *name)
{
  for (; *name; name++)
    if ((unsigned char)*name < ' ' || *name == 0x7f)
      return false;
  return true;
}

static int take(struct walk *w, int dir, const char *folder, const char *base)
{
  struct stat st;
  char *name = *folder ? oc_arena_printf(&w->to->arena, "%s/%s", folder, base)
                       : oc_arena_strdup(&w->to->arena, base);

  if (!name)
    return oc_error_set(w->err, OC_E_NOMEM, "there is no memory to list it");
  if (!is_plain(base))
    return refuse(w, folder, "holds a name with control characters");
  if (strlen(name) >= PATH_MAX)
    return refuse(w, folder, "holds a name that is too long");
  if (w->to->n >= w->limits->entries)
    return oc_error_set(w->err, OC_E_LIMIT, "it holds more than %zu files",
                        w->limits->entries);
  if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW))
    return refuse(w, name, reason_of(errno));
  return S_ISDIR(st.st_mode) ? add_folder(w, name) : add_file(w, name);
}

/* Everything directly in one folder; "" is the root. */
static int list(struct walk *w, const char *folder)
{
  auto_closedir DIR *d = NULL;
  struct stat st;
  int rc = 0;
  int fd = oc_open_beneath(w->root, *folder ? folder : ".",
                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

  if (fd < 0)
    return refuse(w, *folder ? folder : ".", reason_of(errno));
  d = fdopendir(fd);
  if (!d) {
    close(fd);
    return oc_error_set(w->err, OC_E_NOMEM, "there is no memory to list it");
  }
  if (fstat(fd, &st) || !may_read(w, &st))
    return refuse(w, *folder ? folder : ".", "may not be read by everybody");
  for (struct dirent *e = readdir(d); e && rc == 0; e = readdir(d))
    if (!oc_streq(e->d_name, ".") && !oc_streq(e->d_name, ".."))
      rc = take(w, fd, folder, e->d_name);
  return rc;
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct oc_folder_entry *)a)->name,
                ((const struct oc_folder_entry *)b)->name);
}

int oc_folder_walk(int dir, const struct oc_folder_limits *limits, struct oc_folder *ret,
                   struct oc_error *err)
{
  struct walk w = { .root = dir, .limits = limits, .to = ret, .err = err };

  *ret = (struct oc_folder){ .n = 0 };
  oc_arena_init(&ret->arena, ARENA_CAP);
  int rc = list(&w, "");
  for (size_t at = 0; at < ret->n && rc == 0; at++)
    if (ret->entries[at].folder)
      rc = list(&w, ret->entries[at].name);
  if (rc < 0) {
    oc_folder_clear(ret);
    return rc;
  }
  if (ret->n)
    qsort(ret->entries, ret->n, sizeof(ret->entries[0]), by_name);
  return 0;
}

int oc_folder_open(int dir, const char *name)
{
  return oc_open_beneath(dir, name, FILE_FLAGS);
}

bool oc_folder_same(const struct oc_folder *then, const struct oc_folder *now,
                    const char **ret_name)
{
  for (size_t i = 0; i < then->n || i < now->n; i++) {
    const struct oc_folder_entry *a = i < then->n ? &then->entries[i] : NULL;
    const struct oc_folder_entry *b = i < now->n ? &now->entries[i] : NULL;
    int order = a && b ? strcmp(a->name, b->name) : a ? -1 : 1;

    if (order == 0 && a->folder == b->folder &&
        (a->folder || oc_same_stat(&a->st, &b->st)))
      continue;
    *ret_name = order <= 0 ? a->name : b->name;
    return false;
  }
  return true;
}

void oc_folder_clear(struct oc_folder *f)
{
  oc_arena_clear(&f->arena);
  *f = (struct oc_folder){ .n = 0 };
}
