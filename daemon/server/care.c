/* The cache's verbs about entries: show, get, whence. On a shared daemon everybody sees
 * the entries that were asked for under the own uid; what changes the cache is in
 * errands.c. */
#include "server/server_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "key/key.h"

#define MOST_SHOWN 64

void care_send(struct session *c, uint64_t id, Omcc__V1__CacheAnswer *a, const int *fds,
               size_t n_fds)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;

  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_CACHE_ANSWER;
  m.cache_answer = a;
  session_send(c, &m, fds, n_fds);
}

void care_refuse(struct session *c, uint64_t id, unsigned status, const char *text)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;

  a.status = status;
  a.message = (char *)text;
  care_send(c, id, &a, NULL, 0);
}

int64_t session_scope(const struct session *c)
{
  return c->admin ? OC_CACHE_ANYONE : (int64_t)c->uid;
}

/* ---------------------------------------------------------------- entries */

bool care_find(struct session *c, uint64_t id, const char *hex,
               uint8_t ret[OC_SHA256_LEN])
{
  int n = oc_cache_find_key(c->srv->cache, hex, ret);

  if (n == 1 && oc_cache_may_see(c->srv->cache, ret, session_scope(c)))
    return true;
  care_refuse(c, id, n == 2 ? OC_STATUS_REQUEST : OC_STATUS_DIFFERS,
              n == 2 ? "several entries begin like this, give more digits"
                     : "there is no such entry");
  return false;
}

static void fill_entry(Omcc__V1__CacheEntry *m, const uint8_t *key,
                       const struct oc_cache_hit *h)
{
  omcc__v1__cache_entry__init(m);
  m->key.data = (uint8_t *)key;
  m->key.len = OC_SHA256_LEN;
  m->model = (char *)h->facts.model;
  m->soc = (char *)h->facts.soc;
  m->backend = (char *)h->facts.backend;
  m->mode = (char *)h->facts.mode;
  m->toolkit = (char *)h->facts.toolkit;
  m->uid = h->facts.uid;
  m->size = h->size;
  m->created_s = h->created_s;
  m->used_s = h->used_s;
  m->hits = h->hits;
  m->compile_ms = h->facts.compile_ms;
  m->pinned_s = h->pinned_s;
}

static char *part_text(const struct oc_key_part *p, struct oc_arena *arena)
{
  return (char *)oc_arena_printf(arena, "%s=%s%s", p->name, p->text, p->cut ? "..." : "");
}

static void add_parts(struct session *c, const uint8_t *key, struct oc_arena *arena,
                      Omcc__V1__CacheAnswer *a)
{
  uint8_t model[OC_SHA256_LEN], options[OC_SHA256_LEN];
  struct oc_cache_candidate mine;
  struct oc_key_parts parts;

  oc_key_parts_init(&parts, arena);
  if (oc_cache_parts(c->srv->cache, key, arena, &mine, model, options) != 1 ||
      oc_key_parts_unpack(mine.parts, mine.parts_len, &parts, NULL))
    return;
  a->parts = OC_NEW_N(arena, char *, parts.n + 1);
  for (size_t i = 0; a->parts && i < parts.n; i++) {
    a->parts[a->n_parts] = part_text(&parts.items[i], arena);
    a->n_parts += a->parts[a->n_parts] != NULL;
  }
}

/* Members of an entry; with their bytes when `fds` is given: as many as one frame takes,
 * after the `skip` that came before. Report and captured output are no files of the
 * result. */
static size_t add_members(const struct oc_cache_hit *h, size_t skip,
                          struct oc_arena *arena, Omcc__V1__CacheAnswer *a, int *fds)
{
  uint64_t inlined = 0;
  size_t n_fds = 0;

  a->members = OC_NEW_N(arena, Omcc__V1__Member *, h->n_members + 1);
  for (size_t i = 0; a->members && i < h->n_members; i++) {
    const struct oc_cache_member *from = &h->members[i];
    bool file = oc_streq(from->kind, "artifact") || oc_streq(from->kind, "side");
    Omcc__V1__Member *m = OC_NEW(arena, Omcc__V1__Member);

    if (!m || (fds && !file) || skip) {
      skip -= file && skip;
      continue;
    }
    inlined += from->fd < 0 ? from->size : 0;
    if (fds && a->n_members &&
        (n_fds == OC_MAX_FRAME_FDS || inlined > OC_MAX_FRAME / 2)) {
      a->more = true;
      break;
    }
    omcc__v1__member__init(m);
    m->name = (char *)from->name;
    m->kind = (char *)from->kind;
    m->mode = from->mode;
    m->size = from->size;
    m->sha256.data = (uint8_t *)from->sha256;
    m->sha256.len = OC_SHA256_LEN;
    if (fds && from->fd >= 0) {
      m->where_case = OMCC__V1__MEMBER__WHERE_FD;
      m->fd = (uint32_t)n_fds;
      fds[n_fds++] = from->fd;
    } else if (fds) {
      m->where_case = OMCC__V1__MEMBER__WHERE_INLINE;
      m->inline_.data = (uint8_t *)from->data;
      m->inline_.len = from->size;
    }
    a->members[a->n_members++] = m;
  }
  return n_fds;
}

static void show(struct session *c, uint64_t id, const char *hex)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  Omcc__V1__CacheEntry entry, *entries[1] = { &entry };
  uint8_t key[OC_SHA256_LEN];
  struct oc_cache_hit hit;
  struct oc_arena arena;

  if (!care_find(c, id, hex, key))
    return;
  if (!oc_cache_show(c->srv->cache, key, &hit)) {
    care_refuse(c, id, OC_STATUS_STORE, "the entry is damaged and has been dropped");
    return;
  }
  oc_arena_init(&arena, 32u << 20);
  fill_entry(&entry, key, &hit);
  a.entries = entries;
  a.n_entries = 1;
  add_members(&hit, 0, &arena, &a, NULL);
  add_parts(c, key, &arena, &a);
  care_send(c, id, &a, NULL, 0);
  oc_cache_hit_clear(&hit);
  oc_arena_clear(&arena);
}

/* ---------------------------------------------------------------- get */

struct get {
  struct task task;
  uint64_t session, id;
  size_t skip;
  uint8_t key[OC_SHA256_LEN];
  struct oc_cache_hit hit;
};

static void run_get(struct task *t)
{
  struct get *g = (struct get *)t;

  t->code = oc_cache_prove(t->order->srv->cache, g->key, &g->hit, &t->cancel);
}

static void deliver(struct session *c, struct get *g)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  Omcc__V1__CacheEntry entry, *entries[1] = { &entry };
  int fds[OC_MAX_FRAME_FDS];
  struct oc_arena arena;

  oc_arena_init(&arena, 4u << 20);
  fill_entry(&entry, g->key, &g->hit);
  a.entries = entries;
  a.n_entries = 1;
  size_t n = add_members(&g->hit, g->skip, &arena, &a, fds);
  care_send(c, g->id, &a, fds, n);
  oc_arena_clear(&arena);
}

static void get_done(struct task *t)
{
  struct get *g = (struct get *)t;
  struct session *c = server_session(t->order->srv, g->session);

  if (c && t->code == 1)
    deliver(c, g);
  else if (c)
    care_refuse(c, g->id, OC_STATUS_STORE, "the entry is damaged and has been dropped");
  oc_cache_hit_clear(&g->hit);
  /* The order only carried the task; it goes with it. */
  t->order->forgotten = true;
  free(g);
}

static void get(struct session *c, uint64_t id, const char *hex, uint32_t skip)
{
  struct get *g = calloc(1, sizeof(*g));
  struct order *o = order_new(c->srv, c->uid);

  if (g && o && care_find(c, id, hex, g->key)) {
    g->session = c->id;
    g->id = id;
    g->skip = skip;
    if (oc_cache_lookup(c->srv->cache, g->key, c->uid, &g->hit, NULL) == 1) {
      g->task = (struct task){ .uid = c->uid, .run = run_get, .done = get_done };
      g->task.order = o;
      digester_add(c->srv, &g->task);
      return;
    }
    care_refuse(c, id, OC_STATUS_STORE, "the entry is damaged and has been dropped");
  }
  if (!g || !o)
    care_refuse(c, id, OC_STATUS_DAEMON, "the daemon is short of memory");
  free(g);
  if (o) {
    o->forgotten = true;
    order_maybe_free(o);
  }
}

/* ---------------------------------------------------------------- whence */

struct whence {
  struct task task;
  uint64_t session, id;
  int fd;
  uint8_t sha256[OC_SHA256_LEN];
};

static void run_whence(struct task *t)
{
  struct whence *w = (struct whence *)t;

  t->code = oc_sha256_fd(w->fd, &t->cancel, w->sha256, NULL, &t->err);
}

/* Every entry that holds the file and that this user may see. */
static void tell_entries(struct session *c, uint64_t id, const uint8_t *sha256)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  Omcc__V1__CacheEntry entry[MOST_SHOWN], *entries[MOST_SHOWN];
  uint8_t keys[MOST_SHOWN][OC_SHA256_LEN];
  struct oc_cache_hit hits[MOST_SHOWN];
  Omcc__V1__Member file = OMCC__V1__MEMBER__INIT, *files[1] = { &file };
  size_t n = 0;

  if (oc_cache_whence(c->srv->cache, sha256, MOST_SHOWN, keys, &n) < 0)
    n = 0;
  for (size_t i = 0; i < n; i++) {
    struct oc_cache_hit *h = &hits[a.n_entries];

    if (!oc_cache_may_see(c->srv->cache, keys[i], session_scope(c)) ||
        !oc_cache_show(c->srv->cache, keys[i], h))
      continue;
    fill_entry(&entry[a.n_entries], keys[i], h);
    entries[a.n_entries] = &entry[a.n_entries];
    a.n_entries++;
  }
  a.entries = entries;
  file.sha256.data = (uint8_t *)sha256;
  file.sha256.len = OC_SHA256_LEN;
  a.members = files;
  a.n_members = 1;
  if (!a.n_entries) {
    a.status = OC_STATUS_DIFFERS;
    a.message = (char *)"this file is not in the cache";
  }
  care_send(c, id, &a, NULL, 0);
  for (size_t i = 0; i < a.n_entries; i++)
    oc_cache_hit_clear(&hits[i]);
}

static void whence_done(struct task *t)
{
  struct whence *w = (struct whence *)t;
  struct session *c = server_session(t->order->srv, w->session);

  if (c && !t->code)
    tell_entries(c, w->id, w->sha256);
  else if (c)
    care_refuse(c, w->id, OC_STATUS_ENVIRONMENT, t->err.msg);
  close(w->fd);
  t->order->forgotten = true;
  free(w);
}

static void whence(struct session *c, uint64_t id, int fd)
{
  struct whence *w = calloc(1, sizeof(*w));
  struct order *o = order_new(c->srv, c->uid);
  struct oc_cache_seen seen;

  if (w && o && fd >= 0 && !oc_cache_see(fd, &seen)) {
    w->session = c->id;
    w->id = id;
    w->fd = fd;
    w->task = (struct task){ .uid = c->uid, .run = run_whence, .done = whence_done };
    w->task.order = o;
    digester_add(c->srv, &w->task);
    return;
  }
  care_refuse(c, id, OC_STATUS_REQUEST, "the file is no regular file");
  if (fd >= 0)
    close(fd);
  free(w);
  if (o) {
    o->forgotten = true;
    order_maybe_free(o);
  }
}

void care_answer(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                 struct oc_frame *f)
{
  switch (m->what) {
  case OMCC__V1__CACHE_REQUEST__WHAT__SHOW: show(c, id, m->key); return;
  case OMCC__V1__CACHE_REQUEST__WHAT__GET: get(c, id, m->key, m->skip); return;
  case OMCC__V1__CACHE_REQUEST__WHAT__WHY: why_answer(c, id, m->key); return;
  case OMCC__V1__CACHE_REQUEST__WHAT__COMPARE:
    compare_answer(c, id, m->key, m->other);
    return;
  case OMCC__V1__CACHE_REQUEST__WHAT__WHENCE:
    whence(c, id, oc_frame_take_fd(f, m->fd));
    return;
  default: errand_answer(c, id, m, f);
  }
}
