/* Verbs that make the cache's own threads work: pins, collection, verifying, rebuilding,
 * exports and imports. They are answered when the threads report; until then a ticket
 * remembers who asked. What changes more than one entry is for the daemon's own user and
 * the admin group; an export holds what its reader may see. */
#include "server/server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "key/key.h"

/* Tickets of questions; those of results are job numbers, which are smaller. */
#define TICKETS ((uint64_t)1 << 63)

struct asked {
  struct asked *next;
  uint64_t ticket, session, id;
  Omcc__V1__CacheRequest__What what;
};

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

bool errand_key_fits(const uint8_t key[OC_SHA256_LEN], const void *parts, size_t len)
{
  uint8_t now[OC_SHA256_LEN];
  struct oc_key_parts ps;
  struct oc_arena arena;

  oc_arena_init(&arena, 64u << 20);
  oc_key_parts_init(&ps, &arena);
  bool fits = !oc_key_parts_unpack(parts, len, &ps, NULL) && !oc_key_digest(&ps, now) &&
              !memcmp(now, key, sizeof(now));
  oc_arena_clear(&arena);
  return fits;
}

/* `fd` is taken over. */
static bool start(struct session *c, const Omcc__V1__CacheRequest *m, struct asked *q,
                  const uint8_t *key, int fd)
{
  struct oc_cache *cache = c->srv->cache;
  struct oc_cache_gc rules = { .has_max = m->has_max,
                               .dry_run = m->dry_run,
                               .max_bytes = m->max_bytes,
                               .unused_s = m->older_than_s,
                               .toolkit = *m->toolkit ? m->toolkit : NULL };

  switch (m->what) {
  case OMCC__V1__CACHE_REQUEST__WHAT__PIN:
    return oc_cache_pin(
        cache, key, m->pin_s ? oc_cache_hence_s(m->pin_s) : OC_CACHE_FOR_GOOD, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__UNPIN:
    return oc_cache_pin(cache, key, 0, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__VERIFY: return oc_cache_verify(cache, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__REBUILD: return oc_cache_rebuild(cache, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__EXPORT:
    return oc_cache_export(cache, fd, session_scope(c), *m->key ? key : NULL, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__IMPORT:
    return oc_cache_import(cache, fd, c->uid, q->ticket);
  case OMCC__V1__CACHE_REQUEST__WHAT__CLEAR:
    rules = (struct oc_cache_gc){ .has_max = false, .dry_run = m->dry_run };
    return oc_cache_gc(cache, &rules, q->ticket);
  default: return oc_cache_gc(cache, &rules, q->ticket);
  }
}

/* Who may, and about what; false when it was refused. */
static bool may_begin(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                      int fd, uint8_t key[OC_SHA256_LEN])
{
  bool pin = m->what == OMCC__V1__CACHE_REQUEST__WHAT__PIN ||
             m->what == OMCC__V1__CACHE_REQUEST__WHAT__UNPIN;
  bool export = m->what == OMCC__V1__CACHE_REQUEST__WHAT__EXPORT;
  bool file = export || m->what == OMCC__V1__CACHE_REQUEST__WHAT__IMPORT;

  if ((pin || (export && *m->key)) && !care_find(c, id, m->key, key))
    return false;
  if (!pin && !export && !c->admin) {
    care_refuse(c, id, OC_STATUS_DAEMON,
                "only the daemon's own user and its admin group may "
                "do this to a shared cache");
    return false;
  }
  if (m->what == OMCC__V1__CACHE_REQUEST__WHAT__GC && !m->has_max && !m->older_than_s &&
      !*m->toolkit) {
    care_refuse(c, id, OC_STATUS_REQUEST,
                "say what may go: --max SIZE, --older-than AGE or --toolkit VERSION");
    return false;
  }
  if (file && fd < 0) {
    care_refuse(c, id, OC_STATUS_REQUEST, "no file came with the request");
    return false;
  }
  return true;
}

void errand_answer(struct session *c, uint64_t id, const Omcc__V1__CacheRequest *m,
                   struct oc_frame *f)
{
  auto_close int fd = f->n_fds ? oc_frame_take_fd(f, m->fd) : -1;
  uint8_t key[OC_SHA256_LEN] = { 0 };
  struct asked *q;

  if (m->what > OMCC__V1__CACHE_REQUEST__WHAT__IMPORT) {
    care_refuse(c, id, OC_STATUS_DAEMON, "this daemon does not know the question");
    return;
  }
  if (!may_begin(c, id, m, fd, key))
    return;
  q = remember(c, id, m->what);
  if (q && start(c, m, q, key, OC_STEAL_FD(fd)))
    return;
  if (q)
    forget(c->srv, q);
  care_refuse(
      c, id, OC_STATUS_DAEMON,
      "the cache is verified, rebuilt, exported or imported already, or too busy: "
      "try again later");
}

static void fill_counter(Omcc__V1__Counter *m, const char *name, uint64_t value)
{
  omcc__v1__counter__init(m);
  m->name = (char *)name;
  m->value = value;
}

/* What the numbers of a report are called; how many. */
static size_t fill_counters(Omcc__V1__CacheRequest__What what,
                            const struct oc_cache_event *e, Omcc__V1__Counter *to)
{
  bool verify = what == OMCC__V1__CACHE_REQUEST__WHAT__VERIFY;
  bool rebuild = what == OMCC__V1__CACHE_REQUEST__WHAT__REBUILD;
  bool import = what == OMCC__V1__CACHE_REQUEST__WHAT__IMPORT;

  fill_counter(&to[0], verify ? "objects" : "entries", e->count);
  fill_counter(&to[1], "bytes", e->bytes);
  fill_counter(&to[2], import ? "too_large" : rebuild ? "not_usable" : "damaged", e->bad);
  fill_counter(&to[3], import ? "known" : "objects_removed", e->removed);
  if (rebuild || import)
    return 4;
  return verify || what == OMCC__V1__CACHE_REQUEST__WHAT__EXPORT ? 3 : 2;
}

static void fill_outcome(Omcc__V1__CacheRequest__What what,
                         const struct oc_cache_event *e, Omcc__V1__CacheAnswer *a)
{
  bool verify = what == OMCC__V1__CACHE_REQUEST__WHAT__VERIFY;
  bool export = what == OMCC__V1__CACHE_REQUEST__WHAT__EXPORT;

  if (*e->reason) {
    bool file = export || what == OMCC__V1__CACHE_REQUEST__WHAT__IMPORT;

    a->status = e->code == OC_E_FORMAT       ? OC_STATUS_REQUEST
                : file && e->code == OC_E_IO ? OC_STATUS_ENVIRONMENT
                                             : OC_STATUS_STORE;
    a->message = (char *)e->reason;
  } else if (e->bad && (verify || export)) {
    a->status = OC_STATUS_STORE;
    a->message = (char *)(verify ? "damaged objects were found and put into quarantine"
                                 : "damaged entries were found and left out");
  }
}

bool care_done(struct oc_server *s, const struct oc_cache_event *e)
{
  struct asked *q = s->asked;
  Omcc__V1__CacheAnswer a = OMCC__V1__CACHE_ANSWER__INIT;
  Omcc__V1__Counter counter[4],
      *counters[4] = { &counter[0], &counter[1], &counter[2], &counter[3] };
  struct session *c;

  while (q && q->ticket != e->ticket)
    q = q->next;
  if (!q)
    return false;
  c = server_session(s, q->session);
  a.counters = counters;
  a.n_counters = fill_counters(q->what, e, counter);
  fill_outcome(q->what, e, &a);
  if (c)
    care_send(c, q->id, &a, NULL, 0);
  forget(s, q);
  return true;
}

void care_session_gone(struct oc_server *s, uint64_t session)
{
  for (struct asked *q = s->asked; q; q = q->next)
    if (q->session == session && q->what == OMCC__V1__CACHE_REQUEST__WHAT__EXPORT)
      oc_cache_export_cancel(s->cache, q->ticket);
}

void care_forget_all(struct oc_server *s)
{
  while (s->asked)
    forget(s, s->asked);
}
