/* The cache's verbs: show, get, pin, collect, verify, whence. What the cache's own
 * threads must do is answered when they report; until then a ticket remembers who asked.
 *
 * On a shared daemon everybody sees the entries that were asked for under the own uid;
 * what changes the cache is for its owner and the admin group. */
#include "server/server_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "key/key.h"

#define MOST_SHOWN 64
/* Tickets of questions; those of results are job numbers, which are smaller. */
#define TICKETS ((uint64_t)1 << 63)

struct asked {
  struct asked *next;
  uint64_t ticket, session, id;
  Omcc__V1__CacheRequest__What what;
};

static void answer(struct session *c, uint64_t id, Omcc__V1__CacheAnswer *a,
                   const int *fds, size_t n_fds)
{
  Omcc__V1__ToClient m = OMCC__V1__TO_CLIENT__INIT;

  m.id = id;
  m.body_case = OMCC__V1__TO_CLIENT__BODY_CACHE_ANSWER;
  m.cache_answer = a;
  session_send(c, &m, fds, n_fds);
}

static void refuse(struct session *c, uint64_t id, unsigned status, const char *text)
{
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;

  a.status = status;
  a.message = (char *)text;
  answer(c, id, &a, NULL, 0);
}

int64_t session_scope(const struct session *c)
{
  return c->admin ? OC_CACHE_ANYONE : (int64_t)c->uid;
}

/* ---------------------------------------------------------------- entries */

static bool find(struct session *c, uint64_t id, const char *hex,
                 uint8_t ret[OC_SHA256_LEN])
{
  int n = oc_cache_find_key(c->srv->cache, hex, ret);

  if (n == 1 && oc_cache_may_see(c->srv->cache, ret, session_scope(c)))
    return true;
  refuse(c, id, n == 2 ? OC_STATUS_REQUEST : OC_STATUS_DIFFERS,
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

  if (!find(c, id, hex, key))
    return;
  if (!oc_cache_show(c->srv->cache, key, &hit)) {
    refuse(c, id, OC_STATUS_STORE, "the entry is damaged and has been dropped");
    return;
  }
  oc_arena_init(&arena, 32u << 20);
  fill_entry(&entry, key, &hit);
  a.entries = entries;
  a.n_entries = 1;
  add_members(&hit, 0, &arena, &a, NULL);
  add_parts(c, key, &arena, &a);
  answer(c, id, &a, NULL, 0);
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
  answer(c, g->id, &a, fds, n);
  oc_arena_clear(&arena);
}

static void get_done(struct task *t)
{
  struct get *g = (struct get *)t;
  struct session *c = server_session(t->order->srv, g->session);

  if (c && t->code == 1)
    deliver(c, g);
  else if (c)
    refuse(c, g->id, OC_STATUS_STORE, "the entry is damaged and has been dropped");
  oc_cache_hit_clear(&g->hit);
  /* The order only carried the task; it goes with it. */
  t->order->forgotten = true;
  free(g);
}

static void get(struct session *c, uint64_t id, const char *hex, uint32_t skip)
{
  struct get *g = calloc(1, sizeof(*g));
  struct order *o = order_new(c->srv, c->uid);

  if (g && o && find(c, id, hex, g->key)) {
    g->session = c->id;
    g->id = id;
    g->skip = skip;
    if (oc_cache_lookup(c->srv->cache, g->key, c->uid, &g->hit, NULL) == 1) {
      g->task = (struct task){ .uid = c->uid, .run = run_get, .done = get_done };
      g->task.order = o;
      digester_add(c->srv, &g->task);
      return;
    }
    refuse(c, id, OC_STATUS_STORE, "the entry is damaged and has been dropped");
  }
  if (!g || !o)
    refuse(c, id, OC_STATUS_DAEMON, "the daemon is short of memory");
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
  answer(c, id, &a, NULL, 0);
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
    refuse(c, w->id, OC_STATUS_ENVIRONMENT, t->err.msg);
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
  refuse(c, id, OC_STATUS_REQUEST, "the file is no regular file");
  if (fd >= 0)
    close(fd);
  free(w);
  if (o) {
    o->forgotten = true;
    order_maybe_free(o);
  }
}

/* ---------------------------------------------------------------- what takes a while */

static struct asked *remember(struct session *c, uint64_t id,
                              Omcc__V1__CacheRequest__What what)
{
  struct asked *q = calloc(1, sizeof(*q));

  if (!q)
    return NULL;
  *q = (struct asked){ .next = c->srv->asked,
                       .ticket = TICKETS | ++c->srv->n_asked,
                       .session = c->id,
                       .id = id,
                       .what = what };
  c->srv->asked = q;
  return q;
}

static void forget(struct oc_server *s, struct asked *q)
{
  struct asked **at = &s->asked;

  while (*at != q)
    at = &(*at)->next;
  *at = q->next;
  free(q);
}

static bool start(struct session *c, const Omcc__V1__CacheRequest *m, struct asked *q,
                  const uint8_t *key)
{
  struct oc_cache *cache = c->srv->cache;
  struct oc_cache_gc rules = { .has_max = m->has_max,
                               .dry_run = m->dry_run,
                               .max_bytes = m->max_bytes,
                               .unused_s = m->older_than_s,
                               .toolkit = *m->toolkit ? m->toolkit : NULL };

  switch (m->what) {
  case OMCC__V1__CACHE_REQUEST__WHAT__PIN:
    return oc_cache_pin(cache, key,
                        m->pin_s ? (int64_t)time(NULL) + (int64_t)m->pin_s
                                 : OC_CACHE_FOR_GOOD,
                        q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__UNPIN:
    return oc_cache_pin(cache, key, 0, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__VERIFY: return oc_cache_verify(cache, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__CLEAR:
    rules = (struct oc_cache_gc){ .has_max = false, .dry_run = m->dry_run };
    return oc_cache_gc(cache, &rules, q->ticket);
  default: return oc_cache_gc(cache, &rules, q->ticket);
  }
}

static void begin(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m)
{
  uint8_t key[OC_SHA256_LEN] = { 0 };
  bool entry = m->what == OMCC__V1__CACHE_REQUEST__WHAT__PIN ||
               m->what == OMCC__V1__CACHE_REQUEST__WHAT__UNPIN;
  struct asked *q;

  if (entry && !find(c, id, m->key, key))
    return;
  if (!entry && !c->admin) {
    refuse(c, id, OC_STATUS_DAEMON,
           "only the daemon's own user and its admin group may "
           "do this to a shared cache");
    return;
  }
  if (m->what == OMCC__V1__CACHE_REQUEST__WHAT__GC && !m->has_max && !m->older_than_s &&
      !*m->toolkit) {
    refuse(c, id, OC_STATUS_REQUEST,
           "say what may go: --max_size, --older_than or --toolkit");
    return;
  }
  q = remember(c, id, m->what);
  if (q && start(c, m, q, key))
    return;
  if (q)
    forget(c->srv, q);
  refuse(c, id, OC_STATUS_DAEMON,
         m->what == OMCC__V1__CACHE_REQUEST__WHAT__VERIFY
             ? "the objects are being verified already"
             : "the cache is too busy, try again later");
}

static void fill_counter(Omcc__V1__Counter *m, const char *name, uint64_t value)
{
  omcc__v1__counter__init(m);
  m->name = (char *)name;
  m->value = value;
}

bool care_done(struct oc_server *s, const struct oc_cache_event *e)
{
  struct asked *q = s->asked;
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  Omcc__V1__Counter counter[3], *counters[3] = { &counter[0], &counter[1], &counter[2] };
  struct session *c;

  while (q && q->ticket != e->ticket)
    q = q->next;
  if (!q)
    return false;
  c = server_session(s, q->session);
  bool verify = q->what == OMCC__V1__CACHE_REQUEST__WHAT__VERIFY;
  fill_counter(&counter[0], verify ? "objects" : "entries", e->count);
  fill_counter(&counter[1], "bytes", e->bytes);
  fill_counter(&counter[2], "damaged", e->bad);
  a.counters = counters;
  a.n_counters = verify ? 3 : 2;
  if (*e->reason || e->bad) {
    a.status = OC_STATUS_STORE;
    a.message =
        (char *)(*e->reason ? e->reason
                            : "damaged objects were found and put into quarantine");
  }
  if (c)
    answer(c, q->id, &a, NULL, 0);
  forget(s, q);
  return true;
}

void care_forget_all(struct oc_server *s)
{
  while (s->asked)
    forget(s, s->asked);
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
  case OMCC__V1__CACHE_REQUEST__WHAT__PIN:
  case OMCC__V1__CACHE_REQUEST__WHAT__UNPIN:
  case OMCC__V1__CACHE_REQUEST__WHAT__VERIFY:
  case OMCC__V1__CACHE_REQUEST__WHAT__GC:
  case OMCC__V1__CACHE_REQUEST__WHAT__CLEAR: begin(c, id, m); return;
  default: refuse(c, id, OC_STATUS_DAEMON, "this daemon does not know the question");
  }
}
