/* Flags that name a folder: its content is part of the key.
 *
 * A thread lists the folder, the loop fills in the digests that the memo knows, and the
 * thread digests the rest. A folder that cannot be listed faithfully gives no key: such a
 * request is compiled and not stored, and a finding says why. When the output is there
 * the folder is listed once more, since the vendor's compiler read it by its path. */
#include "server/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/same_stat.h"
#include "base/str.h"
#include "key/key.h"

/* A bank of tuning results has one file per operator or sub-graph: hundreds, and small.
 */
static const struct oc_folder_limits limits = { .entries = 1024,
                                                .depth = 8,
                                                .bytes = 1ull << 30 };

struct folder_task {
  struct task task;
  struct folder *folder;
  struct oc_folder content;
};

static struct oc_folder_limits limits_of(const struct order *o)
{
  struct oc_folder_limits l = limits;

  l.reader = o->uid == geteuid() ? -1 : (int64_t)o->uid;
  return l;
}

static void refuse(struct order *o, struct folder *f, const char *why)
{
  f->known = true;
  f->trouble = oc_arena_strdup(&o->arena, why);
  if (!f->trouble)
    f->trouble = "there is no memory to list it";
}

/* ---------------------------------------------------------------- digesting */

static int digest_one(struct task *t, int dir, struct oc_folder_entry *e)
{
  int fd = oc_folder_open(dir, e->name);
  struct oc_cache_seen before;
  int rc = OC_E_IO;

  if (fd < 0)
    return OC_E_IO;
  if (!oc_cache_see(fd, &before) && oc_same_stat(&before.st, &e->st)) {
    oc_cache_see_writers(fd, &before);
    rc = oc_sha256_fd(fd, &t->cancel, e->sha256, NULL, NULL);
    if (!rc)
      oc_cache_memo_put(t->order->srv->cache, fd, &before, e->sha256);
  }
  e->digested = !rc;
  close(fd);
  return rc;
}

static void run_digests(struct task *t)
{
  struct folder *f = ((struct folder_task *)t)->folder;

  for (size_t i = 0; i < f->content.n && !t->code; i++) {
    struct oc_folder_entry *e = &f->content.entries[i];

    if (e->folder || e->digested || digest_one(t, f->fd, e) == 0)
      continue;
    t->code = OC_E_IO;
    oc_error_set(&t->err, OC_E_IO, "'%.150s' changed while it was read", e->name);
  }
}

static void task_over(struct folder_task *t)
{
  oc_folder_clear(&t->content);
  free(t);
}

static void digests_done(struct task *base)
{
  struct folder_task *t = (struct folder_task *)base;
  struct order *o = base->order;
  struct folder *f = t->folder;

  f->task = NULL;
  if (!o->forgotten && base->code)
    refuse(o, f, base->err.msg);
  f->known = true;
  if (!o->forgotten)
    reading_step(o);
  task_over(t);
}

/* ---------------------------------------------------------------- listing */

static bool all_remembered(struct order *o, struct folder *f)
{
  bool all = true;

  for (size_t i = 0; i < f->content.n; i++) {
    struct oc_folder_entry *e = &f->content.entries[i];
    struct oc_cache_seen seen = { .st = e->st };

    if (!e->folder)
      e->digested = oc_cache_memo_get(o->srv->cache, f->fd, &seen, e->sha256) == 1;
    all &= e->folder || e->digested;
  }
  return all;
}

static void run_walk(struct task *base)
{
  struct folder_task *t = (struct folder_task *)base;
  struct oc_folder_limits l = limits_of(base->order);

  base->code = oc_folder_walk(t->folder->fd, &l, &t->content, &base->err);
}

static void walk_done(struct task *base)
{
  struct folder_task *t = (struct folder_task *)base;
  struct order *o = base->order;
  struct folder *f = t->folder;

  f->task = NULL;
  if (o->forgotten) {
    task_over(t);
    return;
  }
  if (base->code) {
    refuse(o, f, base->err.msg);
  } else {
    f->content = t->content;
    t->content = (struct oc_folder){ .n = 0 };
    f->known = all_remembered(o, f);
  }
  if (f->known) {
    reading_step(o);
    task_over(t);
    return;
  }
  base->run = run_digests;
  base->done = digests_done;
  f->task = base;
  digester_add(o->srv, base);
}

void folders_start(struct order *o)
{
  for (size_t i = 0; i < o->n_folders; i++) {
    struct folder *f = &o->folders[i];
    struct folder_task *t = calloc(1, sizeof(*t));

    if (!t) {
      refuse(o, f, "there is no memory to list it");
      continue;
    }
    t->task = (struct task){ .uid = o->uid, .run = run_walk, .done = walk_done };
    t->task.order = o;
    t->folder = f;
    f->task = &t->task;
    digester_add(o->srv, &t->task);
  }
}

bool folders_known(const struct order *o)
{
  for (size_t i = 0; i < o->n_folders; i++)
    if (!o->folders[i].known)
      return false;
  return true;
}

/* ---------------------------------------------------------------- the key */

static struct folder *folder_of(const struct order *o, const char *flag)
{
  for (size_t i = 0; i < o->n_folders; i++)
    if (oc_streq(o->folders[i].flag, flag))
      return &o->folders[i];
  return NULL;
}

static void tell(struct request *r, const char *flag, const char *path, const char *why)
{
  struct oc_finding *f;

  if (!r)
    return;
  f = oc_finding_add(&r->findings, OC_FINDING_FOLDER_NOT_KEYED, path, "reason", why,
                     "flag", flag, NULL);
  f->flag = flag;
}

bool folders_have_no_key(struct order *o, struct request *r, char *text, size_t size)
{
  for (size_t i = 0; i < o->flags.n; i++) {
    const struct oc_flag *flag = &o->flags.items[i];
    const char *why = "it is no folder that can be opened";

    if (!flag->info || flag->info->content != OC_FLAG_DIR || !*flag->value)
      continue;
    const struct folder *f = folder_of(o, flag->name);
    if (f && !f->trouble)
      continue;
    if (f)
      why = f->trouble;
    snprintf(text, size, "the folder of '--%.40s' cannot be part of a key: %.200s",
             flag->name, why);
    tell(r, flag->info->name, flag->value, why);
    return true;
  }
  return false;
}

int folders_for_key(struct order *o, struct oc_key_folder **ret)
{
  struct oc_key_folder *list =
      OC_NEW_N(&o->arena, struct oc_key_folder, o->n_folders + 1);

  for (size_t i = 0; list && i < o->n_folders; i++) {
    const struct oc_folder *c = &o->folders[i].content;
    struct oc_key_folder_entry *e =
        OC_NEW_N(&o->arena, struct oc_key_folder_entry, c->n + 1);

    if (!e)
      return OC_E_NOMEM;
    for (size_t k = 0; k < c->n; k++) {
      e[k] = (struct oc_key_folder_entry){ .name = c->entries[k].name,
                                           .folder = c->entries[k].folder };
      memcpy(e[k].sha256, c->entries[k].sha256, OC_SHA256_LEN);
    }
    list[i] = (struct oc_key_folder){ o->folders[i].flag, e, c->n };
  }
  *ret = list;
  return list ? 0 : OC_E_NOMEM;
}

/* ---------------------------------------------------------------- afterwards */

/* The compiler went by the path, which may name another folder by now. */
static bool same_place(const struct folder *f)
{
  struct stat a, b;

  return fstat(f->fd, &a) == 0 && stat(f->path, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

bool folders_unchanged(const struct order *o, char *text, size_t size)
{
  struct oc_folder_limits l = limits_of(o);

  for (size_t i = 0; i < o->n_folders && !o->uncached; i++) {
    const struct folder *f = &o->folders[i];
    struct oc_folder now = { .n = 0 };
    const char *name = "";

    bool same = (!oc_streq(o->backend, "atc") || same_place(f)) &&
                oc_folder_walk(f->fd, &l, &now, NULL) == 0 &&
                oc_folder_same(&f->content, &now, &name);
    if (!same)
      snprintf(text, size, "%s%s%s", f->path, *name ? "/" : "", name);
    oc_folder_clear(&now);
    if (!same)
      return false;
  }
  return true;
}

void folders_cancel(struct order *o)
{
  for (size_t i = 0; i < o->n_folders; i++)
    if (o->folders[i].task)
      atomic_store(&o->folders[i].task->cancel, true);
}

void folders_clear(struct order *o)
{
  for (size_t i = 0; i < o->n_folders; i++) {
    oc_folder_clear(&o->folders[i].content);
    if (o->folders[i].fd >= 0)
      close(o->folders[i].fd);
  }
}

int folders_take(struct order *o, const Omcc__V1__File *m, int fd, struct oc_error *err)
{
  const struct oc_flag_info *info = oc_flag_find(m->flag);
  struct folder *f = &o->folders[o->n_folders];
  struct stat st;

  *f = (struct folder){ .fd = fd };
  o->n_folders++; /* the descriptor is the order's now */
  if (!info || info->content != OC_FLAG_DIR || folder_of(o, info->name) ||
      fstat(fd, &st) || !S_ISDIR(st.st_mode))
    return oc_error_set(err, OC_E_PROTO, "a request brings a folder that is none");
  f->flag = info->name;
  f->path = oc_arena_strdup(&o->arena, m->name);
  return f->path ? 0 : oc_error_set(err, OC_E_NOMEM, "no memory for a request");
}
